"""Excel workbooks: what a sheet holds and does not show, stray cells, and files made to fill the memory."""

import tracemalloc
import zipfile
from datetime import date, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rankwise.io import LabelColumns, TableError, TableWriter, convert, open_table
from rankwise.labels import declared_order, encode
from tests.cli.commands import fail, run

openpyxl = pytest.importorskip("openpyxl")

_SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture
def sheet(tmp_path):
    """Write a workbook of these rows: sheet(rows, change), where ``change`` gets the sheet and the workbook."""

    def write(rows, change=None, name="a.xlsx"):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        if change is not None:
            change(book.active, book)
        book.save(tmp_path / name)
        return tmp_path / name

    return write


def _with_xml(path, replace):
    """The same workbook with another XML of the first sheet."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[_SHEET] = replace(parts[_SHEET])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def remarks(path):
    return [remark.removeprefix(f"file {path}: ") for remark in open_table(path).remarks]


def values(path, **options):
    return [row for batch in open_table(path, **options).batches() for row in batch.data.to_pylist()]


TABLE = [["size", "stars"], [1, 3], [2, 4], [3, 5]]


class TestRemarks:
    def test_a_plain_sheet_needs_none(self, sheet):
        assert remarks(sheet(TABLE)) == []

    def test_formulas_without_stored_values(self, sheet):
        path = sheet([["size", "twice", "stars"], [1, "=A2*2", 3], [2, "=A3*2", "=A3"], [3, 6, 5]])
        assert remarks(path) == [
            "formulas without a stored value are read as empty: column 'twice' 2, column 'stars' 1. Excel stores the "
            "values when it saves the file"
        ]
        assert values(path)[1] == {"size": 2, "twice": None, "stars": None}

    def test_formulas_with_stored_values_are_values(self, sheet):
        path = sheet([["size", "stars"], [1, "=A2"], [2, "=A3"]])
        text = b't="str"><f>A2</f><v></v>'  # an empty text is a value
        path = _with_xml(path, lambda xml: xml.replace(b"><f>A2</f><v />", b">" + text[8:]).replace(
            b"<f>A3</f><v />", b"<f>A3</f><v>4</v>").replace(b'r="B2">', b'r="B2" t="str">'))  # fmt: skip
        assert remarks(path) == []
        assert values(path) == [{"size": 1, "stars": None}, {"size": 2, "stars": 4}]

    def test_errors_are_empty(self, sheet):
        path = sheet([["size", "stars"], ["#N/A", 3], ["#REF!", 4], [3, "#DIV/0!"]])
        assert remarks(path) == [
            "cells with an error, such as #N/A, are read as empty: column 'size' 2, column 'stars' 1"
        ]
        assert [row["size"] for row in values(path)] == [None, None, 3]

    def test_hidden_rows_and_columns(self, sheet):
        def hide(active, _):
            active.row_dimensions[3].hidden = True
            active.column_dimensions["A"].hidden = True

        path = sheet(TABLE, hide)
        assert remarks(path) == [
            "1 hidden rows are read like the others", "hidden columns are read like the others: ['size']",
        ]  # fmt: skip
        assert len(values(path)) == 3

    def test_other_and_hidden_sheets(self, sheet):
        path = sheet(TABLE, lambda _, book: book.create_sheet("old").append([1, 2]))
        assert remarks(path) == ["only the first sheet, 'Sheet', is read, not ['old']"]

        def hide(active, book):
            book.create_sheet("shown")
            active.sheet_state, book.active = "hidden", 1

        assert remarks(sheet(TABLE, hide, "b.xlsx")) == ["the first sheet, 'Sheet', is hidden"]

    def test_merged_cells(self, sheet):
        path = sheet(TABLE, lambda active, _: active.merge_cells("B2:B3"))
        assert remarks(path) == ["1 ranges of merged cells have a value in their first cell only"]
        assert [row["stars"] for row in values(path)] == [3, None, 5]

    def test_merged_cells_elsewhere_do_not_matter(self, sheet):
        assert remarks(sheet(TABLE, lambda active, _: active.merge_cells("D7:E9"))) == []

    def test_names_that_occur_twice(self, sheet):
        path = sheet([["note", "note", "note.1", "stars"], ["a", "b", "c", 3], ["d", "e", "f", 4]])
        assert remarks(path) == ["columns that have the name of another are called ['note.1', 'note.1.1']"]
        assert list(values(path)[0].values()) == ["a", "b", "c", 3]

    @pytest.mark.parametrize(
        "command", [["fit", "--label", "stars"], ["convert"], ["compare", "--label", "stars", "--estimator", "PRIL"]]
    )
    def test_commands_say_them_in_a_line(self, sheet, tmp_path, command):
        path = sheet([["size", "twice", "stars"], *([i, f"=A{i}", i % 3] for i in range(12))])
        name, *options = command
        output = [] if name == "compare" else ["-o", tmp_path / ("m.rankwise" if name == "fit" else "m.csv")]
        result = run(name, path, *options, *output)
        said = [line for line in result.stderr.splitlines() if "formulas" in line]
        assert len(said) == 1, result.output
        assert said[0].startswith(f"rankwise: note: file {path}: formulas without a stored value")


class TestStrayCells:
    def test_in_a_corner(self, sheet, tmp_path):
        path = sheet(TABLE, lambda active, _: active.cell(1048576, 16384, "x"))
        tracemalloc.start()
        try:
            assert remarks(path) == ["1 cells, XFD1048576 first, are in columns without a name and left out"]
            assert [row["stars"] for row in values(path)] == [3, 4, 5]
            assert tracemalloc.get_traced_memory()[1] < 20e6
        finally:
            tracemalloc.stop()

    def test_far_below(self, sheet):
        path = sheet(TABLE, lambda active, _: active.cell(1048576, 1, 7))
        assert remarks(path) == ["1,048,571 empty rows above line 1,048,576 are left out"]
        (batch,) = open_table(path).batches()
        assert batch.data.to_pylist()[3:] == [{"size": 7, "stars": None}]
        assert batch.place(3) == f"file {path}, row 4 (line 1048576)"

    def test_a_table_that_is_nearly_empty(self, sheet):
        """A cell in each of many rows and many columns, as a table, would fill the memory."""
        n = 9000
        path = sheet([[f"x{j}" for j in range(n)]], lambda active, _: [active.cell(i + 2, i + 1, 1) for i in range(n)])
        with pytest.raises(
            TableError, match=r"the first sheet is nearly empty: 9,000 values are spread over 9,000 rows"
        ):
            open_table(path)

    def test_blank_rows_around_the_table(self, sheet):
        path = sheet([[], [], ["size", "stars"], [1, 3], [None, " "], [2, 4]])
        assert values(path) == [{"size": 1, "stars": 3}, {"size": 2, "stars": 4}]
        assert remarks(path) == ["1 empty rows above line 6 are left out"]

    def test_an_empty_sheet(self, sheet):
        with pytest.raises(TableError, match=r"a\.xlsx: the first sheet is empty\.$"):
            open_table(sheet([]))
        assert values(sheet([["size"]])) == []


class TestHostileFiles:
    @pytest.mark.parametrize("part", [_SHEET, "xl/sharedStrings.xml", "xl/styles.xml"])
    def test_a_part_that_unpacks_to_very_much(self, sheet, part):
        path = sheet(TABLE)
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        parts[part] = b"<si/>" * (8 << 20)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                archive.writestr(name, content)
        with pytest.raises(TableError, match=r"no part of a workbook may unpack to more than 200 times its size"):
            open_table(path)

    def test_cells_are_not_kept_as_xml(self, sheet):
        path = sheet([["size", "stars"], [1, 3]])
        empty = b"".join(b'<row r="%d" hidden="1"><c r="A%d" s="0"/></row>' % (i, i) for i in range(3, 200_000))
        path = _with_xml(path, lambda xml: xml.replace(b"</sheetData>", empty + b"</sheetData>"))
        tracemalloc.start()
        try:
            assert values(path) == [{"size": 1, "stars": 3}]
            assert tracemalloc.get_traced_memory()[1] < 5e6
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b'r="A2"', b'r="ZZZZZ2"'),
            (b'r="A2"', b'r="2"'),
            (b"<v>1</v>", b"<v>one</v>"),
            (b'<row r="2"', b'<row r="x"'),
            (b'r="A2" t="n"', b'r="A2" t="s"'),
            (b"</sheetData>", b""),
        ],
    )
    def test_damage_is_one_error(self, sheet, old, new):
        path = _with_xml(sheet(TABLE), lambda xml: xml.replace(old, new))
        with pytest.raises(TableError, match=r"a\.xlsx: cannot read it as Excel: .+"):
            open_table(path)

    def test_old_and_locked_files(self, tmp_path):
        (tmp_path / "a.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
        with pytest.raises(TableError, match=r"is an old \.xls file or has a password"):
            open_table(tmp_path / "a.xlsx")


class TestTypes:
    def test_texts_of_digits_stay_texts(self, sheet):
        assert values(sheet([["code"], ["00123"], ["7"]])) == [{"code": "00123"}, {"code": "7"}]

    def test_marks_of_missing_values(self, sheet):
        assert values(sheet([["n", "t"], [1, "a"], ["NA", "n/a"], [2.5, "b"]])) == [
            {"n": 1.0, "t": "a"}, {"n": None, "t": None}, {"n": 2.5, "t": "b"},
        ]  # fmt: skip

    def test_a_declared_class_may_be_called_na(self, sheet):
        path, labels = sheet([["x", "y"], [1, "low"], [2, "NA"], [3, "high"]]), LabelColumns("y")
        (batch,) = open_table(path, types=labels.types_in(open_table(path))).batches()
        assert batch.data.column("y").to_pylist() == ["low", "NA", "high"]
        assert labels.of(batch).good(declared_order(["low", "NA", "high"])).y.lower.tolist() == [0, 1, 2]

    def test_dates_and_other_values_in_one_column(self, sheet):
        path = sheet([["d"], [date(2024, 5, 6)], [datetime(2024, 5, 7, 12)], ["unknown"], [3]])
        assert [row["d"] for row in values(path)] == ["2024-05-06", "2024-05-07 12:00:00", "unknown", "3"]

    def test_long_identifiers_are_refused(self, sheet):
        with pytest.raises(TableError, match=r"column 'id' holds integers of more than 64 bits"):
            open_table(_with_xml(sheet([["id"], [1]]), lambda xml: xml.replace(b"<v>1</v>", b"<v>%d</v>" % 10**30)))

    def test_as_pandas_reads_it(self, sheet, tmp_path):
        when = [datetime(2024, 1, 1), None, datetime(2024, 1, 3, 4, 5)]
        frame = pd.DataFrame(
            {"x": [1.5, None, 2], "n": [1, 2, 3], "b": [True, False, True], "d": when, "t": list("abc")}
        )
        frame.to_excel(tmp_path / "f.xlsx", index=False)
        (batch,) = open_table(tmp_path / "f.xlsx").batches()
        pd.testing.assert_frame_equal(
            batch.data.to_pandas(), pd.read_excel(tmp_path / "f.xlsx"), check_dtype=False, check_exact=True
        )

    def test_asked_types(self, sheet):
        assert values(sheet(TABLE), types={"size": "string"}, columns=["size"])[0] == {"size": "1"}
        with pytest.raises(TableError, match="cannot read its columns: "):
            values(sheet([["t"], ["a"]]), types={"t": "int64"})


def test_several_workbooks_with_other_types(sheet):
    """A column of whole numbers, of fractions, of texts or of nothing is of one type in all files."""
    paths = [sheet([["a", "b"], [1, first], [2, None]], name=f"{i}.xlsx") for i, first in enumerate([3, 4.5, "5-6"])]
    assert [row["b"] for row in values(paths[:2])] == [3.0, None, 4.5, None]
    assert [row["b"] for row in values(paths)] == ["3", None, "4.5", None, "5-6", None]


def test_convert_keeps_what_a_sheet_says(sheet, tmp_path):
    path = sheet([["code", "stars"], ["007", "3-5"], ["010", 4]])
    assert convert(path, tmp_path / "a.csv") == 2
    assert (tmp_path / "a.csv").read_text() == "code,stars\n007,3-5\n010,4\n"
    assert TableWriter(tmp_path / "b.csv").format == "csv"


def test_dates_among_number_labels_are_refused_and_named(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["x", "label"])
    for i in range(20):
        book.active.append([i * 0.1, datetime(2024, 1, 2) if i % 3 == 0 else i % 3])
    book.save(tmp_path / "l.xlsx")
    line = fail(1, "compare", tmp_path / "l.xlsx", "--label", "label", "--estimator", "PRIL")
    assert "l.xlsx" in line
    assert "row 1" in line
    assert "'2024-01-02'" in line
    assert "spreadsheets turn 1-2 into such a date" in line


@pytest.mark.parametrize("make", [pd.Series, pd.DatetimeIndex, pa.array, np.array])
def test_a_column_of_dates_is_no_column_of_labels(make):
    days = make(np.array(["2024-01-02", "2024-03-04"], dtype="datetime64[ns]"))
    with pytest.raises(ValueError, match=r"dates are no labels.*2024-01-02.*classes="):
        encode(days)
