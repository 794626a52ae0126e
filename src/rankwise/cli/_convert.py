"""The command ``convert``: labels in another form, files in another format."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._errors import plain_errors, require_writable
from rankwise.cli._options import (
    AsJSON,
    Classes,
    FileFormat,
    Files,
    Format,
    Label,
    Lower,
    OnError,
    QuarantineFile,
    Upper,
    Weight,
    WhenBad,
    label_columns,
    parse_classes,
    require_label_columns,
)
from rankwise.cli._print import print_facts, print_json


class Style(StrEnum):
    """How labels are written as text."""

    shortest = "shortest"
    candidates = "candidates"


_TO = "Labels of the new file"


def convert(
    files: Files,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File to write; its name says the format.")
    ],
    label: Label = None,
    lower: Lower = None,
    upper: Upper = None,
    weight: Weight = None,
    classes: Classes = None,
    to_label: Annotated[
        str | None,
        typer.Option(metavar="COL", help="One column with texts such as 3-5.", show_default=False, rich_help_panel=_TO),
    ] = None,
    to_lower: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of lower ends.", show_default=False, rich_help_panel=_TO),
    ] = None,
    to_upper: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of upper ends.", show_default=False, rich_help_panel=_TO),
    ] = None,
    style: Annotated[Style, typer.Option(help="Texts as 3-5, or as 3|4|5.", rich_help_panel=_TO)] = Style.shortest,
    format: FileFormat = None,
    output_format: Annotated[
        Format | None, typer.Option(help="Format of the new file, if its name does not say it.")
    ] = None,
    on_error: WhenBad = OnError.stop,
    quarantine: QuarantineFile = None,
    json: AsJSON = False,
) -> None:
    """Copy files into one, with labels written in another way, in another format, or both.

    rankwise convert ends.csv --lower from --upper to --to-label grade --output texts.parquet
    """
    require_writable(output, "--output")
    if quarantine is not None:
        require_writable(quarantine, "--quarantine")
        if on_error is OnError.stop:
            raise typer.BadParameter("--quarantine needs --on-error skip.")
    declared = parse_classes(classes)
    has_source = any(name is not None for name in (label, lower, upper))
    has_target = any(name is not None for name in (to_label, to_lower, to_upper))
    with plain_errors():
        from rankwise import io
        from rankwise.cli._rows import Quarantine

        wanted = None if format is None else format.value
        probe = io.open_table(list(files), format=wanted, on_error=on_error.value)
        is_svmlight = probe.format == "svmlight"
        if has_target and not has_source and not is_svmlight:
            raise typer.BadParameter("--to-... says where labels go: give --label, or --lower and --upper, as well.")
        source = None
        if has_source or is_svmlight:
            source = label_columns(label, lower, upper, weight, is_svmlight=is_svmlight)
            require_label_columns(source, probe)
        target = None
        if has_target:
            if to_label is not None and (to_lower is not None or to_upper is not None):
                raise typer.BadParameter("labels go to one column (--to-label) or to two (--to-lower and --to-upper).")
            if to_label is None and (to_lower is None or to_upper is None):
                raise typer.BadParameter("--to-lower and --to-upper belong together: an interval has two ends.")
            target = io.LabelColumns(label=to_label, lower=to_lower, upper=to_upper)
        skipped = Quarantine(quarantine)
        skipped.open()
        try:
            n = io.convert(
                list(files),
                output,
                source,
                target,
                style=style.value,
                classes=declared,
                format=wanted,
                output_format=None if output_format is None else output_format.value,
                on_error=on_error.value,
                quarantine=skipped if on_error is OnError.skip else None,
            )
        finally:
            skipped.close()
    if json:
        print_json({"output": str(output), "rows": n, "skipped": skipped.count})
    else:
        rows = f"{n:,}" + (f", {skipped.count:,} skipped" if skipped.count else "")
        print_facts({"rows": rows, "output": str(output)})
