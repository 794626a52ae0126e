"""Comparison of models that are fitted to the same rows and judged on the same rows, in a table."""

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise.base.row_data import rows_at
from rankwise.calibration.inner_fits import declared_classes, fitted_to, rows_and_labels
from rankwise.evaluation.cross_validation import splits_of
from rankwise.features import LeakageWarning
from rankwise.features.leakage import warn_of_leakage
from rankwise.labels import Labels, check_weights, encode
from rankwise.labels.reading import read
from rankwise.losses import interval_insensitive, interval_pessimistic
from rankwise.metrics.comparison import compare as on_one_scale
from rankwise.metrics.comparison import mean


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    cv: Any = 5,
    classes: Any = None,
    sample_weight: Any = None,
) -> list[dict[str, Any]]:
    """Fit a clone of every model and judge all on the same rows that they have not seen; one entry each, best first.

    Parameters
    ----------
    models : mapping of str to estimator
        Models to compare.
    X, y : table or matrix, and labels of any form
        Rows to learn from.
    X_test, y_test : optional
        Rows to judge by. Without them, models are judged in folds of ``X`` and ``y``.
    cv : int, splitter or list of (train, test), default 5
        Number of folds of :class:`StratifiedIntervalKFold`, or other folds, if there are no test rows.
    classes : sequence, optional
        The classes, lowest first.
    sample_weight : array-like of shape (n,), optional
        Importance of the rows of ``X``.

    Returns
    -------
    list of dict
        ``model``, ``mae`` and ``zero_one`` against the nearest class that a label admits, ``mae_at_worst`` against the
        farthest, ``fit_seconds``; in folds also ``mae_se``, the standard error of the mean over folds.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(2000, 5, 4, noise=0.1, random_state=0)
    >>> models = {"PRank": rw.PRank(random_state=0), "multi-class": rw.MulticlassPerceptron(random_state=0)}
    >>> [row["model"] for row in compare(models, X[:1000], y[:1000], X[1000:], y[1000:])]
    ['PRank', 'multi-class']

    In folds:

    >>> [row["model"] for row in compare(models, X, y, cv=3)]
    ['PRank', 'multi-class']
    """
    if not isinstance(models, Mapping):
        raise TypeError(
            f'models must be a mapping of names to estimators, such as {{"SVOR": SVOR()}}. '
            f"Got a {type(models).__name__} instead."
        )
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be given together.")
    if classes is None and not isinstance(y, Labels):
        classes = declared_classes(models)
    if X_test is None:
        X, labels = rows_and_labels(X, y, classes)
        warn_of_leakage(X, labels)
        with warnings.catch_warnings():  # of every model again
            warnings.simplefilter("ignore", LeakageWarning)
            return _in_folds(models, X, labels, cv, sample_weight)
    y = y if classes is None else encode(y, classes)  # all models learn the same order
    judges, results = read(y_test), list[dict[str, Any]]()
    for name, model in models.items():
        start = time.perf_counter()
        with warnings.catch_warnings():  # once, below
            warnings.simplefilter("ignore", LeakageWarning)
            fitted = clone(model).fit(X, y) if sample_weight is None else clone(model).fit(X, y, sample_weight)
        seconds = time.perf_counter() - start
        if not results:
            warn_of_leakage(X, encode(y, fitted.classes_))
        predicted = fitted.predict(X_test)
        judged, codes, weight = on_one_scale(
            judges, predicted, fitted.classes_ if classes is None else classes, None, "compare"
        )
        results.append({"model": name, **_losses(judged, codes, weight), "fit_seconds": seconds})
    return sorted(results, key=lambda row: row["mae"])


def _losses(labels: Labels, codes: NDArray[Any], weight: Any) -> dict[str, float]:
    losses = {loss: mean(interval_insensitive(labels, codes, loss), weight) for loss in ("mae", "zero_one")}
    return {**losses, "mae_at_worst": mean(interval_pessimistic(labels, codes, "mae"), weight)}


def _in_folds(models: Mapping[str, Any], X: Any, labels: Labels, cv: Any, sample_weight: Any) -> list[dict[str, Any]]:
    """Means over folds, the same for all models, and their standard errors."""
    weight, splits, results = check_weights(sample_weight, len(labels)), splits_of(cv, X, labels), []
    for name, model in models.items():
        folds, seconds = [], 0.0
        for train, test in splits:
            start = time.perf_counter()
            fitted = fitted_to(model, X, labels, weight, train)
            seconds += time.perf_counter() - start
            share = weight[test] if weight.size else None
            judged = on_one_scale(labels[test], fitted.predict(rows_at(X, test)), labels.order, share, "compare")
            folds.append(_losses(*judged))
        means = {loss: float(np.mean([fold[loss] for fold in folds])) for loss in folds[0]}
        spread = float(np.std([fold["mae"] for fold in folds], ddof=1)) if len(folds) > 1 else float("nan")
        facts = {"mae_se": spread / len(folds) ** 0.5, "fit_seconds": seconds / len(folds)}
        results.append({"model": name, **means, **facts})
    return sorted(results, key=lambda row: row["mae"])


def format_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of results as an aligned text table (numbers with four significant digits).

    >>> print(format_table([{"model": "PRank", "mae": 0.25}, {"model": "other", "mae": 1}]))
    model   mae
    -----  ----
    PRank  0.25
    other     1
    """
    if not rows:
        return ""
    names = list(rows[0])
    cells = [[f"{row[n]:.4g}" if isinstance(row[n], float) else str(row[n]) for n in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    text = [i for i, n in enumerate(names) if isinstance(rows[0][n], str)]

    def line(values: Iterable[str]) -> str:
        padded = (v.ljust(w) if i in text else v.rjust(w) for i, (v, w) in enumerate(zip(values, widths, strict=True)))
        return "  ".join(padded).rstrip()

    return "\n".join([line(names), line("-" * w for w in widths), *map(line, cells)])
