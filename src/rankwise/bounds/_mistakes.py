"""Guarantees for online learners: upper bounds on mistakes and regret.

The ``pril`` functions bound the sum over rounds of ``m``, the number of violated constraints ``z_i (f - t_i) <= 0``,
which is at least the interval-insensitive MAE of the predictions. Notation: K classes; z_i = +1 for thresholds below
the label's interval, -1 for those above, undefined inside; ``min_width`` the smallest ``upper - lower`` of all labels,
so that a round violates at most ``K - min_width - 1`` constraints; (w, t) a reference model.

The ``cusum`` and ``structured`` functions bound the sum over rounds of the loss of the predictions.

The theorems hold for plain passes with unit weights: perceptron or passive-aggressive steps from zero, or
multiplicative steps from uniform.
"""

import math
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.sparse.linalg import norm as sparse_norm

from rankwise._masks import unmasked
from rankwise._types import Floats
from rankwise.bounds.checks import integer, non_negative, positive
from rankwise.labels import Labels


def pril_mistakes(radius: float, margin: float, n_classes: int, min_width: int = 0) -> float:
    """Theorem 1: violations of PRIL on separable data, ``(R^2 + 1)(K - c - 1) / gamma^2``.

    Parameters
    ----------
    radius : float
        R, the largest Euclidean norm of a row, see :func:`data_radius`.
    margin : float
        gamma > 0, such that a reference with ``|w|^2 + |t|^2 = 1`` has all ``z_i (f - t_i) >= gamma``: the smallest of
        :func:`margins` with ``norm=2``.
    n_classes : int
        K.
    min_width : int, default=0
        c, the smallest width of a label, see :func:`smallest_width`.

    Examples
    --------
    >>> pril_mistakes(radius=1.0, margin=0.5, n_classes=5)
    32.0
    """
    non_negative(radius=radius)
    positive(margin=margin)
    most = _most_violations(n_classes, min_width)
    return (radius * radius + 1) * most / margin / margin  # not margin**2, which may underflow to 0


def pril_mistakes_noisy(radius: float, margin: float, n_classes: int, deviation: float, min_width: int = 0) -> float:
    """Theorem 2: violations of PRIL on any data, ``(D + sqrt(R^2 + 1))^2 (K - c - 1) / gamma^2``.

    Parameters
    ----------
    radius, n_classes, min_width
        As in :func:`pril_mistakes`.
    margin : float
        Any gamma > 0: the theorem holds for each, with its own deviation.
    deviation : float
        D, the shortfall of the data from that margin, see :func:`deviation`. Zero gives Theorem 1.

    Examples
    --------
    >>> pril_mistakes_noisy(radius=0.0, margin=0.5, n_classes=5, deviation=1.0)
    64.0
    """
    non_negative(radius=radius, deviation=deviation)
    positive(margin=margin)
    most = _most_violations(n_classes, min_width)
    reach = deviation + math.hypot(radius, 1.0)
    return reach * reach * most / margin / margin


def pril_regret(radius: float, norm: float, n_rounds: int, n_classes: int, min_width: int = 0) -> float:
    """Theorem 3, corrected: regret of PRIL, ``(L^2 + T ((K - c - 1)^2 R^2 + (K - c - 1))) / 2``.

    The regret is the sum over rounds of :func:`rankwise.losses.implicit_surrogate` at margin 0, minus that of the best
    fixed (w, t) whose norm is at most L. The printed bound loses a square: m violations move w by ``m x`` and m
    thresholds by one, so a round's squared gradient is ``m^2 |x|^2 + m``.

    Parameters
    ----------
    radius, n_classes, min_width
        As in :func:`pril_mistakes`.
    norm : float
        L, the largest Euclidean norm of a reference (w, t).
    n_rounds : int
        T.

    Examples
    --------
    >>> pril_regret(radius=1.0, norm=2.0, n_rounds=10, n_classes=3)
    32.0
    """
    non_negative(radius=radius, norm=norm)
    integer(0, n_rounds=n_rounds)
    most = _most_violations(n_classes, min_width)
    return (norm * norm + n_rounds * (most * radius * most * radius + most)) / 2


def multiplicative_pril_mistakes(margin: float, n_classes: int, n_coordinates: int, min_width: int = 0) -> float:
    """Theorem 4, corrected: violations of M-PRIL at its best rate, ``log(N) / g(gamma / (K - c - 1))``.

    ``g(u) = ((1+u) log(1+u) + (1-u) log(1-u)) / 2 >= u^2 / 2``, so the bound is at most
    ``2 (K - c - 1)^2 log(N) / gamma^2``: the printed last line misses the factor 2. It holds for rows with
    ``|x|_inf <= 1`` and the rate of :func:`multiplicative_pril_rate`.

    Parameters
    ----------
    margin : float
        gamma in (0, 1], such that a reference with ``|w|_1 + |t|_1 = 1`` has all ``z_i (f - t_i) >= gamma``: the
        smallest of :func:`margins` with ``norm=1``. For the one-sided form the reference must not be negative.
    n_classes, min_width
        As in :func:`pril_mistakes`.
    n_coordinates : int
        N, the number of coordinates that share the total weight 1: K + d - 1, twice that in the signed form.

    Examples
    --------
    >>> multiplicative_pril_mistakes(margin=1.0, n_classes=2, n_coordinates=8)  # log(8) / log(2)
    3.0
    """
    _unit_margin(margin)
    integer(1, n_coordinates=n_coordinates)
    most = _most_violations(n_classes, min_width)
    if most == 0:
        return 0.0
    gain = _gain(margin / most)
    return math.log(n_coordinates) / gain if gain > 0 else math.inf  # a tiny margin's gain underflows


def multiplicative_pril_rate(margin: float, n_classes: int, min_width: int = 0) -> float:
    """Rate eta that minimises M-PRIL's bound: ``artanh(gamma / (K - c - 1)) / (K - c - 1)``.

    Parameters
    ----------
    margin, n_classes, min_width
        As in :func:`multiplicative_pril_mistakes`, with ``margin < K - min_width - 1``: at equality the best rate is
        infinite.

    Examples
    --------
    >>> round(multiplicative_pril_rate(margin=0.1, n_classes=5), 6)
    0.006251
    """
    _unit_margin(margin)
    most = _most_violations(n_classes, min_width)
    if not margin < most:
        raise ValueError(
            f"margin must be below n_classes - min_width - 1 = {most}: no finite rate is best. Got {margin!r}."
        )
    return math.atanh(margin / most) / most


def structured_loss(size: float) -> float:
    """Theorems 1 and 2 of the CuSum paper: loss of a structured perceptron on loss-augmented separable data, ``R^2``.

    It bounds the sum of the losses over rounds, for perceptron steps without a margin (Theorem 1) and for
    passive-aggressive steps "pa" with ``margin="loss"`` and any ``delta`` (Theorem 2). As printed, Theorem 2 bounds the
    sum of the squared losses, which is false (three ranks, x = sqrt(2), y = 3, no intercept: R^2 = 2, squared loss 4):
    a step brings w nearer to the reference by ``loss^2 / |difference|^2 >= loss / R^2``.

    Parameters
    ----------
    size : float
        R, such that for some unit reference every difference of joint features has a squared norm of at most
        ``loss * R^2`` and a score of at least ``loss``.

    Examples
    --------
    >>> structured_loss(3.0)
    9.0
    """
    non_negative(size=size)
    return size * size


def cusum_loss(radius: float, margin: float) -> float:
    """Corollary 3 of the CuSum paper: sum of |y - yhat| on rank separable data, ``R^2 / delta^2``.

    Parameters
    ----------
    radius : float
        R, the largest Euclidean norm of a row, its constant attribute included.
    margin : float
        delta > 0, such that vectors of total Euclidean norm 1 answer "is the rank at least k?" with margin delta.

    Examples
    --------
    >>> cusum_loss(radius=2.0, margin=0.5)
    16.0
    """
    non_negative(radius=radius)
    positive(margin=margin)
    return radius / margin * radius / margin


def cusum_passive_aggressive_loss(radius: float, margin: float) -> float:
    """Corollary 4 of the CuSum paper, corrected: passive-aggressive steps have the bound of perceptron steps.

    It holds for the steps "pa" and any ``delta`` of the learner. ``R^2 / delta^2`` bounds the sum of |y - yhat| with
    ``margin="loss"`` and the number of mistakes with ``margin="constant"``. As printed, ``R^2 / delta^4`` for the sum
    of squares, the corollary is false: one row x = 3 has R = delta = 3 and one mistake, not 1/9.

    Parameters
    ----------
    radius, margin
        As in :func:`cusum_loss`.

    Examples
    --------
    >>> cusum_passive_aggressive_loss(radius=2.0, margin=0.5)
    16.0
    """
    return cusum_loss(radius, margin)


def margins(
    X: Any, labels: Labels, coef: ArrayLike, thresholds: ArrayLike, *, norm: Literal[1, 2] | None = None
) -> Floats:
    """All ``z_i (f - t_i)`` of a reference model, (n, K-1); NaN for thresholds inside a label.

    Their minimum (``numpy.nanmin``) is the gamma of the theorems.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    labels : Labels
        Encoded labels. A candidate set counts as the interval from its lowest to its highest class.
    coef : array-like of shape (d,)
        w of the reference.
    thresholds : array-like of shape (K-1,)
        t of the reference.
    norm : {1, 2} or None, default=None
        Divide by this norm of (w, t), which changes no prediction: 2 for PRIL, 1 for M-PRIL. None does not scale.

    Examples
    --------
    >>> from rankwise.labels import encode
    >>> margins(np.array([[0.5], [3.0]]), encode([1, (2, 3)]), coef=[1.0], thresholds=[1.0, 2.0])
    array([[0.5, 1.5],
           [2. , nan]])
    """
    w, t = np.asarray(coef, dtype=np.float64), np.asarray(thresholds, dtype=np.float64)
    X = X if issparse(X) else np.asarray(unmasked(X))
    if t.shape != (len(labels.order) - 1,):
        raise ValueError(f"thresholds must have shape {(len(labels.order) - 1,)}, K - 1. Got shape {t.shape}.")
    if X.ndim != 2 or w.shape != X.shape[1:] or X.shape[0] != len(labels):
        raise ValueError(
            f"X must have shape (n, d), labels n rows and coef shape (d,). "
            f"Got X of shape {X.shape}, {len(labels)} labels and coef of shape {w.shape}."
        )
    if norm not in (None, 1, 2):
        raise ValueError(f"norm must be 1, 2 or None. Got {norm!r} instead.")
    size = 1.0 if norm is None else float(np.linalg.norm(np.concatenate([w, t]), norm))
    if size == 0:
        raise ValueError("the reference model (coef, thresholds) must not be zero: it cannot be scaled to norm 1.")
    above = (np.asarray(X @ w)[:, None] - t) / size
    place = np.arange(t.size)
    wants_below = np.where(place >= labels.upper[:, None], -above, np.nan)
    return np.where(place < labels.lower[:, None], above, wants_below)


def deviation(X: Any, labels: Labels, coef: ArrayLike, thresholds: ArrayLike, margin: float) -> float:
    """D of Theorem 2: ``sqrt(sum_ti max(0, gamma - z_i (f - t_i))^2)``, the reference's shortfall from the margin.

    The reference is scaled to ``|w|^2 + |t|^2 = 1``, as the theorem asks.

    Parameters
    ----------
    X, labels, coef, thresholds
        As in :func:`margins`.
    margin : float
        gamma > 0.

    Examples
    --------
    >>> from rankwise.labels import encode
    >>> deviation(np.array([[2.0], [4.0]]), encode([2, 1]), coef=[1.0], thresholds=[0.0], margin=1.0)
    5.0
    """
    positive(margin=margin)
    lacking = np.maximum(0.0, margin - margins(X, labels, coef, thresholds, norm=2))
    return math.sqrt(float(np.nansum(lacking**2)))


def data_radius(X: Any) -> float:
    """R of the theorems: the largest Euclidean norm of a row.

    >>> data_radius(np.array([[3.0, 4.0], [1.0, 0.0]]))
    5.0
    """
    norms = sparse_norm(X, axis=1) if issparse(X) else np.linalg.norm(np.asarray(unmasked(X)), axis=1)
    return float(np.asarray(norms).max(initial=0.0))


def smallest_width(labels: Labels) -> int:
    """Return c of the theorems: the smallest ``upper - lower`` of a label, K - 1 if there is none.

    >>> from rankwise.labels import encode
    >>> smallest_width(encode([(1, 3), (2, 3)]))
    1
    """
    return int((labels.upper - labels.lower).min(initial=len(labels.order) - 1))


def _gain(u: float) -> float:
    """Return g of Theorem 4, as ``u artanh(u) + log(1 - u^2) / 2``, which does not cancel for small u."""
    return math.log(2.0) if u >= 1 else u * math.atanh(u) + math.log1p(-u * u) / 2


def _most_violations(n_classes: int, min_width: int) -> int:
    integer(2, n_classes=n_classes)
    integer(0, min_width=min_width)
    if min_width > n_classes - 1:
        raise ValueError(f"min_width must be at most n_classes - 1 = {n_classes - 1}. Got {min_width!r} instead.")
    return int(n_classes) - int(min_width) - 1


def _unit_margin(margin: Any) -> None:
    if not isinstance(margin, Real) or not 0 < float(margin) <= 1:
        raise ValueError(
            f"margin must lie in (0, 1], all that |x|_inf <= 1 and a reference of 1-norm 1 can give. Got {margin!r}."
        )
