"""How a model decides: one score for each row, thresholds between the classes, and the probabilities that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise._types import Floats
from rankwise.base.model import Model
from rankwise.calibration import CalibratedOrdinal
from rankwise.labels import encode
from rankwise.risks.links import distribution, quantile
from rankwise.table_model import table_encoder


@dataclass(frozen=True, eq=False)
class Target:
    """The score of a model, computed by the estimator inside. ``kind`` is "score", "expected rank" or "rank"."""

    model: Model  # opened down to the estimator that computes the score
    kind: str
    thresholds: Floats  # a score at or above the k-th of them is class k+1 or higher
    factor: float = 1.0  # of the score of ``final``
    shift: float = 0.0
    link: str | None = None  # of probabilities
    link_thresholds: Floats | None = None

    @classmethod
    def of(cls, model: Any) -> Target:
        """The score of a fitted model."""
        inside = Model.of(model)
        final = inside.final
        check_is_fitted(final)
        if isinstance(final, CalibratedOrdinal) and final.method == "link" and (within := inside.within).has_score:
            link, factor = final.link_, float(final.link_.coef_[0]) / final._scale
            shift = -factor * float(np.ravel(final._centre)[0])
            return cls._linked(within, link.link, link.thresholds_, factor, shift)
        if inside.has_score:
            if inside.can("predict_proba", "link"):
                return cls._linked(inside, final.link, final.thresholds_)
            return cls(inside, "score", np.asarray(final.thresholds_))
        if not inside.has_classes:
            raise TypeError(
                f"{inside.name} has no classes_: explanations need a fitted classifier, such as an estimator of "
                f"rankwise, a pipeline that ends in one, or a TableModel."
            )
        kind = "expected rank" if inside.can("predict_proba") else "rank"
        return cls(inside, kind, np.arange(0.5, len(inside.classes) - 1))

    @classmethod
    def _linked(cls, model: Model, link: str, thresholds: Floats, factor: float = 1.0, shift: float = 0.0) -> Target:
        at_median = thresholds - float(quantile(link, 0.5))
        return cls(model, "score", at_median, factor, shift, link, thresholds)

    @property
    def classes(self) -> NDArray[Any]:
        return np.asarray(self.model.given.classes_)

    @property
    def takes_arrow(self) -> bool:
        return self.model.before is None or table_encoder(self.model.before) is not None

    def scores(self, X: Any) -> Floats:
        model, rows = self.model, self.model.rows(X)
        if self.kind == "score":
            return np.asarray(self.factor * model.final.project(rows) + self.shift)
        if self.kind == "expected rank":
            probabilities = model.final.predict_proba(rows)
            return np.asarray(probabilities @ np.arange(probabilities.shape[1]))
        return np.asarray(encode(model.final.predict(rows), self.classes).lower, dtype=np.float64)

    def at_least(self, scores: Any) -> Floats | None:
        """``P(class k or higher)`` of every class but the lowest at these scores, (..., K-1); None if unknown."""
        if self.link is None or self.link_thresholds is None:
            return None
        return np.asarray(1.0 - distribution(self.link, self.link_thresholds - np.asarray(scores)[..., None]))
