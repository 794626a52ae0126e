"""Output of commands: facts for people, JSON for machines, and progress bars."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import typer


def print_facts(facts: Mapping[str, str]) -> None:
    width = max(map(len, facts))
    for what, text in facts.items():
        typer.echo(f"{what.ljust(width)}  {text}")


def print_written(output: Path, n_rows: int, n_skipped: int, as_json: bool) -> None:
    if as_json:
        print_json({"output": str(output), "rows": n_rows, "skipped": n_skipped})
    else:
        print_facts({"rows": with_skipped(f"{n_rows:,}", n_skipped), "output": str(output)})


def with_skipped(rows: str, n_skipped: int) -> str:
    """A number of rows, and of the skipped ones if there are any."""
    return f"{rows}, {n_skipped:,} skipped" if n_skipped else rows


def print_json(value: Any) -> None:
    """Print one JSON object; NaN and infinities become null."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """The value as plain types that JSON has."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def certificate(objective: float, gap: float, whose: str = "the") -> str:
    """Objective of a solution, and how far it is from the optimum at most."""
    if not np.isfinite(gap):
        return f"{objective:.6g}, without a proof of how far the optimum is"
    return f"{objective:.6g}, proven to be within {gap:.2g} of {whose} optimum"


def some(values: list[Any], most: int = 12) -> str:
    """The first values, and how many more there are."""
    shown = ", ".join(map(str, values[:most]))
    return shown if len(values) <= most else f"{shown}, ... and {len(values) - most} more"


@contextmanager
def rich_progress(*columns: Any) -> Iterator[Any]:
    """Progress display of rich with these columns or templates; silent when stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        yield bars


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Callback (task, steps done, all steps) that shows a bar for each task; silent when stderr is not a terminal."""
    with rich_progress() as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done)

        yield show


@contextmanager
def stream_bar(what: str, n_bytes: int) -> Iterator[Callable[[int, int, float | None], None]]:
    """Callback (bytes done, rows done, running loss) for a bar with rows, rate, loss and time left.

    Silent when stderr is not a terminal.
    """
    from rich.progress import BarColumn, TimeElapsedColumn, TimeRemainingColumn

    facts = ("{task.percentage:3.0f}%", "{task.fields[rows]:,} rows", "{task.fields[rate]}", "{task.fields[loss]}")
    columns = ("{task.description}", BarColumn(), *facts, TimeElapsedColumn(), TimeRemainingColumn())
    with rich_progress(*columns) as bars:
        task = bars.add_task(what, total=max(1, n_bytes), rows=0, rate="", loss="")
        before: int | None = None  # rows of an earlier run that this one resumes

        def show(done: int, rows: int, loss: float | None) -> None:
            nonlocal before
            before = rows if before is None else before
            elapsed = bars.tasks[0].elapsed or 0.0
            rate = f"{(rows - before) / elapsed:,.0f} rows/s" if elapsed > 0 else ""
            error = "" if loss is None or np.isnan(loss) else f"MAE {loss:.4f}"
            bars.update(task, completed=done, rows=rows, rate=rate, loss=error)

        yield show
