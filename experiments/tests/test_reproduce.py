"""The command ``rankwise reproduce`` with these experiments, which it finds by their entry point."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import rankwise_experiments as experiments
from rankwise.cli._app import app

QUICK = ["--sequences", "2", "--rounds", "40"]


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *(str(a) for a in arguments)], prog_name="rankwise")


def assert_fails(result, code, *parts):
    assert result.exit_code == code
    assert result.output.startswith("rankwise: error: ")
    assert result.output.count("\n") == 1
    for part in parts:
        assert part in result.output


def test_list():
    result = run("--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == list(experiments.names())


def test_run(tmp_path, nowhere):
    result = run("pril-fraction", "--output", tmp_path / "out", "--seed", 3, *QUICK)
    assert result.exit_code == 0
    assert "skipped parkinsons: " in result.output
    assert "HOLDS" in result.output
    expected = experiments.get("pril-fraction").run(tmp_path / "again", sequences=2, rounds=40, seed=3)
    assert str(expected) in result.output
    for path in expected.files:
        assert str(tmp_path / "out" / path.name) in result.output
        assert (tmp_path / "out" / path.name).is_file()
    same = "pril-fraction-final.csv"
    assert (tmp_path / "out" / same).read_bytes() == (tmp_path / "again" / same).read_bytes()


def test_results_for_machines(tmp_path, nowhere):
    result = run("pril-fraction", "--output", tmp_path, "--json", *QUICK)
    found = json.loads(result.stdout)
    assert found["conclusions"]
    assert all(verdict["verdict"].startswith(("HOLDS", "DOES")) for verdict in found["conclusions"])
    assert "parkinsons" in found["skipped"]
    assert all(Path(file).is_file() for file in found["files"])


def test_sequences_are_the_experiments_own_unless_given(monkeypatch):
    given = []

    def run_it(output, *, sequences="its own", **rest):
        given.append(sequences)
        return experiments.Report("title", ("data",), {}, (), (), ())

    monkeypatch.setattr(experiments, "get", lambda name: experiments.Experiment(name, "", run_it))
    for options in ([], ["--sequences", "7"]):
        assert run("importance-table", *options).exit_code == 0
    assert given == ["its own", 7]


def test_nothing_ran(tmp_path, monkeypatch):
    report = experiments.Report("title", (), {"all": "gone"}, (), (), ())
    silent = experiments.Experiment("x", "y", lambda *a, **k: report)
    monkeypatch.setattr(experiments, "names", lambda: ("x",))
    monkeypatch.setattr(experiments, "get", lambda name: silent)
    result = run("x")
    assert result.exit_code == 1
    assert "skipped all: gone" in result.output
    assert "no data set could be used" in result.output


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "which experiment? Known: pril-fraction"),
        (["pril"], "there is no experiment 'pril'"),
        (["pril-fraction", "--sequences", "0"], "--sequences"),
        (["pril-fraction", "--rounds", "many"], "--rounds"),
        (["pril-fraction", "--data-dir", "no/such/place"], "--data-dir"),
        (["pril-fraction", "--nonsense"], "--nonsense"),
        (["enron", "--seed", "1"], "enron has no --seed"),
        (["enron", "--sequences", "1"], "enron has no --sequences"),
    ],
)
def test_wrong_usage(arguments, part):
    assert_fails(run(*arguments), 2, part)


def test_damaged_data(tmp_path, nowhere):
    (tmp_path / "abalone").mkdir()
    (tmp_path / "abalone" / "abalone.csv").write_text("sex,rings\nM,1,2\n", encoding="utf-8")
    result = run("pril-fraction", "--data-dir", tmp_path, "--output", tmp_path / "out")
    assert_fails(result, 1, "abalone.csv is damaged")


def test_output_that_cannot_be_written(tmp_path, nowhere):
    (tmp_path / "file").touch()
    result = run("pril-fraction", "--output", tmp_path / "file" / "out", *QUICK)
    assert_fails(result, 1, "file")


def test_without_matplotlib(tmp_path, nowhere, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert_fails(run("pril-fraction", "--output", tmp_path, *QUICK), 2, 'pip install "rankwise[plot]"')


def test_interrupt(tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "get", lambda name: experiments.Experiment(name, "", interrupted))
    assert run("pril-fraction", "--output", tmp_path).exit_code == 130
