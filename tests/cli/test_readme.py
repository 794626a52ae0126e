"""The README's commands, run as they stand there, print what it says they print."""

import runpy
import shlex
from pathlib import Path

from tests.cli.commands import succeed

ROOT = Path(__file__).resolve().parents[2]


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
            assert printed.strip() == said[0].strip()
    assert (tmp_path / "predicted.parquet").exists()
    assert (tmp_path / "page.html").exists()
