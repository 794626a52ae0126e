"""Estimators with one score a row and ordered thresholds: the class is where the score lies among the thresholds.

With a link there are class probabilities too: ``P(y <= k) = F(t_k - f)``.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.base.estimator import OrdinalEstimator
from rankwise.base.probabilities import ProbabilityModel
from rankwise.base.row_data import Rows
from rankwise.base.transaction import reader
from rankwise.decisions import interval_scores, ranks
from rankwise.risks.links import distribution, probabilities, quantile


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


class LinkModel(ProbabilityModel, ThresholdModel):
    """Base of the cumulative links; their parameter ``link`` names the distribution F."""

    link: str

    @reader
    def decision_function(self, X: Any) -> Floats:
        """One number for every class, (n, K); (n,) for two classes. The largest entry is the prediction.

        ``decision="median"``: the signed distance of the row's median to the class's interval between thresholds, as
        for the other threshold models. Other decisions: minus the expected cost of the answer.
        """
        rows = self._rows(X, reset=False)
        if self._by_median:
            return interval_scores(self._project(rows) + self._median_shift, self.thresholds_)
        return self._answer_scores(rows)

    @property
    def _by_median(self) -> bool:
        """Whether the threshold rule decides."""
        return isinstance(self.decision, str) and self.decision == "median"

    @property
    def _median_shift(self) -> float:
        """How far the median lies above the score."""
        return float(quantile(self.link, 0.5))

    def _codes(self, rows: Rows) -> NDArray[Any]:
        if self._by_median:
            return ranks(self._project(rows) + self._median_shift, self.thresholds_)
        return super()._codes(rows)

    def _probabilities(self, rows: Rows) -> Floats:
        return probabilities(self.link, self._project(rows), self.thresholds_)

    def _cumulative(self, rows: Rows) -> Floats:
        return np.asarray(distribution(self.link, self.thresholds_ - self._project(rows)[:, None]))

    def _validate_params(self) -> None:
        if isinstance(self.link, str) and self.link == "cauchit":
            raise ValueError(
                "link='cauchit' is refused: its density is not log-concave, so the likelihood is not convex and no "
                "optimum can be certified. Choose among logit, probit, cloglog, loglog."
            )
        super()._validate_params()
