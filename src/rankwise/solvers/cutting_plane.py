"""Regularised risks by cutting planes, with a second loop for offsets that are not regularised.

    minimise  F(w) = alpha/2 |w|^2 + G(w),      G(w) = min_b risk(X w, b)

Every dual point of the risk that leaves nothing pulling at b gives a plane below G, ``G(w') >= gain + <a, w'>`` for
all w'. The largest of the planes found so far in place of G makes the master problem, whose value is a lower bound on
F (:mod:`rankwise.solvers.planes`). Its solution jumps about as long as planes are few: the next plane is taken where
the master problem with ``rho/2 (w - best)' H (w - best)`` added has its minimum (the proximal bundle method), and the
offsets are fitted there (the inner loop: order statistics where the risk knows them, else Newton steps in b
alone). H is the second derivative of the smoothed risk at w = 0, less what the offsets make up for, so that scales
and correlations of the features do not matter; rho falls when a step was too short and grows when it was too long.
The master problem itself is solved only when the other one leaves a chance that its bound suffices.

With many rows, a random part of them is solved first, and the points of its planes are the first points for all rows.
If b is regularised it is part of w, and there is no inner loop.

Sources: Antoniuk's thesis on partial annotations, section 3.4 (in eq. 3.45 the terms of b enter with a plus sign);
Teo and others, "Bundle methods for regularized risk minimization", 2010; Kiwiel, "Proximity control in bundle methods
for convex nondifferentiable minimization", 1990.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from rankwise._types import Floats
from rankwise.solvers.design import LinearMap
from rankwise.solvers.planes import Planes
from rankwise.solvers.risk import HasBestOffsets, Risk, require_capabilities
from rankwise.solvers.smoothing import at_smoothing, first_part, first_smoothing, fit_offsets
from rankwise.solvers.solution import Solution, relative_gap
from rankwise.solvers.threads import in_one_thread

_CURVED_UP_TO = 300  # parameters for which second derivatives are formed
_LARGEST = 8.0  # rho: at kinks a risk may look as curved as one likes, and steps would be too short
_INNER = 0.1  # accuracy of the inner loop, relative to the tolerance


@dataclass
class _Cut:
    """Regularised parameters with the offsets that are not, the objective there and its slopes."""

    w: Floats
    offsets: Floats
    objective: float
    slopes: Floats


@in_one_thread
def minimise_by_cutting_planes(
    design: LinearMap, risk: Risk, alpha: float, penalty: Floats, *,
    tol: float, max_iter: int, start: Floats | None = None,
) -> Solution:  # fmt: skip
    """Minimise ``alpha/2 sum_j penalty_j theta_j^2 + risk`` to a certified relative gap of ``tol``.

    Parameters are those of :func:`rankwise.solvers.smoothing.minimise_by_smoothing`, with alpha > 0. A risk that is
    ``HasBestOffsets`` needs no solver for the offsets.
    """
    require_capabilities(risk, "minimise_by_cutting_planes", Risk)
    nothing = np.concatenate([np.zeros(penalty.size - risk.n_offsets), risk.start()])
    points = [nothing if start is None else start]
    part = first_part(design, risk, penalty.size)
    few_rows, few_losses = part or (design, risk)
    curvature = _curvature(few_rows, few_losses, alpha, penalty, nothing)
    if part is not None:
        few = _CuttingPlanes(*part, alpha, penalty, curvature, tol, max_iter)
        few.run(points)
        points, curvature = few.points_that_count(), curvature.times(few.rho)
    return _CuttingPlanes(design, risk, alpha, penalty, curvature, tol, max_iter).run(points)


@dataclass(frozen=True)
class _Curvature:
    """Second derivatives ``axes diag(along) axes'`` of about the size of G's; along the coordinates without axes."""

    axes: Floats | None
    along: Floats | float

    def times(self, factor: float) -> _Curvature:
        return _Curvature(self.axes, factor * self.along)

    def turned(self, w: Floats) -> Floats:
        return w if self.axes is None else w @ self.axes

    def turned_back(self, w: Floats) -> Floats:
        return w if self.axes is None else self.axes @ w


def _curvature(design: LinearMap, risk: Any, alpha: float, penalty: Floats, theta: Floats) -> _Curvature:
    """Second derivatives of the smoothed risk at theta by what is regularised, with the best offsets of each w."""
    n_weights, size = penalty.size - risk.n_offsets, int(penalty.sum())
    if penalty.size > _CURVED_UP_TO:
        return _Curvature(None, 3.0 * alpha)  # found by trial; rho does the rest
    scores = design.times(theta[:n_weights].reshape(risk.n_scores, -1))
    whole = at_smoothing(risk, first_smoothing(risk)).hessian(design, scores, theta[n_weights:])
    both = whole[:size, size:]
    along, axes = np.linalg.eigh(
        whole[:size, :size] - both @ np.linalg.pinv(whole[size:, size:], hermitian=True) @ both.T
    )
    return _Curvature(axes, np.maximum(along, 0.0))


class _CuttingPlanes:
    """The method on one set of rows. Planes and points are turned to the axes of the curvature."""

    def __init__(
        self, design: LinearMap, risk: Any, alpha: float, penalty: Floats, curvature: _Curvature, tol: float,
        max_iter: int,
    ) -> None:  # fmt: skip
        self.design, self.risk, self.alpha, self.curvature = design, risk, alpha, curvature
        self.tol, self.max_iter = tol, max_iter
        self.n_weights = penalty.size - risk.n_offsets
        self.size = int(penalty.sum())  # what is regularised: the weights, or all
        self.free = self.size == self.n_weights
        self.planes = Planes(alpha)
        self.rho = 1.0
        self.points: list[Floats] = []
        self.lower_bound = 0.0  # losses are not negative
        self.mu = first_smoothing(risk)
        self.error = 0.0  # of the inner loop, relative to the objective

    def run(self, points: list[Floats]) -> Solution:
        """Minimise, beginning with the planes at some points."""
        turned = [(self.curvature.turned(theta[: self.size]), theta[self.n_weights :]) for theta in points]
        best = min((self._cut(w, offsets) for w, offsets in turned), key=attrgetter("objective"))
        n_iter = 0
        while n_iter < self.max_iter and not self._done(best):
            n_iter += 1
            w, value = self.planes.solve_near(best.w, self.rho * self.curvature.along)
            promised = (best.objective - value) / abs(best.objective)
            if promised <= self.tol:
                self.lower_bound = max(self.lower_bound, self.planes.solve()[1])
            if not self._done(best):
                point = self._cut(w, best.offsets)
                if promised <= self.error:  # the inner loop may be as wrong: only a longer step will tell
                    self.rho *= 0.1
                else:
                    self._adapt(best, point)
                best = min(best, point, key=attrgetter("objective"))
        if not self._done(best):  # no more iterations
            self.lower_bound = max(self.lower_bound, self.planes.solve()[1])
        theta = np.concatenate([self.curvature.turned_back(best.w)[: self.n_weights], best.offsets])
        return Solution(theta, best.objective, self.lower_bound, n_iter, self._done(best))

    def points_that_count(self) -> list[Floats]:
        """The points of the planes that had weight in the last solution."""
        return [self.points[i] for i in self.planes.number[self.planes.idle == 0]]

    def _done(self, best: _Cut) -> bool:
        return relative_gap(best.objective, self.lower_bound) <= self.tol

    def _adapt(self, best: _Cut, point: _Cut) -> None:
        """Change rho by what the slopes say of the step from the best point to the next one."""
        step = point.w - best.w
        before, after = float(best.slopes @ step), float(point.slopes @ step)
        if point.objective < best.objective:
            if after < 0.0:  # a longer step would have been better
                self.rho *= 0.5 if after < 0.5 * before else 0.8
        elif after - before > self.rho * float(np.sum(self.curvature.along * step**2)):  # more curved than supposed
            self.rho = min(2.0 * self.rho, _LARGEST)

    def _cut(self, turned: Floats, offsets: Floats) -> _Cut:
        """Add the plane at a point; return the point, with the best offsets if they are free."""
        w = self.curvature.turned_back(turned)
        scores = self.design.times(w[: self.n_weights].reshape(self.risk.n_scores, -1))
        if self.free:
            value, offsets, gain, r = self._inner(scores, offsets)
            normal = self.design.pull(r).ravel()
        else:
            gain, r, pull = self.risk.dual(scores, w[self.n_weights :], balanced=False)
            normal = np.concatenate([self.design.pull(r).ravel(), pull])
            value, offsets = self.risk.exact(scores, w[self.n_weights :])
            w = np.concatenate([w[: self.n_weights], offsets])
        self.points.append(np.concatenate([w[: self.n_weights], offsets]))
        w, normal = self.curvature.turned(w), self.curvature.turned(normal)
        self.planes.add(gain, normal)
        return _Cut(w, offsets, value + 0.5 * self.alpha * float(w @ w), normal + self.alpha * w)

    def _inner(self, scores: Floats, offsets: Floats) -> tuple[float, Floats, float, Floats]:
        """The least risk at these scores and its offsets; linear value and pull of a dual point that pulls at none."""
        exactly = self.risk.best_offsets(scores) if isinstance(self.risk, HasBestOffsets) else None
        if exactly is not None:
            offsets, (gain, r) = exactly
            return gain + self.design.inner(r, scores), offsets, gain, r  # primal and dual are one
        # A little smoother than what the last solution needed: offsets move little from one point to the next.
        mu = None if self.mu is None else min(30.0 * self.mu, self.risk.first_smoothing)
        self.error = _INNER * self.tol
        offsets, self.mu, (gain, r) = fit_offsets(self.design, self.risk, scores, offsets, mu, self.error)
        value, offsets = self.risk.exact(scores, offsets)
        return value, offsets, gain, r
