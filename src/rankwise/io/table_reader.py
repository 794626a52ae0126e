"""Files as one table, read in batches: any size, fixed order, from any row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from rankwise._warn import warn_user
from rankwise.io._columnar import ArrowFile, ParquetFile
from rankwise.io._excel import ExcelFile
from rankwise.io._json import JSONLinesFile
from rankwise.io.csv_files import CSVFile
from rankwise.io.input_files import File, Paths, find_files
from rankwise.io.row_batch import Batch, Quarantine, forget
from rankwise.io.svmlight import MAX_FEATURES, SVMLightFile, SVMLightShape
from rankwise.io.table_errors import TableError, place, shown, translated
from rankwise.io.text_files import TextFile, TextStyle

#: Files that stay open after their columns were inspected until the first pass; each holds a block of 2 MB.
_KEPT_OPEN = 8
_CSV = ("csv", "tsv")
#: Readers of files that do not say the types of their columns.
_UNTYPED = (TextFile, ExcelFile)


def open_table(
    paths: Paths,
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    batch_rows: int = 65_536,
    on_error: str = "stop",
    quarantine: Quarantine | None = None,
    separator: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    index_base: int | None = None,
    max_features: int = MAX_FEATURES,
) -> Table:
    r"""Open files as one table, to be read in batches.

    Each file is opened to inspect its columns. The first eight stay open until the first pass, which continues there.

    Parameters
    ----------
    paths : path or list of paths
        Files, or directories, which mean the files below them that are not hidden. They are read in the order of
        their names and must have the same columns and types. ``-`` alone is the standard input, CSV by default.
    format : {"csv", "tsv", "parquet", "arrow", "jsonl", "svmlight", "xlsx"}, optional
        Format of all files. By default it follows from the suffix: .csv, .tsv, .parquet, .pq, .arrow, .arrows,
        .feather, .ipc, .jsonl, .ndjson, .svm, .svmlight, .libsvm, .xlsx; compressed files have .gz or .zst after it.
        Of an Excel workbook the cells of the first sheet are read, into memory; rows without any are left out, and
        ``Table.remarks`` reports what is easily overlooked, such as formulas without a stored value.
    columns : list of str, optional
        Columns to read, in this order. By default all columns.
    types : dict, optional
        pyarrow's types, or their names, of columns in CSV, JSON lines and Excel. The other types are inferred from the
        first 2 MB; a column that is empty there holds numbers. A later value of another type is an error.
    batch_rows : int, default 65536
        Most rows of a batch.
    on_error : {"stop", "skip"}
        What to do with a row that cannot be read: stop with an error that names it, or leave it out.
    quarantine : callable, optional
        With ``on_error="skip"``, called with the file, the row from 1, the text of the row and the reason.
    separator : str, optional
        Separator of CSV columns. By default a comma, or a tab in TSV; if the header lacks it, a semicolon, a tab or a
        bar in the header, which ``Table.remarks`` reports.
    decimal : {".", ","}
        Decimal mark of numbers in CSV.
    encoding : str, optional
        Encoding of text files. By default UTF-8, or UTF-16 if they begin with its mark.
    index_base : {0, 1}, optional
        Index of the first feature of svmlight files. By default 0 if any row has the index 0, else 1. To predict, give
        the one of the training files (``Table.index_base``).
    max_features : int, default 10,000,000
        Most features of svmlight files; a row with a larger index is an error, before it takes the memory.

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
    if not isinstance(batch_rows, (int, np.integer)) or batch_rows < 1:
        raise ValueError(f"batch_rows must be a whole number >= 1. Got {batch_rows!r} instead.")
    if index_base not in (None, 0, 1):
        raise ValueError(f"index_base must be 0, 1 or None. Got {index_base!r} instead.")
    return Table(
        find_files(paths, format),
        list(columns) if columns is not None else None,
        {name: _arrow_type(name, kind) for name, kind in (types or {}).items()},
        int(batch_rows),
        (quarantine or forget) if on_error == "skip" else None,
        TextStyle(separator, decimal, encoding),
        SVMLightShape(index_base, max_features),
    )


class Table:
    """Files read as one table; made by :func:`open_table`.

    Attributes
    ----------
    format : str
        Format of the files.
    files : list of str
        Their names, in the order they are read.
    n_rows : int or None
        Number of rows, if known without reading them all.
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
        style: TextStyle,
        shape: SVMLightShape,
    ) -> None:
        self.format = files[0].format
        self.files = [file.name for file in files]
        self._sizes = [file.n_bytes for file in files]
        self.n_bytes = sum(self._sizes)
        self._batch_rows = batch_rows
        self._types, self._style = types, style
        self._shape = shape if self.format == "svmlight" else None
        self._readers = [self._reader(file, quarantine, i < _KEPT_OPEN) for i, file in enumerate(files)]
        self._choose(columns, ())
        known = [reader.n_rows for reader in self._readers]
        self.n_rows = None if None in known else sum(n for n in known if n is not None)

    def _reader(self, file: File, quarantine: Quarantine | None, keep: bool) -> Any:
        if self._shape is not None:
            return SVMLightFile(file, quarantine, keep, self._style, self._shape)
        columns = {"parquet": ParquetFile, "arrow": ArrowFile, "xlsx": ExcelFile}.get(self.format)
        if columns is not None:
            return columns(file, self._batch_rows, keep)
        return (JSONLinesFile if self.format == "jsonl" else CSVFile)(file, quarantine, keep, self._style)

    def _choose(self, columns: list[str] | None, as_written: Sequence[str]) -> None:
        """Set the columns to read, and their types in all files."""
        if self._shape is not None:
            if columns is not None:
                raise TableError(f"{place(self.files[0])}: an svmlight file has no named columns to choose from.")
            return
        for reader in self._readers:
            types = self._types if isinstance(reader, _UNTYPED) else {}
            if isinstance(reader, TextFile):
                reader.as_written = reader.kept_as_text(as_written) - set(types)
                types = {**dict.fromkeys(reader.as_written, pa.string()), **types}
            wanted = list(reader.fields) if columns is None else columns
            for name in (*wanted, *types):
                if name not in reader.fields:
                    raise TableError(
                        f"{place(reader.file.name)}: has no column {name!r}. "
                        f"Its columns are {shown(list(reader.fields))}."
                    )
            fields = [reader.fields[name] for name in wanted]
            reader.schema = pa.schema([f.with_type(types.get(f.name, f.type)) for f in fields])
            reader.columns = columns
        self._schema = _common_schema(self._readers)
        for reader in self._readers:
            reader.schema = self._schema

    @property
    def schema(self) -> Any:
        """Columns and their types; one column ``label`` for svmlight, whose features have no names."""
        return self._schema if self._shape is None else self._known_shape().schema

    @property
    def n_features(self) -> int | None:
        """Number of features of svmlight files; reads all rows once."""
        return None if self._shape is None else self._known_shape().n_features

    @property
    def index_base(self) -> int | None:
        """Index of the first feature of svmlight files; reads all rows once."""
        return None if self._shape is None else self._known_shape().index_base

    def select(
        self,
        columns: Sequence[str] | None = None,
        types: Mapping[str, Any] | None = None,
        quarantine: Quarantine | None = None,
        as_written: Sequence[str] = (),
    ) -> Table:
        """The same files with other columns, types or another quarantine, without inspecting them again.

        Parameters
        ----------
        columns, types, quarantine
            As in :func:`open_table`; by default all columns, the same types, and rows left out are dropped.
        as_written : list of str
            Columns that are only copied: CSV columns are text, every character as in the file, and JSON texts that
            look like dates stay texts.
        """
        other = copy(self)
        if types is not None:
            other._types = {name: _arrow_type(name, kind) for name, kind in types.items()}
        other._readers = [copy(reader) for reader in self._readers]
        for reader in other._readers:
            if getattr(reader, "quarantine", None) is not None:
                reader.quarantine = quarantine or forget
        other._choose(None if columns is None else list(columns), as_written)
        return other

    @property
    def remarks(self) -> list[str]:
        """What was inferred about how the files are written, and what of an Excel sheet is easily overlooked."""
        remarks = [(reader.file.name, getattr(reader, "remarks", {})) for reader in self._readers]
        return [f"{place(name)}: {remark}" for name, found in remarks for remark in found.values() if remark]

    @property
    def separator(self) -> str:
        """Separator of the columns of CSV files; the first one's."""
        return str(getattr(self._readers[0], "delimiter", ","))

    def file_sizes(self) -> list[tuple[str, int]]:
        """Name and size of every file."""
        return list(zip(self.files, self._sizes, strict=True))

    def digests(self) -> list[dict[str, Any]]:
        """Name, size and SHA-256 of every file, which are read for it."""
        found = []
        for (name, size), reader in zip(self.file_sizes(), self._readers, strict=True):
            with translated(name, "read it"), reader.file.path.open("rb") as file:
                found.append({"name": name, "bytes": size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()})
        return found

    @property
    def decimal(self) -> str:
        """Decimal mark of numbers in text, as declared."""
        return self._style.decimal

    @property
    def grouped(self) -> dict[str, str]:
        """Columns of CSV with points between thousands, as decimal commas tell, and an example of each."""
        return {name: text for reader in self._readers for name, text in getattr(reader, "grouped", {}).items()}

    def written_alike(self, format: str | None, decimal: str | None = None) -> dict[str, Any]:
        """Keywords of a writer of text whose file is read with the settings of these ones.

        ``decimal`` is the mark of their numbers, if it is known better than by declaration.
        """
        style: dict[str, Any] = {"encoding": self._style.encoding} if format in (*_CSV, "jsonl") else {}
        if format not in _CSV or self.format not in _CSV:
            return style
        if getattr(self._readers[0], "is_marked", False):
            style["encoding"] = style["encoding"] or "utf-8-sig"
        separator = self.separator if format == self.format else {"tsv": "\t"}.get(format, ",")
        decimal = decimal or self.decimal
        # A file of quoted numbers such as "1,5" has no mark of its own.
        return {**style, "separator": separator, "decimal": "." if decimal == separator else decimal}

    @property
    def header(self) -> bytes | None:
        """The header line of CSV files, if it is the same in all; empty for JSON lines, None for others."""
        headers = {getattr(reader, "header", None) for reader in self._readers}
        return headers.pop() if len(headers) == 1 else None

    def batches(self, start_row: int = 0) -> Iterator[Batch]:
        """Read the rows in their order, in batches.

        Parameters
        ----------
        start_row : int, default 0
            Rows to skip at the beginning, counted over all files: ``end`` of the last batch that was used, to continue
            after it. Whole files and row groups of Parquet are not even read; text is read but not parsed.
        """
        if self._shape is None:
            yield from self.first_batches(start_row)
            return
        shape = self._known_shape()
        for batch in self.first_batches(start_row):
            yield shape.applied(batch)

    def first_batches(self, start_row: int = 0) -> Iterator[Batch]:
        """Batches before the number of features is known: those of svmlight files have their indices as columns."""
        if start_row < 0:
            raise ValueError(f"start_row must be >= 0. Got {start_row} instead.")
        before, bytes_before = 0, 0
        for reader, size in zip(self._readers, self._sizes, strict=True):
            skip = max(0, start_row - before)
            n_rows = reader.n_rows
            if n_rows is None or n_rows > skip:
                for whole in reader.batches(skip):
                    for batch in self._small_enough(whole):
                        yield replace(batch, end=before + batch.end, bytes_read=bytes_before + batch.bytes_read)
                n_rows = reader.n_rows_seen if n_rows is None else n_rows
            before += n_rows
            bytes_before += size
        if self._shape is not None and start_row == 0:
            self._shape.is_known = True

    def settled(self, batch: Batch) -> Batch:
        """A batch of :meth:`first_batches` as one of :meth:`batches`."""
        return batch if self._shape is None else self._known_shape().applied(batch)

    def _known_shape(self) -> SVMLightShape:
        assert self._shape is not None
        if not self._shape.is_known:
            for _ in self.select().first_batches():
                pass
        return self._shape

    def _small_enough(self, batch: Batch) -> Iterator[Batch]:
        n, size = len(batch), self._batch_rows
        for start in range(0, n, size):
            stop = min(n, start + size)
            # Rows left out after the last one belong to it.
            end = batch.end if stop == n else batch.row_number(stop) - 1
            yield batch.slice(start, stop, end)


def warn_of_sheet(table: Table) -> None:
    """Warn of what of an Excel sheet is easily overlooked, where nothing else tells it."""
    for remark in table.remarks if table.format == "xlsx" else ():
        warn_user(remark)


def read_columns(table: Table, names: Sequence[str]) -> dict[str, list[Any]]:
    """All values of some columns, in memory, as Python objects; warns of what of an Excel sheet is overlooked."""
    warn_of_sheet(table)
    values: dict[str, list[Any]] = {name: [] for name in names}
    for batch in table.batches():
        for name in names:
            values[name] += batch.data.column(name).to_pylist()
    return values


def _common_schema(readers: list[Any]) -> Any:
    """Columns and types of all files, in the order of the first; types of text files are merged."""
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
            common = _common_type(known, field.type, reader)
            if common is None:
                raise TableError(
                    f"{place(reader.file.name)}: column {field.name!r} must be of one type in all files of a table. "
                    f"It is {field.type} here, {known} in {first.file.name}."
                )
            fields[field.name] = field.with_type(common)
    return pa.schema([_settled(field) if isinstance(first, _UNTYPED) else field for field in fields.values()])


def _common_type(known: Any, other: Any, reader: Any) -> Any:
    if known == other:
        return known
    if isinstance(reader, _UNTYPED):  # types were inferred
        numbers = {pa.int64(), pa.float64()}
        if pa.types.is_null(known) or pa.types.is_null(other):
            return other if pa.types.is_null(known) else known
        if known in numbers and other in numbers:
            return pa.float64()
    return pa.string() if isinstance(reader, (CSVFile, ExcelFile)) else None  # all of them is text if need be


def _settled(field: Any) -> Any:
    """A column without any value in the first rows holds numbers."""
    return field.with_type(pa.float64()) if pa.types.is_null(field.type) else field


def _arrow_type(name: str, kind: Any) -> Any:
    try:
        return pa.type_for_alias(kind) if isinstance(kind, str) else pa.field(name, kind).type
    except (ValueError, TypeError):
        raise ValueError(f"types[{name!r}] must be a type of pyarrow or its name. Got {kind!r} instead.") from None
