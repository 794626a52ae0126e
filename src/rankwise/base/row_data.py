"""Rows of features on their way into a kernel: arrays and CSR matrices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._kernels.sparse import require_sound
from rankwise._masks import unmasked
from rankwise._sklearn import take_rows

_SAMPLED_ROWS = 500  # from which the scales of the columns are estimated
_FEW = 1 << 16  # entries that are converted faster than a kernel for their types is compiled

Rows = Any  # a C-contiguous 2-D array, or the tuple (data, indices, indptr) of a CSR matrix


class _Alias:
    """The memory of an array with an interface that declares it writable."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.keep = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def for_kernel(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory, marked writable, so that a read-only array does not make numba compile a second version.

    Kernels never write to their inputs.
    """
    return array if array.flags.writeable else np.asarray(_Alias(array))


def kernel_rows(X: Any) -> Rows:
    """2-D array or CSR matrix, with indices checked by ``require_sound``, in the form that the row operations read.

    Kernels read float32 and wide indices too, and give the same bits for them. Small inputs are converted: that takes
    microseconds, while compiling a kernel for their types takes seconds.
    """
    if not sparse.issparse(X):
        return for_kernel(np.ascontiguousarray(X, dtype=np.float64 if X.size <= _FEW else None))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.nnz > _FEW or X.shape[0] > _FEW:
        return for_kernel(X.data), for_kernel(X.indices), for_kernel(X.indptr)
    index = np.int32 if X.shape[1] <= np.iinfo(np.int32).max else np.int64
    types = (np.float64, index, index)
    data, indices, indptr = (np.asarray(a, dtype=t) for a, t in zip((X.data, X.indices, X.indptr), types, strict=True))
    return for_kernel(data), for_kernel(indices), for_kernel(indptr)


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
    return first_row(rows, ~np.isfinite(values))  # none, if the sum alone was too large


def first_row(rows: Rows, entries: NDArray[np.bool_]) -> int:
    """First row with one of these entries, among all that are stored; -1 if there is none."""
    if not entries.any():
        return -1
    place = int(np.argmax(entries))
    return int(np.searchsorted(rows[2], place, side="right")) - 1 if isinstance(rows, tuple) else place // rows.shape[1]


def far_scales(rows: Rows, most: float) -> tuple[int, float, int, float] | None:
    """Column and scale of the largest and the smallest scale in some rows, if their ratio exceeds ``most``.

    The scale is the root mean square of the nonzero entries, so indicators have scale 1, also rare ones.
    """
    n = length(rows)
    if isinstance(rows, tuple):
        data, indices, indptr = rows
        stop = int(indptr[min(n, _SAMPLED_ROWS)])
        values, columns = np.asarray(data[:stop], dtype=np.float64), indices[:stop]
    else:
        sample = rows[:: max(1, n // _SAMPLED_ROWS)]
        values, columns = sample.ravel().astype(np.float64), np.tile(np.arange(rows.shape[1]), sample.shape[0])
    usable = (values != 0.0) & np.isfinite(values)
    if not usable.any():
        return None
    with np.errstate(over="ignore", under="ignore"):
        squares = np.bincount(columns[usable], values[usable] ** 2)
    counts = np.bincount(columns[usable])
    scales = np.sqrt(np.divide(squares, counts, out=np.zeros(counts.size), where=counts > 0))
    used = np.flatnonzero(scales > 0.0)
    if used.size == 0:
        return None
    large, small = used[np.argmax(scales[used])], used[np.argmin(scales[used])]
    if scales[large] <= most * scales[small]:
        return None
    return int(large), float(scales[large]), int(small), float(scales[small])


def refuse_lazy(X: Any) -> None:
    """Refuse a polars LazyFrame, whose rows are not computed yet."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, whose rows are not computed yet: give X.collect().")


def indexable(X: Any) -> Any:
    """X in a container whose rows can be taken: a frame, a list, an array in the machine's byte order, a CSR matrix."""
    refuse_lazy(X)
    X = unmasked(X)
    if sparse.issparse(X):
        return require_sound(X).tocsr()
    if hasattr(X, "iloc") or hasattr(X, "schema"):
        return _in_native_order(X) if hasattr(X, "columns") and hasattr(X, "iloc") else X
    if isinstance(X, (list, tuple)):
        return X
    array = np.asarray(X)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def row_count(X: Any) -> int:
    """Number of rows of an array, a frame, a sparse matrix or a list."""
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def rows_at(X: Any, rows: Any) -> Any:
    """Some rows of a table or matrix; of an Arrow table too, which not every scikit-learn can index."""
    return X.take(rows) if hasattr(X, "schema") and hasattr(X, "take") else take_rows(X, rows)


def _in_native_order(frame: Any) -> Any:
    """A pandas frame without columns in the other byte order, of which pandas can take no rows."""
    foreign = [name for name, dtype in frame.dtypes.items() if not getattr(dtype, "isnative", True)]
    return frame.astype({name: frame.dtypes[name].newbyteorder("=") for name in foreign}) if foreign else frame


def first_text_column(X: Any) -> tuple[Any, Any] | None:
    """Name and first text of the first column of a frame that holds text, if there is one."""
    for name in getattr(X, "columns", ()):
        for value in np.asarray(X[name]).tolist() if isinstance(name, str) else ():
            if isinstance(value, str):
                return name, value
    return None
