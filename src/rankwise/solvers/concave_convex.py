"""Differences of convex functions by the concave-convex procedure, each step a regularised convex risk.

    minimise  F(w) = alpha/2 |w|^2 + R(w) - Q(w),      R and Q convex, each given by an oracle: value and a subgradient

At the point w_k the concave part -Q is replaced by the plane above it, -Q(w_k) - <Q'(w_k), w - w_k>. The problem is
then convex, and its minimum is the next point (Yuille and Rangarajan, "The concave-convex procedure", 2003). F never
rises. A fixed point is a local minimum or a saddle point, seldom the global minimum: the start matters. The lower
bound is that of the last convex problem, not of F.
"""

from __future__ import annotations

from typing import NamedTuple

from rankwise.solvers.bundle import Bundle, Floats, Oracle
from rankwise.solvers.solution import Solution
from rankwise.solvers.threads import in_one_thread


class Descent(NamedTuple):
    """Where the procedure ended.

    Attributes
    ----------
    theta : ndarray
        The parameters.
    objective : float
        F there.
    last : Solution
        Solution of the last convex problem, with its objective and lower bound.
    history : list of float
        F at the start and after every convex problem.
    n_iter : int
        Calls of R's oracle by the solver of the convex problems.
    converged : bool
        Whether F has stopped falling and the last convex problem has reached its gap.
    """

    theta: Floats
    objective: float
    last: Solution
    history: list[float]
    n_iter: int
    converged: bool


@in_one_thread
def descend(
    convex: Oracle, reward: Oracle, alpha: float, start: Floats, *, tol: float, max_iter: int, max_steps: int
) -> Descent:
    """Minimise ``alpha/2 |w|^2 + convex - reward`` from ``start``.

    Parameters
    ----------
    convex, reward : callable
        Oracles of R and Q.
    alpha : float
        Strength of the regulariser, > 0.
    start : ndarray
        Where to begin.
    tol : float
        Relative gap of every convex problem; and the procedure ends when a step lowers F by less than this part of it.
    max_iter : int
        Most calls of R's oracle, over all convex problems.
    max_steps : int
        Most convex problems.

    Examples
    --------
    A W-shaped function with minima at -1 and 1; the start decides for one of them:

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
