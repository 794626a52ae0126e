"""The command ``fit``: a model from files."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli import _estimators
from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, ModelOutput, grouped, option
from rankwise.cli._outputs import NEW_CHECKPOINT
from rankwise.cli._training_options import TrainingOptions

if TYPE_CHECKING:
    from rankwise.cli._labelled_files import LabelledFiles

LARGEST_IN_MEMORY = 100_000_000  # bytes of files up to which the default reads all rows at once
STREAM, IN_MEMORY = "PRIL", "CumulativeLink"  # the table behind the second: rankwise reproduce choosing
_FOLDS, _MOST_ROWS, _ALL = 3, 5_000, 10_000  # of the choice that is made where no estimator is named


def _learning(help: str, metavar: str | None = None, *names: str, **settings: Any) -> Any:
    return option(help, "Learning", metavar, *names, **settings)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What learns, for how long, and where."""

    estimator: Annotated[
        str | None,
        _learning(
            f"Estimator to fit. By default a few are compared in folds, for files up to {LARGEST_IN_MEMORY // 10**6} "
            f"MB; {STREAM} for larger ones, with --epochs, and with --checkpoint. {_estimators.LISTED}", "NAME",
            autocompletion=_estimators.complete,
        ),
    ] = None  # fmt: skip
    set_: Annotated[
        list[str] | None, _learning("A parameter of the estimator; may be repeated.", "PARAM=VALUE", "--set")
    ] = None
    epochs: Annotated[
        int | None,
        _learning("Passes of an online estimator over the files, in the order of the rows; one by default.", min=1),
    ] = None
    checkpoint: Annotated[
        Path | None,
        _learning("Save an online model from time to time; the same command resumes from there, also after a crash.",
                  "FILE"), NEW_CHECKPOINT,
    ] = None  # fmt: skip
    checkpoint_rows: Annotated[int, _learning("Rows between two checkpoints.", min=1)] = 5_000_000
    dask: Annotated[
        str | None,
        _learning(
            "Learn on the Dask cluster whose scheduler is at this address, tcp://...; each file is a partition, "
            "and the workers must see the files.", "ADDRESS",
        ),
    ] = None  # fmt: skip
    workers: Annotated[
        int | None, _learning("Learn on a Dask cluster of N processes on this machine, at most one a core.", min=1)
    ] = None

    @property
    def on_cluster(self) -> bool:
        """Whether the fit runs on a cluster."""
        return self.dask is not None or self.workers is not None

    @property
    def streams(self) -> bool:
        """Whether the options need an online estimator."""
        return self.epochs is not None or self.checkpoint is not None

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        return _estimators.parse_assignments(self.set_)

    def check(self, files: list[Path], *, skips: bool) -> None:
        """Refuse contradictory options before any file is opened."""
        if self.dask is not None and self.workers is not None:
            raise typer.BadParameter("a cluster is either at --dask ADDRESS or of --workers N, not both.")
        if self.on_cluster and (self.checkpoint is not None or skips):
            raise typer.BadParameter("on a cluster there is neither --checkpoint nor --on-error skip.")
        if Path("-") in files and (self.checkpoint is not None or self.on_cluster):
            what = "a cluster" if self.on_cluster else "--checkpoint"
            raise typer.BadParameter(f"{what} needs files that can be read again, and the standard input cannot.")
        if self.estimator is not None and not self.on_cluster:
            _estimators.make(self.estimator, self.parameters)

    def name_for(self, source: LabelledFiles) -> str | None:
        """The estimator that was named, a default one, or None if the best of several is to be chosen."""
        large = self.streams or source.n_bytes > LARGEST_IN_MEMORY
        if self.estimator is None and not (large or self.on_cluster or self.set_):
            return None
        name = self.estimator or (STREAM if large else IN_MEMORY)
        if self.streams and not _estimators.is_online(name):
            raise typer.BadParameter(
                f"--epochs and --checkpoint need an online estimator; {name} is a batch estimator."
            )
        return name


@grouped
def fit(
    files: Files,
    output: ModelOutput,
    *,
    training: TrainingOptions,
    run: RunOptions,
    json: AsJSON = False,
) -> None:
    """Learn a model from files of rows with labels, exact or not, and write it to one file.

    rankwise fit ratings.csv --label stars --output model.rankwise

    rankwise fit day-*.parquet --lower at_least --upper at_most --classes 1..5 --estimator PRIL --output model.rankwise

    How columns become features is part of the model: predict takes raw rows.

    It is learnt from all rows by batch estimators, from the first 50,000 by online ones and on a cluster.

    Without --estimator, linear models and boosted trees are compared in folds, and the best one is fitted to all rows;
    'rankwise tune' takes more time for it.
    """
    run.check(files, skips=training.rows.skips)
    with plain_errors():
        from rankwise.cli._fit_job import FitJob, print_results
        from rankwise.features import ColumnWarning

        warnings.simplefilter("ignore", ColumnWarning)  # the results name what is left out
        source = training.open(files)
        name = run.name_for(source)
        job = FitJob(source, training.encoding.encoder_for(source, name or ""), output)
        if name is None:
            results = job.chosen(estimators="quick", n_fits=_ALL, cv=_FOLDS, most_rows=_MOST_ROWS)
        elif run.on_cluster:
            results = job.on_cluster(name, run)
        elif _estimators.is_online(name):
            results = job.streamed(_estimators.make(name, run.parameters), run, training)
        else:
            results = job.in_memory(_estimators.make(name, run.parameters))
    print_results(results, json)
    source.quarantine.judge(results["rows"])
