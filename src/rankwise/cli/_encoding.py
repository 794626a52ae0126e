"""Options that say how columns become features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._options import require_column

if TYPE_CHECKING:
    from rankwise.cli._rows import Source
    from rankwise.features import TableEncoder

_FEATURES = "Features"


class Scaling(StrEnum):
    """How numbers are scaled."""

    standard = "standard"
    minmax = "minmax"
    robust = "robust"
    none = "none"


class Missing(StrEnum):
    """What becomes of missing values."""

    mean = "mean"
    median = "median"
    refuse = "refuse"


class Categories(StrEnum):
    """How categories become numbers."""

    onehot = "onehot"
    hash = "hash"


class Unknown(StrEnum):
    """What becomes of categories that were not met while learning."""

    ignore = "ignore"
    column = "column"
    refuse = "refuse"


Kind = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL=KIND",
        help="Read a column as number, category, boolean or text, whatever it looks like; may be repeated.",
        show_default=False,
        rich_help_panel=_FEATURES,
    ),
]
ScalingOption = Annotated[
    Scaling | None,
    typer.Option("--scaling", help="How numbers are scaled. By default standard.", rich_help_panel=_FEATURES),
]
MissingOption = Annotated[
    Missing | None,
    typer.Option(
        "--missing",
        help="Fill in missing numbers, or refuse missing values. By default mean.",
        rich_help_panel=_FEATURES,
    ),
]
Indicate = Annotated[
    bool, typer.Option("--indicate-missing", help="Add columns that say what was missing.", rich_help_panel=_FEATURES)
]
CategoriesOption = Annotated[
    Categories | None,
    typer.Option(
        "--categories",
        help="A column for each category, or hashed ones, which know categories that come later. By default onehot.",
        rich_help_panel=_FEATURES,
    ),
]
UnknownOption = Annotated[
    Unknown | None,
    typer.Option(
        "--unknown", help="What a category not met while learning is. By default ignore.", rich_help_panel=_FEATURES
    ),
]


def encoder_options(
    scaling: Scaling | None,
    missing: Missing | None,
    indicate: bool,
    categories: Categories | None,
    unknown: Unknown | None,
) -> dict[str, Any]:
    """Parameters of the encoder that were given."""
    chosen = {"scaling": scaling, "missing": missing, "categories": categories, "unknown": unknown}
    given: dict[str, Any] = {name: value.value for name, value in chosen.items() if value is not None}
    return {**given, "indicate_missing": True} if indicate else given


def parse_kinds(assignments: Sequence[str] | None) -> dict[str, str]:
    """``["zip=category"]`` as a dict."""
    kinds: dict[str, str] = {}
    known = ("number", "category", "boolean", "text")
    for assignment in assignments or ():
        column, equals, wanted = assignment.rpartition("=")
        if not equals or wanted not in known:
            raise typer.BadParameter(
                f"--kind is given as column=kind, kind one of {', '.join(known)}. Got {assignment!r}."
            )
        kinds[column] = wanted
    return kinds


def text_kinds(kinds: Mapping[str, str]) -> list[str]:
    """Columns to be read as texts, whatever their values look like."""
    return [name for name, kind in kinds.items() if kind in ("category", "text")]


def make_encoder(source: Source, kinds: Mapping[str, str], encoding: Mapping[str, Any]) -> TableEncoder | str:
    """Encoder for the columns of the files; svmlight rows are taken as they are."""
    from rankwise.features import TableEncoder

    if source.is_svmlight:
        if kinds or encoding:
            raise typer.BadParameter("svmlight rows are numbers as they are: there is nothing to encode.")
        return "none"
    for column in kinds:
        require_column(column, source.features, "--kind")
    return TableEncoder(kinds=dict(kinds) or None, **encoding)
