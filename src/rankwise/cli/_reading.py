"""Options that say how files are read, beyond what their names say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import typer

_FILES = "Files"


def _option(help: str, metavar: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=_FILES, show_default=False, **settings)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How files are read."""

    separator: Annotated[
        str | None, _option("Separator of CSV columns. By default found in the header: , ; tab or |.", "CHAR")
    ] = None
    decimal: Annotated[
        str | None, _option("Decimal mark of numbers in CSV, . or ,. By default found for each column.", "CHAR")
    ] = None
    text_encoding: Annotated[  # not encoding, which is what commands call the options of features
        str | None,
        _option("Encoding of text files, as cp1252. By default UTF-8, or UTF-16 if marked so.", "NAME", "--encoding"),
    ] = None
    index_base: Annotated[
        int | None,
        _option(
            "First index of svmlight files. By default that of the model, or 0 if any row has the index 0, else 1.",
            "0|1",
            min=0,
            max=1,
        ),
    ] = None
    max_features: Annotated[
        int | None, _option("Most features of svmlight files; by default 10,000,000.", "N", min=1)
    ] = None

    @property
    def reading(self) -> dict[str, Any]:
        """What was given, as keywords of :func:`rankwise.io.open_table`."""
        given = {
            "separator": self.separator, "decimal": self.decimal, "encoding": self.text_encoding,
            "index_base": self.index_base, "max_features": self.max_features,
        }  # fmt: skip
        given = {name: value for name, value in given.items() if value is not None}
        if given.get("separator") in ("tab", "\\t"):
            given["separator"] = "\t"
        return given

    def as_learnt(self, model: Any, notes: Mapping[str, Any]) -> Self:
        """The same for files that a model predicts: indices begin where they began in the files it learnt from."""
        from rankwise.io._svmlight import MAX_FEATURES

        known = notes.get("index_base")
        if known is not None and self.index_base not in (None, known):
            raise typer.BadParameter(
                f"--index-base {self.index_base}: the model was learnt from rows whose indices begin at {known}."
            )
        # The model has so many weights already.
        most = max(self.max_features or MAX_FEATURES, int(getattr(model, "estimator_", model).n_features_in_))
        return replace(self, index_base=self.index_base if known is None else known, max_features=most)
