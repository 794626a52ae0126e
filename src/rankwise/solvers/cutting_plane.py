"""Regularised risks by cutting planes, with a second loop for offsets that are not regularised.

    minimise  F(w) = alpha/2 |w|^2 + G(w),      G(w) = min_b risk(X w, b)

Every dual point of the risk that leaves nothing pulling at b gives a plane below G, ``G(w') >= gain + <a, w'>`` for
all w'. The largest of the planes found so far in place of G makes the master problem, whose value is a lower bound on
F (:mod:`rankwise.solvers.planes`). An iteration solves it, fits the offsets at its solution (the inner loop: order
statistics where the risk knows them, else smoothed Newton steps in b alone), and looks for a better point between the
best so far and that solution by two secant steps on the slope of F, which the planes know. Every point looked at gives
a plane. With many rows, a random part of them is solved first, and the points of its planes are the first points for
all rows. If b is regularised it is part of w, and there is no inner loop.

Sources: Antoniuk's thesis on partial annotations, section 3.4 (in eq. 3.45 the terms of b enter with a plus sign);
Teo and others, "Bundle methods for regularized risk minimization", 2010; the segment search is that of Franc and
Sonnenburg, "Optimized cutting plane algorithm for large-scale risk minimization", 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.solvers.design import Design
from rankwise.solvers.planes import Planes
from rankwise.solvers.smoothing import first_part, fit_offsets
from rankwise.solvers.solution import Solution, relative_gap

Floats = NDArray[np.float64]

_PATIENCE = 10  # rounds without weight after which a plane is dropped
_SECANTS = 2  # points looked at between the best one and the master's solution
_INNER = 0.1  # accuracy of the inner loop, relative to the tolerance


@dataclass
class _Point:
    """Regularised parameters with the offsets that are not, the objective there and its slopes."""

    w: Floats
    offsets: Floats
    objective: float
    slopes: Floats


def minimise_by_cutting_planes(
    design: Design,
    risk: Any,
    alpha: float,
    penalty: Floats,
    *,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
) -> Solution:
    """Minimise ``alpha/2 sum_j penalty_j theta_j^2 + risk`` to a certified relative gap of ``tol``.

    Parameters are those of :func:`rankwise.solvers.smoothing.minimise_by_smoothing`, with alpha > 0.
    """
    if start is None:
        start = np.concatenate([np.zeros(penalty.size - risk.n_offsets), risk.start()])
    points = [start]
    part = first_part(design, risk, penalty.size)
    if part is not None:
        few = _CuttingPlanes(*part, alpha, penalty, tol, max_iter)
        few.run(points)
        points = few.points_that_count()
    return _CuttingPlanes(design, risk, alpha, penalty, tol, max_iter).run(points)


class _CuttingPlanes:
    def __init__(self, design: Design, risk: Any, alpha: float, penalty: Floats, tol: float, max_iter: int) -> None:
        self.design, self.risk, self.alpha = design, risk, alpha
        self.tol, self.max_iter = tol, max_iter
        self.n_weights = penalty.size - risk.n_offsets
        self.free = not penalty[self.n_weights :].any()
        self.size = self.n_weights if self.free else penalty.size
        self.planes = Planes(alpha, patience=_PATIENCE)
        self.points: list[Floats] = []
        self.lower_bound = 0.0  # losses are not negative
        self.mu = risk.first_smoothing

    def run(self, points: list[Floats]) -> Solution:
        """Minimise, beginning with the planes at some points."""
        best = min((self._cut(theta[: self.size], theta[self.n_weights :]) for theta in points), key=_objective)
        n_iter = 0
        while n_iter < self.max_iter and not self._done(best):
            n_iter += 1
            solution, bound = self.planes.solve()
            self.lower_bound = max(self.lower_bound, bound)
            if not self._done(best):
                best = self._better(best, solution)
        theta = np.concatenate([best.w[: self.n_weights], best.offsets])
        return Solution(theta, best.objective, self.lower_bound, n_iter, self._done(best))

    def points_that_count(self) -> list[Floats]:
        """The points of the planes that had weight in the last solution."""
        return [self.points[i] for i in self.planes.number[self.planes.idle == 0]]

    def _done(self, best: _Point) -> bool:
        return relative_gap(best.objective, self.lower_bound) <= self.tol

    def _better(self, best: _Point, solution: Floats) -> _Point:
        """The best point met on the segment from the best one so far to the master's solution."""
        direction = solution - best.w
        met = [best, self._cut(solution, best.offsets)]
        low, high = (0.0, float(best.slopes @ direction)), (1.0, float(met[1].slopes @ direction))
        for _ in range(_SECANTS):
            if low[1] >= 0.0 or high[1] <= 0.0:
                break
            step = min(max(low[1] / (low[1] - high[1]), 0.05), 0.95)
            part = low[0] + step * (high[0] - low[0])
            met.append(self._cut(best.w + part * direction, best.offsets))
            slope = float(met[-1].slopes @ direction)
            low, high = ((part, slope), high) if slope < 0.0 else (low, (part, slope))
        return min(met, key=_objective)

    def _cut(self, w: Floats, offsets: Floats) -> _Point:
        """Add the plane at a point; return the point, with the best offsets if they are free."""
        scores = self.design.times(w[: self.n_weights].reshape(self.risk.n_scores, -1))
        if self.free:
            value, offsets, gain, r = self._inner(scores, offsets)
            normal = self.design.pull(r).ravel()
        else:
            gain, r, pull = self.risk.dual(scores, w[self.n_weights :], 0.0, balanced=False)
            normal = np.concatenate([self.design.pull(r).ravel(), pull])
            value, offsets = self.risk.exact(scores, w[self.n_weights :])
            w = np.concatenate([w[: self.n_weights], offsets])
        self.planes.add(gain, normal)
        self.points.append(np.concatenate([w[: self.n_weights], offsets]))
        return _Point(w, offsets, value + 0.5 * self.alpha * float(w @ w), normal + self.alpha * w)

    def _inner(self, scores: Floats, offsets: Floats) -> tuple[float, Floats, float, Floats]:
        """The least risk at these scores and its offsets; linear value and pull of a dual point that pulls at none."""
        exactly = self.risk.best_offsets(scores)
        if exactly is not None:
            offsets, (gain, r) = exactly
            return gain + self.design.inner(r, scores), offsets, gain, r  # primal and dual are one
        # A little smoother than what the last solution needed: offsets move little from one point to the next.
        mu = min(30.0 * self.mu, self.risk.first_smoothing)
        offsets, self.mu, (gain, r) = fit_offsets(self.design, self.risk, scores, offsets, mu, _INNER * self.tol)
        value, offsets = self.risk.exact(scores, offsets)
        return value, offsets, gain, r


def _objective(point: _Point) -> float:
    return point.objective
