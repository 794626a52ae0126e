"""Containers of annotations: what does ``y`` hold, before any class has a code.

pandas, polars and pyarrow are recognised without being imported: an object of theirs can only exist if the caller has
imported them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from rankwise.labels._order import as_object_array, is_missing, tidy


@dataclass(frozen=True, eq=False)
class Raw:
    """What a container holds; ``order`` is the class order it carries, if any."""

    order: Sequence[Any] | None

    def values_present(self) -> NDArray[Any]:
        """Every value that occurs as a label, in a 1-D array."""
        raise NotImplementedError


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
        return self.categories[np.unique(self.codes[self.codes >= 0])]

    @staticmethod
    def make(categories: Sequence[Any], codes: Any, *, ordered: bool) -> Coded:
        values = tidy(as_object_array(categories))
        return Coded(values if ordered else None, values, np.asarray(codes, dtype=np.intp))

    def as_exact(self) -> Exact:
        """Values in place of numbers."""
        values = as_object_array([None if code < 0 else self.categories[code] for code in self.codes.tolist()])
        return Exact(self.order, values)


@dataclass(frozen=True, eq=False)
class Intervals(Raw):
    """Two values a row, both included."""

    ends: NDArray[Any]

    def __len__(self) -> int:
        return int(self.ends.shape[0])

    def values_present(self) -> NDArray[Any]:
        return self.ends.ravel()

    @staticmethod
    def from_rows(rows: Sequence[Any], first_row: int = 0) -> Intervals:
        """Read tuples ``(lower, upper)``."""
        for row, ends in enumerate(rows, start=first_row):
            if len(ends) != 2:
                raise ValueError(f"row {row}: an interval is a tuple (lower, upper). Got {ends!r} instead.")
        flat = as_object_array(end for ends in rows for end in ends)
        return Intervals(None, _numbers_if_possible(flat).reshape(-1, 2))


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
        ends = np.concatenate([self.left, self.right])
        ends = ends[np.isfinite(ends)]
        return ends.astype(np.int64) if np.all(ends == np.floor(ends)) else ends


@dataclass(frozen=True, eq=False)
class Candidates(Raw):
    """A set of values a row (as an array), or a tuple for an interval."""

    rows: list[Any]

    def __len__(self) -> int:
        return len(self.rows)

    def values_present(self) -> NDArray[Any]:
        return tidy(as_object_array(v for said in self.rows for v in said if not is_missing(v)))


@dataclass(frozen=True, eq=False)
class Mask(Raw):
    """Boolean (n, K): the admissible classes of each row."""

    mask: NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.mask.shape[0])

    def values_present(self) -> NDArray[Any]:
        return np.arange(self.mask.shape[1])


def read(y: Any) -> Raw:
    """Say what a container of annotations holds."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if polars is not None and isinstance(y, (polars.Series, polars.DataFrame)):
        return _read_polars(y, polars)
    if pyarrow is not None and isinstance(y, (pyarrow.Array, pyarrow.ChunkedArray, pyarrow.Table)):
        return _read_pyarrow(y, pyarrow)
    if pandas is not None:
        if isinstance(y, pandas.DataFrame):
            return _read_columns([_read_pandas(y.iloc[:, j], pandas) for j in range(y.shape[1])])
        if isinstance(y, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)):
            return _read_pandas(y, pandas)
    if isinstance(y, np.ma.MaskedArray):
        return _read_array(np.where(np.ma.getmaskarray(y), None, y.data.astype(object)))
    if isinstance(y, np.ndarray):
        return _read_array(y)
    if hasattr(y, "__array__"):
        return _read_array(np.asarray(y))
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise ValueError(f"y should be a 1d array: a list or array of labels. Got {y!r} instead.")
    return _read_list(list(y))


def _read_array(y: NDArray[Any]) -> Raw:
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be numbers, strings or the like.")
    if y.ndim == 1:
        if y.dtype.kind == "O":
            return _read_list(y.tolist())
        return Exact(None, y)
    if y.ndim == 2 and y.dtype.kind == "b":
        return Mask(None, y)
    if y.ndim == 2 and y.shape[1] == 2:
        return Intervals(None, _numbers_if_possible(y.ravel()).reshape(-1, 2) if y.dtype.kind == "O" else y)
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples, ), for example using ravel().",
            DataConversionWarning,
            stacklevel=2,
        )
        return _read_array(y.ravel())
    raise ValueError(
        f"y should be a 1d array of labels, an (n, 2) array of intervals or a boolean (n, K) candidate mask; "
        f"bad input shape {y.shape} of type {y.dtype}."
    )


def _read_list(items: list[Any]) -> Raw:
    nested = [isinstance(v, (tuple, list, set, frozenset, np.ndarray)) for v in items]
    if not any(nested):
        return Exact(None, _numbers_if_possible(as_object_array(items)))
    if all(isinstance(v, tuple) for v in items) or all(_is_pair(v) for v in items):
        return Intervals.from_rows(items)
    rows: list[Any] = []
    for row, (said, is_nested) in enumerate(zip(items, nested, strict=True)):
        if isinstance(said, tuple):
            rows.append(Intervals.from_rows([said], row) and said)
        elif is_nested:
            rows.append(_numbers_if_possible(as_object_array(said)))
            if rows[-1].size == 0:
                raise ValueError(f"row {row}: a candidate set must not be empty.")
        else:
            rows.append(_numbers_if_possible(as_object_array([said])))
    return Candidates(None, rows)


def _is_pair(said: Any) -> bool:
    """Return whether a row could be one of an (n, 2) table written as nested lists, as NumPy would read it."""
    return isinstance(said, (tuple, list, np.ndarray)) and len(said) == 2 and not any(map(np.ndim, said))


def _numbers_if_possible(values: NDArray[Any]) -> NDArray[Any]:
    """Object array of numbers, None and NaN -> float array with NaN; anything else stays what it is."""
    tidied = tidy(values)
    if tidied.dtype.kind != "O":
        return tidied
    missing = np.fromiter((is_missing(v) for v in values.tolist()), dtype=bool, count=values.size)
    present = tidy(values[~missing])
    if present.size and present.dtype.kind in "if":
        out = np.full(values.size, np.nan)
        out[~missing] = present
        return out
    if missing.all():
        return np.full(values.size, np.nan)
    return values


def _read_pandas(y: Any, pandas: Any) -> Raw:
    dtype = y.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        codes = y.cat.codes if isinstance(y, pandas.Series) else y.codes
        return Coded.make(dtype.categories, codes, ordered=dtype.ordered)
    if isinstance(dtype, pandas.IntervalDtype):
        array = y.array if hasattr(y, "array") else y
        left = np.asarray(array.left, dtype=np.float64)
        right = np.asarray(array.right, dtype=np.float64)
        return Ranges(None, left, right, array.closed in ("left", "both"), array.closed in ("right", "both"))
    if dtype.kind in "iufb" and isinstance(dtype, np.dtype):
        return Exact(None, np.asarray(y))
    return _read_list(np.asarray(y, dtype=object).tolist())


def _read_columns(columns: list[Raw]) -> Raw:
    if len(columns) == 1:
        return columns[0]
    columns = [column.as_exact() if isinstance(column, Coded) else column for column in columns]
    if len(columns) != 2 or not all(isinstance(column, Exact) for column in columns):
        raise ValueError(
            f"a frame of labels has one column (labels) or two ([lower, upper]). Got {len(columns)} columns."
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
        return Intervals(order, np.column_stack([lower.values, upper.values]))
    ends = np.empty((lower.values.size, 2), dtype=object)
    ends[:, 0], ends[:, 1] = lower.values.tolist(), upper.values.tolist()
    return Intervals(order, ends)


def _read_polars(y: Any, polars: Any) -> Raw:
    if isinstance(y, polars.DataFrame):
        return _read_columns([_read_polars(column, polars) for column in y.get_columns()])
    if isinstance(y.dtype, polars.Enum):
        return Coded.make(y.dtype.categories, y.to_physical().cast(polars.Int64).fill_null(-1).to_numpy(), ordered=True)
    if y.dtype.is_numeric() and y.null_count() == 0:
        return Exact(None, y.to_numpy())
    return _read_list(y.to_list())


def _read_pyarrow(y: Any, pyarrow: Any) -> Raw:
    if isinstance(y, pyarrow.Table):
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
    return _read_list(y.to_pylist())
