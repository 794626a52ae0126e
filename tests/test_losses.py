import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankwise.decisions import ranks
from rankwise.labels import encode
from rankwise.losses import (
    check_v_shaped,
    explicit_surrogate,
    implicit_surrogate,
    interval_insensitive,
    interval_pessimistic,
    loss_matrix,
)
from tests.strategies import annotated

NAMED = {"mae": lambda y, p: abs(y - p), "zero_one": lambda y, p: float(y != p), "squared": lambda y, p: (y - p) ** 2}

#: What a partial label leaves open: the loss against the best and against the worst admissible class.
ENDS = pytest.mark.parametrize(("cost", "end"), [(interval_insensitive, min), (interval_pessimistic, max)])


@st.composite
def v_shaped(draw, n_classes):
    """Random V-shaped matrix: every side of every row is a running sum of steps >= 0."""
    step = st.integers(0, 3)
    matrix = np.zeros((n_classes, n_classes))
    for y in range(n_classes):
        for side in (range(y + 1, n_classes), range(y - 1, -1, -1)):
            matrix[y, list(side)] = np.cumsum([draw(step) for _ in side])
    return matrix


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_named_matrices(name, n_classes):
    matrix = loss_matrix(name, n_classes)
    assert matrix.dtype == np.float64
    assert matrix.tolist() == [[NAMED[name](y, p) for p in range(n_classes)] for y in range(n_classes)]
    check_v_shaped(matrix)


@given(arrays(np.float64, (3, 3), elements=st.integers(-1, 2)))
def test_check_accepts_exactly_the_v_shaped(matrix):
    codes = range(3)
    v = all(matrix[y, y] == 0 for y in codes) and all(
        matrix[y, far] >= matrix[y, near]
        for y, near, far in itertools.product(codes, repeat=3)
        if (y <= near < far) or (far < near <= y)
    )
    if v:
        np.testing.assert_array_equal(loss_matrix(matrix, 3), matrix)
    else:
        with pytest.raises(ValueError, match=r"loss\[\d, \d\] = "):
            loss_matrix(matrix, 3)


def test_matrix_is_a_copy():
    mine = [[0, 1], [2, 0]]
    assert loss_matrix(mine, 2).tolist() == mine
    given_array = np.array(mine, dtype=float)
    assert not np.shares_memory(loss_matrix(given_array, 2), given_array)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("rmse", r"loss must be 'mae', 'zero_one', 'squared' or a K x K matrix\. Got 'rmse'"),
        ([["a", "b"], ["c", "d"]], r"loss must be .* or a K x K matrix"),
        ([[0, 1]], r"shape \(2, 2\)\. Got shape \(1, 2\)"),
        ([[0, np.nan], [1, 0]], r"must be finite\. Got loss\[0, 1\] = nan"),
        ([[0, 1], [1, 2]], r"0 for the right answer\. Got loss\[1, 1\] = 2\.0"),
        ([[0, -1], [1, 0]], r"loss\[0, 1\] = -1\.0 is below loss\[0, 0\] = 0\.0"),
        ([[0, 1], [-1, 0]], r"loss\[1, 0\] = -1\.0 is below loss\[1, 1\] = 0\.0"),
    ],
)
def test_bad_losses(loss, message):
    with pytest.raises(ValueError, match=message):
        loss_matrix(loss, 2)


def test_bad_number_of_classes():
    with pytest.raises(ValueError, match="n_classes must be at least 1"):
        loss_matrix("mae", 0)


@ENDS
@given(annotated(), st.sampled_from(sorted(NAMED)))
def test_interval_losses_are_the_least_and_the_largest_over_the_admissible(cost, end, rows, name):
    expected = [
        end(NAMED[name](y, p) for y in admitted) for admitted, p in zip(rows.codes, rows.predicted, strict=True)
    ]
    labels, codes = rows.encoded(), rows.predicted_codes
    result = cost(labels, codes, name)
    assert result.dtype == np.float64
    assert result.tolist() == expected
    as_matrix = cost(labels, codes, loss_matrix(name, len(rows.classes)))
    assert as_matrix.tolist() == expected


@ENDS
@given(st.data(), annotated())
def test_interval_losses_of_a_matrix(cost, end, data, rows):
    matrix = data.draw(v_shaped(len(rows.classes)))
    expected = [end(matrix[y, p] for y in admitted) for admitted, p in zip(rows.codes, rows.predicted, strict=True)]
    assert cost(rows.encoded(), rows.predicted_codes, matrix).tolist() == expected


@given(st.data(), annotated(kinds=("exact", "interval")))
def test_wider_intervals_never_cost_more_at_best_nor_less_at_worst(data, rows):
    n_classes = len(rows.classes)
    loss = data.draw(st.one_of(st.sampled_from(sorted(NAMED)), v_shaped(n_classes)))
    ends = np.array([[admitted[0], admitted[-1]] for admitted in rows.codes])
    wider = [(data.draw(st.integers(0, low)), data.draw(st.integers(high, n_classes - 1))) for low, high in ends]
    narrow, wide = (encode(np.array(y), range(n_classes)) for y in (ends, wider))
    codes = rows.predicted_codes
    assert (interval_insensitive(wide, codes, loss) <= interval_insensitive(narrow, codes, loss)).all()
    assert (interval_pessimistic(wide, codes, loss) >= interval_pessimistic(narrow, codes, loss)).all()


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([0, 3], r"row 1: a predicted code must lie in 0\.\.2\. Got 3"),
        ([-1, 0], r"row 0: a predicted code must lie in 0\.\.2\. Got -1"),
        ([0.0, 1.0], r"codes must be integers of shape \(2,\), one a label\. Got float64"),
        ([0], r"codes must be integers of shape \(2,\), one a label\. Got int64 of shape \(1,\)"),
    ],
)
def test_bad_codes(codes, message):
    for cost in (interval_insensitive, interval_pessimistic):
        with pytest.raises(ValueError, match=message):
            cost(encode([1, 2], [1, 2, 3]), np.array(codes), "mae")


@st.composite
def scored(draw, max_rows=6):
    """Scores, ordered thresholds and intervals; quarters, so that sums are exact and ties occur."""
    quarters = st.integers(-12, 12).map(lambda q: q / 4)
    thresholds = np.sort(draw(st.lists(quarters, min_size=1, max_size=4)))
    n = draw(st.integers(1, max_rows))
    scores = np.array(draw(st.lists(quarters, min_size=n, max_size=n)))
    code = st.integers(0, thresholds.size)
    ends = np.sort([[draw(code), draw(code)] for _ in range(n)], axis=1)
    return scores, thresholds, ends[:, 0], ends[:, 1]


def slow_implicit(f, t, lower, upper, margin):
    cost = 0.0
    for i in range(len(t)):
        if i < lower:
            cost += max(0.0, margin - (f - t[i]))
        if i >= upper:
            cost += max(0.0, margin + (f - t[i]))
    return cost


@given(scored(), st.sampled_from([0.0, 0.5, 1.0]))
def test_implicit_surrogate_is_the_plain_sum(rows, margin):
    scores, thresholds, lower, upper = rows
    expected = [slow_implicit(f, thresholds, a, b, margin) for f, a, b in zip(scores, lower, upper, strict=True)]
    assert implicit_surrogate(scores, thresholds, lower, upper, margin).tolist() == expected
    own = np.tile(thresholds, (scores.size, 1))
    assert implicit_surrogate(scores, own, lower, upper, margin).tolist() == expected


@given(scored(), st.sampled_from([0.0, 0.5, 1.0]))
def test_explicit_surrogate_has_the_two_nearest_terms(rows, margin):
    scores, thresholds, lower, upper = rows
    expected = []
    for f, a, b in zip(scores, lower, upper, strict=True):
        low = max(0.0, margin - f + thresholds[a - 1]) if a > 0 else 0.0
        high = max(0.0, margin + f - thresholds[b]) if b < thresholds.size else 0.0
        expected.append(low + high)
    result = explicit_surrogate(scores, thresholds, lower, upper, margin)
    assert result.tolist() == expected
    assert explicit_surrogate(scores, np.tile(thresholds, (scores.size, 1)), lower, upper, margin).tolist() == expected
    assert (result <= implicit_surrogate(scores, thresholds, lower, upper, margin)).all()


@given(scored())
def test_surrogates_bound_the_losses_they_stand_for(rows):
    scores, thresholds, lower, upper = rows
    labels = encode(np.column_stack([lower, upper]), range(thresholds.size + 1))
    codes = ranks(scores, thresholds)
    assert (implicit_surrogate(scores, thresholds, lower, upper, margin=1.0) >= labels.distance(codes)).all()
    zero_one = interval_insensitive(labels, codes, "zero_one")
    assert (explicit_surrogate(scores, thresholds, lower, upper) >= zero_one).all()
    # Without a margin the implicit one is zero exactly for scores inside the closed interval of thresholds.
    inside = [
        (a == 0 or thresholds[a - 1] <= f) and (b == thresholds.size or f <= thresholds[b])
        for f, a, b in zip(scores, lower, upper, strict=True)
    ]
    assert (implicit_surrogate(scores, thresholds, lower, upper) == 0).tolist() == inside


@given(scored(), st.data(), st.sampled_from([implicit_surrogate, explicit_surrogate]))
def test_surrogates_fall_with_wider_intervals_and_are_convex(rows, data, surrogate):
    scores, thresholds, lower, upper = rows
    cost = surrogate(scores, thresholds, lower, upper, margin=1.0)
    wide_lower = [data.draw(st.integers(0, int(a))) for a in lower]
    wide_upper = [data.draw(st.integers(int(b), thresholds.size)) for b in upper]
    assert (surrogate(scores, thresholds, wide_lower, wide_upper, margin=1.0) <= cost).all()
    other_scores = scores[::-1] + 1.0
    other_thresholds = np.sort(thresholds * data.draw(st.integers(-2, 2)))
    middle = surrogate((scores + other_scores) / 2, (thresholds + other_thresholds) / 2, lower, upper, margin=1.0)
    ends = cost + surrogate(other_scores, other_thresholds, lower, upper, margin=1.0)
    assert (middle <= ends / 2 + 1e-12).all()


@pytest.mark.parametrize("surrogate", [implicit_surrogate, explicit_surrogate])
def test_infinite_thresholds_without_a_say_cost_nothing(surrogate):
    # Label [1, 1] of 4 wants the score above -inf and below 0 and inf.
    assert surrogate([-2.0], [-np.inf, 0.0, np.inf], 1, 1, margin=1.0).tolist() == [0.0]
    # Label [0, 2] has a say only about the last threshold.
    assert surrogate([5.0], [-np.inf, 0.0, np.inf], 0, 2, margin=1.0).tolist() == [0.0]


def test_one_class_costs_nothing():
    assert implicit_surrogate([3.0], [], 0, 0, margin=1.0).tolist() == [0.0]
    assert explicit_surrogate([3.0], [], 0, 0).tolist() == [0.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0]], [0.0], 0, 0), r"scores must have shape \(n,\)"),
        (([0.0, 1.0, 2.0], [[0.0], [1.0]], 0, 0), r"thresholds \(K-1,\) or \(n, K-1\)\. Got \(3,\) and \(2, 1\)"),
        (([0.0], [0.0], 1, 0), r"row 0: 0 <= lower <= upper <= 1 must hold\. Got \[1, 0\]"),
        (([0.0, 0.0], [0.0], [0, 0], [1, 2]), r"row 1: 0 <= lower <= upper <= 1 must hold\. Got \[0, 2\]"),
        (([0.0], [0.0], 0.5, 1), r"lower must be an integer code.*Got float64"),
        (([0.0], [0.0], 0, [1, 1]), r"upper must be an integer code, or one for each of the 1 scores.*shape \(2,\)"),
        (([0.0], [0.0], 0, 0, -1.0), r"margin must be a finite number >= 0\. Got -1\.0"),
        (([0.0], [0.0], 0, 0, np.nan), r"margin must be a finite number >= 0\. Got nan"),
    ],
)
@pytest.mark.parametrize("surrogate", [implicit_surrogate, explicit_surrogate])
def test_bad_arguments_of_surrogates(surrogate, arguments, message):
    with pytest.raises(ValueError, match=message):
        surrogate(*arguments)


def test_explicit_surrogate_needs_ordered_thresholds():
    with pytest.raises(ValueError, match=r"thresholds must not descend\. Got 1\.0 after 2\.0 at place 1"):
        explicit_surrogate([0.0], [2.0, 1.0], 0, 0)
