from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.datasets

from rankwise import datasets
from rankwise.datasets import DatasetDamagedError, DatasetNotFoundError


class TestOpenML:
    """``fetch_openml(as_frame=False)`` codes categories as numbers and lists them beside the array."""

    def serve(self, monkeypatch, columns, categories=None):
        asked = {}

        def fetch(**kwargs):
            asked.update(kwargs)
            return SimpleNamespace(
                data=np.column_stack(list(columns.values())).astype(float),
                feature_names=list(columns),
                categories=categories,
                target=None,
            )

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
        return asked

    def test_abalone(self, nowhere, monkeypatch):
        n = 4177
        columns = {"Sex": np.arange(n) % 3, **{f"size {i}": np.full(n, i) for i in range(7)}}
        columns["Class_number_of_rings"] = np.arange(n) % 28
        rings = [str(r) for r in (*range(1, 28), 29)]
        asked = self.serve(monkeypatch, columns, {"Sex": ["M", "F", "I"], "Class_number_of_rings": rings})
        raw = datasets.load("abalone")
        assert asked["name"] == "abalone"
        assert asked["version"] == 1
        assert raw.source == "OpenML: abalone (version 1)"
        assert raw.feature_names[:4] == ("Sex=F", "Sex=I", "Sex=M", "size 0")
        assert raw.X[:3, :3].tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
        assert raw.y[:28].tolist() == [*range(1, 28), 29]
        assert datasets.load_abalone().X[:4, 0].tolist() == [1, 2, 3, 1]

    def test_missing_categories_and_incomplete_rows(self, nowhere, monkeypatch):
        columns = {c: np.arange(398.0) for c in ("cylinders", "displacement", "horsepower", "weight", "acceleration")}
        columns |= {"model": np.zeros(398), "origin": np.arange(398) % 3.0, "class": np.linspace(9, 46.6, 398)}
        columns["horsepower"][:5] = np.nan
        columns["model"][397] = np.nan
        self.serve(monkeypatch, columns, {"model": ["70"], "origin": ["1", "2", "3"]})
        cars = datasets.load("autompg")
        assert cars.X.shape == (392, 7)
        assert cars.X[0].tolist() == [5, 5, 5, 5, 5, 70, 3]

    def test_other_spellings_and_column_set_aside(self, nowhere, monkeypatch):
        names = ["subject.", "age", "sex", "test_time", "motor_UPDRS", "total_UPDRS", *(f"V{i}" for i in range(16))]
        self.serve(monkeypatch, {c: np.arange(5875) + j for j, c in enumerate(names)})
        raw = datasets.load("parkinsons")
        assert raw.X.shape == (5875, 20)
        assert raw.extra["subject."].tolist() == list(range(5875))
        assert datasets.load_parkinsons(include_other_score=False).X.shape == (5875, 19)

    def test_another_set_under_the_name(self, nowhere, monkeypatch):
        self.serve(monkeypatch, {"a": np.arange(3), "company10": np.arange(3)})
        with pytest.raises(
            DatasetDamagedError, match=r"OpenML: stock \(version 1\) does not hold .* 3 rows and 2 columns"
        ):
            datasets.load("stock")
        self.serve(monkeypatch, {"a": np.arange(2), "company10": np.arange(2)}, {"company10": ["P", "N"]})
        with pytest.raises(DatasetDamagedError, match=r"OpenML's stock .* column 'company10', has 'P' in row 1"):
            datasets.load("stock")

    @pytest.mark.parametrize("error", [TimeoutError("too slow"), ValueError("Dataset not found.\nSorry")])
    def test_refused(self, nowhere, monkeypatch, error):
        def fetch(**kwargs):
            raise error

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
        with pytest.raises(DatasetNotFoundError, match=f"OpenML: {type(error).__name__}: {str(error).split()[0]}") as c:
            datasets.load("stock")
        assert "\n" not in str(c.value)
