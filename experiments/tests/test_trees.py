"""The comparison of boosted trees: labels, what a stopped run keeps, and a small run."""

import numpy as np
import pytest

import rankwise_experiments as experiments
from rankwise import datasets
from rankwise_experiments import trees

FEW = ("BoostedThresholds", "LightGBM regression, midpoints", "CumulativeLink (linear)")


def test_intervals_are_coarsened_at_random(rng):
    codes = rng.integers(0, 9, size=60_000)
    lower, upper = trees.imprecise(codes, trees.MOST, 9, rng)
    assert ((lower <= codes) & (codes <= upper)).all()
    assert (lower == upper).mean() == pytest.approx(0.1 + 0.9 * (2 / 9) / 4, abs=0.01)  # cut off to one class, too
    for ends in ((0, 1), (2, 5), (7, 8)):  # every class that an interval admits gives it equally often
        rates = [((lower == ends[0]) & (upper == ends[1]))[codes == k].mean() for k in range(ends[0], ends[1] + 1)]
        np.testing.assert_allclose(rates, 0.9 / 4, atol=0.025)


@pytest.mark.slow
def test_a_small_run_is_whole_and_goes_on(tmp_path, nowhere, monkeypatch, rng):
    X = rng.normal(size=(150, 3))
    y = np.clip(np.round(X[:, 0] + 2), 0, 4).astype(int)
    monkeypatch.setattr(trees, "SETS", (("one", 0), ("two", 5)))
    monkeypatch.setattr(trees, "METHODS", {name: trees.METHODS[name] for name in FEW})
    about = (("a", "b", "c"), "", "")
    made = {"one": datasets.Dataset("one", X, y, *about), "two": datasets.Dataset("two", X[::-1], X[::-1, 0], *about)}
    monkeypatch.setattr(trees.datasets, "load", lambda name, folder=None: made[name])
    report = experiments.get("trees").run(tmp_path, sequences=1, rounds=80)
    assert report.ran == ("one", "two, 5 classes")
    page = (tmp_path / "trees.md").read_text()
    assert "2 sets, 1 split" in page
    assert "When intervals depend on the truth" in page
    monkeypatch.setattr(trees, "judge", None)  # nothing is measured twice
    assert experiments.get("trees").run(tmp_path, sequences=1, rounds=80).conclusions == report.conclusions
