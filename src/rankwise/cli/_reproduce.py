"""The command ``reproduce``: an experiment of a paper again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._errors import BAD_DATA, complain, plain_errors
from rankwise.cli._options import AsJSON
from rankwise.cli._print import print_json, progress_bars


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The experiment; --list names them.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option(help="Directory for tables and figures.", file_okay=False)] = Path("results"),
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Directory of the real data sets.", exists=True, file_okay=False, show_default=False),
    ] = None,
    sequences: Annotated[
        int | None,
        typer.Option(min=1, help="Sequences, permutations or partitions; the paper's by default.", show_default=False),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Length of the sequences; the paper's by default.", show_default=False)
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of everything random; 0 by default.", show_default=False)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the experiments and exit.")] = False,
    json: AsJSON = False,
) -> None:
    """Run an experiment of a paper again, and say which of its conclusions hold."""
    from rankwise import experiments

    if list_:
        width = max(map(len, experiments.names()))
        for known in experiments.names():
            typer.echo(f"{known.ljust(width)}  {experiments.get(known).summary}")
        return
    if name not in experiments.names():
        what = "which experiment?" if name is None else f"there is no experiment {name!r}."
        raise typer.BadParameter(f"{what} Known: {', '.join(experiments.names())}.")
    experiment = experiments.get(name)
    options = {"sequences": sequences, "rounds": rounds, "seed": seed}
    options = {option: value for option, value in options.items() if value is not None}
    for option in options:
        if option not in experiment.options:
            raise typer.BadParameter(f"{name} has no --{option}.")
    with plain_errors(), progress_bars() as progress:
        report = experiment.run(output, data_dir=data_dir, progress=progress, **options)
    if json:
        verdicts = [{"claim": found.claim, "verdict": found.verdict} for found in report.conclusions]
        print_json({**asdict(report), "conclusions": verdicts})
    else:
        typer.echo(f"{report}\n\nwritten: {', '.join(map(str, report.files))}")
    if not report.ran:
        complain("no data set could be used.")
        raise typer.Exit(BAD_DATA)
