"""Kinds of labels that an estimator does not learn from: the refusal names kind, row, value, and who can."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise
from rankwise.labels import KINDS, declare_support, encode, estimators_for, require_support
from tests.strategies import annotated

CLASSES = [1, 2, 3, 4]
EXACT, INTERVAL, CANDIDATES = {"exact"}, {"exact", "interval"}, {"exact", "interval", "candidates"}


@pytest.fixture
def registry(monkeypatch):
    known = {}
    monkeypatch.setattr("rankwise.labels._support._SUPPORT", known)
    declare_support("Plain", EXACT)
    declare_support("Ranger", INTERVAL)
    declare_support("Chooser", CANDIDATES)
    declare_support("Archer", iter(CANDIDATES))
    return known


def test_who_learns_from_what(registry):
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
        ([[1, 2], [2, 2]], EXACT, r"^row 0: the label is the interval \[1, 2\]"),
        ([{2, 3}, 1], EXACT, r"^row 0: the label is the interval \[2, 3\]"),
        (
            np.array([[True, True, True, True], [False, True, False, True]]),
            INTERVAL,
            r"^row 1: the candidate set \[2, 4\]",
        ),
    ],
)
def test_refusals(registry, y, kinds, message):
    with pytest.raises(ValueError, match=message) as caught:
        require_support(encode(y, CLASSES), "Mine", kinds)
    assert "\n" not in str(caught.value)


def test_nobody_can(registry):
    registry.clear()
    with pytest.raises(ValueError, match=r"does not learn from interval labels\.$"):
        require_support(encode([(1, 2)], CLASSES), "Mine", EXACT)


def test_many_candidates_are_shortened(registry):
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
