"""Thresholds, intercepts and the unified model beside the rules as written, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rankwise import decisions
from tests.reference.mord import mord_rule, ord_rule, piecewise_mix, predictable, unified_rule

# Multiples of 60: halves, thirds, quarters and fifths of their differences are whole, so that ties are exact ones.
lattice = st.integers(-6, 6).map(lambda k: 60.0 * k)
scores = st.integers(-400, 400).map(lambda k: k / 2)
any_number = st.floats(-1e6, 1e6, allow_subnormal=False)
ordered = st.lists(lattice, max_size=5).map(sorted)
intercepts = st.lists(lattice, min_size=1, max_size=6)


@st.composite
def cut_labels(draw, max_classes=7):
    n_classes = draw(st.integers(2, max_classes))
    inner = draw(st.sets(st.integers(1, n_classes - 2))) if n_classes > 2 else set()
    return [0, *sorted(inner), n_classes - 1], n_classes


@given(st.lists(scores, min_size=1), ordered)
def test_thresholds_and_their_intercepts_predict_alike_also_on_ties(f, t):
    f = [*f, *t]
    expected = [ord_rule(value, t) for value in f]
    b = decisions.intercepts_from_thresholds(t)
    assert decisions.ord_ranks(f, t).tolist() == expected
    assert [mord_rule(value, b) for value in f] == expected
    assert decisions.mord_ranks(f, b).tolist() == expected


@given(st.lists(scores, min_size=1), intercepts)
def test_intercepts_and_their_thresholds_predict_alike_also_on_ties(f, b):
    t = decisions.thresholds_from_intercepts(b)
    f = [*f, *t]
    expected = [mord_rule(value, b) for value in f]
    assert decisions.mord_ranks(f, b).tolist() == expected
    assert decisions.ord_ranks(f, t).tolist() == expected


@given(any_number, st.lists(any_number, min_size=1, max_size=8))
def test_all_numbers_predict_alike_but_for_rounding(f, b):
    # Two classes may change places only where f is their threshold but for rounding: their exact values tell.
    predicted, exact = int(decisions.mord_ranks([f], b)[0]), mord_rule(f, b)
    lost = (exact - predicted) * Fraction(f) + Fraction(b[exact]) - Fraction(b[predicted])
    assert lost <= 1e-15 * len(b) * max(map(abs, [f * len(b), *b]))


@given(st.lists(scores, min_size=1), ordered)
def test_the_perceptrons_rule_differs_on_ties_only(f, t):
    low, high = decisions.ord_ranks(f, t), decisions.ranks(np.array(f), np.array(t))
    ties = [t.count(value) for value in f]
    np.testing.assert_array_equal(high - low, ties)


@given(intercepts)
def test_degenerate_classes_are_those_that_no_score_predicts(b):
    degenerate = decisions.degenerate_classes(b)
    assert set(np.flatnonzero(~degenerate).tolist()) == predictable(b)
    assert not degenerate[0]
    assert not degenerate[-1]


@given(intercepts)
def test_degenerate_classes_have_no_room_between_their_thresholds(b):
    t = decisions.thresholds_from_intercepts(b)
    ends = np.concatenate([[-np.inf], t, [np.inf]])
    np.testing.assert_array_equal(decisions.degenerate_classes(b), ends[:-1] == ends[1:])


@given(st.lists(any_number, min_size=1, max_size=30))
def test_thresholds_never_descend_not_even_by_rounding(b):
    t = decisions.thresholds_from_intercepts(b)
    assert t.shape == (len(b) - 1,)
    assert np.all(np.diff(t) >= 0)


@given(ordered)
def test_thresholds_survive_the_way_there_and_back(t):
    np.testing.assert_array_equal(decisions.thresholds_from_intercepts(decisions.intercepts_from_thresholds(t)), t)


@given(intercepts)
def test_intercepts_come_back_as_their_concave_hull_from_zero(b):
    back = decisions.intercepts_from_thresholds(decisions.thresholds_from_intercepts(b)) + b[0]
    degenerate = decisions.degenerate_classes(b)
    np.testing.assert_array_equal(back[~degenerate], np.array(b)[~degenerate])
    assert np.all(back >= b)
    assert np.all(np.diff(back, 2) <= 0)


@given(intercepts, lattice, lattice)
def test_a_line_added_to_the_intercepts_moves_the_thresholds(b, slope, height):
    # f y + b_y + slope y + height: the height changes nothing, the slope is added to f.
    moved = np.array(b) + slope * np.arange(len(b)) + height
    expected = decisions.thresholds_from_intercepts(b) - slope
    np.testing.assert_array_equal(decisions.thresholds_from_intercepts(moved), expected)
    np.testing.assert_array_equal(decisions.degenerate_classes(moved), decisions.degenerate_classes(b))


def test_infinite_and_huge_scores_are_no_trouble():
    assert decisions.mord_ranks([-np.inf, -1e308, 1e308, np.inf], [0.0, 5.0, 1.0]).tolist() == [0, 0, 2, 2]


@given(st.lists(scores, min_size=1), st.integers(1, 6), st.integers(-8, 8).map(lambda k: k / 4))
def test_rounded_regression_is_a_mord_classifier(f, n_classes, intercept):
    expected = [min(max(int(np.ceil(value + intercept - 0.5)), 0), n_classes - 1) for value in f]
    assert decisions.mord_ranks(f, decisions.rounded_intercepts(n_classes, intercept)).tolist() == expected


@given(cut_labels())
def test_beta_mixes_the_scores_of_the_neighbouring_cuts(drawn):
    cuts, n_classes = drawn
    expected = np.array(piecewise_mix(cuts, n_classes), dtype=np.float64)
    beta = decisions.beta_matrix(cuts, n_classes)
    np.testing.assert_allclose(beta, expected, rtol=1e-15)
    np.testing.assert_array_equal(beta[cuts], np.eye(len(cuts)))
    np.testing.assert_allclose(beta.sum(axis=1), 1.0)
    assert beta.min() >= 0


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_a_cut_at_every_class_is_the_multi_class_classifier(n_classes):
    np.testing.assert_array_equal(decisions.beta_matrix(range(n_classes), n_classes), np.eye(n_classes))
    np.testing.assert_array_equal(decisions.beta_matrix(n_classes, n_classes), np.eye(n_classes))


@given(st.integers(2, 12), st.data())
def test_a_number_of_cuts_is_spread_evenly(n_classes, data):
    n_cuts = data.draw(st.integers(2, n_classes))
    beta = decisions.beta_matrix(n_cuts, n_classes)
    at = np.flatnonzero((beta == 1).any(axis=1)) if n_cuts < n_classes else np.arange(n_classes)
    assert beta.shape == (n_classes, n_cuts)
    assert at.size == n_cuts
    steps = np.diff(at)
    assert steps.max() - steps.min() <= 1


whole = st.integers(-20, 20).map(float)


@given(st.data(), cut_labels(max_classes=6))
def test_unified_rule_is_the_written_one(data, drawn):
    cuts, n_classes = drawn
    vectors = st.lists(st.lists(whole, min_size=2, max_size=2), min_size=len(cuts), max_size=len(cuts))
    coef = np.array(data.draw(vectors)) * 60  # so that every mix of two scores is a whole number
    b = data.draw(st.lists(whole, min_size=n_classes, max_size=n_classes))
    X = np.array(data.draw(st.lists(st.lists(whole, min_size=2, max_size=2), min_size=1, max_size=4)))
    expected = [unified_rule(w, b, piecewise_mix(cuts, n_classes)) for w in X @ coef.T]
    beta = decisions.beta_matrix(cuts, n_classes)
    scored = decisions.unified_scores(X, coef, b, beta)
    np.testing.assert_allclose(scored, X @ coef.T @ beta.T + b)
    np.testing.assert_allclose(decisions.unified_scores(csr_array(X), coef, b, beta), scored)
    # Where rounding of thirds and fifths splits a tie, another class of the same value may win.
    chosen = decisions.unified_ranks(X, coef, b, beta)
    rows = np.arange(len(X))
    np.testing.assert_allclose(scored[rows, chosen], scored[rows, expected], rtol=1e-12, atol=1e-9)
    if all(np.diff(cuts) & (np.diff(cuts) - 1) == 0):  # steps of 1, 2, 4: alpha has no rounding
        assert chosen.tolist() == expected


@given(st.lists(scores, min_size=1, max_size=5), st.lists(lattice, min_size=2, max_size=6))
def test_two_cuts_predict_as_mord_does(f, b):
    n_classes = len(b)
    # One feature, w_0 = 5, w_1 = 5 + (K - 1): MORD with w = 1.
    coef = [[5.0], [5.0 + n_classes - 1]]
    beta = decisions.beta_matrix([0, n_classes - 1], n_classes)
    rows = np.array(f)[:, None]
    values = np.sort(rows * np.arange(n_classes) + b, axis=1)
    clear = values[:, -1] > values[:, -2]  # ties of the written rule may be split by the rounding of alpha
    mord = decisions.mord_ranks(f, b)
    np.testing.assert_array_equal(decisions.unified_ranks(rows, coef, b, beta)[clear], mord[clear])
    one_vector = decisions.unified_ranks(rows, [[1.0]], b, np.arange(n_classes)[:, None])
    np.testing.assert_array_equal(one_vector, mord)


def test_more_cuts_can_do_what_one_direction_cannot():
    # D0 of the CuSum paper: three classes that no single direction orders.
    X, y = np.array([[0, 0], [0, 1], [1, 1], [1, 0]]), [0, 1, 1, 2]
    coef = [[-1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]
    assert decisions.unified_ranks(X, coef, [0.5, 0.0, 0.0], decisions.beta_matrix(3, 3)).tolist() == y


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: decisions.intercepts_from_thresholds([1.0, 0.0]),
            r"must not descend\. Got 0\.0 after 1\.0 at place 1",
        ),
        (
            lambda: decisions.intercepts_from_thresholds([0.0, np.inf]),
            r"thresholds must be finite\. Got inf at place 1",
        ),
        (
            lambda: decisions.intercepts_from_thresholds([1e308, 1e308]),
            r"sums of the thresholds, must be finite\. Got -inf",
        ),
        (lambda: decisions.thresholds_from_intercepts([]), r"at least 1 numbers\. Got shape \(0,\)"),
        (lambda: decisions.mord_ranks([0.0], [0.0, np.nan]), r"intercepts must be finite\. Got nan at place 1"),
        (lambda: decisions.degenerate_classes([[0.0]]), r"intercepts must be a vector .* Got shape \(1, 1\)"),
        (lambda: decisions.rounded_intercepts(0), r"n_classes must be an integer >= 1\. Got 0"),
        (lambda: decisions.beta_matrix([0, 1], 3), r"ascend strictly from 0 to n_classes - 1 = 2\. Got \[0, 1\]"),
        (lambda: decisions.beta_matrix([0, 1, 1, 2], 3), r"cuts must ascend strictly"),
        (lambda: decisions.beta_matrix([0.0, 2.0], 3), r"cuts must be a number or at least two codes"),
        (lambda: decisions.beta_matrix(1, 3), r"cuts must be at least 2 and at most n_classes = 3\. Got 1"),
        (lambda: decisions.beta_matrix(4, 3), r"cuts must be at least 2 and at most n_classes = 3\. Got 4"),
        (
            lambda: decisions.unified_scores(np.ones((2, 3)), np.ones((2, 2)), np.ones(4), np.ones((4, 2))),
            r"Got \(2, 3\), \(2, 2\), \(4,\) and \(4, 2\)",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
