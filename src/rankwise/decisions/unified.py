"""Ordinal classifiers as multi-class ones: thresholds, intercepts and the piece-wise family between the two.

Source: Antoniuk's thesis on partial annotations, section 3.1. Classes are codes 0..K-1 here. The thesis counts from 1,
which adds the same number to the score of every class and changes no decision.

- **ORD**, one score f and ascending thresholds: ``#{k : f > t_k}``. **A tie** ``f = t_k`` **goes to the lower class.**
  The perceptrons' rule :func:`rankwise.decisions.ranks` gives ties to the higher class; otherwise the two are the same.
- **MORD**, one score f and an intercept for every class: ``argmax_y f y + b_y``, the smallest y of several. It predicts
  like ORD (Theorem 1), its intercepts are free, and adding a number to all of them changes nothing.
- **The unified model**, Z scores ``<w_z, x>`` and fixed numbers beta: ``argmax_y sum_z beta[y, z] <w_z, x> + b_y``,
  the smallest y of several. Cut labels choose beta: two of them give MORD, one at every class a multi-class classifier.

A class is **degenerate** if MORD never predicts it: if the point (y, b_y) is not a corner of the upper concave hull of
all these points, or equivalently if both its thresholds are the same.

Errors in the thesis, corrected here: (3.4) leaves out ``t = 1``; (3.7) runs to p - 1; the Z cut labels of section 3.1.2
make Z - 1 segments and must ascend strictly; in the second line of (3.15) y lies in segment z - 1.
"""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._masks import unmasked
from rankwise._types import Floats


def intercepts_from_thresholds(thresholds: ArrayLike) -> Floats:
    """MORD's intercepts with the same predictions: ``b_0 = 0``, ``b_y = -(t_0 + ... + t_{y-1})`` (eq. 3.5).

    Parameters
    ----------
    thresholds : array-like of shape (K-1,)
        Finite numbers that do not descend.

    Examples
    --------
    >>> intercepts_from_thresholds([-1.0, 0.0, 2.5])
    array([ 0. ,  1. ,  1. , -1.5])
    """
    t = _finite_vector(thresholds, "thresholds")
    falls = np.flatnonzero(t[1:] < t[:-1])
    if falls.size:
        at = int(falls[0])
        raise ValueError(f"thresholds must not descend. Got {t[at + 1]} after {t[at]} at place {at + 1}.")
    with np.errstate(over="ignore"):
        b = np.concatenate([[0.0], 0.0 - np.cumsum(t)])  # 0 - x, not -x: no negative zeros
    return _finite_vector(b, "intercepts, sums of the thresholds,")


def thresholds_from_intercepts(intercepts: ArrayLike) -> Floats:
    """Thresholds with MORD's predictions for these intercepts: ``t_y = b_y - b_{y+1}``, degenerate classes skipped.

    Between neighbouring classes i < j that are not degenerate all thresholds are ``(b_i - b_j) / (j - i)`` (eq. 3.7):
    minus the slopes of the upper concave hull of the points (y, b_y), found in O(K). They never descend, not even by
    rounding.

    Parameters
    ----------
    intercepts : array-like of shape (K,)
        Finite numbers, K >= 1.

    Examples
    --------
    >>> thresholds_from_intercepts([0.0, 1.0, 1.0, -1.5])
    array([-1. ,  0. ,  2.5])
    >>> thresholds_from_intercepts([0.0, -9.0, 1.0])  # class 1 is degenerate: its thresholds are equal
    array([-0.5, -0.5])
    """
    b = _finite_vector(intercepts, "intercepts", least=1)
    corners, falls = _upper_hull(b)
    return np.repeat(falls, np.diff(corners))


def degenerate_classes(intercepts: ArrayLike) -> NDArray[np.bool_]:
    """Which classes MORD never predicts, whatever the score, (K,); never the lowest and the highest (Definition 1).

    Parameters
    ----------
    intercepts
        As in :func:`thresholds_from_intercepts`.

    Examples
    --------
    >>> degenerate_classes([0.0, -9.0, 1.0])
    array([False,  True, False])
    """
    b = _finite_vector(intercepts, "intercepts", least=1)
    degenerate = np.ones(b.size, dtype=bool)
    degenerate[_upper_hull(b)[0]] = False
    return degenerate


def ord_ranks(scores: ArrayLike, thresholds: ArrayLike) -> NDArray[np.intp]:
    """Code 0..K-1 of every score by the thesis' rule ``#{k : f > t_k}``: a tie goes to the lower class.

    Parameters
    ----------
    scores : array-like of shape (n,)
        f of every row.
    thresholds : array-like of shape (K-1,)
        Numbers that do not descend.

    Examples
    --------
    >>> ord_ranks([-1.0, 0.0, 0.5, 9.0], [0.0, 1.0])
    array([0, 0, 1, 2])
    """
    return np.searchsorted(np.asarray(thresholds, dtype=np.float64), np.asarray(scores, dtype=np.float64), side="left")


def mord_ranks(scores: ArrayLike, intercepts: ArrayLike) -> NDArray[np.intp]:
    """Code 0..K-1 of every score by MORD, ``argmax_y f y + b_y``, the smallest of several.

    Uses bisection among the thresholds of the concave hull: O(log K) per row, without products that could overflow. If
    f equals a threshold except for rounding, the products themselves may round to the other side.

    Parameters
    ----------
    scores : array-like of shape (n,)
        f of every row.
    intercepts : array-like of shape (K,)
        Finite numbers, K >= 1.

    Examples
    --------
    >>> mord_ranks([-2.0, -1.0, 0.0, 9.0], [0.0, 1.0, 1.0, -1.5])
    array([0, 0, 1, 3])
    """
    return ord_ranks(scores, thresholds_from_intercepts(intercepts))


def rounded_intercepts(n_classes: int, intercept: float = 0.0) -> Floats:
    """MORD's intercepts of rounded regression: ``b_y = intercept * y - y^2 / 2`` (eq. 3.13, halved).

    With them MORD predicts the code nearest to ``f + intercept``, clipped to the scale; halves go down.

    Parameters
    ----------
    n_classes : int
        K >= 1.
    intercept : float, default=0.0
        Added to the score before it is rounded.

    Examples
    --------
    >>> mord_ranks([-7.0, 0.5, 1.4, 1.6, 7.0], rounded_intercepts(4))
    array([0, 0, 1, 2, 3])
    """
    codes = np.arange(_at_least_one(n_classes), dtype=np.float64)
    return intercept * codes - codes * codes / 2


def beta_matrix(cuts: Any, n_classes: int) -> Floats:
    """Numbers beta[y, z] of the unified model for given cut labels (eq. 3.15), shape (K, Z); rows add up to 1.

    The class at a cut has its own score; the classes between two cuts interpolate linearly between the scores of both.
    Two cuts: MORD with ``w = (w_1 - w_0) / (K - 1)``. A cut at every class: the identity, a multi-class classifier.

    Parameters
    ----------
    cuts : sequence of int, or int
        Codes of the cut labels, strictly ascending, from 0 to K-1. A number Z >= 2 places Z cuts as evenly as possible.
    n_classes : int
        K >= 2.

    Examples
    --------
    >>> beta_matrix([0, 2, 3], n_classes=4)
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [0. , 1. , 0. ],
           [0. , 0. , 1. ]])
    """
    at = _cut_codes(cuts, n_classes)
    codes = np.arange(n_classes)
    segment = np.minimum(np.searchsorted(at, codes, side="right") - 1, at.size - 2)  # starts at this cut
    above = (codes - at[segment]) / (at[segment + 1] - at[segment])
    beta = np.zeros((n_classes, at.size))
    beta[codes, segment] = 1.0 - above
    beta[codes, segment + 1] = above
    return beta


def unified_scores(X: Any, coef: ArrayLike, intercepts: ArrayLike, beta: ArrayLike) -> Floats:
    """Score of every class in the unified model, ``sum_z beta[y, z] <w_z, x> + b_y`` (eq. 3.12), shape (n, K).

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    coef : array-like of shape (Z, d)
        w_z.
    intercepts : array-like of shape (K,)
        b_y.
    beta : array-like of shape (K, Z)
        See :func:`beta_matrix`; ``numpy.arange(K)[:, None]`` gives MORD with one vector.

    Examples
    --------
    >>> unified_scores(np.array([[2.0]]), [[0.0], [1.0]], [0.0, 0.5, 0.0], beta_matrix(2, n_classes=3))
    array([[0. , 1.5, 2. ]])
    """
    w, b, mix = (np.asarray(array, dtype=np.float64) for array in (coef, intercepts, beta))
    X = unmasked(X) if hasattr(X, "shape") else np.asarray(unmasked(X))
    if X.ndim != 2 or w.ndim != 2 or w.shape[1] != X.shape[1] or b.ndim != 1 or mix.shape != (b.size, w.shape[0]):
        raise ValueError(
            f"X must have shape (n, d), coef (Z, d), intercepts (K,) and beta (K, Z). "
            f"Got {X.shape}, {w.shape}, {b.shape} and {mix.shape}."
        )
    return np.asarray(np.asarray(X @ w.T) @ mix.T + b)


def unified_ranks(X: Any, coef: ArrayLike, intercepts: ArrayLike, beta: ArrayLike) -> NDArray[np.intp]:
    """Code 0..K-1 of every row in the unified model: the class of the highest score, the smallest of several.

    The parameters are those of :func:`unified_scores`.

    Examples
    --------
    >>> unified_ranks(np.array([[-1.0], [0.0], [3.0]]), [[0.0], [1.0]], [0.0, 0.5, 0.0], beta_matrix(2, n_classes=3))
    array([0, 1, 2])
    """
    return np.asarray(unified_scores(X, coef, intercepts, beta).argmax(axis=1))


def _upper_hull(b: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Corners of the upper concave hull of (y, b_y), ascending, and how fast it falls from each to the next.

    Corners with equal falls on both sides are dropped. Comparing rounded falls makes them ascend strictly.
    """
    height = b.tolist()
    corners: list[int] = [0]
    falls: list[float] = []

    def fall_to(y: int) -> float:
        return float((height[corners[-1]] - height[y]) / (y - corners[-1]))

    for y in range(1, b.size):
        while falls and fall_to(y) <= falls[-1]:
            corners.pop()
            falls.pop()
        falls.append(fall_to(y))
        corners.append(y)
    return np.array(corners, dtype=np.intp), np.array(falls)


def _cut_codes(cuts: Any, n_classes: int) -> NDArray[np.intp]:
    k = _at_least_one(n_classes)
    if not isinstance(cuts, bool) and isinstance(cuts, Integral):
        if not 2 <= int(cuts) <= k:
            raise ValueError(f"cuts must be at least 2 and at most n_classes = {k}. Got {cuts!r} instead.")
        return np.rint(np.linspace(0, k - 1, int(cuts))).astype(np.intp)
    at = np.asarray(cuts)
    if at.ndim != 1 or at.size < 2 or at.dtype.kind not in "iu":
        raise ValueError(f"cuts must be a number or at least two codes. Got {cuts!r} instead.")
    if at[0] != 0 or at[-1] != k - 1 or (np.diff(at.astype(np.int64)) <= 0).any():
        raise ValueError(f"cuts must ascend strictly from 0 to n_classes - 1 = {k - 1}. Got {cuts!r} instead.")
    return at.astype(np.intp)


def _at_least_one(n_classes: Any) -> int:
    if isinstance(n_classes, bool) or not isinstance(n_classes, Integral) or int(n_classes) < 1:
        raise ValueError(f"n_classes must be an integer >= 1. Got {n_classes!r} instead.")
    return int(n_classes)


def _finite_vector(values: ArrayLike, name: str, least: int = 0) -> Floats:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or vector.size < least:
        raise ValueError(f"{name} must be a vector of at least {least} numbers. Got shape {vector.shape}.")
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        raise ValueError(f"{name} must be finite. Got {vector[bad[0]]} at place {bad[0]}.")
    return vector
