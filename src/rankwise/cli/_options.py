"""Options that several commands share, as types to annotate parameters with, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._errors import suggestion

if TYPE_CHECKING:
    from rankwise.io import LabelColumns, Table

_LABELS = "Labels"
_ROWS = "Rows"


class OnError(StrEnum):
    """What a bad row does."""

    stop = "stop"
    skip = "skip"


class Format(StrEnum):
    """Formats of files."""

    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    arrow = "arrow"
    jsonl = "jsonl"
    svmlight = "svmlight"


class Method(StrEnum):
    """Ways to judge."""

    holdout = "holdout"
    progressive = "progressive"
    cv = "cv"


Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A model file, from 'rankwise fit' or rankwise.save.", show_default=False),
]
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Files or directories: CSV, TSV, Parquet, Arrow, JSON lines or svmlight, plain or .gz or .zst.",
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of labels: 3, 3-5, >=4, <=2, 2|3|7 or ?.",
        show_default=False,
        rich_help_panel=_LABELS,
    ),
]
Lower = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="Column of lowest admissible classes.", show_default=False, rich_help_panel=_LABELS
    ),
]
Upper = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="Column of highest admissible classes.", show_default=False, rich_help_panel=_LABELS
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Column of weights, >= 0.", show_default=False, rich_help_panel=_LABELS),
]
Classes = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="All classes, lowest first: low,medium,high or 1..10. Without it the labels are read once more for them.",
        show_default=False,
        rich_help_panel=_LABELS,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="COL,COL", help="Columns that are no features.", show_default=False, rich_help_panel=_ROWS),
]
FileFormat = Annotated[
    Format | None,
    typer.Option("--format", help="Format of the files; by default their names say it.", rich_help_panel=_ROWS),
]
WhenBad = Annotated[
    OnError,
    typer.Option("--on-error", help="A bad row stops the run, or is skipped and counted.", rich_help_panel=_ROWS),
]
QuarantineFile = Annotated[
    Path | None,
    typer.Option(
        "--quarantine",
        metavar="FILE",
        help="With --on-error skip: JSON lines with file, row, reason and text of each skipped row.",
        show_default=False,
        rich_help_panel=_ROWS,
    ),
]
Folds = Annotated[int, typer.Option(min=2, help="Folds of --method cv; of --method holdout one of these is kept back.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
AsJSON = Annotated[bool, typer.Option("--json", help="Print results as JSON, for machines.")]


def label_columns(
    label: str | None, lower: str | None, upper: str | None, weight: str | None, *, is_svmlight: bool = False
) -> LabelColumns:
    """Where the labels are; an svmlight file brings its own."""
    from rankwise.io import LabelColumns

    if is_svmlight and weight is not None:
        raise typer.BadParameter("an svmlight file has no column of weights: --weight cannot be used.")
    if is_svmlight:
        return LabelColumns(label="label")
    if label is None and lower is None and upper is None:
        raise typer.BadParameter("where are the labels? Give --label COL, or --lower COL and --upper COL.")
    if label is not None and (lower is not None or upper is not None):
        raise typer.BadParameter("labels are in one column (--label) or in two (--lower and --upper), not both.")
    if label is None and (lower is None or upper is None):
        given, other = ("--lower", "--upper") if upper is None else ("--upper", "--lower")
        raise typer.BadParameter(f"{given} needs {other}: an interval has two ends.")
    return LabelColumns(label=label, lower=lower, upper=upper, weight=weight)


def parse_classes(text: str | None) -> list[Any] | None:
    """Classes in their order: numbers if all are, ``1..5`` for whole numbers in a row."""
    if text is None:
        return None
    first, dots, last = text.partition("..")
    if dots and _is_whole(first) and _is_whole(last):
        if not 1 <= int(last) - int(first) < 100_000:
            raise typer.BadParameter(f"--classes {text} must go from a lower number to a higher one.")
        return list(range(int(first), int(last) + 1))
    names = [part.strip() for part in text.split(",")]
    if "" in names:
        raise typer.BadParameter(f"--classes has a class without a name: {text!r}.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"--classes has {twice!r} twice.")
    if len(names) < 2:
        raise typer.BadParameter(f"--classes needs at least two classes, lowest first. Got {text!r}.")
    for kind in (int, float):
        try:
            return [kind(name) for name in names]
        except ValueError:
            continue
    return list(names)


def _is_whole(text: str) -> bool:
    return text.strip().lstrip("-").isdecimal()


def parse_columns(given: Sequence[str] | None, present: Sequence[str], option: str) -> list[str]:
    """Columns of an option that may be repeated, and may hold several between commas."""
    names: list[str] = []
    for text in given or ():
        parts = [text] if text in present else [part.strip() for part in text.split(",") if part.strip()]
        names += [part for part in parts if part not in names]
    for name in names:
        require_column(name, present, option)
    return names


def require_column(name: str, present: Sequence[str], option: str) -> None:
    """Refuse a column that the files do not have."""
    if name not in present:
        raise typer.BadParameter(f"{option}: there is no column {name!r}. {suggestion(name, present)}")


def require_label_columns(labels: LabelColumns, table: Table) -> None:
    """Refuse label columns that the files do not have."""
    if table.format == "svmlight":
        return
    for option in ("label", "lower", "upper", "weight"):
        name = getattr(labels, option)
        if name is not None:
            require_column(name, table.schema.names, f"--{option}")
    if len(set(labels.names)) < len(labels.names):
        raise typer.BadParameter("labels and weights must be in different columns.")
