"""Base of the estimators that choose another one and delegate their methods to it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.base.estimator import SavedEstimator
from rankwise.base.model import Enclosing, Layer
from rankwise.base.row_data import indexable
from rankwise.base.transaction import reader
from rankwise.table_model import InnerAnswers


class ChoosingEstimator(Enclosing, InnerAnswers, SavedEstimator):  # type: ignore[override]
    """Estimator whose ``fit`` sets ``best_estimator_``; before that, its methods are those of its ``estimator``."""

    best_estimator_: Any
    _learnt = "best_estimator_"

    def _layer(self) -> Layer:
        return Layer(self.best_estimator_, chosen=True)

    @reader
    def _ask(self, method: str, X: Any, *more: Any) -> Any:
        return getattr(self.best_estimator_, method)(indexable(X), *more)

    def _offers(self, method: str) -> bool:
        return hasattr(getattr(self, "best_estimator_", getattr(self, "estimator", None)), method)

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]
        """The classes, lowest first."""
        return np.asarray(self.best_estimator_.classes_)

    def _take_chosen(self, chosen: Any) -> None:
        """Set the chosen estimator of a model file, after a check."""
        if not hasattr(chosen, "predict") or not chosen.__sklearn_is_fitted__():
            raise ValueError("the chosen estimator is not a fitted estimator")
        self.best_estimator_ = chosen
