"""Tables written in batches, whole or not at all: under a temporary name, on the disk, then renamed."""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as arrow_parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from rankwise._files import FORMATS, SUFFIXES, replacing
from rankwise.io.input_files import split_suffix
from rankwise.io.row_batch import Batch
from rankwise.io.table_errors import TableError, place, shown, translated
from rankwise.io.text_files import TextStyle

if TYPE_CHECKING:
    from rankwise.io.table_reader import Table

_WRITTEN = ("parquet", "arrow", "csv", "tsv", "jsonl", "svmlight")  # formats that are not only read


class TableWriter:
    """Write a table batch by batch; the file appears when the ``with`` block ends, complete, or not at all.

    Parameters
    ----------
    path : path
        File to write; an existing one is replaced. Its suffix gives the format, and .gz or .zst the compression.
    schema : pyarrow.Schema, optional
        Columns and types. By default those of the first batch.
    format : str, optional
        Format, if it does not follow from the suffix.
    separator, decimal, encoding : str, optional
        How CSV is written, as in :func:`open_table`; JSON lines have an encoding too. By default a comma (in TSV a
        tab), a decimal point and UTF-8; ``utf-8-sig`` begins with a byte-order mark.

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
    size,grade
    1.5,3-5
    <BLANKLINE>
    """

    def __init__(
        self, path: str | os.PathLike[str], schema: Any = None, *, format: str | None = None,
        separator: str | None = None, decimal: str = ".", encoding: str | None = None,
    ) -> None:  # fmt: skip
        self._path = Path(path)
        by_name, self._compression = split_suffix(self._path)
        if format is not None and format not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)} or None. Got {format!r} instead.")
        chosen = format or by_name
        if chosen is None:
            raise TableError(
                f"{place(str(path))}: its name does not say the format to write. Known suffixes are "
                f"{', '.join(suffix for suffix in SUFFIXES if suffix != '.xlsx')}, each alone or with .gz or .zst."
            )
        if chosen not in _WRITTEN:
            kind = "Excel" if chosen == "xlsx" else chosen
            raise TableError(f"{place(str(path))}: {kind} files are read, but not written. Write CSV or Parquet.")
        if chosen == "parquet" and self._compression is not None:
            raise TableError(f"{place(str(path))}: a Parquet file is compressed inside. Leave out {self._path.suffix}.")
        self.format = chosen
        self._schema = schema
        self._style = TextStyle(separator, decimal, encoding)
        self._sink: Any = None
        self._body: Any = None

    def __enter__(self) -> TableWriter:
        name = str(self._path)
        if self._path.is_dir():
            raise TableError(f"{place(name)}: cannot write it: there is a directory of that name.")
        if not self._path.parent.is_dir():
            raise TableError(f"{place(name)}: cannot write it: there is no directory {self._path.parent}.")
        with translated(name, "write it"), ExitStack() as self._opened:
            temporary = self._opened.enter_context(replacing(self._path))
            self._sink = self._opened.enter_context(pa.OSFile(os.fsencode(temporary), "wb"))  # names need not be UTF-8
            if self._compression is not None:
                self._sink = self._opened.enter_context(pa.CompressedOutputStream(self._sink, self._compression))
            if self._schema is not None:
                self._begin(self._schema)
            self._opened = self._opened.pop_all()
        return self

    def write(self, rows: Any) -> None:
        """Write some more rows.

        Parameters
        ----------
        rows : pyarrow.RecordBatch, pyarrow.Table, Batch or Lines
            Rows with the columns of the schema; for an svmlight file a Batch that holds a matrix and labels; for a text
            file its lines, including the header of CSV.
        """
        if isinstance(rows, Batch) and not sparse.issparse(rows.data):
            rows = rows.data
        if isinstance(rows, Lines):
            if self._body is None:
                self._begin(None)
            with translated(str(self._path), "write it"):
                self._body.write(rows)
            return
        is_matrix = isinstance(rows, Batch)
        if is_matrix != (self.format == "svmlight"):
            rule = "is written from a matrix and labels" if self.format == "svmlight" else "is written from columns"
            raise TableError(f"{place(str(self._path))}: a {self.format} file {rule}.")
        with translated(str(self._path), "write it"):
            if self._body is None:
                self._begin(None if is_matrix else rows.schema)
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
            with suppress(Exception):  # errors of closing a file that is discarded do not matter
                self._opened.__exit__(kind, error, trace)
            return
        with translated(str(self._path), "write it"), self._opened:
            if self._body is None and self.format == "svmlight":
                self._begin(None)
            if self._body is None:
                raise TableError(f"{place(str(self._path))}: no rows and no columns were given to write.")

    def _begin(self, schema: Any) -> None:
        self._schema = schema
        if self.format == "parquet":
            self._body = arrow_parquet.ParquetWriter(self._sink, schema)
        elif self.format == "arrow":
            is_stream = ".arrows" in self._path.suffixes or self._compression is not None
            make = pa.ipc.new_stream if is_stream else pa.ipc.new_file
            self._body = make(self._sink, schema)
        else:
            self._body = TextBody(self._sink, self.format, () if schema is None else schema.names, self._style)
        self._opened.callback(self._body.close)


def write_table(
    path: str | os.PathLike[str], batches: Iterable[Any], *, schema: Any = None, format: str | None = None,
    **style: Any,
) -> int:  # fmt: skip
    """Write batches as one file, whole or not at all; return the number of rows.

    Parameters
    ----------
    path, schema, format, **style
        As in :class:`TableWriter`.
    batches : iterable of pyarrow.RecordBatch or Batch
        The rows.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from rankwise.io import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(f"{folder}/sizes.parquet", [pa.record_batch({"size": [1.5, 2.5]})])
    2
    """
    n = 0
    with TableWriter(path, schema, format=format, **style) as writer:
        for batch in batches:
            writer.write(batch)
            n += len(batch) if isinstance(batch, Batch) else batch.num_rows
    return n


def append_column(batch: Batch, name: str, values: Any) -> Any:
    """The raw rows of a batch with one more column, as a record batch: what ``predict`` writes.

    Parameters
    ----------
    batch : Batch
        Some rows. Of an svmlight file only the labels are kept, as the column ``label``.
    name : str
        Name of the new column, which must not exist yet.
    values : array-like
        One value for every row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rankwise.io import Batch, append_column
    >>> append_column(Batch(pa.record_batch({"size": [1.5]}), "sizes.csv", 1), "prediction", [3]).to_pylist()
    [{'size': 1.5, 'prediction': 3}]
    """
    return append_columns(batch, pa.record_batch({name: pa.array(values)}))


def append_columns(batch: Batch, more: Any) -> Any:
    """As :func:`append_column`, with the columns of a record batch."""
    data = batch.data
    if batch.labels is not None:
        data = pa.record_batch({"label": pa.array(batch.labels)})
    for name in more.schema.names:
        if name in data.schema.names:
            raise TableError(f"{place(batch.file)}: has a column {name!r} already.")
    return pa.RecordBatch.from_arrays([*data.columns, *more.columns], names=[*data.schema.names, *more.schema.names])


@dataclass(frozen=True)
class Lines:
    """Lines of a text file, ready to be written."""

    content: bytes
    num_rows: int


def appended_lines(table: Table, more: Any, batch: Batch | None = None, decimal: str = ".") -> Lines:
    """The rows of CSV or JSON lines, every character as in the file, and more columns; without a batch, the header."""
    if table.header is None:
        raise TableError(f"{place(table.files[0])}: its lines cannot be copied into one file.")
    texts = [table.header] if batch is None else batch.texts
    if table.format == "jsonl":
        texts = [] if batch is None else [text.strip()[:-1].rstrip() for text in texts]
        between = [b"" if text == b"{" else b", " for text in texts]
        new = [line[1:] for line in _json_rows(more)]
    else:
        delimiter = table.separator
        between = [delimiter.encode()] * len(texts)
        names = [pa.array([name]) for name in more.schema.names]
        new = _csv_rows(names if batch is None else more.columns, delimiter, decimal)
    lines = (text + mark + row.encode() + b"\n" for text, mark, row in zip(texts, between, new, strict=True))
    return Lines(b"".join(lines), 0 if batch is None else len(batch))


class TextBody:
    """Writer of rows of a text format into a stream of bytes; ``names`` are the columns of CSV, its first line."""

    def __init__(self, sink: Any, format: str, names: Sequence[str] = (), style: TextStyle | None = None) -> None:
        self._sink, style = sink, style or TextStyle()
        self._delimiter = style.separator or ("\t" if format == "tsv" else ",")
        self._encoder = codecs.getincrementalencoder(style.encoding or "utf-8")()
        others: dict[str, Callable[[Any], list[str]]] = {"jsonl": _json_rows, "svmlight": _svmlight_rows}
        self._rows = others.get(format, lambda rows: _csv_rows(rows.columns, self._delimiter, style.decimal))
        self._names = names if format in ("csv", "tsv") else ()

    def write(self, rows: Any) -> None:
        self._begin()
        self._sink.write(
            self._encoder.encode(rows.content.decode() if isinstance(rows, Lines) else _as_lines(self._rows(rows)))
        )

    def close(self) -> None:
        """Finish writing; the stream stays open."""
        self._begin()
        self._sink.flush()

    def _begin(self) -> None:
        names, self._names = self._names, ()
        if names:
            header = _as_lines(_csv_rows([pa.array([name]) for name in names], self._delimiter))
            self._sink.write(self._encoder.encode(header))


def _as_lines(rows: Iterable[str]) -> str:
    return "\n".join([*rows, ""])


def _csv_rows(columns: Sequence[Any], delimiter: str, decimal: str = ".") -> list[str]:
    """Rows of CSV, with quotes only where they are needed."""
    cells = [_cells(column, delimiter, decimal) for column in columns]
    if len(cells) == 1:  # an empty line is not a row
        cells = [cells[0].fill_null('""')]
    rows = _joined(*cells, delimiter, null_handling="replace", null_replacement="")
    return list(rows.to_pylist())


def _cells(column: Any, delimiter: str, decimal: str) -> Any:
    cells = column.cast(pa.large_string())
    if decimal != "." and (pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        cells = compute.replace_substring(cells, ".", decimal)
    if pa.types.is_primitive(column.type):  # numbers, booleans, dates: they never need quotes
        return cells
    special = f'["\r\n{re.escape(delimiter)}]'
    quoted = compute.or_(compute.match_substring_regex(cells, special), compute.equal(cells, ""))
    if not compute.any(quoted).as_py():
        return cells
    doubled = compute.replace_substring(cells, '"', '""')
    return compute.if_else(quoted, _joined('"', doubled, '"', ""), cells)


def _joined(*columns: Any, **options: Any) -> Any:
    large = [pa.scalar(column, pa.large_string()) if isinstance(column, str) else column for column in columns]
    return compute.binary_join_element_wise(*large, **options)


def _json_rows(rows: Any) -> list[str]:
    return [json.dumps(_finite(row), ensure_ascii=False, default=str) for row in rows.to_pylist()]


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinities: they become null."""
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value


def _svmlight_rows(batch: Batch) -> list[str]:
    lines = BytesIO()
    dump_svmlight_file(batch.data, np.zeros(len(batch)), lines, zero_based=False)
    rows = [line for line in lines.getvalue().decode().splitlines() if not line.startswith("#")]
    labels = batch.labels.tolist() if isinstance(batch.labels, np.ndarray) else batch.labels
    return [_svmlight_label(label) + row[1:] for label, row in zip(labels, rows, strict=True)]


def _svmlight_label(label: Any) -> str:
    """A number, or several with commas; NaN for a missing label."""
    if isinstance(label, (tuple, list)):
        return ",".join(map(_svmlight_label, label))
    return "nan" if label is None else f"{label:.17g}"
