"""Target losses as K x K matrices, ``loss[y, p]`` for the true code y and the predicted code p."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: A target loss: "mae", "zero_one", "squared", or a K x K matrix.
Loss = str | ArrayLike

#: Cost of a mistake as a function of its distance in ranks.
BY_DISTANCE: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "mae": np.abs,
    "zero_one": lambda distance: distance != 0,
    "squared": np.square,
}


def loss_matrix(loss: Loss, n_classes: int, *, v_shaped: bool = True) -> Floats:
    """Matrix of a target loss: row = true class, column = predicted class, both as codes 0..K-1.

    Parameters
    ----------
    loss : {"mae", "zero_one", "squared"} or array-like of shape (K, K)
        Distance in ranks, whether it is wrong, squared distance, or a matrix of one's own.
    n_classes : int
        K.
    v_shaped : bool, default True
        Refuse a matrix that is not V-shaped (see :func:`check_v_shaped`). False takes any costs >= 0 that are 0 for the
        right answer.

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
        codes = np.arange(n_classes)
        return by_distance(loss)(codes[:, None] - codes).astype(np.float64)
    try:
        matrix = np.array(loss, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"loss must be {_CHOICES}. Got {loss!r} instead.") from None
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"a loss matrix must have one row and one column per class, shape {(n_classes, n_classes)}. "
            f"Got shape {matrix.shape} instead."
        )
    if v_shaped:
        check_v_shaped(matrix)
    else:
        _check_costs(matrix, "a loss")
        _refuse("a loss must not be negative", matrix, matrix < 0)
    return matrix


def by_distance(name: str) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Cost as a function of the distance in ranks, for a loss that has a name."""
    if name not in BY_DISTANCE:
        raise ValueError(f"loss must be {_CHOICES}. Got {name!r} instead.")
    return BY_DISTANCE[name]


def check_v_shaped(matrix: Floats) -> None:
    """Raise unless a square matrix ``loss[y, p]`` is a V-shaped loss; the message names the entry.

    V-shaped: a right answer costs nothing, ``loss[y, y] = 0``, and on either side of y the cost never falls as p moves
    away from it. (Definition 3 of the thesis misprints the distance as ``|p' - p|``. Its literal reading also makes
    the two sides equal, which nothing here needs: an answer that is too low may cost more than one too high.)

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
    _refuse("a loss must be finite", matrix, ~np.isfinite(matrix))
    _refuse(f"{what} must be 0 for the right answer", matrix, np.diag(np.diagonal(matrix) != 0))


def _refuse(rule: str, matrix: Floats, wrong: NDArray[np.bool_]) -> None:
    if wrong.any():
        y, p = np.argwhere(wrong)[0].tolist()
        raise ValueError(f"{rule}. Got loss[{y}, {p}] = {matrix[y, p]}.")


_CHOICES = ", ".join(repr(name) for name in BY_DISTANCE) + " or a K x K matrix"
