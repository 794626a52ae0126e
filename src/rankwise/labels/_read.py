"""Containers of annotations: what does ``y`` hold, before any class has a code.

pandas, polars and pyarrow are recognised without being imported: an object of theirs can only exist if the caller has
imported them.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from rankwise._errors import RowError
from rankwise._warn import warn_user
from rankwise.labels._encoded import Labels
from rankwise.labels._grammar import LabelReader, each, refuse_doubtful
from rankwise.labels._order import (
    EXACT_IN_FLOAT,
    ClassOrder,
    as_object_array,
    is_missing,
    numbers_if_possible,
    one_line,
    tidy,
)

_NESTED = (tuple, list, set, frozenset, np.ndarray)
_NO_LISTS = (
    "a list inside y may be an interval or candidates: write a tuple (lower, upper) for an interval, a set {a, b} for "
    "candidates, or give all rows as one array, (n, 2) for intervals or boolean (n, K) for candidates."
)
_MOST_CLASSES = 10_000  # that intervals of whole numbers may imply; more must be declared


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
    """One category a row, by its number in ``categories``; -1 for none."""

    categories: NDArray[Any]
    codes: NDArray[np.intp]

    def __len__(self) -> int:
        return int(self.codes.size)

    def values_present(self) -> NDArray[Any]:
        return self.categories[self.codes[self.codes >= 0]]

    @staticmethod
    def make(categories: Sequence[Any], codes: Any, *, ordered: bool) -> Raw:
        """Coded labels, or texts if the categories are such and carry no order."""
        values, codes = tidy(as_object_array(categories)), np.asarray(codes, dtype=np.intp)
        if ordered or not any(isinstance(value, str) for value in values.tolist()):
            return Coded(values if ordered else None, values, codes)
        used, groups = np.unique(codes, return_inverse=True)
        return Texts(None, [None if k < 0 else values[k : k + 1].tolist()[0] for k in used], groups.ravel())

    def as_exact(self) -> Exact:
        """Values in place of numbers."""
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
        """Read tuples ``(lower, upper)``; ``rows`` are the rows they stand in."""
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
                "half-open intervals do not say which classes there are: declare them with classes=[...], "
                "or use intervals closed on both sides."
            )
        return whole_if_possible(with_whole_numbers_between(np.column_stack([self.left, self.right])))


@dataclass(frozen=True, eq=False)
class Candidates(Raw):
    """Candidate sets and intervals, mixed: the members of all sets with the row of each, the intervals likewise."""

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
    """Labels of which some are text, read when the classes are known: the distinct ones, and which each row has."""

    distinct: list[Any]
    groups: NDArray[np.intp]
    language: str = "en"

    @staticmethod
    def make(items: list[Any]) -> Texts:
        place: dict[Any, int] = {}
        keys = (item if isinstance(item, str) else _key(item) for item in items)
        groups = np.fromiter((place.setdefault(key, len(place)) for key in keys), np.intp, len(items))
        _, first = np.unique(groups, return_index=True)
        return Texts(None, [items[row] for row in first.tolist()], groups)

    def __len__(self) -> int:
        return int(self.groups.size)

    def values_present(self) -> NDArray[Any]:
        values = whole_if_possible(self.parsed.values_present())
        # Where numbers are not whole, how often they repeat tells grades from measurements.
        return values if values.dtype.kind != "f" else self.rows(self.said(None)).values_present()

    def said(self, order: ClassOrder | None) -> list[Any]:
        """What the distinct labels say; with ``order`` they may name its classes."""
        reader = LabelReader(order, self.language)
        cells = [None if is_missing(cell) else cell for cell in self.distinct]
        return each(cells, self.groups, lambda cell: reader.parse(cell) if isinstance(cell, str) else cell)

    @cached_property
    def parsed(self) -> Raw:
        """The distinct labels that say something where no classes are declared."""
        said = self.said(None)
        refuse_doubtful(said, self.groups)
        known = [k for k, label in enumerate(said) if label is not None]
        labels = [said[k] for k in known]
        if any(isinstance(label, tuple) for label in labels):
            labels = [label if isinstance(label, (set, frozenset)) else as_ends(label) for label in labels]
        with self.blaming(known):
            return read_cells(labels)

    def rows(self, said: list[Any]) -> Raw:
        """All rows, of which the distinct labels say this."""
        return read_cells(as_object_array(said)[self.groups].tolist())

    @contextmanager
    def blaming(self, numbers: Sequence[int]) -> Iterator[None]:
        """Errors about one of these distinct labels name the first row that has it."""
        try:
            yield
        except RowError as error:
            raise RowError(error.reason, int(np.argmax(self.groups == numbers[error.row]))) from None

    def as_exact(self) -> Exact:
        """The cells as they are."""
        return Exact(None, as_object_array(self.distinct)[self.groups])


def _key(cell: Any) -> Any:
    """Key of a cell that is no text: 1, 1.0 and True are told apart, and nothing needs to be hashable."""
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
    """Finite numbers, as integers if all are whole; anything that is no float as it is."""
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
    """Ends of intervals, and the whole numbers inside them if the ends are whole: "3 to 5" says that there is a 4."""
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
            f"only some of them, declare them with classes=[...]."
        )
    first = np.where(np.isfinite(ends[:, 0]), ends[:, 0], low).astype(np.int64) - low
    last = np.where(np.isfinite(ends[:, 1]), ends[:, 1], high).astype(np.int64) - low
    begun = np.cumsum(np.bincount(first, minlength=high - low + 1))
    ended = np.cumsum(np.bincount(last + 1, minlength=high - low + 2))[:-1]
    inside = low + np.flatnonzero(begun > ended)
    return np.concatenate([ends.ravel(), inside.astype(ends.dtype)])


def read(y: Any) -> Raw:
    """Say what a container of annotations holds; what is read already stays as it is."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    if isinstance(y, Raw):
        return y
    if isinstance(y, Labels):
        return Encoded(y.classes, y)
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if polars is not None and isinstance(y, (polars.Series, polars.DataFrame)):
        return _read_polars(y, polars)
    if pyarrow is not None and isinstance(y, (pyarrow.Array, pyarrow.ChunkedArray, pyarrow.Table, pyarrow.RecordBatch)):
        return _read_pyarrow(y, pyarrow)
    if pandas is not None:
        if isinstance(y, pandas.DataFrame):
            return _read_columns([_read_pandas(y.iloc[:, j], pandas) for j in range(y.shape[1])])
        if isinstance(y, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)):
            return _read_pandas(y, pandas)
    if isinstance(y, np.ma.MaskedArray):
        return _read_array(_as_objects(y) if np.ma.is_masked(y) else y.data)
    if isinstance(y, np.ndarray):
        return _read_array(y)
    if hasattr(y, "__array__"):
        return _read_array(np.asarray(y))
    if isinstance(y, (str, bytes, set, frozenset, Mapping)) or not hasattr(y, "__iter__"):
        raise ValueError(f"y should be a 1d array: a list or array of labels. Got {one_line(y)} instead.")
    return _read_list(list(y))


def _read_array(y: NDArray[Any]) -> Raw:
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be numbers, strings or the like.")
    if y.dtype.kind in "UmM":
        y = _as_objects(y)
    if y.ndim == 1:
        if y.dtype.kind in "OV":
            return _read_list(y.tolist())
        return Exact(None, y)
    if y.ndim == 2 and y.dtype.kind == "b" and y.shape[1] != 1:
        return Mask(None, y)
    if y.ndim == 2 and y.shape[1] == 2:
        return Intervals.from_flat(None, y.ravel()) if y.dtype.kind == "O" else Intervals(None, y)
    if y.ndim == 2 and y.shape[1] == 1:
        return _read_array(only_column(y))
    raise ValueError(
        f"y should be a 1d array of labels, an (n, 2) array of intervals or a boolean (n, K) candidate mask; "
        f"bad input shape {y.shape} of type {y.dtype}."
    )


def only_column(y: NDArray[Any]) -> NDArray[Any]:
    """The column of a table that has one only, with scikit-learn's warning."""
    warn_user(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
        "(n_samples, ), for example using ravel().",
        DataConversionWarning,
    )
    return y.ravel()


def _as_objects(y: NDArray[Any]) -> NDArray[Any]:
    """Array of Python objects, None where masked; dates stay NumPy's, since not all of them have another form."""
    plain = np.ma.getdata(y)
    objects = as_object_array(plain.ravel()).reshape(y.shape) if y.dtype.kind in "mM" else plain.astype(object)
    objects[np.ma.getmaskarray(y)] = None
    return objects


def _read_list(items: list[Any]) -> Raw:
    return Texts.make(items) if any(issubclass(kind, str) for kind in set(map(type, items))) else read_cells(items)


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
    for row, said in enumerate(items):
        if isinstance(said, tuple):
            intervals.append(said)
            interval_rows.append(row)
        elif isinstance(said, (set, frozenset)):
            if not said:
                raise RowError("a candidate set must not be empty.", row)
            members.extend(said)
            member_rows.extend(repeat(row, len(said)))
        elif isinstance(said, list) or (isinstance(said, np.ndarray) and said.ndim):
            raise RowError(f"{_NO_LISTS} Got {one_line(said)}.", row)
        else:
            scalar = said.item() if isinstance(said, np.ndarray) else said
            members.append(None if said is np.ma.masked else scalar)
            member_rows.append(row)
    return Candidates(
        None,
        len(items),
        numbers_if_possible(as_object_array(members)),
        np.array(member_rows, dtype=np.intp),
        Intervals.from_tuples(intervals, interval_rows),
        np.array(interval_rows, dtype=np.intp),
    )


def _sets(rows: list[Any]) -> list[Any]:
    """Rows of a column of lists, which hold candidates as they do in files."""
    return [None if is_missing(row) else set(row) for row in rows]


def _read_pandas(y: Any, pandas: Any) -> Raw:
    dtype = y.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        codes = y.cat.codes if isinstance(y, pandas.Series) else y.codes
        return Coded.make(dtype.categories, codes, ordered=dtype.ordered)
    if isinstance(dtype, pandas.IntervalDtype):
        if dtype.subtype.kind not in "iuf":
            raise ValueError(f"an interval column must hold numbers. Got {dtype} instead.")
        array = y.array if hasattr(y, "array") else y
        left = np.asarray(array.left, dtype=np.float64)
        right = np.asarray(array.right, dtype=np.float64)
        return Ranges(None, left, right, array.closed in ("left", "both"), array.closed in ("right", "both"))
    if dtype.kind in "iufb" and isinstance(dtype, np.dtype):
        return Exact(None, np.asarray(y))
    if str(dtype).startswith(("list<", "large_list<")):  # pyarrow's
        return read_cells(_sets(np.asarray(y, dtype=object).tolist()))
    return _read_list(np.asarray(y, dtype=object).tolist())


def _read_columns(columns: list[Raw]) -> Raw:
    if len(columns) == 1:
        return columns[0]
    columns = [column.as_exact() if isinstance(column, (Coded, Texts)) else column for column in columns]
    if columns and all(isinstance(column, Exact) and column.values.dtype.kind == "b" for column in columns):
        return Mask(None, np.column_stack([column.values_present() for column in columns]))
    if len(columns) != 2 or not all(isinstance(column, Exact) for column in columns):
        raise ValueError(
            f"a frame of labels has one column (labels), two ([lower, upper], one label in each) or a boolean one for "
            f"every class. Got {len(columns)} columns."
        )
    lower, upper = columns
    assert isinstance(lower, Exact)
    assert isinstance(upper, Exact)
    if lower.order is not None and upper.order is not None and list(lower.order) != list(upper.order):
        raise ValueError(
            f"the columns [lower, upper] must have the same categories. "
            f"Got {list(lower.order)} and {list(upper.order)}."
        )
    order = lower.order if lower.order is not None else upper.order
    if lower.values.dtype.kind in "iufb" and upper.values.dtype.kind in "iufb":
        stacked = np.column_stack([lower.values, upper.values])
        rounds = stacked.dtype.kind == "f" and lower.values.dtype != upper.values.dtype
        if not rounds or not np.any(np.abs(stacked[np.isfinite(stacked)]) >= EXACT_IN_FLOAT):
            return Intervals(order, stacked)
    ends = np.empty((lower.values.size, 2), dtype=object)
    ends[:, 0], ends[:, 1] = lower.values.tolist(), upper.values.tolist()
    return Intervals.from_flat(order, ends.ravel())


def _read_polars(y: Any, polars: Any) -> Raw:
    if isinstance(y, polars.DataFrame):
        return _read_columns([_read_polars(column, polars) for column in y.get_columns()])
    if isinstance(y.dtype, polars.Enum):
        return Coded.make(y.dtype.categories, y.to_physical().cast(polars.Int64).fill_null(-1).to_numpy(), ordered=True)
    if y.dtype == polars.List:
        return read_cells(_sets(y.to_list()))
    if y.dtype == polars.Array:
        return _read_array(y.to_numpy())
    if y.dtype.is_numeric() and y.null_count() == 0 and not str(y.dtype).endswith("128"):  # NumPy has none
        return Exact(None, y.to_numpy())
    return _read_list(y.to_list())


def _read_pyarrow(y: Any, pyarrow: Any) -> Raw:
    if isinstance(y, (pyarrow.Table, pyarrow.RecordBatch)):
        return _read_columns([_read_pyarrow(column, pyarrow) for column in y.columns])
    if isinstance(y, pyarrow.ChunkedArray):
        y = y.unify_dictionaries().combine_chunks()
        if isinstance(y, pyarrow.ChunkedArray):  # no chunks at all
            y = pyarrow.array([], type=y.type)
    if isinstance(y, pyarrow.DictionaryArray):
        codes = y.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return Coded.make(y.dictionary.to_pylist(), codes, ordered=y.type.ordered)
    if (pyarrow.types.is_integer(y.type) or pyarrow.types.is_floating(y.type)) and y.null_count == 0:
        return Exact(None, y.to_numpy(zero_copy_only=False))
    if pyarrow.types.is_list(y.type) or pyarrow.types.is_large_list(y.type):
        return read_cells(_sets(y.to_pylist()))
    if pyarrow.types.is_fixed_size_list(y.type) and y.null_count == 0:
        return _read_array(np.array(y.to_pylist()))
    return _read_list(y.to_pylist())
