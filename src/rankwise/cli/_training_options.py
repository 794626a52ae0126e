"""Options that the commands which learn share, above all how columns become features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli import _estimators
from rankwise.cli._options import LearningOptions, RowOptions, option, require_column

if TYPE_CHECKING:
    from rankwise.cli._labelled_files import LabelledFiles
    from rankwise.features import TableEncoder

_FEATURES = "Features"
_KINDS = ("number", "category", "boolean", "date", "date-dmy", "date-mdy", "duration", "ordered", "text")

Scaling = StrEnum("Scaling", ["standard", "minmax", "robust", "none"])
Missing = StrEnum("Missing", ["mean", "median", "refuse"])
Categories = StrEnum("Categories", ["onehot", "hash"])
Ordered = StrEnum("Ordered", ["cumulative", "scores", "indicators"])
Unknown = StrEnum("Unknown", ["ignore", "column", "refuse"])
Numbers = StrEnum("Numbers", {"auto": "auto", "linear": "linear", "spline": "spline", "products": "spline+products"})
Dates = StrEnum("Dates", ["numbers", "cyclic"])
Texts = StrEnum("Texts", ["auto", "tfidf", "counts", "binary", "hash"])
Slips = StrEnum("Slips", ["refuse", "missing"])


def _choice(help: str, metavar: str | None = None) -> Any:
    return option(help, _FEATURES, metavar)


@dataclass(frozen=True, kw_only=True)
class EncodingOptions:
    """How columns become features."""

    kind: Annotated[
        list[str] | None,
        _choice(
            "Read a column as number, category, boolean, date, date-dmy, date-mdy, duration or text; repeatable.",
            "COL=KIND",
        ),
    ] = None
    numbers: Annotated[
        Numbers | None,
        _choice("Numbers as they are, as curves (splines), with products of pairs. By default decided by the rows."),
    ] = None
    scaling: Annotated[Scaling | None, _choice("How numbers are scaled. By default standard.")] = None
    missing: Annotated[
        Missing | None, _choice("Fill in missing numbers, or refuse missing values. By default mean.")
    ] = None
    indicate_missing: Annotated[
        bool, option("Add columns that say what was missing.", _FEATURES, None, "--indicate-missing")
    ] = False
    slips: Annotated[
        Slips | None, _choice("Treat text in a column of numbers as an error or as a missing value. By default refuse.")
    ] = None
    dates: Annotated[
        Dates | None, _choice("Month, weekday and hour as numbers or as points on a circle. By default numbers.")
    ] = None
    texts: Annotated[
        Texts | None, _choice("How the words of texts are weighted. By default tfidf, and hash for streams.")
    ] = None
    ngrams: Annotated[
        int | None, option("Longest sequence of words that is a feature.", _FEATURES, "N", min=1, max=10)
    ] = None
    categories: Annotated[
        Categories | None,
        _choice("A column for each category, or hashed ones for categories that come later too. By default onehot."),
    ] = None
    ordered: Annotated[
        Ordered | None,
        _choice("Ordered categories as steps from level to level, as numbers, or as others. By default cumulative."),
    ] = None
    unknown: Annotated[
        Unknown | None, _choice("How to encode categories that were not seen during training. By default ignore.")
    ] = None
    drop_first: Annotated[
        bool | None,
        option(
            "Leave out a reference level of each category and one spline of each number. By default for estimators "
            "without a penalty (alpha = 0).",
            _FEATURES,
            None,
            "--drop-first/--keep-first",
        ),
    ] = None

    @cached_property
    def kinds(self) -> dict[str, str]:
        kinds: dict[str, str] = {}
        for assignment in self.kind or ():
            column, equals, wanted = assignment.rpartition("=")
            if not equals or wanted not in _KINDS:
                rule = f"--kind is given as column=kind, kind one of {', '.join(_KINDS)}"
                raise typer.BadParameter(f"{rule}. Got {assignment!r}.")
            kinds[column] = wanted
        return kinds

    @property
    def text_columns(self) -> list[str]:
        """Columns to be read as texts, whatever their values look like."""
        return [name for name, kind in self.kinds.items() if kind in ("category", "text")]

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the encoder that were given."""
        choices = ("numbers", "scaling", "missing", "slips", "dates", "texts", "categories", "ordered", "unknown")
        values = {name: getattr(self, name) for name in (*choices, "ngrams", "drop_first")}
        values["indicate_missing"] = self.indicate_missing or None
        return {name: getattr(value, "value", value) for name, value in values.items() if value is not None}

    def encoder_for(self, source: LabelledFiles, estimator: str = "") -> TableEncoder | str:
        """Encoder for the columns of the files; svmlight rows need none, and trees take raw columns."""
        from rankwise.features import TableEncoder

        if source.is_svmlight:
            if self.kinds or self.parameters:
                raise typer.BadParameter("svmlight rows are numbers as they are: there is nothing to encode.")
            return "none"
        for column in self.kinds:
            require_column(column, source.features, "--kind")
        make = TableEncoder.for_trees if estimator and _estimators.grows_trees(estimator) else TableEncoder
        return make(kinds=self.kinds or None, **self.parameters)


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Rows to learn from: where the labels are, how columns become features, and how files and bad rows are read."""

    labels: LearningOptions
    encoding: EncodingOptions
    rows: RowOptions

    def open(self, files: Sequence[Path]) -> LabelledFiles:
        """Open the files, and check that they have the columns that the options name."""
        classes, texts = self.labels.declared, self.encoding.text_columns  # their errors come before those of files
        from rankwise.cli._labelled_files import LabelledFiles

        return LabelledFiles(files, self.rows, self.labels, texts=texts, classes=classes)
