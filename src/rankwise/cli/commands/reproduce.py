"""The command ``reproduce``: an experiment of a paper again.

The experiments are a distribution of their own, ``rankwise-experiments``. A package with experiments registers a
:class:`Catalogue` in the entry point group ``rankwise.experiments``.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from rankwise.cli._exit import BAD_DATA, WRONG_USAGE, complain, plain_errors
from rankwise.cli._options import AsJSON
from rankwise.cli._print import print_json, progress_bars

GROUP = "rankwise.experiments"
_INSTALL = "pip install rankwise-experiments, or pip install ./experiments in a clone of the repository"


class Experiment(Protocol):
    """An experiment of a paper."""

    summary: str  # what it shows, in one line
    options: tuple[str, ...]  # which of sequences, rounds and seed it takes

    def run(self, output: Path, *, data_dir: Path | None, progress: Any, **options: int) -> Any:
        """Write tables and figures; return a dataclass with ``ran``, ``conclusions`` and ``files``."""


class Catalogue(Protocol):
    """Target of an entry point: a module or an object with experiments by name."""

    def names(self) -> tuple[str, ...]:
        """Names of all experiments, in the order in which they are listed."""

    def get(self, name: str) -> Experiment:
        """Return the experiment of that name."""


def _catalogues() -> dict[str, Catalogue]:
    """Catalogue of every known experiment, by the experiment's name."""
    with plain_errors():
        installed: list[Catalogue] = [point.load() for point in entry_points(group=GROUP)]
    if not installed:
        complain(f"the papers' experiments are a package of their own: {_INSTALL}")
        raise typer.Exit(WRONG_USAGE)
    return {name: catalogue for catalogue in installed for name in catalogue.names()}


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The experiment; --list names them.")] = None,
    output: Annotated[Path, typer.Option(help="Directory for tables and figures.", file_okay=False)] = Path("results"),
    data_dir: Annotated[
        Path | None, typer.Option(help="Directory of the real data sets.", exists=True, file_okay=False)
    ] = None,
    sequences: Annotated[
        int | None, typer.Option(min=1, help="Sequences, permutations or partitions; the paper's by default.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Length of the sequences; the paper's by default.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of everything random; 0 by default.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the experiments and exit.")] = False,
    json: AsJSON = False,
) -> None:
    """Run an experiment of a paper again, and say which of its conclusions hold.

    The experiments are a package of their own: pip install rankwise-experiments, or ./experiments in a clone of the
    repository.
    """
    known = _catalogues()
    if list_:
        width = max(map(len, known))
        for each, catalogue in known.items():
            typer.echo(f"{each.ljust(width)}  {catalogue.get(each).summary}")
        return
    if name is None or name not in known:
        what = "which experiment?" if name is None else f"there is no experiment {name!r}."
        raise typer.BadParameter(f"{what} Known: {', '.join(known)}.")
    experiment = known[name].get(name)
    given = {"sequences": sequences, "rounds": rounds, "seed": seed}
    options = {option: value for option, value in given.items() if value is not None}
    for option in options:
        if option not in experiment.options:
            raise typer.BadParameter(f"{name} has no --{option}.")
    with plain_errors(), progress_bars() as progress:
        report = experiment.run(output, data_dir=data_dir, progress=progress, **options)
    if json:
        verdicts = [{"claim": each.claim, "verdict": each.verdict} for each in report.conclusions]
        print_json({**asdict(report), "conclusions": verdicts})
    else:
        typer.echo(f"{report}\n\nwritten: {', '.join(map(str, report.files))}")
    if not report.ran:
        complain("no data set could be used.")
        raise typer.Exit(BAD_DATA)
