"""Options that say how columns become features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._options import option, require_column
from rankwise.cli._print import some

if TYPE_CHECKING:
    from rankwise.cli._labelled_files import LabelledFiles
    from rankwise.features import TableEncoder

_FEATURES = "Features"
_KINDS = ("number", "category", "boolean", "text")

Scaling = StrEnum("Scaling", ["standard", "minmax", "robust", "none"])
Missing = StrEnum("Missing", ["mean", "median", "refuse"])
Categories = StrEnum("Categories", ["onehot", "hash"])
Unknown = StrEnum("Unknown", ["ignore", "column", "refuse"])


def _choice(help: str, metavar: str | None = None) -> Any:
    return option(help, _FEATURES, metavar)


@dataclass(frozen=True, kw_only=True)
class EncodingOptions:
    """How columns become features."""

    kind: Annotated[
        list[str] | None,
        _choice("Read a column as number, category, boolean or text; may be repeated.", "COL=KIND"),
    ] = None
    scaling: Annotated[Scaling | None, _choice("How numbers are scaled. By default standard.")] = None
    missing: Annotated[
        Missing | None, _choice("Fill in missing numbers, or refuse missing values. By default mean.")
    ] = None
    indicate_missing: Annotated[
        bool, option("Add columns that say what was missing.", _FEATURES, None, "--indicate-missing")
    ] = False
    categories: Annotated[
        Categories | None,
        _choice("A column for each category, or hashed ones for categories that come later too. By default onehot."),
    ] = None
    unknown: Annotated[
        Unknown | None, _choice("How to encode categories that were not seen during training. By default ignore.")
    ] = None

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kinds of columns that were given."""
        kinds: dict[str, str] = {}
        for assignment in self.kind or ():
            column, equals, wanted = assignment.rpartition("=")
            if not equals or wanted not in _KINDS:
                rule = f"--kind is given as column=kind, kind one of {', '.join(_KINDS)}"
                raise typer.BadParameter(f"{rule}. Got {assignment!r}.")
            kinds[column] = wanted
        return kinds

    @property
    def texts(self) -> list[str]:
        """Columns to be read as texts, whatever their values look like."""
        return [name for name, kind in self.kinds.items() if kind in ("category", "text")]

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the encoder that were given."""
        chosen = {name: getattr(self, name) for name in ("scaling", "missing", "categories", "unknown")}
        given: dict[str, Any] = {name: value.value for name, value in chosen.items() if value is not None}
        return {**given, "indicate_missing": True} if self.indicate_missing else given

    def encoder_for(self, source: LabelledFiles) -> TableEncoder | str:
        """Encoder for the columns of the files; svmlight rows are taken as they are."""
        from rankwise.features import TableEncoder

        if source.is_svmlight:
            if self.kinds or self.parameters:
                raise typer.BadParameter("svmlight rows are numbers as they are: there is nothing to encode.")
            return "none"
        for column in self.kinds:
            require_column(column, source.features, "--kind")
        return TableEncoder(kinds=self.kinds or None, **self.parameters)


def read_as(encoder: TableEncoder | None) -> dict[str, str]:
    """How each column was read, in words."""
    if encoder is None:
        return {}
    words = {name: "no value: left out" for name, kind in encoder.kinds_.items() if kind == "ignore"}
    for column in encoder.to_plain()["columns"]:
        words[column["name"]] = {
            "number": "number with decimal comma" if column.get("decimal") == "," else "number",
            "category": "hashed category" if column.get("hashed") else "category",
            "text": "text of hashed words",
        }.get(column["kind"], column["kind"])
    return words


def by_reading(words: Mapping[str, str], index_base: int | None) -> dict[str, str]:
    """Lines that say which columns were read in the same way, for people; or where the indices of svmlight begin."""
    if index_base is not None:
        return {"first index": str(index_base)}
    readings = dict.fromkeys(words.values())
    return {f"  {how}": some([name for name in words if words[name] == how]) for how in readings}
