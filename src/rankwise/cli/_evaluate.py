"""The command ``evaluate``: how good a model is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankwise.cli._errors import plain_errors, require_writable
from rankwise.cli._options import (
    AsJSON,
    FileFormat,
    Files,
    Folds,
    Label,
    Lower,
    Method,
    Model,
    OnError,
    QuarantineFile,
    Seed,
    Upper,
    Weight,
    WhenBad,
)
from rankwise.cli._print import print_facts, print_json, progress_bars


def evaluate(
    model: Model,
    files: Files,
    label: Label = None,
    lower: Lower = None,
    upper: Upper = None,
    weight: Weight = None,
    method: Annotated[
        Method,
        typer.Option(
            help="holdout: the model as it is, on these rows, which it should not have seen. progressive: a fresh "
            "model of the same kind predicts each row and then learns it. cv: fresh models in folds of these rows."
        ),
    ] = Method.holdout,
    folds: Folds = 5,
    seed: Seed = 0,
    format: FileFormat = None,
    on_error: WhenBad = OnError.stop,
    quarantine: QuarantineFile = None,
    json: AsJSON = False,
) -> None:
    """Judge a model on rows with labels: mean absolute error, wrong answers, answers at most one rank off.

    rankwise evaluate model.rankwise test.csv --label stars

    Distances are to the nearest class that a label admits. Rows without a label are left out.

    For imprecise labels, the error that the truth behind them could bring at worst is given too.
    """
    if quarantine is not None:
        require_writable(quarantine, "--quarantine")
    with plain_errors():
        from rankwise.cli._judge import judge_as_it_is, judge_in_folds, judge_progressively
        from rankwise.cli._models import for_columns, known_columns, load_model, text_columns
        from rankwise.cli._rows import open_source
        from rankwise.cli._tally import describe
        from rankwise.labels import ClassOrder
        from rankwise.table_model import TableModel

        loaded = load_model(model)
        if method is Method.progressive and not hasattr(loaded, "progressive_predict"):
            inner = loaded.estimator_ if isinstance(loaded, TableModel) else loaded
            raise typer.BadParameter(
                f"--method progressive is for online estimators, and {type(inner).__name__} is none."
            )
        source = open_source(
            files,
            format=format,
            label=label,
            lower=lower,
            upper=upper,
            weight=weight,
            features=known_columns(loaded),
            texts=text_columns(loaded),
            on_error=on_error,
            quarantine=quarantine,
        )
        ready = for_columns(loaded, source.features, is_svmlight=source.is_svmlight)
        order = ClassOrder(ready.classes_)
        source.quarantine.open()
        results: dict[str, Any]
        try:
            if method is Method.holdout:
                results = judge_as_it_is(ready, source, order)
            elif method is Method.progressive:
                results = judge_progressively(ready, source, order)
            else:
                rows = source.load(order, ready.encoder_)
                with progress_bars() as show:
                    results = judge_in_folds(ready, rows, order, folds, seed, show=show)
        finally:
            source.quarantine.close()
    results = {"method": method.value, **results, "skipped": source.quarantine.count}
    if json:
        print_json({"model": str(model), **results})
        return
    facts = {"method": method.value, **describe(results)}
    if results["skipped"]:
        facts["rows"] += f", {results['skipped']:,} skipped"
    print_facts(facts)
