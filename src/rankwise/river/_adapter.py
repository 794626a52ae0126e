"""An online estimator under river's interface."""

import copy
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils import dataframe
from sklearn.base import clone

from rankwise import online
from rankwise.base.row_data import Rows
from rankwise.base.state import GIVEN_ORDER, NO_PREDICTIONS
from rankwise.labels import check_weights, decode, is_missing
from rankwise.online.online_estimator import OnlineEstimator

_Labels = NDArray[Any] | list[Any]


class OrdinalClassifier(base.MiniBatchClassifier):
    """An online estimator of rankwise as a river classifier.

    Features and, where the estimator declares no ``classes``, classes may be new at any time; a label may be a class,
    an interval ``(lower, upper)``, a set of candidates or None. ``OnlineCumulativeLink`` has probabilities; for the
    others ``predict_proba_one`` raises NotImplementedError, as for river's other classifiers without them.

    A mini-batch ends in the same model as its rows one by one, to the bit, and runs in one compiled pass. A batch with
    a bad row is refused as a whole.

    Parameters
    ----------
    estimator : online estimator
        ``PRank``, ``PRIL``, ``MultiplicativePRIL``, ``KernelPRIL``, ``CuSumRank``, ``KernelCuSumRank``,
        ``ImportanceWeightedPerceptron``, ``MulticlassPerceptron``, ``WidrowHoff`` or ``OnlineCumulativeLink``. It
        is cloned and never changed.

    Attributes
    ----------
    model : online estimator
        The clone that learns.

    Examples
    --------
    >>> from river import evaluate, preprocessing
    >>> from rankwise import PRIL
    >>> from rankwise.datasets import load_diabetes_grades
    >>> from rankwise.river import OrdinalClassifier, OrdinalMAE
    >>> data = load_diabetes_grades(n_classes=5)
    >>> stream = [(dict(enumerate(x)), int(y)) for x, y in zip(data.X, data.y)]
    >>> model = preprocessing.StandardScaler() | OrdinalClassifier(PRIL(classes=[1, 2, 3, 4, 5]))
    >>> evaluate.progressive_val_score(stream, model, OrdinalMAE(classes=[1, 2, 3, 4, 5]))
    OrdinalMAE: 0.929705
    """

    def __init__(self, estimator: Any) -> None:
        usable = [getattr(online, name) for name in online.__all__]
        if type(estimator) not in usable:
            names = ", ".join(kind.__name__ for kind in usable if issubclass(kind, OnlineEstimator))
            raise TypeError(f"OrdinalClassifier takes an online estimator, {names}. Got {estimator!r} instead.")
        self.estimator = estimator
        self.model = clone(estimator)

    def learn_one(self, x: Mapping[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one example: features, a label of any kind or None, its weight; see ``estimator.learn_one``."""
        self.model.learn_one(x, y, w)

    def predict_one(self, x: Mapping[Hashable, Any], **_: Any) -> Any:
        """Class of one example; None while no class is known."""
        return self.model.predict_one(x)

    def predict_proba_one(self, x: Mapping[Hashable, Any], **_: Any) -> dict[Any, float]:
        """Probability of every class for one example, where the estimator has them; empty while no class is known."""
        if not hasattr(self.model, "predict_proba_one"):
            raise NotImplementedError(f"{type(self.model).__name__} has no probabilities; OnlineCumulativeLink has.")
        return dict(self.model.predict_proba_one(x))

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn from the rows of a table, in order.

        Parameters
        ----------
        X : pandas, polars or pyarrow table
            Numbers; columns may be new, or absent, which counts as zero.
        y : series or list
            Labels as in :meth:`learn_one`.
        w : float or array-like, default 1.0
            Importance of every row.
        """
        frame = dataframe.into_frame(X)
        values, labels = dataframe.to_numpy(frame), _labels(y)
        if len(labels) != len(values):
            raise ValueError(f"X has {len(values)} rows and y {len(labels)} labels: give one label for each row.")
        weight = check_weights(w, len(labels))
        model = copy.deepcopy(self.model)
        self._learn_rows(model, frame.columns, values, labels, weight)
        self.model = model

    def _learn_rows(self, model: Any, names: list[Any], values: Any, labels: _Labels, weight: NDArray[Any]) -> None:
        """Learn rows with a new class one by one, the rows between them in one pass."""
        start = 0
        while start < len(labels):
            stop = start + _n_before_new_class(model, labels[start:])
            if stop > start:
                # A row without a label only adds its names as features.
                model.learn_one(dict.fromkeys(names, 0.0), None)
                rows, some = _rows(model, names, values[start:stop]), labels[start:stop]
                if isinstance(some, list):
                    some = [set(label) if isinstance(label, list) else label for label in some]
                encoded = model._labels(some, model._order, rows)
                weights = model._weights(weight[start:stop], rows)
                model._learn(rows, encoded, weights, GIVEN_ORDER, NO_PREDICTIONS)
            if stop < len(labels):
                label = labels[stop]
                label = label.item() if isinstance(label, np.generic) else label
                model.learn_one(dict(zip(names, values[stop].tolist(), strict=True)), label, float(weight[stop]))
            start = stop + 1

    def predict_many(self, X: Any) -> Any:
        """Class of every row of a table, as a series of the same kind; None while no class is known."""
        frame = dataframe.into_frame(X)
        predicted: Any = self.model._undisturbed(_predicted, frame.columns, dataframe.to_numpy(frame))
        return dataframe.to_native_series(predicted, name=None, like=frame)

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Parameters for river's own checks."""
        yield {"estimator": online.PRIL()}


def _predicted(model: Any, names: list[Any], values: NDArray[Any]) -> Any:
    if not model.__sklearn_is_fitted__():
        return [None] * len(values)
    return decode(model._codes(_rows(model, names, values)), model.classes_)


def _n_before_new_class(model: Any, labels: _Labels) -> int:
    """Number of labels before the first with a new class, if the model may take new classes."""
    if not model.__sklearn_is_fitted__():
        return 0
    if not model._growing:
        return len(labels)
    if isinstance(labels, np.ndarray):
        new = (model._order.codes(labels) < 0) & (labels == labels)  # NaN is a missing label
        return int(new.argmax()) if new.any() else len(labels)
    index = model._order.index
    for place, label in enumerate(labels):
        values = label if isinstance(label, (tuple, list, set, frozenset)) else (label,)
        if any(not is_missing(value) and value not in index for value in values):
            return place
    return len(labels)


def _rows(model: Any, names: list[Any], values: NDArray[Any]) -> Rows:
    """The columns that the model knows, in its order, as CSR rows."""
    columns = model._features.columns(names)
    known = np.flatnonzero(columns >= 0)
    take = known[np.argsort(columns[known], kind="stable")]
    indptr = np.arange(len(values) + 1, dtype=np.int32) * np.int32(take.size)
    return np.ascontiguousarray(values[:, take]).ravel(), np.tile(columns[take], len(values)), indptr


def _labels(y: Any) -> _Labels:
    """An array if all labels are numbers or truth values, otherwise a list."""
    if isinstance(y, (list, tuple)):
        return list(y)
    array = np.asarray(y)
    if array.ndim == 1 and array.dtype.kind in "iufb":
        return array
    return list(y) if isinstance(y, np.ndarray) else list(dataframe.into_series(y).to_list())
