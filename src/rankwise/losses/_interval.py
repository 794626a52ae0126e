"""What a prediction costs when the label admits several classes: at least, and at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise.labels import Labels
from rankwise.losses._v_shaped import Loss, by_distance, loss_matrix

_Distance = Callable[[Labels, NDArray[np.integer[Any]]], NDArray[np.integer[Any]]]


def interval_insensitive(labels: Labels, codes: NDArray[np.integer[Any]], loss: Loss = "mae") -> NDArray[np.float64]:
    """Loss of each row's prediction against the admissible class that it fits best.

    ``l_I = min{ l(y, p) : y admissible }``, over the interval or over the candidate set. Exact labels give the plain
    loss and missing ones 0. The thesis's closed form, the loss against the nearer end of the interval (eq. 3.30),
    equals it for the named losses; a matrix may make another admissible class cheaper, so there the minimum is taken.

    Parameters
    ----------
    labels : Labels
        Encoded labels.
    codes : int array of shape (n,)
        Predicted codes 0..K-1.
    loss : {"mae", "zero_one", "squared"} or array-like of shape (K, K), default="mae"
        Target loss, see :func:`rankwise.losses.loss_matrix`.

    Examples
    --------
    >>> from rankwise.labels import encode
    >>> labels = encode([(1, 2), {1, 4}, 3, None], classes=[1, 2, 3, 4])
    >>> interval_insensitive(labels, np.array([3, 2, 0, 0]))
    array([2., 1., 2., 0.])
    """
    return _extreme(labels, codes, loss, Labels.distance, np.minimum, np.inf)


def interval_pessimistic(labels: Labels, codes: NDArray[np.integer[Any]], loss: Loss = "mae") -> NDArray[np.float64]:
    """Loss of each row's prediction against the admissible class that it fits worst: ``max{ l(y, p) : y admissible }``.

    The loss against the true class, whichever of the admissible ones it is, lies between
    :func:`interval_insensitive` and this. Exact labels give the plain loss in both.

    Parameters
    ----------
    labels, codes, loss
        As in :func:`interval_insensitive`.

    Examples
    --------
    >>> from rankwise.labels import encode
    >>> labels = encode([(1, 2), {1, 4}, 3, None], classes=[1, 2, 3, 4])
    >>> interval_pessimistic(labels, np.array([3, 2, 0, 0]))
    array([3., 2., 2., 3.])
    """
    return _extreme(labels, codes, loss, _reach, np.maximum, 0.0)


def _extreme(
    labels: Labels, codes: NDArray[np.integer[Any]], loss: Loss, distance: _Distance, better: np.ufunc, worst: float
) -> NDArray[np.float64]:
    """Loss against the admissible class of the least or largest loss; ``distance`` is that of this class in ranks."""
    n_classes = len(labels.order)
    codes = _check_codes(codes, len(labels), n_classes)
    if isinstance(loss, str):  # the named losses grow with the distance
        return by_distance(loss)(distance(labels, codes)).astype(np.float64)
    matrix = loss_matrix(loss, n_classes)
    found = np.full(codes.size, worst)
    for y in range(n_classes):  # by class: memory stays at O(n)
        admits = (labels.lower <= y) & (y <= labels.upper) if labels.mask is None else labels.mask[:, y]
        better(found, matrix[y, codes], out=found, where=admits)
    return found


def _reach(labels: Labels, codes: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """Ranks between each predicted code and the farthest admissible one, which is one of the ends."""
    return np.asarray(np.maximum(codes - labels.lower, labels.upper - codes))


def _check_codes(codes: NDArray[np.integer[Any]], n: int, n_classes: int) -> NDArray[np.integer[Any]]:
    codes = np.asarray(codes)
    if codes.dtype.kind not in "iu" or codes.shape != (n,):
        raise ValueError(
            f"codes must be integers of shape {(n,)}, one a label. Got {codes.dtype} of shape {codes.shape}."
        )
    outside = (codes < 0) | (codes >= n_classes)
    if outside.any():
        row = int(np.argmax(outside))
        raise RowError(f"a predicted code must lie in 0..{n_classes - 1}. Got {codes[row]} instead.", row)
    return codes
