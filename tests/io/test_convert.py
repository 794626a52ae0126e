"""From one way of writing labels to another, whatever the file format."""

import os

import pytest

from rankwise.io import LabelColumns, TableError, convert, open_table

ENDS, TEXT = LabelColumns(lower="lo", upper="hi", weight="w"), LabelColumns("grade", weight="w")


@pytest.fixture
def converted(tmp_path, rows):
    def run(source, name, *arguments, **options):
        n = convert(source, tmp_path / name, *arguments, **options)
        found = [row for row, _ in rows(tmp_path / name)]
        assert len(found) == n
        return found

    return run


def test_from_ends_to_texts_and_back(file, converted, tmp_path):
    source = file("ends.csv", "x,lo,hi,w\n1,3,5,1\n2,4,,2\n3,,2,1\n4,,,1\n5,7,7,1\n")
    texts = converted(source, "texts.csv", ENDS, TEXT)
    assert [row["grade"] for row in texts] == ["3-5", ">=4", "<=2", "?", "7"]
    assert list(texts[0]) == ["x", "grade", "w"]
    back = converted(tmp_path / "texts.csv", "back.parquet", TEXT, ENDS)
    assert [(row["lo"], row["hi"]) for row in back] == [(3, 5), (4, None), (None, 2), (None, None), (7, 7)]
    assert isinstance(back[0]["lo"], int)
    assert list(back[0]) == ["x", "lo", "hi", "w"]


@pytest.mark.parametrize("batch_rows", [1, 100])
def test_candidates_with_declared_classes(file, converted, batch_rows):
    source = file("a.jsonl", '{"y": "low-high"}\n{"y": ">low"}\n{"y": "low|high"}\n{"y": "?"}\n{"y": "low"}\n')
    classes, labels = ["low", "mid", "high"], LabelColumns("y")
    options = dict(classes=classes, batch_rows=batch_rows)
    found = converted(source, "b.csv", labels, style="candidates", **options)
    assert [row["y"] for row in found] == ["?", "mid|high", "low|high", "?", "low"]
    found = converted(source, "c.csv", labels, **options)
    assert [row["y"] for row in found] == ["?", "mid-high", "low|high", "?", "low"]


def test_types_of_ends_follow_the_classes(file, converted):
    source = file("a.csv", "y\na-b\nc\n?\n")
    found = converted(source, "b.parquet", LabelColumns("y"), LabelColumns(lower="y", upper="to"), classes=list("abcd"))
    assert found == [{"y": "a", "to": "b"}, {"y": "c", "to": "c"}, {"y": None, "to": None}]


def test_svmlight_and_back(file, converted, tmp_path):
    source = file("a.csv", "x,z,y\n0.5,0,3-5\n0,-1,7\n1,0,?\n")
    assert convert(source, tmp_path / "b.svm", LabelColumns("y")) == 3
    assert (tmp_path / "b.svm").read_text() == "3,4,5 1:0.5\n7 2:-1\nnan 1:1\n"
    found = converted(tmp_path / "b.svm", "c.csv", LabelColumns("grade"))
    assert found == [
        {"grade": "3|4|5", "x1": 0.5, "x2": 0.0},
        {"grade": "7", "x1": 0.0, "x2": -1.0},
        {"grade": "?", "x1": 1.0, "x2": 0.0},
    ]


def test_file_formats_alone(file, converted, tmp_path):
    source = file("a.csv", "x,y\n1,a\n2,b\n")
    assert converted(source, "b.parquet") == [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]
    assert converted(tmp_path / "b.parquet", "c.jsonl.gz") == [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]
    assert convert(file("d.svm", "1 1:1\n"), tmp_path / "e.svm.gz") == 1
    assert next(open_table(tmp_path / "e.svm.gz").batches()).labels.tolist() == [1]


def test_bad_rows_are_left_out(file, converted, tmp_path):
    source = file("a.csv", "x,y\n1,3-5\n2,what?\n3\n4,5-3\n5,4\n")
    out = []
    found = converted(
        source, "b.csv", LabelColumns("y"), on_error="skip", classes=[3, 4, 5], quarantine=lambda *row: out.append(row)
    )
    assert [row["y"] for row in found] == ["?", "4"]
    assert sorted(row[1] for row in out) == [2, 3, 4]
    source = file("b.csv", "x,y\n1,3-5\n2,what?\n")
    with pytest.raises(TableError, match=r"b.csv, row 2 \(line 3\): 'y': the label 'what\?' is not one of the classes"):
        convert(source, tmp_path / "c.csv", LabelColumns("y"), classes=[3, 4, 5])
    assert not (tmp_path / "c.csv").exists()


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("x,y\n1,2|4\n", (LabelColumns("y"), ENDS), r"row 1 \(line 2\): 'y': the candidates \[2, 4\] have gaps"),
        ("x,y\n1,2-3\n", (LabelColumns("y"), LabelColumns("x")), "has a column 'x' already"),
        ("x,y\n", (LabelColumns("y"),), "holds no rows to convert"),
        ("x,z\n1,2\n", (LabelColumns("y"),), "has no column 'y'"),
    ],
)
def test_what_cannot_be_converted(file, tmp_path, content, arguments, message):
    arguments = tuple(LabelColumns(lower="lo", upper="hi") if a is ENDS else a for a in arguments)
    with pytest.raises(TableError, match=message):
        convert(file("a.csv", content), tmp_path / "b.csv", *arguments)
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize(
    ("content", "labels", "message"),
    [
        (
            "x,y\n1,low\n",
            LabelColumns("y"),
            r"row 1 \(line 2\): 'y': the labels of an svmlight file are numbers. Got 'low'",
        ),
        ("x,y\n1,>=2\n", LabelColumns("y"), r"row 1 \(line 2\): 'y': the classes between .* declare the classes"),
        ("x,y\n1,2\n", LabelColumns("y", weight="x"), "an svmlight file has no place for the weights 'x'"),
        ("x,y\n1,2\n", None, "an svmlight file needs labels: say where they are"),
        ("x,y\na,2\n", LabelColumns("y"), "column 'x' must hold numbers. It holds string values"),
    ],
)
def test_what_cannot_be_svmlight(file, tmp_path, content, labels, message):
    with pytest.raises(TableError, match=message):
        convert(file("a.csv", content), tmp_path / "b.svm", labels)
    assert os.listdir(tmp_path) == ["a.csv"]


def test_contradictions(file, tmp_path):
    source = file("a.csv", "x,y\n1,2\n")
    with pytest.raises(ValueError, match="labels_from must say where they come from"):
        convert(source, tmp_path / "b.csv", None, TEXT)
    with pytest.raises(ValueError, match=r"weights stay in their column None. Got 'w'"):
        convert(source, tmp_path / "b.csv", LabelColumns("y"), TEXT)
    wide = file("w.svm", "1 20000:1\n")
    with pytest.raises(TableError, match=r"at most 10000 features can be written as columns. This one has 20000"):
        convert(wide, tmp_path / "b.csv")


def test_ends_that_change_their_type(file, tmp_path):
    source = file("a.csv", "y\n1-2\nlow-high\n")
    with pytest.raises(TableError, match=r"row 2 \(line 3\) and behind: the ends .* were int64 values before"):
        convert(source, tmp_path / "b.csv", LabelColumns("y"), LabelColumns(lower="lo", upper="hi"), batch_rows=1)
