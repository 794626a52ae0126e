"""The command ``tune``: the best model that some time can buy."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from rankwise.cli._encoding import EncodingOptions
from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, LearningOptions, ModelOutput, RowOptions, Seed, grouped
from rankwise.cli.commands.fit import Job, RunOptions, print_results

Metric = StrEnum("Metric", ["mae", "zero_one", "squared", "log", "ranked"])


@grouped
def tune(
    files: Files,
    output: ModelOutput,
    *,
    labels: LearningOptions,
    time_budget: Annotated[float, typer.Option(min=1.0, help="Seconds for comparing candidates.")] = 60.0,
    fits: Annotated[
        int | None, typer.Option(min=1, help="Number of fits, in place of seconds: the result can be repeated.")
    ] = None,
    metric: Annotated[Metric, typer.Option(help="Error to minimise.")] = Metric.mae,
    cv: Annotated[int, typer.Option("--cv", min=2, help="Folds in which candidates are compared.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Folds fitted at the same time.")] = 1,
    seed: Seed = 0,
    encoding: EncodingOptions,
    rows: RowOptions,
    json: AsJSON = False,
) -> None:
    """Compare many models in folds within a budget of time, and write the best one, fitted to all rows, to one file.

    rankwise tune ratings.csv --label stars --time-budget 300 --output model.rankwise

    Ctrl-C ends the search with the best model so far.
    """
    declared = labels.declared
    with plain_errors():
        from rankwise.cli._labelled_files import open_files

        source = open_files(files, labels, rows, texts=encoding.text_columns)
        job = Job(source, encoding.encoder_for(source), declared, output, RunOptions())
        results = job.chosen(
            time_budget=time_budget, n_fits=fits, metric=metric.value, cv=cv, random_state=seed, n_jobs=jobs
        )
    print_results(results, json)
    rows.judge_skipped(source.quarantine, results["rows"])
