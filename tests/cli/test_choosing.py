"""The command that chooses."""

import numpy as np
import pandas as pd
import pytest

import rankwise as rw
from tests.cli.commands import facts, fail, succeed


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=120), "kind": rng.choice(["a", "b"], 120)})
    stars = np.clip(np.round(2 + frame["size"] + (frame.kind == "a")), 1, 4).astype(int).astype(str)
    stars[::6] = ">=2"
    frame["stars"] = stars
    path = tmp_path_factory.mktemp("choosing") / "ratings.csv"
    frame.to_csv(path, index=False)
    return path


def test_fit_says_what_it_chose_and_why(data, tmp_path):
    said = succeed("fit", data, "--label", "stars", "-o", tmp_path / "m")
    assert "was chosen: it has the least error in 3 folds of 120 rows" in said
    assert "CumulativeLink, linear" in said
    found = facts("fit", data, "--label", "stars", "-o", tmp_path / "other")
    board = found["choice"]["leaderboard"]
    assert board[0]["model"] == found["choice"]["name"]
    assert board[0]["model"].split(",")[0] == found["estimator"]
    assert board[0]["nearest"] <= board[0]["farthest"]
    assert (tmp_path / "m").read_bytes() == (tmp_path / "other").read_bytes()  # no clock in it
    assert isinstance(rw.load(tmp_path / "m"), rw.TableModel)


def test_a_named_estimator_is_what_is_fitted(data, tmp_path):
    found = facts("fit", data, "--label", "stars", "--estimator", "SVOR", "-o", tmp_path / "m")
    assert found["estimator"] == "SVOR"
    assert "choice" not in found
    changed = facts("fit", data, "--label", "stars", "--set", "alpha=0.1", "-o", tmp_path / "n")
    assert changed["estimator"] == "CumulativeLink"  # parameters are of one estimator: nothing is chosen


def test_tune_tries_more_within_a_budget(data, tmp_path):
    options = ("--label", "stars", "--fits", "8", "--cv", "2", "--metric", "squared")
    found = facts("tune", data, *options, "-o", tmp_path / "m")
    assert found["choice"]["metric"] == "squared"
    remarks = [entry["remark"] for entry in found["choice"]["leaderboard"]]
    assert remarks.count("no budget left") == len(remarks) - 4
    assert "the budget allows no fit" in fail(1, "tune", data, "--label", "stars", "--fits", "1", "-o", tmp_path / "n")


def test_compare_has_a_list_of_its_own(data):
    found = facts("compare", data, "--label", "stars", "--cv", "2")
    assert {result["estimator"] for result in found["results"]} >= {"SVOR:alpha=auto", "CumulativeLink:alpha=auto"}
    assert found["results"][0]["folds"] == 2
