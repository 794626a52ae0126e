import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.annotation import (
    alpha_beta_intervals,
    partial_labels,
    partition_intervals,
    type1_intervals,
    type2_intervals,
)
from rankwise.labels import encode
from tests.strategies import annotated

KINDS = {1: type1_intervals, 2: type2_intervals}


def slow_choices(code, n_classes, kind):
    """All intervals that the paper allows for a label, as pairs of codes."""
    if n_classes == 1:
        return [(0, 0)]
    if code == 0:
        return [(0, 1)]
    if code == n_classes - 1:
        return [(n_classes - 2, n_classes - 1)]
    return [(code - 1, code), (code, code + 1)] if kind == 1 else [(code - 1, code + 1)]


def codes_of(intervals, classes):
    return [(classes.index(low), classes.index(high)) for low, high in intervals.tolist()]


@given(annotated(kinds=("exact",), min_classes=1), st.sampled_from([1, 2]), st.integers(0, 99))
def test_intervals_are_the_papers(rows, kind, seed):
    options = {"random_state": seed} if kind == 1 else {}
    intervals = KINDS[kind](rows.y, rows.classes, **options)
    assert intervals.shape == (len(rows.y), 2)
    for (code,), ends in zip(rows.codes, codes_of(intervals, rows.classes), strict=True):
        assert ends in slow_choices(code, len(rows.classes), kind)


def test_type1_takes_both_sides_about_equally_often():
    n = 4000
    lower = type1_intervals(np.full(n, 2), classes=[1, 2, 3], random_state=0)[:, 0]
    # A fair coin's count of n lies within 5 standard deviations, sqrt(n) / 2 each, but for one case in a million.
    assert abs(np.sum(lower == 1) - n / 2) < 5 * np.sqrt(n) / 2


def test_type1_repeats_with_its_random_state():
    y = np.arange(50) % 5
    first, again = (type1_intervals(y, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first != type1_intervals(y, random_state=4)).any()


@given(annotated(kinds=("exact",)), st.floats(0, 1), st.sampled_from([1, 2]), st.integers(0, 99))
def test_exactly_the_fraction_is_partial(rows, fraction, kind, seed):
    result = partial_labels(rows.y, fraction, kind, rows.classes, random_state=seed)
    ends = codes_of(result, rows.classes)
    assert sum(low < high for low, high in ends) == round(fraction * len(rows.y))
    for (code,), pair in zip(rows.codes, ends, strict=True):
        assert pair in [(code, code), *slow_choices(code, len(rows.classes), kind)]


@pytest.mark.parametrize("kind", [1, 2])
def test_a_larger_fraction_only_adds_intervals(kind):
    y = np.arange(40) % 4
    few, many = (partial_labels(y, share, kind, random_state=0) for share in (0.3, 0.7))
    partial = few[:, 0] < few[:, 1]
    assert partial.any()
    np.testing.assert_array_equal(few[partial], many[partial])


def test_the_choice_of_rows_is_uniform():
    y = np.tile([1, 2], 5)
    counts = sum(np.diff(partial_labels(y, 0.3, 2, random_state=seed)).ravel() for seed in range(1000))
    # Each row is chosen with probability 0.3: 1000 draws, standard deviation sqrt(1000 * 0.3 * 0.7).
    assert np.all(np.abs(counts - 300) < 5 * np.sqrt(210))


@pytest.mark.parametrize(
    ("y", "classes", "expected"),
    [
        (np.array([10, 20, 50], dtype=np.int16), None, np.array([[10, 20], [10, 50], [20, 50]], dtype=np.int16)),
        (np.array([0.5, 2.0, 7.0] * 2), None, np.array([[0.5, 2.0], [0.5, 7.0], [2.0, 7.0]] * 2)),
        (["no", "so-so", "yes"], ["no", "so-so", "yes"], np.array([["no", "so-so"], ["no", "yes"], ["so-so", "yes"]])),
        ([3, 1], [3, 2, 1], np.array([[3, 2], [2, 1]])),
        (
            pd.Categorical(["bad", "good"], categories=["bad", "fair", "good"], ordered=True),
            None,
            np.array([["bad", "fair"], ["fair", "good"]]),
        ),
    ],
    ids=["gaps", "floats", "strings", "descending", "categorical"],
)
def test_forms_of_labels(y, classes, expected):
    result = type2_intervals(y, classes)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    order = classes if classes is not None else encode(y).classes
    assert encode(result, order).upper.tolist() == [order_index(order, high) for high in expected[:, 1].tolist()]


def order_index(order, label):
    return list(order).index(label)


@pytest.mark.parametrize("fraction", [-0.1, 1.1, np.nan])
def test_bad_fraction(fraction):
    with pytest.raises(ValueError, match=rf"fraction must lie in \[0, 1\]\. Got {fraction}"):
        partial_labels([1, 2], fraction)


def test_bad_kind():
    with pytest.raises(ValueError, match=r"kind must be 1 or 2\. Got 3"):
        partial_labels([1, 2], 0.5, kind=3)


@given(annotated(kinds=("exact",), min_classes=1), st.integers(1, 8))
def test_parts_divide_the_scale(rows, size):
    k = len(rows.classes)
    ends = codes_of(partition_intervals(rows.y, size, rows.classes), rows.classes)
    parts = [range(start, min(start + size, k)) for start in range(0, k, size)]
    for (code,), (low, high) in zip(rows.codes, ends, strict=True):
        (part,) = [part for part in parts if code in part]
        assert (low, high) == (part[0], part[-1])


def test_parts_are_those_of_the_thesis():
    ages = partition_intervals([1, 5, 6, 10, 11, 12], size=5, classes=range(1, 13))
    assert ages.tolist() == [[1, 5], [1, 5], [6, 10], [6, 10], [11, 12], [11, 12]]


@given(annotated(kinds=("exact",), min_classes=1), st.data(), st.floats(0, 1), st.integers(0, 99))
def test_intervals_hold_the_label_and_have_the_width(rows, data, alpha, seed):
    k = len(rows.classes)
    beta = data.draw(st.integers(0, k - 1))
    ends = codes_of(alpha_beta_intervals(rows.y, alpha, beta, rows.classes, random_state=seed), rows.classes)
    for (code,), (low, high) in zip(rows.codes, ends, strict=True):
        assert 0 <= low <= code <= high < k
        assert high - low == beta or low == high == code


def test_the_share_of_exact_labels_is_alpha_whatever_the_class():
    n, k, alpha = 80_000, 4, 0.3
    y = np.arange(n) % k
    ends = alpha_beta_intervals(y, alpha, 1, random_state=0)
    exact = np.bincount(y[ends[:, 0] == ends[:, 1]], minlength=k) / (n / k)
    np.testing.assert_allclose(exact, alpha, atol=5 * np.sqrt(alpha * (1 - alpha) * k / n))


def test_every_place_of_a_random_interval_is_equally_likely():
    n = 9000
    lower = alpha_beta_intervals(np.full(n, 5), 0.0, 2, classes=range(9), random_state=0)[:, 0]
    counts = np.bincount(lower, minlength=9)
    assert set(np.flatnonzero(counts)) == {3, 4, 5}
    assert np.all(np.abs(counts[3:6] - n / 3) < 5 * np.sqrt(n * 2 / 9))


@pytest.mark.parametrize("placement", ["random", "partition"])
def test_a_larger_alpha_only_adds_exact_labels(placement):
    y = np.arange(60) % 6
    few, many = (alpha_beta_intervals(y, alpha, 2, random_state=0, placement=placement) for alpha in (0.3, 0.7))
    partial = many[:, 0] < many[:, 1]
    assert partial.any()
    np.testing.assert_array_equal(few[partial], many[partial])
    assert np.sum(few[:, 0] < few[:, 1]) > partial.sum()


def test_partitions_with_alpha_are_the_thesis_experiment():
    y = np.arange(1000) % 10
    ends = alpha_beta_intervals(y, 0.25, 4, random_state=0, placement="partition")
    exact = ends[:, 0] == ends[:, 1]
    assert 150 < exact.sum() < 350
    np.testing.assert_array_equal(ends[exact], np.column_stack([y, y])[exact])
    np.testing.assert_array_equal(ends[~exact], partition_intervals(y, 5)[~exact])


def test_ends_of_the_process():
    y = np.array([1, 2, 3])
    np.testing.assert_array_equal(alpha_beta_intervals(y, 1.0, 2, random_state=0), np.column_stack([y, y]))
    np.testing.assert_array_equal(alpha_beta_intervals(y, 0.0, 2, random_state=0), [[1, 3]] * 3)
    np.testing.assert_array_equal(alpha_beta_intervals(y, 0.0, 0, random_state=0), np.column_stack([y, y]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: alpha_beta_intervals([1, 2], 1.5, 1), r"alpha must lie in \[0, 1\]\. Got 1\.5"),
        (lambda: alpha_beta_intervals([1, 2], 0.5, 2), r"beta must be an integer in 0\.\.1, .* Got 2"),
        (lambda: alpha_beta_intervals([1, 2], 0.5, 0.5), r"beta must be an integer in 0\.\.1, .* Got 0\.5"),
        (lambda: alpha_beta_intervals([1, 2], 0.5, 1, placement="left"), r"placement must be .* Got 'left'"),
        (lambda: partition_intervals([1, 2], 0), r"size must be an integer >= 1\. Got 0"),
    ],
)
def test_bad_processes(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("bad", [None, (1, 2)])
@pytest.mark.parametrize(
    "make",
    [
        type1_intervals,
        type2_intervals,
        lambda y: partial_labels(y, 0.5),
        lambda y: partition_intervals(y, 2),
        lambda y: alpha_beta_intervals(y, 0.5, 1),
    ],
)
def test_partial_labels_cannot_become_intervals(make, bad):
    with pytest.raises(ValueError, match=r"row 1: intervals are made from exact labels"):
        make([1, bad, 3])
