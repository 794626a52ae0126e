"""Files as one table, read in batches: any size, fixed order, from any row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from rankwise.io._batch import Batch, Quarantine, forget
from rankwise.io._columnar import ArrowFile, ParquetFile
from rankwise.io._csv import CSVFile
from rankwise.io._errors import TableError, place
from rankwise.io._files import File, Paths, find_files
from rankwise.io._json import JSONLinesFile
from rankwise.io._svmlight import SVMLightFile, SVMLightShape
from rankwise.io._text import TextFile


def open_table(
    paths: Paths,
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    batch_rows: int = 65_536,
    on_error: str = "stop",
    quarantine: Quarantine | None = None,
) -> Table:
    r"""Open files as one table, to be read in batches.

    Parameters
    ----------
    paths : path or list of paths
        Files, or directories that stand for the files below them that are not hidden. They are read in the order of
        their names and must have the same columns and types.
    format : {"csv", "tsv", "parquet", "arrow", "jsonl", "svmlight"}, optional
        Format of all files. Without it the suffix says it: .csv, .tsv, .parquet, .pq, .arrow, .arrows, .feather, .ipc,
        .jsonl, .ndjson, .svm, .svmlight, .libsvm; .gz or .zst behind it says that the file is compressed.
    columns : list of str, optional
        Columns to read, in this order. Without it all columns are read.
    types : dict, optional
        pyarrow's types, or their names, of columns in CSV and JSON lines. The others get the type of what the first
        2 MB hold; a column that is empty there holds numbers. A later value of another type is an error.
    batch_rows : int, default 65536
        Most rows of a batch.
    on_error : {"stop", "skip"}
        What a row that cannot be read does: stop with an error that names it, or be left out.
    quarantine : callable, optional
        With ``on_error="skip"``, called with the file, the row from 1, the text of the row and the reason.

    Raises
    ------
    TableError
        When a file cannot be read, the files differ, or a row breaks a rule.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from rankwise.io import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "grades.csv"
    ...     _ = path.write_text("size,grade\n1.5,3-5\n2.5,4\n")
    ...     table = open_table(path)
    ...     for batch in table.batches():
    ...         print(batch.data.column("grade").to_pylist(), batch.place(1).replace(folder, "..."))
    ['3-5', '4'] file .../grades.csv, row 2 (line 3)
    """
    if on_error not in ("stop", "skip"):
        raise ValueError(f"on_error must be 'stop' or 'skip'. Got {on_error!r} instead.")
    if not isinstance(batch_rows, int) or batch_rows < 1:
        raise ValueError(f"batch_rows must be a whole number >= 1. Got {batch_rows!r} instead.")
    if on_error == "skip" and quarantine is None:
        quarantine = forget
    return Table(
        find_files(paths, format),
        list(columns) if columns is not None else None,
        {name: _arrow_type(name, found) for name, found in (types or {}).items()},
        batch_rows,
        quarantine if on_error == "skip" else None,
    )


class Table:
    """Files read as one table; made by :func:`open_table`.

    Attributes
    ----------
    format : str
        Format of the files.
    files : list of str
        Their names, in the order they are read.
    schema : pyarrow.Schema
        Columns and their types; one column ``label`` for svmlight, whose features have no names.
    n_features : int or None
        Number of features of svmlight files.
    n_rows : int or None
        Number of rows where that is known without reading them all.
    n_bytes : int
        Size of the files on the disk.
    """

    def __init__(
        self,
        files: list[File],
        columns: list[str] | None,
        types: Mapping[str, Any],
        batch_rows: int,
        quarantine: Quarantine | None,
    ) -> None:
        self.format = files[0].format
        self.files = [file.name for file in files]
        self.n_features: int | None = None
        self._sizes = [file.n_bytes for file in files]
        self.n_bytes = sum(self._sizes)
        self._batch_rows = batch_rows
        self._readers: list[Any] = []
        if self.format == "svmlight":
            if columns is not None:
                raise TableError(f"{place(files[0].name)}: an svmlight file has no named columns to choose from.")
            shape = SVMLightShape(files)
            self.n_features = shape.n_features
            self._readers = [SVMLightFile(file, quarantine, shape) for file in files]
        elif self.format in ("parquet", "arrow"):
            columnar = ParquetFile if self.format == "parquet" else ArrowFile
            self._readers = [columnar(file, columns, batch_rows) for file in files]
        else:
            text = JSONLinesFile if self.format == "jsonl" else CSVFile
            self._readers = [text(file, quarantine, columns, types) for file in files]
        self.schema = _common_schema(self._readers)
        for reader in self._readers:
            reader.schema = self.schema
        known = [getattr(reader, "n_rows", None) for reader in self._readers]
        self.n_rows = None if None in known else sum(n for n in known if n is not None)

    def batches(self, start_row: int = 0) -> Iterator[Batch]:
        """Read the rows in their order, in batches.

        Parameters
        ----------
        start_row : int, default 0
            Rows to leave out at the beginning, counted over all files: ``end`` of the last batch that was used, to go
            on behind it. Whole files and row groups of Parquet are not even read; text is read but not parsed.
        """
        if start_row < 0:
            raise ValueError(f"start_row must be >= 0. Got {start_row} instead.")
        before, bytes_before = 0, 0
        for reader, size in zip(self._readers, self._sizes, strict=True):
            skip = max(0, start_row - before)
            n_rows = getattr(reader, "n_rows", None)
            if n_rows is None or n_rows > skip:
                for batch in reader.batches(skip):
                    for part in self._small_enough(batch):
                        yield replace(part, end=before + part.end, bytes_read=bytes_before + part.bytes_read)
                n_rows = reader.n_rows_seen if n_rows is None else n_rows
            before += n_rows
            bytes_before += size

    def _small_enough(self, batch: Batch) -> Iterator[Batch]:
        n, size = len(batch), self._batch_rows
        for start in range(0, n, size):
            stop = min(n, start + size)
            # Rows left out behind the last one belong to it.
            end = batch.end if stop == n else batch.row_number(stop) - 1
            yield batch.slice(start, stop, end)


def _common_schema(readers: list[Any]) -> Any:
    """Columns and types of all files, in the order of the first; text files may say a column's type together."""
    first = readers[0]
    fields = {field.name: field for field in first.schema}
    for reader in readers[1:]:
        for name in (*fields, *reader.schema.names):
            has, lacks = (first, reader) if name in fields else (reader, first)
            if name not in lacks.schema.names:
                raise TableError(
                    f"{place(reader.file.name)}: all files of a table must have the same columns. "
                    f"Column {name!r} is in {has.file.name} only, not in {lacks.file.name}."
                )
        for field in reader.schema:
            known = fields[field.name].type
            common = _common_type(known, field.type, is_text=isinstance(reader, TextFile))
            if common is None:
                raise TableError(
                    f"{place(reader.file.name)}: column {field.name!r} must be of one type in all files of a table. "
                    f"It is {field.type} here, {known} in {first.file.name}."
                )
            fields[field.name] = field.with_type(common)
    return pa.schema([_settled(field) if isinstance(first, TextFile) else field for field in fields.values()])


def _common_type(known: Any, found: Any, *, is_text: bool) -> Any:
    if known == found:
        return known
    if is_text:  # types that were guessed from the first rows
        numbers = {pa.int64(), pa.float64()}
        if pa.types.is_null(known) or pa.types.is_null(found):
            return found if pa.types.is_null(known) else known
        if known in numbers and found in numbers:
            return pa.float64()
    return None


def _settled(field: Any) -> Any:
    """A column without any value in the first rows holds numbers."""
    return field.with_type(pa.float64()) if pa.types.is_null(field.type) else field


def _arrow_type(name: str, found: Any) -> Any:
    try:
        return pa.type_for_alias(found) if isinstance(found, str) else pa.field(name, found).type
    except (ValueError, TypeError):
        raise ValueError(f"types[{name!r}] must be a type of pyarrow or its name. Got {found!r} instead.") from None
