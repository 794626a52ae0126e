"""Some rows of a table with their place in its files, and their numeric columns as a matrix."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from rankwise.io.table_errors import TableError, TableRowError, place

#: Rows copied at a time: this block of the matrix stays in the cache while it is filled column by column.
_ROWS_AT_A_TIME = 4096

#: Gets the file, the row from 1, the text of the row (or the wrong value) and the reason of every row left out.
Quarantine = Callable[[str, int, str, str], None]


def forget(file: str, row: int, text: str, reason: str) -> None:
    """Quarantine that drops the rows."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of one file, in their order.

    Attributes
    ----------
    data : pyarrow.RecordBatch or CSR matrix
        The rows; a matrix of features for svmlight files.
    file : str
        The file they come from.
    first_row : int
        Data row of the first of them in the file, from 1.
    end : int
        Rows of the table up to the end of this batch, those left out included: ``Table.batches(start_row=end)``
        continues after it.
    bytes_read : int
        Bytes of the table's files that have been read, of ``Table.n_bytes``.
    labels : array, list or None
        The labels of an svmlight file: numbers, or tuples of candidates where a row has several.
    rows : int64 array or None
        Data rows in the file, if some in between were left out.
    """

    data: Any
    file: str
    first_row: int
    end: int = 0
    bytes_read: int = 0
    labels: Any = None
    rows: NDArray[np.int64] | None = None
    _line: Callable[[int], int] | None = None
    _text: Callable[[NDArray[np.int64]], list[bytes]] | None = None

    def __len__(self) -> int:
        return int(self.data.num_rows if isinstance(self.data, pa.RecordBatch) else self.data.shape[0])

    def row_number(self, i: int) -> int:
        """Data row in the file, from 1, of the i-th row of the batch."""
        return self.first_row + i if self.rows is None else int(self.rows[i])

    def place(self, i: int) -> str:
        """Where the i-th row of the batch is: file, row, and line of a text file."""
        return place(self.file, self.row_number(i), self._line_of(i))

    def error(self, i: int, reason: str, column: Any = None, what: str = "") -> TableRowError:
        """Error about the i-th row of the batch; ``what`` names the columns to blame in the message."""
        return TableRowError(self.file, self.row_number(i), self._line_of(i), reason, column=column, what=what)

    def as_json(self, i: int) -> str:
        """The i-th row as text, for a quarantine."""
        if self.labels is not None:
            return json.dumps({"label": self.labels[i]}, default=str)
        return json.dumps(self.data.slice(i, 1).to_pylist()[0], default=str, ensure_ascii=False)

    def _line_of(self, i: int) -> int | None:
        return None if self._line is None else self._line(self.row_number(i))

    @property
    def texts(self) -> list[bytes]:
        """The rows of a text file, unchanged, without line ends."""
        assert self._text is not None
        return self._text(self._numbers)

    @property
    def _numbers(self) -> NDArray[np.int64]:
        return np.arange(len(self)) + self.first_row if self.rows is None else self.rows

    def slice(self, start: int, stop: int, end: int) -> Batch:
        """Rows start..stop-1 without a copy; ``end`` is that of the new batch."""
        labels = None if self.labels is None else self.labels[start:stop]
        rows = None if self.rows is None else self.rows[start:stop]
        data = self.data.slice(start, stop - start) if isinstance(self.data, pa.RecordBatch) else self.data[start:stop]
        return replace(self, data=data, first_row=self.row_number(start), end=end, labels=labels, rows=rows)

    def keep(self, mask: NDArray[np.bool_]) -> Batch:
        """The rows where the mask is true; each keeps its place."""
        return self.take(np.flatnonzero(mask))

    def take(self, kept: NDArray[np.intp]) -> Batch:
        """Some of the rows, in their order; each keeps its place."""
        if len(kept) == len(self):
            return self
        rows = self._numbers[kept]
        data = self.data.take(pa.array(kept)) if isinstance(self.data, pa.RecordBatch) else self.data[kept]
        labels = self.labels
        if labels is not None:
            labels = labels[kept] if isinstance(labels, np.ndarray) else [labels[i] for i in kept]
        first_row = int(rows[0]) if rows.size else self.first_row
        return replace(self, data=data, first_row=first_row, labels=labels, rows=rows)


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
    columns = [_numbers(batch, name) for name in names]
    n = data.num_rows
    matrix = np.empty((n, len(columns)), dtype=dtype) if out is None else out[:n]
    for start in range(0, n, _ROWS_AT_A_TIME):
        stop = start + _ROWS_AT_A_TIME
        for j, column in enumerate(columns):
            matrix[start:stop, j] = column[start:stop]
    return matrix


def column_of(batch: Any, name: str) -> Any:
    data, where = (batch.data, f"{place(batch.file)}: ") if isinstance(batch, Batch) else (batch, "")
    if name not in data.schema.names:
        raise TableError(f"{where}there is no column {name!r}. The columns are {data.schema.names}.")
    return data.column(name)


def _numbers(batch: Any, name: str) -> NDArray[Any]:
    column = column_of(batch, name)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pa.types.is_null(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        where = f"{place(batch.file)}: " if isinstance(batch, Batch) else ""
        raise TableError(f"{where}column {name!r} must hold numbers. It holds {column.type} values.")
    return np.asarray(column.to_numpy(zero_copy_only=False))
