"""Target losses ``loss[y, p]`` of true and predicted codes, and their extremes where a label admits several classes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._errors import RowError, refuse_many_classes
from rankwise._types import Floats
from rankwise.labels import Labels

#: A target loss: "mae", "zero_one", "squared", or a K x K matrix.
Loss = str | ArrayLike

#: Cost of a mistake as a function of its distance in ranks.
BY_DISTANCE: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "mae": np.abs,
    "zero_one": lambda distance: distance != 0,
    "squared": np.square,
}

_MOST_CLASSES = 4_000
_CHOICES = ", ".join(repr(name) for name in BY_DISTANCE) + " or a K x K matrix"


def loss_matrix(loss: Loss, n_classes: int, *, v_shaped: bool = True) -> Floats:
    """Matrix of a target loss: row = true class, column = predicted class, both as codes 0..K-1.

    Parameters
    ----------
    loss : {"mae", "zero_one", "squared"} or array-like of shape (K, K)
        Distance in ranks, 0/1 loss, squared distance, or a custom matrix.
    n_classes : int
        K.
    v_shaped : bool, default True
        Reject a matrix that is not V-shaped (see :func:`check_v_shaped`). False accepts any costs >= 0 that are 0 for
        the right answer.

    Examples
    --------
    >>> loss_matrix("mae", 3)
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    if n_classes < 1:
        raise ValueError(f"n_classes must be at least 1. Got {n_classes!r} instead.")
    if isinstance(loss, str):
        refuse_many_classes("a loss matrix", n_classes, _MOST_CLASSES)
        codes = np.arange(n_classes)
        return by_distance(loss)(codes[:, None] - codes).astype(np.float64)
    try:
        matrix = np.array(loss, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"loss must be {_CHOICES}. Got {loss!r} instead.") from None
    check_shape(matrix, n_classes)
    if v_shaped:
        check_v_shaped(matrix)
    else:
        _check_costs(matrix, "a loss")
        refuse_entries("a loss must not be negative", matrix, matrix < 0)
    return matrix


def largest_loss(loss: Loss, n_classes: int) -> float:
    """Largest entry of a loss matrix.

    >>> largest_loss("squared", 3)
    4.0
    """
    if isinstance(loss, str):
        return float(by_distance(loss)(np.array(n_classes - 1)))
    return float(loss_matrix(loss, n_classes).max())


def by_distance(name: str) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Cost as a function of the distance in ranks, for a named loss."""
    if name not in BY_DISTANCE:
        raise ValueError(f"loss must be {_CHOICES}. Got {name!r} instead.")
    return BY_DISTANCE[name]


def check_v_shaped(matrix: Floats) -> None:
    """Raise unless a square matrix ``loss[y, p]`` is a V-shaped loss; the message names the entry.

    V-shaped: a right answer costs nothing, ``loss[y, y] = 0``, and on either side of y the cost never falls as p moves
    away from it. (Definition 3 of the thesis misprints the distance as ``|p' - p|``. Read literally, it also makes the
    two sides equal, which is not needed here: too low a prediction may cost more than too high a one.)

    Examples
    --------
    >>> check_v_shaped(np.array([[0.0, 1.0], [5.0, 0.0]]))
    >>> check_v_shaped(np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]))
    Traceback (most recent call last):
    ValueError: a V-shaped loss must not fall as the prediction moves away from the truth: loss[0, 2] = 1.0 is below \
loss[0, 1] = 2.0.
    """
    _check_costs(matrix, "a V-shaped loss")
    codes = np.arange(matrix.shape[0])
    right_of_truth = codes[:-1] >= codes[:, None]
    steps = np.diff(matrix, axis=1)
    falls = np.where(right_of_truth, steps < 0, steps > 0)
    if falls.any():
        y, left = np.argwhere(falls)[0].tolist()
        near, far = (left, left + 1) if left >= y else (left + 1, left)
        raise ValueError(
            f"a V-shaped loss must not fall as the prediction moves away from the truth: "
            f"loss[{y}, {far}] = {matrix[y, far]} is below loss[{y}, {near}] = {matrix[y, near]}."
        )


def _check_costs(matrix: Floats, what: str) -> None:
    refuse_entries("a loss must be finite", matrix, ~np.isfinite(matrix))
    refuse_entries(f"{what} must be 0 for the right answer", matrix, np.diag(np.diagonal(matrix) != 0))


def check_shape(matrix: Floats, n_classes: int) -> None:
    """Raise unless a loss matrix has one row and one column per class."""
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"a loss matrix must have one row and one column per class, shape {(n_classes, n_classes)}. "
            f"Got shape {matrix.shape} instead."
        )


def refuse_entries(rule: str, matrix: Floats, wrong: NDArray[np.bool_]) -> None:
    """Raise if entries of a loss matrix break a rule; the message names the first one."""
    if wrong.any():
        y, p = np.argwhere(wrong)[0].tolist()
        raise ValueError(f"{rule}. Got loss[{y}, {p}] = {matrix[y, p]}.")


_Distance = Callable[[Labels, NDArray[np.integer[Any]]], NDArray[np.integer[Any]]]


def interval_insensitive(labels: Labels, codes: NDArray[np.integer[Any]], loss: Loss = "mae") -> Floats:
    """Loss of each row's prediction against the admissible class that it fits best.

    ``l_I = min{ l(y, p) : y admissible }``, over the interval or over the candidate set. Exact labels give the plain
    loss and missing ones 0. For the named losses it equals the thesis's closed form, the loss against the nearer end of
    the interval (eq. 3.30); with a matrix another admissible class may be cheaper, so the minimum is taken.

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


def interval_pessimistic(labels: Labels, codes: NDArray[np.integer[Any]], loss: Loss = "mae") -> Floats:
    """Loss of each row's prediction against the admissible class that it fits worst: ``max{ l(y, p) : y admissible }``.

    The loss against the true class lies between :func:`interval_insensitive` and this, whichever admissible class is
    the true one. Exact labels give the plain loss in both.

    Parameters
    ----------
    labels, codes, loss
        As in :func:`interval_insensitive`.

    Examples
    --------
    >>> from rankwise.labels import encode
    >>> interval_pessimistic(encode([(1, 2), {1, 4}, 3, None], classes=[1, 2, 3, 4]), np.array([3, 2, 0, 0]))
    array([3., 2., 2., 3.])
    """
    return _extreme(labels, codes, loss, Labels.largest_distance, np.maximum, 0.0)


def _extreme(
    labels: Labels, codes: NDArray[np.integer[Any]], loss: Loss, distance: _Distance, better: np.ufunc, worst: float
) -> Floats:
    """Loss against the admissible class with the least or largest loss; ``distance`` is that to this class in ranks."""
    n_classes = len(labels.order)
    codes = _check_codes(codes, len(labels), n_classes)
    if isinstance(loss, str):  # the named losses grow with the distance
        return by_distance(loss)(distance(labels, codes)).astype(np.float64)
    matrix = loss_matrix(loss, n_classes)
    losses = np.full(codes.size, worst)
    for y in range(n_classes):  # by class: memory stays at O(n)
        admits = (labels.lower <= y) & (y <= labels.upper) if labels.mask is None else labels.mask[:, y]
        better(losses, matrix[y, codes], out=losses, where=admits)
    return losses


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
