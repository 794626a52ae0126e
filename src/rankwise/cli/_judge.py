"""How good a model is: on rows it has not seen, held out, in folds, or each before it is learnt."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise.cli._print import stream_bar
from rankwise.cli._rows import Rows, Source, fitted_width, located, without
from rankwise.cli._tally import Tally
from rankwise.evaluation import StratifiedIntervalKFold
from rankwise.features import RowError
from rankwise.io import Batch
from rankwise.labels import ClassOrder
from rankwise.table_model import TableModel


def predict_rows(model: TableModel, source: Source, batch: Batch) -> tuple[Batch, NDArray[Any]]:
    """Predictions for a batch; rows that cannot be encoded are an error, or left out."""
    try:
        return batch, _predicted(model, source.features_of(batch))
    except RowError as error:
        if not source.skips:
            raise located(error, batch.place) from None
    except ValueError as error:
        raise located(error, batch.place) from None
    assert model.encoder_ is not None
    kept = without(batch, model.encoder_.problems(source.features_of(batch)), source.quarantine)
    return kept, _predicted(model, source.features_of(kept))


def _predicted(model: TableModel, X: Any) -> NDArray[Any]:
    if not X.shape[0]:
        return model.classes_[:0]
    return model.predict(fitted_width(X, int(model.estimator_.n_features_in_)))


def judge_as_it_is(model: TableModel, source: Source, order: ClassOrder) -> dict[str, Any]:
    """A fitted model on all rows of the files, in constant memory."""
    tally = Tally(order)
    table = source.table(quarantine=source.quarantine)
    done = 0
    with stream_bar("judging", table.n_bytes) as show:
        for batch, _ in source.batches(table, order):
            kept, predicted = predict_rows(model, source, batch)
            y, weight = source.labels.read(kept, order)
            tally.add(y, predicted, weight)
            done += len(kept)
            show(batch.bytes_read, done, tally.mae)
    return tally.results()


def judge_progressively(template: TableModel, source: Source, order: ClassOrder) -> dict[str, Any]:
    """A fresh online model, each row predicted before it is learnt; in constant memory."""
    from rankwise.cli._fit import begin
    from rankwise.cli._stream import Learner

    model = begin(source, clone(template.estimator), template.encoder, order)
    learner = Learner(model, source, order, 1, None)
    learner.run()
    return learner.loss.results()


def judge_in_folds(
    template: TableModel,
    rows: Rows,
    order: ClassOrder,
    folds: int,
    seed: int,
    *,
    only_first: bool = False,
    show: Callable[[str, int, int], None] = lambda what, done, total: None,
    what: str = "folds",
) -> dict[str, Any]:
    """Fresh models, each judged on a fold that it has not seen; only on the first fold if ``only_first``.

    Standard errors over folds are those of the mean of the folds' means; over one fold those over its rows.
    """
    splitter = StratifiedIntervalKFold(folds, shuffle=True, random_state=seed, classes=order.values)
    pooled, each, seconds = Tally(order), [], 0.0
    n_folds = 1 if only_first else folds
    for number, (train, test) in enumerate(splitter.split(np.empty((len(rows), 0)), rows.y)):
        if number == n_folds:
            break
        model = clone(template)
        learnt, judged = take(rows, train), take(rows, test)
        start = time.perf_counter()
        try:
            model.fit(learnt.X, learnt.y, learnt.weight)
        except ValueError as error:
            raise located(error, learnt.place) from None
        seconds += time.perf_counter() - start
        try:
            predicted = model.predict(judged.X)
        except ValueError as error:
            raise located(error, judged.place) from None
        fold = Tally(order)
        for tally in (pooled, fold):
            tally.add(judged.y, predicted, judged.weight)
        each.append(fold.results())
        show(what, number + 1, n_folds)
    results = pooled.results()
    if not only_first:
        for name in Tally.LOSSES:
            means = np.array([fold[name] for fold in each if name in fold])
            if means.size > 1:
                results[name], results[f"{name}_se"] = means.mean(), means.std(ddof=1) / np.sqrt(means.size)
        results["folds"] = folds
    results["fit_seconds"] = seconds / n_folds
    return results


def take(rows: Rows, chosen: NDArray[np.intp]) -> Rows:
    """Some of the rows."""
    X = rows.X.take(pa.array(chosen)) if isinstance(rows.X, pa.Table) else rows.X[chosen]
    y = rows.y[chosen] if isinstance(rows.y, np.ndarray) else [rows.y[i] for i in chosen]
    weight = None if rows.weight is None else rows.weight[chosen]
    return Rows(X, y, weight, lambda i: rows.place(int(chosen[i])))
