"""Convex surrogates of the interval-insensitive losses for threshold models, one value per row.

For a label ``[lower, upper]`` (codes, both included) the score should be above the thresholds ``0 .. lower-1`` and
below the thresholds ``upper .. K-2``; those in between do not matter. With z = +1 and -1 for the two groups, threshold
i costs the shortfall of ``z_i (f - t_i)`` from the margin.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._errors import RowError
from rankwise._types import Floats


def implicit_surrogate(
    scores: ArrayLike, thresholds: ArrayLike, lower: ArrayLike, upper: ArrayLike, margin: float = 0.0
) -> Floats:
    """Sum over all thresholds with a z: ``sum_i max(0, margin - z_i (f - t_i))``, a surrogate of the MAE.

    ``margin=0`` is the loss whose gradient steps are PRIL's (eq. 2 of its paper); ``margin=1`` is that of SVOR-IMC,
    an upper bound on the interval-insensitive MAE.

    Parameters
    ----------
    scores : array-like of shape (n,)
        f, the score of each row.
    thresholds : array-like of shape (K-1,) or (n, K-1)
        The thresholds, or each row's own (those of every round of an online learner).
    lower, upper : int or int array-like of shape (n,)
        Lowest and highest admissible code.
    margin : float, default=0.0
        How far beyond a threshold the score must be to cost nothing.

    Examples
    --------
    >>> implicit_surrogate([0.5, 0.5], [0.0, 1.0, 2.0], lower=[1, 3], upper=[2, 3])
    array([0., 2.])
    >>> implicit_surrogate([0.5, 0.5], [0.0, 1.0, 2.0], lower=[1, 3], upper=[2, 3], margin=1.0)
    array([0.5, 4.5])
    """
    f, t, low, high = _read(scores, thresholds, lower, upper, margin)
    place = np.arange(t.shape[1])
    above = f[:, None] - t
    # Not multiplied by z: 0 * inf would be NaN for an infinite threshold without a z.
    too_low = np.where(place < low[:, None], margin - above, 0.0)
    too_high = np.where(place >= high[:, None], margin + above, 0.0)
    return np.asarray((np.maximum(0.0, too_low) + np.maximum(0.0, too_high)).sum(axis=1))


def explicit_surrogate(
    scores: ArrayLike, thresholds: ArrayLike, lower: ArrayLike, upper: ArrayLike, margin: float = 1.0
) -> Floats:
    """Hinges at the two thresholds next to the interval: ``(m - f + t_{lower-1})_+ + (m + f - t_upper)_+``.

    With ``m = margin = 1`` this is the loss of SVOR-EXP, an upper bound on the interval-insensitive 0/1 loss. It needs
    ordered thresholds. An interval that reaches an end of the scale has no threshold there.

    Arguments as in :func:`implicit_surrogate`; the thresholds must not descend.

    Examples
    --------
    >>> explicit_surrogate([0.5, 0.5], [0.0, 1.0, 2.0], lower=[1, 3], upper=[2, 3])
    array([0.5, 2.5])
    """
    f, t, low, high = _read(scores, thresholds, lower, upper, margin)
    falls = t[:, 1:] < t[:, :-1]
    if falls.any():
        row, i = np.argwhere(falls)[0].tolist()
        raise ValueError(f"thresholds must not descend. Got {t[row, i + 1]} after {t[row, i]} at place {i + 1}.")
    ends = np.full((t.shape[0], 1), np.inf)
    padded = np.hstack([-ends, t, ends])  # the threshold below code k is padded[k], the one above it padded[k + 1]
    row = np.arange(f.size) if t.shape[0] > 1 else np.zeros(f.size, dtype=np.intp)
    below, above = padded[row, low], padded[row, high + 1]
    return np.asarray(np.maximum(0.0, margin - f + below) + np.maximum(0.0, margin + f - above))


def _read(
    scores: ArrayLike, thresholds: ArrayLike, lower: ArrayLike, upper: ArrayLike, margin: float
) -> tuple[Floats, Floats, NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
    """Check shapes and codes; thresholds come back as (1, K-1) or (n, K-1)."""
    f = np.atleast_1d(np.asarray(scores, dtype=np.float64))
    t = np.atleast_2d(np.asarray(thresholds, dtype=np.float64))
    if f.ndim != 1 or t.ndim != 2 or t.shape[0] not in (1, f.size):
        raise ValueError(
            f"scores must have shape (n,) and thresholds (K-1,) or (n, K-1). Got {f.shape} and {np.shape(thresholds)}."
        )
    if not 0.0 <= margin < np.inf:
        raise ValueError(f"margin must be a finite number >= 0. Got {margin!r} instead.")
    ends = [np.asarray(lower), np.asarray(upper)]
    for name, end in zip(("lower", "upper"), ends, strict=True):
        if end.dtype.kind not in "iu" or end.shape not in ((), (1,), f.shape):
            raise ValueError(
                f"{name} must be an integer code, or one for each of the {f.size} scores. "
                f"Got {end.dtype} of shape {end.shape}."
            )
    low, high = (np.broadcast_to(end, f.shape) for end in ends)
    wrong = (low < 0) | (low > high) | (high > t.shape[1])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise RowError(f"0 <= lower <= upper <= {t.shape[1]} must hold. Got [{low[row]}, {high[row]}].", row)
    return f, t, low, high
