"""How a model decides: one score for each row, thresholds between the classes, and the probabilities that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise._types import Floats
from rankwise.calibration import CalibratedOrdinal
from rankwise.labels import encode
from rankwise.losses._links import distribution, quantile
from rankwise.plots._final_estimator import Inner, inner
from rankwise.table_model import table_encoder


@dataclass(frozen=True, eq=False)
class Target(Inner):
    """The score of a model, computed by the estimator inside. ``kind`` is "score", "expected rank" or "rank"."""

    kind: str
    thresholds: Floats  # a score at or above the k-th of them is class k+1 or higher
    factor: float = 1.0  # of the score of ``final``
    shift: float = 0.0
    link: str | None = None  # of probabilities
    link_thresholds: Floats | None = None

    @classmethod
    def of(cls, model: Any) -> Target:
        """The score of a fitted model."""
        inside = inner(model)
        check_is_fitted(inside.final)
        final, before = inside.final, inside.before
        if isinstance(final, CalibratedOrdinal) and final.method == "link" and hasattr(final.estimator_, "project"):
            link, within = final.link_, inner(final.estimator_)
            if before is None or within.before is None:
                factor = float(link.coef_[0]) / final._scale
                shift = -factor * float(np.ravel(final._centre)[0])
                before = within.before if before is None else before
                return cls._linked(model, within.final, before, link.link, link.thresholds_, factor, shift)
        if hasattr(final, "project"):
            if hasattr(final, "predict_proba") and hasattr(final, "link"):
                return cls._linked(model, final, before, final.link, final.thresholds_)
            return cls(model, final, before, "score", np.asarray(final.thresholds_))
        if not hasattr(model, "classes_"):
            raise TypeError(
                f"{type(final).__name__} has no classes_: explanations need a fitted classifier, such as an estimator "
                f"of rankwise, a pipeline that ends in one, or a TableModel."
            )
        kind = "expected rank" if hasattr(model, "predict_proba") else "rank"
        return cls(model, final, before, kind, np.arange(0.5, len(model.classes_) - 1))

    @classmethod
    def _linked(
        cls, model: Any, final: Any, before: Any, link: str, thresholds: Floats, factor: float = 1.0, shift: float = 0.0
    ) -> Target:
        at_median = thresholds - float(quantile(link, 0.5))
        return cls(model, final, before, "score", at_median, factor, shift, link, thresholds)

    @property
    def classes(self) -> NDArray[Any]:
        return np.asarray(self.model.classes_)

    @property
    def takes_arrow(self) -> bool:
        return self.before is None or table_encoder(self.before) is not None

    def scores(self, X: Any) -> Floats:
        if self.kind == "score":
            return np.asarray(self.factor * self.final.project(self.rows(X)) + self.shift)
        if self.kind == "expected rank":
            probabilities = self.model.predict_proba(X)
            return np.asarray(probabilities @ np.arange(probabilities.shape[1]))
        return np.asarray(encode(self.model.predict(X), self.classes).lower, dtype=np.float64)

    def at_least(self, scores: Any) -> Floats | None:
        """``P(class k or higher)`` of every class but the lowest at these scores, (..., K-1); None if unknown."""
        if self.link is None or self.link_thresholds is None:
            return None
        return np.asarray(1.0 - distribution(self.link, self.link_thresholds - np.asarray(scores)[..., None]))
