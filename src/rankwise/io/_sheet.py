"""Cells of a sheet of an Excel workbook as they stand in its XML: none that does not exist, and one at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import iterparse

from openpyxl.utils import range_boundaries
from openpyxl.worksheet._reader import (
    CELL_TAG,
    COL_TAG,
    DATA_TAG,
    FORMULA_TAG,
    ROW_TAG,
    WorkSheetParser,
)

_MERGED = CELL_TAG.removesuffix("}c") + "}mergeCell"
_TRUE = ("1", "true")
_MOST_COLUMNS = 16_384


class SheetCells:
    """The cells of one sheet, and counts of what a table does not show. openpyxl reads a cell: texts, dates, errors."""

    def __init__(self, workbook: Any, sheet: Any) -> None:
        self._sheet = sheet
        self._parser = WorkSheetParser(
            None, sheet._shared_strings, data_only=True, epoch=workbook.epoch, date_formats=workbook._date_formats,
            timedelta_formats=workbook._timedelta_formats,
        )  # fmt: skip
        self.formulas: Counter[int] = Counter()  #: by column, those without a stored value
        self.errors: Counter[int] = Counter()
        self.n_hidden = 0  #: hidden rows with a cell that is not empty
        self._hidden: list[tuple[int, int]] = []  # the first and last column of a range
        self._merged: list[tuple[int, int, int, int]] = []

    def read(self) -> Iterator[tuple[int, int, Any]]:
        """Line, column and value of every cell that is not empty, in the order of the file."""
        parser, above, is_hidden = self._parser, [], False
        with self._sheet._get_source() as source:
            for event, element in iterparse(source, events=("start", "end")):
                if event == "start":
                    above.append(element)
                    if element.tag == ROW_TAG:
                        parser.row_counter = int(float(element.get("r", parser.row_counter + 1)))
                        parser.col_counter, is_hidden = 0, element.get("hidden") in _TRUE
                    continue
                above.pop()
                if element.tag == CELL_TAG:
                    value = self._value(element)
                    if value is not None:
                        self.n_hidden, is_hidden = self.n_hidden + is_hidden, False
                        yield parser.row_counter, parser.col_counter, value
                elif element.tag == COL_TAG and element.get("hidden") in _TRUE and len(self._hidden) < _MOST_COLUMNS:
                    self._hidden.append((int(element.get("min", 0)), int(element.get("max", 0))))
                elif element.tag == _MERGED:
                    self._merged.append(range_boundaries(element.get("ref")))
                if above and above[-1].tag in (ROW_TAG, DATA_TAG, _MERGED + "s"):
                    above[-1].clear()  # what was read is not kept

    def _value(self, element: Any) -> Any:
        cell = self._parser.parse_cell(element)
        value, column = cell["value"], cell["column"]
        self._parser.row_counter = cell["row"]
        if cell["data_type"] == "e":
            self.errors[column] += 1
            return None
        # An empty text is a value, and stored as such.
        if value is None and element.get("t") != "str" and element.find(FORMULA_TAG) is not None:
            self.formulas[column] += 1
        return value

    def hides(self, column: int) -> bool:
        """Whether a column is hidden."""
        return any(first <= column <= last for first, last in self._hidden)

    def merged_in(self, above: int, last: int, columns: Any) -> int:
        """Number of merged ranges that reach into these columns, below one line and up to another."""
        first, final = min(columns), max(columns)
        return sum(
            bottom > above and top <= last and right >= first and left <= final
            for left, top, right, bottom in self._merged
        )
