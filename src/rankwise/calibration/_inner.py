"""What estimators share that hold another estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags

from rankwise import metrics
from rankwise.base.estimator import SavedEstimator
from rankwise.base.transaction import reader


class MethodBesideParameter:
    """A method and a parameter of one name: what is assigned is the parameter, what is called the method."""

    def __init__(self, method: Any, name: str) -> None:
        self.method, self.name = method, name
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.method if instance is None else self.method.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = value


class OfEstimator(MetaEstimatorMixin):
    """Has the columns of the estimator inside."""

    @property
    def n_features_in_(self) -> int:
        """Number of columns, as the estimator has it."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, as the estimator has them."""
        return np.asarray(self.estimator_.feature_names_in_)


class SetModel(OfEstimator, ClassifierMixin, SavedEstimator):  # type: ignore[override]
    """Base of the estimators that add sets to the predictions of another, and whose parameter ``score`` makes them."""

    estimator: Any
    estimator_: Any
    classes_: NDArray[Any]

    @reader
    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every row, as the estimator predicts it."""
        return np.asarray(self.estimator_.predict(X))

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
