"""Regularised convex risks by a bundle of cutting planes, and differences of convex functions by a series of these.

    minimise  F(w) = alpha/2 |w|^2 + R(w) - <g, w>,      R convex, given by an oracle: value and a subgradient

**Bundle.** Every call of the oracle at a point u gives a plane below R, ``R(u) + <R'(u), w - u>``. The master problem
has the largest of these planes in place of R; its value is a lower bound on F (:mod:`rankwise.solvers.planes`). The
next plane is not taken at the master's solution, which jumps about, but a fifth of the way from the best point to it
(the line search of Franc and Sonnenburg, "Optimized cutting plane algorithm", 2009, with a fixed step); measured on
chains, this halves the number of calls. R does not depend on g, so the planes serve the next g too.

    minimise  F(w) = alpha/2 |w|^2 + R(w) - Q(w),      R and Q convex, each given by an oracle

**Concave-convex procedure.** At the point w_k the concave part -Q is replaced by the plane above it,
-Q(w_k) - <Q'(w_k), w - w_k>. The problem is then convex, and its minimum is the next point (Yuille and Rangarajan, "The
concave-convex procedure", 2003). F never rises. A fixed point is a local minimum or a saddle point, seldom the global
minimum: the start matters. The lower bound is that of the last convex problem, not of F.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankwise._types import Floats
from rankwise.solvers.planes import Planes
from rankwise.solvers.solution import Solution
from rankwise.solvers.threads import in_one_thread

#: Point -> value and a subgradient of a convex function.
Oracle = Callable[[Floats], tuple[float, Floats]]

_STEP = 0.2  # from the best point so far to the master's solution


class Bundle:
    """Cutting planes of one convex function, for problems that differ in their linear term.

    The minimum of |w - 2| + w^2 / 2 is at 1:

    >>> bundle = Bundle(lambda w: (abs(w[0] - 2.0), np.sign(w - 2.0)), alpha=1.0)
    >>> bundle.minimise(np.zeros(1), start=np.zeros(1), tol=1e-6, max_iter=100).theta.round(2)
    array([1.])
    """

    def __init__(self, oracle: Oracle, alpha: float) -> None:
        self.oracle, self.alpha = oracle, alpha
        self.planes = Planes(alpha)

    def minimise(self, linear: Floats, start: Floats, *, tol: float, max_iter: int) -> Solution:
        """Minimise with ``linear`` as g, until the relative gap is ``tol`` or for ``max_iter`` calls of the oracle."""
        best, objective, lower_bound, n_iter = start, np.inf, -np.inf, 0
        point = start
        while True:
            value, slope = self.oracle(point)
            self.planes.add(value - float(slope @ point), slope)
            value += 0.5 * self.alpha * float(point @ point) - float(linear @ point)
            n_iter += 1
            if value < objective:
                best, objective = point, value
            solution, bound = self.planes.solve(linear)
            lower_bound = max(lower_bound, bound)
            converged = objective - lower_bound <= tol * abs(objective)
            if converged or n_iter >= max_iter:
                return Solution(best, objective, lower_bound, n_iter, converged)
            point = best + _STEP * (solution - best)


class Descent(NamedTuple):
    """Where the procedure ended."""

    theta: Floats
    objective: float  # F there
    last: Solution  # of the last convex problem, with its objective and lower bound
    history: list[float]  # F at the start and after every convex problem
    n_iter: int  # calls of R's oracle by the solver of the convex problems
    converged: bool  # whether F stopped falling and the last convex problem reached its gap


@in_one_thread
def descend(
    convex: Oracle, reward: Oracle, alpha: float, start: Floats, *, tol: float, max_iter: int, max_steps: int
) -> Descent:
    """Minimise ``alpha/2 |w|^2 + convex - reward`` from ``start``.

    ``tol`` is the relative gap of every convex problem, and the procedure ends when a step lowers F by less than this
    share; ``max_iter`` bounds the calls of the oracle ``convex`` over all problems, ``max_steps`` the problems.

    Examples
    --------
    A W-shaped function with minima at -1 and 1; the start decides which one is found:

    >>> import numpy as np
    >>> square = lambda w: (float(w @ w) / 2.0, w)
    >>> tent = lambda w: (2.0 * abs(float(w[0])), 2.0 * np.sign(w))
    >>> descend(square, tent, 1.0, np.array([0.3]), tol=1e-4, max_iter=200, max_steps=9).theta.round(1)
    array([1.])
    """
    bundle = Bundle(convex, alpha)

    def objective(theta: Floats, value: float) -> float:
        return 0.5 * alpha * float(theta @ theta) + convex(theta)[0] - value

    theta = start
    value, slope = reward(theta)
    history = [objective(theta, value)]
    n_iter = 0
    while True:
        last = bundle.minimise(slope, theta, tol=tol, max_iter=max(1, max_iter - n_iter))
        n_iter += last.n_iter
        theta = last.theta
        value, slope = reward(theta)
        history.append(objective(theta, value))
        settled = history[-2] - history[-1] <= tol * abs(history[-1])
        if settled or len(history) > max_steps or n_iter >= max_iter:
            return Descent(theta, history[-1], last, history, n_iter, settled and last.converged)
