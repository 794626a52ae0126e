"""What the report uses of a model: its classifier, thresholds, weights and feature names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise._types import Floats
from rankwise.evaluation._sums import sets_of
from rankwise.plots._final_estimator import Inner, inner


@dataclass(frozen=True, eq=False)
class View(Inner):
    """A fitted classifier: alone, in a table model or pipeline, or the best of a search."""

    classes: NDArray[Any]  # lowest first if they have an order
    ordered: bool  # whether the order of the classes means something

    @property
    def thresholds(self) -> Floats | None:
        """Thresholds on the score axis, if the classifier has one score and thresholds."""
        if not hasattr(self.final, "project") or not hasattr(self.final, "thresholds_"):
            return None
        return np.asarray(self.final.thresholds_, dtype=np.float64)

    @property
    def weights(self) -> Floats | None:
        """Weights of the features, (d,) or (m, d); None for a classifier that has none, or whose features grew."""
        weights = getattr(self.final, "coef_", None)
        if weights is None:
            return None
        weights = np.asarray(weights, dtype=np.float64)
        return weights if weights.ndim in (1, 2) and weights.shape[-1] == len(self.names) else None

    def predict(self, X: Any) -> tuple[NDArray[Any], Floats | None, Floats | None, Any]:
        """Predicted classes; scores on the axis of the thresholds, probabilities and sets, where there are any."""
        rows = self.rows(X)
        scores = None if self.thresholds is None else np.asarray(self.final.project(rows), dtype=np.float64)
        probabilities = np.asarray(self.final.predict_proba(rows)) if hasattr(self.final, "predict_proba") else None
        sets = sets_of(self.final, rows) if self.ordered else None
        return np.asarray(self.final.predict(rows)), scores, probabilities, sets


def look_at(model: Any) -> View:
    """Find the classifier in a fitted model; an error says why there is nothing to report on."""
    final = inner(model).final
    name = type(final).__name__
    if hasattr(final, "predict_ranking"):
        raise TypeError(
            f"a report is about predicted classes, and {name} ranks labels: see rankwise.metrics.ranking_loss and "
            f"rankwise.plots.RankingDisplay."
        )
    needed = "a report needs a fitted classifier with predict and classes_"
    if not hasattr(final, "predict"):
        raise TypeError(f"{needed}. {name} has no predict.")
    check_is_fitted(model)
    classes = getattr(final, "classes_", None)
    if classes is None or np.ndim(classes) != 1:
        raise TypeError(f"{needed}. {name} has no list of classes_.")
    classes = np.asarray(classes)
    ours = type(final).__module__.startswith("rankwise.")
    # Other libraries sort their classes, which is a meaningful order for numbers only.
    ordered = bool(getattr(final, "ordered", ours or classes.dtype.kind in "iuf"))
    return View(model, final, inner(model).before, classes, ordered)
