"""Commands. Exit codes: 0 good, 1 bad data or model, 2 wrong usage; an error is one line on stderr.

What a command needs is imported when it runs, so that ``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from rankwise._version import __version__

BAD_DATA, WRONG_USAGE, STOPPED = 1, 2, 130
PICTURES = (".png", ".svg", ".pdf")

# Typer carries its own copy of click, or uses the installed one, depending on its version: this is the right one's.
_UsageError: Any = typer.BadParameter.__mro__[1]


class _OneLineErrors(TyperGroup):
    """Group of commands that reports wrong usage in one line instead of a paragraph."""

    def main(  # the signature is typer's
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except _UsageError as error:
            _complain(error.format_message())
            sys.exit(WRONG_USAGE)
        except typer.Abort:
            sys.exit(STOPPED)
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=_OneLineErrors, pretty_exceptions_enable=False, help="Learn ordered answers from imprecise labels."
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rankwise {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _rankwise(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(WRONG_USAGE)


@app.command()
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
    with _plain_errors(), _progress_bars() as progress:
        report = experiment.run(output, data_dir=data_dir, progress=progress, **options)
    typer.echo(f"{report}\n\nwritten: {', '.join(map(str, report.files))}")
    if not report.ran:
        _complain("no data set could be used.")
        raise typer.Exit(BAD_DATA)


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="The picture to write.", dir_okay=False)] = Path("results/demo.png"),
) -> None:
    """Learn from exact labels and from intervals on bundled data: two tables and a picture."""
    if output.suffix.lower() not in PICTURES:
        raise typer.BadParameter(f"a picture's name ends in {', '.join(PICTURES)}. Got {str(output)!r} instead.")
    with _plain_errors():
        from rankwise.experiments import demo as comparison

        result = comparison.run(output)
    typer.echo(f"{result}\n\nThe picture is {result.picture}")


@app.command()
def info(model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that rankwise.save wrote.")]) -> None:
    """Say what a model file holds."""
    with _plain_errors():
        from rankwise.persistence import load

        facts = _describe(load(model))
        facts["size"] = f"{model.stat().st_size:,} bytes"
    width = max(map(len, facts))
    for what, text in facts.items():
        typer.echo(f"{what.ljust(width)}  {text}")


def _describe(model: Any) -> dict[str, str]:
    learnt = model.to_plain()
    features = learnt["features"]
    facts = {
        "estimator": type(model).__name__,
        "classes": f"{len(model.classes_)}: {_some(model.classes_.tolist())}",
        "features": str(features) if isinstance(features, int) else f"{len(features)}: {_some(features)}",
        "parameters": ", ".join(f"{name}={value!r}" for name, value in model.get_params(deep=False).items()),
    }
    if hasattr(model, "n_updates_"):
        facts["updates"] = f"{model.n_updates_:,}"
    if hasattr(model, "gap_"):
        facts["objective"] = f"{model.objective_:.6g}, proven to be within {model.gap_:.2g} of the optimum"
    if hasattr(model, "thresholds_"):
        facts["thresholds"] = _some([f"{t:.4g}" for t in model.thresholds_])
    facts["arrays"] = ", ".join(f"{name} {array.shape}" for name, array in learnt["state"].items())
    return facts


def _some(values: list[Any], most: int = 12) -> str:
    shown = ", ".join(map(str, values[:most]))
    return shown if len(values) <= most else f"{shown}, ... and {len(values) - most} more"


def _complain(message: str) -> None:
    typer.echo(f"rankwise: error: {' '.join(message.split())}", err=True)


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Errors that are the data's, the disk's or the installation's: one line and an exit code, no traceback."""
    from rankwise.datasets import DatasetDamagedError
    from rankwise.persistence import ModelFileError

    try:
        yield
    except BrokenPipeError:  # whoever reads our output has seen enough; typer ends quietly
        raise
    except (OSError, DatasetDamagedError, ModelFileError) as error:
        _complain(str(error))
        raise typer.Exit(BAD_DATA) from None
    except ImportError as error:  # an extra that is not installed; the message names it
        _complain(str(error))
        raise typer.Exit(WRONG_USAGE) from None


@contextmanager
def _progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Callback that shows a bar for each thing done; silent when stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
        known: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in known:
                known[what] = bars.add_task(what, total=total)
            bars.update(known[what], completed=done)

        yield show
