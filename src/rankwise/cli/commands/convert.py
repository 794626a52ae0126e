"""The command ``convert``: labels in another form, files in another format."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, ClassOptions, Files, Format, RowOptions, grouped, option
from rankwise.cli._outputs import NEW_TABLE
from rankwise.cli._print import print_written

if TYPE_CHECKING:
    from rankwise.io import LabelColumns

Style = StrEnum("Style", ["shortest", "candidates"])
_TO = "Labels of the new file"


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """Where labels go, and how they are written."""

    to_label: Annotated[str | None, option("One column with texts such as 3-5.", _TO)] = None
    to_lower: Annotated[str | None, option("Column of lower ends.", _TO)] = None
    to_upper: Annotated[str | None, option("Column of upper ends.", _TO)] = None
    style: Annotated[Style, option("Texts as 3-5, or as 3|4|5.", _TO, None)] = Style.shortest

    def columns(self) -> LabelColumns | None:
        """The columns, if any was named."""
        from rankwise.io import LabelColumns

        if self.to_label is None and self.to_lower is None and self.to_upper is None:
            return None
        if self.to_label is not None and (self.to_lower is not None or self.to_upper is not None):
            raise typer.BadParameter("labels go to one column (--to-label) or to two (--to-lower and --to-upper).")
        if self.to_label is None and (self.to_lower is None or self.to_upper is None):
            raise typer.BadParameter("--to-lower and --to-upper belong together: an interval has two ends.")
        return LabelColumns(label=self.to_label, lower=self.to_lower, upper=self.to_upper)


@grouped
def convert(
    files: Files,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File to write; its name says the format."), NEW_TABLE
    ],
    *,
    labels: ClassOptions,
    target: TargetOptions,
    output_format: Annotated[
        Format | None, typer.Option(help="Format of the new file, if its name does not say it.")
    ] = None,
    rows: RowOptions,
    json: AsJSON = False,
) -> None:
    """Copy files into one, with labels written in another way, in another format, or both.

    rankwise convert ends.csv --lower from --upper to --to-label grade --output texts.parquet
    """
    rows.check()
    declared = labels.declared
    with plain_errors():
        from rankwise.cli._quarantine import Quarantine
        from rankwise.io._convert import convert_table

        table = rows.look_at(files)
        has_labels = labels.are_given or table.format == "svmlight"
        labels_to = target.columns()
        if labels_to is not None and not has_labels:
            raise typer.BadParameter("--to-... says where labels go: give --label, or --lower and --upper, as well.")
        skipped = Quarantine(rows.quarantine)
        with skipped:
            n = convert_table(
                table,
                output,
                labels.columns_of(table) if has_labels else None,
                labels_to,
                style=target.style.value,
                classes=declared,
                output_format=None if output_format is None else output_format.value,
                quarantine=skipped if rows.skips else None,
            )
    print_written(output, n, skipped.count, json)
    rows.judge_skipped(skipped, n)
