"""Dual coordinate ascent for one binary problem over some rows of X, with a certified gap.

The problem, over the given rows ``i`` with labels ``y_i`` = ±1 and costs ``c_i`` that sum to one:

    minimise over w, b    P(w, b) = alpha/2 |w|^2 + sum_i c_i phi(y_i (<w, x_i> + b))

with ``phi(m) = max(0, 1 - m)`` (hinge) or ``log(1 + exp(-m))`` (logistic). The intercept b is not regularised. The dual
problem has one variable ``u_i`` in [0, c_i] for each row:

    maximise    D(u) = sum_i c_i h(u_i / c_i) - alpha/2 |w(u)|^2,    w(u) = sum_i u_i y_i x_i / alpha
    subject to  sum_i u_i y_i = 0                                    (only with an intercept)

with ``h(s) = s`` (hinge) or the entropy ``-s log s - (1 - s) log(1 - s)`` (logistic).

- **Ascent** (Hsieh et al. 2008; Yu, Huang and Lin 2011; Shalev-Shwartz and Zhang 2013): in random order, each ``u_i``
  moves to its best value while the others stay.
- **The equality** couples all variables, so none could move alone. An augmented Lagrangian replaces it, with the
  intercept as multiplier: while ``u_i`` moves, ``b = multiplier + kappa sum_j u_j y_j`` follows like the weight of a
  constant feature; after each pass the multiplier becomes b. Any kappa > 0 works; with ``alpha kappa`` a tenth of the
  mean of ``|x_i|^2``, an intercept costs hardly any extra passes (measured).
- **Certificate**: scaling down the ``u_i`` of the side with the larger sum makes u feasible, so D(u) is a lower bound
  on the optimum; ``w(u)`` with its best intercept gives an upper bound. Both are computed afresh from the data,
  independently of the path, and the best of each is kept.

The rows are read in place by their numbers: problems that share X share its memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit

from rankwise._kernels.compile import kernel, register_jitable
from rankwise._kernels.rows import column, dot, n_entries, value
from rankwise._types import Floats
from rankwise.solvers.solution import relative_gap

#: Passes between certificates grow by this share: a certificate costs two passes.
_PATIENCE = 0.25


@dataclass(frozen=True)
class BinarySolution:
    """Weights, and bounds on the optimum."""

    coef: Floats  # (d,)
    intercept: float
    objective: float  # P at these
    lower_bound: float  # D at a feasible point: no weights have a smaller P
    n_iter: int  # passes over the rows


# -- losses: how a row's dual variable moves (compiled), and the two sides of the certificate --------------------------
#
# The state of a row is s = u / c for hinge, and t with s = sigmoid(t) for logistic, which is accurate near both ends.


@register_jitable
def _hinge_share(s):
    return s


@register_jitable
def _hinge_best(s, c, margin, curvature):
    if curvature == 0.0:
        return 1.0 if margin < 1.0 else 0.0
    return min(max(s + (1.0 - margin) / (curvature * c), 0.0), 1.0)


@register_jitable
def _sigmoid(t):
    if t >= 0.0:
        return 1.0 / (1.0 + np.exp(-t))
    e = np.exp(t)
    return e / (1.0 + e)


@register_jitable
def _logistic_best(t, c, margin, curvature):
    """Root r of ``r + margin + curvature c (sigmoid(r) - sigmoid(t))``, increasing in r: between t and -margin."""
    old, size = _sigmoid(t), curvature * c
    low, high = min(t, -margin), max(t, -margin)
    r = t if size > 4.0 else -margin
    for _ in range(50):
        p = _sigmoid(r)
        residual = r + margin + size * (p - old)
        if residual > 0.0:
            high = r
        else:
            low = r
        step = residual / (1.0 + size * p * (1.0 - p))
        r -= step
        if not low <= r <= high:
            r = 0.5 * (low + high)
        # Newton's next step would be about the square of this one.
        if abs(step) <= 1e-6 * (1.0 + abs(r)) or high - low <= 1e-15 * (1.0 + abs(r)):
            break
    return r


def _inner(a: Floats, b: Floats) -> float:
    """Inner product without BLAS, whose threads would wait for each other while labels are solved in parallel."""
    return float((a * b).sum())


def _hinge_intercept(score: Floats, sign: Floats, cost: Floats, guess: float) -> float:
    """Weighted quantile: the slope starts at minus the cost of positives; passing ``y_i - score_i`` adds ``c_i``."""
    kinks = sign - score
    order = np.argsort(kinks)
    slope = np.cumsum(cost[order]) - cost[sign > 0].sum()
    return float(kinks[order[min(int(np.searchsorted(slope, 0.0)), slope.size - 1)]])


def _logistic_intercept(score: Floats, sign: Floats, cost: Floats, guess: float) -> float:
    """Newton's method in the interval where the slope changes its sign."""
    b, low, high = guess, -np.inf, np.inf
    for _ in range(200):
        p = expit(-sign * (score + b))
        slope, curvature = -_inner(cost, sign * p), _inner(cost, p * (1.0 - p))
        low, high = (low, b) if slope > 0.0 else (b, high)
        step = min(max(slope / max(curvature, 1e-300), -5.0), 5.0)
        b = b - step if low <= b - step <= high else 0.5 * (low + high)
        if abs(step) <= 1e-6 * (1.0 + abs(b)):  # Newton's next step would be about the square of this one
            break
    return b


@dataclass(frozen=True)
class _Loss:
    """Loss of a margin."""

    start: float  # state of a row at the beginning
    share: Callable[[Floats], Floats]  # s of a state
    value: Callable[[Floats], Floats]  # phi
    dual_value: Callable[[Floats], Floats]  # h
    intercept: Callable[[Floats, Floats, Floats, float], float]  # the best one
    ascend: Any  # compiled passes


# -- compiled loops ----------------------------------------------------------------------------------------------------


@register_jitable
def _axpy(X, i, a, w):
    for p in range(n_entries(X, i)):
        w[column(X, i, p)] += a * value(X, i, p)


@register_jitable
def _shuffle(order, random):
    """Fisher and Yates' shuffle with Marsaglia's xorshift."""
    state = random[0]
    for k in range(order.size - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = np.int64(state % np.uint64(k + 1))
        order[k], order[j] = order[j], order[k]
    random[0] = state


def _make_ascend(share, best):
    @kernel
    def ascend(X, rows, sign, cost, squares, alpha, kappa, passes, state, w, b, order, random):
        """Passes of ascent over all rows, in place; return the intercept."""
        for _ in range(passes):
            _shuffle(order, random)
            balance = 0.0
            for k in order:
                i = rows[k]
                margin = sign[k] * (dot(X, i, w) + b)
                before = share(state[k])
                state[k] = best(state[k], cost[k], margin, squares[i] / alpha + kappa)
                after = share(state[k])
                balance += sign[k] * cost[k] * after
                if after != before:
                    change = sign[k] * cost[k] * (after - before)
                    _axpy(X, i, change / alpha, w)
                    b += kappa * change
            b += kappa * balance  # the multiplier becomes b, which is kappa * balance beyond the multiplier
        return b

    return ascend


@kernel
def _add_rows(X, rows, factors, w):
    """w += sum_k factors[k] x_rows[k]."""
    for k in range(rows.size):
        if factors[k] != 0.0:
            _axpy(X, rows[k], factors[k], w)


@kernel
def _scores(X, rows, w, out):
    """out[k] = <w, x_rows[k]>."""
    for k in range(rows.size):
        out[k] = dot(X, rows[k], w)


LOSSES = {
    "hinge": _Loss(
        start=0.0,
        share=lambda s: s,
        value=lambda margin: np.maximum(0.0, 1.0 - margin),
        dual_value=lambda share: share,
        intercept=_hinge_intercept,
        ascend=_make_ascend(_hinge_share, _hinge_best),
    ),
    "logistic": _Loss(
        start=-7.0,  # u = c / 1000: inside the interval, almost without weight
        share=expit,
        value=lambda margin: np.logaddexp(0.0, -margin),
        dual_value=lambda share: entr(share) + entr(1.0 - share),
        intercept=_logistic_intercept,
        ascend=_make_ascend(_sigmoid, _logistic_best),
    ),
}


def solve_binary(
    X: Any, n_features: int, rows: NDArray[np.int32], sign: Floats, cost: Floats, squares: Floats, *, loss: str,
    alpha: float, fit_intercept: bool, tol: float, max_iter: int, seed: int,
) -> BinarySolution:  # fmt: skip
    """Solve the problem of this module until the gap is at most ``tol`` times the objective.

    ``rows`` are the numbers of the rows of X to use, ``sign`` their labels ±1, ``cost`` their costs > 0, which sum to
    one; ``squares`` are the squared norms of all rows of X. With an intercept both labels must occur. ``seed`` is the
    seed of the orders, ``max_iter`` the maximum number of passes.
    """
    functions, alpha = LOSSES[loss], float(alpha)
    mean_square = float(squares[rows].mean())
    kappa = 0.1 * (mean_square if mean_square > 0.0 else 1.0) / alpha if fit_intercept else 0.0
    state, order = np.full(rows.size, functions.start), np.arange(rows.size)
    random = np.array([2 * seed + 1], dtype=np.uint64)  # never zero
    problem = X, rows, sign, cost
    best, b, n_iter = BinarySolution(np.zeros(n_features), 0.0, np.inf, -np.inf, 0), 0.0, 0
    while True:
        w, candidate = _certificate(problem, functions, alpha, fit_intercept, functions.share(state), b, n_features)
        if not np.isfinite(candidate.objective + mean_square):
            raise FloatingPointError("the features are too large")
        bound = max(candidate.lower_bound, best.lower_bound)
        best = replace(min(candidate, best, key=attrgetter("objective")), lower_bound=bound, n_iter=n_iter)
        if n_iter == max_iter or best.objective - bound <= tol * best.objective:
            relative_gap(best.objective, bound)  # raises if the bound cannot be one
            return best
        passes = min(1 + int(_PATIENCE * n_iter), max_iter - n_iter)
        b = functions.ascend(*problem, squares, alpha, kappa, passes, state, w, b, order, random)
        n_iter += passes


def _certificate(
    problem: tuple[Any, Any, Floats, Floats], loss: _Loss, alpha: float, fit_intercept: bool, share: Floats, b: float,
    n_features: int,
) -> tuple[Floats, BinarySolution]:  # fmt: skip
    """w(u), computed afresh so that rounding errors do not accumulate, and both bounds; ``share`` is u_i / c_i."""
    X, rows, sign, cost = problem
    u, sides = cost * share, (sign > 0, sign < 0)
    halves, score = np.zeros((2, n_features)), np.empty(u.size)
    for half, side in zip(halves, sides, strict=True):
        _add_rows(X, rows, np.where(side, u * sign, 0.0) / alpha, half)
    shrink = np.ones(2)
    if fit_intercept:
        sums = np.array([u[side].sum() for side in sides])
        shrink = sums.min() / np.where(sums > 0.0, sums, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        w = shrink[0] * halves[0] + shrink[1] * halves[1]
        _scores(X, rows, w, score)
        penalty = 0.5 * alpha * _inner(w, w)
        intercept = loss.intercept(score, sign, cost, b) if fit_intercept else 0.0
        primal = penalty + _inner(cost, loss.value(sign * (score + intercept)))
        feasible = share * np.where(sides[0], shrink[0], shrink[1])
        dual = _inner(cost, loss.dual_value(feasible)) - penalty
    return halves.sum(axis=0), BinarySolution(w, intercept, primal, dual, 0)
