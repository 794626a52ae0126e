"""Scores of predicted probabilities against labels of any form; smaller is better."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise._masks import unmasked
from rankwise._types import Floats
from rankwise.labels import Labels
from rankwise.metrics.comparison import checked_weights, encode_ordered, labelled_rows, mean

Against = Literal["label", "nearest", "farthest"]

_SUM_TO_ONE = 1e-6  # by which a row of probabilities may miss one


def log_score(
    y_true: Any, probabilities: Any, *, against: Against = "label", classes: Any = None, sample_weight: Any = None
) -> float:
    """Mean of ``-log P``: of the label, or of one class that it admits.

    Parameters
    ----------
    y_true : labels of any form
        True labels, see :func:`rankwise.labels.encode`. Rows without a label, or with one that admits every class, are
        left out, whatever ``against``: they say nothing, and nothing is said about their score.
    probabilities : array-like of shape (n, K)
        Probability of every class, as from ``predict_proba``.
    against : {"label", "nearest", "farthest"}, default "label"
        What is scored where a label admits several classes: the label as it is, ``P`` of all of them together; or the
        class that it fits best or worst. Over the rows that count, the score against the true classes lies between the
        last two, and may be either of them; that of the label as it is lies below both.
    classes : sequence, optional
        The classes in the order of the columns, lowest first; ``classes_`` of the model, say. Without it numbers are
        sorted, and names without an order are an error.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> P = [[0.25, 0.5, 0.25], [0.1, 0.4, 0.5]]
    >>> round(log_score([1, (2, 3)], P, classes=[1, 2, 3]), 3)
    0.746
    >>> [round(log_score([1, (2, 3)], P, classes=[1, 2, 3], against=end), 3) for end in ("nearest", "farthest")]
    [1.04, 1.151]
    """
    labels, P, weight = compare_probabilities(y_true, probabilities, classes, sample_weight, against, "log_score")
    admitted = labels.admissible()
    if against == "label":
        likelihood = P.sum(axis=1, where=admitted)
    elif against == "nearest":
        likelihood = P.max(axis=1, where=admitted, initial=0.0)
    else:
        likelihood = P.min(axis=1, where=admitted, initial=1.0)
    with np.errstate(divide="ignore"):
        return mean(-np.log(np.minimum(likelihood, 1.0)), weight)


def ranked_probability_score(
    y_true: Any, probabilities: Any, *, against: Against = "label", classes: Any = None, sample_weight: Any = None
) -> float:
    """Mean over rows of the sum over classes of the squared errors of ``P(y <= k)``; 0 is perfect, at most K - 1.

    Parameters
    ----------
    y_true, probabilities, classes, sample_weight
        As in :func:`log_score`.
    against : {"label", "nearest", "farthest"}, default "label"
        What is scored where a label admits several classes: the events ``y <= k`` that the label decides, without the
        others; or the class that fits best or worst. Over the rows that count, the score against the true classes lies
        between the last two, and may be either of them.

    Examples
    --------
    >>> P = [[0.25, 0.5, 0.25], [0.1, 0.4, 0.5]]
    >>> ranked_probability_score([1, (2, 3)], P, classes=[1, 2, 3])
    0.3175
    >>> [ranked_probability_score([1, (2, 3)], P, classes=[1, 2, 3], against=end) for end in ("nearest", "farthest")]
    [0.4425, 0.4425]
    """
    name = "ranked_probability_score"
    labels, P, weight = compare_probabilities(y_true, probabilities, classes, sample_weight, against, name)
    return mean(ranked_scores(labels, P, against), weight)


def ranked_scores(labels: Labels, P: Floats, against: Against) -> Floats:
    """Ranked probability score of each row, (n,)."""
    if against == "label":
        squares, counted = brier_terms(labels, P, against)
        return np.asarray((squares * counted).sum(axis=1))
    cumulative = P.cumsum(axis=1)[:, :-1]
    # The score of class y, for all y: squares of P(y <= k) before it, of 1 - P(y <= k) from it on.
    before = np.pad((cumulative**2).cumsum(axis=1), ((0, 0), (1, 0)))
    after = np.pad(((1.0 - cumulative) ** 2)[:, ::-1].cumsum(axis=1)[:, ::-1], ((0, 0), (0, 1)))
    admitted, scores = labels.admissible(), before + after
    if against == "nearest":
        return np.asarray(scores.min(axis=1, where=admitted, initial=np.inf))
    return np.asarray(scores.max(axis=1, where=admitted, initial=-np.inf))


def events(labels: Labels) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the labels say that ``y <= k``, and that ``y > k``, for all but the last class, (n, K-1)."""
    k = np.arange(len(labels.order) - 1)
    return k >= labels.upper[:, None], k < labels.lower[:, None]


def brier_terms(labels: Labels, P: Floats, against: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Squared error of every event of every row, and whether it counts."""
    happened, not_happened = events(labels)
    cumulative = P.cumsum(axis=1)[:, :-1]
    if_happened, if_not = (1.0 - cumulative) ** 2, cumulative**2
    open_ = (np.maximum if against == "farthest" else np.minimum)(if_happened, if_not)
    squares = np.where(happened, if_happened, np.where(not_happened, if_not, open_))
    return squares, (happened | not_happened) if against == "label" else np.ones_like(happened)


def compare_probabilities(
    y_true: Any, probabilities: Any, classes: Any, sample_weight: Any, against: str, metric: str
) -> tuple[Labels, Floats, Floats]:
    """Labels, probabilities and weights of the rows whose label says something; ``metric`` is the name for errors."""
    check_against(against)
    P = np.asarray(unmasked(probabilities), dtype=np.float64)
    labels = encode_ordered(y_true, classes, metric)
    n_classes = len(labels.order)
    if P.shape == (len(labels),) and n_classes == 2:  # of the second class, as scikit-learn's scorers give it
        P = np.column_stack([1.0 - P, P])
    if P.shape != (len(labels), n_classes):
        raise ValueError(
            f"probabilities must have a row for each of {len(labels)} labels and a column for each of {n_classes} "
            f"classes. Got the shape {P.shape}; classes= names classes that do not occur."
        )
    _require_distributions(P)
    labelled = labelled_rows(labels)
    return labels[labelled], P[labelled], checked_weights(sample_weight, labelled)


def check_against(against: str) -> None:
    """Raise unless ``against`` is one of the three choices."""
    if against not in ("label", "nearest", "farthest"):
        raise ValueError(f"against must be 'label', 'nearest' or 'farthest'. Got {against!r} instead.")


def _require_distributions(P: Floats) -> None:
    bad = ~((P >= 0.0).all(axis=1) & (np.abs(P.sum(axis=1) - 1.0) <= _SUM_TO_ONE))
    if bad.any():
        row = int(np.argmax(bad))
        raise RowError(f"probabilities must not be negative and must add up to 1. Got {P[row].tolist()}.", row)
