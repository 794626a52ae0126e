"""The command ``evaluate``: how good a model is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, Folds, LabelOptions, Method, Model, RowOptions, Seed, grouped
from rankwise.cli._print import print_facts, print_json, progress_bars, with_skipped

_METHOD = (
    "holdout: the model as it is, on these rows, which it should not have seen. progressive: a fresh model of the same "
    "kind predicts each row and then learns it. cv: fresh models in folds of these rows."
)


@grouped
def evaluate(
    model: Model,
    files: Files,
    *,
    labels: LabelOptions,
    method: Annotated[Method, typer.Option(help=_METHOD)] = Method.holdout,
    folds: Folds = 5,
    seed: Seed = 0,
    rows: RowOptions,
    json: AsJSON = False,
) -> None:
    """Evaluate a model on labelled rows: mean absolute error, wrong answers, answers at most one rank off.

    rankwise evaluate model.rankwise test.csv --label stars

    Distances are to the nearest class that a label admits. Rows without a label are left out.

    For imprecise labels, the error that the truth behind them could bring at worst is given too. A model with
    probabilities is also judged by these: log score, ranked probability score, calibration error of the events y <= k.
    """
    with plain_errors():
        from rankwise.cli._judge import judge_as_it_is, judge_in_folds, judge_progressively
        from rankwise.cli._learnt_rows import RowOverlap
        from rankwise.cli._model_files import open_with_model
        from rankwise.evaluation.quality_sums import describe
        from rankwise.persistence import read_notes

        ready, source = open_with_model(model, files, rows, labels)
        if method is Method.progressive and not hasattr(ready, "progressive_predict"):
            name = type(ready.estimator_).__name__
            raise typer.BadParameter(f"--method progressive needs an online estimator; {name} is a batch estimator.")
        results: dict[str, Any]
        overlap = None
        with source.quarantine:
            if method is Method.holdout:
                overlap = RowOverlap.of(read_notes(model), source.opened)
                results = judge_as_it_is(ready, source, overlap)
            elif method is Method.progressive:
                results = judge_progressively(ready, source)
            else:
                loaded = source.load(ready.encoder_)
                with progress_bars() as show:
                    results = judge_in_folds(ready, loaded, folds, seed, show=show)
        source.require_rows(results["rows"] + results["unlabelled_rows"])
    results = {"method": method.value, **results, "skipped": source.quarantine.count}
    learnt = "" if overlap is None else overlap.sentence()
    if overlap is not None:
        results["learnt"] = {**overlap.facts, "remark": learnt or None}
    if json:
        print_json({"model": str(model), **results})
    else:
        facts = {"method": f"no holdout: {learnt}" if learnt else method.value, **describe(results)}
        facts["rows"] = with_skipped(facts["rows"], results["skipped"])
        print_facts(facts)
    source.quarantine.judge(results["rows"])
