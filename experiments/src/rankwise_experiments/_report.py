"""What an experiment found, and how its files are written: complete or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise_experiments._private import replacing

#: Told what is being done, how many steps of it are done, and how many there are.
ProgressCallback = Callable[[str, int, int], None]


def no_progress(what: str, done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Check:
    """Whether a conclusion holds in one place, with the numbers that say so."""

    where: str
    holds: bool
    numbers: str


@dataclass(frozen=True)
class Conclusion:
    """A sentence of the paper, judged on our results."""

    claim: str
    checks: tuple[Check, ...]

    @property
    def verdict(self) -> str:
        """HOLDS, FAILS, or in how many of the checks it holds."""
        held = sum(check.holds for check in self.checks)
        if held == len(self.checks):
            return "HOLDS"
        return f"HOLDS IN {held} OF {len(self.checks)}" if held else "DOES NOT HOLD"

    def __str__(self) -> str:
        width = max(len(check.where) for check in self.checks)
        lines = (f"  {'yes' if c.holds else 'NO '}  {c.where.ljust(width)}  {c.numbers}" for c in self.checks)
        return "\n".join([f"{self.verdict}: {self.claim}", *lines])


def judged(claims: Iterable[tuple[str, Sequence[Check]]]) -> tuple[Conclusion, ...]:
    """Conclusions from claims and their checks; a claim that nothing could be said about is left out."""
    return tuple(Conclusion(claim, tuple(checks)) for claim, checks in claims if checks)


@dataclass(frozen=True)
class Report:
    """Outcome of an experiment.

    Attributes
    ----------
    title : str
        What was done.
    ran : tuple of str
        Data sets that were used.
    skipped : mapping of str to str
        Data sets that were not, with the reason.
    conclusions : tuple of Conclusion
        The paper's conclusions, judged on the results.
    notes : tuple of str
        What else the results say.
    files : tuple of Path
        Files written.
    """

    title: str
    ran: tuple[str, ...]
    skipped: Mapping[str, str]
    conclusions: tuple[Conclusion, ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...]

    @property
    def skipped_in_words(self) -> list[str]:
        """A sentence for each data set that was not used."""
        return [f"Skipped {name}: {reason}" for name, reason in self.skipped.items()]

    @property
    def conclusions_in_words(self) -> str:
        """All conclusions with their checks, as a block of Markdown."""
        conclusions = "\n\n".join(map(str, self.conclusions))
        return f"```\n{conclusions}\n```"

    def __str__(self) -> str:
        skipped = "\n".join(f"skipped {name}: {reason}" for name, reason in self.skipped.items())
        parts = [self.title, skipped, *map(str, self.conclusions), "\n".join(self.notes)]
        return "\n\n".join(part for part in parts if part)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], rule: str = "---") -> str:
    """Return a table in Markdown.

    Examples
    --------
    >>> print(markdown_table(["user", "mistakes"], [["beck-s", "58.5"]]))
    | user | mistakes |
    |---|---|
    | beck-s | 58.5 |
    """
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return "\n".join([lines[0], f"|{'|'.join([rule] * len(header))}|", *lines[1:]])


def records_as_markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Return a table in Markdown with a line for each record; the first names the columns."""
    return markdown_table(list(rows[0]), [list(row.values()) for row in rows], rule=" --- ")


def chain(values: Sequence[float], digits: int) -> str:
    """Numbers with the sign between neighbours that is true of them.

    Examples
    --------
    >>> chain([0.5, 0.25, 0.25], 2)
    '0.50 > 0.25 = 0.25'
    """
    text = f"{values[0]:.{digits}f}"
    for earlier, later in pairwise(values):
        text += f" {'>' if later < earlier else '<' if later > earlier else '='} {later:.{digits}f}"
    return text


def paired(difference: NDArray[np.float64]) -> tuple[float, float]:
    """Mean of paired differences and its standard error; 0 for a single pair."""
    error = difference.std(ddof=1) / np.sqrt(difference.size) if difference.size > 1 else 0.0
    return float(difference.mean()), float(error)


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write a CSV file; numbers have six significant digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    return write_text(path, text.getvalue())


def write_text(path: Path, text: str) -> Path:
    """Write a text file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def write_figure(path: Path, figure: Any, dpi: int = 150) -> Path:
    """Write a matplotlib figure, in the format of the file's suffix; a PNG with 256 colours, a third of the bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    format = path.suffix.lower().lstrip(".")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=dpi, format=format)
        if format == "png":
            with_few_colours(temporary)
    return path


def with_few_colours(path: Path) -> None:
    """Write a PNG again with a palette."""
    from PIL import Image  # matplotlib brings it

    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        few.save(path, "PNG", optimize=True, dpi=picture.info.get("dpi", (150, 150)))
