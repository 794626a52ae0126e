"""Progressive validation: predict each row of a stream, then learn from it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._masks import unmasked
from rankwise._types import Floats
from rankwise.base.row_data import indexable
from rankwise.calibration.inner_fits import known_classes
from rankwise.labels import ClassOrder, Labels, check_weights, encode
from rankwise.labels.encoding import settle_order
from rankwise.labels.label_values import as_object_array
from rankwise.labels.reading import read
from rankwise.losses import interval_insensitive


@dataclass(frozen=True, eq=False)
class Progress:
    """Predictions of a model before it learnt each row, and their losses.

    Attributes
    ----------
    predictions : ndarray of shape (n,)
        Prediction for each row before its label was shown.
    losses : ndarray of shape (n,)
        Loss of each round; 0 for a row without a label.
    weights : ndarray of shape (n,)
        Importance of each round; 0 for a row without a label.
    """

    predictions: NDArray[Any]
    losses: Floats
    weights: Floats

    def __repr__(self) -> str:
        if not self.losses.size:
            return "Progress(no rounds)"
        return (
            f"Progress({int((self.weights > 0).sum())} rounds, average loss {self.final:.4g}, "
            f"mistakes {self.mistake_rate:.2%}, weighted cost {self.weighted_cost:.2%})"
        )

    @property
    def average(self) -> Floats:
        """Weighted average loss after each round, shape (n,)."""
        return _running_mean(self.losses, self.weights)

    @property
    def final(self) -> float:
        """Weighted average loss over all rounds."""
        return float(self.average[-1])

    @property
    def cost_curve(self) -> Floats:
        """Weight of the rounds with a mistake so far, divided by the weight of all so far, shape (n,)."""
        return _running_mean(self.losses > 0, self.weights)

    @property
    def weighted_cost(self) -> float:
        """Weight of the rounds with a mistake, divided by the weight of all."""
        return float(self.cost_curve[-1])

    @property
    def mistake_rate(self) -> float:
        """Share of the rounds with a mistake, ignoring weights; rows without a label or weight do not count."""
        return float(_running_mean(self.losses > 0, self.weights > 0)[-1])


def progressive(
    model: Any, X: Any, y: Any, *, truth: Any = None, loss: Any = "mae", classes: Any = None, sample_weight: Any = None
) -> Progress:
    """Predict each row, then learn from it; return predictions and losses of all rounds. ``model`` is changed.

    Every row with a label and a weight counts, also the first of its class.

    Parameters
    ----------
    model : estimator
        Any online estimator: with ``progressive_predict`` (ours: one compiled pass), with ``learn_one`` and
        ``predict_one`` (river: X may be a list of dicts), or with ``partial_fit`` and ``predict`` (scikit-learn).
    X, y : array-like
        Rows and the labels to learn from, of any form that :func:`rankwise.labels.encode` reads.
    truth : array-like, optional
        Labels to judge by, if they differ from those to learn from: for example the exact labels behind intervals.
    loss : {"mae", "zero_one", "squared"} or matrix, default "mae"
        Loss of a prediction; to the nearest admissible class if the label is not exact.
    classes : array-like, optional
        All classes, lowest first; by default those in ``y`` and ``truth``.
    sample_weight : array-like, optional
        Importance of each row, for learning (if the model takes weights) and for the average.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_pril_synthetic(1000, random_state=0)
    >>> result = progressive(rw.PRIL(), X, y)
    >>> result
    Progress(1000 rounds, average loss 1.085, mistakes 77.40%, weighted cost 77.40%)
    >>> result.average.shape
    (1000,)
    """
    judged = _joint_labels(y, truth, _classes_of(model) if classes is None else classes)
    weights = check_weights(sample_weight, len(judged))
    shown = weights if weights.size else None
    declared = judged.classes
    if hasattr(model, "progressive_predict"):
        shown_labels = judged if truth is None else y  # encoded already, if they are the same
        predictions = model.progressive_predict(X, shown_labels, sample_weight=shown, classes=declared)
    elif hasattr(model, "learn_one"):
        predictions = _one_by_one(model, _dicts(X), y, shown)
    elif hasattr(model, "partial_fit"):
        predictions = _row_by_row(model, X, y, shown, declared)
    else:
        raise TypeError(
            f"{type(model).__name__} cannot learn online: it has no progressive_predict, learn_one or partial_fit."
        )
    # A model that cannot predict yet (None) counts as predicting the lowest class.
    codes = np.maximum(judged.order.codes(np.asarray(predictions)), 0)
    counted = np.where(judged.is_missing, 0.0, weights if weights.size else 1.0)
    return Progress(predictions, np.where(counted > 0, interval_insensitive(judged, codes, loss), 0.0), counted)


def _running_mean(values: NDArray[Any], weights: NDArray[Any]) -> Floats:
    """Weighted mean of the values up to each place; zero while there is no weight."""
    total = np.cumsum(weights, dtype=np.float64)
    return np.asarray(np.divide(np.cumsum(weights * values), total, out=np.zeros_like(total), where=total > 0))


def _classes_of(model: Any) -> Any:
    """Classes that a model knows, or declares before it has seen a row."""
    known = getattr(model, "classes_", None)
    return known_classes(model, prefit=False) if known is None and hasattr(model, "get_params") else known


def _joint_labels(y: Any, truth: Any, classes: Any) -> Labels:
    """Labels to judge by, with the classes of both sets of labels."""
    if truth is None:
        return encode(y, classes)
    if classes is None:
        y, truth = read(y), read(truth)
        orders = [settle_order(y), settle_order(truth)]
        known = {v for order in orders for v in order.values.tolist()}
        longest = max(orders, key=len)
        classes = longest if len(longest) == len(known) else ClassOrder(sorted(known))
    return encode(truth, classes)


def _dicts(X: Any) -> Iterable[Mapping[Any, Any]]:
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        return X
    rows = X.toarray() if sparse.issparse(X) else np.asarray(unmasked(X))
    names = getattr(X, "column_names", getattr(X, "columns", range(rows.shape[-1])))  # of an Arrow table, or another
    return (dict(zip(names, row, strict=True)) for row in rows.tolist())


def _plain_labels(y: Any) -> list[Any]:
    values = y.tolist() if hasattr(y, "tolist") else list(y)
    return [tuple(v) if isinstance(v, list) and np.ndim(y) == 2 else v for v in values]


def _one_by_one(model: Any, rows: Iterable[Mapping[Any, Any]], y: Any, weight: Floats | None) -> NDArray[Any]:
    predictions = []
    for i, (x, label) in enumerate(zip(rows, _plain_labels(y), strict=True)):
        predictions.append(model.predict_one(x))
        model.learn_one(x, label) if weight is None else model.learn_one(x, label, w=float(weight[i]))
    return _labels_array(predictions)


def _row_by_row(model: Any, X: Any, y: Any, weight: Floats | None, classes: NDArray[Any]) -> NDArray[Any]:
    rows = indexable(X)
    labels = np.asarray(y)
    predictions: list[Any] = []
    for i in range(labels.shape[0]):
        row = rows[i : i + 1]
        predictions.append(model.predict(row)[0] if hasattr(model, "classes_") else None)
        extra = {} if weight is None else {"sample_weight": weight[i : i + 1]}
        model.partial_fit(row, labels[i : i + 1], classes=classes, **extra)
    return _labels_array(predictions)


def _labels_array(values: list[Any]) -> NDArray[Any]:
    return as_object_array(values) if any(v is None for v in values) else np.array(values)
