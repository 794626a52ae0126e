"""Metrics of label rankings: scores of k labels against the relevant ones, preferences or a true order."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kendalltau, weightedtau
from sklearn.metrics import coverage_error as sklearn_coverage_error
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

from rankwise._errors import RowError
from rankwise._masks import unmasked
from rankwise._types import Floats
from rankwise.labels import ClassOrder, RankingLabels, encode_rankings
from rankwise.labels.label_values import show
from rankwise.metrics.comparison import checked_weights, mean


def ranking_loss(relevant: Any, scores: ArrayLike, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Share of the pairs (relevant, irrelevant label) in the wrong order, averaged over rows; a tie is wrong.

    Parameters
    ----------
    relevant : array or sparse matrix of shape (n, k), or list of label lists
        Which labels are relevant: an indicator matrix (an array: a list of lists is read as label lists), or the
        relevant labels of each row, or one relevant label a row. Rows where no or every label is relevant cannot be
        ranked wrongly and cost 0. With :class:`rankwise.labels.Preferences` it is the share of their pairs.
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
    labels, ranked, weight = _read_labels(relevant, scores, classes, sample_weight)
    if labels.has_preferences:
        return mean(_preference_loss(labels, ranked), weight)
    return float(label_ranking_loss(labels.indicator().toarray(), ranked, sample_weight=weight))


def coverage_error(relevant: Any, scores: ArrayLike, *, classes: Any = None, sample_weight: Any = None) -> float:
    """How far down the ranking one must go to meet every relevant label, averaged over rows (best: their number).

    Arguments as in :func:`ranking_loss`. A row without a relevant label has coverage 0.

    Examples
    --------
    >>> coverage_error([[1], [0, 2]], [[0.1, 0.9, 0.3], [0.5, 0.4, 0.2]])
    2.0
    """
    indicator, ranked, weight = _read(relevant, scores, classes, sample_weight)
    return float(sklearn_coverage_error(indicator, ranked, sample_weight=weight))


def average_precision(relevant: Any, scores: ArrayLike, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Share of relevant labels among those ranked at least as high, averaged over relevant labels and rows; 1 is best.

    Arguments as in :func:`ranking_loss`. A row where no or every label is relevant has precision 1.

    Examples
    --------
    >>> average_precision([[1], [2]], [[0.1, 0.9, 0.3], [0.5, 0.4, 0.45]])
    0.75
    """
    indicator, ranked, weight = _read(relevant, scores, classes, sample_weight)
    return float(label_ranking_average_precision_score(indicator, ranked, sample_weight=weight))


def one_error(relevant: Any, scores: ArrayLike, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Share of the rows whose top-ranked label is not relevant; an irrelevant label that ties for the top is one.

    Arguments as in :func:`ranking_loss`. A row without a relevant label costs 0.

    Examples
    --------
    >>> one_error([[1], [2]], [[0.1, 0.9, 0.3], [0.5, 0.4, 0.45]])
    0.5
    """
    indicator, ranked, weight = _read(relevant, scores, classes, sample_weight)
    on_top = ranked == ranked.max(axis=1, keepdims=True)
    return mean((on_top & (indicator == 0)).any(axis=1) & indicator.any(axis=1), weight)


def rank_correlation(
    true_scores: ArrayLike, scores: ArrayLike, *, top_weighted: str | None = None, sample_weight: Any = None
) -> float:
    """Kendall's tau between the true and the predicted order of the labels, averaged over rows; 1 is best.

    Parameters
    ----------
    true_scores : array-like of shape (n, k)
        True score of every label, higher is better: ``-position`` for a ranking. Rows whose labels are all equal have
        no order and are left out.
    scores : array-like of shape (n, k)
        Predicted score of every label. A row that calls all labels equal has correlation 0.
    top_weighted : {None, "additive", "multiplicative"}, default None
        None is tau-b. Otherwise exchanges near the top weigh more: the weight of a pair is the sum or the product of
        ``1 / (1 + rank)`` of its labels, the mean of ranking by the true and by the predicted scores (Vigna 2015).
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> rank_correlation([[3, 2, 1]], [[0.9, 0.1, 0.3]])
    0.33333333333333337
    >>> round(rank_correlation([[3, 2, 1]], [[0.9, 0.1, 0.3]], top_weighted="additive"), 3)
    0.545
    """
    if top_weighted not in (None, "additive", "multiplicative"):
        raise ValueError(f"top_weighted must be None, 'additive' or 'multiplicative'. Got {top_weighted!r} instead.")
    truth, ranked = _checked_scores(true_scores, "true_scores"), _checked_scores(scores, "scores")
    if truth.shape != ranked.shape:
        raise ValueError(f"true_scores and scores must have the same shape. Got {truth.shape} and {ranked.shape}.")
    ordered = np.ptp(truth, axis=1) > 0
    if not ordered.any():
        raise ValueError(
            f"true_scores must order the labels of at least one row. Got {len(truth)} rows of equal scores."
        )
    weight = checked_weights(sample_weight, ordered)
    pairs = list(zip(truth[ordered], ranked[ordered], strict=True))
    tau = kendalltau if top_weighted is None else partial(weightedtau, additive=top_weighted == "additive")
    return mean(np.array([tau(*pair).statistic if np.ptp(pair[1]) > 0 else 0.0 for pair in pairs]), weight)


def _read(relevant: Any, scores: ArrayLike, classes: Any, sample_weight: Any) -> tuple[NDArray[Any], Floats, Floats]:
    """Check and return the indicator (n, k) of 0 and 1, the scores (n, k) and the weights (n,)."""
    labels, ranked, weight = _read_labels(relevant, scores, classes, sample_weight)
    return labels.indicator().toarray(), ranked, weight


def _read_labels(
    relevant: Any, scores: ArrayLike, classes: Any, sample_weight: Any
) -> tuple[RankingLabels, Floats, Floats]:
    ranked = _checked_scores(scores, "scores")
    n, k = ranked.shape
    if classes is None and not (isinstance(relevant, RankingLabels) or hasattr(relevant, "columns")):
        classes = range(k)
    order = None if classes is None else ClassOrder(classes)
    if order is not None and len(order) != k:
        names = f"{len(order)} labels: {show(order.values)}"
        raise ValueError(f"classes must name the {k} columns of scores. Got {names}.")
    labels = encode_rankings(relevant, order)
    shape = len(labels), len(labels.order)
    if shape != (n, k):
        raise ValueError(f"relevant must say for {n} rows which of {k} labels are. Got shape {shape}.")
    return labels, ranked, checked_weights(sample_weight, np.ones(n, dtype=bool))


def _checked_scores(scores: ArrayLike, name: str) -> Floats:
    ranked = np.asarray(unmasked(scores), dtype=np.float64)
    if ranked.ndim != 2 or ranked.shape[0] < 1 or ranked.shape[1] < 2:
        raise ValueError(f"{name} must have shape (n, k), n >= 1 rows of k >= 2 labels. Got shape {ranked.shape}.")
    if not np.isfinite(ranked).all():
        row, column = np.argwhere(~np.isfinite(ranked))[0].tolist()
        reason = f"{name} must be finite. Got {ranked[row, column]} for label {column}."
        raise RowError(reason, row, column, message=f"row {row}: {reason}")
    return ranked


def _preference_loss(labels: RankingLabels, scores: Floats) -> Floats:
    """Share of the preferences of each row in the wrong order."""
    row = np.repeat(np.arange(len(labels)), np.diff(labels.indptr))
    wrong = scores[row, labels.above] <= scores[row, labels.below]
    return np.bincount(row, wrong, len(labels)) / np.maximum(np.diff(labels.indptr), 1)
