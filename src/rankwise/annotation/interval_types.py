"""Imprecise labels generated from exact ones.

Type 1 and type 2 are the generators of the PRIL paper's experiments, partitions and the alpha-beta-precise process
those of the thesis on partial annotations.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise._errors import RowError
from rankwise._types import Codes
from rankwise.labels import Labels, decode
from rankwise.labels.encoding import encode_ordered


def type1_intervals(y: Any, classes: Any = None, random_state: Any = None) -> NDArray[Any]:
    """Interval of two classes around each label: ``[y-1, y]`` or ``[y, y+1]``, at random.

    The lowest class always becomes ``[1, 2]``, the highest ``[K-1, K]``.

    Parameters
    ----------
    y : array-like of shape (n,)
        Exact labels.
    classes : sequence, optional
        The classes, lowest first; by default as in :func:`rankwise.labels.encode`.
    random_state : int, RandomState or None
        Makes the choice repeatable.

    Returns
    -------
    array of shape (n, 2)
        Lower and upper end, both included.

    Examples
    --------
    >>> type1_intervals([10, 50, 20], classes=[10, 20, 50], random_state=0).tolist()
    [[10, 20], [20, 50], [10, 20]]
    """
    labels = _exact(y, classes)
    return _decode(labels, _type1(labels, check_random_state(random_state)))


def type2_intervals(y: Any, classes: Any = None) -> NDArray[Any]:
    """Interval of the class and both its neighbours, ``[y-1, y+1]``, cut off at the ends of the scale.

    Arguments and result as in :func:`type1_intervals`.

    Examples
    --------
    >>> type2_intervals(["low", "mid", "high"], classes=["low", "mid", "high"]).tolist()
    [['low', 'mid'], ['low', 'high'], ['mid', 'high']]
    """
    labels = _exact(y, classes)
    return _decode(labels, _type2(labels))


def partial_labels(
    y: Any, fraction: float, kind: Literal[1, 2] = 1, classes: Any = None, random_state: Any = None
) -> NDArray[Any]:
    """Give some rows, chosen at random, an interval and keep the others exact, ``[y, y]``.

    Parameters
    ----------
    y, classes, random_state
        As in :func:`type1_intervals`, like the result. With the same ``random_state`` a larger fraction only adds
        intervals, which makes curves over the fraction comparable.
    fraction : float
        Share of the rows with an interval; exactly ``round(fraction * n)`` of them.
    kind : {1, 2}, default=1
        Which generator: :func:`type1_intervals` or :func:`type2_intervals`.

    Examples
    --------
    >>> partial_labels([1, 2, 3, 2], fraction=0.5, kind=2, random_state=0).tolist()
    [[1, 1], [2, 2], [2, 3], [1, 3]]
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction must lie in [0, 1]. Got {fraction!r} instead.")
    if kind not in (1, 2):
        raise ValueError(f"kind must be 1 or 2. Got {kind!r} instead.")
    labels = _exact(y, classes)
    generator = check_random_state(random_state)
    # All intervals are drawn before the rows are chosen, so that no draw depends on the fraction.
    lower, upper = _type1(labels, generator) if kind == 1 else _type2(labels)
    keep_exact = generator.permutation(len(labels))[round(fraction * len(labels)) :]
    lower[keep_exact] = upper[keep_exact] = labels.lower[keep_exact]
    return _decode(labels, (lower, upper))


def partition_intervals(y: Any, size: int, classes: Any = None) -> NDArray[Any]:
    """Cut the scale into bins of ``size`` classes, from the lowest up, and replace each label by its bin.

    The annotation of the thesis' experiments (section 3.5.3): with bins of five, ages 1 to 5 become [1, 5], ages 6 to
    10 become [6, 10]. The last bin may be smaller.

    Parameters
    ----------
    y, classes
        As in :func:`type1_intervals`, like the result.
    size : int
        u >= 1, classes in a bin.

    Examples
    --------
    >>> partition_intervals([1, 4, 6, 7], size=3, classes=range(1, 8)).tolist()
    [[1, 3], [4, 6], [4, 6], [7, 7]]
    """
    _whole("size", size, least=1)
    labels = _exact(y, classes)
    return _decode(labels, _bins(labels, int(size)))


def alpha_beta_intervals(
    y: Any,
    alpha: float,
    beta: int,
    classes: Any = None,
    random_state: Any = None,
    *,
    placement: Literal["random", "partition"] = "random",
) -> NDArray[Any]:
    """Annotations by an alpha-beta-precise process (Definition 6): exact with probability alpha, else an interval.

    The procedure of the thesis' section 3.3.1: every row is independently exact with probability ``alpha``. The other
    rows get ``beta + 1`` classes, including the true one.

    Parameters
    ----------
    y, classes, random_state
        As in :func:`type1_intervals`, like the result. With the same ``random_state`` a larger alpha only adds exact
        labels.
    alpha : float
        Probability of an exact label, in [0, 1].
    beta : int
        ``upper - lower`` of the intervals, in 0..K-1.
    placement : {"random", "partition"}, default="random"
        ``"random"``: any interval of that width on the scale that holds the label, all equally likely; ``beta=1`` and
        ``alpha=0`` give :func:`type1_intervals`. ``"partition"``: the bins of :func:`partition_intervals`, of which
        the last may be smaller, as in the thesis' experiments.

    Examples
    --------
    >>> alpha_beta_intervals([1, 2, 3, 4, 5], alpha=0.5, beta=2, random_state=0).tolist()
    [[1, 3], [2, 4], [3, 5], [2, 4], [5, 5]]
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must lie in [0, 1]. Got {alpha!r} instead.")
    if placement not in ("random", "partition"):
        raise ValueError(f"placement must be 'random' or 'partition'. Got {placement!r} instead.")
    labels = _exact(y, classes)
    _whole("beta", beta, least=0, most=len(labels.order) - 1)
    generator = check_random_state(random_state)
    coin = generator.random_sample(len(labels))
    is_random = placement == "random"
    lower, upper = intervals_around(labels, int(beta), generator) if is_random else _bins(labels, int(beta) + 1)
    exact = coin < alpha
    return _decode(labels, (np.where(exact, labels.lower, lower), np.where(exact, labels.lower, upper)))


def intervals_around(labels: Labels, width: int, generator: np.random.RandomState) -> tuple[Codes, Codes]:
    """Intervals of a width that hold the label and lie on the scale, all equally likely."""
    lowest = np.maximum(labels.lower - width, 0)
    highest = np.minimum(labels.lower, len(labels.order) - 1 - width)
    lower = generator.randint(lowest, highest + 1).astype(np.int32)
    return lower, lower + np.int32(width)


def _bins(labels: Labels, size: int) -> tuple[Codes, Codes]:
    lower = (labels.lower // size * size).astype(np.int32)
    return lower, np.minimum(lower + (size - 1), len(labels.order) - 1).astype(np.int32)


def _whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    inside = not isinstance(value, bool) and isinstance(value, Integral) and least <= int(value)
    if not inside or (most is not None and int(value) > most):
        rule = f"an integer >= {least}" if most is None else f"an integer in {least}..{most}, at most n_classes - 1"
        raise ValueError(f"{name} must be {rule}. Got {value!r} instead.")


def _type1(labels: Labels, generator: np.random.RandomState) -> tuple[Codes, Codes]:
    top = len(labels.order) - 1
    lower = labels.lower - generator.randint(2, size=len(labels)).astype(np.int32)
    lower = np.clip(lower, 0, max(0, top - 1))
    return lower, np.minimum(lower + 1, top)


def _type2(labels: Labels) -> tuple[Codes, Codes]:
    return np.maximum(labels.lower - 1, 0), np.minimum(labels.lower + 1, len(labels.order) - 1)


def _exact(y: Any, classes: Any) -> Labels:
    labels = encode_ordered(y, classes, "making intervals", counts_ranks=True)
    if not labels.is_exact.all():
        row = int(np.argmin(labels.is_exact))
        raise RowError("intervals are made from exact labels. This one is missing or partial already.", row)
    return labels


def _decode(labels: Labels, ends: tuple[Codes, Codes]) -> NDArray[Any]:
    return np.column_stack([decode(end, labels.classes) for end in ends])
