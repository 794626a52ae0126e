"""PRank and PRIL: the perceptron with ordered thresholds, from exact and from interval labels.

Labels are 1..K, the score is ``f = <w, x>``, thresholds ``t_1 <= ... <= t_{K-1}``, and the prediction is the smallest i
with ``f < t_i`` (K if there is none). An interval label [lo, hi] says on which side of a threshold the score belongs:

    z_i = +1 for i < lo,   z_i = -1 for i >= hi,   nothing in between,

and PRIL minimises online the sum of the violations ``(-z_i (f - t_i))_+`` (Manwani, "PRIL: Perceptron Ranking Using
Interval Labeled Data", Algorithm 1). Every round, with c the weight of the example:

    tau_i = z_i  where  z_i (f - t_i) <= 0,  else 0
    w   += c (sum_i tau_i) x
    t_i -= c tau_i

With exact labels, lo = hi, this is PRank (Crammer and Singer, 2001). With unit weights the thresholds stay on the
integers and so in order (Lemma 1); with other weights they are sorted after the update, which brings them no further
from any ordered vector, so the mistake bounds of :mod:`rankwise.bounds` still hold.

Passive-aggressive steps (not in the paper) move as little as possible such that every constraint holds with margin 1:

    minimise |w - w_t|^2 / 2 + |t - t_t|^2 / 2 + penalty   subject to   z_i (f - t_i) >= 1 - xi_i

without slack (``"pa"``), with ``C sum xi_i`` (``"pa1"``) or ``C sum xi_i^2`` (``"pa2"``). With l_i = 1 - z_i (f - t_i)
the multipliers are ``lam_i = clip((l_i - z_i a |x|^2) / (1 + s), 0, cap)`` where ``a = sum_i z_i lam_i`` is the root of
a decreasing piecewise linear function, found exactly by searching its sorted break points; cap = C for pa1 and s =
1/(2C) for pa2. Then ``w += a x`` and ``t_i -= z_i lam_i``, which keeps the order. The weight of an example multiplies
C; the hard step "pa" has no C, and repeating an example it already satisfies changes nothing, so there only zero
weights matter.
"""

from typing import Any, ClassVar

import numpy as np

from rankwise._kernels.compile import inlined, register_jitable
from rankwise._kernels.rows import axpy_lagged, squared_norm
from rankwise._sklearn import POSITIVE, StrOptions
from rankwise.online._threshold_models import (
    LinearThresholdEstimator,
    both_right,
    move,
    move_violated,
    predict_row,
    restore_order,
    score_row,
    with_sentinels,
)
from rankwise.online.learning_loop import NOT_FINITE, UNCHANGED, make_pass, write_back


@inlined
def perceptron_step(X, i, f, lo, hi, c, ends, t, t_lag, rounds, cap, softness, breaks):
    """The paper's step: the violated thresholds move by c, and w with them."""
    return move_violated(f, lo, hi, c, ends, ends, t_lag, rounds)


@register_jitable
def _multiplier(k, f, lo, shift, t, cap, softness):
    """lam_k after the score has moved by ``shift`` = a |x|^2."""
    if k < lo:
        loss = 1.0 - (f - t[k]) - shift
    else:
        loss = 1.0 + (f - t[k]) + shift
    return min(cap, max(0.0, loss / (1.0 + softness)))


@register_jitable
def _pull(f, lo, hi, shift, t, cap, softness):
    """sum_k z_k lam_k at a given shift: non-increasing in it."""
    total = 0.0
    for k in range(lo):
        total += _multiplier(k, f, lo, shift, t, cap, softness)
    for k in range(hi, t.size):
        total -= _multiplier(k, f, lo, shift, t, cap, softness)
    return total


@register_jitable
def _balance(f, lo, hi, square, t, cap, softness, breaks):
    """The root a of ``_pull(a |x|^2) = a``, exactly: bisection over the break points, then one linear equation.

    In terms of the shift s = a |x|^2 multiplier k bends where its loss is 0 and, if capped, where it reaches the cap;
    ``breaks`` is room for these points.
    """
    n = 0
    reach = cap * (1.0 + softness)
    for k in range(t.size):
        if lo <= k < hi:
            continue
        zero = 1.0 - (f - t[k]) if k < lo else -(1.0 + (f - t[k]))
        breaks[n] = zero
        n += 1
        if reach < np.inf:
            breaks[n] = zero - reach if k < lo else zero + reach
            n += 1
    for p in range(1, n):
        q = p
        while q > 0 and breaks[q] < breaks[q - 1]:
            breaks[q], breaks[q - 1] = breaks[q - 1], breaks[q]
            q -= 1
    # First break point at which the decreasing function pull(s) - s / |x|^2 is no longer positive.
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        s = breaks[middle]
        if _pull(f, lo, hi, s, t, cap, softness) * square > s:
            low = middle + 1
        else:
            high = middle
    # The root lies between breaks[low - 1] and breaks[low], where every multiplier is linear: take the slope there.
    if n == 0:
        return 0.0
    if low == 0:
        inside = breaks[0] - 1.0
    elif low == n:
        inside = breaks[n - 1] + 1.0
    else:
        inside = 0.5 * (breaks[low - 1] + breaks[low])
    slope = 0.0
    for k in range(t.size):
        if lo <= k < hi:
            continue
        lam = _multiplier(k, f, lo, inside, t, cap, softness)
        if 0.0 < lam < cap:
            slope -= 1.0 / (1.0 + softness)
    # pull(inside) + slope * (a * square - inside) = a
    return (_pull(f, lo, hi, inside, t, cap, softness) - slope * inside) / (1.0 - slope * square)


@register_jitable
def passive_aggressive_step(X, i, f, lo, hi, c, ends, t, t_lag, rounds, cap, softness, breaks):
    """Smallest move that satisfies the constraints with margin 1; return the step a along x and the violations."""
    violated = 0
    for k in range(lo):
        violated += f <= t[k]
    for k in range(hi, t.size):
        violated += f >= t[k]
    square = squared_norm(X, i)
    cap, softness = cap * c, softness / c
    a = _balance(f, lo, hi, square, t, cap, softness, breaks)
    shift = a * square
    for k in range(lo):
        move(ends, t_lag, k + 1, -_multiplier(k, f, lo, shift, t, cap, softness), rounds)
    for k in range(hi, t.size):
        move(ends, t_lag, k + 1, _multiplier(k, f, lo, shift, t, cap, softness), rounds)
    restore_order(ends, t_lag, rounds)  # in order but for rounding
    return a, violated


@register_jitable
def _prepare(model, mask, options, predicting):
    (w, w_lag), (t, t_lag) = model
    _, cap, softness = options
    ends = with_sentinels(t)
    return t.size, (w, w_lag, ends, ends[1:-1], t_lag, cap, softness, np.empty(2 * t.size))


@register_jitable
def _finish(model, workspace):
    write_back(workspace[3], model[1][0])


def _make_passes(move_thresholds, margin):
    """Compile passes with a step that is due when a constraint holds by no more than ``margin``."""

    @inlined
    def step(X, i, f, lo, hi, c, past, workspace):
        w, w_lag, ends, t, t_lag, cap, softness, breaks = workspace
        # At least one comparison is false for a score that is NaN or infinite, so it never counts as satisfied.
        if f - ends[lo] > margin and ends[hi + 1] - f > margin:
            return UNCHANGED
        if not np.isfinite(f):
            return NOT_FINITE
        if c == 0.0:
            return UNCHANGED
        rounds = past[0]
        a, violated = move_thresholds(X, i, f, lo, hi, c, ends, t, t_lag, rounds, cap, softness, breaks)
        axpy_lagged(X, i, a, rounds, w, w_lag)
        return violated

    functions = _prepare, score_row, predict_row, step, _finish
    return {plain: make_pass(*functions, both_right=both_right, plain=plain) for plain in (True, False)}


_PERCEPTRON = _make_passes(perceptron_step, 0.0)
_JUST_BELOW_ONE = np.nextafter(1.0, 0.0)  # "by no more than this" is "by less than 1"
_PASSIVE_AGGRESSIVE = _make_passes(passive_aggressive_step, _JUST_BELOW_ONE)


class PRIL(LinearThresholdEstimator):
    """Threshold perceptron that learns from exact, interval and missing labels, online.

    Parameters
    ----------
    step : {"perceptron", "pa", "pa1", "pa2"}, default "perceptron"
        Update rule: the paper's perceptron, or a passive-aggressive step (hard, linearly or quadratically softened).
    C : float, default 1.0
        Aggressiveness of "pa1" and "pa2"; an example's weight multiplies it. The other steps do not use it.
    n_epochs : int, default 10
        Passes over the rows in ``fit``.
    shuffle : bool, default True
        New random order of the rows for every epoch of ``fit``.
    average : bool or "auto", default "auto"
        Predict with the mean of the model over all rounds instead of the last one. "auto" takes the mean after a
        shuffled ``fit``, and on a stream the one that predicted the latest rows better, with a preference for the mean:
        see the page "Streams that change". May be changed at any time.
    random_state : int, RandomState or None
        Seed of the shuffling.
    classes : array-like or None
        All classes, lowest first. ``fit`` can find them in ``y``; a stream needs them declared.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights of the score.
    thresholds_ : ndarray of shape (K-1,)
        Thresholds between neighbouring classes, ascending.
    classes_ : ndarray of shape (K,)
        The classes, lowest first.
    n_updates_, n_violations_ : int
        Rounds in which the model changed, and constraints that were violated: the loss that the papers' bounds count.
    n_iter_ : int
        Epochs of the last ``fit``.

    Notes
    -----
    The paper's algorithm is ``PRIL(n_epochs=1, shuffle=False, average=False)``. There is no intercept because the
    thresholds can all move together. A score is summed in a fixed order, so dense and sparse rows, single rows and
    chunks give the same model to the bit.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import PRIL
    >>> X = np.arange(8.0).reshape(-1, 1) - 3.5
    >>> y = np.array([[1, 1], [1, 2], [1, 2], [2, 2], [2, 3], [2, np.nan], [3, 3], [3, 3]])  # [lower, upper]
    >>> PRIL(classes=[1, 2, 3], random_state=0).fit(X, y).predict(X)
    array([1, 1, 1, 2, 3, 3, 3, 3])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearThresholdEstimator._parameter_constraints,
        "step": [StrOptions({"perceptron", "pa", "pa1", "pa2"})],
        "C": [POSITIVE],
    }

    def __init__(
        self, step: str = "perceptron", C: float = 1.0, n_epochs: int = 10, shuffle: bool = True,
        average: bool | str = "auto", random_state: Any = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def _compiled(self, state, average, plain):
        passes = _PERCEPTRON if self.step == "perceptron" else _PASSIVE_AGGRESSIVE
        cap = float(self.C) if self.step == "pa1" else np.inf
        softness = 0.5 / self.C if self.step == "pa2" else 0.0
        model = (state["w"], state["w_lag"]), (state["t"], state["t_lag"])
        return passes[plain], model, (average, cap, softness)


class PRank(PRIL):
    """Threshold perceptron for exact labels (Crammer and Singer, 2001): :class:`PRIL` with lo = hi.

    Parameters, attributes and methods are those of :class:`PRIL`; rows without a label are skipped, interval labels are
    refused.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import PRank
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> PRank(classes=["bad", "fair", "good"], random_state=0).fit(X, ["bad", "fair", "good", "good"]).predict([[9.0]])
    array(['good'], dtype='<U4')
    """

    label_kinds = frozenset({"exact"})
