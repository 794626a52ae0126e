"""The README's commands, run as they stand there, print what it says they print."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from tests.cli.commands import succeed

ROOT = Path(__file__).resolve().parents[2]

NUMBER = re.compile(r"\d+\.\d+")


@pytest.mark.slow
def test_the_commands_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## From the command line")[1].split("\n## ")[0]
    block = section.split("```")[1].strip()
    commands = [part.split("\n", 1) for part in f"\n{block}".split("\n$ ")[1:]]
    run = {
        "python": lambda script: runpy.run_path(str(ROOT / script), run_name="__main__"),
        "head": lambda count, path: "\n".join(Path(path).read_text().splitlines()[: -int(count)]),
        "rankwise": succeed,
    }
    assert [command.split()[0] for command, *_ in commands] == ["python", "head"] + ["rankwise"] * 5
    for command, *said in commands:
        program, *arguments = shlex.split(command)
        printed = run[program](*arguments)
        if said:
            assert NUMBER.sub("N", printed.strip()) == NUMBER.sub("N", said[0].strip())
            # Not to the digit: trees depend a little on the version of LightGBM.
            assert _numbers(printed) == pytest.approx(_numbers(said[0]), rel=0.1, abs=0.02)
    assert (tmp_path / "predicted.parquet").exists()
    assert (tmp_path / "page.html").exists()


def _numbers(text):
    return [float(number) for number in NUMBER.findall(text)]
