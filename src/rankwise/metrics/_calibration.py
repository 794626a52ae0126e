"""Calibration of cumulative events ``y <= k``, and sets of classes; with the range that imprecise labels allow.

A label between lo and hi decides the event ``y <= k`` unless ``lo <= k < hi``. Undecided rows leave a range: the
observed frequency lies between the share of rows that surely have the event and one minus the share that surely do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise._masks import unmasked
from rankwise._types import Floats
from rankwise.labels import Labels, encode
from rankwise.metrics._probability import (
    Against,
    brier_terms,
    check_against,
    compare_probabilities,
    events,
    ranked_scores,
)
from rankwise.metrics.comparison import checked_weights, encode_ordered, labelled_rows, mean

Range = Literal["nearest", "farthest"]


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted and observed frequencies of the events ``y <= k``, in bins of the predicted probability.

    Attributes
    ----------
    weight : array of shape (K-1, n_bins)
        Weight of the rows of each event and bin.
    predicted : array of shape (K-1, n_bins)
        Sum of weight times probability.
    sure, impossible : arrays of shape (K-1, n_bins)
        Weight of the rows whose label says that the event happened, or that it did not.
    """

    weight: Floats
    predicted: Floats
    sure: Floats
    impossible: Floats

    @classmethod
    def of(cls, labels: Labels, probabilities: Floats, weight: Floats, n_bins: int) -> Reliability:
        """Sums over rows; those of several batches add up."""
        happened, not_happened = events(labels)
        cumulative = probabilities.cumsum(axis=1)[:, :-1].clip(0.0, 1.0)
        n_events = cumulative.shape[1]
        cells = np.minimum((cumulative * n_bins).astype(np.intp), n_bins - 1) + n_bins * np.arange(n_events)

        def sums(values: Any) -> Floats:
            totals = np.bincount(cells.ravel(), np.broadcast_to(values, cells.shape).ravel(), n_events * n_bins)
            return np.asarray(totals.reshape(n_events, n_bins))

        w = weight[:, None]
        return cls(sums(w), sums(w * cumulative), sums(w * happened), sums(w * not_happened))

    def __add__(self, other: Reliability) -> Reliability:
        return Reliability(*map(np.add, vars(self).values(), vars(other).values()))

    def frequencies(self) -> tuple[Floats, Floats, Floats]:
        """Mean probability, and the least and the greatest frequency that the labels allow; NaN in empty bins."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return (
                self.predicted / self.weight, self.sure / self.weight, (self.weight - self.impossible) / self.weight
            )  # fmt: skip

    def errors(self, against: Against) -> Floats:
        """Expected calibration error of each event, (K-1,)."""
        weight, predicted, low, high = self.weight, *self.frequencies()
        if against == "label":
            weight = self.sure + self.impossible
            with np.errstate(invalid="ignore", divide="ignore"):
                low = high = self.sure / weight
        if against == "farthest":
            gaps = np.maximum(np.abs(predicted - low), np.abs(high - predicted))
        else:
            gaps = np.maximum(np.maximum(low - predicted, predicted - high), 0.0)
        total = weight.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(weight > 0, weight * gaps, 0.0).sum(axis=1) / total)


def reliability(
    y_true: Any, probabilities: Any, *, n_bins: int = 10, classes: Any = None, sample_weight: Any = None
) -> Reliability:
    """Predicted and observed frequencies of the events ``y <= k``, in ``n_bins`` equal bins of probability.

    Parameters
    ----------
    y_true, probabilities, classes, sample_weight
        As in :func:`log_score`.
    n_bins : int, default 10
        Number of bins.

    Examples
    --------
    >>> curve = reliability([1, 2, (1, 2), 3], [[0.25, 0.5, 0.25]] * 4, classes=[1, 2, 3])
    >>> [float(end[0, 2]) for end in curve.frequencies()]  # y <= 1: the interval leaves it open
    [0.25, 0.25, 0.5]
    """
    return _reliability(y_true, probabilities, n_bins, classes, sample_weight, "reliability")


def _reliability(
    y_true: Any, probabilities: Any, n_bins: int, classes: Any, sample_weight: Any, metric: str
) -> Reliability:
    if not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ValueError(f"n_bins must be a whole number >= 1. Got {n_bins!r} instead.")
    labels, P, weight = compare_probabilities(y_true, probabilities, classes, sample_weight, "label", metric)
    return Reliability.of(labels, P, weight, int(n_bins))


def cumulative_calibration_error(
    y_true: Any, probabilities: Any, *, n_bins: int = 10, against: Against = "label", classes: Any = None,
    sample_weight: Any = None,
) -> float:  # fmt: skip
    """Expected calibration error of the events ``y <= k``, their mean over k; 0 is perfect.

    For each event rows are put into equal bins of the predicted probability, and the distances of the mean probability
    from the observed frequency are averaged by weight (Naeini, Cooper and Hauskrecht 2015).

    Parameters
    ----------
    y_true, probabilities, n_bins, classes, sample_weight
        As in :func:`reliability`.
    against : {"label", "nearest", "farthest"}, default "label"
        Which frequency counts where labels are imprecise: that of the rows whose label decides the event; or, among
        those that the labels allow, the nearest to the probability, or the farthest, for every event and bin by
        itself. Over the rows that count, the error against the true classes is at least the second and at most the
        last; no single truth need attain either.

    Examples
    --------
    >>> cumulative_calibration_error([1, 2, 2, 2], [[0.5, 0.5]] * 4, classes=[1, 2])
    0.25
    """
    check_against(against)
    name = "cumulative_calibration_error"
    return _mean_of_decided(_reliability(y_true, probabilities, n_bins, classes, sample_weight, name).errors(against))


def cumulative_brier_scores(
    y_true: Any, probabilities: Any, *, against: Against = "label", classes: Any = None, sample_weight: Any = None
) -> Floats:
    """Brier score of each event ``y <= k``, (K-1,): the mean squared error of its probability.

    Other arguments as in :func:`log_score`.

    Parameters
    ----------
    against : {"label", "nearest", "farthest"}, default "label"
        What counts where a label does not decide an event: the row is left out; or it counts as the outcome that fits
        better, or worse. Over the rows that count, each score against the true classes lies between the last two and
        may be either of them, though not all events at once: for their mean see :func:`cumulative_brier_score`.

    Returns
    -------
    ndarray of shape (K-1,)
        NaN where no label decides the event. With exact labels, their sum is :func:`ranked_probability_score`.

    Examples
    --------
    >>> cumulative_brier_scores([1, 3], [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], classes=[1, 2, 3])
    array([0.125, 0.125])
    """
    name = "cumulative_brier_score"
    labels, P, weight = compare_probabilities(y_true, probabilities, classes, sample_weight, against, name)
    squares, counted = brier_terms(labels, P, against)
    weights = weight[:, None] * counted
    with np.errstate(invalid="ignore"):
        return np.asarray((weights * squares).sum(axis=0) / weights.sum(axis=0))


def cumulative_brier_score(
    y_true: Any, probabilities: Any, *, against: Against = "label", classes: Any = None, sample_weight: Any = None
) -> float:
    """Mean over the events ``y <= k`` of their Brier scores; arguments as in :func:`cumulative_brier_scores`.

    Against the nearest and the farthest class, the same class counts for all events of a row: the score against the
    true classes lies between the two, and may be either of them. With all rows exact, or with these, it is the
    :func:`ranked_probability_score` divided by the number of events.

    Examples
    --------
    >>> cumulative_brier_score([1, 3], [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], classes=[1, 2, 3])
    0.125
    """
    if against == "label":
        return _mean_of_decided(
            cumulative_brier_scores(y_true, probabilities, classes=classes, sample_weight=sample_weight)
        )
    name = "cumulative_brier_score"
    labels, P, weight = compare_probabilities(y_true, probabilities, classes, sample_weight, against, name)
    n_events = P.shape[1] - 1
    return mean(ranked_scores(labels, P, against), weight) / n_events if n_events else float("nan")


def _mean_of_decided(values: Floats) -> float:
    """Mean over the events that some label decides, whose values are not NaN; NaN if no label decides any."""
    decided = values[np.isfinite(values)]
    return float(decided.mean()) if decided.size else float("nan")


# -- sets --------------------------------------------------------------------------------------------------------------


def set_coverage(
    y_true: Any, sets: Any, *, against: Range = "nearest", classes: Any = None, sample_weight: Any = None
) -> float:
    """Share of the rows whose set holds the class.

    Parameters
    ----------
    y_true : labels of any form
        Rows without a label, or with one that admits every class, are left out, whatever ``against``.
    sets : boolean array of shape (n, K), or array of shape (n, 2)
        Sets as ``predict_set`` gives them, or lowest and highest classes as ``predict_interval`` does.
    against : {"nearest", "farthest"}, default "nearest"
        Where a label admits several classes: whether the set holds one of them, or all of them. Over the rows that
        count, the coverage of the true classes lies between the two, and may be either of them.
    classes, sample_weight
        As in :func:`log_score`.

    Examples
    --------
    >>> sets = [[True, True, False], [False, True, True]]
    >>> [set_coverage([1, (1, 2)], sets, classes=[1, 2, 3], against=end) for end in ("nearest", "farthest")]
    [1.0, 0.5]
    """
    if against not in ("nearest", "farthest"):
        raise ValueError(f"against must be 'nearest' or 'farthest'. Got {against!r} instead.")
    labels = encode_ordered(y_true, classes, "set_coverage")
    mask = _as_mask(sets, labels)
    labelled = labelled_rows(labels)
    admitted, inside = labels[labelled].admissible(), mask[labelled]
    covered = (inside & admitted).any(axis=1) if against == "nearest" else (inside | ~admitted).all(axis=1)
    return mean(covered, checked_weights(sample_weight, labelled))


def set_width(sets: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Mean number of classes in a set.

    Parameters
    ----------
    sets : boolean array of shape (n, K), or array of shape (n, 2)
        As in :func:`set_coverage`; intervals need ``classes``.
    classes : sequence, optional
        All classes, lowest first.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> set_width([[True, True, False], [False, False, True]])
    1.5
    >>> set_width([[1, 3], [3, 3]], classes=[1, 2, 3])
    2.0
    """
    mask = np.asarray(unmasked(sets))
    if mask.dtype != bool:
        mask = encode_ordered(mask, classes, "set_width").admissible()
    return mean(mask.sum(axis=1), checked_weights(sample_weight, np.ones(len(mask), dtype=bool)))


def _as_mask(sets: Any, labels: Labels) -> NDArray[np.bool_]:
    """Sets as a mask (n, K)."""
    array = np.asarray(unmasked(sets))
    n, k = len(labels), len(labels.order)
    if array.dtype == bool and array.shape == (n, k):
        return array
    if array.dtype != bool and array.shape == (n, 2):
        return encode(array, labels.order).admissible()
    raise ValueError(
        f"sets must be a mask of shape ({n}, {k}), or intervals of shape ({n}, 2). Got {array.dtype} {array.shape}."
    )


def set_coverage_scorer(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """``scoring=`` for scikit-learn: :func:`set_coverage` of ``estimator.predict_set(X)``."""
    return set_coverage(y, estimator.predict_set(X), classes=estimator.classes_, sample_weight=sample_weight)


def neg_set_width_scorer(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """``scoring=`` for scikit-learn: minus :func:`set_width` of ``estimator.predict_set(X)``."""
    return -set_width(estimator.predict_set(X), sample_weight=sample_weight)
