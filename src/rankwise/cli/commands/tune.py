"""The command ``tune``: the best model within a budget."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, ModelOutput, Seed, grouped
from rankwise.cli._training_options import TrainingOptions

Metric = StrEnum("Metric", ["mae", "zero_one", "squared", "log", "ranked"])


@grouped
def tune(
    files: Files,
    output: ModelOutput,
    *,
    training: TrainingOptions,
    time_budget: Annotated[float, typer.Option(min=1.0, help="Seconds for comparing candidates.")] = 60.0,
    fits: Annotated[
        int | None, typer.Option(min=1, help="Number of fits, in place of seconds: the result can be repeated.")
    ] = None,
    metric: Annotated[Metric, typer.Option(help="Error to minimise.")] = Metric.mae,
    cv: Annotated[int, typer.Option("--cv", min=2, help="Folds in which candidates are compared.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Folds fitted at the same time, at most one a core.")] = 1,
    seed: Seed = 0,
    json: AsJSON = False,
) -> None:
    """Compare many models in folds within a budget of time, and write the best one, fitted to all rows, to one file.

    rankwise tune ratings.csv --label stars --time-budget 300 --output model.rankwise

    Ctrl-C ends the search with the best model so far.
    """
    with plain_errors():
        from rankwise.cli._fit_job import FitJob, print_results

        source = training.open(files)
        results = FitJob(source, training.encoding.encoder_for(source), output).chosen(
            time_budget=time_budget, n_fits=fits, metric=metric.value, cv=cv, random_state=seed, n_jobs=jobs
        )
    print_results(results, json)
    source.quarantine.judge(results["rows"])
