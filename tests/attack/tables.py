"""Hostile tables: files with cells, lines and bytes that nobody meant, for every command that reads them.

The promise: a command succeeds, or ends with one line that says why; inputs stay what they are, and what fails leaves
no file behind.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.attack.harness import FaultError
from tests.cli.commands import run

CELLS = ("1.2.3", "1,5", "1e400", "-1e308", "0x10", "NA", "", " ", "nan", "inf", "=1+1", "12:30", "2026-01-01", "é")
CELLS += ('"', '""', "'", "a\0b", "x" * 5000, "1" * 400, "\ufeff1", "true", "1;2", "\t", "null", "[1]", "{}", "3-2")
BYTES = (b"\xff\xfe", b"\x00", b"\r", b"\n\n\n", b'"', b"\xef\xbb\xbf", b"\x1f\x8b\x08", b"PAR1", b"\xed\xa0\x80", b"#")
FORMS = ("csv", "tsv", "jsonl", "svm")
COMMANDS = ("fit", "predict", "evaluate", "convert", "info")


def rows(rng: np.random.Generator, n: int = 40) -> list[dict[str, Any]]:
    """Good rows: two numbers, a category, a text and a label."""
    x = rng.normal(size=(n, 2)).round(3)
    grades = (np.digitize(x[:, 0], [-0.5, 0.5]) + 1).tolist()
    return [
        {"a": float(u), "b": float(v), "c": str(rng.choice(["red", "blue"])), "y": grade}
        for (u, v), grade in zip(x.tolist(), grades, strict=True)
    ]


def text(table: list[dict[str, Any]], form: str) -> str:
    """The rows in a format."""
    if form == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in table)
    if form == "svm":
        return "".join(f"{row['y']} 1:{row['a']} 2:{row['b']}\n" for row in table)
    mark = "," if form == "csv" else "\t"
    return mark.join(table[0]) + "\n" + "".join(mark.join(map(str, row.values())) + "\n" for row in table)


def spoiled(rng: np.random.Generator, table: list[dict[str, Any]], form: str) -> bytes:
    """A file of these rows with one to three things wrong."""
    table = [dict(row) for row in table]
    for _ in range(int(rng.integers(0, 3))):
        row = table[rng.integers(len(table))]
        row[str(rng.choice(list(row)))] = str(rng.choice(CELLS))
    lines = text(table, form).splitlines(keepends=True)
    for _ in range(int(rng.integers(0, 3))):
        place = int(rng.integers(len(lines)))
        how = int(rng.integers(7))
        if how == 0:
            lines[place] = lines[place][: int(rng.integers(len(lines[place]) + 1))]
        elif how == 1:
            lines[place] = lines[place].rstrip("\n") + "".join(",\t:{["[rng.integers(5)] for _ in range(3)) + "\n"
        elif how == 2:
            lines.insert(place, str(rng.choice(CELLS)) + "\n")
        elif how == 3:
            lines = lines[:place] or lines[:1]
        elif how == 4:
            lines[0] = lines[place]
        elif how == 5 and form == "svm":
            lines[place] = f"1 {rng.choice([-1, 0, 2**31 - 1, 2**31, 2**63, 10**30])}:1 3:2\n"
        elif how == 5 and form == "jsonl":
            depth = int(rng.choice([50, 2_000, 20_000]))
            lines[place] = '{"a": ' + "[" * depth + "]" * depth + ', "y": 1}\n'
    content = bytearray("".join(lines).encode("utf-8", "surrogatepass"))
    for _ in range(int(rng.integers(0, 2))):
        place = int(rng.integers(len(content) + 1))
        content[place:place] = BYTES[rng.integers(len(BYTES))]
    return bytes(content) if rng.random() < 0.97 else b""


def setup() -> tuple[Path, dict[str, Path], dict[str, list[dict[str, Any]]]]:
    """A directory, and a model of good rows for each format."""
    folder, models, tables = Path(tempfile.mkdtemp()), {}, {}
    atexit.register(shutil.rmtree, folder)
    for form in FORMS:
        tables[form] = rows(np.random.default_rng(1))
        data, models[form] = folder / f"good.{form}", folder / f"{form}.rankwise"
        data.write_text(text(tables[form], form))
        label = () if form == "svm" else ("--label", "y")
        result = run("fit", data, *label, "--classes", "1..3", "--estimator", "PRIL", "--output", models[form])
        assert result.exit_code == 0, result.output
    (folder / "work").mkdir()
    return folder / "work", models, tables


def case(shared: tuple[Path, dict[str, Path], dict[str, Any]], rng: np.random.Generator) -> str:
    """Run one command on one spoiled file."""
    folder, models, tables = shared
    form, command = str(rng.choice(FORMS)), str(rng.choice(COMMANDS))
    data, output = folder / f"data.{form}", folder / "out.csv"
    content = spoiled(rng, tables[form], form)
    data.write_bytes(content)
    label = () if form == "svm" else ("--label", "y")
    handling = ("--on-error", "skip") if rng.random() < 0.5 else ()
    arguments = {
        "fit": ("fit", data, *label, "--estimator", "PRIL", *handling, "--output", output),
        "predict": ("predict", models[form], data, *handling, "--output", output),
        "evaluate": ("evaluate", models[form], data, *label, *handling),
        "convert": ("convert", data, "--output", output),
        "info": ("info", data),
    }[command]
    try:
        result = run(*arguments)
        lines = [line for line in result.stderr.splitlines() if not line.startswith("rankwise: warning: ")]
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise FaultError(f"{command} {form}: {type(result.exception).__name__}: {str(result.exception)[:160]}")
        if "Traceback" in result.output:
            raise FaultError(f"{command} {form}: a traceback")
        if data.read_bytes() != content:
            raise FaultError(f"{command} {form}: changed its input")
        left = {path.name for path in folder.iterdir()} - {data.name}
        if result.exit_code == 0:
            if left - {output.name}:
                raise FaultError(f"{command} {form}: left {sorted(left)}")
            return "answer"
        if left:
            raise FaultError(f"{command} {form}: failed and left {sorted(left)}")
        if result.exit_code == 1 and len(lines) != 1:
            raise FaultError(f"{command} {form}: {len(lines)} lines instead of one: {lines[:3]}")
        return "refused"
    finally:
        for path in folder.iterdir():
            path.unlink()
