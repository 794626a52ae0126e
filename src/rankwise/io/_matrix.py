"""Columns of numbers -> rows of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from rankwise.io._row_batch import Batch
from rankwise.io._table_errors import TableError, place

#: Rows copied at a time: their part of the matrix stays in the cache while it is filled column by column.
_ROWS_AT_A_TIME = 4096


def numeric_matrix(
    batch: Any, names: Sequence[str], dtype: DTypeLike = np.float64, *, out: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Columns of numbers as a C-contiguous matrix, missing values as NaN.

    Parameters
    ----------
    batch : Batch or pyarrow.RecordBatch
        Some rows.
    names : list of str
        Columns, in the order they get in the matrix: whole or floating numbers or booleans.
    dtype : float64 or float32
        Type of the matrix.
    out : array of at least as many rows, optional
        Memory to reuse from batch to batch; the result is its first rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rankwise.io import numeric_matrix
    >>> numeric_matrix(pa.record_batch({"a": [1, 2], "b": [0.5, None]}), ["b", "a"])
    array([[0.5, 1. ],
           [nan, 2. ]])
    """
    data = batch.data if isinstance(batch, Batch) else batch
    columns = [_numbers(data, name, batch) for name in names]
    n = data.num_rows
    matrix = np.empty((n, len(columns)), dtype=dtype) if out is None else out[:n]
    for start in range(0, n, _ROWS_AT_A_TIME):
        stop = start + _ROWS_AT_A_TIME
        for j, column in enumerate(columns):
            matrix[start:stop, j] = column[start:stop]
    return matrix


def _numbers(data: Any, name: str, batch: Any) -> NDArray[Any]:
    place_in = data.schema.get_field_index(name)
    where = f"{place(batch.file)}: " if isinstance(batch, Batch) else ""
    if place_in < 0:
        raise TableError(f"{where}there is no column {name!r}. The columns are {data.schema.names}.")
    column = data.column(place_in)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pa.types.is_null(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise TableError(f"{where}column {name!r} must hold numbers. It holds {column.type} values.")
    return np.asarray(column.to_numpy(zero_copy_only=False))
