"""Excel workbooks: the cells of the first sheet that exist, as columns; and remarks about what is easily overlooked."""

from __future__ import annotations

import warnings
import zipfile
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from rankwise._extras import require
from rankwise.features.arrow_columns import mixed_column, text_of
from rankwise.io.csv_files import NULLS, with_nulls
from rankwise.io.input_files import File
from rankwise.io.row_batch import Batch
from rankwise.io.table_errors import TableError, place, shown, tidy_message, translated
from rankwise.io.text_files import one_batch

_NEEDS = "Excel files need openpyxl: pip install 'rankwise[io]'"
_OLD_OR_LOCKED = b"\xd0\xcf\x11\xe0"  # first bytes of an .xls, and of a workbook with a password
# Excel packs a sheet to a twentieth of its size. What is packed far smaller is made to fill the memory.
_MOST_PACKED, _ANY_SIZE = 200, 16 << 20
_EMPTY_ALLOWED, _EMPTY_SHARE = 20_000_000, 100  # empty cells of the table, and for each cell that is not


class ExcelFile:
    """The first sheet of an Excel workbook, in memory; its first row that is not empty names the columns."""

    schema: Any  #: columns to read

    def __init__(self, file: File, batch_rows: int, keep: bool) -> None:
        self.file, self.batch_rows = file, batch_rows
        require("openpyxl", _NEEDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about styles and the like
                self._table, self._lines, self.remarks = _read(file)
        except TableError:
            raise
        except Exception as error:  # zip, XML and openpyxl raise many types about a damaged file
            raise TableError(f"{place(file.name)}: cannot read it as Excel: {tidy_message(error)}") from None
        self.fields = {each.name: each for each in self._table.schema}
        self.n_rows = self._table.num_rows

    def batches(self, skip: int) -> Iterator[Batch]:
        """Batches behind the first ``skip`` rows."""
        with translated(self.file.name, "read its columns"):
            data = with_nulls(one_batch(self._table.select(self.schema.names).cast(self.schema)), frozenset())
        for start in range(skip, self.n_rows, self.batch_rows):
            end = min(start + self.batch_rows, self.n_rows)
            position = self.file.n_bytes * end // self.n_rows
            yield Batch(
                data.slice(start, end - start), self.file.name, start + 1, end, position,
                _line=lambda row: self._lines[row - 1],
            )  # fmt: skip


def _read(file: File) -> tuple[Any, array[int], dict[str, str]]:
    """The table, the line of each of its rows in the sheet, and remarks."""
    import openpyxl

    from rankwise.io._sheet import SheetCells

    _refuse_bomb(file)
    workbook = openpyxl.load_workbook(file.path, read_only=True, data_only=True, keep_links=False)
    try:
        if not workbook.worksheets:
            raise TableError(f"{place(file.name)}: holds no sheet of cells.")
        cells = SheetCells(workbook, workbook.worksheets[0])
        grid = _Grid()
        for line, column, value in cells.read():
            grid.add(line, column, value)
        table = grid.table(file)
        remarks = {"sheets": _other_sheets(workbook.worksheets), **_remarks(cells, grid)}
    finally:
        workbook.close()
    return table, grid.lines, {kind: remark for kind, remark in remarks.items() if remark}


def _refuse_bomb(file: File) -> None:
    """Refuse a file that unpacks to much more than any workbook, before it is unpacked."""
    with file.path.open("rb") as opened:
        if opened.read(4) == _OLD_OR_LOCKED:
            raise TableError(
                f"{place(file.name)}: is an old .xls file or has a password. Save it as .xlsx without a password."
            )
    with zipfile.ZipFile(file.path) as archive:
        for part in archive.infolist():
            if part.file_size > max(_ANY_SIZE, _MOST_PACKED * part.compress_size):
                raise TableError(
                    f"{place(file.name)}: no part of a workbook may unpack to more than {_MOST_PACKED} times its size. "
                    f"{shown(part.filename)} unpacks from {part.compress_size:,} bytes to {part.file_size:,}."
                )


@dataclass
class _Grid:
    """Values below named columns; rows without any are not part of the table."""

    names: dict[int, str] = field(default_factory=dict)  # by the number of the column
    header_line: int = 0
    lines: array[int] = field(default_factory=lambda: array("q"))
    rows: dict[int, array[int]] = field(default_factory=dict)  # of the values of a column
    values: dict[int, list[Any]] = field(default_factory=dict)
    stray: list[tuple[int, int]] = field(default_factory=list)  # the first cell without a named column
    n_stray: int = 0
    renamed: list[str] = field(default_factory=list)
    _taken: dict[str, int] = field(default_factory=dict)

    def add(self, line: int, column: int, value: Any) -> None:
        """Take the next cell that is not empty, line by line."""
        if isinstance(value, str) and not value.strip():
            return
        if not self.header_line:
            self.header_line = line
        if line == self.header_line:
            self._name(column, text_of(value))
            return
        if column not in self.names:
            self.n_stray += 1
            self.stray = self.stray or [(line, column)]
            return
        if not self.lines or self.lines[-1] != line:
            self.lines.append(line)
        self.rows[column].append(len(self.lines) - 1)
        self.values[column].append(value)

    def _name(self, column: int, name: str) -> None:
        """Name a column; a second one of the same name gets a number, as pandas gives."""
        unique = name
        while unique in self._taken:
            unique = f"{name}.{self._taken[name]}"
            self._taken[name] += 1
        if unique != name:
            self.renamed.append(unique)
        self._taken[unique] = 1
        self.names[column] = unique
        self.rows[column], self.values[column] = array("q"), []

    def table(self, file: File) -> Any:
        """All columns, with empty cells where there is no value."""
        n_rows, n_cells = len(self.lines), sum(map(len, self.values.values()))
        if not self.names:
            raise TableError(f"{place(file.name)}: the first sheet is empty.")
        if n_rows * len(self.names) > max(_EMPTY_ALLOWED, _EMPTY_SHARE * n_cells):
            raise TableError(
                f"{place(file.name)}: the first sheet is nearly empty: {n_cells:,} values are spread over {n_rows:,} "
                f"rows and {len(self.names):,} columns. Delete the stray cells."
            )
        columns = {}
        for column in sorted(self.names):
            full: list[Any] = [None] * n_rows
            for row, value in zip(self.rows.pop(column), self.values.pop(column), strict=True):
                full[row] = value
            columns[self.names[column]] = _typed(self.names[column], full)
        return pa.table(columns)


def _typed(name: str, values: list[Any]) -> Any:
    """Values of one type as they are; of several as texts, unless the texts stand for missing values."""
    texts = {value for value in values if isinstance(value, str)}
    if texts and not all(isinstance(value, str) for value in values if value is not None):
        blank = set(NULLS.to_pylist())
        if texts <= blank:
            values = [None if isinstance(value, str) else value for value in values]
        else:
            values = [_written(value) for value in values]
    kinds = {type(value) for value in values if value is not None}
    if any(issubclass(kind, date) for kind in kinds) and not all(issubclass(kind, date) for kind in kinds):
        values = [_written(value) for value in values]  # Arrow would take the numbers for dates of 1970
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        if len(kinds) > 1 and not all(issubclass(kind, (bool, int, float)) for kind in kinds):
            return pa.array([_written(value) for value in values], pa.string())
        return mixed_column(pa, name, values)


def _written(value: Any) -> str | None:
    """Text of a value of any type; a date has a time only if it is not midnight."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return str(value.date()) if value.time() == datetime.min.time() else str(value)
    return text_of(value)


def _remarks(cells: Any, grid: _Grid) -> dict[str, str]:
    """What of the sheet does not reach the table as people see it."""
    from openpyxl.utils import get_column_letter

    last = grid.lines[-1] if grid.lines else grid.header_line
    n_empty = last - grid.header_line - len(grid.lines)

    def by_column(counts: Counter[int]) -> str:
        known = {name: counts[column] for column, name in grid.names.items() if counts[column]}
        return ", ".join(f"column {name!r} {n:,}" for name, n in known.items())

    formulas, errors = by_column(cells.formulas), by_column(cells.errors)
    hidden = [name for column, name in grid.names.items() if cells.hides(column)]
    n_merged = cells.merged_in(grid.header_line, last, grid.names)
    where = "".join(f"{get_column_letter(column)}{line}" for line, column in grid.stray)
    return {
        "formulas": f"formulas without a stored value are read as empty: {formulas}. Excel stores the values when it "
        f"saves the file" if formulas else "",
        "errors": f"cells with an error, such as #N/A, are read as empty: {errors}" if errors else "",
        "empty": f"{n_empty:,} empty rows above line {last:,} are left out" if n_empty else "",
        "stray": f"{grid.n_stray:,} cells, {where} first, are in columns without a name and left out" if where else "",
        "renamed": f"columns that have the name of another are called {shown(grid.renamed)}" if grid.renamed else "",
        "merged": f"{n_merged:,} ranges of merged cells have a value in their first cell only" if n_merged else "",
        "rows": f"{cells.n_hidden:,} hidden rows are read like the others" if cells.n_hidden else "",
        "columns": f"hidden columns are read like the others: {shown(hidden)}" if hidden else "",
    }  # fmt: skip


def _other_sheets(sheets: list[Any]) -> str:
    """A remark if the first sheet is hidden, or not the only one that holds something."""
    first, *others = sheets
    holding = [sheet.title for sheet in others if (sheet.max_row, sheet.max_column) != (1, 1)]
    said = [f"the first sheet, {shown(first.title)}, is hidden"] if first.sheet_state != "visible" else []
    if holding:
        said.append(f"only the first sheet, {shown(first.title)}, is read, not {shown(holding)}")
    return "; ".join(said)
