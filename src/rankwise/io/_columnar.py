"""Parquet and Arrow files: columns with types of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as arrow_parquet

from rankwise.io._batch import Batch
from rankwise.io._csv import require_columns
from rankwise.io._errors import TableError, place, translated
from rankwise.io._files import ByteStream, File

_READ_AHEAD = 256 << 10  # bytes of each column
_MAGIC = b"ARROW1\0\0"


class ParquetFile:
    """A Parquet file: read row group by row group, columns as wanted."""

    def __init__(self, file: File, columns: Sequence[str] | None, batch_rows: int) -> None:
        self.file, self.batch_rows = file, batch_rows
        with translated(file.name, "read it as Parquet"), self._open() as parquet:
            present = parquet.schema_arrow
            self._groups = [parquet.metadata.row_group(i).num_rows for i in range(parquet.metadata.num_row_groups)]
        self.schema = selected(file, present, columns)
        self.n_rows = sum(self._groups)

    def batches(self, skip: int) -> Iterator[Batch]:
        """Batches behind the first ``skip`` rows; whole row groups among them are not read."""
        row, group = 0, 0
        while group < len(self._groups) and row + self._groups[group] <= skip:
            row += self._groups[group]
            group += 1
        size = self.file.n_bytes
        with translated(self.file.name, "read it as Parquet"), self._open() as parquet:
            rows = parquet.iter_batches(
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

    def _open(self) -> Any:
        # Buffered reading keeps memory small: without it whole row groups are fetched at once.
        return arrow_parquet.ParquetFile(self.file.path, buffer_size=_READ_AHEAD, pre_buffer=False)


class ArrowFile:
    """An Arrow IPC file or stream: read record batch by record batch, columns as wanted."""

    def __init__(self, file: File, columns: Sequence[str] | None, batch_rows: int) -> None:
        self.file, self.batch_rows, self.columns = file, batch_rows, columns
        self.n_rows: int | None = None
        with translated(file.name, "read it as Arrow IPC"), ByteStream(file) as stream:
            self._is_stream = stream.read(len(_MAGIC)) != _MAGIC
        if self._is_stream or file.compression is not None:
            with translated(file.name, "read it as Arrow IPC"), ByteStream(file) as stream:
                present = self._open_stream(stream).schema
        else:
            with translated(file.name, "read it as Arrow IPC"), pa.OSFile(str(file.path)) as raw:
                present = pa.ipc.open_file(raw).schema  # looks for the footer: a file that was cut has none
                self.n_rows = arrow_dataset.dataset(file.path, format="ipc").count_rows()
        self.schema = selected(file, present, columns)

    def batches(self, skip: int) -> Iterator[Batch]:
        """Batches behind the first ``skip`` rows."""
        row = 0
        with ByteStream(self.file) as stream:
            with translated(self.file.name, "read it as Arrow IPC"):
                reader = iter(self._open_stream(stream))
            while True:
                with translated(self.file.name, f"read its rows behind row {row}"):
                    data = next(reader, None)
                    if data is None:
                        break
                    data.validate(full=True)  # a damaged file must not be trusted with the lengths in it
                    data = data.select(self.schema.names)
                first, row = row, row + data.num_rows
                for start in range(max(0, skip - first), data.num_rows, self.batch_rows):
                    part = data.slice(start, self.batch_rows)
                    end = first + start + part.num_rows
                    yield Batch(part, self.file.name, first + start + 1, end, stream.position)
        self.n_rows_seen = row

    def _open_stream(self, stream: ByteStream) -> Any:
        # An Arrow file is a stream between a magic number and a footer.
        if not self._is_stream:
            stream.read(len(_MAGIC))
        return pa.ipc.open_stream(stream.arrow_stream)


def selected(file: File, present: Any, columns: Sequence[str] | None) -> Any:
    """The columns to read, as the file has them; names must be distinct."""
    with translated(file.name, "read the names of its columns"):
        names = list(present.names)
    name, times = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
    if times > 1:
        raise TableError(f"{place(file.name)}: the names of columns must be distinct. Got {name!r} more than once.")
    wanted = names if columns is None else list(columns)
    require_columns(file, wanted, names)
    return pa.schema([present.field(name) for name in wanted])
