"""Both sides of a comparison in the codes of one class order."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise._types import Floats
from rankwise.labels import ClassOrder, Labels, UnknownOrderError, check_weights, encode, encoding, infer_order
from rankwise.labels.encoding import has_intervals
from rankwise.labels.reading import read

_FOR_ANY_LABEL = (
    "mean_absolute_error, mean_squared_error, zero_one_loss, accuracy_within, interval_coverage and weighted_cost"
)

#: Scorer of :mod:`rankwise.metrics` for each metric whose value depends on the order of the classes.
SCORERS = {
    "mean_absolute_error": "neg_mean_absolute_error_scorer",
    "mean_squared_error": "neg_mean_squared_error_scorer",
    "accuracy_within": "accuracy_within_one_scorer",
    "macro_mean_absolute_error": "neg_macro_mean_absolute_error_scorer",
    "quadratic_weighted_kappa": "quadratic_weighted_kappa_scorer",
    "kendall_tau": "kendall_tau_scorer",
    "log_score": "neg_log_score_scorer",
    "ranked_probability_score": "neg_ranked_probability_score_scorer",
    "cumulative_brier_score": "neg_cumulative_brier_score_scorer",
    "cumulative_calibration_error": "neg_cumulative_calibration_error_scorer",
    "set_coverage": "set_coverage_scorer",
}


def compare(
    y_true: Any, y_pred: Any, classes: Any, sample_weight: Any, metric: str, *, ordered: bool = True,
    needs_exact: bool = False, keep_missing: bool = False,
) -> tuple[Labels, NDArray[np.int32], Floats]:  # fmt: skip
    """Encode both sides in one order and drop the rows without a label, unless they are to be kept.

    Returns labels, predicted codes and weights. ``metric`` is the name for errors: where it is ``ordered`` it refuses
    classes whose order is not known, where it ``needs_exact`` labels it refuses partial ones.
    """
    labels, predicted = encode_both(y_true, y_pred, classes, metric if ordered else None)
    n = len(labels)
    if len(predicted) != n:
        raise ValueError(f"y_true and y_pred must have the same number of rows. Got {n} and {len(predicted)}.")
    if not predicted.is_exact.all():
        row = int(np.argmin(predicted.is_exact))
        raise RowError(f"y_pred must hold one class a row. Got {predicted.describe(row)}.", row)
    labelled = labelled_rows(labels)
    partial = labelled & ~labels.is_exact
    if needs_exact and partial.any():
        row = int(np.argmax(partial))
        raise RowError(
            f"{metric} needs exact labels. Got {labels.describe(row)}. These take it: {_FOR_ANY_LABEL}.", row
        )
    if keep_missing or labelled.all():
        return labels, predicted.lower, checked_weights(sample_weight, np.ones(n, dtype=bool))
    return labels[labelled], predicted.lower[labelled], checked_weights(sample_weight, labelled)


def needs_order(loss: Any) -> bool:
    """Whether a target loss depends on the order of the classes."""
    return not (isinstance(loss, str) and loss == "zero_one")


def labelled_rows(labels: Labels) -> NDArray[np.bool_]:
    """Which rows have a label that does not admit every class; refused when none has."""
    labelled = ~labels.is_missing
    if not labelled.any():
        raise ValueError(f"y_true must hold at least one label. Got {len(labels)} rows, none of them labelled.")
    return labelled


def checked_weights(sample_weight: Any, counted: NDArray[np.bool_]) -> Floats:
    """Weights of the rows that count, ones by default; refused when all of them are zero."""
    weight = check_weights(sample_weight, counted.size)
    if weight.size == 0:
        return np.ones(np.count_nonzero(counted))
    weight = weight[counted]
    if not weight.any():
        raise ValueError("sample_weight must be positive for at least one labelled row. Got zeros only.")
    return weight


def mean(loss: NDArray[Any], weight: Floats) -> float:
    """Weighted mean."""
    return float(np.average(loss, weights=weight))


def encode_both(y_true: Any, y_pred: Any, classes: Any = None, metric: str | None = None) -> tuple[Labels, Labels]:
    """Labels of both sides in one order of classes: the one given, or that of both.

    Without an order that is known, ``metric`` refuses; None means that the order does not matter.
    """
    y_true, y_pred = read(y_true), read(y_pred)
    if classes is None:
        needs_order = metric is None and (has_intervals(y_true) or has_intervals(y_pred))
        with naming_the_scorer(metric):
            needed_by = "an interval" if needs_order else metric
            classes = common_order(y_true, y_pred, needed_by, counts_ranks=metric is not None)
    labels = encode(y_true, classes)
    return labels, encode(y_pred, labels.order)


def encode_ordered(y_true: Any, classes: Any, metric: str) -> Labels:
    """Labels whose classes have an order that is known: ``metric`` refuses others."""
    with naming_the_scorer(metric):
        return encoding.encode_ordered(y_true, classes, metric, counts_ranks=True)


@contextmanager
def naming_the_scorer(metric: str | None) -> Iterator[None]:
    """Errors about an unknown order name the scorer that takes it from the estimator, where there is one."""
    try:
        yield
    except UnknownOrderError as error:
        scorer = SCORERS.get(metric or "")
        if scorer is None:
            raise
        where = f"For scoring=, take rankwise.metrics.{scorer}, which has the classes of the estimator"
        raise UnknownOrderError(f"{error} {where}.") from None


def common_order(y_true: Any, y_pred: Any, needed_by: str | None = None, *, counts_ranks: bool = False) -> ClassOrder:
    """Order of the classes of both sides: the one that a container carries, else all labels that occur, sorted.

    Names without an order are refused if it is ``needed_by`` some function, and all names if this ``counts_ranks``.
    """
    both = [read(y_true), read(y_pred)]
    for raw in both:
        if raw.order is not None:
            return ClassOrder(raw.order)
    values = [raw.values_present() for raw in both]
    kinds = {"number" if v.dtype.kind in "iufb" else v.dtype.kind for v in values if v.size}
    if len(kinds) > 1:  # concatenated as they are, numbers would become strings
        values = [v.astype(object) for v in values]
    present = np.concatenate([v for v in values if v.size] or values)
    return infer_order(present, warn=False, needed_by=needed_by, counts_ranks=counts_ranks)
