"""Imprecise labels made from exact ones, as annotators would give them, and a summary of labels as they came.

The two interval generators are those of the PRIL paper's experiments. All of them return the labels themselves, not
codes; strings keep no order in an array, so hand the same ``classes`` to whatever reads the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise._annotation_plan import Condition, PlanReport, check_plan
from rankwise.labels import Labels, decode, encode

__all__ = [
    "Condition",
    "PlanReport",
    "Summary",
    "check_plan",
    "partial_labels",
    "summary",
    "type1_intervals",
    "type2_intervals",
]

Codes = NDArray[np.int32]


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

    Parameters
    ----------
    y, classes
        As in :func:`type1_intervals`.

    Returns
    -------
    array of shape (n, 2)
        Lower and upper end, both included.

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
        As in :func:`type1_intervals`. With the same ``random_state`` a larger fraction only adds intervals, so that
        a curve over the fraction compares like with like.
    fraction : float
        Share of the rows with an interval; exactly ``round(fraction * n)`` of them.
    kind : {1, 2}, default=1
        Which generator: :func:`type1_intervals` or :func:`type2_intervals`.

    Returns
    -------
    array of shape (n, 2)
        Lower and upper end, both included.

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
    # All intervals are drawn before the rows are chosen: neither choice depends on the fraction.
    lower, upper = _type1(labels, generator) if kind == 1 else _type2(labels)
    keep_exact = generator.permutation(len(labels))[round(fraction * len(labels)) :]
    lower[keep_exact] = upper[keep_exact] = labels.lower[keep_exact]
    return _decode(labels, (lower, upper))


@dataclass(frozen=True)
class Summary:
    """What kinds of label there are, and how wide.

    Attributes
    ----------
    n_exact, n_interval, n_candidates, n_missing : int
        Rows of each kind. A candidate set without gaps is an interval, one of all classes is missing.
    widths : tuple of int
        ``widths[k]`` rows have ``upper - lower = k``; K entries, missing rows are in the last.
    """

    n_exact: int
    n_interval: int
    n_candidates: int
    n_missing: int
    widths: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.widths)

    @property
    def mean_width(self) -> float:
        """Mean of ``upper - lower``: 0 if all labels are exact; NaN without rows."""
        return sum(k * count for k, count in enumerate(self.widths)) / self.n_rows if self.n_rows else float("nan")


def summary(labels: Any, classes: Any = None) -> Summary:
    """Count the labels of each kind and of each width.

    Parameters
    ----------
    labels : Labels or labels of any form
        See :func:`rankwise.labels.encode`.
    classes : sequence, optional
        The classes, lowest first, unless ``labels`` are encoded.

    Examples
    --------
    >>> summary([1, (1, 2), {1, 3}, None], classes=[1, 2, 3, 4])
    Summary(n_exact=1, n_interval=1, n_candidates=1, n_missing=1, widths=(1, 1, 1, 1))
    """
    said = labels if isinstance(labels, Labels) else encode(labels, classes)
    width = said.upper - said.lower
    exact = said.is_exact
    missing = said.is_missing & ~exact
    gaps = np.zeros_like(exact) if said.mask is None else said.mask.sum(axis=1) <= width
    return Summary(
        n_exact=int(exact.sum()),
        n_interval=int((~exact & ~missing & ~gaps).sum()),
        n_candidates=int(gaps.sum()),
        n_missing=int(missing.sum()),
        widths=tuple(np.bincount(width, minlength=len(said.order)).tolist()),
    )


def _type1(labels: Labels, generator: np.random.RandomState) -> tuple[Codes, Codes]:
    top = len(labels.order) - 1
    lower = labels.lower - generator.randint(2, size=len(labels)).astype(np.int32)
    lower = np.clip(lower, 0, max(0, top - 1))
    return lower, np.minimum(lower + 1, top)


def _type2(labels: Labels) -> tuple[Codes, Codes]:
    return np.maximum(labels.lower - 1, 0), np.minimum(labels.lower + 1, len(labels.order) - 1)


def _exact(y: Any, classes: Any) -> Labels:
    labels = encode(y, classes)
    if not labels.is_exact.all():
        row = int(np.argmin(labels.is_exact))
        raise ValueError(f"row {row}: intervals are made from exact labels. This one is missing or partial already.")
    return labels


def _decode(labels: Labels, ends: tuple[Codes, Codes]) -> NDArray[Any]:
    return np.column_stack([decode(end, labels.classes) for end in ends])
