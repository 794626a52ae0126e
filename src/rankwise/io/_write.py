"""Tables written in batches, whole or not at all: under a temporary name, on the disk, then renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from rankwise._files import FORMATS, SUFFIXES, replacing
from rankwise.io._input_files import split_suffix
from rankwise.io._row_batch import Batch
from rankwise.io._table_errors import TableError, place, shown, translated


class TableWriter:
    """Write a table batch by batch; the file appears when the ``with`` block ends, complete, or not at all.

    Parameters
    ----------
    path : path
        File to write; one that is there is replaced. Its suffix says the format, and .gz or .zst the compression.
    schema : pyarrow.Schema, optional
        Columns and types. Without it those of the first batch.
    format : str, optional
        Format, if the suffix does not say it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pyarrow as pa
    >>> from rankwise.io import TableWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "grades.csv"
    ...     with TableWriter(path) as writer:
    ...         writer.write(pa.record_batch({"size": [1.5], "grade": ["3-5"]}))
    ...     print(path.read_text())
    "size","grade"
    1.5,"3-5"
    <BLANKLINE>
    """

    def __init__(self, path: str | os.PathLike[str], schema: Any = None, *, format: str | None = None) -> None:
        self._path = Path(path)
        by_name, self._compression = split_suffix(self._path)
        if format is not None and format not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)} or None. Got {format!r} instead.")
        chosen = format or by_name
        if chosen is None:
            raise TableError(
                f"{place(str(path))}: its name does not say the format to write. Known suffixes are "
                f"{', '.join(SUFFIXES)}, each alone or with .gz or .zst."
            )
        if chosen == "parquet" and self._compression is not None:
            raise TableError(f"{place(str(path))}: a Parquet file is compressed inside. Leave out {self._path.suffix}.")
        self.format = chosen
        self._schema = schema
        self._sink: Any = None
        self._body: _Body | None = None

    def __enter__(self) -> TableWriter:
        name = str(self._path)
        if self._path.is_dir():
            raise TableError(f"{place(name)}: cannot write it: there is a directory of that name.")
        if not self._path.parent.is_dir():
            raise TableError(f"{place(name)}: cannot write it: there is no directory {self._path.parent}.")
        self._whole = replacing(self._path)
        with translated(name, "write it"):
            temporary = self._whole.__enter__()
        try:
            with translated(name, "write it"):
                self._file = pa.OSFile(os.fsencode(temporary), "wb")  # names need not be UTF-8
                self._sink = self._file
                if self._compression is not None:
                    self._sink = pa.CompressedOutputStream(self._file, self._compression)
                if self._schema is not None:
                    self._begin(self._schema)
        except BaseException:
            self._abandon()
            raise
        return self

    def write(self, rows: Any) -> None:
        """Write some more rows.

        Parameters
        ----------
        rows : pyarrow.RecordBatch, pyarrow.Table or Batch
            Rows with the columns of the schema; for an svmlight file a Batch that holds a matrix and labels.
        """
        if isinstance(rows, Batch) and not sparse.issparse(rows.data):
            rows = rows.data
        is_matrix = isinstance(rows, Batch)
        if is_matrix != (self.format == "svmlight"):
            rule = "is written from a matrix and labels" if self.format == "svmlight" else "is written from columns"
            raise TableError(f"{place(str(self._path))}: a {self.format} file {rule}.")
        with translated(str(self._path), "write it"):
            if self._body is None:
                self._begin(None if is_matrix else rows.schema)
            assert self._body is not None
            if not is_matrix and rows.schema.names != self._schema.names:
                raise TableError(
                    f"{place(str(self._path))}: all rows must have the columns {shown(self._schema.names)}. "
                    f"Got {shown(rows.schema.names)}."
                )
            self._body.write(rows if is_matrix or rows.schema == self._schema else rows.cast(self._schema))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._abandon()
            return
        try:
            with translated(str(self._path), "write it"):
                if self._body is None and self.format == "svmlight":
                    self._begin(None)
                if self._body is None:
                    raise TableError(f"{place(str(self._path))}: no rows and no columns were given to write.")
                self._body.close()
                self._sink.close()
                self._file.close()
                self._whole.__exit__(None, None, None)
        except BaseException:
            self._abandon()
            raise

    def _begin(self, schema: Any) -> None:
        self._schema = schema
        if self.format in ("csv", "tsv"):
            delimiter = "\t" if self.format == "tsv" else ","
            self._body = arrow_csv.CSVWriter(
                self._sink, schema, write_options=arrow_csv.WriteOptions(delimiter=delimiter)
            )
        elif self.format == "parquet":
            self._body = arrow_parquet.ParquetWriter(self._sink, schema)
        elif self.format == "arrow":
            is_stream = ".arrows" in self._path.suffixes or self._compression is not None
            make = pa.ipc.new_stream if is_stream else pa.ipc.new_file
            self._body = make(self._sink, schema)
        else:
            self._body = _JSONLines(self._sink) if self.format == "jsonl" else _SVMLight(self._sink)

    def _abandon(self) -> None:
        """Close everything, whatever it says, and leave nothing behind."""
        for opened in (self._body, self._sink, getattr(self, "_file", None)):
            with suppress(Exception):
                if opened is not None:
                    opened.close()
        self._whole.__exit__(GeneratorExit, GeneratorExit(), None)


def write_table(
    path: str | os.PathLike[str], batches: Iterable[Any], *, schema: Any = None, format: str | None = None
) -> int:
    """Write batches as one file, whole or not at all; return the number of rows.

    Parameters
    ----------
    path, schema, format
        As in :class:`TableWriter`.
    batches : iterable of pyarrow.RecordBatch or Batch
        The rows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pyarrow as pa
    >>> from rankwise.io import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pathlib.Path(folder) / "sizes.parquet", [pa.record_batch({"size": [1.5, 2.5]})])
    2
    """
    n = 0
    with TableWriter(path, schema, format=format) as writer:
        for batch in batches:
            writer.write(batch)
            n += len(batch) if isinstance(batch, Batch) else batch.num_rows
    return n


def append_column(batch: Batch, name: str, values: Any) -> Any:
    """The raw rows of a batch with a column more, as a record batch: what ``predict`` writes.

    Parameters
    ----------
    batch : Batch
        Some rows. Of an svmlight file only the labels are kept, as the column ``label``.
    name : str
        Name of the new column, which must not be there yet.
    values : array-like
        One value for every row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rankwise.io import Batch, append_column
    >>> append_column(Batch(pa.record_batch({"size": [1.5]}), "sizes.csv", 1), "prediction", [3]).to_pylist()
    [{'size': 1.5, 'prediction': 3}]
    """
    data = batch.data
    if batch.labels is not None:
        data = pa.record_batch({"label": pa.array(batch.labels)})
    if name in data.schema.names:
        raise TableError(f"{place(batch.file)}: has a column {name!r} already.")
    column = pa.array(values)
    return pa.RecordBatch.from_arrays([*data.columns, column], names=[*data.schema.names, name])


class _Body(Protocol):
    """What writes rows of one format into a stream of bytes."""

    def write(self, rows: Any) -> None: ...
    def close(self) -> None: ...


class _JSONLines:
    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def write(self, rows: Any) -> None:
        lines = (json.dumps(_finite(row), ensure_ascii=False, default=str) for row in rows.to_pylist())
        self._sink.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        self._sink.flush()


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinities: they become null."""
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value


class _SVMLight:
    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def write(self, batch: Batch) -> None:
        lines = BytesIO()
        dump_svmlight_file(batch.data, np.zeros(len(batch)), lines, zero_based=False)
        rows = [line for line in lines.getvalue().splitlines() if not line.startswith(b"#")]
        labels = batch.labels.tolist() if isinstance(batch.labels, np.ndarray) else batch.labels
        written = (_svmlight_label(label).encode() + row[1:] + b"\n" for label, row in zip(labels, rows, strict=True))
        self._sink.write(b"".join(written))

    def close(self) -> None:
        self._sink.flush()


def _svmlight_label(label: Any) -> str:
    """A number, or several with commas; NaN where a label says nothing."""
    if isinstance(label, (tuple, list)):
        return ",".join(map(_svmlight_label, label))
    return "nan" if label is None else f"{label:.17g}"
