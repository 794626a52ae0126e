"""Parquet and Arrow files: columns with types of their own."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as arrow_parquet

from rankwise.io.input_files import ByteStream, File
from rankwise.io.row_batch import Batch
from rankwise.io.table_errors import TableError, place, translated

_READ_AHEAD = 256 << 10  # bytes of each column
_MAGIC = b"ARROW1\0\0"


class ColumnFile:
    """A file of columns, read in pieces; with ``keep`` it stays open until the first pass."""

    format_name: str
    schema: Any  #: columns to read
    n_rows: int | None = None

    def __init__(self, file: File, batch_rows: int, keep: bool) -> None:
        self.file, self.batch_rows = file, batch_rows
        self.n_rows_seen = 0
        self._begun: list[Any] = []  # shared with copies: the first reader takes it
        with translated(file.name, f"read it as {self.format_name}"):
            stream, reader, schema = self._look()
            self.fields = distinct_fields(file, schema)
        if keep:
            self._begun.append((stream, reader))
        else:
            stream.raw.close()

    def _look(self) -> tuple[ByteStream, Any, Any]:
        """The open file, its reader and its columns."""
        raise NotImplementedError  # each format has its own

    def _pieces(self, stream: ByteStream, reader: Any, skip: int) -> tuple[Iterator[Any], int]:
        """Record batches, and the number of rows before them, which is at most ``skip``."""
        raise NotImplementedError  # each format has its own

    def batches(self, skip: int) -> Iterator[Batch]:
        """Batches behind the first ``skip`` rows."""
        with translated(self.file.name, f"read it as {self.format_name}"):
            stream, reader = self._begun.pop() if self._begun else (ByteStream(self.file), None)
        with stream:
            with translated(self.file.name, f"read it as {self.format_name}"):
                pieces, row = self._pieces(stream, reader, skip)
            while True:
                with translated(self.file.name, f"read its rows behind row {row}"):
                    data = next(pieces, None)
                    if data is None:
                        break
                    data.validate(full=True)  # lengths and UTF-8 of a damaged file cannot be trusted
                    data = data.select(self.schema.names)
                first, row = row, row + data.num_rows
                for start in range(max(0, skip - first), data.num_rows, self.batch_rows):
                    some = data.slice(start, self.batch_rows)
                    end = first + start + some.num_rows
                    position = stream.position if self.n_rows is None else self.file.n_bytes * end // self.n_rows
                    yield Batch(some, self.file.name, first + start + 1, end, position)
        self.n_rows_seen = row
        if self.n_rows is not None and row != self.n_rows:
            raise TableError(f"{place(self.file.name)}: must hold {self.n_rows} rows as it says. Got {row}.")


class ParquetFile(ColumnFile):
    """A Parquet file, read by row groups; groups within the rows to skip are not read."""

    format_name = "Parquet"

    def _look(self) -> tuple[ByteStream, Any, Any]:
        stream = ByteStream(self.file)
        parquet = self._parsed(stream)
        self._groups = [parquet.metadata.row_group(i).num_rows for i in range(parquet.metadata.num_row_groups)]
        self.n_rows = sum(self._groups)
        return stream, parquet, parquet.schema_arrow

    def _pieces(self, stream: ByteStream, reader: Any, skip: int) -> tuple[Iterator[Any], int]:
        n_skipped = bisect_right(list(accumulate(self._groups)), skip)  # groups that end before the first row to read
        groups = range(n_skipped, len(self._groups))
        batches = (reader or self._parsed(stream)).iter_batches(
            self.batch_rows, groups, columns=self.schema.names, use_threads=False
        )
        return batches, sum(self._groups[:n_skipped])

    def _parsed(self, stream: ByteStream) -> Any:
        # Buffered reading keeps memory small: without it whole row groups are fetched at once.
        return arrow_parquet.ParquetFile(stream.raw, buffer_size=_READ_AHEAD, pre_buffer=False)


class ArrowFile(ColumnFile):
    """An Arrow IPC file or stream, read by record batches."""

    format_name = "Arrow IPC"
    _has_magic = False

    def _look(self) -> tuple[ByteStream, Any, Any]:
        stream = ByteStream(self.file)
        if self.file.compression is None:
            self._has_magic = stream.read(len(_MAGIC)) == _MAGIC
            if self._has_magic:
                pa.ipc.open_file(stream.raw)  # raises without a footer: the file was cut
                self.n_rows = arrow_dataset.IpcFileFormat().make_fragment(stream.raw).count_rows()
            stream.raw.seek(0)
            reader = self._opened(stream)
        else:  # cannot seek: try a stream, then a file
            try:
                reader = self._opened(stream)
            except pa.ArrowException:
                self._has_magic, stream = True, ByteStream(self.file)
                reader = self._opened(stream)
        return stream, reader, reader.schema

    def _pieces(self, stream: ByteStream, reader: Any, skip: int) -> tuple[Iterator[Any], int]:
        return iter(reader or self._opened(stream)), 0

    def _opened(self, stream: ByteStream) -> Any:
        """Reader of a stream; an Arrow file is a stream between a magic number and a footer."""
        if self._has_magic:
            stream.read(len(_MAGIC))
        return pa.ipc.open_stream(stream.arrow_stream)


def distinct_fields(file: File, schema: Any) -> dict[str, Any]:
    """Columns of a file by name; names must be distinct."""
    with translated(file.name, "read the names of its columns"):
        names = list(schema.names)
    name, times = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
    if times > 1:
        raise TableError(f"{place(file.name)}: the names of columns must be distinct. Got {name!r} more than once.")
    return {field.name: field for field in schema}
