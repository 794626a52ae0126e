import os
from pathlib import Path

import numpy as np
import pytest

from rankwise import datasets
from rankwise.datasets import DatasetDamagedError, DatasetNotFoundError, load_multilabel

DATA = Path(os.environ.get("RANKWISE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no directory of real data; name one in RANKWISE_DATA")


@needs_data
@pytest.mark.parametrize(("name", "positives"), [("emotions", 1108), ("scene", 2585)])
def test_real_sets(name, positives):
    data = load_multilabel(name, DATA)
    assert data.X.shape == (len(data.Y), len(data.feature_names))
    assert data.Y.shape[1] == len(data.label_names) == 6
    assert data.Y.sum() == positives
    assert np.isfinite(data.X).all()
    assert name in repr(data)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A data directory of our own; a good file has the shape that is asked for."""
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    monkeypatch.setitem(datasets._offline._SHAPES, "emotions", (2, 2, 1))
    (tmp_path / "multilabel").mkdir()
    return tmp_path / "multilabel" / "emotions.csv"


def test_labels_are_told_from_features(elsewhere):
    elsewhere.write_text("split,a,label:sad,b\ntrain,1,0,2.5\ntest,3,1,4\n")
    data = load_multilabel("emotions")
    assert data.X.tolist() == [[1.0, 2.5], [3.0, 4.0]]
    assert data.Y.tolist() == [[0], [1]]
    assert (data.feature_names, data.label_names) == (("a", "b"), ("sad",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,label:sad\n1,0\n3,1\n", "2 rows, 1 features and 1 labels, not 2, 2, 1"),
        ("a,b,label:sad\n1,2,0\n3,4,2\n", "a label is neither 0 nor 1"),
        ("a,b,label:sad\n1,,0\n3,4,1\n", "a feature is missing"),
    ],
)
def test_damaged_files(elsewhere, text, message):
    elsewhere.write_text(text)
    with pytest.raises(DatasetDamagedError, match=message):
        load_multilabel("emotions")


def test_unknown_and_absent_sets(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="'name' parameter of load_multilabel"):
        load_multilabel("iris")
    monkeypatch.setattr("rankwise.datasets._find._beside_checkout", lambda: None)
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    with pytest.raises(DatasetNotFoundError, match="OpenML does not have it"):
        load_multilabel("yeast", tmp_path)
