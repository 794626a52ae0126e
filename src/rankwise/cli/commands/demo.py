"""The command ``demo``: a comparison that needs no data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Overwrite, grouped
from rankwise.cli._outputs import NEW_PICTURE
from rankwise.cli._print import print_json

PICTURES = (".png", ".svg", ".pdf")


@grouped
def demo(
    output: Annotated[Path, typer.Option(metavar="FILE", help="The picture to write."), NEW_PICTURE] = Path(
        "results/demo.png"
    ),
    overwrite: Overwrite = False,
    json: AsJSON = False,
) -> None:
    """Learn from exact labels and from intervals on bundled data: two tables and a picture."""
    if output.suffix.lower() not in PICTURES:
        raise typer.BadParameter(f"a picture's name ends in {', '.join(PICTURES)}. Got {str(output)!r} instead.")
    with plain_errors():
        from rankwise.cli import _demo_comparison

        result = _demo_comparison.run(output)
    if json:
        print_json(asdict(result))
    else:
        typer.echo(f"{result}\n\nThe picture is {result.picture}")
