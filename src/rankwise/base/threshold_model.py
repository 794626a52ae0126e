"""Estimators with one score a row and ordered thresholds: the class is where the score lies among the thresholds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.base.estimator import OrdinalEstimator
from rankwise.base.row_data import Rows
from rankwise.base.transaction import reader
from rankwise.decisions import interval_scores, ranks

Floats = NDArray[np.float64]


class ThresholdModel(OrdinalEstimator):
    """Base of the estimators with one score and ordered thresholds."""

    thresholds_: Any  # an array, or a property that computes one

    @abstractmethod
    def _project(self, rows: Rows) -> Floats:
        """Score of every row."""

    @reader
    def project(self, X: Any) -> Floats:
        """Score of every row on the axis of ``thresholds_``, shape (n,)."""
        return self._project(self._rows(X, reset=False))

    @reader
    def decision_function(self, X: Any) -> Floats:
        """Signed distance of each row's score to each class's interval, (n, K); (n,) for two classes.

        Positive inside the interval; the largest entry is the prediction. :meth:`project` gives the score itself.
        """
        return interval_scores(self._project(self._rows(X, reset=False)), self.thresholds_)

    def _codes(self, rows: Rows) -> NDArray[Any]:
        return ranks(self._project(rows), self.thresholds_)
