"""Thresholds on a score axis: label k lies between thresholds k-1 and k.

``h(f) = min{ i : f < t_i }`` with an infinite last threshold, so a tie ``f = t_k`` goes to the higher label. In codes
0..K-1 that is the number of thresholds at or below the score, for thresholds in ascending order.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.compile import register_jitable
from rankwise._types import Floats


def ranks(scores: Floats, thresholds: Floats) -> NDArray[np.intp]:
    """Code 0..K-1 of every score, for ascending thresholds of shape (K-1,).

    >>> ranks(np.array([-1.0, 0.0, 0.5, 9.0]), np.array([0.0, 1.0]))
    array([0, 1, 1, 2])
    """
    return np.searchsorted(thresholds, scores, side="right")


def interval_scores(scores: Floats, thresholds: Floats) -> Floats:
    """Signed distance of each score to the interval of each class, (n, K): positive inside, negative outside.

    Its argmax is the predicted class: on a tie ``f = t_k`` the class below gets the largest negative number instead of
    zero. For two classes it is ``f - t_0`` of shape (n,), whose sign decides; a tie gets the smallest positive number.
    The sign of a floating-point difference is exact, so this always agrees with :func:`ranks`.

    >>> interval_scores(np.array([0.25]), np.array([0.0, 1.0]))
    array([[-0.25,  0.25, -0.75]])
    """
    above = scores[:, None] - thresholds
    smallest = np.nextafter(0.0, 1.0)
    if thresholds.size == 1:
        return np.where(above[:, 0] == 0.0, smallest, above[:, 0])
    unbounded = np.full((scores.size, 1), np.inf)
    below = np.where(above == 0.0, -smallest, -above)
    result = np.minimum(np.hstack([unbounded, above]), np.hstack([below, unbounded]))
    return np.where(np.isinf(result), 0.0, result) if thresholds.size == 0 else result


@register_jitable
def rank(score: float, thresholds: Any) -> int:
    """Code of one score, for ascending thresholds."""
    low, high = 0, thresholds.size
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] <= score:
            low = middle + 1
        else:
            high = middle
    return low


@register_jitable
def rank_lagged(score: float, thresholds: Any, lag: Any, rate: float) -> int:
    """Code of one score for the averaged thresholds ``thresholds - rate * lag``.

    Averages of ordered numbers are ordered except for rounding. The first threshold above the score gives the same as
    :func:`ranks` after the running maximum that the estimators take.
    """
    for k in range(thresholds.size):
        if score < thresholds[k] - lag[k] * rate:
            return k
    return int(thresholds.size)
