"""The contract between risks and solvers: a smooth risk needs no pieces and no smoothing, and gaps are named before."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import entr, expit

from rankwise.losses import loss_matrix
from rankwise.risks.coded_rows import CodedRows
from rankwise.risks.maxima_risk import MaximaRisk
from rankwise.risks.threshold_risk import ThresholdRisk
from rankwise.solvers.cutting_plane import minimise_by_cutting_planes
from rankwise.solvers.design import Design
from rankwise.solvers.linear_program import affordable, minimise_exactly
from rankwise.solvers.risk import HasBestOffsets, HasKinks, HasPieces, Risk
from rankwise.solvers.row_sums import RowRisk
from rankwise.solvers.smoothing import minimise_by_smoothing

K = 5


def _slopes(rows, scores, t):
    """a, g and v of the logit interval likelihood, and where each of them is."""
    f, last = scores[:, 0], t.size - 1
    above, below = rows.upper <= last, rows.lower > 0  # whether the label has an upper and a lower end
    high, low = t[np.minimum(rows.upper, last)], t[np.maximum(rows.lower - 1, 0)]
    a, g = np.where(above, expit(f - high), 0.0), np.where(below, expit(low - f), 0.0)
    width = np.where(above & below, high - low, np.inf)
    with np.errstate(divide="ignore", over="ignore"):
        v = 1.0 / np.expm1(width)
    return a, g, v, width, above, below


def _at_ends(rows, n, by_upper, by_lower):
    """Sums of numbers of rows at the thresholds that end their labels."""
    upper = np.bincount(rows.upper, rows.weight * by_upper, n + 1)[:n]
    return upper, np.bincount(rows.lower, rows.weight * by_lower, n + 1)[1:]


def _derivatives(rows, scores, t):
    a, g, v, width, *_ = _slopes(rows, scores, t)
    if (width <= 0).any():
        return np.zeros_like(scores), np.inf, np.zeros_like(t)
    losses = -np.log1p(-a) - np.log1p(-g) + np.log1p(v)
    up, down = _at_ends(rows, t.size, a + v, g + v)
    return (rows.weight * (a - g))[:, None], float(rows.weight @ losses), down - up


def _sides(rows, scores, t):
    a, g, v, *_ = _slopes(rows, scores, t)
    return *_at_ends(rows, t.size, a, g), *_at_ends(rows, t.size, v, v)


def _dual(rows, scores, t, keep_a, keep_g):
    a, g, v, _, above, below = _slopes(rows, scores, t)
    a = np.where(above, a * keep_a[np.minimum(rows.upper, t.size - 1)], 0.0)
    g = np.where(below, g * keep_g[np.maximum(rows.lower - 1, 0)], 0.0)
    worth = entr(a) + entr(1 - a) + entr(g) + entr(1 - g) + (1 + v) * np.log1p(v) + entr(v)
    up, down = _at_ends(rows, t.size, a + v, g + v)
    return (rows.weight * (a - g))[:, None], float(rows.weight @ worth), down - up


def _second(rows, design, scores, t):
    a, g, v, _, above, below = _slopes(rows, scores, t)
    X, c = design.matrix().toarray(), rows.weight
    ends = np.zeros((2, len(c), t.size))  # which thresholds end each label
    ends[0, above, rows.upper[above]] = 1.0
    ends[1, below, rows.lower[below] - 1] = 1.0
    total = np.zeros((X.shape[1] + t.size,) * 2)
    for rows_of, weight in (
        (np.hstack([X, -ends[0]]), a * (1 - a)),
        (np.hstack([-X, ends[1]]), g * (1 - g)),
        (np.hstack([0 * X, ends[0] - ends[1]]), v * (1 + v)),
    ):
        total += rows_of.T @ (rows_of * (c * weight)[:, None])
    return (total,)


class IntervalLikelihood(RowRisk):
    """Mean of ``-log P(lo <= y <= hi)``, ``P(y <= k) = s(t_k - f)``: smooth, and infinite where thresholds cross."""

    n_scores = 1
    unit = 1.0

    def __init__(self, lower, upper, weight):
        self.rows, self.n_offsets = CodedRows(weight, lower, upper), K - 1

    def start(self):
        return np.linspace(-1.0, 1.0, self.n_offsets)

    def tidy(self, t):
        return t

    def exact(self, scores, t):
        return self.rows.slopes(_derivatives, scores, t)[1], t

    def derivatives(self, scores, t):
        r, risk, dt = self.rows.slopes(_derivatives, scores, t)
        return risk, r, dt

    def hessian(self, design, scores, t):
        return self.rows.mean(_second, design, scores, t)[0]

    def dual(self, scores, t, *, balanced):
        keep = np.ones((2, t.size))
        if balanced:
            A, G, V_upper, V_lower = self.rows.mean(_sides, scores, t)
            too_much = A + V_upper - G - V_lower
            keep = np.array([1 - np.maximum(too_much, 0) / A, 1 - np.maximum(-too_much, 0) / G])
            if (keep < 0).any():  # no balance without another v: all dual variables zero
                return 0.0, np.zeros_like(scores), np.zeros_like(t)
        r, gain, dt = self.rows.slopes(_dual, scores, t, *keep)
        return gain, r, np.zeros_like(t) if balanced else dt


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    y = np.digitize(X @ [2.0, -1.0, 0.5] + rng.logistic(size=2000), [-2.0, -0.5, 0.5, 2.0])
    lower, upper = np.maximum(y - rng.integers(0, 2, 2000), 0), np.minimum(y + rng.integers(0, 2, 2000), K - 1)
    weight = rng.random(2000)
    rows = lower.astype(np.int32), upper.astype(np.int32), weight / weight.sum()
    return X, Design(X, 3), IntervalLikelihood(*rows), rows


def _objective(theta, X, rows, alpha, penalty):
    """The formula as it stands."""
    lower, upper, weight = rows
    t = np.concatenate([[-np.inf], theta[3:], [np.inf]])
    f = X @ theta[:3]
    P = expit(t[upper + 1] - f) - expit(t[lower] - f)
    return alpha / 2 * penalty @ theta**2 + weight @ -np.log(P)


def test_derivatives_are_the_limits_of_differences_and_dual_points_lie_below(problem):
    X, design, risk, rows = problem
    rng = np.random.default_rng(1)
    for balanced in (False, True):
        theta = np.array([0.5, 0.2, -0.1, -1.0, -0.2, 0.4, 1.5])

        def value(theta):
            return risk.derivatives(design.times(theta[None, :3]), theta[3:])[0]

        def gradient(theta):
            _, r, dt = risk.derivatives(design.times(theta[None, :3]), theta[3:])
            return np.concatenate([design.pull(r)[0], dt])

        units = 1e-6 * np.eye(7)
        assert value(theta) == pytest.approx(_objective(theta, X, rows, 0.0, np.zeros(7)))
        slopes = [(value(theta + u) - value(theta - u)) / 2e-6 for u in units]
        np.testing.assert_allclose(gradient(theta), slopes, atol=1e-7)
        bends = [(gradient(theta + u) - gradient(theta - u)) / 2e-6 for u in units]
        np.testing.assert_allclose(risk.hessian(design, design.times(theta[None, :3]), theta[3:]), bends, atol=1e-6)
        gain, r, dt = risk.dual(design.times(theta[None, :3]), theta[3:], balanced=balanced)
        for _ in range(20):
            scores, t = 3 * rng.standard_normal((2000, 1)), np.sort(rng.standard_normal(4))
            assert gain + (r * scores).sum() + dt @ t <= risk.exact(scores, t)[0] + 1e-12


@pytest.mark.parametrize("regularised", ["weights", "all"])
@pytest.mark.parametrize(("minimise", "tol"), [(minimise_by_smoothing, 1e-9), (minimise_by_cutting_planes, 1e-4)])
def test_a_smooth_risk_is_minimised_with_a_certificate(problem, regularised, minimise, tol):
    X, design, risk, rows = problem
    penalty = np.repeat([1.0, float(regularised == "all")], [3, 4])
    found = minimise(design, risk, 0.01, penalty, tol=tol, max_iter=500)
    assert found.converged
    assert found.objective == pytest.approx(_objective(found.theta, X, rows, 0.01, penalty), rel=1e-12)
    best = minimize(_objective, found.theta, args=(X, rows, 0.01, penalty), method="BFGS").fun
    assert found.lower_bound <= best * (1 + 1e-12)
    assert found.gap <= tol
    if minimise is minimise_by_smoothing:
        assert found.n_iter < 30  # Newton's steps


def test_without_a_regulariser_a_smooth_risk_has_a_minimum_but_no_bound(problem):
    X, design, risk, rows = problem
    found = minimise_by_smoothing(design, risk, 0.0, np.zeros(7), tol=1e-6, max_iter=100)
    assert found.lower_bound == -np.inf
    best = minimize(_objective, found.theta, args=(X, rows, 0.0, np.zeros(7)), method="BFGS").fun
    assert found.objective == pytest.approx(best, rel=1e-8)


def test_risks_have_the_capabilities_that_they_declare(problem):
    *_, smooth, (lower, upper, weight) = problem
    rows = CodedRows(weight, lower, upper)
    hinges = ThresholdRisk(rows, K, explicit=False)
    maxima = MaximaRisk(rows, np.arange(K)[:, None] * 1.0, loss_matrix("mae", K), joint=True)
    declared = {
        risk: [protocol for protocol in (Risk, HasKinks, HasPieces, HasBestOffsets) if isinstance(risk, protocol)]
        for risk in (smooth, hinges, maxima)
    }
    assert declared[smooth] == [Risk]
    assert declared[hinges] == [Risk, HasKinks, HasPieces, HasBestOffsets]
    assert declared[maxima] == [Risk, HasKinks, HasPieces]


def test_a_risk_that_a_solver_cannot_use_is_refused_by_name_before_any_work(problem):
    _, design, risk, _ = problem
    assert not affordable(risk, design)
    message = r"^minimise_exactly needs a risk with first_smoothing, smoothed \(HasKinks\)\. IntervalLikelihood has no"
    with pytest.raises(TypeError, match=message):
        minimise_exactly(design, risk, tol=1e-3, max_iter=10)

    class Incomplete:
        n_scores = n_offsets = 1

    for minimise in (minimise_by_smoothing, minimise_by_cutting_planes):
        with pytest.raises(
            TypeError, match=rf"^{minimise.__name__} needs .* Incomplete has no unit, start, tidy, take"
        ):
            minimise(design, Incomplete(), 0.1, np.ones(4), tol=1e-3, max_iter=10)
