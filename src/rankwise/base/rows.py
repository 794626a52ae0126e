"""Rows of features on their way into a kernel: arrays, CSR matrices, and dicts of named features."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Rows = Any  # a C-contiguous 2-D array, or the tuple (data, indices, indptr) of a CSR matrix

_ONE_ROW = np.zeros(2, dtype=np.int32)


class _Alias:
    """The memory of an array under an interface that calls it writable."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.keep = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def for_kernel(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory, marked writable, so that a read-only array does not make numba compile a second version.

    Kernels never write to their inputs.
    """
    return array if array.flags.writeable else np.asarray(_Alias(array))


def kernel_rows(X: Any) -> Rows:
    """Checked 2-D array or CSR matrix -> what the row operations read."""
    if not sparse.issparse(X):
        return for_kernel(np.ascontiguousarray(X))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    filled = np.flatnonzero(np.diff(X.indptr))
    ends = X.indices[X.indptr[filled + 1] - 1], X.indices[X.indptr[filled]]
    if filled.size and not (ends[0].max() < X.shape[1] and ends[1].min() >= 0):
        raise ValueError(f"the CSR matrix X has a column index outside 0..{X.shape[1] - 1}.")
    return for_kernel(X.data), for_kernel(X.indices), for_kernel(X.indptr)


def length(rows: Rows) -> int:
    """Number of rows."""
    return int(rows[2].size - 1 if isinstance(rows, tuple) else rows.shape[0])


def row_entries(rows: Rows, i: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Columns and values of the stored entries of row i."""
    if isinstance(rows, tuple):
        data, indices, indptr = rows
        return indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
    return np.arange(rows.shape[1]), rows[i]


def first_non_finite(rows: Rows) -> int:
    """First row with NaN or infinity, or -1."""
    values = rows[0] if isinstance(rows, tuple) else rows
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return -1
    bad = np.flatnonzero(~np.isfinite(values.ravel()))
    if bad.size == 0:  # the sum was too large, nothing in it
        return -1
    return (
        int(np.searchsorted(rows[2], bad[0], side="right")) - 1
        if isinstance(rows, tuple)
        else int(bad[0] // rows.shape[1])
    )


def largest_entry(rows: Rows) -> tuple[int, int, float]:
    """Row, column and value of the finite entry with the largest absolute value."""
    data = rows[0] if isinstance(rows, tuple) else rows.ravel()
    place = int(np.argmax(np.where(np.isfinite(data), np.abs(data), -1.0)))
    if isinstance(rows, tuple):
        return int(np.searchsorted(rows[2], place, side="right")) - 1, int(rows[1][place]), float(data[place])
    return place // rows.shape[1], place % rows.shape[1], float(data[place])


class FeatureIndex:
    """Column of every feature name; turns dicts into one-row CSR tuples and learns new names on the way.

    Streams nearly always repeat the same keys in the same order, so the columns of the last dict are kept. The values
    of a row are valid until the next row.
    """

    def __init__(self, names: Iterable[Hashable]) -> None:
        self.column: dict[Hashable, int] = {name: j for j, name in enumerate(names)}
        self._forget()

    def _forget(self) -> None:
        self._keys: tuple[Hashable, ...] | None = None
        self._all_known = False
        self._take: NDArray[np.intp] | None = None
        self._indices = np.empty(0, dtype=np.int32)
        self._indptr = _ONE_ROW
        self._resize(0)

    def _resize(self, n: int) -> None:
        # The fastest way from n Python numbers to n doubles in an array that exists already.
        self._values = np.zeros(n)
        self._memory = self._values.data
        self._pack = struct.Struct(f"{n}d").pack_into

    def __getstate__(self) -> dict[str, Any]:
        return {"column": self.column}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.column = state["column"]
        self._forget()

    def __len__(self) -> int:
        return len(self.column)

    def names(self) -> list[Hashable]:
        """Names in column order."""
        return list(self.column)

    def forget_after(self, n: int) -> None:
        """Keep the first n names only."""
        self.column = dict(list(self.column.items())[:n])
        self._forget()

    def row(self, x: Mapping[Hashable, Any], *, learn_names: bool) -> Rows:
        """One row; names that are not known get the next column if ``learn_names``, and are passed over otherwise."""
        try:
            keys = tuple(x)
            if keys != self._keys or (learn_names and not self._all_known):
                np.fromiter(x.values(), np.float64, len(keys))  # numbers, or no name is learnt
                self._study(keys, learn_names)
            self._pack(self._memory, 0, *x.values())
        except (TypeError, ValueError, AttributeError, struct.error):
            raise _bad_example(x) from None
        values = self._values if self._take is None else self._values[self._take]
        return values, self._indices, self._indptr

    def _study(self, keys: tuple[Hashable, ...], learn_names: bool) -> None:
        if learn_names:
            for key in keys:
                self.column.setdefault(key, len(self.column))
        columns = np.array([self.column.get(key, -1) for key in keys], dtype=np.int32)
        known = np.flatnonzero(columns >= 0)
        take = known[np.argsort(columns[known], kind="stable")]
        in_order = take.size == len(keys) and bool(np.all(take == np.arange(take.size)))
        self._keys, self._all_known = keys, known.size == len(keys)
        self._take = None if in_order else take
        self._indices = columns[take]
        self._resize(len(keys))
        self._indptr = np.array([0, take.size], dtype=np.int32)


def _bad_example(x: Any) -> Exception:
    """Say what is wrong with an example that is no row of numbers."""
    if not isinstance(x, Mapping):
        return TypeError(f"an example must be a dict, feature name -> number. Got a {type(x).__name__} instead.")
    for name, value in x.items():
        try:
            float(value)
        except (TypeError, ValueError):
            return ValueError(f"feature {name!r} must be a number. Got {value!r} instead.")
    return ValueError(f"features must be numbers. Got {dict(x)!r} instead.")


def first_text_column(X: Any) -> tuple[Any, Any] | None:
    """Name and first text of the first column of a frame that holds text, if there is one."""
    for name in getattr(X, "columns", ()):
        for value in np.asarray(X[name]).tolist() if isinstance(name, str) else ():
            if isinstance(value, str):
                return name, value
    return None
