"""Checks of the indices of sparse matrices, which kernels trust; scipy only checks lengths, when a matrix is made."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def require_sound(X: Any, name: str = "X") -> Any:
    """Refuse a sparse matrix whose indices point outside of it; return X, which may also be anything else.

    Indices are read once, at the speed of memory: a pass over the rows takes several times as long.
    """
    if not sparse.issparse(X) or X.ndim > 2:
        return X
    if X.format not in ("csr", "csc", "bsr", "coo"):
        X = X.tocoo()
    n_rows, n_columns = X.shape if X.ndim == 2 else (1, *X.shape)
    if X.format == "coo":
        axes = [("row", n_rows, X.coords[-2]), ("column", n_columns, X.coords[-1])][2 - X.ndim :]
        wrong = next(filter(None, (_outside(*axis) for axis in axes)), "")
        if not wrong and any(index.size != X.data.size for _, _, index in axes):
            wrong = f"{X.data.size} entries and {[index.size for _, _, index in axes]} places of them"
    else:
        height, width = X.blocksize if X.format == "bsr" else (1, 1)
        lines, across = (n_rows // height, n_columns // width)[:: -1 if X.format == "csc" else 1]
        wrong = _wrong_indptr(X.indptr, lines, min(X.indices.size, len(X.data)))
        wrong = wrong or _outside("row" if X.format == "csc" else "column", across, X.indices)
    if wrong:
        raise ValueError(f"the {X.format.upper()} matrix {name} has {wrong}.")
    return X


def _outside(axis: str, length: int, indices: NDArray[Any]) -> str:
    if indices.dtype not in (np.int32, np.int64):
        return f"{axis} indices of the type {indices.dtype}, which must be int32 or int64"
    # Read as unsigned, negative numbers are larger than any length, so one comparison is enough.
    if indices.size and int(indices.view(np.uint32 if indices.dtype == np.int32 else np.uint64).max()) >= length:
        bad = indices[(indices < 0) | (indices >= length)][0]
        return f"a {axis} index outside 0..{length - 1}: {bad}"
    return ""


def _wrong_indptr(indptr: NDArray[Any], n_lines: int, n_entries: int) -> str:
    if indptr.dtype not in (np.int32, np.int64) or indptr.shape != (n_lines + 1,):
        return f"an indptr of shape {indptr.shape} and type {indptr.dtype} for {n_lines} lines"
    if indptr[0] != 0 or indptr[-1] > n_entries:
        return f"an indptr from {indptr[0]} to {indptr[-1]} for {n_entries} entries: it must start at 0"
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    return f"an indptr that falls after line {falls[0]}" if falls.size else ""
