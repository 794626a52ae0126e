"""Estimators of class probabilities, from which quantiles, intervals and decisions follow."""

from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise import decisions
from rankwise._errors import refuse_many_classes
from rankwise._types import Floats
from rankwise.base.estimator import OrdinalEstimator
from rankwise.base.row_data import Rows
from rankwise.base.transaction import reader
from rankwise.labels import decode

#: Names of decisions; any other is a cost matrix.
DECISIONS = ("median", "mode", "mean")
_MOST_CLASSES = 4_000  # of a cost for every pair


class ProbabilityModel(OrdinalEstimator):
    """Base of the estimators with class probabilities; the parameter ``decision`` selects the class they predict."""

    decision: Any

    @abstractmethod
    def _probabilities(self, rows: Rows) -> Floats:
        """Probability of every class, (n, K): not negative, each row adds up to one."""

    def _cumulative(self, rows: Rows) -> Floats:
        """``P(y <= k)`` for all classes but the last, (n, K-1)."""
        return np.asarray(np.cumsum(self._probabilities(rows), axis=1)[:, :-1])

    @reader
    def predict_proba(self, X: Any) -> Floats:
        """Probability of every class, (n, K), in the order of ``classes_``."""
        return self._probabilities(self._rows(X, reset=False))

    @reader
    def predict_quantile(self, X: Any, q: float) -> NDArray[Any]:
        """Lowest class that is not exceeded with a probability of at least ``q``, for every row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Features.
        q : float
            Level of the quantile, between 0 and 1, both excluded.
        """
        require_level("q", q)
        return decode(decisions.quantiles(self._cumulative(self._rows(X, reset=False)), q), self.classes_)

    @reader
    def predict_interval(self, X: Any, level: float = 0.9) -> NDArray[Any]:
        """Lowest and highest class of an interval with a probability of at least ``level``, (n, 2), both included.

        The interval is the central one: at most ``(1 - level) / 2`` of the probability lies on either side. Its
        probability is the model's own, without a guarantee for new rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Features.
        level : float, default 0.9
            Between 0 and 1, both excluded.
        """
        require_level("level", level)
        cumulative = self._cumulative(self._rows(X, reset=False))
        ends = [decisions.quantiles(cumulative, q) for q in (0.5 * (1.0 - level), 0.5 * (1.0 + level))]
        return decode(np.column_stack(ends).ravel(), self.classes_).reshape(-1, 2)

    def _check_decision(self, n_classes: int) -> None:
        """Refuse a cost matrix that does not fit the classes."""
        if not isinstance(self.decision, str):
            decisions.check_cost(self.decision, n_classes)

    def _codes(self, rows: Rows) -> NDArray[Any]:
        if isinstance(self.decision, str) and self.decision == "median":
            return decisions.median(self._cumulative(rows))
        probabilities = self._probabilities(rows)
        if not isinstance(self.decision, str):
            return decisions.least_cost(probabilities, self.decision)
        return decisions.mode(probabilities) if self.decision == "mode" else decisions.rounded_mean(probabilities)

    def _answer_scores(self, rows: Rows) -> Floats:
        """Minus the expected cost of every answer, (n, K); the difference, (n,), for two classes."""
        probabilities = self._probabilities(rows)
        n_classes = probabilities.shape[1]
        cost = _cost_of(self.decision, n_classes) if isinstance(self.decision, str) else self.decision
        scores = -decisions.expected_costs(probabilities, cost)
        return scores[:, 1] - scores[:, 0] if n_classes == 2 else scores


def _cost_of(decision: str, n_classes: int) -> Floats:
    """Costs ``C[true, answer]`` that a decision minimises."""
    refuse_many_classes("the cost of every answer", n_classes, _MOST_CLASSES)
    k = np.arange(n_classes)
    if decision == "mode":
        return 1.0 - np.eye(n_classes)
    return np.asarray(np.subtract.outer(k, k) ** 2.0 if decision == "mean" else abs(k[:, None] - k))


def require_level(name: str, value: Any) -> None:
    """Refuse a value that is not a number between 0 and 1."""
    if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, both excluded. Got {value!r} instead.")
