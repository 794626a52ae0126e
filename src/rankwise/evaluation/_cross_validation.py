"""Predictions of every row by a model that has not seen it, for labels of every form."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise._sklearn import take_rows
from rankwise.evaluation._splits import StratifiedIntervalKFold
from rankwise.labels import Labels, check_weights, encode

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def rows_at(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of a table or matrix; of an Arrow table too, which not every scikit-learn can index."""
    return X.take(rows) if hasattr(X, "schema") and hasattr(X, "take") else take_rows(X, rows)


def splits_of(cv: Any, X: Any, labels: Labels) -> list[Split]:
    """Rows to learn from and to test on: of a number of folds, or of a splitter."""
    splitter = StratifiedIntervalKFold(cv) if isinstance(cv, int) else cv
    return list(splitter.split(X, labels)) if hasattr(splitter, "split") else list(splitter)


def fitted_to(estimator: Any, X: Any, labels: Labels, weight: NDArray[np.float64], rows: NDArray[np.intp]) -> Any:
    """A fresh estimator, fitted to some of the rows; ``weight`` is empty if there is none."""
    weights = {"sample_weight": weight[rows]} if weight.size else {}
    return clone(estimator).fit(rows_at(X, rows), labels[rows], **weights)


def cross_val_predict(
    estimator: Any, X: Any, y: Any, *, cv: Any = 5, method: str = "predict", classes: Any = None,
    sample_weight: Any = None, n_jobs: int | None = None,
) -> NDArray[Any]:  # fmt: skip
    """Predict every row with a model that was fitted to the rows of the other folds.

    Like scikit-learn's function of this name, which cannot be used for probabilities from imprecise labels: it replaces
    labels by numbers of its own. Every fold knows all classes, so that columns mean the same in all of them.

    Parameters
    ----------
    estimator : estimator
        What learns.
    X : table or matrix
        Rows, in a form that the estimator takes.
    y : array-like
        Labels of any form that :func:`rankwise.labels.encode` reads.
    cv : int, splitter or list of (train, test), default 5
        Number of folds of :class:`StratifiedIntervalKFold`, or other ones; each row must be in one test part.
    method : str, default "predict"
        What is asked of the models: "predict", "predict_proba", "decision_function", "project" ...
    classes : sequence, optional
        The classes, lowest first.
    sample_weight : array-like of shape (n,), optional
        Importance of each row.
    n_jobs : int, optional
        Folds that learn at the same time, in threads.

    Returns
    -------
    array
        One entry a row.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(300, 3, 4, noise=0.5, random_state=0)
    >>> labels = [k if i % 2 else (max(1, k - 1), k) for i, k in enumerate(y)]
    >>> cross_val_predict(rw.CumulativeLink(), X, labels, method="predict_proba").shape
    (300, 4)
    """
    labels = encode(y, classes)
    weight = check_weights(sample_weight, len(labels))
    splits = splits_of(cv, X, labels)
    tested = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(tested), np.arange(len(labels))):
        raise ValueError("cross_val_predict needs splits whose test parts hold every row once.")

    def predict(train: NDArray[np.intp], test: NDArray[np.intp]) -> NDArray[Any]:
        return np.asarray(getattr(fitted_to(estimator, X, labels, weight, train), method)(rows_at(X, test)))

    parts = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(predict)(*split) for split in splits)
    return np.asarray(np.concatenate(parts)[np.argsort(tested)])
