"""Regularised risks by cutting planes, with a second loop for offsets that are not regularised.

    minimise  F(w) = alpha/2 |w|^2 + G(w),      G(w) = min_b risk(X w, b)

Every dual point of the risk that leaves nothing pulling at b gives a plane below G, ``G(w') >= gain + <a, w'>`` for
all w'. The largest of the planes found so far in place of G makes the master problem, whose dual value is a lower
bound on F (:mod:`rankwise.solvers.master`). An iteration solves the master problem, fits the offsets at its solution
(the inner loop: order statistics where the risk knows them, else smoothed Newton steps in b alone), searches the
segment from the best point so far for a better one, and adds the planes of both. With many rows, a random part of them
is solved first, and the points of its planes are the first points for all rows. Planes without weight for some rounds
are dropped. If b is regularised it is part of w, and there is no inner loop.

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
from rankwise.solvers.master import Master
from rankwise.solvers.smoothing import fit_offsets, part_of_rows
from rankwise.solvers.solution import Solution, relative_gap

Floats = NDArray[np.float64]

_IDLE = 10  # rounds without weight after which a plane is dropped
_INNER = 0.1  # accuracy of the inner loop, relative to the tolerance


@dataclass
class _Point:
    """Weights and offsets with their scores and the objective there."""

    weights: Floats
    offsets: Floats
    scores: Floats
    objective: float


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
    index = part_of_rows(design.n_rows, penalty.size)
    if index is not None:
        few = _CuttingPlanes(design.take(index), risk.take(index), alpha, penalty, tol, max_iter)
        few.run(points)
        points = few.master.points
    return _CuttingPlanes(design, risk, alpha, penalty, tol, max_iter).run(points)


class _CuttingPlanes:
    def __init__(self, design: Design, risk: Any, alpha: float, penalty: Floats, tol: float, max_iter: int) -> None:
        self.design, self.risk, self.alpha, self.penalty = design, risk, alpha, penalty
        self.tol, self.max_iter = tol, max_iter
        self.n_weights = penalty.size - risk.n_offsets
        self.free = not penalty[self.n_weights :].any()
        self.master = Master(alpha, _IDLE)
        self.lower_bound = 0.0  # losses are not negative
        self.mu = risk.first_smoothing

    def run(self, points: list[Floats]) -> Solution:
        """Minimise, beginning with the planes at some points."""
        cuts = [self._cut(theta[: self.n_weights], theta[self.n_weights :]) for theta in points]
        best = min(cuts, key=lambda point: point.objective)
        n_iter = 0
        while n_iter < self.max_iter and not self._done(best):
            n_iter += 1
            solution, bound = self.master.solve()
            self.lower_bound = max(self.lower_bound, bound)
            if self._done(best):
                break
            offsets = best.offsets if self.free else solution[self.n_weights :]
            trial = self._cut(solution[: self.n_weights], offsets)
            between = self._between(best, trial)
            best = min(best, trial, key=lambda point: point.objective)
            if between is not None:
                better = self._cut(*between)
                best = min(best, better, key=lambda point: point.objective)
        theta = np.concatenate([best.weights, best.offsets])
        return Solution(theta, best.objective, self.lower_bound, n_iter, self._done(best))

    def _done(self, best: _Point) -> bool:
        return relative_gap(best.objective, self.lower_bound) <= self.tol

    def _cut(self, weights: Floats, offsets: Floats) -> _Point:
        """Add the plane at a point; return the point, with the best offsets if they are free."""
        scores = self.design.times(weights.reshape(self.risk.n_scores, -1))
        if self.free:
            offsets, (gain, r) = self._inner(scores, offsets)
            normal = self.design.pull(r).ravel()
        else:
            gain, r, pull = self.risk.dual(scores, offsets, 0.0, balanced=False)
            normal = np.concatenate([self.design.pull(r).ravel(), pull])
        value, offsets = self.risk.exact(scores, offsets)
        self.master.add(gain, normal, np.concatenate([weights, offsets]))
        return _Point(weights, offsets, scores, value + self._regulariser(weights, offsets))

    def _inner(self, scores: Floats, offsets: Floats) -> tuple[Floats, tuple[float, Floats]]:
        """Best offsets for these scores, and a dual point that pulls at none."""
        exactly = self.risk.best_offsets(scores)
        if exactly is not None:
            best: Floats = exactly[0]
            return best, exactly[1]
        # A little smoother than what the last solution needed: offsets move little from one point to the next.
        best, self.mu, dual = fit_offsets(
            self.risk, scores, offsets, min(30.0 * self.mu, self.risk.first_smoothing), _INNER * self.tol
        )
        return best, dual

    def _regulariser(self, weights: Floats, offsets: Floats) -> float:
        theta = np.concatenate([weights, offsets])
        return 0.5 * self.alpha * float(self.penalty @ (theta * theta))

    def _between(self, best: _Point, trial: _Point) -> tuple[Floats, Floats] | None:
        """The best point of the segment between two points, by the zero of the slope; None if it is one of them."""

        def at(part: float) -> tuple[Floats, Floats, Floats]:
            return (
                best.weights + part * (trial.weights - best.weights),
                best.offsets + part * (trial.offsets - best.offsets),
                best.scores + part * (trial.scores - best.scores),
            )

        direction = np.concatenate([trial.weights - best.weights, trial.offsets - best.offsets])
        along = trial.scores - best.scores

        def slope(part: float) -> float:
            weights, offsets, scores = at(part)
            _, r, pull = self.risk.smooth(scores, offsets, 0.0)
            theta = np.concatenate([weights, offsets])
            return float(
                np.einsum("iz,iz->", r, along)
                + pull @ direction[self.n_weights :]
                + self.alpha * (self.penalty * theta) @ direction
            )

        low, high = 0.0, 1.0
        slope_low, slope_high = slope(low), slope(high)
        if slope_low >= 0.0 or slope_high <= 0.0:
            return None
        for _ in range(3):
            part = low + (high - low) * min(max(slope_low / (slope_low - slope_high), 0.1), 0.9)
            here = slope(part)
            if here < 0.0:
                low, slope_low = part, here
            else:
                high, slope_high = part, here
        return at(part)[:2]
