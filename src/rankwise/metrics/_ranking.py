"""Metrics of label rankings: scores of k labels against the set of relevant ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.metrics import coverage_error as sklearn_coverage_error
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

from rankwise.labels import ClassOrder
from rankwise.labels._order import show
from rankwise.metrics._compare import Floats, checked_weights, mean


def ranking_loss(relevant: Any, scores: ArrayLike, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Share of the pairs (relevant, irrelevant label) in the wrong order, averaged over rows; a tie is wrong.

    Parameters
    ----------
    relevant : array or sparse matrix of shape (n, k), or list of label lists
        Which labels are relevant: an indicator matrix (an array: a list of lists is read as label lists), or the
        relevant labels of each row. Rows where no or every label is relevant cannot be ranked wrongly and cost 0.
    scores : array-like of shape (n, k)
        Score of every label, higher is better.
    classes : sequence of k labels, optional
        The label of each column; by default 0..k-1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> ranking_loss([["b"], ["a", "c"]], [[0.1, 0.9, 0.3], [0.5, 0.4, 0.2]], classes=["a", "b", "c"])
    0.25
    """
    indicator, ranked, weight = _read(relevant, scores, classes, sample_weight)
    return float(label_ranking_loss(indicator, ranked, sample_weight=weight))


def coverage_error(relevant: Any, scores: ArrayLike, *, classes: Any = None, sample_weight: Any = None) -> float:
    """How far down the ranking one must go to meet every relevant label, averaged over rows (best: their number).

    Parameters
    ----------
    relevant, scores, classes, sample_weight
        As in :func:`ranking_loss`. A row without a relevant label has coverage 0.

    Examples
    --------
    >>> coverage_error([[1], [0, 2]], [[0.1, 0.9, 0.3], [0.5, 0.4, 0.2]])
    2.0
    """
    indicator, ranked, weight = _read(relevant, scores, classes, sample_weight)
    return float(sklearn_coverage_error(indicator, ranked, sample_weight=weight))


def average_precision(relevant: Any, scores: ArrayLike, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Share of relevant labels among those ranked at least as high, averaged over relevant labels and rows; 1 is best.

    Parameters
    ----------
    relevant, scores, classes, sample_weight
        As in :func:`ranking_loss`. A row where no or every label is relevant has precision 1.

    Examples
    --------
    >>> average_precision([[1], [2]], [[0.1, 0.9, 0.3], [0.5, 0.4, 0.45]])
    0.75
    """
    indicator, ranked, weight = _read(relevant, scores, classes, sample_weight)
    return float(label_ranking_average_precision_score(indicator, ranked, sample_weight=weight))


def one_error(relevant: Any, scores: ArrayLike, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Share of the rows whose top-ranked label is not relevant; an irrelevant label that ties for the top is one.

    Parameters
    ----------
    relevant, scores, classes, sample_weight
        As in :func:`ranking_loss`. A row without a relevant label costs 0.

    Examples
    --------
    >>> one_error([[1], [2]], [[0.1, 0.9, 0.3], [0.5, 0.4, 0.45]])
    0.5
    """
    indicator, ranked, weight = _read(relevant, scores, classes, sample_weight)
    on_top = ranked == ranked.max(axis=1, keepdims=True)
    return mean((on_top & (indicator == 0)).any(axis=1) & indicator.any(axis=1), weight)


def _read(relevant: Any, scores: ArrayLike, classes: Any, sample_weight: Any) -> tuple[NDArray[Any], Floats, Floats]:
    """Check and return the indicator (n, k) of 0 and 1, the scores (n, k) and the weights (n,)."""
    ranked = np.asarray(scores, dtype=np.float64)
    if ranked.ndim != 2 or ranked.shape[0] < 1 or ranked.shape[1] < 2:
        raise ValueError(f"scores must have shape (n, k), n >= 1 rows of k >= 2 labels. Got shape {ranked.shape}.")
    if not np.isfinite(ranked).all():
        row, column = np.argwhere(~np.isfinite(ranked))[0].tolist()
        raise ValueError(f"row {row}: scores must be finite. Got {ranked[row, column]} for label {column}.")
    n, k = ranked.shape
    if isinstance(relevant, (list, tuple)):
        indicator = _from_lists(relevant, k, classes)
    else:
        indicator = np.asarray(relevant.toarray() if issparse(relevant) else relevant)
    if indicator.shape != (n, k):
        raise ValueError(f"relevant must say for {n} rows which of {k} labels are. Got shape {indicator.shape}.")
    if not np.isin(indicator, (0, 1)).all():
        row, column = np.argwhere(~np.isin(indicator, (0, 1)))[0].tolist()
        raise ValueError(f"row {row}: an indicator must be 0 or 1. Got {indicator[row, column]!r} for label {column}.")
    return indicator.astype(np.int8), ranked, checked_weights(sample_weight, np.ones(n, dtype=bool))


def _from_lists(relevant: Any, k: int, classes: Any) -> NDArray[Any]:
    order = ClassOrder(np.arange(k) if classes is None else classes)
    if len(order) != k:
        raise ValueError(f"classes must name the {k} columns of scores. Got {len(order)} labels: {show(order.values)}.")
    indicator = np.zeros((len(relevant), k), dtype=np.int8)
    for row, labels in enumerate(relevant):
        if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
            raise ValueError(f"row {row}: the relevant labels must be a list. Got {labels!r} instead.")
        for label in labels:
            column = order.index.get(label)
            if column is None:
                raise ValueError(f"row {row}: {label!r} is not one of the labels {show(order.values)}.")
            if indicator[row, column]:
                raise ValueError(
                    f"row {row}: label {label!r} is listed twice. (An indicator matrix must be an array, not a list.)"
                )
            indicator[row, column] = 1
    return indicator
