"""What estimators that choose another one share: the chosen one, fitted to all rows, answers for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin

from rankwise.base.estimator import SavedEstimator
from rankwise.base.transaction import reader
from rankwise.table_model import InnerAnswers


class ChoosingEstimator(MetaEstimatorMixin, InnerAnswers, SavedEstimator):
    """Base of the estimators that choose; ``fit`` sets ``best_estimator_``."""

    best_estimator_: Any

    def _example(self) -> Any:
        """An estimator with the methods that the chosen one will have."""
        return None

    @reader
    def _ask(self, method: str, X: Any, *more: Any) -> Any:
        return getattr(self.best_estimator_, method)(X, *more)

    def _offers(self, method: str) -> bool:
        return hasattr(self.__dict__.get("best_estimator_", self._example()), method)

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
