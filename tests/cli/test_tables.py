"""What columns of files are read as, and what becomes of those that a model does not use."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import rankwise as rw
from rankwise.cli._app import app
from tests.cli.commands import LINK, facts, fail, make_frame, run, succeed


@pytest.fixture
def frame():
    return make_frame(400)[["a", "c", "colour", "grade"]]


@pytest.fixture
def rows_of():
    def read(path):
        if path.suffix == ".parquet":
            return pq.read_table(path).to_pydict()
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
        else:
            with open(path, newline="") as lines:
                rows = list(csv.DictReader(lines, delimiter="\t" if path.suffix == ".tsv" else ","))
        return {name: [row[name] for row in rows] for name in rows[0]}

    return read


class TestTyposInNumbers:
    @pytest.fixture
    def typo(self, frame, tmp_path):
        texts = frame.astype({"a": str})
        texts.loc[70, "a"] = "1.2.3"
        texts.to_csv(tmp_path / "typo.csv", index=False)
        return tmp_path / "typo.csv"

    @pytest.mark.parametrize("estimator", ["SVOR", "PRIL"])
    def test_a_typo_is_a_bad_row(self, frame, typo, tmp_path, estimator):
        options = ["--label", "grade", "--estimator", estimator, "-o", tmp_path / "m"]
        reason = "column 'a': a number is needed. Got the text '1.2.3'. "
        assert f"typo.csv, row 71 (line 72): {reason}" in fail(1, "fit", typo, *options)
        aside = tmp_path / "aside.jsonl"
        learnt = succeed("fit", typo, *options, "--on-error", "skip", "--quarantine", aside, "--json")
        assert (json.loads(learnt)["rows"], json.loads(learnt)["skipped"]) == (399, 1)
        assert json.loads(learnt)["read_as"] == {"a": "number", "c": "number", "colour": "category"}
        assert json.loads(aside.read_text())["row"] == 71
        assert json.loads(aside.read_text())["reason"].startswith(reason)
        frame.drop(70).to_csv(tmp_path / "good.csv", index=False)
        succeed("fit", tmp_path / "good.csv", *options[:-1], tmp_path / "expected")
        learnt, expected = (rw.load(tmp_path / name).estimator_.coef_ for name in ("m", "expected"))
        np.testing.assert_array_equal(learnt, expected)

    def test_a_kind_overrules(self, typo, tmp_path):
        said = succeed(
            "fit", typo, "--label", "grade", *LINK, "--kind", "a=category", "-o", tmp_path / "m"
        ).splitlines()
        assert said[2:6] == [
            "columns                         3, as 105 features",
            "  category, rare ones together  a",
            "  number                        c",
            "  category                      colour",
        ]

    def test_a_typo_in_one_of_several_files(self, frame, typo, tmp_path):
        frame.to_csv(tmp_path / "whole.csv", index=False)
        options = ["--label", "grade", "-o", tmp_path / "m"]
        message = fail(1, "fit", tmp_path / "whole.csv", typo, *options)
        assert "typo.csv, row 71 (line 72): column 'a': a number is needed." in message


def test_decimal_commas_are_read_and_said(frame, tmp_path):
    frame.to_csv(tmp_path / "points.csv", index=False)
    commas = frame.assign(**{name: frame[name].astype(str).str.replace(".", ",") for name in ("a", "c")})
    commas.to_csv(tmp_path / "commas.csv", index=False)
    for name in ("points", "commas"):
        said = succeed("fit", tmp_path / f"{name}.csv", "--label", "grade", *LINK, "-o", tmp_path / name)
        assert ("  number with decimal comma  a, c\n" in said) == (name == "commas")
    models = [rw.load(tmp_path / name) for name in ("points", "commas")]
    np.testing.assert_array_equal(models[0].estimator_.coef_, models[1].estimator_.coef_)
    judged = [
        succeed("evaluate", tmp_path / name, tmp_path / f"{name}.csv", "--label", "grade")
        for name in ("points", "commas")
    ]
    assert judged[0] == judged[1]
    # A file with whole numbers only, which would be points otherwise.
    (tmp_path / "new.csv").write_text('a,c,colour\n"1.500",2,red\n')
    assert "a number with a decimal comma is needed. Got the text '1.500'" in fail(
        1, "predict", tmp_path / "commas", tmp_path / "new.csv"
    )


def test_semicolons_and_other_encodings(frame, tmp_path):
    frame = frame.replace({"colour": {"green": "grün"}})
    frame.to_csv(tmp_path / "plain.csv", index=False)
    frame.to_csv(tmp_path / "german.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    options = ["--label", "grade", *LINK, "-o", tmp_path / "m"]
    expected = facts("fit", tmp_path / "plain.csv", *options)
    result = run("fit", tmp_path / "german.csv", "--encoding", "cp1252", *options)
    assert result.exit_code == 0
    assert result.stderr == f"rankwise: note: file {tmp_path}/german.csv: columns are separated by ';'\n"
    assert "  number with decimal comma  a, c\n" in result.stdout
    reading = ["--encoding", "cp1252", "--separator", ";", "--decimal", ","]
    assert facts("fit", tmp_path / "german.csv", *reading, *options)["objective"] == expected["objective"]
    judged = facts("evaluate", tmp_path / "m", tmp_path / "german.csv", "--label", "grade", *reading)
    out = succeed("predict", tmp_path / "m", tmp_path / "german.csv", *reading).splitlines()
    assert out[0] == "a;c;colour;grade;prediction"
    wrong = [line.rsplit(";", 2)[1:] for line in out[1:]]
    assert np.mean([a != b for a, b in wrong]) == pytest.approx(judged["zero_one"])


def test_standard_input(frame, tmp_path, monkeypatch):
    frame.to_csv(tmp_path / "t.csv", index=False)
    succeed("fit", tmp_path / "t.csv", "--label", "grade", *LINK, "-o", tmp_path / "m")
    expected = succeed("predict", tmp_path / "m", tmp_path / "t.csv")
    assert CliRunner().invoke(app, ["predict", str(tmp_path / "m"), "-"], input=frame.to_csv(index=False)).stdout == (
        expected
    )


AWKWARD = (
    b"id,big,hex,code,time,day,quoted,empty,a,c,y\r\n"
    b'00123,9223372036854775808,0x10,NA,12:30,2020-01-01,"a ""b"", c",,1.50,2e0,1\r\n'
    b'7,9223372036854775809,16,null,12:31:00,2020-1-1,"",x,-1,+2,"2"\r\n'
    b"\r\n"
    b'1e3,1.10,0X1F,true,1:2,02.03.2020,"line\nbreak", x ,0,0,NA'
)


class TestPassedOn:
    @pytest.fixture
    def model(self, frame, tmp_path):
        frame.to_csv(tmp_path / "train.csv", index=False)
        succeed("fit", tmp_path / "train.csv", "--label", "grade", *LINK, "--ignore", "colour", "-o", tmp_path / "m")
        return tmp_path / "m"

    def test_lines_of_csv(self, model, tmp_path):
        (tmp_path / "new.csv").write_bytes(AWKWARD)
        succeed("predict", model, tmp_path / "new.csv", "-o", tmp_path / "out.csv")
        predicted = succeed("predict", model, tmp_path / "new.csv", "--only").splitlines()
        lines = AWKWARD.replace(b"\r\n\r\n", b"\r\n").split(b"\r\n")
        expected = b"".join(line + b"," + p.encode() + b"\n" for line, p in zip(lines, predicted, strict=True))
        assert (tmp_path / "out.csv").read_bytes() == expected
        assert succeed("predict", model, tmp_path / "new.csv").encode() == expected

    def test_bad_lines_are_left_out(self, model, tmp_path):
        (tmp_path / "new.csv").write_text("id,a,c\n001,1,1\n002,x,1\n003,1\n004,0,0\n")
        out = succeed("predict", model, tmp_path / "new.csv", "--on-error", "skip").splitlines()
        assert [line.rsplit(",", 1)[0] for line in out] == ["id,a,c", "001,1,1", "004,0,0"]

    @pytest.mark.parametrize("suffix", ["parquet", "jsonl", "tsv"])
    def test_columns_of_csv_in_other_formats(self, model, tmp_path, rows_of, suffix):
        (tmp_path / "new.csv").write_bytes(AWKWARD)
        succeed("predict", model, tmp_path / "new.csv", "-o", tmp_path / f"out.{suffix}")
        out = rows_of(tmp_path / f"out.{suffix}")
        assert out["id"] == ["00123", "7", "1e3"]
        assert out["big"] == ["9223372036854775808", "9223372036854775809", "1.10"]
        assert out["hex"] == ["0x10", "16", "0X1F"]
        assert out["code"] == ["NA", "null", "true"]
        assert out["time"] == ["12:30", "12:31:00", "1:2"]
        assert out["day"] == ["2020-01-01", "2020-1-1", "02.03.2020"]
        assert out["quoted"] == ['a "b", c', "", "line\nbreak"]
        assert out["y"] == (["1", "2", "NA"] if suffix == "tsv" else [1, 2, None])

    def test_files_whose_columns_differ_in_order(self, model, tmp_path, rows_of):
        (tmp_path / "1.csv").write_text("id,a,c\n01,1,2\n")
        (tmp_path / "2.csv").write_text("a,c,id\n1,2,NA\n")
        succeed("predict", model, tmp_path / "1.csv", tmp_path / "2.csv", "-o", tmp_path / "out.csv")
        assert rows_of(tmp_path / "out.csv")["id"] == ["01", "NA"]

    def test_lines_of_json(self, model, tmp_path):
        lines = [
            '{"id": 12345678901234567890, "day": "2020-01-01", "a": 1.50, "c": 2e0}',
            '  {"a":1,"c":2, "id": 1.0, "nested": {"x" : [1, null]} } ',
        ]
        (tmp_path / "new.jsonl").write_text("\n".join(lines))
        predicted = succeed("predict", model, tmp_path / "new.jsonl", "--only").splitlines()[1:]
        expected = [
            f'{line.strip()[:-1].rstrip()}, "prediction": {p}}}' for line, p in zip(lines, predicted, strict=True)
        ]
        assert succeed("predict", model, tmp_path / "new.jsonl", "--json").splitlines() == expected
        succeed("predict", model, tmp_path / "new.jsonl", "-o", tmp_path / "out.jsonl")
        assert (tmp_path / "out.jsonl").read_text().splitlines() == expected

    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_converted(self, tmp_path, rows_of, suffix):
        content = AWKWARD.decode().replace("\r\n", "\n").replace("\n\n", "\n") + "\n"
        (tmp_path / "in.csv").write_text(content)
        options = ["--label", "y", "--to-lower", "lo", "--to-upper", "hi"]
        succeed("convert", tmp_path / "in.csv", *options, "-o", tmp_path / f"out.{suffix}")
        out = rows_of(tmp_path / f"out.{suffix}")
        assert out["id"] == ["00123", "7", "1e3"]
        assert out["code"] == ["NA", "null", "true"]
        assert out["c"] == (["2e0", "+2", "0"] if suffix == "csv" else [2.0, 2.0, 0.0])
        if suffix == "csv":
            succeed("convert", tmp_path / "in.csv", "-o", tmp_path / "same.csv")
            assert (tmp_path / "same.csv").read_text() == content.replace('"2"', "2")


class TestSVMLight:
    """Rows of three features whose first indices are 0; files may lack the first feature."""

    @pytest.fixture
    def files(self, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 3)).round(3)
        grade = np.digitize(X @ [0.2, 2.0, -1.0], [-1, 1]) + 1
        X[300:, 0] = 0
        for name, rows in (("train", slice(0, 300)), ("test", slice(300, 600))):
            dump_svmlight_file(X[rows], grade[rows], str(tmp_path / f"{name}.svm"), zero_based=True)
        return tmp_path / "train.svm", tmp_path / "test.svm"

    @pytest.mark.parametrize("estimator", ["PRIL", "SVOR"])
    def test_indices_begin_where_they_began_in_training(self, files, tmp_path, estimator):
        train, test = files
        said = succeed("fit", train, "--estimator", estimator, "-o", tmp_path / "m")
        assert ["first", "index", "0"] in [line.split() for line in said.splitlines()]
        assert facts("evaluate", tmp_path / "m", test)["zero_one"] < 0.1
        predicted = succeed("predict", tmp_path / "m", test).splitlines()[1:]
        assert np.mean([float(a) == float(b) for a, b in (line.split(",") for line in predicted)]) > 0.9
        assert "indices begin at 0" in fail(2, "evaluate", tmp_path / "m", test, "--index-base", 1)
        # Learnt with indices from 1, an index of 0 is a bad row.
        succeed("fit", test, "--estimator", estimator, "-o", tmp_path / "m1")
        assert "row 1 (line 1): an index must be at least 1" in fail(1, "evaluate", tmp_path / "m1", train)
        succeed("fit", test, "--estimator", estimator, "--index-base", 0, "-o", tmp_path / "m0")
        assert facts("evaluate", tmp_path / "m0", train)["zero_one"] < 0.15

    def test_a_guess_is_said(self, files, tmp_path):
        _, test = files
        X, y = np.eye(3), [1, 2, 3]
        rw.save(rw.PRIL(random_state=0).fit(X, y), tmp_path / "m")  # from Python: nothing says where indices begin
        for command in ("predict", "evaluate"):
            result = run(command, tmp_path / "m", test)
            assert result.exit_code == 0
            assert result.stderr.count("no row has the index 0, so indices are taken to begin at 1") == 1
            assert run(command, tmp_path / "m", test, "--index-base", 0).stderr == ""

    def test_the_number_of_features_is_limited(self, tmp_path):
        (tmp_path / "t.svm").write_text("1 1:1\n2 2147483647:1\n")
        options = ["--classes", "1,2", "--estimator", "PRIL", "-o", tmp_path / "m"]
        message = fail(1, "fit", tmp_path / "t.svm", *options)
        assert "t.svm, row 2 (line 2): an index must be at most 10000000, " in message
        assert facts("fit", tmp_path / "t.svm", *options, "--on-error", "skip")["rows"] == 1
        (tmp_path / "wide.svm").write_text("1 1:1\n2 70:1\n")
        assert "raise the limit, --max-features 50." in fail(
            1, "fit", tmp_path / "wide.svm", *options, "--max-features", 50
        )
        assert facts("fit", tmp_path / "wide.svm", *options, "--max-features", 70)["features"] == 70
        succeed("predict", tmp_path / "m", tmp_path / "wide.svm")
