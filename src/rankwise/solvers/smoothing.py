"""Regularised risks, smooth or smoothed with continuation: Newton or L-BFGS steps, and a certified gap.

    minimise  F(w, b) = sum_j p_j theta_j^2 / 2 + risk(X w, b),      theta = (w, b), p >= 0

A risk (:mod:`rankwise.solvers.risk`) gives its value, its derivatives by the scores X w and by the offsets b, and a
feasible dual point near them. A risk with kinks is smoothed by mu (Nesterov 2005; mu = 0 is the risk itself, and
smoothed derivatives are nearly dual variables). For falling mu, each smoothed problem is minimised from the solution of
the last one; then the risk itself and the dual value give a certified gap. Smoothing leaves a gap that falls with mu^2,
which tells how small the next mu must be. Steps are Newton's where the second derivatives are affordable, else those of
L-BFGS (Liu and Nocedal 1989).

Scores are updated along the line: a line search costs evaluations of the risk but no product with X, and an iteration
costs one product with X and one with its transpose.

With many rows, a random sample of them is solved first, one with many rows for every parameter: its solution is so
near that of all rows that few iterations remain.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rankwise._types import Floats
from rankwise.solvers.design import LinearMap
from rankwise.solvers.risk import HasKinks, Risk, require_capabilities
from rankwise.solvers.solution import SMALLEST, Solution, relative_gap
from rankwise.solvers.threads import in_one_thread

_NEWTON_UP_TO = 1000  # parameters for which a dense Hessian is formed,
_NEWTON_ENTRIES = 300  # if rows have on average no more entries for all their scores than this
_MEMORY = 20  # pairs that L-BFGS remembers
_LAST_SMOOTHING = 1e-9
_LAST_ACCURACY = 1e-16  # of the minimum of a smooth risk
_UNBOUNDED_ACCURACY = 1e-11  # of one without a regulariser, which has no bound
_UNBOUNDED_GAIN = 1e-20  # the same for the gain of a step, which is quadratic in the gradient
_GAP_PER_GAIN = 5.0  # of a dual point with the best offsets for its scores, which are not those of the best scores
_ROWS_PER_PARAMETER = 40  # in the sample that is solved first
_ROWS_PER_SAMPLED = 10  # the sample is at most one in so many rows
_WARM = 0.1  # square of the first smoothing from a start near the solution, relative to the tolerance
_ACCURACY = 0.25  # of a smoothed minimum, relative to the tolerance
_RIDGES = (1e-15, 1e-13, 1e-11, 1e-9, 1.0)  # on scaled second derivatives
_UNPENALISED = 1  # the first of them that keeps steps along collinear columns small


@dataclass
class _Point:
    """Parameters with their scores, the smoothed objective there and its gradient."""

    theta: Floats
    scores: Floats
    value: float
    gradient: Floats


class _Smoothed:
    """The objective with a risk that is smooth, or smoothed."""

    def __init__(self, design: LinearMap, risk: Risk, penalty: Floats) -> None:
        self.design, self.risk, self.penalty = design, risk, penalty
        self.n_weights = penalty.size - risk.n_offsets

    def scores(self, theta: Floats) -> Any:
        return self.design.times(theta[: self.n_weights].reshape(self.risk.n_scores, -1))

    def at(self, theta: Floats, scores: Floats) -> _Point:
        return self._point(theta, scores, *self._value(theta, scores))

    def _value(self, theta: Floats, scores: Floats) -> tuple[float, Floats, Floats]:
        risk, r, db = self.risk.derivatives(scores, theta[self.n_weights :])
        return risk + 0.5 * _dot(self.penalty * theta, theta), r, db

    def _point(self, theta: Floats, scores: Floats, value: float, r: Floats, db: Floats) -> _Point:
        gradient = np.concatenate([self.design.pull(r).ravel(), db]) + self.penalty * theta
        return _Point(theta, scores, value, gradient)

    def search(self, point: _Point, direction: Floats) -> _Point | None:
        """Next point along a descent direction, or None if no step descends.

        The objective is convex along the line: a step with a positive slope is too long, one with a steep negative
        slope too short. The rule of false position, in its Illinois form, finds the zero between two slopes: it takes
        the slope as linear between the ends, and halves that of an end that stays.
        """
        along = self.scores(direction)
        slope = _dot(point.gradient, direction)
        short, slope_short, long, slope_long = 0.0, slope, np.inf, 0.0
        step = 1.0
        best: _Point | None = None
        for _ in range(30):
            theta = point.theta + step * direction
            theta[self.n_weights :] = self.risk.tidy(theta[self.n_weights :])
            scores = point.scores + step * along
            value, r, db = self._value(theta, scores)
            slope_there = self.design.inner(r, along) + float(
                db @ direction[self.n_weights :] + (self.penalty * theta) @ direction
            )
            lower_enough = value <= point.value + 1e-4 * step * slope
            if lower_enough and abs(slope_there) <= 0.9 * abs(slope):
                return self._point(theta, scores, value, r, db)
            if value < (point.value if best is None else best.value):
                best = self._point(theta, scores, value, r, db)
            if lower_enough and slope_there < 0.0:
                short, slope_short, slope_long = step, slope_there, 0.5 * slope_long
            else:
                long, slope_long, slope_short = step, max(slope_there, 0.0), 0.5 * slope_short
            if long == np.inf:
                step *= 4.0
            else:
                between = slope_short / (slope_short - slope_long) if slope_long > 0.0 else 0.5
                step = short + (long - short) * min(max(between, 0.01), 0.99)
        return best


def minimise_by_smoothing(
    design: LinearMap, risk: Risk, alpha: float, penalty: Floats, *,
    tol: float, max_iter: int, start: Floats | None = None,
) -> Solution:  # fmt: skip
    """Minimise ``alpha/2 sum_j penalty_j theta_j^2 + risk`` to a certified relative gap of ``tol``.

    A risk that is ``HasKinks`` is smoothed. ``alpha=0`` gives no bound. ``penalty`` holds zeros and ones: which of the
    parameters (w, b) are regularised, all w, and all b or none. ``max_iter`` bounds the iterations over all rows, and
    ``start`` holds parameters to start from.
    """
    require_capabilities(risk, "minimise_by_smoothing", Risk)
    return continued(design, risk, alpha, penalty, tol, max_iter, start).solution()


@in_one_thread
def continued(
    design: LinearMap, risk: Risk, alpha: float, penalty: Floats, tol: float, max_iter: int, start: Floats | None
) -> _Continuation:
    """What :func:`minimise_by_smoothing` does, with theta and mu of the last smoothed problem."""
    weighted = alpha * penalty
    mu = first_smoothing(risk)
    whole = _Continuation(design, risk, weighted, tol, max_iter)
    if start is None:
        start = np.concatenate([np.zeros(penalty.size - risk.n_offsets), risk.start()])
        sample = first_sample(design, risk, penalty.size)
        if sample is not None:
            few = _Continuation(*sample, weighted, tol, max_iter)
            few.run(start, mu)
            start, mu = few.theta, few.mu
    else:  # near the solution: neither a sample of the rows nor large smoothing would bring it nearer
        whole.accuracy = 1.0
        if mu is not None:
            mu *= float(np.sqrt(_WARM * tol))
    whole.run(start, mu)
    return whole


def affords_newton(design: LinearMap, risk: Risk, n_parameters: int) -> bool:
    """Whether second derivatives by all parameters are cheap enough."""
    return n_parameters <= _NEWTON_UP_TO and risk.n_scores * design.per_row <= _NEWTON_ENTRIES


def first_smoothing(risk: Any) -> float | None:
    """The mu to begin with; None for a smooth risk."""
    return float(risk.first_smoothing) if isinstance(risk, HasKinks) else None


def at_smoothing(risk: Any, mu: float | None) -> Any:
    """The risk smoothed by mu, or as it is if mu is None."""
    return risk if mu is None else risk.smoothed(mu)


def first_sample(design: LinearMap, risk: Any, n_parameters: int) -> tuple[LinearMap, Any] | None:
    """Rows and risk of a random sample that is worth solving first; None if there is none."""
    step = sampling_step(design.n_rows, n_parameters)
    if step is None:
        return None
    index = design.sample(step)
    return design.take(index), risk.take(index)


def sampling_step(n_rows: int, n_parameters: int) -> int | None:
    """One in how many rows makes a sample that is worth solving first; None if there is none."""
    size = max(n_rows // _ROWS_PER_SAMPLED, _ROWS_PER_PARAMETER * n_parameters)
    return n_rows // size if 2 * size <= n_rows else None


class _Continuation:
    """Smoothed problems with falling mu on one set of rows, and the best primal and dual points so far.

    A smooth risk is a single problem, without mu, solved more and more accurately until the gap is small enough.
    """

    def __init__(self, design: LinearMap, risk: Risk, penalty: Floats, tol: float, max_iter: int) -> None:
        self.design, self.risk, self.penalty, self.tol, self.max_iter = design, risk, penalty, tol, max_iter
        self.n_weights = penalty.size - risk.n_offsets
        self.newton = affords_newton(design, risk, penalty.size)
        self.objective, self.lower_bound = np.inf, -np.inf
        self.best = np.empty(0)
        #: Whether a ridge on all weights bounds the objective from below, by a dual point.
        self.bounded = bool(penalty[: self.n_weights].all())
        self.solve: Callable[[Floats], Floats] | None = None
        self.accuracy = _ACCURACY
        self.n_iter = 0

    def run(self, theta: Floats, mu: float | None) -> None:
        """Minimise from theta, the first time with smoothing mu."""
        self.theta, self.mu = theta, mu
        scores, accuracy = None, self.accuracy * self.tol
        if mu is None and not self.bounded:  # there is no gap to stop at
            accuracy = min(accuracy, _UNBOUNDED_GAIN if self.newton else _UNBOUNDED_ACCURACY)
        self.memory = _QuasiNewton()
        while True:
            smoothed = _Smoothed(self.design, at_smoothing(self.risk, self.mu), self.penalty)
            point = smoothed.at(self.theta, smoothed.scores(self.theta) if scores is None else scores)
            # While smoothing leaves a large gap, a minimum need not be more accurate.
            left = 0.0 if self.mu is None else 0.02 * min(self.mu / self.risk.unit, 1.0) ** 2
            point = self._minimise(smoothed, point, max(accuracy, left))
            self.theta, scores = point.theta, point.scores
            self._certify(smoothed, point)
            gap = relative_gap(self.objective, self.lower_bound)
            last = accuracy <= _LAST_ACCURACY if self.mu is None else self.mu <= _LAST_SMOOTHING
            if gap <= self.tol or self.n_iter >= self.max_iter or last or (self.mu is None and not self.bounded):
                return
            if self.mu is None:
                accuracy *= 0.1
            else:
                self.mu = max(self.mu * min(max(np.sqrt(0.3 * self.tol / gap), 0.1), 0.5), _LAST_SMOOTHING)

    def _minimise(self, smoothed: _Smoothed, point: _Point, enough: float) -> _Point:
        """Minimise for one mu, until the gradient costs the dual value no more than the share ``enough``."""
        self.memory.last = None  # pairs stay, but the gradients of two mu must not be subtracted
        step = self._newton_step if self.newton else self.memory.step
        least = SMALLEST if self.mu is None else 0.0  # the likelihood of separable rows falls towards zero for ever
        while self.n_iter < self.max_iter and self._slack(point.gradient) > enough * max(abs(point.value), least):
            direction = step(smoothed, point)
            following = smoothed.search(point, direction)
            if following is None:
                break
            self.n_iter += 1
            point = following
        return point

    def _slack(self, gradient: Floats) -> float:
        """About how much the dual value at a point loses by this gradient."""
        if self.solve is not None:  # a smooth risk: the gain of Newton's next step, by the last second derivatives
            return _GAP_PER_GAIN * _dot(gradient, self.solve(gradient))
        if self.newton and self.mu is None and not self.bounded:  # the size of a gradient depends on the scales of X
            return np.inf
        square = gradient * gradient
        regularised = self.penalty > 0
        free = np.abs(gradient[~regularised]).sum()
        return float(0.5 * (square[regularised] / self.penalty[regularised]).sum() + 2.0 * self.risk.unit * free)

    def _newton_step(self, smoothed: _Smoothed, point: _Point) -> Floats:
        b = point.theta[self.n_weights :]
        hessian = smoothed.risk.hessian(self.design, point.scores, b)
        diagonal = np.einsum("ii->i", hessian)
        diagonal += self.penalty
        # An offset without curvature, on no parabola, moves by about the size of a loss.
        flat = diagonal[self.n_weights :]
        flat += np.maximum(0.0, np.abs(point.gradient[self.n_weights :]) / self.risk.unit - flat)
        if self.mu is None and not self.bounded:
            # Without a penalty the minimum does not depend on centre and scale of columns: neither may the steps.
            self.solve = _scaled_solver(hessian, _RIDGES[_UNPENALISED:])
            return -self.solve(point.gradient)
        ridge = 1e-10 * diagonal.max() + 1e-300
        if ridge > 0.01 * self.penalty[self.penalty > 0].min(initial=np.inf):
            return -_scaled_solver(hessian, _RIDGES)(point.gradient)
        diagonal += ridge
        factor = cho_factor(hessian, check_finite=False)
        if self.mu is None:
            self.solve = lambda gradient: np.asarray(cho_solve(factor, gradient, check_finite=False))
        return -np.asarray(cho_solve(factor, point.gradient, check_finite=False))

    def _certify(self, smoothed: _Smoothed, point: _Point) -> None:
        """Compute objective and dual value at a point, and keep the best of each."""
        weights, b = point.theta[: self.n_weights], point.theta[self.n_weights :]
        risk, allowed = self.risk.exact(point.scores, b)
        theta = np.concatenate([weights, allowed])
        objective = risk + 0.5 * float(self.penalty @ (theta * theta))
        if objective < self.objective:
            self.objective, self.best = objective, theta
        if self.bounded:
            balanced = not self.penalty[self.n_weights :].any()
            gain, r, db = smoothed.risk.dual(point.scores, b, balanced=balanced)
            pull = np.concatenate([self.design.pull(r).ravel(), db])
            square = float(np.sum(pull[self.penalty > 0] ** 2 / self.penalty[self.penalty > 0]))
            # All dual variables may shrink together: take the best multiple in [0, 1]. Losses are not negative.
            multiple = min(1.0, max(gain, 0.0) / square) if square > 0.0 else 1.0
            self.lower_bound = max(self.lower_bound, multiple * gain - 0.5 * multiple**2 * square, 0.0)

    def solution(self) -> Solution:
        converged = relative_gap(self.objective, self.lower_bound) <= self.tol
        return Solution(self.best, float(self.objective), float(self.lower_bound), self.n_iter, converged)


def _scaled_solver(hessian: Floats, ridges: tuple[float, ...]) -> Callable[[Floats], Floats]:
    """Solver of a linear system with every parameter scaled separately, and the first ridge that Cholesky accepts.

    For large features, where one ridge for all would outweigh the regulariser and stop short of the minimum.
    """
    diagonal = np.diagonal(hessian)
    unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = hessian * unit * unit[:, None]
    for ridge in ridges:
        np.fill_diagonal(scaled, 1.0 + ridge)
        with suppress(LinAlgError):
            factor = cho_factor(scaled, check_finite=False)
            return lambda gradient: np.asarray(unit * cho_solve(factor, unit * gradient, check_finite=False))
    raise LinAlgError("the second derivatives of the risk are not positive")


class _Shifted:
    """A risk of the offsets alone, at fixed scores; its design has no columns, so its own scores are ignored."""

    def __init__(self, design: LinearMap, risk: Risk, scores: Any) -> None:
        self.design, self.risk, self.scores = design, risk, scores
        self.n_scores, self.n_offsets, self.unit = risk.n_scores, risk.n_offsets, risk.unit
        self.tidy = risk.tidy

    def smoothed(self, mu: float) -> _Shifted:
        return _Shifted(self.design, at_smoothing(self.risk, mu), self.scores)

    def derivatives(self, _: Any, b: Floats) -> tuple[float, Any, Floats]:
        return self.risk.derivatives(self.scores, b)

    def exact(self, _: Any, b: Floats) -> tuple[float, Floats]:
        return self.risk.exact(self.scores, b)

    def dual(self, _: Any, b: Floats, *, balanced: bool) -> tuple[float, Any, Floats]:
        gain, r, db = self.risk.dual(self.scores, b, balanced=balanced)
        return gain + self.design.inner(r, self.scores), r, db

    def hessian(self, design: LinearMap, _: Any, b: Floats) -> Floats:
        return self.risk.hessian(design, self.scores, b)


def fit_offsets(
    design: LinearMap, risk: Any, scores: Any, b: Floats, mu: float | None, tol: float
) -> tuple[Floats, float | None, tuple[float, Any]]:
    """Minimise the risk over the offsets at fixed scores, to a relative gap of ``tol``, from b and smoothing mu.

    Returns the offsets, the last mu, and a dual point that pulls at no offset: its linear value and its pull at the
    scores.
    """
    shifted: Any = _Shifted(design, risk, scores)
    inner = _Continuation(design.without_columns(), shifted, np.zeros(risk.n_offsets), tol, 200)
    inner.run(b, mu)
    gain, r, _ = at_smoothing(risk, inner.mu).dual(scores, inner.theta, balanced=True)
    return inner.best, inner.mu, (gain, r)


def _dot(a: Floats, b: Floats) -> float:
    """Dot product in one thread: for some thousand numbers, waking others costs more than the product."""
    return float(np.einsum("i,i->", a, b))


class _QuasiNewton:
    """L-BFGS: inverse Hessian from the last changes of parameters and gradient."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
        self.last: _Point | None = None

    def step(self, _: _Smoothed, point: _Point) -> Floats:
        if self.last is not None:
            s, y = point.theta - self.last.theta, point.gradient - self.last.gradient
            product = _dot(s, y)
            if product > 1e-12 * _dot(y, y):
                self.pairs.append((s, y, product))
        self.last = point
        q = point.gradient.copy()
        factors = []
        for s, y, product in reversed(self.pairs):
            factors.append(_dot(s, q) / product)
            q -= factors[-1] * y
        if self.pairs:
            s, y, product = self.pairs[-1]
            q *= product / _dot(y, y)
        for (s, y, product), factor in zip(self.pairs, reversed(factors), strict=True):
            q += (factor - _dot(y, q) / product) * s
        return -q
