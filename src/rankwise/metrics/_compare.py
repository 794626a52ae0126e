"""Both sides of a comparison in the codes of one class order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise._types import Floats
from rankwise.labels import ClassOrder, Labels, check_weights, encode, infer_order
from rankwise.labels._read import read

_FOR_ANY_LABEL = (
    "mean_absolute_error, mean_squared_error, zero_one_loss, accuracy_within, interval_coverage and weighted_cost"
)


def compare(
    y_true: Any, y_pred: Any, classes: Any, sample_weight: Any, needs_exact: str | None = None,
    keep_missing: bool = False,
) -> tuple[Labels, NDArray[np.int32], Floats]:  # fmt: skip
    """Encode both sides in one order and drop the rows without a label, unless they are to be kept.

    Returns labels, predicted codes and weights. ``needs_exact`` is the name of a metric that refuses partial labels.
    """
    labels, predicted = encode_both(y_true, y_pred, classes)
    n = len(labels)
    if len(predicted) != n:
        raise ValueError(f"y_true and y_pred must have the same number of rows. Got {n} and {len(predicted)}.")
    if not predicted.is_exact.all():
        row = int(np.argmin(predicted.is_exact))
        raise RowError(f"y_pred must hold one class a row. Got {predicted.describe(row)}.", row)
    labelled = labelled_rows(labels)
    partial = labelled & ~labels.is_exact
    if needs_exact is not None and partial.any():
        row = int(np.argmax(partial))
        raise RowError(
            f"{needs_exact} needs exact labels. Got {labels.describe(row)}. These take it: {_FOR_ANY_LABEL}.", row
        )
    if keep_missing or labelled.all():
        return labels, predicted.lower, checked_weights(sample_weight, np.ones(n, dtype=bool))
    return labels[labelled], predicted.lower[labelled], checked_weights(sample_weight, labelled)


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


def encode_both(y_true: Any, y_pred: Any, classes: Any = None) -> tuple[Labels, Labels]:
    """Labels of both sides in one order of classes: the one given, or that of both."""
    y_true, y_pred = read(y_true), read(y_pred)
    labels = encode(y_true, common_order(y_true, y_pred) if classes is None else classes)
    return labels, encode(y_pred, labels.order)


def common_order(y_true: Any, y_pred: Any) -> ClassOrder:
    """Order of the classes of both sides: the one that a container carries, else all labels that occur, sorted."""
    both = [read(y_true), read(y_pred)]
    for raw in both:
        if raw.order is not None:
            return ClassOrder(raw.order)
    values = [raw.values_present() for raw in both]
    kinds = {"number" if v.dtype.kind in "iufb" else v.dtype.kind for v in values if v.size}
    if len(kinds) > 1:  # concatenated as they are, numbers would become strings
        values = [v.astype(object) for v in values]
    return infer_order(np.concatenate([v for v in values if v.size] or values))
