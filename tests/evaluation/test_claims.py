"""Ranges of the error hold whatever the truth is, and limits as often as they say."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankwise.annotation import alpha_beta_intervals
from rankwise.evaluation import error_range
from rankwise.losses import loss_matrix
from tests.processes import make_process
from tests.strategies import annotated

LOSSES = st.sampled_from(["mae", "zero_one", "squared"])


def weighted_mean(values, weights):
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


@given(annotated(), LOSSES, st.booleans(), st.data())
def test_every_truth_lies_in_the_range_and_both_ends_are_reached(rows, loss, counted, data):
    kept = [i for i, a in enumerate(rows.codes) if counted or len(a) < len(rows.classes)]
    weights = [rows.weights[i] for i in kept]
    assume(any(weights))
    assume(any(len(a) < len(rows.classes) for a in rows.codes))
    matrix = loss_matrix(loss, len(rows.classes))
    cost = [[matrix[y, rows.predicted[i]] for y in rows.codes[i]] for i in kept]
    found = error_range(
        rows.y,
        rows.y_pred,
        loss=loss,
        classes=rows.classes,
        sample_weight=rows.weights,
        missing="counted" if counted else "left_out",
    )
    assert found.lower == pytest.approx(weighted_mean([min(c) for c in cost], weights))
    assert found.upper == pytest.approx(weighted_mean([max(c) for c in cost], weights))
    truth = weighted_mean([data.draw(st.sampled_from(c)) for c in cost], weights)
    assert found.lower - 1e-12 <= truth <= found.upper + 1e-12
    assert 0 <= found.lower_limit <= found.lower + 1e-12
    assert found.upper <= found.upper_limit + 1e-12
    assert found.upper_limit <= matrix.max()
    assert found.n_rows == np.count_nonzero(weights)
    as_matrix = error_range(
        rows.y, rows.y_pred, loss=matrix, classes=rows.classes, sample_weight=rows.weights,
        missing="counted" if counted else "left_out",
    )  # fmt: skip
    assert as_matrix == found


def test_limits_are_hoeffdings():
    y, predicted = np.arange(100) % 3, np.arange(100) % 4
    found = error_range(y, predicted, classes=range(4), confidence=0.9)
    slack = 3 * math.sqrt(math.log(2 / 0.1) / (2 * 100))  # two-sided, losses in [0, 3]
    assert found.lower == found.upper == np.abs(y - predicted).mean()
    assert found.upper_limit - found.upper == pytest.approx(slack)
    assert found.lower - found.lower_limit == pytest.approx(slack)


def test_equal_weights_change_nothing_and_unequal_ones_widen_the_limits():
    y, predicted = np.arange(100) % 3, np.arange(100) % 4
    plain, scaled, uneven = (
        error_range(y, predicted, classes=range(4), sample_weight=w)
        for w in (None, np.full(100, 7.0), np.where(np.arange(100) < 10, 1.0, 1e-9))
    )
    assert scaled.upper_limit == pytest.approx(plain.upper_limit)
    tenth = error_range(y[:10], predicted[:10], classes=range(4))
    assert uneven.upper_limit == pytest.approx(tenth.upper_limit)


def coverage(make, risk, repeats, **options):
    """How often the limits hold the risk, and how often each of the two fails."""
    rng = np.random.default_rng(0)
    found = [error_range(*make(rng), **options) for _ in range(repeats)]
    too_high = sum(f.lower_limit > risk for f in found)
    too_low = sum(f.upper_limit < risk for f in found)
    return too_high, too_low


@pytest.mark.parametrize("loss", ["mae", "zero_one"])
@pytest.mark.parametrize("limits", ["hoeffding", "bootstrap"])
@pytest.mark.parametrize("seed", range(3))
def test_limits_hold_the_risk_as_often_as_they_say(seed, limits, loss):
    process = make_process(seed)
    classes = range(process.n_classes + 1)  # one more, so that no interval is all classes and left out

    def make(rng):
        h, _, ends = process.sample(150, rng)
        return ends, h

    risk, repeats = process.risk(loss), 100
    failures = coverage(make, risk, repeats, loss=loss, classes=classes, confidence=0.8, limits=limits, n_resamples=200)
    # 20 of 100 may fail; 5 standard deviations more would be chance.
    assert sum(failures) <= 20 + 5 * np.sqrt(100 * 0.2 * 0.8)


def test_bootstrap_limits_of_exact_labels_fail_about_as_often_as_they_may():
    # Losses 0, 1, 2 with probability 0.5, 0.3, 0.2.
    def make(rng):
        return np.zeros(300, dtype=int), rng.choice(3, 300, p=[0.5, 0.3, 0.2])

    too_high, too_low = coverage(make, 0.7, 300, classes=range(3), confidence=0.8, limits="bootstrap", n_resamples=300)
    # A tenth on either side, 30 of 300, within 4 standard deviations.
    for failures in (too_high, too_low):
        assert abs(failures - 30) < 4 * np.sqrt(300 * 0.1 * 0.9)


def test_bootstrap_draws_rows_with_their_weights():
    rng = np.random.default_rng(0)
    n = 200
    y, predicted, weight = np.zeros(n, dtype=int), rng.integers(0, 3, n), rng.choice([0.0, 1.0, 5.0], n)
    found = error_range(
        y, predicted, classes=range(3), sample_weight=weight, limits="bootstrap", n_resamples=4000, random_state=0
    )
    drawn = rng.integers(0, n, (4000, n))
    means = (weight[drawn] * predicted[drawn]).sum(axis=1) / weight[drawn].sum(axis=1)
    expected = np.quantile(means, [0.025, 0.975])
    spread = means.std()
    np.testing.assert_allclose([found.lower_limit, found.upper_limit], expected, atol=0.25 * spread)


def test_bootstrap_repeats_with_its_random_state():
    ends, predicted = np.array([[1, 2], [2, 3], [1, 1]] * 10), np.array([1, 3, 2, 2, 2] * 6)
    first, again, other = (
        error_range(ends, predicted, classes=[1, 2, 3, 4], limits="bootstrap", random_state=s) for s in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_theorem_3_narrows_the_range_when_alpha_is_better_than_its_luck():
    # Predictions far above every interval: the farthest class is the width away from the nearest.
    y, predicted = np.array([[1, 3], [2, 4], [1, 1]] * 500), np.full(1500, 9)
    plain = error_range(y, predicted, classes=range(1, 10))
    assert plain.upper - plain.lower == pytest.approx(4 / 3)
    known = error_range(y, predicted, classes=range(1, 10), alpha=0.5, beta=2)
    assert known.lower == plain.lower
    assert known.upper == pytest.approx(plain.lower + 1.0)
    slack = 8 * math.sqrt(math.log(4 / 0.05) / (2 * 1500))  # half of a half of 0.05 for each of two upper limits
    assert known.upper_limit == pytest.approx(plain.lower + slack + 1.0)
    assert known.lower_limit == plain.lower_limit
    useless = error_range(y, predicted, classes=range(1, 10), alpha=1 / 3, beta=2)
    assert useless.upper == pytest.approx(plain.upper)


@given(st.integers(0, 2**32 - 1))
def test_shares_seen_in_the_same_rows_never_narrow_the_range(seed):
    process = make_process(seed)
    h, _, ends = process.sample(20, np.random.default_rng(seed))
    classes, width = range(process.n_classes + 1), ends[:, 1] - ends[:, 0]
    plain = error_range(ends, h, classes=classes)
    known = error_range(ends, h, classes=classes, alpha=float(np.mean(width == 0)), beta=int(width.max()))
    assert known.upper == pytest.approx(plain.upper)


@pytest.mark.parametrize("limits", ["hoeffding", "bootstrap"])
def test_limits_with_theorem_3_hold_the_risk(limits):
    # Uniform over 6 classes, always predicted as 2, annotated exactly in 9 of 10 rows: the theorem decides.
    risk = np.abs(np.arange(6) - 2).mean()
    used = []

    def make(rng):
        y = rng.integers(0, 6, 100)
        ends = alpha_beta_intervals(y, 0.9, 1, range(6), random_state=np.random.RandomState(int(rng.integers(2**31))))
        options = dict(classes=range(6), confidence=0.8, limits=limits, n_resamples=200)
        with_theorem = error_range(ends, np.full(100, 2), alpha=0.9, beta=1, **options)
        used.append(with_theorem.upper < error_range(ends, np.full(100, 2), **options).upper)
        return ends, np.full(100, 2)

    failures = coverage(
        make, risk, 100, classes=range(6), confidence=0.8, limits=limits, n_resamples=200, alpha=0.9, beta=1
    )
    assert sum(failures) <= 20 + 5 * np.sqrt(16)
    assert any(used)


def test_theorem_2_narrows_the_range_of_the_zero_one_loss():
    y, predicted = [(1, 2)] * 6 + [3, 3, 4, 4], [1] * 6 + [3, 3, 4, 1]
    plain = error_range(y, predicted, loss="zero_one", classes=range(1, 5))
    assert (plain.lower, plain.upper) == (pytest.approx(0.1), pytest.approx(0.7))
    known = error_range(y, predicted, loss="zero_one", classes=range(1, 5), ambiguity=0.5)
    assert known.upper == pytest.approx(0.2)
    assert known.lower_limit == plain.lower_limit


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(alpha=0.5), r"alpha and beta must be given together\. Got alpha=0\.5 and beta=None"),
        (dict(alpha=0.5, beta=1), r"beta must be the width of the widest label at least\. Got beta=1 and \[1, 3\]"),
        (dict(alpha=1.5, beta=2), r"alpha must lie in \[0, 1\]\. Got 1\.5"),
        (
            dict(alpha=0.5, beta=2, loss="squared"),
            r"alpha and beta can only be used with loss='mae'\.",
        ),
        (dict(ambiguity=0.5), r"ambiguity can only be used with loss='zero_one'\. Got loss='mae'"),
        (dict(ambiguity=2, loss="zero_one"), r"ambiguity must lie in \[0, 1\]\. Got 2"),
        (dict(confidence=1.0), r"confidence must lie between 0 and 1\. Got 1\.0"),
        (dict(limits="exact"), r"limits must be 'hoeffding' or 'bootstrap'\. Got 'exact'"),
        (dict(missing="ignored"), r"missing must be 'left_out' or 'counted'\. Got 'ignored'"),
        (dict(n_resamples=0, limits="bootstrap"), r"n_resamples must be an integer >= 1\. Got 0"),
        (dict(loss="rmse"), r"loss must be .* Got 'rmse'"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        error_range([(1, 3), 2], [1, 2], classes=[1, 2, 3, 4], **options)
