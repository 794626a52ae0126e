"""Missing entries in multi-label sets: three ways to learn, on sets made here; real ones are read elsewhere."""

import csv

import numpy as np
import pytest

import rankwise_experiments as experiments
from rankwise import datasets
from rankwise.datasets import MultilabelDataset
from rankwise_experiments import missing_labels
from rankwise_experiments.missing_labels import ANNOTATED, COMPLETE, NEGATIVE, SHARES


def _made(name, n_labels=6, density=1.0):
    rng = np.random.default_rng(len(name))
    X = rng.standard_normal((300, 10)) * (rng.random((300, 10)) < density)
    Y = (X @ rng.standard_normal((10, n_labels)) + 0.3 * rng.standard_normal((300, n_labels)) > 0.2).astype(np.int64)
    return MultilabelDataset(name, X, Y, tuple(f"x{j}" for j in range(10)), tuple(f"y{j}" for j in range(n_labels)))


@pytest.fixture
def made_sets(monkeypatch):
    def load(name, data_dir):
        if name == "enron":
            raise datasets.DatasetNotFoundError("no enron here")
        return _made(name, density=0.15 if name == "scene" else 1.0)

    monkeypatch.setattr(datasets, "load_multilabel", load)


@pytest.mark.slow
def test_the_conclusions_hold_on_made_sets(tmp_path, made_sets):
    steps = []
    report = experiments.get("missing-labels").run(
        tmp_path, sequences=3, progress=lambda what, done, total: steps.append((what, done, total))
    )
    assert report.ran == ("emotions", "yeast", "scene")
    assert report.skipped == {"enron": "no enron here"}
    assert report.conclusions[2].verdict == "HOLDS"
    for conclusion in report.conclusions[:2]:
        assert sum(check.holds for check in conclusion.checks) >= 10  # of 12
    assert steps[-1] == ("scene", 3, 3)
    with (tmp_path / "missing-labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 3 * len(SHARES)
    assert {row["learnt_from"] for row in rows} == {ANNOTATED, COMPLETE, NEGATIVE}
    assert {path.name for path in report.files} == {f"missing-labels.{kind}" for kind in ("csv", "png", "txt")}


def test_makeshifts():
    Y = np.array([[1.0, 0.0], [np.nan, 1.0]])
    np.testing.assert_array_equal(missing_labels.METHODS[ANNOTATED](Y), Y)
    np.testing.assert_array_equal(missing_labels.METHODS[COMPLETE](Y), [[1, 0], [np.nan, np.nan]])
    np.testing.assert_array_equal(missing_labels.METHODS[NEGATIVE](Y), [[1, 0], [0, 1]])


def test_larger_shares_and_other_splits_do_not_change_a_split():
    data = _made("emotions")
    few, more = (missing_labels.measure(data, splits, rows=120, seed=(1, 0)) for splits in (1, 2))
    np.testing.assert_array_equal(few.loss[0], more.loss[0])
    assert np.all(few.loss[0, :, 0] == few.loss[0, 0, 0])


def test_labels_without_any_entry_are_predicted_not_to_apply():
    predicted = missing_labels._learn(np.eye(3), np.array([[1, np.nan], [0, np.nan], [1, np.nan]]), np.eye(3), 0)
    assert not predicted[:, 1].any()
    assert predicted[:, 0].tolist() == [True, False, True]
    assert missing_labels._quality(np.array([[1, 0], [1, 1]]), np.array([[True, True], [False, True]])) == (0.5, 2 / 3)


def test_without_data_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "MULTILABEL_NAMES", ("enron",))
    monkeypatch.setattr(datasets, "load_multilabel", _refuse)
    report = missing_labels.run(tmp_path / "out")
    assert report.ran == ()
    assert not (tmp_path / "out").exists()
    with pytest.raises(ValueError, match="rounds must be at least 30"):
        missing_labels.run(tmp_path, rounds=5)


def _refuse(name, data_dir):
    raise datasets.DatasetNotFoundError(f"no {name}")
