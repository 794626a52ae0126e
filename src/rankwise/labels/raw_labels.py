"""Annotations as a container holds them, before any class has a code: values, ends, candidates, a mask, texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise._words import the_classes
from rankwise.labels.class_order import ClassOrder
from rankwise.labels.encoded_labels import Labels
from rankwise.labels.label_values import (
    EXACT_IN_FLOAT,
    as_object_array,
    is_missing,
    numbered,
    numbers_if_possible,
    one_line,
    tidy,
)
from rankwise.labels.whole_columns import ReadTexts, order_of_labels, read_texts, refuse_doubtful

_NESTED = (tuple, list, set, frozenset, np.ndarray)
_NO_LISTS = (
    "a list inside y may be an interval or candidates: write a tuple (lower, upper) for an interval, a set {a, b} for "
    "candidates, or give all rows as one array, (n, 2) for intervals or boolean (n, K) for candidates."
)
_MOST_CLASSES = 10_000  # implied by intervals of whole numbers; more must be declared


@dataclass(frozen=True, eq=False)
class Raw(ABC):
    """What a container holds; ``order`` is the class order it carries, if any."""

    order: Sequence[Any] | NDArray[Any] | None

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def values_present(self) -> NDArray[Any]:
        """Every value that occurs as a label, in a 1-D array."""


@dataclass(frozen=True, eq=False)
class Exact(Raw):
    """One value a row."""

    values: NDArray[Any]

    def __len__(self) -> int:
        return int(self.values.size)

    def values_present(self) -> NDArray[Any]:
        return self.values


@dataclass(frozen=True, eq=False)
class Coded(Raw):
    """One category a row, by its index in ``categories``; -1 where missing."""

    categories: NDArray[Any]
    codes: NDArray[np.intp]

    def __len__(self) -> int:
        return int(self.codes.size)

    def values_present(self) -> NDArray[Any]:
        return self.categories[self.codes[self.codes >= 0]]

    @staticmethod
    def make(categories: Sequence[Any], codes: Any, *, ordered: bool) -> Raw:
        """Coded labels, or texts if the categories are texts without an order."""
        values, codes = tidy(as_object_array(categories)), np.asarray(codes, dtype=np.intp)
        items = values.tolist()
        if ordered or not any(isinstance(value, str) for value in items):
            return Coded(values if ordered else None, values, codes)
        used, groups = np.unique(codes, return_inverse=True)
        return Texts(None, [None if k < 0 else items[k] for k in used], groups.ravel())

    def as_exact(self) -> Exact:
        return Exact(self.order, np.append(self.categories.astype(object), [None])[self.codes])


@dataclass(frozen=True, eq=False)
class Intervals(Raw):
    """Two values a row, both included."""

    ends: NDArray[Any]

    def __len__(self) -> int:
        return int(self.ends.shape[0])

    def values_present(self) -> NDArray[Any]:
        return with_whole_numbers_between(self.ends)

    @staticmethod
    def from_tuples(tuples: list[tuple[Any, ...]], rows: Sequence[int]) -> Intervals:
        """Read tuples ``(lower, upper)``; ``rows`` are their rows."""
        if not set(map(len, tuples)) <= {2}:
            row, ends = next((row, ends) for row, ends in zip(rows, tuples, strict=True) if len(ends) != 2)
            raise RowError(f"an interval is a tuple (lower, upper). Got {one_line(ends)} instead.", row)
        return Intervals.from_flat(None, as_object_array(chain.from_iterable(tuples)))

    @staticmethod
    def from_flat(order: Sequence[Any] | NDArray[Any] | None, ends: NDArray[Any]) -> Intervals:
        """Read lower, upper, lower, upper, ..."""
        return Intervals(order, numbers_if_possible(ends).reshape(-1, 2))


@dataclass(frozen=True, eq=False)
class Ranges(Raw):
    """Two real ends a row, each included or not; the classes between them are admissible."""

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    closed_left: bool
    closed_right: bool

    def __len__(self) -> int:
        return int(self.left.size)

    def values_present(self) -> NDArray[Any]:
        if not (self.closed_left and self.closed_right):
            raise ValueError(
                f"half-open intervals do not say which classes there are: declare them with {the_classes()}, "
                "or use intervals closed on both sides."
            )
        return whole_if_possible(with_whole_numbers_between(np.column_stack([self.left, self.right])))


@dataclass(frozen=True, eq=False)
class Candidates(Raw):
    """Candidate sets and intervals, mixed: the members of all sets and the intervals, each with its row."""

    n_rows: int
    members: NDArray[Any]
    member_rows: NDArray[np.intp]
    intervals: Intervals
    interval_rows: NDArray[np.intp]

    def __len__(self) -> int:
        return self.n_rows

    def values_present(self) -> NDArray[Any]:
        in_intervals = self.intervals.values_present().tolist()
        return numbers_if_possible(as_object_array([*self.members.tolist(), *in_intervals]))


@dataclass(frozen=True, eq=False)
class Texts(Raw):
    """Labels with texts among them, read once the classes are known: the distinct ones, and the index of each row's."""

    distinct: list[Any]
    groups: NDArray[np.intp]
    language: str = "en"

    @staticmethod
    def make(items: list[Any]) -> Texts:
        groups, _ = numbered(item if isinstance(item, str) else _key(item) for item in items)
        _, first = np.unique(groups, return_index=True)
        return Texts(None, [items[row] for row in first.tolist()], groups)

    def __len__(self) -> int:
        return int(self.groups.size)

    def values_present(self) -> NDArray[Any]:
        if self._told is not None:
            return self._told.values
        values = whole_if_possible(self.parsed.values_present())
        # Where numbers are not whole, how often they repeat tells grades from measurements.
        values = values if values.dtype.kind != "f" else self.rows().values_present()
        top = self._without_classes.top
        return values if top is None else np.append(values, whole_if_possible(np.array([top])))

    def read_labels(self, order: ClassOrder | None) -> list[Any]:
        """The distinct labels, parsed; with ``order`` texts may name its classes."""
        return self._known.labels if order is None else self._read_by(order).labels

    @cached_property
    def _without_classes(self) -> ReadTexts:
        return self._read_by(None)

    def _read_by(self, order: ClassOrder | None) -> ReadTexts:
        cells = [None if is_missing(cell) else cell for cell in self.distinct]
        return read_texts(cells, self.groups, order, self.language)

    @cached_property
    def parsed(self) -> Raw:
        """The distinct labels that are not missing, where no classes are declared."""
        distinct = self._known.labels
        known = [k for k, label in enumerate(distinct) if label is not None]
        labels = [distinct[k] for k in known]
        if any(isinstance(label, tuple) for label in labels):
            labels = [label if isinstance(label, (set, frozenset)) else as_ends(label) for label in labels]
        with self.blaming(known):
            return read_cells(labels)

    @cached_property
    def _told(self) -> ClassOrder | None:
        """The classes with the order that the labels tell together, such as 1 - poor and 2 - good; None if not."""
        told = order_of_labels(self._without_classes, self.groups, self.language)
        return None if told is None else ClassOrder(told.classes)

    @cached_property
    def _known(self) -> ReadTexts:
        """The distinct labels where no classes are declared."""
        if self._told is not None:
            return self._read_by(self._told)
        refuse_doubtful(self._without_classes.labels, self.groups)
        return self._without_classes

    def rows(self) -> Raw:
        """All rows, where no classes are declared."""
        return read_cells(as_object_array(self._without_classes.labels)[self.groups].tolist())

    @contextmanager
    def blaming(self, numbers: Sequence[int]) -> Iterator[None]:
        """Errors about one of these distinct labels name the first row that has it."""
        try:
            yield
        except RowError as error:
            raise RowError(error.reason, int(np.argmax(self.groups == numbers[error.row]))) from None

    def as_exact(self) -> Exact:
        return Exact(None, as_object_array(self.distinct)[self.groups])


def _key(cell: Any) -> Any:
    """Key of a cell that is not text: 1, 1.0 and True differ, and a cell need not be hashable."""
    try:
        hash(cell)
    except TypeError:
        return id(cell), "object"
    return ("missing",) if is_missing(cell) else (type(cell), cell)


@dataclass(frozen=True, eq=False)
class Mask(Raw):
    """Boolean (n, K): the admissible classes of each row."""

    mask: NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.mask.shape[0])

    def values_present(self) -> NDArray[Any]:
        return np.arange(self.mask.shape[1])


@dataclass(frozen=True, eq=False)
class Encoded(Raw):
    """Labels that are encoded already."""

    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)

    def values_present(self) -> NDArray[Any]:
        return self.labels.classes


def whole_if_possible(values: NDArray[Any]) -> NDArray[Any]:
    """Finite numbers, as integers if all are whole; values that are not floats are returned unchanged."""
    if values.dtype.kind != "f":
        return values
    finite = values[np.isfinite(values)]
    whole = np.all((finite == np.floor(finite)) & (np.abs(finite) < EXACT_IN_FLOAT))
    return np.asarray(finite.astype(np.int64) if whole else finite)


def as_ends(label: Any) -> tuple[Any, ...]:
    """A label as an interval, of floats where these hold its ends: an exact one beside intervals has width 0."""
    ends = label if isinstance(label, tuple) else (label, label)
    small = all(end is None or (isinstance(end, (int, float)) and abs(end) < EXACT_IN_FLOAT) for end in ends)
    return tuple(np.nan if end is None else float(end) for end in ends) if small else ends


def with_whole_numbers_between(ends: NDArray[Any]) -> NDArray[Any]:
    """Ends of intervals, and the whole numbers inside them if the ends are whole: "3 to 5" implies a 4."""
    if ends.dtype.kind not in "iuf":
        return ends.ravel()
    known = ends[np.isfinite(ends)]
    if known.size == 0 or np.any(known != np.floor(known)):
        return ends.ravel()
    low, high = int(known.min()), int(known.max())
    if max(-low, high) >= EXACT_IN_FLOAT:  # no grades
        return ends.ravel()
    if high - low > _MOST_CLASSES:
        raise ValueError(
            f"the intervals span the {high - low + 1} whole numbers from {low} to {high}: if these are the classes, or "
            f"only some of them, declare them with {the_classes()}."
        )
    first = np.where(np.isfinite(ends[:, 0]), ends[:, 0], low).astype(np.int64) - low
    last = np.where(np.isfinite(ends[:, 1]), ends[:, 1], high).astype(np.int64) - low
    begun = np.cumsum(np.bincount(first, minlength=high - low + 1))
    ended = np.cumsum(np.bincount(last + 1, minlength=high - low + 2))[:-1]
    inside = low + np.flatnonzero(begun > ended)
    return np.concatenate([ends.ravel(), inside.astype(ends.dtype)])


def read_cells(items: list[Any]) -> Raw:
    """Rows each of which is a value, a tuple or a set; texts among them are names."""
    kinds = set(map(type, items))
    if not any(issubclass(kind, _NESTED) for kind in kinds):
        return Exact(None, numbers_if_possible(as_object_array(items)))
    if all(issubclass(kind, tuple) for kind in kinds):
        return Intervals.from_tuples(items, range(len(items)))
    intervals: list[tuple[Any, ...]] = []
    interval_rows: list[int] = []
    members: list[Any] = []
    member_rows: list[int] = []
    for row, label in enumerate(items):
        if isinstance(label, tuple):
            intervals.append(label)
            interval_rows.append(row)
        elif isinstance(label, (set, frozenset)):
            if not label:
                raise RowError("a candidate set must not be empty.", row)
            members.extend(label)
            member_rows.extend(repeat(row, len(label)))
        elif isinstance(label, list) or (isinstance(label, np.ndarray) and label.ndim):
            raise RowError(f"{_NO_LISTS} Got {one_line(label)}.", row)
        else:
            scalar = label.item() if isinstance(label, np.ndarray) else label
            members.append(None if label is np.ma.masked else scalar)
            member_rows.append(row)
    return Candidates(
        None,
        len(items),
        numbers_if_possible(as_object_array(members)),
        np.array(member_rows, dtype=np.intp),
        Intervals.from_tuples(intervals, interval_rows),
        np.array(interval_rows, dtype=np.intp),
    )
