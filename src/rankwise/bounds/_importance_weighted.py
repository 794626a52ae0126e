"""Cost of the mistakes of importance-weighted perceptrons: the sum of the weights of the rounds with a mistake."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from rankwise._masks import unmasked
from rankwise.bounds.checks import non_negative, positive
from rankwise.labels import Labels, check_weights


def importance_weighted_cost(
    radius: float, norm: float, loss: float, max_weight: float = 1.0, *, multiclass: bool = True
) -> float:
    """Theorem 3 of the importance-weighted paper: cost of the mistakes on any data, ``L + c C + sqrt(c L C)``.

    The cost is the sum of the weights of the rounds with a mistake, ``cost_`` of
    :class:`rankwise.ImportanceWeightedPerceptron` after one unshuffled pass from zero, without intercepts.

    Parameters
    ----------
    radius : float
        R, the largest Euclidean norm of a row, see :func:`data_radius`.
    norm : float
        |u|, the Euclidean norm of any reference: of the vectors of all classes together.
    loss : float
        L, the weighted hinge loss of that reference, see :func:`importance_weighted_hinge`.
    max_weight : float, default=1.0
        c, the largest weight of a row.
    multiclass : bool, default=True
        The reference has a vector for every class. An update then moves two vectors by ``c x``, so that
        ``C = 2 R^2 |u|^2``, which the paper leaves to the reader. False: two classes and one vector,
        ``C = R^2 |u|^2``, as printed.

    Examples
    --------
    >>> importance_weighted_cost(radius=1.0, norm=2.0, loss=8.0)
    24.0
    """
    non_negative(radius=radius, norm=norm, loss=loss, max_weight=max_weight)
    reach = max_weight * (radius * norm) ** 2 * (2 if multiclass else 1)
    return loss + reach + math.sqrt(loss * reach)


def importance_weighted_cost_at_margin(
    radius: float, norm: float, loss: float, margin: float = 1.0, max_weight: float = 1.0, *,
    start_norm: float = 0.0, start_product: float = 0.0, multiclass: bool = True,
) -> float:  # fmt: skip
    """Theorem 4 of the importance-weighted paper, corrected: cost for any margin and any first weights w_1.

    ``A / gamma + (c C + sqrt(4 gamma c C A + c^2 C^2 + 4 gamma^2 |u|^2 |w_1|^2)) / (2 gamma^2)``, with
    ``A = L - <u, w_1>``; for margin 1 and w_1 = 0 it is below :func:`importance_weighted_cost`. As printed, the terms
    with w_1 have an extra factor c or c^2: scaling all weights to at most 1 scales w_1 as well.

    Parameters
    ----------
    radius, norm, max_weight, multiclass
        As in :func:`importance_weighted_cost`.
    loss : float
        L, the weighted hinge loss of the reference at this margin, see :func:`importance_weighted_hinge`.
    margin : float, default=1.0
        gamma > 0.
    start_norm, start_product : float, default=0.0
        |w_1| and <u, w_1> for the first weights, of all classes together.

    Examples
    --------
    >>> importance_weighted_cost_at_margin(radius=1.0, norm=2.0, loss=3.0, multiclass=False)
    9.0
    """
    non_negative(radius=radius, norm=norm, loss=loss, max_weight=max_weight, start_norm=start_norm)
    positive(margin=margin)
    most = norm * start_norm
    if not abs(start_product) <= most * (1 + 1e-9):
        raise ValueError(f"start_product must lie within norm * start_norm = {most:g} of 0. Got {start_product!r}.")
    reach = max_weight * (radius * norm) ** 2 * (2 if multiclass else 1)
    lacking = loss - start_product
    square = 4 * margin * reach * lacking + reach * reach + (2 * margin * most) ** 2  # negative by rounding alone
    return max(0.0, lacking / margin + (reach + math.sqrt(max(square, 0.0))) / (2 * margin) / margin)


def importance_weighted_hinge(
    X: Any, labels: Labels, coef: ArrayLike, sample_weight: Any = None, *, margin: float = 1.0
) -> float:
    """L of :func:`importance_weighted_cost`: ``sum c max(0, margin - <u_y, x> + max_{r != y} <u_r, x>)``.

    If a label admits several classes, each of them must win against all others by the margin: y is the admissible class
    with the worst score. A label that admits every class has no loss.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    labels : Labels
        Encoded labels.
    coef : array-like of shape (K, d)
        u of the reference: a vector for every class.
    sample_weight : array-like of shape (n,), optional
        c of every row.
    margin : float, default=1.0
        gamma of :func:`importance_weighted_cost_at_margin`.

    Examples
    --------
    >>> from rankwise.labels import encode
    >>> importance_weighted_hinge(np.array([[1.0], [-1.0]]), encode(["a", "a"], ["a", "b"]), [[2.0], [0.0]], [1.0, 5.0])
    15.0
    """
    u = np.asarray(coef, dtype=np.float64)
    X = X if issparse(X) else np.asarray(unmasked(X))
    wanted = (len(labels.order), *X.shape[1:])
    if X.ndim != 2 or u.shape != wanted or X.shape[0] != len(labels):
        raise ValueError(
            f"X must have shape (n, d), labels n rows and coef shape (K, d), K = {len(labels.order)}. "
            f"Got X of shape {X.shape}, {len(labels)} labels and coef of shape {u.shape}."
        )
    positive(margin=margin)
    weight = check_weights(sample_weight, len(labels))
    scores, admissible = np.asarray(X @ u.T), labels.admissible()
    worst = np.where(admissible, scores, np.inf).min(axis=1)
    best_rival = np.where(admissible, -np.inf, scores).max(axis=1)
    lacking = np.maximum(0.0, margin - worst + best_rival)
    return float(lacking @ weight if weight.size else lacking.sum())
