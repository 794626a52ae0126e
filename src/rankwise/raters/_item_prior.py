"""Prior of an item's class in the model of raters: the same for all items, or from features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rankwise._types import Floats
from rankwise.base.row_data import row_count, rows_at
from rankwise.batch import CumulativeLink
from rankwise.labels import ClassOrder, Labels
from rankwise.raters._em import Parameters

_EVERY = 5  # steps of EM between two fits of the link
_FLOOR = 1e-12  # of a class's probability: answers may contradict the features


def log_shares(posterior: Floats, parameters: Parameters) -> tuple[Floats, float]:
    """Logarithms of the shares of the classes, the same for every item; their prior is that of the parameters."""
    return np.tile(np.log(parameters.prior), (posterior.shape[0], 1)), 0.0


class FeaturePrior:
    """``P(z | x)`` by a cumulative link, fitted to the posteriors every few steps.

    A fit that does not increase the expected log-likelihood, because it was stopped early, is discarded.
    """

    def __init__(self, X: Any, order: ClassOrder, alpha: float) -> None:
        self.X = X
        self.order = order
        self.alpha = alpha
        self.link: Any = None
        self._calls = 0

    def __call__(self, posterior: Floats, parameters: Parameters) -> tuple[Floats, float]:
        """Logarithms of the items' priors, and the penalty of the weights."""
        if self._calls % _EVERY == 0:
            new = self._fitted(posterior)
            if self.link is None or self._gain(new, posterior) > self._gain(self.link, posterior):
                self.link = new
        self._calls += 1
        return self.logarithms(self.link, self.X), self._penalty(self.link)

    def _fitted(self, posterior: Floats) -> Any:
        n, n_classes = posterior.shape
        rows = np.repeat(np.arange(n), n_classes)
        codes = np.tile(np.arange(n_classes, dtype=np.int32), n)
        labels = Labels(self.order, codes, codes)
        X = rows_at(self.X, rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class with hardly any weight so far is no concern of the caller
            link = CumulativeLink(alpha=self.alpha, classes=self.order.values)
            return link.fit(X, labels, sample_weight=posterior.ravel())

    def _gain(self, link: Any, posterior: Floats) -> float:
        return float((posterior * self.logarithms(link, self.X)).sum()) - self._penalty(link)

    def _penalty(self, link: Any) -> float:
        return 0.5 * self.alpha * row_count(self.X) * float(link.coef_ @ link.coef_)

    @staticmethod
    def logarithms(link: Any, X: Any) -> Floats:
        """Logarithms of the class probabilities of rows, none below a floor."""
        return np.asarray(np.log(np.maximum(link.predict_proba(X), _FLOOR)))
