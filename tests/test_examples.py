"""The examples run, and the README quotes their numbers."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_readme_quotes_the_numbers_that_the_example_prints(capsys):
    runpy.run_path(str(ROOT / "examples" / "why_ordered.py"), run_name="__main__")
    printed = capsys.readouterr().out
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Why not")[1].split("\n## ")[0]
    numbers = re.findall(r"\d+\.\d\d", printed)
    assert len(numbers) == 6
    assert set(numbers) <= set(re.findall(r"\d+\.\d\d", section))


def test_readme_picture_can_be_drawn_again(tmp_path):
    example = runpy.run_path(str(ROOT / "examples" / "readme_picture.py"))
    picture = example["main"](tmp_path / "thresholds.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert (ROOT / "docs" / "images" / "thresholds.png").exists()


def test_own_model_beats_ranks_on_a_line_where_hours_lie_on_a_circle(capsys):
    runpy.run_path(str(ROOT / "examples" / "own_model.py"), run_name="__main__")
    circle, line = (float(number) for number in re.findall(r"\d+\.\d\d", capsys.readouterr().out))
    assert circle < line < 2.0


def test_mail_is_filed_better_and_better(monkeypatch, capsys):
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    monkeypatch.setattr("rankwise.datasets._find._beside_checkout", lambda: None)
    example = runpy.run_path(str(ROOT / "examples" / "mail_folders.py"))
    lines = example["main"]()
    printed = capsys.readouterr().out
    assert "the messages are made up" in printed
    assert f"{lines[-1][2]:.0%}" in printed.splitlines()[-1]
    messages, folders, right, among_three = zip(*lines, strict=True)
    assert messages == (100, 200, 300, 400, 500, 600)
    assert folders == (4, 4, 4, 5, 5, 5)
    assert right[0] < 0.8
    assert min(right[-1], among_three[-1]) > 0.95
    assert all(once <= three for once, three in zip(right, among_three, strict=True))
