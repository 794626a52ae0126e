"""Encoded labels: accepted everywhere in place of ``y``, so that labels are read once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._errors import RowError
from rankwise._sklearn import within_metrics
from rankwise._types import Codes
from rankwise.labels.class_order import ClassOrder
from rankwise.labels.label_values import as_object_array, as_text, show

NO_CODES: Codes = np.empty(0, dtype=np.int32)


class EncodedRows(ABC):
    """Rows that can be indexed by slices, row numbers and booleans, as scikit-learn's splitters do."""

    __array_ufunc__ = None  # so that == with an array does not compare element by element
    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, rows: Any) -> Self:
        """The labels of some rows: a slice, an array of row numbers, or a boolean for every row."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self),)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:  # how scikit-learn selects rows
            rows = rows[0]
        if isinstance(rows, slice):
            return self.take(rows)
        chosen = np.asarray(rows)
        if isinstance(rows, tuple) or chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iub"):
            raise TypeError(f"rows must be a slice, row numbers, or a boolean for every row. Got {rows!r} instead.")
        return self.take(chosen if chosen.size else chosen.astype(np.intp))


@dataclass(frozen=True, eq=False, repr=False)
class Labels(EncodedRows):
    """Encoded labels: row i admits the class codes ``lower[i] .. upper[i]``, both included.

    Every function and estimator that takes ``y`` also takes these and does not read the labels again.
    scikit-learn's splitters and searches accept them: they have a length, ``labels[rows]`` are the labels of some
    rows, and ``np.asarray(labels)`` is an array of classes, or of texts such as ``3-5`` unless all labels are exact.
    scikit-learn's metrics take exact ones, and refuse others: :mod:`rankwise.metrics` has those for them.
    ``labels[3]`` and ``labels.tolist()`` give the labels themselves. Do not write into the arrays.

    Attributes
    ----------
    order : ClassOrder
        The classes, lowest first.
    lower, upper : int32 array of shape (n,)
        Lowest and highest admissible code. Exact: equal. Missing: 0 and K-1.
    mask : bool array of shape (n, K) or None
        Admissible codes, where candidate sets were given; ``None`` when every row is an interval.

    Examples
    --------
    >>> from rankwise.labels import Labels, encode
    >>> labels = encode([3, (1, 2), None], classes=[1, 2, 3])
    >>> labels
    Labels(3 rows, 1 exact, 1 interval, 0 candidates, 1 missing; classes [1, 2, 3])
    >>> labels[:2].tolist()
    [3, (1, 2)]
    >>> Labels.concatenate([labels[:1], labels[1:]]) == labels
    True
    """

    order: ClassOrder
    lower: Codes
    upper: Codes
    mask: NDArray[np.bool_] | None = None

    @classmethod
    def from_mask(cls, mask: NDArray[np.bool_], order: ClassOrder) -> Labels:
        """Labels of a boolean (n, K): which classes each row admits."""
        count = mask.sum(axis=1)
        if not count.all():
            raise RowError("a candidate set must not be empty.", int(np.argmin(count)))
        lower = mask.argmax(axis=1).astype(np.int32)
        upper = (mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)).astype(np.int32)
        has_gaps = bool((count <= upper - lower).any())
        return cls(order, lower, upper, mask if has_gaps else None)

    @classmethod
    def concatenate(cls, parts: Iterable[Labels]) -> Labels:
        """The rows of all parts, one part after the other. All parts must have the same classes."""
        parts = list(parts)
        if not parts:
            raise ValueError("concatenate needs at least one part.")
        order = parts[0].order
        for number, part in enumerate(parts):
            if part.order != order:
                raise ValueError(
                    f"part {number}: all parts must have the classes {show(order.values)}. Got {show(part.classes)}."
                )
        gaps = any(part.mask is not None for part in parts)
        return cls(
            order,
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            np.concatenate([part.admissible() for part in parts]) if gaps else None,
        )

    def __len__(self) -> int:
        return int(self.lower.size)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, (int, np.integer)):
            return self.take(np.array([rows])).tolist()[0]
        return super().__getitem__(rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels):
            return NotImplemented
        return (
            self.order == other.order
            and np.array_equal(self.lower, other.lower)
            and np.array_equal(self.upper, other.upper)
            and (self.mask is other.mask or np.array_equal(self.admissible(), other.admissible()))
        )

    def __repr__(self) -> str:
        kinds = zip(self.counts(), ("exact", "interval", "candidates", "missing"), strict=True)
        counts = ", ".join(f"{count} {kind}" for count, kind in kinds)
        return f"Labels({len(self)} rows, {counts}; classes {show(self.classes)})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array of labels is always a copy.")
        if self.is_exact.all():
            array = self.classes[self.lower]
        else:
            self._refuse_metrics()
            distinct, groups = self.distinct()
            array = np.array([_text(label) for label in distinct.tolist()])[groups]
        return array if dtype is None else array.astype(dtype)

    def _refuse_metrics(self) -> None:
        """Raise an error if a metric of scikit-learn asks for the array of these labels, not all of which are exact.

        It would compare predictions with texts such as ``3-5``, which none is equal to.
        """
        if within_metrics():
            imprecise, missing = len(self) - int(self.is_exact.sum()), int(self.is_missing.sum())
            raise ValueError(
                f"scikit-learn's metrics compare predictions with exact labels, and {imprecise:,} of {len(self):,} are "
                f"imprecise ({missing:,} of them missing). Use the metrics of rankwise.metrics, or "
                "scoring=rankwise.evaluation.IntervalScorer(), which take them."
            )

    @property
    def classes(self) -> NDArray[Any]:
        """The classes, lowest first."""
        return self.order.values

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Rows whose label is a single class."""
        return np.asarray(self.lower == self.upper)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Rows whose label is missing or admits every class."""
        full = (self.lower == 0) & (self.upper == len(self.order) - 1) & (len(self.order) > 1)
        return np.asarray(full if self.mask is None else full & self.mask.all(axis=1))

    @property
    def has_gaps(self) -> NDArray[np.bool_]:
        """Rows whose label is a candidate set that is not an interval."""
        if self.mask is None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.mask.sum(axis=1) <= self.upper - self.lower)

    def counts(self) -> tuple[int, int, int, int]:
        """Numbers of exact labels, intervals, candidate sets with gaps, and missing labels."""
        exact, gaps, missing = (int(rows.sum()) for rows in (self.is_exact, self.has_gaps, self.is_missing))
        return exact, len(self) - exact - gaps - missing, gaps, missing

    def admissible(self) -> NDArray[np.bool_]:
        """Boolean (n, K): which classes each row admits."""
        if self.mask is not None:
            return self.mask
        codes = np.arange(len(self.order))
        return np.asarray((self.lower[:, None] <= codes) & (codes <= self.upper[:, None]))

    def take(self, rows: Any) -> Self:
        """The labels of some rows: a slice, an array of row numbers, or a boolean for every row."""
        mask = None if self.mask is None else self.mask[rows]
        return replace(self, lower=self.lower[rows], upper=self.upper[rows], mask=mask)

    def distinct(self) -> tuple[Self, NDArray[np.intp]]:
        """The distinct labels, and the index of each row's label: exact ones by class, then partial, then missing."""
        k = len(self.order)
        kind = np.where(self.is_exact, 0, np.where(self.is_missing, 2, 1)).astype(np.int64)
        key = (kind * k + self.lower) * k + self.upper
        if self.mask is not None:  # distinguish sets with the same ends
            sets, which = np.unique(self.mask, axis=0, return_inverse=True)
            key = key * len(sets) + which.ravel()
        _, first, groups = np.unique(key, return_index=True, return_inverse=True)
        return self.take(first), groups.ravel()

    def tolist(self) -> list[Any]:
        """The labels themselves: a class, a tuple (lower, upper), a frozenset of candidates, or None for a missing one.

        :func:`encode` with the same classes reads them back.
        """
        distinct, groups = self.distinct()
        values, full = self.classes.tolist(), distinct.is_missing
        labels: list[Any] = []
        for row, (lower, upper, gaps) in enumerate(zip(distinct.lower, distinct.upper, distinct.has_gaps, strict=True)):
            if lower == upper or full[row]:
                labels.append(None if full[row] else values[lower])
            elif gaps:
                labels.append(frozenset(values[code] for code in np.flatnonzero(distinct.admissible()[row])))
            else:
                labels.append((values[lower], values[upper]))
        return list(as_object_array(labels)[groups].tolist())

    def describe(self, row: int) -> str:
        """The label of a row in words, for messages."""
        if self.is_missing[row]:
            return "a missing label"
        if self.has_gaps[row]:
            return f"the candidate set {show(self.classes[self.admissible()[row]])}"
        return f"the interval {show(self.classes[[self.lower[row], self.upper[row]]])}"

    def recoded(self, order: ClassOrder) -> Labels:
        """The same labels among other classes, which must contain all of these.

        Missing labels stay missing. Intervals keep their ends and admit new classes between them, unless the classes
        are in another order: then they admit the same classes as before, as candidate sets do.
        """
        if order == self.order:
            return self if order.values.dtype == self.classes.dtype else replace(self, order=order)
        codes = order.codes(self.classes)
        if (codes < 0).any():
            raise ValueError(
                f"the labels are encoded with the classes {show(self.classes)}, which must all be among the classes "
                f"{show(order.values)}."
            )
        missing, in_order = self.is_missing, bool(np.all(np.diff(codes) > 0))
        lower = np.where(missing, np.int32(0), codes[self.lower])
        upper = np.where(missing, np.int32(len(order) - 1), codes[self.upper])
        between = Labels(order, lower, upper)
        if in_order and self.mask is None:
            return between
        mask, by_class = between.admissible(), self.has_gaps if in_order else ~missing
        mask[by_class] = False
        mask[np.ix_(by_class, codes)] = self.admissible()[by_class]
        return Labels.from_mask(mask, order)

    def nearest(self, codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Admissible code nearest to each predicted one, the lower of two."""
        if self.mask is None:
            return np.asarray(np.clip(codes, self.lower, self.upper), dtype=np.int64)
        apart = np.abs(np.arange(len(self.order)) - np.asarray(codes)[:, None])
        return np.asarray(np.where(self.mask, apart, len(self.order)).argmin(axis=1), dtype=np.int64)

    def farthest(self, codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Admissible code farthest from each predicted one, the lower of two: one of the ends."""
        return np.where(codes - self.lower >= self.upper - codes, self.lower, self.upper).astype(np.int64)

    def distance(self, codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Ranks between each predicted code and the nearest admissible one: the interval-insensitive MAE of a row."""
        return np.asarray(np.abs(np.asarray(codes, dtype=np.int64) - self.nearest(codes)))

    def largest_distance(self, codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Ranks between each predicted code and the farthest admissible one."""
        return np.asarray(np.abs(np.asarray(codes, dtype=np.int64) - self.farthest(codes)))


def _text(label: Any) -> str:
    """A label as text: ``3``, ``3-5``, ``2|7`` or ``?``."""
    if isinstance(label, tuple):
        return "-".join(map(as_text, label))
    if isinstance(label, frozenset):
        return "|".join(sorted(map(as_text, label)))
    return "?" if label is None else as_text(label)


@dataclass(frozen=True, eq=False, repr=False)
class RankingLabels(EncodedRows):
    """Encoded feedback about rankings; row i holds the places ``indptr[i] .. indptr[i + 1] - 1`` of the other arrays.

    :func:`encode_rankings` and its callers take these in place of ``y``; ``labels[rows]`` are the labels of some rows.

    Attributes
    ----------
    order : ClassOrder
        The labels; their codes are their places.
    indptr : int64 array of shape (n + 1,)
        Where the rows begin and end.
    above : int32 array
        Codes of the relevant labels, ascending in every row; or of the preferred label of every preference.
    below : int32 array
        Code of the other label of every preference; empty where relevant labels were given.
    names_all : bool
        Whether the input defines all labels, also those of no row: an indicator matrix does.
    """

    order: ClassOrder
    indptr: NDArray[np.int64]
    above: Codes
    below: Codes
    names_all: bool = False

    def __len__(self) -> int:
        return int(self.indptr.size - 1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RankingLabels):
            return NotImplemented
        arrays = ((self.indptr, other.indptr), (self.above, other.above), (self.below, other.below))
        same = self.order == other.order and self.names_all == other.names_all
        return same and all(np.array_equal(*pair) for pair in arrays)

    def __repr__(self) -> str:
        what = "preferences" if self.has_preferences else "relevant labels"
        return f"RankingLabels({len(self)} rows, {self.above.size} {what}; labels {show(self.order.values)})"

    def take(self, rows: Any) -> RankingLabels:
        """The labels of some rows: a slice, an array of row numbers, or a boolean for every row."""
        counts = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        places = np.repeat(self.indptr[:-1][rows] - indptr[:-1], counts) + np.arange(indptr[-1])
        below = self.below[places] if self.has_preferences else NO_CODES
        return RankingLabels(self.order, indptr, self.above[places], below, self.names_all)

    def recoded(self, order: ClassOrder) -> RankingLabels:
        """The same labels with the codes of another list, which must contain all of them."""
        if order == self.order:
            return self
        codes = order.codes(self.order.values)
        if (codes < 0).any():
            raise ValueError(
                f"the rankings are encoded with the labels {show(self.order.values)}, which must all be among the "
                f"labels {show(order.values)}."
            )
        if self.has_preferences:
            return replace(self, order=order, above=codes[self.above], below=codes[self.below])
        return replace(self, order=order, above=sorted_in_rows(codes[self.above], self.indptr))

    @property
    def has_preferences(self) -> bool:
        """Whether the rows hold preferences and not relevant labels."""
        return self.below.size > 0

    def indicator(self) -> Any:
        """CSR matrix (n, k) of 0 and 1: which labels are relevant."""
        if self.has_preferences:
            raise ValueError(
                "preferences do not say which labels are relevant: of the metrics only ranking_loss takes them."
            )
        ones = np.ones(self.above.size, dtype=np.int8)
        return sparse.csr_matrix((ones, self.above, self.indptr), shape=(len(self), len(self.order)))


def sorted_in_rows(codes: Codes, indptr: NDArray[np.int64]) -> Codes:
    """Codes of rows ``indptr``, ascending in every row."""
    return codes[np.lexsort((codes, np.repeat(np.arange(indptr.size - 1), np.diff(indptr))))]
