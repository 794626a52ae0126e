import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from rankwise import datasets
from rankwise.datasets import DatasetDamagedError
from rankwise.datasets._sources import SOURCES

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
DATA = Path(os.environ.get("RANKWISE_DATA") or BESIDE)
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no directory of real data; name one in RANKWISE_DATA")


@cache
def load(name):
    return datasets.load(name, DATA)


@needs_data
class TestRealData:
    @pytest.mark.parametrize("name", datasets.names())
    def test_every_set_loads(self, name):
        data = load(name)
        rows, columns = SOURCES[name].shape
        assert data.X.shape == (rows, len(data.feature_names))
        assert data.X.dtype == np.float64
        assert data.y.shape == (rows,)
        assert len(data.feature_names) >= columns - 1
        assert len(set(data.feature_names)) == len(data.feature_names)
        assert name in repr(data)
        assert np.isfinite(data.X).all() or name == "eucalyptus"

    def test_found_beside_the_checkout(self, monkeypatch):
        if not BESIDE.is_dir():
            pytest.skip(f"no data directory at {BESIDE}")
        monkeypatch.delenv("RANKWISE_DATA", raising=False)
        assert datasets.load("stock").X.shape == (950, 9)

    def test_values_survive(self):
        data = datasets.load("winequality_red", DATA)
        assert data.feature_names[0] == "fixed_acidity"
        assert data.X[0].tolist() == [7.4, 0.7, 0, 1.9, 0.076, 11, 34, 0.9978, 3.51, 0.56, 9.4]
        assert data.y[0] == 5
        assert data.y.dtype == np.int64

    def test_strings_with_gaps_are_one_hot(self):
        adult = load("adult_age")
        work = [j for j, name in enumerate(adult.feature_names) if name.startswith("workclass=")]
        assert len(work) == 8
        given = adult.X[:, work].sum(axis=1)
        assert set(given.tolist()) == {0.0, 1.0}
        assert np.sum(given == 0) == 2799  # missing cells
        assert np.unique(adult.extra["split"], return_counts=True)[1].tolist() == [16281, 32561]
        assert (adult.y.min(), adult.y.max()) == (17, 90)

    def test_ordered_classes(self):
        car = datasets.load("car", DATA)
        assert car.classes == ("unacc", "acc", "good", "vgood")
        assert set(car.y.tolist()) == set(car.classes)
        eucalyptus = datasets.load("eucalyptus", DATA)
        assert set(eucalyptus.y.tolist()) == set(eucalyptus.classes)
        assert np.isnan(eucalyptus.X).sum() == 448

    def test_isolet_has_both_files(self):
        isolet = load("isolet")
        assert np.sum(isolet.extra["part"] == 5) == 1559
        assert set(isolet.y.tolist()) == set(range(1, 27))

    def test_parkinsons_is_the_papers(self):
        data = datasets.load_parkinsons(data_dir=DATA)
        assert data.X.shape == (5875, 20)
        assert set(data.y.tolist()) == set(range(1, 11))
        np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(data.X.std(axis=0), 1)
        assert np.unique(data.extra["subject#"]).size == 42
        score = datasets.load("parkinsons", DATA).y
        assert np.array_equal(data.y, np.ceil((score - score.min()) / np.ptp(score) * 10).clip(1).astype(int))

    def test_parkinsons_motor(self):
        data = datasets.load_parkinsons(5, "motor_UPDRS", standardize=False, data_dir=DATA)
        assert "total_UPDRS" in data.feature_names
        assert "motor_UPDRS" not in data.feature_names
        assert data.X[0, 0] == 72
        without = datasets.load_parkinsons(include_other_score=False, data_dir=DATA)
        assert without.X.shape == (5875, 19)
        assert not {"total_UPDRS", "motor_UPDRS"} & set(without.feature_names)
        with pytest.raises(ValueError, match="'target' parameter of load_parkinsons"):
            datasets.load_parkinsons(target="age", data_dir=DATA)

    def test_abalone_is_the_papers(self):
        data = datasets.load_abalone(data_dir=DATA)
        rings = datasets.load_abalone(None, data_dir=DATA).y
        assert data.X.shape == (4177, 8)
        assert set(data.X[:, 0].tolist()) == {1, 2, 3}
        for grade, (low, high) in enumerate([(1, 7), (8, 9), (10, 12), (13, 29)], start=1):
            assert (rings[data.y == grade].min(), rings[data.y == grade].max()) == (low, high)
        assert set(np.unique(data.y)) == {1, 2, 3, 4}

    def test_abalone_options(self):
        data = datasets.load_abalone([10], encode_sex="one-hot", standardize=True, data_dir=DATA)
        assert data.X.shape == (4177, 10)
        np.testing.assert_allclose(data.X.std(axis=0), 1)
        assert set(data.y.tolist()) == {1, 2}
        for bad in ([9, 7], [], "prill"):
            with pytest.raises(ValueError, match="'cuts' parameter of load_abalone"):
                datasets.load_abalone(bad, data_dir=DATA)
        with pytest.raises(ValueError, match="'encode_sex' parameter"):
            datasets.load_abalone(encode_sex="hot", data_dir=DATA)

    @pytest.mark.parametrize("bins", [5, 10])
    @pytest.mark.parametrize("name", datasets.CHU_NAMES)
    def test_partitions(self, name, bins):
        sizes = dict(
            zip(
                datasets.CHU_NAMES,
                [(30, 13), (50, 24), (100, 86), (130, 64), (150, 59), (200, 192), (300, 206), (600, 350), (1000, 3177)],
                strict=True,
            )
        )
        partitions = list(datasets.load_chu_partitions(name, bins, DATA))
        assert len(partitions) == 20
        for X_train, y_train, X_test, y_test in partitions:
            assert (y_train.size, y_test.size) == (X_train.shape[0], X_test.shape[0]) == sizes[name]
            assert set(np.concatenate([y_train, y_test]).tolist()) == set(range(1, bins + 1))

    @pytest.mark.parametrize("bins", [5, 10])
    @pytest.mark.parametrize(
        ("name", "whole"),
        [("triazines", "triazines"), ("wisconsin", "wisconsin"), ("autompg", "autompg"), ("boston", "boston"),
         ("stocks", "stock"), ("abalone", "abalone")],
    )  # fmt: skip
    def test_equal_width_grades_are_the_benchmarks(self, name, whole, bins):
        _, y_train, _, y_test = next(datasets.load_chu_partitions(name, bins, DATA))
        grades = datasets.cut_equal_width(datasets.load(whole, DATA).y, bins)
        assert np.bincount(grades).tolist() == np.bincount(np.concatenate([y_train, y_test])).tolist()

    def test_damaged_partitions(self, tmp_path):
        name = "diabetes_5bins.csv"
        (tmp_path / "chu_partitions").mkdir()
        text = gzip.decompress((DATA / "chu_partitions" / f"{name}.gz").read_bytes()).decode()
        for content, message in [
            (text.rsplit("\n", 2)[0], "20 partitions of one size"),
            (text.replace("partition", "number", 1), "lacks a column"),
        ]:
            (tmp_path / "chu_partitions" / name).write_text(content)
            with pytest.raises(DatasetDamagedError, match=message):
                datasets.load_chu_partitions("diabetes", 5, tmp_path)
        with pytest.raises(ValueError, match=r"'bins' parameter of load_chu_partitions must be one of 5, 10\. Got 7"):
            datasets.load_chu_partitions("diabetes", 7, tmp_path)
