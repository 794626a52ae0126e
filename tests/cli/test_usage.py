"""Wrong usage and broken files: one line, the right exit code, and nothing left behind."""

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import rankwise as rw
from rankwise.cli import _app, _estimators
from rankwise.cli._options import grouped
from rankwise.cli._print import certificate
from tests.cli.commands import LINK, fail, make_frame, run, succeed, write

NUMBERS = ["a", "c", "grade"]


@pytest.fixture
def data(tmp_path):
    return write(make_frame(60)[NUMBERS], tmp_path / "t.csv")


class TestFit:
    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            ([], ["where are the labels?"]),
            (["--label", "grad"], ["--label: there is no column 'grad'. Did you mean 'grade'?"]),
            (["--label", "grade", "--lower", "a"], ["in one column (--label) or in two"]),
            (["--lower", "grade"], ["--lower needs --upper"]),
            (["--upper", "grade"], ["--upper needs --lower"]),
            (["--label", "grade", "--weight", "grade"], ["must be in different columns"]),
            (["--label", "grade", "--ignore", "a,d"], ["--ignore: there is no column 'd'"]),
            (["--label", "grade", "--estimator", "PRLI"], ["no estimator 'PRLI'. Did you mean 'PRIL'?"]),
            (["--label", "grade", "--estimator", "pril"], ["Did you mean 'PRIL'?"]),
            (
                ["--label", "grade", "--estimator", "LabelRanker"],
                ["no estimator 'LabelRanker'", "Known: BoostedThresholds, CuSumRank"],
            ),
            (["--label", "grade", "--estimator", "PRIL", "--set", "stp=1"], ["Did you mean 'step'?", "Known: C"]),
            (["--label", "grade", "--estimator", "PRIL", "--set", "step"], ["given as name=value"]),
            (["--label", "grade", "--estimator", "PRIL", "--set", "C=-1"], ["'C' parameter of PRIL must be"]),
            (["--label", "grade", "--estimator", "PRIL", "--set", "C=much"], ["'C' parameter of PRIL must be"]),
            (["--label", "grade", "--estimator", "PRIL", "--set", "n_epochs=3"], ["does nothing", "--epochs"]),
            (["--label", "grade", "--estimator", "PRIL", "--set", "classes=3"], ["give --classes"]),
            (
                ["--label", "grade", "--estimator", "SVOR", "--epochs", "2"],
                ["need an online estimator; SVOR is a batch estimator"],
            ),
            (["--label", "grade", "--classes", "1"], ["at least two classes"]),
            (["--label", "grade", "--classes", "1,1"], ["has '1' twice"]),
            (["--label", "grade", "--classes", "1,,2"], ["without a name"]),
            (["--label", "grade", "--classes", "5..1"], ["from a lower number to a higher"]),
            (["--label", "grade", "--classes=--5..1"], ["at least two classes"]),
            (["--label", "grade", "--kind", "a=day"], ["--kind is given as column=kind"]),
            (["--label", "grade", "--kind", "z=text"], ["--kind: there is no column 'z'"]),
            (["--label", "grade", "--scaling", "huge"], ["--scaling"]),
            (["--label", "grade", "--quarantine", "q"], ["--quarantine needs --on-error skip"]),
            (["--label", "grade", "--epochs", "0"], ["--epochs"]),
            (["--label", "grade", "--format", "xls"], ["--format"]),
            (["--nonsense"], ["--nonsense"]),
        ],
    )
    def test_wrong_usage(self, data, tmp_path, monkeypatch, options, parts):
        monkeypatch.chdir(tmp_path)
        said = fail(2, "fit", data, *options, "--output", tmp_path / "m")
        for part in parts:
            assert part in said
        assert not (tmp_path / "m").exists()

    @pytest.mark.parametrize("option", ["--output", "--checkpoint", "--quarantine"])
    def test_places_that_cannot_be_written_are_found_before_the_work(self, data, tmp_path, option):
        options = {"--output": tmp_path / "m", option: tmp_path / "nowhere" / "m"}
        flat = [part for pair in options.items() for part in pair]
        said = fail(2, "fit", "no/such/file", "--label", "grade", *flat)
        assert f"{option} {tmp_path / 'nowhere' / 'm'}: there is no directory" in said
        options[option] = tmp_path
        flat = [part for pair in options.items() for part in pair]
        assert "is a directory" in fail(2, "fit", data, "--label", "grade", *flat)

    @pytest.mark.parametrize(
        ("content", "parts"),
        [
            ("", ["t.csv"]),
            ("a,grade\n", ["t.csv"]),
            ("a,grade\n1,1\n2,1\n", ["at least two classes", "--classes"]),
            ("grade\n1\n2\n", ["no column is left"]),
            ("a,grade\n1,1\n2,3-1\n", ["t.csv, row 2 (line 3)", "3-1"]),
            ("a,grade\n1,1\n2,2,3\n", ["t.csv, row 2 (line 3)"]),
            ("a,grade\n1,1.25\n2,2.5\n3,7.125\n" + "".join(f"{i},{i}.3\n" for i in range(100)), ["label"]),
        ],
    )
    @pytest.mark.parametrize("estimator", ["PRIL", "SVOR"])
    def test_bad_data(self, tmp_path, content, parts, estimator):
        path = tmp_path / "t.csv"
        path.write_text(content)
        said = fail(1, "fit", path, "--label", "grade", "--estimator", estimator, "--output", tmp_path / "m")
        for part in parts:
            assert part in said
        assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]

    def test_missing_values_refused_with_file_and_row(self, tmp_path):
        path = write(pd.DataFrame({"a": [0.0, np.nan, 2.0], "y": [1, 2, 3]}), tmp_path / "t.csv")
        for estimator in ("PRIL", "SVOR"):
            options = ["--label", "y", "--missing", "refuse", "--estimator", estimator, "--output", tmp_path / "m"]
            said = fail(1, "fit", path, *options)
            assert "t.csv, row 2 (line 3): column 'a': a value is missing" in said

    def test_features_too_large_for_the_model(self, tmp_path):
        path = write(pd.DataFrame({"a": [1.0, 1e300, -1e300] * 5, "y": [1, 2, 1] * 5}), tmp_path / "t.csv")
        options = ["--label", "y", "--scaling", "none", "--epochs", 2, "--output", tmp_path / "m"]
        assert "t.csv, row " in fail(1, "fit", path, *options)


class TestOthers:
    @pytest.fixture
    def model(self, data, tmp_path):
        succeed("fit", data, "--label", "grade", "--estimator", "CumulativeLink", "--output", tmp_path / "m")
        return tmp_path / "m"

    @pytest.mark.parametrize("command", ["predict", "evaluate"])
    def test_models_and_files_that_do_not_fit(self, model, data, tmp_path, command):
        label = ["--label", "grade"] if command == "evaluate" else []
        assert "no model file at" in fail(1, command, tmp_path / "absent", data, *label)
        assert "there is no such file" in fail(1, command, model, tmp_path / "absent.csv", *label)
        other = write(make_frame(5)[["a", "grade"]], tmp_path / "other.csv")
        assert "the model needs the column 'c'" in fail(1, command, model, other, *label)
        rw.save(rw.TableEncoder().fit(make_frame(5)[["a"]]), tmp_path / "encoder")
        assert "holds a TableEncoder" in fail(1, command, tmp_path / "encoder", data, *label)
        assert "TableEncoder" in succeed("info", tmp_path / "encoder")
        (tmp_path / "t.svm").write_text("1 1:2\n2 1:3\n")
        assert "svmlight files have none" in fail(1, command, model, tmp_path / "t.svm")

    def test_predict(self, model, data, tmp_path):
        assert "--output" in fail(2, "predict", model, data, "--output", tmp_path / "nowhere" / "x.csv")
        assert "does not say the format" in fail(1, "predict", model, data, "--output", tmp_path / "x.what")
        write(make_frame(5).assign(prediction=1), tmp_path / "again.csv")
        assert "a column 'prediction' already" in fail(1, "predict", model, tmp_path / "again.csv")
        succeed("predict", model, tmp_path / "again.csv", "--only")

    def test_evaluate(self, model, data, tmp_path):
        assert "where are the labels?" in (message := fail(2, "evaluate", model, data))
        assert "The columns are ['" in message
        assert "Did you mean 'grade'?" in fail(2, "evaluate", model, data, "--label", "grades")
        said = fail(2, "evaluate", model, data, "--label", "grade", "--method", "progressive")
        assert "CumulativeLink is a batch estimator" in said
        write(make_frame(5)[NUMBERS].assign(grade=9), tmp_path / "nine.csv")
        said = fail(1, "evaluate", model, tmp_path / "nine.csv", "--label", "grade")
        assert "nine.csv, row 1 (line 2)" in said
        assert "classes [1, 2, 3, 4]" in said
        said = fail(1, "evaluate", model, data, "--label", "grade", "--method", "cv", "--folds", "100")
        assert "--folds must be at most the number of rows" in said

    def test_compare(self, data):
        assert "SVOR:alpha=auto" in succeed("compare", data, "--label", "grade")  # a list of its own
        assert "no estimator" in fail(2, "compare", data, "--label", "grade", "--estimator", "X")
        said = fail(2, "compare", data, "--label", "grade", "--estimator", "SVOR", "--method", "progressive")
        assert "SVOR is a batch estimator" in said

    def test_convert(self, data, tmp_path):
        out = ["--output", tmp_path / "x.csv"]
        assert "give --label" in fail(2, "convert", data, "--to-label", "b", *out)
        assert "an interval has two ends" in fail(2, "convert", data, "--label", "grade", "--to-lower", "b", *out)
        both = ["--to-label", "b", "--to-lower", "c"]
        assert "one column (--to-label) or to two" in fail(2, "convert", data, "--label", "grade", *both, *out)
        assert not (tmp_path / "x.csv").exists()

    def test_altered_models_are_noticed(self, model, data):
        content = model.read_bytes()
        chance = random.Random(0)
        for position in chance.sample(range(len(content)), 25):
            altered = bytearray(content)
            altered[position] ^= 1 << chance.randrange(8)
            model.write_bytes(bytes(altered))
            said = fail(1, "predict", model, data)
            assert "damaged" in said or "no model file" in said or "not a rankwise model" in said


@pytest.mark.parametrize("estimator", ["PRIL", "SVOR"])
def test_a_full_disk_leaves_nothing_behind(data, tmp_path, monkeypatch, estimator):
    def fail_to_write(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail_to_write)
    said = fail(1, "fit", data, "--label", "grade", "--estimator", estimator, "--output", tmp_path / "m")
    assert "No space left on device" in said
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_without_pyarrow_it_says_what_to_install(data, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("rankwise.cli._labelled_files", "rankwise.io"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = fail(2, "fit", data, "--label", "grade", "--output", tmp_path / "m")
    assert said == 'rankwise: error: reading files needs pyarrow: pip install "rankwise[io]"'


def test_a_bar_for_those_who_watch(data, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    result = run("fit", data, "--label", "grade", "--estimator", "PRIL", "--output", tmp_path / "m")
    assert result.exit_code == 0
    for part in ("learning", "60 rows", "rows/s", "MAE"):
        assert part in result.stderr
    assert "learning" not in result.stdout


def test_the_shell_completes_estimators():
    environment = os.environ | {
        "_RANKWISE_COMPLETE": "complete_bash",
        "COMP_WORDS": "rankwise fit --estimator PR",
        "COMP_CWORD": "3",
    }
    command = [sys.executable, "-m", "rankwise"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["PRIL", "PRank"]


def test_completion_knows_the_estimators():
    assert _estimators.complete("pr") == ["PRIL", "PRank"]
    assert set(_estimators.names()) >= {"PRIL", "SVOR", "VILMA", "MORD", "CuSumRank"}
    assert "LabelRanker" not in _estimators.names()


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "compare", "convert", "info", "annotate"])
def test_help_names_every_option(command):
    text = succeed(command, "--help")
    assert "--json" in text
    assert "Usage: rankwise" in text


def test_quiet_when_not_a_terminal(data, tmp_path):
    result = run("fit", data, "--label", "grade", "--estimator", "PRIL", "--output", tmp_path / "m")
    assert result.stderr == ""


_CELLS = st.sampled_from(
    ["", "1", "2.5", "-3", "x", "?", "1-2", ">=2", "1|3", "nan", "inf", '"', "1e400", "2020-01-01", "é"]
)
_ROWS = st.lists(st.lists(_CELLS, max_size=4), max_size=6)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=_ROWS,
    suffix=st.sampled_from([".csv", ".csv", ".jsonl", ".parquet", ".arrow", ".svm", ".csv.gz", ".tsv"]),
    estimator=st.sampled_from(["PRIL", "SVOR"]),
    on_error=st.sampled_from(["stop", "skip"]),
)
def test_any_file_gives_a_model_or_one_line(rows, suffix, estimator, on_error, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    path = folder / f"t{suffix}"
    lines = [",".join(row) for row in rows]
    path.write_text("a,b,y\n" + "\n".join(lines), encoding="utf-8")
    options = ["--label", "y", "--estimator", estimator, "--on-error", on_error, "--output", folder / "m"]
    result = run("fit", path, *options)
    assert isinstance(result.exception, (SystemExit, type(None)))
    assert result.exit_code in (0, 1, 2)
    errors = [line for line in result.stderr.splitlines() if not line.startswith("rankwise: warning: ")]
    assert len(errors) == (result.exit_code != 0), result.output
    assert (folder / "m").exists() == (result.exit_code == 0)
    if result.exit_code == 0:
        again = run("predict", folder / "m", path, "--on-error", on_error)
        assert again.exit_code in (0, 1)
        assert isinstance(again.exception, (SystemExit, type(None)))
    assert {p.name for p in folder.iterdir()} <= {path.name, "m"}


def test_a_certificate_is_only_claimed_where_there_is_one():
    assert certificate(0.5, 1e-3) == "0.5, proven to be within 0.001 of the optimum"
    assert certificate(0.5, float("inf")) == "0.5, without a proof of how far the optimum is"


class TestNamesThatLookLikePlaces:
    """Classes and columns may be called "row 0": the row is taken from the error itself and not from its text."""

    CLASSES = ("row 0: low", "row 1: high")

    def test_a_class(self, tmp_path):
        labels = [*self.CLASSES, "row 9: none"] * 3
        path = write(pd.DataFrame({"a": np.arange(9.0), "y": labels}), tmp_path / "t.csv")
        options = ["--label", "y", "--classes", ",".join(self.CLASSES), "--output", tmp_path / "m"]
        expected = f"the label 'row 9: none' is not one of the classes {list(self.CLASSES)}. In text, a label is"
        for estimator in ("PRIL", "SVOR"):
            said = fail(1, "fit", path, *options, "--estimator", estimator)
            assert f"t.csv, row 3 (line 4): 'y': {expected}" in said
            skip = ["--on-error", "skip", "--quarantine", tmp_path / "q"]
            succeed("fit", path, *options, "--estimator", estimator, *skip)
            entries = [json.loads(line) for line in (tmp_path / "q").read_text().splitlines()]
            assert [entry["row"] for entry in entries] == [3, 6, 9]
            assert all(entry["reason"].startswith(expected) for entry in entries)
        succeed("predict", tmp_path / "m", path)

    def test_a_column(self, tmp_path):
        table = pd.DataFrame({"row 2": ["1,234", "2,345", "3,456", "4,567"], "y": [1, 2, 1, 2]})
        path = write(table, tmp_path / "t.csv")
        for estimator in ("PRIL", "SVOR"):
            said = fail(1, "fit", path, "--label", "y", "--estimator", estimator, "--output", tmp_path / "m")
            assert said.startswith("rankwise: error: column 'row 2' holds texts such as '1,234'")


class TestWhatIsTypersOwn:
    """Parts of typer that its documentation does not promise: a new version that changes them is noticed here."""

    def test_the_error_of_wrong_usage(self):
        assert _app._UsageError.__name__ == "UsageError"
        assert issubclass(_app._UsageError, Exception)

    def test_one_line_for_what_the_parser_finds(self, data):
        assert "No such option: --nonsense" in fail(2, "fit", data, "--nonsense")
        assert "Missing" in fail(2, "fit", data, "--label", "grade")
        assert "No such command" in fail(2, "nonsense")

    def test_options_of_a_group_are_options_of_the_command(self):
        @dataclass(frozen=True)
        class Size:
            wide: Annotated[int, typer.Option(help="Width.")] = 2
            deep: Annotated[int | None, typer.Option(help="Depth.")] = None

        found = []

        @grouped
        def measure(name: str, *, size: Size, json: bool = False) -> None:
            found.append((name, size, json))

        app = typer.Typer()
        app.command()(measure)
        assert CliRunner().invoke(app, ["x", "--deep", "3", "--json"]).exit_code == 0
        measure("y", wide=5)
        assert found == [("x", Size(2, 3), True), ("y", Size(5, None), False)]
        help_text = CliRunner().invoke(app, ["--help"]).output
        assert help_text.index("--wide") < help_text.index("--deep") < help_text.index("--json")


class TestWords:
    """Help and messages in the words of the command, not in those of Python."""

    @pytest.mark.parametrize("command", sorted(typer.main.get_command(_app.app).commands))
    def test_no_value_is_called_by_a_type_of_pythons(self, command, monkeypatch):
        monkeypatch.setenv("COLUMNS", "200")
        shown = succeed(command, "--help").lower()
        assert "--help" in shown
        assert "bool" not in shown.replace("boolean", "")
        for word in ("list[", "<path>", "<int", "<float", "<str", "<dir", "range>"):
            assert word not in shown

    def test_excel_is_not_offered_for_new_files(self, data, tmp_path):
        shown = succeed("convert", "--help")
        assert "Format of the new file" in shown
        assert "xlsx" not in fail(1, "convert", data, "--output", tmp_path / "new.dat")
        assert "xlsx" in fail(2, "convert", data, "--output-format", "xlsx", "--output", tmp_path / "new")

    @pytest.mark.parametrize("command", ["fit", "tune", "compare"])
    def test_a_file_without_rows_says_so(self, command, tmp_path):
        path = tmp_path / "header.csv"
        path.write_text("a,b,y\n")
        output = [] if command == "compare" else ["--output", tmp_path / "m"]
        said = fail(1, command, path, "--label", "y", *output)
        assert "header.csv" in said
        assert "it has no rows that can be used." in said
        assert "missing" not in said

    def test_a_model_is_not_judged_on_no_rows(self, data, tmp_path):
        succeed("fit", data, "--label", "grade", "--estimator", "PRIL", "--output", tmp_path / "m")
        (tmp_path / "header.csv").write_text(data.read_text().splitlines()[0] + "\n")
        said = fail(1, "evaluate", tmp_path / "m", tmp_path / "header.csv", "--label", "grade")
        assert said.endswith("header.csv: it has no rows that can be used.")

    def test_values_of_options_in_plain_words(self, data, tmp_path):
        fit = ("fit", data, "--label", "grade", "--output", tmp_path / "m")
        assert "must be a number in the range (0.0, inf) or one of {'auto'}" in fail(
            2, *fit, "--estimator", "SVOR", "--set", "alpha=-1"
        )
        assert "Value error" not in fail(2, *fit, "--language", "it")

    @pytest.mark.parametrize("command", ["fit", "compare"])
    def test_the_help_lists_the_estimators(self, command, monkeypatch):
        monkeypatch.setenv("COLUMNS", "2000")
        shown = succeed(command, "--help")
        for name in _estimators.names():
            assert name in shown

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            ("a,grade\n1,red\n2,amber\n3,green\n", "If that is not their order, give --classes LOWEST,...,HIGHEST."),
            ("a,grade\n1,1.5\n2,2.7\n3,3.1\n", "or declare them with --classes A,B,C."),
            ("a,grade\n1,?\n2,?\n", "declare them with --classes A,B,C."),
            ("a,grade\n1,\udcfc\n", "unless another encoding is given (--encoding cp1252, say). Got the byte 0xfc in"),
            ("a,grade\n" + "1,1\n2,2\n" * 20 + "1.2.3,1\n", "--slips missing takes such texts for missing values."),
            (
                "a,grade\n" + "".join(f"{v},{7 * v}\n" for v in range(60)),
                "60 classes, 0 to 413, as a measurement would. If it is one, cut it into grades; if these are the "
                "classes, declare them with --classes A,B,C.",
            ),
        ],
    )
    def test_messages_name_options(self, tmp_path, rows, said):
        (tmp_path / "t.csv").write_bytes(rows.encode("utf-8", "surrogateescape"))
        result = run("fit", tmp_path / "t.csv", "--label", "grade", "--estimator", "PRIL", "--output", tmp_path / "m")
        assert said in result.stderr
        assert "classes=" not in result.stderr
        assert "numpy" not in result.stderr

    def test_a_command_advises_options_that_it_has(self, data, tmp_path):
        succeed("fit", data, "--label", "grade", *LINK, "--missing", "refuse", "--output", tmp_path / "m")
        (tmp_path / "new.csv").write_text("a,c\n1.5,2\n1.2.3,2\n")
        said = fail(1, "predict", tmp_path / "m", tmp_path / "new.csv")
        assert "Got the text '1.2.3'. rankwise fit --slips missing takes such texts for missing values." in said
        assert said.endswith("declare its kind as 'category' (rankwise fit --kind a=category).")
        (tmp_path / "new.csv").write_text("a,c\n1.5,2\n,2\n")
        assert "Give rankwise fit --missing mean" in fail(1, "predict", tmp_path / "m", tmp_path / "new.csv")
        (tmp_path / "new.csv").write_text("a,grade\n" + "1,1\n2,2\n" * 20 + "1.2.3,1\n")
        said = fail(1, "fit", tmp_path / "new.csv", "--label", "grade", "--output", tmp_path / "m")
        assert "Got the text '1.2.3'. --slips missing takes" in said

    def test_what_the_data_say_stays_as_it_is(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,grade\n1,texts=count\n2,classes=[...]\n3,or give format=\n")
        result = run("fit", tmp_path / "t.csv", "--label", "grade", "--estimator", "PRIL", "--output", tmp_path / "m")
        assert "['classes=[...]', 'or give format=', 'texts=count']" in result.stderr

    def test_a_name_without_a_format(self, data, tmp_path):
        data.rename(tmp_path / "rows.txt")
        said = fail(1, "fit", tmp_path / "rows.txt", "--label", "grade", "--output", tmp_path / "m")
        assert said.endswith("each alone or with .gz or .zst; or give --format.")


class TestScores:
    @pytest.mark.parametrize("estimator", ["PRIL", "SVOR", "CuSumRank"])
    @pytest.mark.parametrize("only", [[], ["--only"]])
    def test_stand_beside_predictions(self, data, tmp_path, estimator, only):
        succeed("fit", data, "--label", "grade", "--estimator", estimator, "--output", tmp_path / "m")
        succeed("predict", tmp_path / "m", data, "--scores", *only, "--output", tmp_path / "p.csv")
        frame, predicted = pd.read_csv(data), pd.read_csv(tmp_path / "p.csv")
        model = rw.load(tmp_path / "m")
        if estimator == "CuSumRank":
            names, expected = [f"score {c}" for c in (1, 2, 3, 4)], model.decision_function(frame[["a", "c"]])
        else:
            names, expected = ["score"], model.project(frame[["a", "c"]])[:, None]
        assert predicted.columns.tolist() == [*([] if only else NUMBERS), "prediction", *names]
        np.testing.assert_allclose(predicted[names], expected)
        np.testing.assert_array_equal(predicted["prediction"], model.predict(frame[["a", "c"]]))

    def test_of_rows_that_were_skipped_are_left_out(self, tmp_path):
        data = write(make_frame(60)[["a", "colour", "grade"]], tmp_path / "t.csv")
        succeed("fit", data, "--label", "grade", *LINK, "--unknown", "refuse", "--output", tmp_path / "m")
        data.write_text(data.read_text().replace("red", "pink", 3))
        skip = ["--on-error", "skip", "--scores"]
        succeed("predict", tmp_path / "m", data, *skip, "--output", tmp_path / "p.csv")
        predicted = pd.read_csv(tmp_path / "p.csv")
        assert len(predicted) == 57
        expected = rw.load(tmp_path / "m").project(predicted[["a", "colour"]])
        np.testing.assert_allclose(predicted["score"], expected)

    def test_a_column_of_that_name(self, tmp_path):
        frame = make_frame(60)[NUMBERS].rename(columns={"c": "score"})
        data = write(frame, tmp_path / "t.csv")
        succeed("fit", data, "--label", "grade", *LINK, "--output", tmp_path / "m")
        said = fail(1, "predict", tmp_path / "m", data, "--scores")
        assert "there is a column 'score' already; --only leaves it out" in said
