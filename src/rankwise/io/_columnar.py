"""Parquet and Arrow files: columns with types of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as arrow_parquet

from rankwise.io._input_files import ByteStream, File, open_file
from rankwise.io._row_batch import Batch
from rankwise.io._table_errors import TableError, place, translated

_READ_AHEAD = 256 << 10  # bytes of each column
_MAGIC = b"ARROW1\0\0"


class ParquetFile:
    """A Parquet file: read row group by row group, columns as wanted.

    Parameters
    ----------
    file : File
        What to read.
    batch_rows : int
        Most rows of a batch.
    keep : bool
        Whether the file stays open until the first pass.
    """

    schema: Any  #: columns to read

    def __init__(self, file: File, batch_rows: int, keep: bool) -> None:
        self.file, self.batch_rows = file, batch_rows
        self._begun: list[Any] = []  # shared with copies: whoever reads first takes it
        raw = open_file(file)
        with translated(file.name, "read it as Parquet"):
            parquet = self._parsed(raw)
            self._groups = [parquet.metadata.row_group(i).num_rows for i in range(parquet.metadata.num_row_groups)]
            self.fields = distinct_fields(file, parquet.schema_arrow)
        self.n_rows = sum(self._groups)
        if keep:
            self._begun.append((raw, parquet))
        else:
            raw.close()

    def batches(self, skip: int) -> Iterator[Batch]:
        """Batches behind the first ``skip`` rows; whole row groups among them are not read."""
        row, group = 0, 0
        while group < len(self._groups) and row + self._groups[group] <= skip:
            row += self._groups[group]
            group += 1
        size = self.file.n_bytes
        raw, parquet = self._begun.pop() if self._begun else (open_file(self.file), None)
        with translated(self.file.name, "read it as Parquet"), closing(raw):
            rows = (parquet or self._parsed(raw)).iter_batches(
                self.batch_rows,
                row_groups=range(group, len(self._groups)),
                columns=self.schema.names,
                use_threads=False,
            )
            while True:
                with translated(self.file.name, f"read its rows behind row {row}"):
                    data = next(rows, None)
                    if data is None:
                        break
                    data = data.select(self.schema.names)
                    data.validate(full=True)  # text that is not UTF-8, for one, is not noticed by the reader
                first, row = row, row + data.num_rows
                if row > skip:
                    start = max(0, skip - first)
                    yield Batch(data.slice(start), self.file.name, first + start + 1, row, size * row // self.n_rows)
        if row != self.n_rows and self._groups[group:]:
            raise TableError(f"{place(self.file.name)}: must hold {self.n_rows} rows as it says. Got {row}.")

    def _parsed(self, raw: Any) -> Any:
        # Buffered reading keeps memory small: without it whole row groups are fetched at once.
        return arrow_parquet.ParquetFile(raw, buffer_size=_READ_AHEAD, pre_buffer=False)


class ArrowFile:
    """An Arrow IPC file or stream: read record batch by record batch, columns as wanted.

    Parameters as in :class:`ParquetFile`.
    """

    schema: Any  #: columns to read

    def __init__(self, file: File, batch_rows: int, keep: bool) -> None:
        self.file, self.batch_rows = file, batch_rows
        self.n_rows: int | None = None
        self.n_rows_seen = 0
        self._begun: list[Any] = []  # shared with copies: whoever reads first takes it
        self._has_magic = False
        with translated(file.name, "read it as Arrow IPC"):
            stream = ByteStream(file)
            if file.compression is None:
                self._has_magic = stream.read(len(_MAGIC)) == _MAGIC
                if self._has_magic:
                    pa.ipc.open_file(stream.raw)  # looks for the footer: a file that was cut has none
                    self.n_rows = arrow_dataset.IpcFileFormat().make_fragment(stream.raw).count_rows()
                stream.raw.seek(0)
                reader = self._opened(stream)
            else:  # cannot go back: what is no stream may be a file
                try:
                    reader = self._opened(stream)
                except pa.ArrowException:
                    self._has_magic, stream = True, ByteStream(file)
                    reader = self._opened(stream)
            self.fields = distinct_fields(file, reader.schema)
        if keep:
            self._begun.append((stream, reader))
        else:
            stream.raw.close()

    def batches(self, skip: int) -> Iterator[Batch]:
        """Batches behind the first ``skip`` rows."""
        row = 0
        with translated(self.file.name, "read it as Arrow IPC"):
            stream, reader = self._begun.pop() if self._begun else (ByteStream(self.file), None)
        with stream:
            with translated(self.file.name, "read it as Arrow IPC"):
                rows = iter(reader or self._opened(stream))
            while True:
                with translated(self.file.name, f"read its rows behind row {row}"):
                    data = next(rows, None)
                    if data is None:
                        break
                    data.validate(full=True)  # a damaged file must not be trusted with the lengths in it
                    data = data.select(self.schema.names)
                first, row = row, row + data.num_rows
                for start in range(max(0, skip - first), data.num_rows, self.batch_rows):
                    some = data.slice(start, self.batch_rows)
                    end = first + start + some.num_rows
                    yield Batch(some, self.file.name, first + start + 1, end, stream.position)
        self.n_rows_seen = row

    def _opened(self, stream: ByteStream) -> Any:
        """Reader of a stream; an Arrow file is one between a magic number and a footer."""
        if self._has_magic:
            stream.read(len(_MAGIC))
        return pa.ipc.open_stream(stream.arrow_stream)


def distinct_fields(file: File, schema: Any) -> dict[str, Any]:
    """The columns that a file has, by their names, which must be distinct."""
    with translated(file.name, "read the names of its columns"):
        names = list(schema.names)
    name, times = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
    if times > 1:
        raise TableError(f"{place(file.name)}: the names of columns must be distinct. Got {name!r} more than once.")
    return {field.name: field for field in schema}
