"""Regularised convex risks by a bundle of cutting planes, with a certified gap.

    minimise  F(w) = alpha/2 |w|^2 + R(w) - <g, w>,      R convex, given by an oracle: value and a subgradient

Every call of the oracle at a point u gives a plane below R, ``R(u) + <R'(u), w - u>``. The largest of these planes in
place of R makes the master problem, whose value is a lower bound on F (:mod:`rankwise.solvers.planes`). The next plane
is not taken at the master's solution, which jumps about, but a fifth of the way from the best point so far to it (the
line search of Franc and Sonnenburg, "Optimized cutting plane algorithm", 2009, with a fixed step): measured on chains,
this halves the number of calls. R stays the same when g changes, so planes serve the next g too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankwise.solvers.planes import Planes
from rankwise.solvers.solution import Solution

Floats = NDArray[np.float64]

#: Point -> value and a subgradient of a convex function.
Oracle = Callable[[Floats], tuple[float, Floats]]

_STEP = 0.2  # from the best point so far to the master's solution
_PATIENCE = 20  # a plane without weight is dropped after more rounds than these


class Bundle:
    """Cutting planes of one convex function, for problems that differ in their linear term.

    Parameters
    ----------
    oracle : callable
        Point -> value and a subgradient of R.
    alpha : float
        Strength of the regulariser, > 0.

    Examples
    --------
    The minimum of |w - 2| + w^2 / 2 is at 1:

    >>> bundle = Bundle(lambda w: (abs(w[0] - 2.0), np.sign(w - 2.0)), alpha=1.0)
    >>> bundle.minimise(np.zeros(1), start=np.zeros(1), tol=1e-6, max_iter=100).theta.round(2)
    array([1.])
    """

    def __init__(self, oracle: Oracle, alpha: float) -> None:
        self.oracle, self.alpha = oracle, alpha
        self.planes = Planes(alpha, patience=_PATIENCE)

    def minimise(self, linear: Floats, start: Floats, *, tol: float, max_iter: int) -> Solution:
        """Minimise with ``linear`` as g, until the relative gap is ``tol`` or for ``max_iter`` calls of the oracle."""
        best, objective, lower_bound, n_iter = start, np.inf, -np.inf, 0
        point = start
        while True:
            value = self._cut(point) + 0.5 * self.alpha * float(point @ point) - float(linear @ point)
            n_iter += 1
            if value < objective:
                best, objective = point, value
            solution, bound = self.planes.solve(linear)
            lower_bound = max(lower_bound, bound)
            converged = objective - lower_bound <= tol * abs(objective)
            if converged or n_iter >= max_iter:
                return Solution(best, objective, lower_bound, n_iter, converged)
            point = best + _STEP * (solution - best)

    def _cut(self, point: Floats) -> float:
        """Call the oracle at a point, keep the plane and return the value."""
        value, slope = self.oracle(point)
        self.planes.add(value - float(slope @ point), slope)
        return value
