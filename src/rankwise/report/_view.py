"""How the report sees a model: what predicts, what has the thresholds and weights, what the features are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.table_model import TableModel

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """A fitted classifier, wherever it stands: alone, behind an encoder or a pipeline, or as the best of a search."""

    model: Any  # what was handed in
    final: Any  # the classifier inside
    before: Any  # transformer from rows of the model to rows of the classifier; None: they are the same
    classes: NDArray[Any]  # lowest first if they have an order
    ordered: bool  # whether the order of the classes means something
    names: list[str]  # the classifier's features; empty if it does not say how many it has

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
        found = np.asarray(weights, dtype=np.float64)
        return found if found.ndim in (1, 2) and found.shape[-1] == len(self.names) else None

    def predict(self, X: Any) -> tuple[NDArray[Any], Floats | None]:
        """Predicted classes, and the scores on the axis of the thresholds if there is one."""
        rows = X if self.before is None else self.before.transform(X)
        scores = None if self.thresholds is None else np.asarray(self.final.project(rows), dtype=np.float64)
        return np.asarray(self.final.predict(rows)), scores


def look_at(model: Any) -> View:
    """Find the classifier in a fitted model, or say why there is nothing to report on."""
    name = type(model).__name__
    if hasattr(model, "predict_ranking"):
        raise TypeError(
            f"a report is about predicted classes, and {name} ranks labels: see rankwise.metrics.ranking_loss and "
            f"rankwise.plots.RankingDisplay."
        )
    if not hasattr(model, "predict"):
        raise TypeError(f"a report needs a fitted classifier with predict and classes_. {name} has no predict.")
    check_is_fitted(model)
    before, final = _split(getattr(model, "best_estimator_", model))
    if not hasattr(final, "classes_") or np.ndim(final.classes_) != 1:
        raise TypeError(
            f"a report needs a fitted classifier with predict and classes_. {name} has no list of classes_."
        )
    classes = np.asarray(final.classes_)
    ours = type(final).__module__.startswith("rankwise.")
    # Others sort their classes, which is an order for numbers and none for names.
    ordered = bool(getattr(final, "ordered", ours or classes.dtype.kind in "iuf"))
    return View(model, final, before, classes, ordered, _names(before, final))


def _split(model: Any) -> tuple[Any, Any]:
    """What comes before the classifier of a pipeline or a table model, or None, and the classifier."""
    if isinstance(model, TableModel):
        return model.encoder_, model.estimator_
    if not hasattr(model, "steps"):
        return None, model
    return model[:-1] if len(model) > 1 else None, model[-1]


def _names(before: Any, final: Any) -> list[str]:
    """Names of the classifier's features; numbered where a step cannot name what it makes."""
    names = getattr(final, "feature_names_in_", None)
    if before is not None:
        try:
            names = before.get_feature_names_out()
        except (AttributeError, ValueError):
            names = None
    if names is None:
        names = [f"x{j}" for j in range(getattr(final, "n_features_in_", 0))]
    return [str(name) for name in names]
