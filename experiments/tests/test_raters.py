"""The comparison of rater models: settings in small, and the ways to cut labels."""

import numpy as np
import pytest

import rankwise_experiments as experiments
from rankwise import datasets
from rankwise.datasets import Ratings
from rankwise_experiments import raters
from rankwise_experiments.raters import MAJORITY, OURS, Setting


@pytest.fixture
def small(monkeypatch):
    def load(name, data_dir):
        if name == "emotion":
            raise datasets.DatasetNotFoundError("no emotion here")
        rng = np.random.default_rng(0)
        truth = rng.integers(4, size=60)
        item = np.repeat(np.arange(60), 3)
        rater = np.tile(np.arange(3), 60)
        letters = np.array(list("GPRX"), dtype=object)
        said = np.clip(truth[item] + (rater == 2), 0, 3)
        return Ratings(name, item, rater, letters[said], np.arange(60), letters[truth])

    monkeypatch.setattr(datasets, "load_ratings", load)
    monkeypatch.setattr(raters, "SETTINGS", {"biased": Setting(shift=1.0, n_items=200, n_raters=8)})


def test_it_compares_and_writes_a_page(tmp_path, small):
    report = experiments.get("raters").run(tmp_path, sequences=2)
    assert report.ran == ("biased", "adult-content")
    assert report.skipped == {"emotion": "no emotion here"}
    assert {path.name for path in report.files} == {"raters.csv", "raters.md"}
    assert all(check.holds for check in report.conclusions[0].checks if MAJORITY in check.where)
    page = (tmp_path / "raters.md").read_text()
    assert "rankwise reproduce raters --sequences 2 --seed 0" in page
    assert OURS in page


def test_simulated_answers_hold_what_the_setting_says():
    rng = np.random.default_rng(0)
    exact, truth = raters.simulate(Setting(shift=0.0, log_spread=0.0, noise=1e-6, slips=0.0, n_items=50), rng)
    assert np.array_equal(exact["label"], np.repeat(truth, 4))
    wide, _ = raters.simulate(Setting(intervals=1.0, n_items=50), rng)
    assert wide["label"].shape == (200, 2)
    assert set(np.diff(wide["label"], axis=1).ravel()) == {0, 1, 2}


def test_five_bins_have_zero_by_itself():
    label = np.array([-5.0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6])
    ratings = Ratings("emotion", np.arange(14), np.zeros(14, int), label, np.arange(2), label[:2])
    (name, table, n_classes, truth), (_, _, fewer, _) = raters._cuts(ratings)
    assert name == "emotion, five bins"
    assert table["label"].tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4]
    assert (n_classes, fewer) == (5, 4)
    assert truth == {0: 0, 1: 1}
