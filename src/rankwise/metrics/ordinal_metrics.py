"""Metrics of predicted classes against labels of any form."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import refuse_many_classes
from rankwise._types import Floats
from rankwise.losses import interval_insensitive
from rankwise.metrics.comparison import compare, mean, needs_order

MOST_OF_A_TABLE = 4_000  # classes of a confusion matrix


def mean_absolute_error(y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Mean distance in ranks between each prediction and the nearest admissible class.

    Parameters
    ----------
    y_true : labels of any form
        True labels, see :func:`rankwise.labels.encode`. Rows without a label, or with one that admits every class, are
        left out.
    y_pred : array-like of shape (n,)
        Predicted classes.
    classes : sequence, optional
        The classes, lowest first. Without it an ordered ``Categorical`` gives them, or the numbers that occur are
        sorted; names without an order are an error.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> mean_absolute_error([1, (2, 3), None], [3, 2, 1], classes=[1, 2, 3])
    1.0
    """
    return mean_loss("mae", y_true, y_pred, classes, sample_weight, "mean_absolute_error")


def mean_squared_error(y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Mean squared distance in ranks between each prediction and the nearest admissible class.

    Arguments as in :func:`mean_absolute_error`.

    Examples
    --------
    >>> mean_squared_error([1, (2, 3)], [3, 2])
    2.0
    """
    return mean_loss("squared", y_true, y_pred, classes, sample_weight, "mean_squared_error")


def zero_one_loss(y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Share of the rows whose prediction is not admissible.

    Arguments as in :func:`mean_absolute_error`.

    Examples
    --------
    >>> zero_one_loss([1, (2, 3)], [3, 2])
    0.5
    """
    return mean_loss("zero_one", y_true, y_pred, classes, sample_weight, "zero_one_loss")


def interval_coverage(y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Share of the rows whose prediction lies in the interval or candidate set: ``1 - zero_one_loss``.

    Arguments as in :func:`mean_absolute_error`.

    Examples
    --------
    >>> interval_coverage([(1, 2), (2, 3)], [3, 2])
    0.5
    """
    return accuracy_within(y_true, y_pred, tolerance=0, classes=classes, sample_weight=sample_weight)


def accuracy_within(
    y_true: Any, y_pred: Any, *, tolerance: int = 1, classes: Any = None, sample_weight: Any = None
) -> float:
    """Share of the rows whose prediction is at most ``tolerance`` ranks off; 1 gives the one-off accuracy.

    Other arguments as in :func:`mean_absolute_error`.

    Parameters
    ----------
    tolerance : int, default=1
        Distance in ranks that still counts as right.

    Examples
    --------
    >>> accuracy_within([1, 1, 1], [1, 2, 3])
    0.6666666666666666
    """
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be a number of ranks >= 0. Got {tolerance!r} instead.")
    ordered = tolerance > 0
    labels, codes, weight = compare(y_true, y_pred, classes, sample_weight, "accuracy_within", ordered=ordered)
    return mean(labels.distance(codes) <= tolerance, weight)


def weighted_cost(y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Cost of the mistakes as a share of all cost at stake: weights of the mistaken rows over the sum of weights.

    The loss of importance-weighted perceptrons; another name for the weighted :func:`zero_one_loss`.

    Parameters
    ----------
    y_true, y_pred, classes
        As in :func:`mean_absolute_error`.
    sample_weight : array-like of shape (n,), optional
        What a mistake on each row costs.

    Examples
    --------
    >>> weighted_cost(["a", "b"], ["b", "b"], classes=["a", "b"], sample_weight=[3.0, 1.0])
    0.75
    """
    return zero_one_loss(y_true, y_pred, classes=classes, sample_weight=sample_weight)


def macro_mean_absolute_error(y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Mean over the true classes of the MAE within each, so that rare classes count as much as common ones (AMAE).

    Arguments as in :func:`mean_absolute_error`; labels must be exact or missing. Classes that never occur are left out.

    Examples
    --------
    >>> macro_mean_absolute_error([1, 1, 1, 3], [1, 1, 1, 1], classes=[1, 2, 3])
    1.0
    """
    return macro_error_of(*_table(y_true, y_pred, classes, sample_weight, "macro_mean_absolute_error"))


def confusion_matrix(y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> NDArray[Any]:
    """(K, K) counts in class order, row = true class, column = predicted class; sums of weights if there are any.

    Arguments as in :func:`mean_absolute_error`; labels must be exact or missing.

    Examples
    --------
    >>> confusion_matrix(["low", "high"], ["low", "low"], classes=["low", "high"])
    array([[1, 0],
           [1, 0]])
    """
    table, _ = _table(y_true, y_pred, classes, sample_weight, "confusion_matrix", whole=True)
    return table if sample_weight is not None else table.astype(np.int64)


def quadratic_weighted_kappa(y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Cohen's kappa with quadratic weights: one minus squared error in ranks over that expected by chance.

    NaN when all rows are predicted as the one class that is true: chance then makes no error either.

    Arguments as in :func:`mean_absolute_error`; labels must be exact or missing.

    Examples
    --------
    >>> quadratic_weighted_kappa([1, 2, 3], [1, 2, 3])
    1.0
    """
    return kappa_of(*_table(y_true, y_pred, classes, sample_weight, "quadratic_weighted_kappa"))


def kendall_tau(y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Kendall's tau-b between true and predicted ranks; a pair of rows weighs the product of their weights.

    Without weights it is ``scipy.stats.kendalltau``, computed from the confusion matrix. NaN when all rows are of one
    class or predicted as one.

    Arguments as in :func:`mean_absolute_error`; labels must be exact or missing.

    Examples
    --------
    >>> kendall_tau([1, 2, 3], [3, 2, 1])
    -1.0
    """
    return tau_of(_table(y_true, y_pred, classes, sample_weight, "kendall_tau")[0])


def mean_loss(loss: str, y_true: Any, y_pred: Any, classes: Any, sample_weight: Any, metric: str) -> float:
    """Mean loss of each prediction against the admissible class that it fits best."""
    labels, codes, weight = compare(y_true, y_pred, classes, sample_weight, metric, ordered=needs_order(loss))
    return mean(interval_insensitive(labels, codes, loss), weight)


def macro_error_of(table: Floats, codes: NDArray[np.integer[Any]]) -> float:
    """Macro mean absolute error of a confusion matrix of some classes."""
    at_stake, lost = table.sum(axis=1), (np.abs(codes[:, None] - codes) * table).sum(axis=1)
    occurs = at_stake > 0
    return float(np.mean(lost[occurs] / at_stake[occurs]))


def kappa_of(table: Floats, codes: NDArray[np.integer[Any]]) -> float:
    """Quadratic weighted kappa of a confusion matrix of some classes."""
    squared = (codes[:, None] - codes) ** 2
    by_chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    expected = float((squared * by_chance).sum())
    return 1.0 - float((squared * table).sum()) / expected if expected > 0 else float("nan")


def tau_of(table: Floats) -> float:
    """Kendall's tau-b of a confusion matrix."""
    concordant, discordant = _pairs_above(table), _pairs_above(table[:, ::-1])
    untied = [_pairs_above(np.diag(table.sum(axis=axis))) for axis in (0, 1)]
    if min(untied) == 0:
        return float("nan")
    return float(np.clip((concordant - discordant) / np.sqrt(untied[0] * untied[1]), -1.0, 1.0))


def _table(
    y_true: Any, y_pred: Any, classes: Any, sample_weight: Any, metric: str, *, whole: bool = False
) -> tuple[Floats, NDArray[np.integer[Any]]]:
    """Confusion matrix and the codes of its classes: all, or of very many only those that occur."""
    labels, codes, weight = compare(y_true, y_pred, classes, sample_weight, metric, needs_exact=True)
    used, both = np.arange(len(labels.order)), np.concatenate([labels.lower.astype(np.int64), codes])
    if used.size > MOST_OF_A_TABLE and not whole:
        used, both = np.unique(both, return_inverse=True)
    refuse_many_classes(metric, used.size, MOST_OF_A_TABLE)
    true, predicted = np.split(both, 2)
    table = np.bincount(true * used.size + predicted, weight, used.size**2)
    return np.asarray(table, dtype=np.float64).reshape(used.size, used.size), used


def _pairs_above(table: Floats) -> float:
    """Weight of the pairs of cells where one is further along both axes."""
    beyond = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    return float((table[:-1, :-1] * beyond[1:, 1:]).sum())
