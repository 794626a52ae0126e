"""Tables read from files: the same rows whatever the format, the compression, the batches and the start."""

import gzip
import io
import os
import pickle
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankwise import RowError
from rankwise.io import LabelColumns, TableError, TableRowError, TableWriter, numeric_matrix, open_table, write_table
from rankwise.io import input_files as files
from rankwise.io import text_files as text_files
from rankwise.io.input_files import open_file

FORMATS = ("a.csv", "a.tsv", "a.parquet", "a.arrow", "a.arrows", "a.jsonl", "a.csv.gz", "a.jsonl.zst", "a.arrow.zst")


@pytest.fixture
def table(rng):
    n = 1000
    return pa.table(
        {
            "x": rng.standard_normal(n),
            "n": rng.integers(-5, 5, n),
            "text": rng.choice(["a", 'quo"ted', "with, comma", "line\nbreak", "é"], n),
        }
    )


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 700)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("batch_rows", [1000, 64, 7])
def test_every_format_gives_the_same_rows(table, tmp_path, name, batch_rows):
    with TableWriter(tmp_path / name) as writer:
        for start in range(0, len(table), 300):
            writer.write(table.slice(start, 300))
    opened = open_table(tmp_path / name, batch_rows=batch_rows)
    assert opened.schema.names == ["x", "n", "text"]
    assert opened.n_rows in (None, 1000)
    batches = list(opened.batches())
    assert max(map(len, batches)) <= batch_rows
    assert [row for batch in batches for row in batch.data.to_pylist()] == table.to_pylist()
    first_rows = np.cumsum([1] + [len(batch) for batch in batches])
    assert [batch.first_row for batch in batches] == first_rows[:-1].tolist()
    assert [batch.end for batch in batches] == (first_rows[1:] - 1).tolist()
    read_so_far = [batch.bytes_read for batch in batches]
    assert read_so_far == sorted(read_so_far)
    assert 0.9 * opened.n_bytes <= read_so_far[-1] <= opened.n_bytes == os.path.getsize(tmp_path / name)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", FORMATS)
def test_reading_goes_on_at_any_row(table, tmp_path, name, rows):
    half = len(table) // 2
    for part, suffix in ((table.slice(0, half), "1"), (table.slice(half), "2")):
        write_table(tmp_path / f"{suffix}{name}", part.to_batches(max_chunksize=150))
    paths = [tmp_path / f"2{name}", tmp_path / f"1{name}"]  # read in the order of their names
    expected = rows(paths)
    assert [row for row, _ in expected] == table.to_pylist()
    assert [number for _, number in expected] == 2 * list(range(1, half + 1))
    for start in (1, 149, 150, 151, half - 1, half, half + 1, len(table) - 1, len(table), len(table) + 5):
        assert rows(paths, start, batch_rows=100) == expected[start:]
    ends = [batch.end for batch in open_table(paths, batch_rows=100).batches()]
    for start in ends[::4]:
        assert rows(paths, start, batch_rows=100) == expected[start:]


def test_parquet_skips_row_groups_without_reading_them(table, tmp_path, monkeypatch):
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    opened = open_table(tmp_path / "a.parquet")
    raw = bytearray((tmp_path / "a.parquet").read_bytes())
    first = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0).column(0)
    begin = first.data_page_offset if first.dictionary_page_offset is None else first.dictionary_page_offset
    raw[begin : begin + 50] = b"\xff" * 50
    (tmp_path / "a.parquet").write_bytes(raw)
    assert sum(map(len, opened.batches(100))) == 900
    with pytest.raises(TableError, match=r"a.parquet: cannot read its rows behind row 0: "):
        list(opened.batches(99))


def test_svmlight(file):
    first = file("a.svm", "# a comment\n3 1:0.5 4:2 # and one more\n\n1 2:-1\n")
    second = file("b.svm.gz", "2 qid:1 3:1e3\n")
    opened = open_table([first, second])
    assert opened.n_features == 4
    batches = list(opened.batches())
    np.testing.assert_array_equal(batches[0].data.toarray(), [[0.5, 0, 0, 2], [0, -1, 0, 0]])
    np.testing.assert_array_equal(batches[0].labels, [3, 1])
    np.testing.assert_array_equal(batches[1].data.toarray(), [[0, 0, 1000, 0]])
    assert [batch.end for batch in batches] == [2, 3]
    assert batches[0].place(1) == f"file {first}, row 2 (line 4)"
    assert [len(batch) for batch in opened.batches(1)] == [1, 1]
    assert [len(batch) for batch in open_table([first, second], batch_rows=1).batches()] == [1, 1, 1]


def test_svmlight_from_zero_and_with_candidates(file):
    opened = open_table(file("a.libsvm", "3,5 0:0.5\n1 2:-1\n"))
    (batch,) = opened.batches()
    assert opened.n_features == 3
    np.testing.assert_array_equal(batch.data.toarray(), [[0.5, 0, 0], [0, 0, -1]])
    assert batch.labels == [(3.0, 5.0), (1.0,)]


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_encodings(file, rows, monkeypatch, block):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    text = 'größe,name\r\n1.5,Zoë\r\n2.5,"a\r\nb"\r\n'
    expected = [{"größe": 1.5, "name": "Zoë"}, {"größe": 2.5, "name": "a\r\nb"}]
    for encoding, declared in (("utf-16", None), ("utf-8-sig", None), ("latin-1", "latin-1"), ("cp1252", "cp1252")):
        path = file("a.csv", text.encode(encoding))
        assert [row for row, _ in rows(path, encoding=declared)] == expected
        assert open_table(path, encoding=declared).remarks == [f"file {path}: the file is UTF-16"] * (
            encoding == "utf-16"
        )
    with pytest.raises(TableError, match=r"text must be ascii\. Got 'gr"):
        rows(path, encoding="ascii")
    for name in ("klingon", "undefined"):
        with pytest.raises(
            ValueError, match=rf"encoding must be the name of an encoding, such as 'cp1252'\. Got '{name}'"
        ):
            open_table(path, encoding=name)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("block", [1, 1000])
def test_separators(file, rows, monkeypatch, separator, block):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    path = file("a.csv", separator.join(["x", "y"]) + "\n" + separator.join(["1,5", "a"]) + "\n")
    assert open_table(path).remarks == [f"file {path}: columns are separated by {separator!r}"]
    assert rows(path)[0][0] == {"x": "1,5", "y": "a"}
    assert rows(path, decimal=",")[0][0] == {"x": 1.5, "y": "a"}
    assert open_table(path, separator=separator).remarks == []
    assert open_table(path, separator=",").schema.names == [f"x{separator}y"]
    mixed = file("b.csv", f"y{separator}z,x\n1,2\n")  # a comma is the separator where there is one
    assert open_table(mixed).schema.names == [f"y{separator}z", "x"]


def test_wrong_styles(file):
    for options in (dict(separator=";;"), dict(separator='"'), dict(decimal=";"), dict(decimal=",", separator=",")):
        with pytest.raises(ValueError, match=r"^(separator|decimal) must be"):
            open_table(file("a.csv", "x\n1\n"), **options)


def test_standard_input(monkeypatch, rows):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x\n1\ny\n")))
    opened = open_table("-", types={"x": "int64"})
    assert opened.files == ["standard input"]
    for _ in range(2):  # it can be read again
        with pytest.raises(TableRowError, match=r"^file standard input, row 2 \(line 3\): column 'x' holds int64"):
            list(opened.batches())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"x": 1}\n')))
    assert rows("-", format="jsonl") == [({"x": 1}, 1)]


class TestExcel:
    @pytest.fixture(autouse=True)
    def _needed(self):
        pytest.importorskip("openpyxl")

    def test_the_first_sheet(self, tmp_path, rows):
        path = tmp_path / "a.xlsx"
        pd.DataFrame({"x": [1.5, None, 3], "n": [1, 2, 3], "y": [3, "3-5", None]}).to_excel(path, index=False)
        expected = [{"x": 1.5, "n": 1, "y": "3"}, {"x": None, "n": 2, "y": "3-5"}, {"x": 3.0, "n": 3, "y": None}]
        assert rows(path) == [(row, i + 1) for i, row in enumerate(expected)]
        assert rows(path, 1, batch_rows=1, columns=["y"]) == [({"y": "3-5"}, 2), ({"y": None}, 3)]
        (batch,) = open_table(path).batches()
        assert batch.place(1) == f"file {path}, row 2 (line 3)"
        y, _ = LabelColumns("y").read(batch)
        np.testing.assert_array_equal(y, [[3, 3], [3, 5], [np.nan, np.nan]])

    def test_what_cannot_be_read_or_written(self, file, tmp_path):
        with pytest.raises(TableError, match=r"a.xlsx: cannot read it as Excel: "):
            open_table(file("a.xlsx", "no workbook"))
        with pytest.raises(TableError, match=r"b.xlsx: Excel files are read, but not written"):
            write_table(tmp_path / "b.xlsx", [pa.record_batch({"x": [1]})])


def test_svmlight_comments_are_no_features(file):
    opened = open_table(file("a.svm", "# 99999999999:1\n1 1:2 # 7:1 99999999999:1\n2 # 3,4 9:1\n"))
    assert opened.n_features == 1
    (batch,) = opened.batches()
    np.testing.assert_array_equal(batch.data.toarray(), [[2], [0]])


def test_svmlight_index_base_is_guessed_or_declared(file):
    from_zero, without_zero = file("a.svm", "1 0:1 2:1\n"), file("b.svm", "1 2:1\n")
    assert [open_table(path).index_base for path in (from_zero, without_zero)] == [0, 1]
    for base, expected in ((0, [[0, 0, 1]]), (1, [[0, 1]])):
        (batch,) = open_table(without_zero, index_base=base).batches()
        np.testing.assert_array_equal(batch.data.toarray(), expected)
    with pytest.raises(TableRowError, match=r"row 1 \(line 1\): an index must be at least 1, where indices begin"):
        list(open_table(from_zero, index_base=1).batches())
    with pytest.raises(ValueError, match=r"index_base must be 0, 1 or None\. Got 2"):
        open_table(from_zero, index_base=2)


def test_svmlight_features_are_limited(file):
    path = file("a.svm", "1 1:1\n2 2147483647:1\n3 3:1\n4 99999999999:1\n")
    with pytest.raises(TableRowError, match=r"row 2 \(line 2\): an index must be at most 10000000, .* Got 214748"):
        list(open_table(path).batches())
    out = []
    opened = open_table(path, on_error="skip", quarantine=lambda *row: out.append(row[1]), max_features=3)
    assert opened.n_features == 3
    assert [batch.labels.tolist() for batch in opened.batches()] == [[1, 3]]
    assert out[-2:] == [2, 4]
    assert open_table(file("b.svm", "2 2147483647:1\n"), max_features=2**31 - 1).n_features == 2**31 - 1


def test_a_directory_stands_for_its_files(file, tmp_path, rows):
    for folder in ("b", ".hidden"):
        (tmp_path / folder).mkdir()
    file("b/2.csv", "x\n2\n")
    file("a.csv", "x\n1\n")
    file("_SUCCESS", "")
    file(".a.csv", "x\n9\n")
    file(".hidden/a.csv", "x\n9\n")
    file("notes.txt", "nothing")
    assert [row["x"] for row, _ in rows(tmp_path)] == [1, 2]
    assert [row["x"] for row, _ in rows([tmp_path, tmp_path / "a.csv"])] == [1, 2]  # a file counts once


def test_columns_and_types(file, rows):
    path = file("a.csv", "x,postcode,y\n1,0815,2\n")
    assert rows(path, columns=["y", "x"]) == [({"y": 2, "x": 1}, 1)]
    assert rows(path, types={"postcode": "string"})[0][0]["postcode"] == "0815"
    assert rows(path, types={"x": pa.float32()}, columns=["x"])[0][0] == {"x": 1.0}
    assert isinstance(rows(path, types={"x": pa.float32()})[0][0]["x"], float)
    jsonl = file("a.jsonl", '{"x": 1, "y": 2}\n{"y": 3, "z": 4}\n')
    assert rows(jsonl, columns=["y"]) == [({"y": 2}, 1), ({"y": 3}, 2)]


def test_files_together_decide_what_a_column_holds(file, rows):
    paths = [file("1.csv", "x,y\n"), file("2.csv", "y,x\n1,\n"), file("3.csv", "x,y\n0.5,2.5\n")]
    assert [row for row, _ in rows(paths)] == [{"x": None, "y": 1.0}, {"x": 0.5, "y": 2.5}]
    assert open_table(paths[0]).schema.types == [pa.float64(), pa.float64()]
    paths = [file("4.csv", "x\n1\n"), file("5.csv", "x\n2020-01-01\n"), file("6.csv", "x\ny\n")]
    assert [row for row, _ in rows(paths)] == [{"x": "1"}, {"x": "2020-01-01"}, {"x": "y"}]


def test_a_line_of_unicode_is_no_line_of_a_file(file, rows):
    path = file("a.csv", "a\u2028b,c\x0b\nx\u2028y,1\n")
    assert rows(path) == [({"a\u2028b": "x\u2028y", "c\x0b": 1}, 1)]


def test_lines_of_csv_rows(file):
    path = file("a.csv", '\ufeffa,b\r\n\r\n1,"two\r\nlines"\r\n\r\n2,x\r\n')
    (batch,) = open_table(path).batches()
    assert batch.data.to_pylist() == [{"a": 1, "b": "two\r\nlines"}, {"a": 2, "b": "x"}]
    assert [batch.place(i) for i in range(2)] == [f"file {path}, row 1 (line 3)", f"file {path}, row 2 (line 6)"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("block", [1, 2, 3, 5, 8, 1000])
def test_line_ends(file, rows, monkeypatch, newline, at_end, block):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    content = newline.join(["a,b", "1,x", "", '2,"y""""z"', '3,w"w', '4,""', '5,"a,b"']) + newline * at_end
    assert [(row["a"], row["b"]) for row, _ in rows(file("a.csv", content), types={"b": "string"})] == [
        (1, "x"), (2, 'y""z'), (3, 'w"w'), (4, None), (5, "a,b"),
    ]  # fmt: skip


BAD_CSV = "a,b\n1,2\nx,3\n4\n5,6,7\n8,9\n10,\xff\n11,12\n".encode("latin-1")


def test_bad_rows_go_to_the_quarantine(file, rows):
    path, out = file("a.csv", BAD_CSV), []
    good = rows(path, types={"a": "int64", "b": "int64"}, on_error="skip", quarantine=lambda *row: out.append(row))
    assert good == [({"a": 1, "b": 2}, 1), ({"a": 8, "b": 9}, 5), ({"a": 11, "b": 12}, 7)]
    assert [(name, row, text) for name, row, text, _ in out] == [
        (str(path), 2, "x,3"),
        (str(path), 3, "4"),
        (str(path), 4, "5,6,7"),
        (str(path), 6, "10,\ufffd"),
    ]
    reasons = [reason for *_, reason in out]
    assert reasons[0].startswith("column 'a' holds int64 values. Got 'x'.")
    assert reasons[1] == "a row must have 2 columns as the header has. Got 1."
    assert reasons[2] == "a row must have 2 columns as the header has. Got 3."
    assert reasons[3].startswith("text must be UTF-8, unless another encoding is given (encoding='cp1252', say). ")
    assert reasons[3].endswith("Got the byte 0xff in '10,\ufffd'.")
    for start in range(8):  # rows left out count as rows
        kept = rows(path, start, types={"a": "int64", "b": "int64"}, on_error="skip", batch_rows=1)
        assert kept == [(row, number) for row, number in good if number > start]


def test_ends_count_the_rows_left_out(file):
    path = file("a.csv", BAD_CSV)
    opened = open_table(path, types={"a": "int64", "b": "int64"}, on_error="skip", batch_rows=1)
    assert [batch.end for batch in opened.batches()] == [4, 6, 7]


def test_json_that_is_nested_too_deep_is_a_bad_row(file, rows):
    def deep(n, opening="[", closing="]"):
        return '{"a": 1, "b": ' + opening * n + closing * n + "}\n"

    flat = '{"a": 2, "b": []}\n{"a": 3, "b": [], "s": "' + "[" * 200 + '\\""}\n'
    path = file("a.jsonl", flat + deep(20_000) + deep(20_000, '{"x":', "}") + '{"a": ' + "[" * 20_000 + '\n{"a": 4}\n')
    out = []
    good = rows(path, columns=["a"], on_error="skip", quarantine=lambda *row: out.append(row))
    assert [row["a"] for row, _ in good] == [2, 3, 4]
    assert [row for _, row, _, _ in out] == [3, 4, 5]
    assert {reason for *_, reason in out[:2]} == {"values must be nested at most 100 deep. Got 20001 levels."}
    with pytest.raises(TableRowError, match=r"row 3 \(line 3\): values must be nested at most 100 deep"):
        rows(path, columns=["a"])
    with pytest.raises(TableError, match="holds no JSON object"):
        rows(file("b.jsonl", deep(100_000)))


def test_bad_json_and_svmlight_rows(file, rows):
    lines = ['{"a": 1}', "[1]", '{"a": 2}{"a": 3}', '{"a": "x"}', '{"b": 1}', '{"a": 4', '{"a": 5}']
    out = []
    path = file("a.jsonl", "\n".join(lines))
    good = rows(path, types={"a": "int64"}, columns=["a"], on_error="skip", quarantine=lambda *row: out.append(row))
    assert good == [({"a": 1}, 1), ({"a": None}, 5), ({"a": 5}, 7)]
    assert [(row, text) for _, row, text, _ in out] == [(i + 1, lines[i]) for i in (1, 2, 3, 5)]
    assert out[2][3].startswith("column 'a' holds int64 values. Got 'x'.")
    out.clear()
    opened = open_table(
        file("a.svm", "1 1:2\nx 1:2\n2 3:\n3 2:1 1:1\n4 1:3\n"),
        on_error="skip",
        quarantine=lambda *row: out.append(row),
    )
    (batch,) = opened.batches()
    assert [batch.row_number(i) for i in range(len(batch))] == [1, 5]
    assert [row for _, row, _, _ in out] == [2, 3, 4]
    assert all(re.match("a row must be a label and index:value pairs. Got '", reason) for *_, reason in out)


def test_a_new_type_behind_the_first_block(file, rows, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 50)
    content = "a,b\n" + "1,2\n" * 100 + "3,4.5\n"
    path = file("a.csv", content)
    with pytest.raises(TableError) as error:
        rows(path)
    assert str(error.value) == (
        f"file {path}, row 101 (line 102): column 'b' holds int64 values. Got '4.5'. If the column is of another type, "
        f"say so: types={{'b': 'float64'}}."
    )
    assert rows(path, types={"b": "float64"})[-1] == ({"a": 3, "b": 4.5}, 101)
    path = file("a.jsonl", '{"a": 1}\n' * 100 + '{"a": 1, "b": 2}\n')
    with pytest.raises(
        TableError, match=r"row 101 \(line 101\): a row must have the columns of the first rows, \['a'\]"
    ):
        rows(path)


def _truncated(compressed):
    return compressed[: len(compressed) // 2]


def test_files_that_cannot_be_read(file, rows, tmp_path):
    big = pa.table({"x": np.arange(5000.0)})
    for name in ("t.parquet", "t.arrow"):
        write_table(tmp_path / name, big.to_batches(max_chunksize=1000))
        (tmp_path / f"cut{name}").write_bytes(_truncated((tmp_path / name).read_bytes()))
    text = "".join(f"{i},{i * i}\n" for i in range(50_000)).encode()
    (tmp_path / "cut.csv.gz").write_bytes(_truncated(gzip.compress(b"a,b\n" + text)))
    (tmp_path / "cut.csv.zst").write_bytes(_truncated(pa.compress(b"a,b\n" + text, "zstd", asbytes=True)))
    cases = {
        tmp_path / "cutt.parquet": "cannot read it as Parquet: Parquet magic bytes not found in footer",
        tmp_path / "cutt.arrow": "cannot read it as Arrow IPC: Not an Arrow file",
        tmp_path / "cut.csv.gz": "cannot read it: Truncated compressed stream",
        tmp_path / "cut.csv.zst": "cannot read it: Truncated compressed stream",
        file("no.csv.gz", "") .rename(tmp_path / "no.csv.zst"): "cannot read it: ",
        file("e.parquet", ""): "cannot read it as Parquet: Parquet file size is 0 bytes",
        file("e.arrow", "a,b\n1,2\n"): "cannot read it as Arrow IPC: ",
        file("e.csv", ""): "a CSV file begins with a header that names its columns. It is empty.",
        file("e2.csv", "\n\n"): "a CSV file begins with a header that names its columns. It is empty.",
        file("e.jsonl", "\n"): "holds no JSON object, so its columns are not known.",
        file("u.csv", "a,b\n1,2".encode("utf-16")[:-1]): "text must be utf-16. Got ",
        file("h.csv", b"a,\xe9\n1,2"): "line 1: text must be UTF-8, unless another encoding is given",
        file("d.csv", "a,a\n1,2"): r"line 1: the names of columns must be distinct. Got \['a', 'a'\].",
        file("l.csv", f"a,{'b' * 200_000}\n1,2"): "line 1: the names of the columns cannot be told apart. Got 'a,bbb",
        file("n.csv", "a,,b\n1,2,3"): r"line 1: every column needs a name. Got \['a', '', 'b'\].",
        file("x.csv", "a,b\n1,\xe9\n".encode("latin-1")): r"row 1 \(line 2\): text must be UTF-8, .* Got the byte 0xe9",
        file("w.csv", "a,b\n1,2\n1,2,3\n"): r"row 2 \(line 3\): a row must have 2 columns as the header has. Got 3.",
        file("q.csv", 'a,b\n1,"2\n3,4\n'): r"line 2: the record that begins here does not end within 9 bytes.",
        file("what.dat", "a"): "its name does not say its format. Known suffixes are .csv, ",
        file("z.parquet.gz", "a"): "a Parquet file is compressed inside and cannot be read through gzip.",
        tmp_path / "none.csv": "there is no such file or directory.",
    }  # fmt: skip
    for path, message in cases.items():
        with pytest.raises(TableError) as error:
            rows(path)
        assert re.match(rf"file {re.escape(str(path))}(: |, ){message}", str(error.value))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (("1.csv", "a,b\n1,2\n"), ("2.csv", "a,c\n1,2\n"), "Column 'b' is in .*1.csv only, not in .*2.csv"),
        (("1.csv", "a\n1\n"), ("2.csv", "a,c\n1,2\n"), "Column 'c' is in .*2.csv only, not in .*1.csv"),
        (("1.jsonl", '{"a": 1}'), ("2.jsonl", '{"a": "x"}'), "column 'a' must be of one type .*string here, int64 in"),
        (("1.csv", "a\n1\n"), ("2.jsonl", '{"a": 1}'), "all files of a table must have one format. This one is jsonl"),
    ],
)
def test_files_that_differ(file, first, second, message):
    paths = [file(*first), file(*second)]
    with pytest.raises(TableError, match=rf"^file {re.escape(str(paths[1]))}: .*{message}"):
        open_table(paths)


def test_parquet_files_that_differ(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "2.parquet")
    with pytest.raises(
        TableError, match=r"2.parquet: column 'a' must be of one type .* double here, int64 in .*1.parq"
    ):
        open_table(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "ods"}, "format must be one of csv, tsv, parquet, arrow, jsonl, svmlight, xlsx or None. Got 'ods'"),
        ({"on_error": "ignore"}, "on_error must be 'stop' or 'skip'. Got 'ignore'"),
        ({"batch_rows": 0}, "batch_rows must be a whole number >= 1. Got 0"),
        ({"types": {"a": "number"}}, r"types\['a'\] must be a type of pyarrow or its name. Got 'number'"),
        ({"columns": ["z"]}, r"a.csv: has no column 'z'. Its columns are \['a', 'b'\]"),
        ({"types": {"z": "int64"}}, r"a.csv: has no column 'z'"),
    ],
)
def test_wrong_options(file, options, message):
    with pytest.raises(ValueError, match=message):
        open_table(file("a.csv", "a,b\n1,2\n"), **options)


def test_other_refusals(file, tmp_path):
    with pytest.raises(TableError, match="a table needs at least one file"):
        open_table([])
    with pytest.raises(TableError, match=rf"directory {tmp_path}: holds no file with one of the suffixes"):
        open_table(tmp_path)
    with pytest.raises(TableError, match="an svmlight file has no named columns to choose from"):
        open_table(file("a.svm", "1 1:1\n"), columns=["x"])
    with pytest.raises(TableError, match=r"row 1 \(line 1\): an index must be at most 2147483647. Got 99999999999"):
        next(open_table(file("a.svm", "1 99999999999:1\n")).batches())
    with pytest.raises(ValueError, match="start_row must be >= 0"):
        next(open_table(file("a.csv", "a\n1\n")).batches(-1))
    path = tmp_path / "b.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"]), path)
    with pytest.raises(TableError, match=r"the names of columns must be distinct. Got 'a' more than once"):
        open_table(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(file):
    path = file("a.csv", "a\n1\n")
    path.chmod(0)
    with pytest.raises(TableError, match="no permission to open it"):
        open_table(path)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numeric_matrix(rng, dtype):
    n = 10_000  # more than one block
    x, k, f = rng.standard_normal(n), rng.integers(0, 9, n), rng.standard_normal(n).astype(np.float32)
    batch = pa.record_batch({"x": x, "k": k, "f": f, "b": k > 4, "none": pa.nulls(n)})
    expected = np.column_stack([f, k, x, k > 4, np.full(n, np.nan)]).astype(dtype)
    memory = np.empty((n + 5, 5), dtype=dtype)
    for out in (None, memory):
        found = numeric_matrix(batch, ["f", "k", "x", "b", "none"], dtype, out=out)
        assert found.dtype == dtype
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, expected)
    assert np.shares_memory(found, memory)


def test_numeric_matrix_of_missing_values_and_text():
    batch = pa.record_batch({"k": [1, None], "b": [True, None], "t": ["a", "b"]})
    np.testing.assert_array_equal(numeric_matrix(batch, ["k", "b"]), [[1, 1], [np.nan, np.nan]])
    with pytest.raises(TableError, match=r"column 't' must hold numbers. It holds string values"):
        numeric_matrix(batch, ["t"])
    with pytest.raises(TableError, match="there is no column 'z'"):
        numeric_matrix(batch, ["z"])


def test_an_error_about_a_row_says_where_as_values(file):
    path = file("a.csv", "a,b\n1,2\n\n1,2,3\n")
    with pytest.raises(TableRowError) as error:
        list(open_table(path).batches())
    assert isinstance(error.value, RowError)
    assert isinstance(error.value, TableError)
    for found in (error.value, pickle.loads(pickle.dumps(error.value))):
        assert (found.file, found.row, found.line, found.column) == (str(path), 2, 4, None)
        assert found.reason == "a row must have 2 columns as the header has. Got 3."
        assert str(found) == f"file {path}, row 2 (line 4): {found.reason}"
    (batch,) = open_table(file("b.csv", "lo,hi\n1,2\n3,2\n")).batches()
    with pytest.raises(TableRowError) as error:
        LabelColumns(lower="lo", upper="hi").read(batch)
    assert (error.value.row, error.value.line, error.value.column) == (2, 3, ("lo", "hi"))


def test_other_columns_of_files_that_are_open(file, monkeypatch):
    path = file("a.csv", "a,b\n1,2\n3,4\n")
    table = open_table(path)
    opened = []
    monkeypatch.setattr(files, "open_file", lambda f: opened.append(f) or open_file(f))
    texts = table.select(["b"], {"b": "string"})
    assert [row for batch in texts.batches() for row in batch.data.to_pylist()] == [{"b": "2"}, {"b": "4"}]
    assert not opened
    assert table.schema.names == ["a", "b"]  # as it was
    assert [row["a"] for batch in table.batches() for row in batch.data.to_pylist()] == [1, 3]
    assert len(opened) == 1
    with pytest.raises(TableError, match="has no column 'z'"):
        table.select(["z"])


@pytest.mark.parametrize("lines", [["null", '{"a": 1}'], ['{"a": 1}', "  null"], ["[1]", '{"a": 1}']])
def test_a_line_of_json_that_is_no_object_is_a_bad_row(tmp_path, lines):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(TableError, match=r"hold one JSON object|holds no JSON object"):
        list(open_table(path).batches())
    assert [batch.data.to_pylist() for batch in open_table(path, on_error="skip").batches()] == [[{"a": 1}]]


def test_a_number_of_numpys_is_a_whole_number(file, rows):
    assert len(rows(file("a.csv", "x\n1\n2\n"), batch_rows=np.int64(1))) == 2
