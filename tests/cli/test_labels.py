"""Labels of files as people write them, and what the command says of those it cannot read."""

import numpy as np
import pandas as pd
import pytest

import rankwise as rw
from tests.cli.commands import LINK, facts, run


def table(path, labels):
    """Rows of one feature that grows with the class of the label."""
    n = len(labels)
    pd.DataFrame({"x": np.arange(n) % 7, "y": labels}).to_csv(path, index=False)
    return path


@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")
def test_names_with_dashes_are_names(tmp_path):
    source = table(tmp_path / "t.csv", ["non-smoker", "ex-smoker", "smoker"] * 10)
    found = facts("fit", source, "--label", "y", "--estimator", "PRIL", "-o", tmp_path / "m")
    assert found["classes"] == ["ex-smoker", "non-smoker", "smoker"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize("name", ["NA", "null", "nan"])
def test_a_declared_class_is_a_class_in_every_format(tmp_path, name, suffix):
    frame = pd.DataFrame({"x": ["a", "NA", "b"] * 8, "y": [name, "low", "high"] * 8})
    path = tmp_path / f"t{suffix}"
    if suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="," if suffix == ".csv" else "\t")
    facts("fit", path, "--label", "y", *LINK, "--classes", f"{name},low,high", "-o", tmp_path / "m")
    found = facts("evaluate", tmp_path / "m", path, "--label", "y")
    assert found["rows"] == found["exact_labels"] == 24


def test_words_of_a_language(tmp_path):
    source = table(tmp_path / "t.csv", ["1", "2 bis 3", "mindestens 2", "3", "unbekannt"] * 4)
    learn = ["fit", source, "--label", "y", "--estimator", "PRIL", "-o", tmp_path / "m"]
    assert facts(*learn, "--language", "de")["classes"] == [1, 2, 3]
    message = run(*learn[:-1], tmp_path / "n").stderr
    assert "row 2 (line 3): 'y': cannot read '2 bis 3' as a label. It is written in German" in message
    assert "--language de. 4 rows" in message
    assert "'mindestens 2' (row 3 (line 4) and 3 more), 'unbekannt' (row 5 (line 6) and 3 more)." in message


def test_a_model_remembers_the_language(tmp_path):
    source = table(tmp_path / "t.csv", ["1", "2 bis 3", "mindestens 2", "3", "unbekannt"] * 4)
    learn = ["fit", source, "--label", "y", "--estimator", "PRIL", "--language", "de", "-o", tmp_path / "m"]
    facts(*learn)
    given = ["evaluate", tmp_path / "m", source, "--label", "y"]
    assert facts(*given) == facts(*given, "--language", "de")
    assert "declare the language, --language de" in run(*given, "--language", "en").stderr
    report = run("report", tmp_path / "m", source, "--label", "y", "-o", tmp_path / "page.html")
    assert report.exit_code == 0, report.stderr
    notes = rw.persistence.read_notes(tmp_path / "m")
    assert notes["language"] == "de"
    facts(*learn[:-4], "--classes", "1..3", "--on-error", "skip", "-o", tmp_path / "english")
    assert "language" not in rw.persistence.read_notes(tmp_path / "english")


def test_every_unreadable_label_is_named_with_its_lines(tmp_path):
    source = table(tmp_path / "t.csv", ["1", "2", "ot", "3", "4 ot 5", "ot", "2", "1"] * 2)
    result = run("fit", source, "--label", "y", "-o", tmp_path / "m")
    assert result.exit_code == 1
    assert "row 3 (line 4): 'y': a label is 'ot' where most are numbers" in result.stderr
    assert "4 rows hold this label. Nor can these be read: '4 ot 5' (row 5 (line 6) and 1 more)." in result.stderr
    result = run("fit", source, "--label", "y", "--classes", "1..3", "-o", tmp_path / "m")
    assert "row 3 (line 4): 'y': the label 'ot' is not one of the classes [1, 2, 3]. 4 rows hold" in result.stderr
    assert "'4 ot 5' (row 5 (line 6) and 1 more)" in result.stderr


COMMANDS = {
    "fit": lambda source, tmp: ["fit", source, "--label", "y", *LINK, "--classes", "1..3", "-o", tmp / "n"],
    "stream": lambda source, tmp: [*COMMANDS["fit"](source, tmp), "--estimator", "PRIL"],
    "evaluate": lambda source, tmp: ["evaluate", tmp / "m", source, "--label", "y"],
    "compare": lambda source, tmp: ["compare", source, "--label", "y", "--classes", "1..3", "--estimator", "PRIL"],
    "convert": lambda source, tmp: ["convert", source, "--label", "y", "--classes", "1..3", "-o", tmp / "out.jsonl"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_many_skipped_rows_are_told_and_end_strictly(tmp_path, name):
    good = table(tmp_path / "good.csv", ["1", "2", "3"] * 20)
    rw.save(rw.TableModel(rw.PRIL(classes=[1, 2, 3])).fit(pd.DataFrame({"x": [0, 1, 2]}), [1, 2, 3]), tmp_path / "m")
    few = table(tmp_path / "few.csv", ["1", "2", "3"] * 20 + ["x"] * 3)
    many = table(tmp_path / "many.csv", ["1", "2", "3"] * 20 + ["x"] * 3 + ["y"])
    skip = ["--on-error", "skip"]
    assert run(*COMMANDS[name](good, tmp_path), *skip, "--strict").exit_code == 0
    result = run(*COMMANDS[name](few, tmp_path), *skip, "--strict")
    assert (result.exit_code, "twentieth" in result.stderr) == (0, False)
    result = run(*COMMANDS[name](many, tmp_path), *skip)
    assert result.exit_code == 0
    assert "4 of 64 rows were skipped, more than a twentieth." in result.stderr
    assert f"3 from {many}, row 61 on: the label 'x' is not one of the classes [1, 2, 3]" in result.stderr
    assert "the label 'y' is not" in result.stderr
    assert run(*COMMANDS[name](many, tmp_path), *skip, "--strict").exit_code == 3


def test_a_measurement_as_label_warns(tmp_path):
    source = table(tmp_path / "t.csv", [str(10 * i) for i in range(60)])
    result = run("fit", source, "--label", "y", "--estimator", "PRIL", "-o", tmp_path / "m")
    assert result.exit_code == 0
    assert "the labels name 60 classes" in result.stderr
