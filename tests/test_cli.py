import json
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError

import pytest
import sklearn.datasets
from typer.testing import CliRunner

from rankwise import PRIL, MulticlassPerceptron, __version__, cli, experiments, save
from rankwise.cli._app import app
from rankwise.datasets import make_ordinal

QUICK = ["--sequences", "2", "--rounds", "40"]


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], prog_name="rankwise")


def assert_fails(result, code, *parts):
    assert result.exit_code == code
    assert result.output.startswith("rankwise: error: ")
    assert result.output.count("\n") == 1
    for part in parts:
        assert part in result.output


@pytest.fixture
def nowhere(monkeypatch):
    def refuse(**kwargs):
        raise URLError("no network in tests")

    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    monkeypatch.setattr("rankwise.datasets._find._beside_checkout", lambda: None)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


@pytest.fixture
def model_file(tmp_path):
    X, y = make_ordinal(200, 3, 4, random_state=0)
    path = tmp_path / "model.rankwise"
    save(PRIL(random_state=0, C=2.5).fit(X, y), path)
    return path


def test_version():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"rankwise {__version__}\n")


def test_without_a_command_it_shows_its_commands():
    result = run()
    assert result.exit_code == 2
    assert all(command in result.output for command in ("reproduce", "demo", "info"))


class TestReproduce:
    def test_list(self):
        result = run("reproduce", "--list")
        assert result.exit_code == 0
        assert [line.split()[0] for line in result.output.splitlines()] == list(experiments.names())

    def test_run(self, tmp_path, nowhere):
        result = run("reproduce", "pril-fraction", "--output", tmp_path / "out", "--seed", 3, *QUICK)
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

    def test_results_for_machines(self, tmp_path, nowhere):
        result = run("reproduce", "pril-fraction", "--output", tmp_path, "--json", *QUICK)
        found = json.loads(result.stdout)
        assert found["conclusions"]
        assert all(verdict["verdict"].startswith(("HOLDS", "DOES")) for verdict in found["conclusions"])
        assert "parkinsons" in found["skipped"]
        assert all(Path(file).is_file() for file in found["files"])

    def test_sequences_are_the_experiments_own_unless_given(self, monkeypatch):
        given = []

        def run_it(output, *, sequences="its own", **rest):
            given.append(sequences)
            return experiments.Report("title", ("data",), {}, (), (), ())

        monkeypatch.setattr(experiments, "get", lambda name: experiments.Experiment(name, "", run_it))
        for options in ([], ["--sequences", "7"]):
            assert run("reproduce", "importance-table", *options).exit_code == 0
        assert given == ["its own", 7]

    def test_nothing_ran(self, tmp_path, monkeypatch):
        report = experiments.Report("title", (), {"all": "gone"}, (), (), ())
        silent = experiments.Experiment("x", "y", lambda *a, **k: report)
        monkeypatch.setattr(experiments, "names", lambda: ("x",))
        monkeypatch.setattr(experiments, "get", lambda name: silent)
        result = run("reproduce", "x")
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
    def test_wrong_usage(self, arguments, part):
        assert_fails(run("reproduce", *arguments), 2, part)

    def test_damaged_data(self, tmp_path, nowhere):
        (tmp_path / "abalone").mkdir()
        (tmp_path / "abalone" / "abalone.csv").write_text("sex,rings\nM,1,2\n", encoding="utf-8")
        result = run("reproduce", "pril-fraction", "--data-dir", tmp_path, "--output", tmp_path / "out")
        assert_fails(result, 1, "abalone.csv is damaged")

    def test_output_that_cannot_be_written(self, tmp_path, nowhere):
        (tmp_path / "file").touch()
        result = run("reproduce", "pril-fraction", "--output", tmp_path / "file" / "out", *QUICK)
        assert_fails(result, 1, "file")

    def test_without_matplotlib(self, tmp_path, nowhere, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        assert_fails(run("reproduce", "pril-fraction", "--output", tmp_path, *QUICK), 2, 'pip install "rankwise[plot]"')

    def test_interrupt(self, tmp_path, monkeypatch):
        def interrupted(*args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr(experiments, "get", lambda name: experiments.Experiment(name, "", interrupted))
        assert run("reproduce", "pril-fraction", "--output", tmp_path).exit_code == 130


class TestDemo:
    def test_tables_and_picture(self, tmp_path):
        picture = tmp_path / "new" / "picture.png"
        result = run("demo", "--output", picture)
        assert result.exit_code == 0
        assert result.output.count("labels it saw") == 2
        assert result.output.endswith(f"The picture is {picture}\n")
        assert picture.is_file()

    def test_results_for_machines(self, tmp_path):
        found = json.loads(run("demo", "--output", tmp_path / "picture.png", "--json").stdout)
        assert len(found["tables"]) == 2
        assert Path(found["picture"]).is_file()

    def test_a_name_that_is_no_picture(self, tmp_path):
        assert_fails(run("demo", "--output", tmp_path / "demo.txt"), 2, ".png")


class TestInfo:
    def test_what_a_model_holds(self, model_file):
        result = run("info", model_file)
        assert result.exit_code == 0
        facts = dict(line.split(maxsplit=1) for line in result.output.splitlines())
        assert facts["estimator"] == "PRIL"
        assert facts["classes"] == "4: 1, 2, 3, 4"
        assert facts["features"] == "3"
        assert "C=2.5" in facts["parameters"]
        assert len(facts["thresholds"].split(", ")) == 3
        assert facts["size"] == f"{model_file.stat().st_size:,} bytes"

    def test_a_model_without_thresholds_and_with_names(self, tmp_path):
        model = MulticlassPerceptron()
        for k in range(20):
            model.learn_one({f"f{k}": 1.0}, k)
        save(model, tmp_path / "m")
        result = run("info", tmp_path / "m")
        assert result.exit_code == 0
        assert "thresholds" not in result.output
        assert "20: f0, f1, " in result.output
        assert "... and 8 more" in result.output

    def test_no_file(self, tmp_path):
        assert_fails(run("info", tmp_path / "absent"), 1, "no model file at", "absent")

    def test_damaged_file(self, model_file):
        content = bytearray(model_file.read_bytes())
        content[-1] ^= 1
        model_file.write_bytes(content)
        assert_fails(run("info", model_file), 1, "damaged")

    def test_no_argument(self):
        assert_fails(run("info"), 2, "MODEL")


def test_without_typer_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "rankwise.cli._app")
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.err == 'rankwise: the command line needs typer: pip install "rankwise[cli]"\n'
    assert not captured.out


def test_as_a_module():
    command = [sys.executable, "-m", "rankwise"]
    good = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    assert (good.returncode, good.stdout, good.stderr) == (0, f"rankwise {__version__}\n", "")
    bad = subprocess.run([*command, "nonsense"], capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "rankwise: error: No such command 'nonsense'.\n"
