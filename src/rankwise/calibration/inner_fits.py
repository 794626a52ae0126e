"""What meta-estimators share: their columns, sets, and fits of the inner estimator to some of the rows."""

from abc import abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from rankwise import metrics
from rankwise._sklearn import Classifier, Interval, StrOptions
from rankwise._types import Floats, Places
from rankwise.base.estimator import SavedEstimator
from rankwise.base.model import Enclosing, Layer
from rankwise.base.row_data import indexable, row_count, rows_at
from rankwise.base.transaction import reader
from rankwise.calibration import _nonconformity
from rankwise.labels import Labels, as_labels, declared_order, decode, encode
from rankwise.labels.label_values import show


class MethodBesideParameter:
    """A method and a parameter of the same name: assigning sets the parameter, calling runs the method."""

    def __init__(self, method: Any, name: str) -> None:
        self.method, self.name = method, name
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.method if instance is None else self.method.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = value


class Adjusting(Enclosing):
    """Base of the estimators that adjust the answers of another one."""

    estimator_: Any

    def _layer(self) -> Layer:
        return Layer(self.estimator_, adjusts=True)


class SetModel(Adjusting, Classifier, SavedEstimator):  # type: ignore[override]
    """Base of the estimators that add sets to the predictions of another; parameter ``score`` says how sets grow."""

    estimator: Any
    estimator_: Any
    classes_: NDArray[Any]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "level": [Interval(Real, 0, 1, closed="neither")],
        "score": [StrOptions({"shortest", "median", "distance"})],
        "labels": [StrOptions({"guaranteed", "weak"})],
    }

    @reader
    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every row, as the estimator predicts it."""
        return np.asarray(self.estimator_.predict(indexable(X)))

    @abstractmethod
    def _ends(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """First and last code of each row's set."""

    @reader
    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """Which classes the set of each row holds, (n, K): neighbours, at least one."""
        return held(self._ends(indexable(X)), self.classes_.size)

    @reader
    def predict_interval(self, X: Any) -> NDArray[Any]:
        """Lowest and highest class of each row's set, (n, 2), both included."""
        return decode(np.column_stack(self._ends(indexable(X))).ravel(), self.classes_).reshape(-1, 2)

    def _scores(self, model: Any, X: Any) -> Floats:
        """How badly every class fits every row, (n, K)."""
        return _nonconformity.class_scores(vars(self)["score"], model, X, self.classes_)

    def _score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Negative mean absolute error in ranks; to the nearest end where ``y`` is an interval. Higher is better."""
        return -metrics.mean_absolute_error(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    score = MethodBesideParameter(_score, "score")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, those of the estimator too if ``deep``."""
        return {**super().get_params(deep), "score": vars(self)["score"]}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        return tags


def held(ends: tuple[NDArray[Any], NDArray[Any]], n_classes: int) -> NDArray[np.bool_]:
    """Which classes lie between the ends, (n, K)."""
    low, high = ends
    k = np.arange(n_classes)
    return np.asarray((k >= low[:, None]) & (k <= high[:, None]))


def rows_and_labels(X: Any, y: Any, classes: Any) -> tuple[Any, Labels]:
    """X in a form of which rows can be taken for the estimator inside, and their labels."""
    X = indexable(X)
    return X, encode(y, classes, n_rows=row_count(X))


def known_classes(estimator: Any, prefit: bool) -> Any:
    """Classes of a fitted estimator, or those declared by an unfitted one or an estimator inside it."""
    if prefit:
        check_is_fitted(estimator)
        return getattr(estimator, "classes_", None)
    return declared_classes(estimator)


def declared_classes(value: Any) -> Any:
    """Classes that an estimator declares, or else those inside it or in a collection, which must be the same."""
    if isinstance(value, (list, tuple, Mapping)):
        inside = list(value.values() if isinstance(value, Mapping) else value)
    elif hasattr(value, "get_params") and not isinstance(value, type):
        parameters = value.get_params(deep=False)
        if parameters.get("classes") is not None:
            return parameters["classes"]
        inside = list(parameters.values())
    else:
        return None
    declared = [classes for classes in map(declared_classes, inside) if classes is not None]
    orders = [declared_order(classes) for classes in declared]
    for order in orders[1:]:
        if order != orders[0]:
            first, other = show(orders[0].values), show(order.values)
            raise ValueError(f"the estimators declare different classes: {first} and {other}.")
    return declared[0] if declared else None


def fitted_to(estimator: Any, X: Any, labels: Labels, weight: Floats, rows: Places) -> Any:
    """A fresh estimator, fitted to some of the rows; ``weight`` is empty if there is none."""
    weights = {"sample_weight": weight[rows]} if weight.size else {}
    return clone(estimator).fit(rows_at(X, rows), labels[rows], **weights)


def weights_of(weight: Floats, rows: Places) -> Floats:
    """Weights of some of the rows, ones if ``weight`` is empty."""
    return weight[rows] if weight.size else np.ones(rows.size)


def given_splits(cv: Any, X: Any, labels: Labels) -> list[tuple[Places, Places]]:
    """Train and test rows that a splitter of scikit-learn makes, or that are given as pairs, in an iterable."""
    if isinstance(cv, str):
        raise ValueError(f"cv must be a number of folds, a splitter or pairs of row numbers. Got {cv!r}.")
    pairs = cv.split(X, as_labels(labels)) if hasattr(cv, "split") else cv
    every, splits = np.arange(len(labels)), []
    for number, pair in enumerate(pairs):
        try:
            train, test = (every[np.asarray(part)] for part in pair)
        except (TypeError, ValueError, IndexError) as error:
            reason = f"split {number} of cv must be a pair of row numbers, to learn from and to test on: {error}."
            raise ValueError(reason) from None
        splits.append((train, test))
    if not splits:
        raise ValueError("cv must hold at least one pair of row numbers, to learn from and to test on. Got none.")
    return splits


def folds(rows: NDArray[Any], n_folds: int, random_state: Any) -> list[NDArray[Any]]:
    """The rows dealt out in random order, each fold ascending."""
    if rows.size < n_folds:
        raise ValueError(f"{n_folds} folds need as many labelled rows. Got {rows.size}.")
    order = check_random_state(random_state).permutation(rows)
    return [np.sort(order[k::n_folds]) for k in range(n_folds)]
