"""Regularised risks by cutting planes, with a second loop for offsets that are not regularised.

    minimise  F(w) = alpha/2 |w|^2 + G(w),      G(w) = min_b risk(X w, b)

Every dual point of the risk that does not pull at b gives a plane below G, ``G(w') >= gain + <a, w'>`` for all w'.
The master problem has the largest of the planes so far in place of G; its value is a lower bound on F
(:mod:`rankwise.solvers.planes`). With few planes its solution jumps about. So the next plane is taken at the minimum of
the master problem plus ``rho/2 (w - best)' H (w - best)`` (the proximal bundle method), with the best offsets there
(the inner loop: order statistics where the risk has a formula, else Newton steps in b alone). H is the second
derivative of the smoothed risk at w = 0 with the best offsets, so that scales and correlations of the features do not
matter; rho falls after a step that was too short and grows after one that was too long. The master problem itself is
solved only when its bound may suffice.

With many rows, a random sample of them is solved first, and the points of its planes are the first points for all rows.
If b is regularised it belongs to w, and there is no inner loop.

Sources: Antoniuk's thesis on partial annotations, section 3.4 (in eq. 3.45 the terms of b enter with a plus sign);
Teo and others, "Bundle methods for regularized risk minimization", 2010; Kiwiel, "Proximity control in bundle methods
for convex nondifferentiable minimization", 1990.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from rankwise._types import Floats
from rankwise.solvers.design import LinearMap
from rankwise.solvers.planes import Planes
from rankwise.solvers.risk import HasBestOffsets, Risk, require_capabilities
from rankwise.solvers.smoothing import at_smoothing, first_sample, first_smoothing, fit_offsets
from rankwise.solvers.solution import Solution, relative_gap
from rankwise.solvers.threads import in_one_thread

_CURVED_UP_TO = 300  # parameters for which second derivatives are formed
_LARGEST = 8.0  # rho: at kinks the curvature seems unbounded, and steps would be too short
_INNER = 0.1  # accuracy of the inner loop, relative to the tolerance


@dataclass
class _Cut:
    """Regularised parameters, the offsets that are not regularised, the objective there and its slopes."""

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
    zero = np.concatenate([np.zeros(penalty.size - risk.n_offsets), risk.start()])
    points = [zero if start is None else start]
    sample = first_sample(design, risk, penalty.size)
    few_rows, few_losses = sample or (design, risk)
    curvature = _curvature(few_rows, few_losses, alpha, penalty, zero)
    if sample is not None:
        few = _CuttingPlanes(*sample, alpha, penalty, curvature, tol, max_iter)
        few.run(points)
        points, curvature = few.active_points(), replace(curvature, along=few.rho * curvature.along)
    return _CuttingPlanes(design, risk, alpha, penalty, curvature, tol, max_iter).run(points)


@dataclass(frozen=True)
class _Curvature:
    """Second derivatives ``axes diag(along) axes'`` of about the size of G's; without axes, a diagonal matrix."""

    axes: Floats | None
    along: Floats | float

    def rotated(self, w: Floats) -> Floats:
        return w if self.axes is None else w @ self.axes

    def rotated_back(self, w: Floats) -> Floats:
        return w if self.axes is None else self.axes @ w


def _curvature(design: LinearMap, risk: Any, alpha: float, penalty: Floats, theta: Floats) -> _Curvature:
    """Second derivatives of the smoothed risk at theta by the regularised parameters, with the best offsets."""
    n_weights, size = penalty.size - risk.n_offsets, int(penalty.sum())
    if penalty.size > _CURVED_UP_TO:
        return _Curvature(None, 3.0 * alpha)  # chosen by experiment; rho does the rest
    scores = design.times(theta[:n_weights].reshape(risk.n_scores, -1))
    whole = at_smoothing(risk, first_smoothing(risk)).hessian(design, scores, theta[n_weights:])
    both = whole[:size, size:]
    along, axes = np.linalg.eigh(
        whole[:size, :size] - both @ np.linalg.pinv(whole[size:, size:], hermitian=True) @ both.T
    )
    return _Curvature(axes, np.maximum(along, 0.0))


class _CuttingPlanes:
    """The method on one set of rows. Planes and points are in the axes of the curvature."""

    def __init__(
        self, design: LinearMap, risk: Any, alpha: float, penalty: Floats, curvature: _Curvature, tol: float,
        max_iter: int,
    ) -> None:  # fmt: skip
        self.design, self.risk, self.alpha, self.curvature = design, risk, alpha, curvature
        self.tol, self.max_iter = tol, max_iter
        self.n_weights = penalty.size - risk.n_offsets
        self.size = int(penalty.sum())  # regularised parameters: the weights, or all
        self.free = self.size == self.n_weights
        self.planes = Planes(alpha)
        self.rho = 1.0
        self.points: list[Floats] = []
        self.lower_bound = 0.0  # losses are not negative
        self.mu = first_smoothing(risk)
        self.error = 0.0  # of the inner loop, relative to the objective

    def run(self, points: list[Floats]) -> Solution:
        """Minimise, beginning with the planes at some points."""
        rotated = [(self.curvature.rotated(theta[: self.size]), theta[self.n_weights :]) for theta in points]
        best = min((self._cut(w, offsets) for w, offsets in rotated), key=attrgetter("objective"))
        n_iter = 0
        while n_iter < self.max_iter and not self._done(best):
            n_iter += 1
            w, value = self.planes.solve_near(best.w, self.rho * self.curvature.along)
            promised = (best.objective - value) / abs(best.objective)
            if promised <= self.tol:
                self.lower_bound = max(self.lower_bound, self.planes.solve()[1])
            if not self._done(best):
                point = self._cut(w, best.offsets)
                if promised <= self.error:  # the error of the inner loop may be as large: take longer steps
                    self.rho *= 0.1
                else:
                    self._adapt(best, point)
                best = min(best, point, key=attrgetter("objective"))
        if not self._done(best):  # no more iterations
            self.lower_bound = max(self.lower_bound, self.planes.solve()[1])
        theta = np.concatenate([self.curvature.rotated_back(best.w)[: self.n_weights], best.offsets])
        return Solution(theta, best.objective, self.lower_bound, n_iter, self._done(best))

    def active_points(self) -> list[Floats]:
        """The points of the planes that had weight in the last solution."""
        return [self.points[i] for i in self.planes.number[self.planes.idle == 0]]

    def _done(self, best: _Cut) -> bool:
        return relative_gap(best.objective, self.lower_bound) <= self.tol

    def _adapt(self, best: _Cut, point: _Cut) -> None:
        """Change rho by the slopes before and after the step from the best point to the next one."""
        step = point.w - best.w
        before, after = float(best.slopes @ step), float(point.slopes @ step)
        if point.objective < best.objective:
            if after < 0.0:  # a longer step would have been better
                self.rho *= 0.5 if after < 0.5 * before else 0.8
        elif after - before > self.rho * float(np.sum(self.curvature.along * step**2)):  # more curved than assumed
            self.rho = min(2.0 * self.rho, _LARGEST)

    def _cut(self, rotated: Floats, offsets: Floats) -> _Cut:
        """Add the plane at a point; return the point, with the best offsets if they are free."""
        w = self.curvature.rotated_back(rotated)
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
        w, normal = self.curvature.rotated(w), self.curvature.rotated(normal)
        self.planes.add(gain, normal)
        return _Cut(w, offsets, value + 0.5 * self.alpha * float(w @ w), normal + self.alpha * w)

    def _inner(self, scores: Floats, offsets: Floats) -> tuple[float, Floats, float, Floats]:
        """The least risk at these scores and its offsets; linear value and pull of a dual point that pulls at none."""
        exact = self.risk.best_offsets(scores) if isinstance(self.risk, HasBestOffsets) else None
        if exact is not None:
            offsets, (gain, r) = exact
            return gain + self.design.inner(r, scores), offsets, gain, r  # primal and dual value are equal
        # A little smoother than the last solution needed: offsets move little from one point to the next.
        mu = None if self.mu is None else min(30.0 * self.mu, self.risk.first_smoothing)
        self.error = _INNER * self.tol
        offsets, self.mu, (gain, r) = fit_offsets(self.design, self.risk, scores, offsets, mu, self.error)
        value, offsets = self.risk.exact(scores, offsets)
        return value, offsets, gain, r
