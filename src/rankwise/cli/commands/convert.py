"""The command ``convert``: labels in another form, files in another format."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, ClassOptions, Files, RowOptions, Written, grouped, option
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


Tool = StrEnum("Tool", ["label-studio", "argilla", "potato"])
_ANSWERS = "Answers of raters"
ITEMS = "Table of the items, with a column 'item' or 'id': what the tool shows for each."


@dataclass(frozen=True, kw_only=True)
class ToolOptions:
    """Files of annotation tools."""

    answers_from: Annotated[Tool | None, option("The file is an export of this tool.", _ANSWERS, None)] = None
    answers_to: Annotated[Tool | None, option("Write a file for this tool.", _ANSWERS, None)] = None
    question: Annotated[str | None, option("Name of the question in these files.", _ANSWERS, "NAME")] = None
    items: Annotated[Path | None, option(ITEMS, _ANSWERS, "FILE", exists=True, dir_okay=False)] = None

    @property
    def are_given(self) -> bool:
        """Whether this is about answers of raters."""
        if self.items is not None and self.answers_to is None:
            raise typer.BadParameter("--items is what a tool shows: it needs --answers-to.")
        return self.answers_from is not None or self.answers_to is not None

    def convert(self, files: list[Path], output: Path, classes: list[Any] | None, format: str | None) -> int:
        """Copy the answers of one file; return how many."""
        from rankwise.io import read_answers, read_items, write_answers
        from rankwise.io.answer_files import answers_located

        if len(files) != 1:
            raise typer.BadParameter(f"answers of raters are in one file. Got {len(files)}.")
        source = None if self.answers_from is None else self.answers_from.value
        target = format if self.answers_to is None else self.answers_to.value
        table = read_answers(files[0], source, question=self.question)
        items = None if self.items is None else read_items(self.items)
        question = self.question or "label"
        with answers_located(files[0], source, table, question):
            return write_answers(table, output, target, classes=classes, question=question, items=items)


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
        Written | None, typer.Option(help="Format of the new file, if its name does not say it.")
    ] = None,
    rows: RowOptions,
    answers: ToolOptions,
    json: AsJSON = False,
) -> None:
    """Copy files into one, with labels written in another way, in another format, or both.

    rankwise convert ends.csv --lower from --upper to --to-label grade --output texts.parquet

    Answers of raters, with the columns item, rater and label, come from annotation tools and go to them:

    rankwise convert export.json --answers-from label-studio --classes 1..5 --output answers.csv

    rankwise convert answers.csv --answers-to label-studio --items texts.csv --classes 1..5 --output tasks.json
    """
    declared = labels.declared
    with plain_errors():
        from rankwise.cli._quarantine import Quarantine
        from rankwise.io.conversion import convert_table

        format = None if output_format is None else output_format.value
        if answers.are_given:
            print_written(output, answers.convert(files, output, declared, format), 0, json)
            return
        table = rows.look_at(files)
        has_labels = labels.are_given or table.format == "svmlight"
        labels_to = target.columns()
        if labels_to is not None and not has_labels:
            raise typer.BadParameter("--to-... says where labels go: give --label, or --lower and --upper, as well.")
        skipped = Quarantine(rows.quarantine, strict=rows.strict)
        with skipped:
            n = convert_table(
                table,
                output,
                labels.columns_of(table) if has_labels else None,
                labels_to,
                style=target.style.value,
                classes=declared,
                output_format=format,
                quarantine=skipped if rows.skips else None,
            )
    print_written(output, n, skipped.count, json)
    skipped.judge(n)
