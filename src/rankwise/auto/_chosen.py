"""What estimators that choose another one share: the chosen one, fitted to all rows, answers for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if

from rankwise.base.estimator import SavedEstimator
from rankwise.base.transaction import reader


def _chosen_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.__dict__.get("best_estimator_", self._example()), name))


class ChoosingEstimator(MetaEstimatorMixin, ClassifierMixin, SavedEstimator):
    """Base of the estimators that choose; ``fit`` sets ``best_estimator_``."""

    best_estimator_: Any

    def _example(self) -> Any:
        """An estimator with the methods that the chosen one will have."""
        return None

    @reader
    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every row."""
        return np.asarray(self.best_estimator_.predict(X))

    @_chosen_has("decision_function")
    @reader
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Scores of the chosen estimator for every row."""
        return np.asarray(self.best_estimator_.decision_function(X))

    @_chosen_has("project")
    @reader
    def project(self, X: Any) -> NDArray[Any]:
        """Score of every row on the axis of the thresholds."""
        return np.asarray(self.best_estimator_.project(X))

    @_chosen_has("predict_proba")
    @reader
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probability of every class, (n, K)."""
        return np.asarray(self.best_estimator_.predict_proba(X))

    @_chosen_has("predict_quantile")
    @reader
    def predict_quantile(self, X: Any, q: float) -> NDArray[Any]:
        """Lowest class that is not exceeded with a probability of at least ``q``, for every row."""
        return np.asarray(self.best_estimator_.predict_quantile(X, q))

    @_chosen_has("predict_interval")
    @reader
    def predict_interval(self, X: Any, level: float = 0.9) -> NDArray[Any]:
        """Lowest and highest class of an interval with a probability of at least ``level``, (n, 2)."""
        return np.asarray(self.best_estimator_.predict_interval(X, level))

    @reader
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of the chosen estimator: negative mean absolute error in ranks. Higher is better."""
        return float(self.best_estimator_.score(X, y, sample_weight))

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]
        """The classes, lowest first."""
        return np.asarray(self.best_estimator_.classes_)

    @property
    def n_features_in_(self) -> int:  # type: ignore[override]
        """Number of columns that are used."""
        return int(self.best_estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:  # type: ignore[override]
        """Names of the columns that are used."""
        return np.asarray(self.best_estimator_.feature_names_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in self.__dict__

    def _take_chosen(self, chosen: Any) -> None:
        """Set the chosen estimator of a model file, after a check."""
        if not hasattr(chosen, "predict") or not chosen.__sklearn_is_fitted__():
            raise ValueError("the chosen estimator is no fitted estimator")
        self.best_estimator_ = chosen
