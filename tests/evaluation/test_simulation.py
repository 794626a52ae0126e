import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from rankwise import CumulativeLink, TableModel
from rankwise.annotation import Question, plan_budget
from rankwise.datasets import make_ordinal
from rankwise.evaluation import SimulatedRater, simulate_annotation
from rankwise.evaluation.annotation_simulation import _SimulatedAnswers, mean_curve
from rankwise.labels import encode
from tests.cli.commands import facts, fail

X, Y = make_ordinal(400, 8, 5, noise=0.1, random_state=0)
ROWS = (X[:200], Y[:200], X[200:], Y[200:])


def played(y, seed=0, **rater):
    return _SimulatedAnswers(SimulatedRater(**rater), encode(y, range(5)), np.random.RandomState(seed))


def test_answers_hold_the_truth_and_take_their_time():
    y = np.arange(500) % 5
    rater = played(y, width=2, unsure=0.5)
    assert 200 < rater.unsure.sum() < 300
    for i in range(500):
        rater.ask(Question(i, "range"))
    assert rater.known[np.arange(500), y].all()
    widths = rater.known.sum(axis=1)
    assert set(widths[rater.unsure]) == {3}
    assert set(widths[~rater.unsure]) == {1}
    assert rater.seconds == pytest.approx(6.0 * rater.unsure.sum() + 10.0 * (~rater.unsure).sum())


def test_yes_and_no_narrow_an_item_down():
    rater = played([3], unsure=1.0)
    rater.ask(Question(0, "at_least", 2))
    assert rater.known[0].tolist() == [False, False, True, True, True]
    rater.ask(Question(0, "at_least", 4))
    assert rater.known[0].tolist() == [False, False, True, True, False]
    assert rater.seconds == 8.0
    assert not rater.done[0]


def test_bias_and_guesses_show_in_exact_answers():
    y = np.full(2000, 2)
    assert played(y, bias=1.0).exact.tolist() == [3] * 2000
    half = played(y, bias=0.5, unsure=0.0).exact
    assert half.mean() == pytest.approx(2.5, abs=0.05)
    guesses = played(y, width=1, unsure=1.0, guesses=True).exact
    assert set(guesses) == {1, 2, 3}
    assert (guesses == 2).mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("strategy", ["random", "uncertainty", "information"])
def test_the_error_falls_and_minutes_are_those_of_the_answers(strategy):
    kinds = ("exact", "range", "at_least") if strategy == "information" else ("exact",)
    curve = simulate_annotation(
        CumulativeLink(), *ROWS, strategy=strategy, kinds=kinds, minutes=15, classes=range(1, 6)
    )
    assert curve.error[-1] < 0.8 * curve.error[0]
    assert (np.diff(curve.minutes) > 0).all()
    assert curve.minutes[-1] >= 15
    if strategy != "information":
        np.testing.assert_allclose(curve.minutes * 60, curve.n_labels * 10.0)
    again = simulate_annotation(
        CumulativeLink(), *ROWS, strategy=strategy, kinds=kinds, minutes=15, classes=range(1, 6)
    )
    assert np.array_equal(curve.error, again.error)


def test_it_ends_when_no_item_is_left():
    curve = simulate_annotation(CumulativeLink(), X[:50], Y[:50], X[50:], Y[50:], minutes=1000, classes=range(1, 6))
    assert curve.n_labels[-1] == 50


def test_a_budget_is_planned_from_simulations():
    rater = SimulatedRater(unsure=1.0, guesses=True)
    curves = {
        kind: mean_curve(
            [simulate_annotation(CumulativeLink(), *ROWS, rater=rater, kinds=(kind,), minutes=10, random_state=s,
                                 classes=range(1, 6)) for s in range(2)]
        )
        for kind in ("exact", "range")
    }  # fmt: skip
    best, other = plan_budget(9.0, curves=curves)
    assert best.error <= other.error
    assert best.minutes == 9.0
    assert {best.kind: best.n_labels, other.kind: other.n_labels}["range"] > 1.4 * 54
    with pytest.raises(ValueError, match="must reach the first fit"):
        plan_budget(0.1, curves=curves)
    with pytest.raises(ValueError, match="not both"):
        plan_budget(1.0, {0: 1.0}, 1.0, curves=curves)
    with pytest.raises(ValueError, match="give prices"):
        plan_budget(1.0)


@pytest.mark.parametrize(
    ("rater", "message"),
    [({"width": -1}, "width must"), ({"unsure": 2.0}, "unsure"), ({"seconds": {"exact": 1.0}}, "time > 0 for 'range'")],
)
def test_raters_that_cannot_be_are_refused(rater, message):
    with pytest.raises(ValueError, match=message):
        SimulatedRater(**rater)


def test_the_command(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [
        "a,b,c,d,e,f,g,h,stars",
        *(",".join(map(str, [*x.round(4), label])) for x, label in zip(X, Y, strict=True)),
    ]
    path.write_text("\n".join(lines))
    found = facts("simulate", path, "--label", "stars", "--classes", "1..5", "--minutes", 6, "--repeats", 1, "--json")
    assert {way["way"] for way in found["ways"]} >= {"random", "uncertainty", "ranges", "information"}
    assert [way["mae"] for way in found["ways"]] == sorted(way["mae"] for way in found["ways"])
    fail(2, "simulate", path, "--label", "stars", "--estimator", "SVOR")


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_numpy, sparse.csr_matrix], ids=["pandas", "polars", "CSR"])
def test_items_of_every_container(form):
    parts = X[:100], Y[:100], X[100:150], Y[100:150]
    model, options = TableModel(CumulativeLink(), "none"), {"minutes": 5, "classes": [1, 2, 3, 4, 5]}
    found = simulate_annotation(model, form(parts[0]), parts[1], form(parts[2]), parts[3], **options)
    np.testing.assert_array_equal(found.error, simulate_annotation(CumulativeLink(), *parts, **options).error)
