"""The theorems are checked on processes whose risks are known exactly, the estimates on samples of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import annotation, bounds
from tests.processes import Process, make_process

SEEDS = st.integers(0, 2**32 - 1)
ROUNDING = 1e-12


@given(SEEDS, st.booleans())
def test_theorem_2_bounds_the_zero_one_risk(seed, consistent):
    process = make_process(seed, consistent=consistent)
    bound = bounds.interval_zero_one_risk(process.partial_risk("zero_one"), min(1.0, process.ambiguity()))
    assert process.risk("zero_one") <= bound + ROUNDING


@given(SEEDS)
def test_theorem_3_bounds_the_mean_absolute_error(seed):
    process = make_process(seed)
    partial = process.partial_risk("mae")
    alpha = min(1.0, process.alpha)
    reach, width = (bounds.interval_mae_risk(partial, 0.0, b) for b in (process.mean_reach, process.mean_width))
    coarse = bounds.interval_mae_risk(partial, alpha, process.beta)
    assert process.risk("mae") <= reach + ROUNDING
    assert reach <= width + ROUNDING  # each refinement is one
    assert width <= coarse + ROUNDING


@given(SEEDS)
def test_the_reach_needs_no_consistency(seed):
    process = make_process(seed, consistent=False)
    assert process.risk("mae") <= process.partial_risk("mae") + process.mean_reach + ROUNDING


def test_an_inconsistent_process_breaks_theorem_3():
    # Always annotated exactly, and always wrong: why the theorem asks for consistency.
    process = Process(2, [(1, 1)], np.array([[1.0, 0.0]]), np.ones((1, 2, 1)), np.array([1]))
    assert process.risk("mae") > bounds.interval_mae_risk(process.partial_risk("mae"), process.alpha, process.beta)


def test_both_theorems_are_sharp():
    # Class 0 of 4; annotated exactly in one case of four, else [0, 3]; the prediction is 3.
    chances = np.array([[[0.25, 0.75], [1, 0], [1, 0], [1, 0]]])
    process = Process(4, [(0, 0), (0, 3)], np.array([[1.0, 0, 0, 0]]), chances, np.array([3]))
    assert process.risk("mae") == bounds.interval_mae_risk(process.partial_risk("mae"), process.alpha, process.beta)
    assert process.ambiguity() == 0.75
    assert process.risk("zero_one") == bounds.interval_zero_one_risk(process.partial_risk("zero_one"), 0.75)


def test_ends_of_the_bounds():
    assert bounds.interval_zero_one_risk(0.3, 0.0) == 0.3
    assert bounds.interval_zero_one_risk(0.3, 0.9) == 1.0
    assert bounds.interval_zero_one_risk(0.0, 1.0) == 1.0  # every class always admitted: nothing is known
    assert bounds.interval_mae_risk(0.3, 1.0, 4) == bounds.interval_mae_risk(0.3, 0.0, 0) == 0.3


@pytest.mark.parametrize("seed", range(5))
def test_estimates_come_close_to_the_process(seed):
    process, rng = make_process(seed, depends_on_x=False), np.random.default_rng(seed)
    n = 20_000
    _, y, ends = process.sample(n, rng)
    # Full intervals say nothing and are left out: they are told apart from the others by one more class above.
    classes = range(process.n_classes + 1)
    found = annotation.precision(ends, classes)
    assert found.alpha == pytest.approx(process.alpha, abs=5 / np.sqrt(4 * n))
    assert found.mean_width == pytest.approx(process.mean_width, abs=5 * process.beta / np.sqrt(4 * n))
    assert found.beta == process.beta
    both = annotation.overlap(ends, y, classes)
    assert both.consistency == 1.0
    assert both.mean_reach == pytest.approx(process.mean_reach, abs=5 * process.beta / np.sqrt(4 * n))
    common = both.n_rows[:-1] > n / 20
    expected = np.array([
        [sum(p for p, (low, high) in zip(process.annotation[0, y], process.intervals, strict=True) if low <= z <= high)
         for z in range(process.n_classes)]
        for y in range(process.n_classes)
    ])  # fmt: skip
    np.testing.assert_allclose(both.rates[:-1, :-1][common], expected[common], atol=5 / np.sqrt(4 * n / 20))


def test_ambiguity_is_the_largest_share_of_a_companion():
    both = annotation.overlap([(1, 2), (1, 1), (2, 3), (2, 3), (2, 2)], [1, 1, 2, 3, 2], classes=[1, 2, 3, 4])
    # 2 comes along with 1 in one row of two, 3 with 2 in one of two, 2 with 3 in the only one.
    assert bounds.ambiguity_degree(both) == 1.0
    both = annotation.overlap([(1, 2), (1, 1), (2, 3), (2, 2), (2, 2)], [1, 1, 2, 2, 2], classes=[1, 2, 3])
    assert bounds.ambiguity_degree(both) == 0.5
    assert bounds.ambiguity_degree(annotation.overlap([7, 7], [7, 7])) == 0.0


def test_the_limit_of_the_ambiguity_holds_as_often_as_it_says():
    # Class 0 is confused with 1 in 3 rows of 10, class 1 with 0 in 2 of 10, class 2 never: epsilon = 0.3.
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    limits = []
    for _ in range(400):
        doubtful = rng.random(y.size) < np.array([0.3, 0.2, 0.0])[y]
        ends = np.column_stack([np.where(doubtful, 0, y), np.where(doubtful, 1, y)])
        both = annotation.overlap(ends, y, classes=[0, 1, 2])
        limits.append([bounds.ambiguity_degree(both, confidence) for confidence in (None, 0.5, 0.9)])
    misses = (np.array(limits) < 0.3).sum(axis=0)
    assert misses[0] > 100  # the share itself is no limit
    assert misses[1] <= 200 + 5 * np.sqrt(400 * 0.25)
    assert misses[2] <= 40 + 5 * np.sqrt(400 * 0.09)
    assert np.all(np.diff(limits, axis=1) > 0)
    assert np.mean(limits, axis=0)[2] < 0.6  # and yet the limit says something


def test_classes_without_rows_have_no_limit():
    both = annotation.overlap([(1, 1)] * 9 + [(2, 2)] * 9, [1] * 9 + [2] * 9, classes=[1, 2, 3])
    assert bounds.ambiguity_degree(both) == 0.0
    assert bounds.ambiguity_degree(both, confidence=0.95) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.interval_zero_one_risk(1.5, 0.5), r"partial_risk must lie in \[0, 1\]\. Got 1\.5"),
        (lambda: bounds.interval_zero_one_risk(0.5, -0.1), r"ambiguity must lie in \[0, 1\]\. Got -0\.1"),
        (lambda: bounds.interval_mae_risk(-1.0, 0.5, 1), r"partial_risk must be a finite number >= 0\. Got -1\.0"),
        (lambda: bounds.interval_mae_risk(1.0, 2, 1), r"alpha must lie in \[0, 1\]\. Got 2"),
        (lambda: bounds.interval_mae_risk(1.0, 0.5, np.nan), r"beta must be a finite number >= 0\. Got nan"),
        (lambda: bounds.ambiguity_degree(annotation.overlap([1, 2], [1, 2]), 1.0), r"confidence must lie .* Got 1\.0"),
    ],
)
def test_bad_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
