"""Kinds of labels that an estimator does not learn from: the refusal names kind, row, value, and who can."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise
from rankwise._errors import RowError
from rankwise._registry import Entry
from rankwise.labels import KINDS, encode, estimators_for, require_support
from tests.strategies import annotated

CLASSES = [1, 2, 3, 4]
EXACT, INTERVAL, CANDIDATES = {"exact"}, {"exact", "interval"}, {"exact", "interval", "candidates"}


@pytest.fixture
def public(monkeypatch):
    kinds = {"Plain": EXACT, "Ranger": INTERVAL, "Chooser": CANDIDATES, "Archer": CANDIDATES}
    entries = {name: Entry("nowhere", tuple(kinds[name])) for name in kinds}
    monkeypatch.setattr("rankwise.labels._support.ESTIMATORS", entries)
    return entries


def test_who_learns_from_what(public):
    assert KINDS == ("exact", "interval", "candidates")
    assert estimators_for("exact") == ["Archer", "Chooser", "Plain", "Ranger"]
    assert estimators_for("interval") == ["Archer", "Chooser", "Ranger"]
    assert estimators_for("candidates") == ["Archer", "Chooser"]


@pytest.mark.parametrize(
    ("y", "kinds", "message"),
    [
        (
            [1, {1, 3}, (2, 3)],
            INTERVAL,
            r"^row 1: the candidate set \[1, 3\] has gaps; Mine does not learn from candidate sets with gaps\. "
            r"\(An interval is .*\) These can: Archer, Chooser\.$",
        ),
        ([1, {1, 4}], EXACT, r"^row 1: the candidate set \[1, 4\] has gaps; Mine does not learn from candidate sets"),
        (
            [1, None, (2, 3)],
            EXACT,
            r"^row 2: the label is the interval \[2, 3\]; Mine does not learn from interval labels\. "
            r"These can: Archer, Chooser, Ranger\.$",
        ),
        (np.array([[1, 2], [2, 2]]), EXACT, r"^row 0: the label is the interval \[1, 2\]"),
        ([{2, 3}, 1], EXACT, r"^row 0: the label is the interval \[2, 3\]"),
        (
            np.array([[True, True, True, True], [False, True, False, True]]),
            INTERVAL,
            r"^row 1: the candidate set \[2, 4\]",
        ),
    ],
)
def test_refusals(public, y, kinds, message):
    with pytest.raises(ValueError, match=message) as caught:
        require_support(encode(y, CLASSES), "Mine", kinds)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, RowError)
    assert str(caught.value) == f"row {caught.value.row}: {caught.value.reason}"


def test_nobody_can(public):
    public.clear()
    with pytest.raises(ValueError, match=r"does not learn from interval labels\.$"):
        require_support(encode([(1, 2)], CLASSES), "Mine", EXACT)


def test_many_candidates_are_shortened(public):
    labels = encode([set(range(0, 100, 2))], range(100))
    with pytest.raises(ValueError, match=r"set \[0, 2, .*, \.\.\., 98\] \(50 classes\) has gaps"):
        require_support(labels, "Mine", INTERVAL)


@given(annotated(kinds=("exact", "missing")))
def test_everyone_takes_exact_and_missing_labels(rows):
    require_support(rows.encoded(), "Mine", EXACT)


@given(annotated(), st.sampled_from([EXACT, INTERVAL, CANDIDATES]))
def test_exactly_the_kinds_declared_are_taken(rows, kinds):
    everything = list(range(len(rows.classes)))
    needed = set()
    for codes in rows.codes:
        if codes != list(range(codes[0], codes[-1] + 1)):
            needed.add("candidates")
        elif len(codes) > 1 and codes != everything:
            needed.add("interval")
    y = [set(said) if isinstance(said, list) else said for said in rows.y]
    labels = encode(y, rows.classes)
    if needed <= kinds:
        require_support(labels, "Mine", kinds)
    else:
        with pytest.raises(ValueError, match=r"^row \d+: .*Mine does not learn from"):
            require_support(labels, "Mine", kinds)


def test_estimators_say_who_can():
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(
        ValueError, match=r"row 1: the label is the interval \[1, 2\]; PRank does not .*These can: .*PRIL"
    ):
        rankwise.PRank(classes=[1, 2, 3]).fit(X, [1, (1, 2), 3, None])
    with pytest.raises(
        ValueError, match=r"row 2: the candidate set \[1, 3\] has gaps; PRIL does not .*These can: .*Multiclass"
    ):
        rankwise.PRIL(classes=[1, 2, 3]).fit(X, [1, (1, 2), {1, 3}, None])


@pytest.mark.parametrize(
    "imported",
    [
        "rankwise.labels",
        pytest.param("rankwise.batch", marks=pytest.mark.slow),
        pytest.param("rankwise.online, rankwise.structured", marks=pytest.mark.slow),
    ],
)
def test_names_are_complete_whatever_was_imported(imported):
    code = f"import {imported}; from rankwise.labels import estimators_for; print(*estimators_for('interval'))"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == estimators_for("interval")
    assert {"PRIL", "CuSumRank", "SVOR", "VILMA", "MORD", "RoundedRegression"} <= set(printed.split())
    assert not {"PRank", "LabelRanker", "OnlineEstimator"} & set(printed.split())


def test_a_subclass_of_the_users_is_not_named():
    class Homemade(rankwise.PRIL):
        pass

    expected = r"Homemade does not learn from candidate sets.*These can: .*CalibratedOrdinal, CuSum"
    with pytest.raises(RowError, match=expected):
        Homemade(classes=[1, 2, 3]).fit(np.eye(3), [1, {1, 3}, 2])
    assert "Homemade" not in estimators_for("interval")


def test_the_names_need_no_estimator_before_an_error_is_written():
    code = "import sys, rankwise.labels; print(*(m for m in sys.modules if m.startswith('rankwise.')))"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not {"rankwise.online", "rankwise.batch", "rankwise.base"} & set(printed.split())
