"""Which class to predict from the probabilities of all classes.

``cumulative`` (n, K-1) holds ``P(y <= k)`` for all classes except the last, ``probabilities`` (n, K) those of the
classes. Predictions are codes 0..K-1. Each rule minimises the expected value of a loss:

======================  =============================================================================================
:func:`mode`            share of wrong answers
:func:`median`          absolute error in ranks; the q-quantile of :func:`quantiles` minimises the pinball loss
:func:`rounded_mean`    squared error in ranks
:func:`least_cost`      any cost ``C[true, answer]``
======================  =============================================================================================
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats

Codes = NDArray[np.intp]


def mode(probabilities: Floats) -> Codes:
    """Most probable class; the lowest of several.

    >>> mode(np.array([[0.2, 0.5, 0.3]]))
    array([1])
    """
    return np.asarray(np.argmax(probabilities, axis=1))


def quantiles(cumulative: Floats, q: float) -> Codes:
    """Lowest class k with ``P(y <= k) >= q``.

    >>> quantiles(np.array([[0.2, 0.7]]), 0.9)
    array([2])
    """
    return np.asarray((cumulative < q).sum(axis=1))


def median(cumulative: Floats) -> Codes:
    """Class with half of the probability on either side; the higher one of two, as with thresholds.

    >>> median(np.array([[0.2, 0.7], [0.2, 0.5]]))
    array([1, 2])
    """
    return np.asarray((cumulative <= 0.5).sum(axis=1))


def rounded_mean(probabilities: Floats) -> Codes:
    """Mean code, rounded; the higher one of two.

    >>> rounded_mean(np.array([[0.6, 0.0, 0.4]]))
    array([1])
    """
    return np.floor(probabilities @ np.arange(probabilities.shape[1]) + 0.5).astype(np.intp)


def expected_costs(probabilities: Floats, cost: Any) -> Floats:
    """Expected cost of every answer, (n, K), for costs ``C[true, answer]``."""
    return np.asarray(probabilities @ check_cost(cost, probabilities.shape[1]))


def least_cost(probabilities: Floats, cost: Any) -> Codes:
    """Answer of least expected cost; the lowest of several.

    >>> least_cost(np.array([[0.7, 0.3]]), [[0, 1], [10, 0]])
    array([1])
    """
    return np.asarray(np.argmin(expected_costs(probabilities, cost), axis=1))


def check_cost(cost: Any, n_classes: int) -> Floats:
    """Cost matrix (K, K) of finite numbers, none below zero.

    >>> check_cost([[0, 1]], 2)
    Traceback (most recent call last):
    ValueError: a cost matrix for 2 classes must have the shape (2, 2), true classes in rows. Got (1, 2) instead.
    """
    try:
        matrix = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("a cost matrix must hold numbers.") from None
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"a cost matrix for {n_classes} classes must have the shape ({n_classes}, {n_classes}), true classes in "
            f"rows. Got {matrix.shape} instead."
        )
    bad = ~(np.isfinite(matrix) & (matrix >= 0.0))
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        raise ValueError(
            f"a cost matrix must hold finite numbers >= 0. Got {matrix[row, column]:g} in row {row}, column {column}."
        )
    return matrix
