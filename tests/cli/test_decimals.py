"""Files with decimal commas: labels, predictions and what is copied are read and written with the same settings."""

import json

import numpy as np
import pandas as pd
import pytest

import rankwise as rw
from rankwise.io import LabelColumns, TableWriter, open_table
from tests.cli.commands import LINK, fail, run, succeed

GERMAN = {"sep": ";", "decimal": ",", "index": False}


@pytest.fixture
def made(tmp_path):
    """A file as spreadsheets write it in most of Europe, with labels of half steps."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=120).round(3)
    stars = np.digitize(x + 0.3 * rng.normal(size=120), [-1, 0, 1]) / 2 + 3
    frame = pd.DataFrame({"größe": x, "stars": stars.round(1)})
    path = tmp_path / "a.csv"
    frame.to_csv(path, **GERMAN, encoding="utf-8-sig")
    return frame, path


@pytest.fixture
def model(made, tmp_path):
    path = tmp_path / "m.rankwise"
    succeed("fit", made[1], "--label", "stars", "--decimal", ",", *LINK, "--output", path)
    return path


def read(path, **options):
    return pd.read_csv(path, sep=";", decimal=",", **options)


class TestLabels:
    def test_numbers_with_a_comma_are_classes(self, made, model):
        assert rw.load(model).classes_.tolist() == [3.0, 3.5, 4.0, 4.5]

    @pytest.mark.parametrize(
        "command",
        ["evaluate MODEL FILE", "compare FILE --estimator PRIL", "report MODEL FILE -o page.html", "simulate FILE",
         "tune FILE --time-budget 1 -o tuned.rankwise"],
    )  # fmt: skip
    def test_every_command_that_reads_labels(self, made, model, tmp_path, monkeypatch, command):
        monkeypatch.chdir(tmp_path)
        words = [{"MODEL": model, "FILE": made[1]}.get(word, word) for word in command.split()]
        succeed(*words, "--label", "stars", "--decimal", ",")

    def test_without_the_option_it_is_named(self, made, tmp_path):
        message = run("fit", made[1], "--label", "stars", "--output", tmp_path / "n").stderr
        assert "write 3.5 for a decimal (or declare it: --decimal ,), 3|5 for candidates" in message

    @pytest.mark.parametrize(
        ("text", "meaning"),
        [("3,5", 3.5), ("3,0-4,5", (3, 4.5)), (">=3,5", (3.5, None)), ("3,5|4,5", frozenset((3.5, 4.5))), ("?", None),
         ("at least 3,5", (3.5, None)), ("3,5 stars", 3.5), ("4", 4), ("3.5", 3.5), (",5", 0.5),
         ("-1,5--0,5", (-1.5, -0.5))],
    )  # fmt: skip
    def test_all_forms(self, tmp_path, text, meaning):
        path, labels = tmp_path / "a.csv", LabelColumns("y", decimal=",")
        path.write_text(f"x;y\n1;{text}\n")
        (batch,) = open_table(path, types=labels.csv_types, decimal=",").batches()
        y, _ = labels.read(batch)
        expected = rw.labels.parse_labels([text.replace(",", ".")])
        if isinstance(meaning, frozenset):
            assert y == expected == [meaning]
        else:
            np.testing.assert_array_equal(y, expected)
            ends = meaning if isinstance(meaning, tuple) else (meaning, meaning)
            given = [np.nan if end is None else end for end in ends]
            np.testing.assert_array_equal(np.broadcast_to(np.ravel(y), 2), given)

    def test_names_keep_their_commas(self, tmp_path):
        path, labels = tmp_path / "a.csv", LabelColumns("y", decimal=",")
        path.write_text("x;y\n1;1,5 litres\n2;good, 3,5\n")
        (batch,) = open_table(path, types=labels.csv_types, decimal=",").batches()
        assert list(labels.read(batch)[0]) == ["1,5 litres", "good, 3,5"]
        assert labels.read(batch, ["1,5 litres", "good, 3,5"])[0].tolist() == ["1,5 litres", "good, 3,5"]

    def test_ends_in_two_columns(self, made, tmp_path):
        frame, path = made
        frame.assign(low=frame["stars"], high=frame["stars"].astype(str).str.replace(".", ",")).to_csv(path, **GERMAN)
        model = tmp_path / "ends.rankwise"
        options = ["--lower", "low", "--upper", "high", "--ignore", "stars", "--decimal", ","]
        succeed("fit", path, *options, "--classes", "3.0,3.5,4.0,4.5", *LINK, "--output", model)
        assert rw.load(model).classes_.tolist() == [3.0, 3.5, 4.0, 4.5]


class TestPredictions:
    @pytest.mark.parametrize("options", [[], ["--only"], ["--decimal", ","]], ids=str)
    def test_are_read_with_the_settings_of_the_input(self, made, model, tmp_path, options):
        _, path = made
        succeed("predict", model, path, "--proba", "--scores", "--interval", "0.8", *options, "-o", tmp_path / "p.csv")
        content = (tmp_path / "p.csv").read_bytes()
        assert content.startswith(b"\xef\xbb\xbf")
        predicted = read(tmp_path / "p.csv", encoding="utf-8-sig")
        assert all(pd.api.types.is_numeric_dtype(kind) for kind in predicted.dtypes), predicted.dtypes
        np.testing.assert_allclose(predicted.filter(like="P(").sum(axis=1), 1)
        if not options:
            assert content.splitlines()[1].startswith(path.read_bytes().splitlines()[1] + b";")
            said = succeed("evaluate", model, tmp_path / "p.csv", "--label", "stars")
            assert said == succeed("evaluate", model, path, "--label", "stars")

    def test_on_the_standard_output(self, made, model):
        lines = succeed("predict", model, made[1], "--proba", "--only").splitlines()
        assert lines[0].endswith("prediction;P(3.0);P(3.5);P(4.0);P(4.5)")
        assert "." not in lines[1]
        assert lines[1].count(";") == 4

    def test_a_comma_that_was_found_is_written_too(self, made, tmp_path):
        """Without --decimal each column of numbers shows its own mark."""
        frame, path = made
        frame.assign(stars=(2 * frame["stars"]).astype(int)).to_csv(path, **GERMAN)
        succeed("fit", path, "--label", "stars", *LINK, "-o", tmp_path / "n.rankwise")
        succeed("predict", tmp_path / "n.rankwise", path, "--proba", "-o", tmp_path / "p.csv")
        assert read(tmp_path / "p.csv").dtypes.map(pd.api.types.is_numeric_dtype).all()
        assert not (tmp_path / "p.csv").read_bytes().startswith(b"\xef")  # nor has the input a mark

    def test_files_with_points_stay_as_they_are(self, made, model, tmp_path):
        made[0].to_csv(tmp_path / "b.csv", index=False)
        succeed("predict", model, tmp_path / "b.csv", "--proba", "-o", tmp_path / "p.csv")
        assert pd.read_csv(tmp_path / "p.csv").dtypes.map(pd.api.types.is_numeric_dtype).all()

    def test_a_declared_encoding_is_kept(self, made, model, tmp_path):
        frame, _ = made
        frame.to_csv(tmp_path / "b.csv", **GERMAN, encoding="cp1252")
        options = ["--encoding", "cp1252"]
        succeed("predict", model, tmp_path / "b.csv", "--proba", *options, "-o", tmp_path / "p.csv")
        assert "größe" in read(tmp_path / "p.csv", encoding="cp1252").columns
        succeed("evaluate", model, tmp_path / "p.csv", "--label", "stars", *options)

    def test_a_name_that_the_encoding_lacks(self, made, tmp_path):
        frame, path = made
        frame.assign(stars=np.where(frame["stars"] > 3.5, "好", "no")).to_csv(path, **GERMAN, encoding="utf-8")
        succeed("fit", path, "--label", "stars", "--classes", "no,好", *LINK, "-o", tmp_path / "n.rankwise")
        frame.to_csv(path, **GERMAN, encoding="cp1252")
        options = ["--encoding", "cp1252", "-o", tmp_path / "p.csv"]
        assert "p.csv: cannot write it: " in fail(
            1, "predict", tmp_path / "n.rankwise", path, "--separator", ";", *options
        )
        assert not (tmp_path / "p.csv").exists()


class TestConvert:
    def test_csv_keeps_its_style(self, made, tmp_path):
        _, path = made
        succeed("convert", path, "--decimal", ",", "-o", tmp_path / "b.csv")
        assert (tmp_path / "b.csv").read_bytes() == path.read_bytes()

    def test_labels_are_written_with_a_comma(self, made, tmp_path):
        _, path = made
        options = ["--label", "stars", "--decimal", ",", "--classes", "3.0,3.5,4.0,4.5"]
        succeed("convert", path, *options, "--to-lower", "low", "--to-upper", "high", "-o", tmp_path / "b.csv")
        ends = read(tmp_path / "b.csv", encoding="utf-8-sig")
        assert ends["low"].dtype == ends["high"].dtype == float
        back = ["--lower", "low", "--upper", "high", "--decimal", ",", "--to-label", "stars"]
        succeed("convert", tmp_path / "b.csv", *back, "-o", tmp_path / "c.csv")
        pd.testing.assert_frame_equal(read(tmp_path / "c.csv"), read(path))

    def test_numbers_are_numbers_in_parquet(self, made, tmp_path):
        frame, path = made
        succeed("convert", path, "--decimal", ",", "-o", tmp_path / "b.parquet")
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "b.parquet"), frame)


def test_points_between_thousands_are_refused(made, tmp_path):
    """With a decimal comma 1.234 is a thousand and more; it was read as a little more than one."""
    frame, path = made
    frame.assign(price=[f"{1 + i % 9}.{i:03}" for i in range(len(frame))]).to_csv(path, **GERMAN)
    options = ["--label", "stars", *LINK, "--output", tmp_path / "n.rankwise"]
    message = run("fit", path, "--decimal", ",", *options).stderr.splitlines()[-1]
    assert "column 'price' holds texts such as '1.000', where points stand between thousands" in message
    succeed("fit", path, "--decimal", ",", "--kind", "price=category", *options)


@pytest.mark.parametrize(
    ("rows", "example"),
    [
        (["921;0,5", "1.210;0,7"], "1.210"),  # decimal commas in another column
        (["2.626,50;1", "921,05;2"], "2.626,50"),  # in the column itself, whose values were an identifier's
        (["1.234.567;1,5", "12;NA"], "1.234.567"),
    ],
)
def test_points_between_thousands_are_refused_where_the_file_has_decimal_commas(tmp_path, rows, example):
    path = tmp_path / "g.csv"
    path.write_text("umsatz;x;n\n" + "".join(f"{row};{1 + i % 2}\n" for _ in range(30) for i, row in enumerate(rows)))
    message = run("fit", path, "--label", "n", "--output", tmp_path / "n.rankwise").stderr.splitlines()[-1]
    assert f"column 'umsatz' holds texts such as '{example}', where points stand between thousands" in message
    succeed("convert", path, "--output", tmp_path / "g.jsonl")
    assert [row["umsatz"] for row in map(json.loads, (tmp_path / "g.jsonl").read_text().splitlines())][:2] == [
        text.partition(";")[0] for text in rows
    ]


@pytest.mark.parametrize(
    "rows",
    [
        ["921;5", "1.210;7"],  # no decimal comma tells
        ["921;1,234", "1.210;5,678"],  # which this does not either
        ["0.921;0,5", "1.210;0,7"],  # points behind a zero are decimal
        ["1.21;0,5", "1.210;0,7"],
    ],
)
def test_points_before_decimals_are_read_as_such(tmp_path, rows):
    path = tmp_path / "g.csv"
    path.write_text("umsatz;x\n" + "\n".join(rows) + "\n")
    table = open_table(path)
    assert table.grouped == {}
    assert table.schema.field("umsatz").type == "double"


def test_a_writer_in_python(tmp_path):
    import pyarrow as pa

    with TableWriter(tmp_path / "a.csv", separator=";", decimal=",", encoding="utf-8-sig") as writer:
        writer.write(pa.record_batch({"x": [1.5, None], "t": ["a;b", "1,5"], "n": [1, 2]}))
    assert (tmp_path / "a.csv").read_bytes() == b'\xef\xbb\xbfx;t;n\n1,5;"a;b";1\n;1,5;2\n'
    with pytest.raises(ValueError, match="decimal must be"):
        TableWriter(tmp_path / "a.csv", separator=",", decimal=",")
