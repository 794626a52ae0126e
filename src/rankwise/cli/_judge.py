"""Evaluation of a model: on held-out rows, in folds, or progressively, each row predicted before it is learnt."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise.base.model import Model, Predictions
from rankwise.cli._labelled_files import LabelledFiles, Rows, fitted_width, located
from rankwise.cli._learner import Learner, begin
from rankwise.cli._learnt_rows import RowOverlap
from rankwise.cli._print import stream_bar
from rankwise.evaluation import StratifiedIntervalKFold
from rankwise.evaluation.quality_sums import QualitySums, RunningLoss
from rankwise.features import RowError
from rankwise.table_model import TableModel, table_encoder


def predict_rows(
    model: TableModel, source: LabelledFiles, rows: Rows, predict: Callable[[TableModel, Any], Any]
) -> tuple[NDArray[np.intp], Any]:
    """Numbers of the rows that can be encoded, and their predictions or None; others are an error, or quarantined."""

    def predicted(some: Rows) -> Any:
        return predict(model, fitted_width(some.X, int(model.estimator_.n_features_in_))) if len(some) else None

    try:
        return np.arange(len(rows)), predicted(rows)
    except ValueError as error:
        reads = table_encoder(model.encoder_)
        if not (isinstance(error, RowError) and source.skips and reads is not None):
            raise located(error, rows) from None
    kept = rows.good(reads.problems(rows.X), source.quarantine)
    return kept, predicted(rows.take(kept))


def _predicted(model: TableModel, X: Any) -> Predictions:
    return Model.of(model).predict(X)


def judge_as_it_is(model: TableModel, source: LabelledFiles, overlap: RowOverlap | None = None) -> dict[str, Any]:
    """Evaluate a fitted model on all rows of the files, in constant memory; count those that it learnt from."""
    quality, done = QualitySums(source.order), 0
    with stream_bar("judging", source.n_bytes) as show:
        for batch, rows in source.batches():
            kept, predicted = predict_rows(model, source, rows, _predicted)
            judged = rows if len(kept) == len(rows) else rows.take(kept)
            if overlap is not None:
                overlap.add(judged.X)
            if predicted is not None:
                quality.add(judged.y, predicted, judged.weight)
            done += len(judged)
            show(batch.bytes_read, done, quality.loss.mae)
    return quality.results()


def judge_progressively(template: TableModel, source: LabelledFiles) -> dict[str, Any]:
    """Evaluate a fresh online model that predicts each row before it learns it, in constant memory."""
    model, first = begin(source, clone(template.estimator), template.encoder)
    learner = Learner(model, source, first=first)
    learner.run()
    return learner.loss.results()


def judge_in_folds(
    template: TableModel, rows: Rows, folds: int, seed: int, *, only_first: bool = False,
    show: Callable[[str, int, int], None], what: str = "folds",
) -> dict[str, Any]:  # fmt: skip
    """Evaluate fresh models, each on a fold that it has not seen; only on the first fold if ``only_first``.

    Standard errors are those of the mean over the folds, or with one fold of the mean over its rows.
    """
    order = rows.y.order
    splitter = StratifiedIntervalKFold(folds, shuffle=True, random_state=seed, classes=order.values)
    pooled, each, seconds = QualitySums(order), [], 0.0
    n_folds = 1 if only_first else folds
    for number, (train, test) in enumerate(splitter.split(np.empty((len(rows), 0)), rows.y)):
        if number == n_folds:
            break
        model = clone(template)
        learnt, judged = rows.take(train), rows.take(test)
        start = time.perf_counter()
        with learnt.named():
            model.fit(learnt.X, learnt.y, learnt.weight)
        seconds += time.perf_counter() - start
        with judged.named():
            predicted = _predicted(model, judged.X)
        pooled.add(judged.y, predicted, judged.weight)
        fold = RunningLoss(order)
        fold.add(judged.y, predicted.classes, judged.weight)
        each.append(fold.results())
        show(what, number + 1, n_folds)
    results = pooled.results()
    if not only_first:
        for name in RunningLoss.LOSSES:
            means = np.array([fold[name] for fold in each if name in fold])
            if means.size > 1:
                results[name], results[f"{name}_se"] = means.mean(), means.std(ddof=1) / np.sqrt(means.size)
        results["folds"] = folds
    results["fit_seconds"] = seconds / n_folds
    return results
