"""Columns of labels and weights -> y and sample_weight, with the place of everything that is wrong."""

import numpy as np
import pyarrow as pa
import pytest

from rankwise import PRIL
from rankwise.io import Batch, LabelColumns, TableError, numeric_matrix, open_table
from rankwise.labels import OrderWarning, encode


def batch_of(**columns):
    return Batch(pa.record_batch(columns), "grades.csv", first_row=11)


def admitted(batch, classes, **columns):
    return encode(LabelColumns(**columns).read(batch, classes)[0], classes).admissible().tolist()


def test_numeric_ends_are_an_array():
    batch = batch_of(lo=[1, 2], hi=[3, 2])
    y, weight = LabelColumns(lower="lo", upper="hi").read(batch, [1, 2, 3])
    assert y.dtype == np.int64
    assert y.tolist() == [[1, 3], [2, 2]]
    assert weight is None
    y, _ = LabelColumns(lower="lo", upper="hi").read(batch_of(lo=[1.0, None], hi=[None, 2]))
    np.testing.assert_array_equal(y, [[1, np.nan], [np.nan, 2]])


@pytest.mark.parametrize(
    ("columns", "where", "classes", "expected"),
    [
        ({"y": [1, None]}, {"label": "y"}, [1, 2, 3], [[1, 0, 0], [1, 1, 1]]),
        ({"y": pa.nulls(1)}, {"label": "y"}, [1, 2], [[1, 1]]),
        ({"y": [1.0, 3.0]}, {"label": "y"}, [1, 2, 3], [[1, 0, 0], [0, 0, 1]]),
        ({"y": [True, False]}, {"label": "y"}, [False, True], [[0, 1], [1, 0]]),
        ({"y": [[1, 3], [2], None]}, {"label": "y"}, [1, 2, 3], [[1, 0, 1], [0, 1, 0], [1, 1, 1]]),
        ({"y": ["1|3", ">1"]}, {"label": "y"}, [1, 2, 3], [[1, 0, 1], [0, 1, 1]]),
        ({"y": pa.array(["b", "a"]).dictionary_encode()}, {"label": "y"}, ["a", "b"], [[0, 1], [1, 0]]),
        ({"y": pa.array(["a-b"], pa.large_string())}, {"label": "y"}, ["a", "b", "c"], [[1, 1, 0]]),
        ({"lo": ["a", "b"], "hi": ["b", ""]}, {"lower": "lo", "upper": "hi"}, "abc", [[1, 1, 0], [0, 1, 1]]),
        ({"lo": [1, 2], "hi": ["2", "?"]}, {"lower": "lo", "upper": "hi"}, [1, 2, 3], [[1, 1, 0], [0, 1, 1]]),
        ({"lo": [1.0], "hi": ["2"]}, {"lower": "lo", "upper": "hi"}, [1, 2, 3], [[1, 1, 0]]),
    ],
)
def test_every_kind_of_column(columns, where, classes, expected):
    assert admitted(batch_of(**columns), list(classes), **where) == np.array(expected, dtype=bool).tolist()


def test_svmlight_labels(file):
    labels = LabelColumns("label")
    (batch,) = open_table(file("a.svm", "3 1:1\nnan 1:2\n")).batches()
    np.testing.assert_array_equal(labels.read(batch)[0], [3, np.nan])
    (batch,) = open_table(file("b.svm", "3,1 1:1\n2 1:2\nnan 1:1\n")).batches()
    assert labels.read(batch)[0] == [{1, 3}, {2}, None]
    with pytest.raises(TableError, match=r"b.svm: an svmlight file has no column 'w' of weights"):
        LabelColumns("label", weight="w").read(batch)


BAD = [
    ({"y": ["1", "x"]}, {"label": "y"}, r"row 12: 'y': the label 'x' is not one of the classes \[1, 2, 3\]"),
    ({"y": [1, 9]}, {"label": "y"}, r"row 12: 'y': the label 9 is not one of the classes \[1, 2, 3\]"),
    ({"y": [[1], []]}, {"label": "y"}, "row 12: 'y': a candidate set must not be empty"),
    ({"a": [1, 3], "b": [2, 2]}, {"lower": "a", "upper": "b"}, r"row 12: 'a' and 'b': .* Got \[3, 2\]"),
    ({"a": [1, 3.5], "b": [2, 4]}, {"lower": "a", "upper": "b"}, "row 12: 'a' and 'b': the lower end 3.5 is not"),
    ({"a": ["1", "3"], "b": ["2", "x"]}, {"lower": "a", "upper": "b"}, "row 12: 'a' and 'b': the upper end 'x' is not"),
    ({"y": [1, 1], "w": [1, -1]}, {"label": "y", "weight": "w"}, "row 12: 'w': a weight .* >= 0. Got -1.0"),
    ({"y": [1, 1], "w": [1, None]}, {"label": "y", "weight": "w"}, "row 12: 'w': a weight .* >= 0. Got nan"),
]


@pytest.mark.parametrize(("columns", "where", "message"), BAD)
def test_what_is_wrong_and_where(columns, where, message):
    with pytest.raises(TableError, match=f"^file grades.csv, {message}"):
        LabelColumns(**where).read(batch_of(**columns), [1, 2, 3])


@pytest.mark.parametrize(("columns", "where", "message"), BAD)
def test_bad_rows_are_left_out(columns, where, message):
    out, labels = [], LabelColumns(**where)
    kept = labels.without_bad_rows(batch_of(**columns), [1, 2, 3], lambda *row: out.append(row))
    assert [kept.row_number(i) for i in range(len(kept))] == [11]
    labels.read(kept, [1, 2, 3])
    ((name, row, text, reason),) = out
    assert (name, row) == ("grades.csv", 12)
    assert all(f'"{column}": ' in text for column in columns)
    assert not reason.startswith("row")


def test_good_rows_stay_as_they_are():
    batch = batch_of(y=[1, 2])
    assert LabelColumns("y").without_bad_rows(batch, [1, 2], lambda *_: pytest.fail("nothing is bad")) is batch


def test_many_bad_rows_and_svmlight(file):
    y = ["1", "x", "2", "?", "y-z"] * 2000
    out = []
    kept = LabelColumns("y").without_bad_rows(batch_of(y=y), [1, 2], lambda *row: out.append(row[1]))
    assert len(kept) == 6000
    assert out == [11 + i for i, text in enumerate(y) if text in ("x", "y-z")]
    (batch,) = open_table(file("a.svm", "1 1:1\n7 1:2\n2 1:3\n")).batches()
    kept = LabelColumns("label").without_bad_rows(batch, [1, 2], lambda *row: out.append(row[1:3]))
    assert out[-1] == (2, '{"label": 7.0}')
    assert kept.labels.tolist() == [1, 2]
    assert kept.data.toarray().ravel().tolist() == [1, 3]
    assert kept.place(1).endswith("row 3 (line 3)")


@pytest.mark.parametrize(
    "where",
    [{}, {"lower": "a"}, {"upper": "b"}, {"label": "y", "lower": "a", "upper": "b"}, {"label": "y", "lower": "a"}],
)
def test_labels_are_in_one_column_or_in_two(where):
    with pytest.raises(ValueError, match=r"labels are in one column, label=..., or in two"):
        LabelColumns(**where)


def test_a_column_that_is_not_there_or_no_numbers():
    with pytest.raises(TableError, match=r"file grades.csv: there is no column 'z'. The columns are \['y', 'w'\]"):
        LabelColumns("z").read(batch_of(y=[1], w=["x"]))
    with pytest.raises(TableError, match=r"file grades.csv: column 'w' must hold numbers. It holds string"):
        LabelColumns("y", weight="w").read(batch_of(y=[1], w=["x"]))


@pytest.mark.parametrize(
    ("content", "where", "expected"),
    [
        ("y\n3\n1\n", {"label": "y"}, [1, 3]),
        ("y\n3-5\n\n1\n?\n", {"label": "y"}, [1, 3, 4, 5]),
        ("y\n1-2\n>=4\n6\n5\n", {"label": "y"}, [1, 2, 4, 5, 6]),
        ("y\n0.5\n1\n0.5\n1\n", {"label": "y"}, [0.5, 1]),
        ("a,b\n1,3\n7,\n9,9\n", {"lower": "a", "upper": "b"}, [1, 2, 3, 7, 8, 9]),
        ("y\n2|7\n", {"label": "y"}, [2, 7]),
    ],
)
def test_classes_of_a_whole_table(file, content, where, expected):
    labels = LabelColumns(**where)
    path = file("a.csv", content)
    for batch_rows in (1, 100):
        table = open_table(path, types=labels.csv_types, columns=labels.names, batch_rows=batch_rows)
        found = labels.find_classes(table)
        assert found.values.tolist() == expected
    assert found.values.dtype == np.array(expected).dtype


def test_classes_that_are_names_or_measurements(file):
    labels = LabelColumns("y")
    with pytest.warns(OrderWarning, match="no order given"):
        found = labels.find_classes(open_table(file("a.csv", "y\nsmall\nlarge\n")))
    assert found.values.tolist() == ["large", "small"]
    with pytest.raises(ValueError, match="continuous"):
        labels.find_classes(open_table(file("b.csv", "y\n0.1\n0.2\n0.35\n")))


def test_a_name_that_may_be_a_range_is_named_by_its_row(file):
    path = file("a.csv", "y\nlow\nhigh\nmedium\nlow\nlow-medium\nlow-medium\nlow-high\n")
    table = open_table(path, batch_rows=2)
    reason = r"a\.csv, row 5 \(line 6\): 'y': 'low-medium' may be .* 2 rows hold this label.* 'low-high' \(row 7"
    with pytest.raises(TableError, match=reason):
        LabelColumns(label="y").find_classes(table)


def test_learning_from_a_file_is_learning_from_arrays(file, rng):
    X, y = rng.standard_normal((500, 3)), rng.integers(1, 6, 500)
    lines = [f"{','.join(map(repr, x.tolist()))},{label}-{min(5, label + 1)}" for x, label in zip(X, y, strict=True)]
    path = file("a.csv.gz", "a,b,c,y\n" + "\n".join(lines))
    labels, model = LabelColumns("y"), PRIL(classes=range(1, 6))
    for batch in open_table(path, types=labels.csv_types, batch_rows=64).batches():
        model.partial_fit(numeric_matrix(batch, ["a", "b", "c"]), labels.read(batch, range(1, 6))[0])
    twin = PRIL(classes=range(1, 6)).partial_fit(X, np.column_stack([y, np.minimum(5, y + 1)]))
    np.testing.assert_array_equal(model.coef_, twin.coef_)
    np.testing.assert_array_equal(model.thresholds_, twin.thresholds_)


def test_a_name_among_numbers_is_named_with_its_row(tmp_path):
    path = tmp_path / "grades.csv"
    path.write_text("grade\n3\n4-5\nbanana\n>=2\n")
    labels = LabelColumns("grade")
    with pytest.raises(TableError, match=r"row 3 \(line 4\): 'grade': a label is 'banana' where most are numbers"):
        labels.find_classes(open_table(path, columns=labels.names, types=labels.csv_types))


def test_both_ends_in_one_column_are_refused():
    with pytest.raises(ValueError, match=r"must be in different columns\. Got 'a' for both"):
        LabelColumns(lower="a", upper="a")


def test_lists_inside_candidate_lists_name_the_row():
    batch = Batch(pa.record_batch({"g": [None, [[2]]]}), "a.parquet", 1)
    with pytest.raises(TableError, match=r"^file a\.parquet, row 2: 'g': candidates must be numbers"):
        LabelColumns("g").read(batch)
