"""The oracles: compiled losses equal to the plain formulas, derivatives to differences, dual points below."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.decisions import beta_matrix
from rankwise.losses import loss_matrix
from rankwise.risks import threshold_risk
from rankwise.risks.coded_rows import CodedRows
from rankwise.risks.maxima_risk import MaximaRisk
from rankwise.risks.threshold_risk import ThresholdRisk
from rankwise.solvers import smoothing
from rankwise.solvers.design import Design, sampled_rows
from tests.reference.large_margin import ThresholdProblem, UnifiedProblem

K = 5


def _rows(seed, n=30):
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, K, n).astype(np.int32)
    upper = np.minimum(lower + rng.integers(0, 3, n), K - 1).astype(np.int32)
    weight = rng.integers(0, 4, n).astype(float)
    weight[0] = 1.0
    return rng, lower, upper, weight / weight.sum()


def _cases(seed):
    """Risks with their plain twins."""
    _, lower, upper, weight = _rows(seed)
    for explicit in (False, True):
        risk = ThresholdRisk(CodedRows(weight, lower, upper), K, explicit=explicit)
        yield risk, ThresholdProblem(K, explicit), lower, upper, weight
    rank = np.arange(1.0, K + 1)[:, None]
    for beta, joint, extra in (
        (np.arange(float(K))[:, None], False, {}),
        (beta_matrix(3, K), True, {}),
        (2 * rank, True, dict(basis=2 * rank, fixed=-(rank[:, 0] ** 2))),
    ):
        loss = loss_matrix("squared", K)
        risk = MaximaRisk(CodedRows(weight, lower, upper), beta, loss, joint=joint, **extra)
        yield risk, UnifiedProblem(beta, loss, joint, **extra), lower, upper, weight


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_risks_are_the_plain_sums(seed):
    rng = np.random.default_rng(seed)
    for risk, problem, lower, upper, weight in _cases(seed):
        scores = np.round(2 * rng.standard_normal((30, risk.n_scores)))  # whole numbers: ties at the kinks
        offsets = np.sort(np.round(rng.standard_normal(risk.n_offsets)))
        plain = sum(
            c * sum(max(terms) for terms in problem.losses(s, offsets, lo, hi))
            for s, lo, hi, c in zip(scores, lower, upper, weight, strict=True)
        )
        assert risk.exact(scores, offsets)[0] == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize("mu", [3.0, 0.4])
def test_derivatives_are_the_limits_of_differences(mu):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 2))
    design = Design(X, 2)
    for risk, *_ in _cases(1):
        n_weights = 2 * risk.n_scores
        theta = np.concatenate([rng.standard_normal(n_weights), np.sort(rng.standard_normal(risk.n_offsets))])
        smoothed = smoothing._Smoothed(design, risk.smoothed(mu), np.zeros(theta.size))

        def gradient(theta, smoothed=smoothed):
            return smoothed.at(theta, smoothed.scores(theta)).gradient

        def value(theta, smoothed=smoothed):
            return smoothed.at(theta, smoothed.scores(theta)).value

        step = 1e-6
        units = step * np.eye(theta.size)
        slopes = [(value(theta + u) - value(theta - u)) / (2 * step) for u in units]
        np.testing.assert_allclose(gradient(theta), slopes, atol=1e-7)
        bends = [(gradient(theta + u) - gradient(theta - u)) / (2 * step) for u in units]
        hessian = risk.smoothed(mu).hessian(design, smoothed.scores(theta), theta[n_weights:])
        np.testing.assert_allclose(hessian, bends, atol=1e-5)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), mu=st.sampled_from([0.0, 0.1, 2.0]))
def test_dual_points_make_planes_below_the_risk_everywhere(seed, mu):
    rng = np.random.default_rng(seed)
    for risk, *_ in _cases(seed):
        scores, offsets = rng.standard_normal((30, risk.n_scores)), np.sort(rng.standard_normal(risk.n_offsets))
        for balanced in (False, True):
            gain, r, pull = risk.smoothed(mu).dual(scores, offsets, balanced=balanced)
            assert not balanced or not pull.any()
            for scale in (0.1, 1.0, 5.0):
                other = scale * rng.standard_normal((30, risk.n_scores))
                value, b = risk.exact(other, np.sort(scale * rng.standard_normal(risk.n_offsets)))
                assert gain + (r * other).sum() + pull @ b <= value + 1e-9


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), ties=st.booleans(), mu=st.sampled_from([0.0, 1e-3, 0.5]))
def test_searching_the_thresholds_of_a_row_equals_looping_over_them(seed, ties, mu):
    rng, lower, upper, weight = _rows(seed)
    risk = ThresholdRisk(CodedRows(weight, lower, upper), K, explicit=False).smoothed(mu)
    scores, t = rng.standard_normal((30, 1)), np.sort(rng.standard_normal(K - 1))
    if ties and mu > 0.0:  # at a kink, each may take the derivative of either side
        scores, t = np.round(scores), np.round(t)
    scales = rng.random((2, K - 1))
    looped = risk._evaluate(scores, t, *scales)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threshold_risk, "_SHORT", 0)
        searched = risk._evaluate(scores, t, *scales)
    for a, b in zip(looped, searched, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


@settings(max_examples=60)
@given(seed=st.integers(0, 1000), ties=st.booleans())
def test_order_statistics_minimise_over_all_break_points_and_prove_it(seed, ties):
    rng, lower, upper, weight = _rows(seed, n=int(seed % 11) + 1)
    f = rng.standard_normal(len(lower))
    f = np.round(2 * f) if ties else f
    risk = ThresholdRisk(CodedRows(weight, lower, upper), K, explicit=False)
    t, (gain, r) = risk.best_offsets(f[:, None])
    best = sum(
        min(
            (weight * ((lower > k) * np.maximum(0, 1 - f + x) + (upper <= k) * np.maximum(0, 1 + f - x))).sum()
            for x in np.concatenate([f - 1, f + 1])
        )
        for k in range(K - 1)
    )
    assert (np.diff(t) >= 0).all()
    assert risk.exact(f[:, None], t)[0] == pytest.approx(best, abs=1e-12)
    assert gain + r[:, 0] @ f == pytest.approx(best, abs=1e-12)


@settings(max_examples=60)
@given(seed=st.integers(0, 1000), shape=st.sampled_from(["spread", "ties", "outlier", "alike"]))
def test_thresholds_from_buckets_equal_those_from_sorting_all_rows(seed, shape):
    rng, lower, upper, weight = _rows(seed, n=200)
    f = rng.standard_normal((200, 1)) + 0.5 * lower[:, None]
    if shape == "ties":
        f = np.round(4 * f) / 4
    elif shape == "outlier":
        f[0] = 1e6
    elif shape == "alike":
        f[:] = 0.5
    risk = ThresholdRisk(CodedRows(weight, lower, upper), K, explicit=False)
    t, (gain, r) = risk.best_offsets(f)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threshold_risk, "bucketed", lambda *_: np.nan)
        sorted_t, (sorted_gain, sorted_r) = risk.best_offsets(f)
    value = sorted_gain + sorted_r[:, 0] @ f[:, 0]
    assert gain + r[:, 0] @ f[:, 0] == pytest.approx(value, abs=1e-9 * max(1.0, np.abs(f).max()))
    assert risk.exact(f, t)[0] == pytest.approx(risk.exact(f, sorted_t)[0], abs=1e-12)
    if shape == "spread":
        np.testing.assert_allclose(r, sorted_r, atol=1e-14)


def test_quasi_newton_steps_come_to_the_same_optimum(monkeypatch):
    rng, lower, upper, weight = _rows(0)
    design = Design(rng.standard_normal((30, 3)), 3)
    risk = ThresholdRisk(CodedRows(weight, lower, upper), K, explicit=False)
    penalty = np.concatenate([np.ones(3), np.zeros(K - 1)])
    newton = smoothing.minimise_by_smoothing(design, risk, 0.1, penalty, tol=1e-5, max_iter=500)
    monkeypatch.setattr(smoothing, "_NEWTON_UP_TO", 0)
    quasi = smoothing.minimise_by_smoothing(design, risk, 0.1, penalty, tol=1e-5, max_iter=2000)
    assert newton.converged
    assert quasi.converged
    assert quasi.objective == pytest.approx(newton.objective, rel=2e-5)
    assert quasi.n_iter > newton.n_iter


def test_many_rows_begin_with_a_sample_of_them():
    assert smoothing.sampling_step(1000, 20) is None
    assert smoothing.sampling_step(50_000, 29) == 10
    sample = sampled_rows(10, 0, 50_000)
    np.testing.assert_array_equal(sample // 10, np.arange(5000))
    assert np.bincount(sample % 10, minlength=10).min() > 400  # drawn evenly


def test_the_sample_is_the_same_whatever_the_blocks():
    ends = [0, 3, 4, 40, 41, 60, 103]
    samples = [first + sampled_rows(7, first, last - first) for first, last in pairwise(ends)]
    np.testing.assert_array_equal(np.concatenate(samples), sampled_rows(7, 0, 103))
