import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from rankwise import PRIL, MulticlassPerceptron, __version__, cli, save
from rankwise.cli._app import app
from rankwise.datasets import make_ordinal


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], prog_name="rankwise")


def assert_fails(result, code, *parts):
    assert result.exit_code == code
    assert result.output.startswith("rankwise: error: ")
    assert result.output.count("\n") == 1
    for part in parts:
        assert part in result.output


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
    """Without the distribution of experiments; those with it are tested there."""

    @pytest.mark.parametrize("arguments", [["--list"], ["pril-fraction"], []])
    def test_where_none_are_installed_it_says_how_to_get_them(self, arguments, monkeypatch):
        monkeypatch.setattr("rankwise.cli.commands.reproduce.entry_points", lambda group: ())
        assert_fails(run("reproduce", *arguments), 2, "pip install rankwise-experiments")

    def test_experiments_come_from_every_entry_point_of_the_group(self, monkeypatch, tmp_path):
        given = []

        def run_it(output, **options):
            given.append((output, options.pop("seed"), sorted(options)))
            return Outcome()

        catalogues = [
            SimpleNamespace(names=lambda: ("first",), get=lambda name: SimpleNamespace(summary="one thing")),
            SimpleNamespace(
                names=lambda: ("second", "third"),
                get=lambda name: SimpleNamespace(summary=f"the {name}", options=("seed",), run=run_it),
            ),
        ]
        points = {"rankwise.experiments": [SimpleNamespace(load=lambda c=c: c) for c in catalogues]}
        monkeypatch.setattr("rankwise.cli.commands.reproduce.entry_points", lambda group: points[group])
        assert run("reproduce", "--list").output == "first   one thing\nsecond  the second\nthird   the third\n"
        result = run("reproduce", "third", "--seed", 4, "--output", tmp_path)
        assert (result.exit_code, result.output) == (0, "what it found\n\nwritten: a file\n")
        assert given == [(tmp_path, 4, ["data_dir", "progress"])]
        assert_fails(run("reproduce", "third", "--rounds", 4), 2, "third has no --rounds")

    def test_a_distribution_that_is_broken_is_one_line(self, monkeypatch):
        def load():
            raise ImportError("something is missing: pip install something")

        monkeypatch.setattr("rankwise.cli.commands.reproduce.entry_points", lambda group: [SimpleNamespace(load=load)])
        assert_fails(run("reproduce", "--list"), 2, "pip install something")


@dataclass
class Outcome:
    ran: tuple = ("data",)
    files: tuple = ("a file",)
    conclusions: tuple = ()

    def __str__(self):
        return "what it found"


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
