"""Coverage and size of sets of classes, added up batch by batch: nothing is kept but sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.labels import Labels, encode

LEVEL = 0.9  # of intervals from probabilities, which can be asked for at any


def sets_of(estimator: Any, X: Any) -> tuple[NDArray[np.bool_], float] | None:
    """Which classes each row's set holds, and its level: a conformal set, or an interval from the probabilities.

    None for an estimator that has neither.
    """
    if hasattr(estimator, "predict_set"):
        return np.asarray(estimator.predict_set(X)), float(estimator.level)
    if not (hasattr(estimator, "predict_interval") and hasattr(estimator, "predict_proba")):
        return None
    ends = encode(estimator.predict_interval(X, LEVEL), estimator.classes_)
    k = np.arange(len(ends.order))
    return (k >= ends.lower[:, None]) & (k <= ends.upper[:, None]), LEVEL


class SetSums:
    """Sets against labels of any form. Rows without a label, or without weight, are left out.

    Examples
    --------
    >>> sums = SetSums()
    >>> sums.add(encode([1, (1, 2)], [1, 2, 3]), (np.array([[True, False, False]] * 2), 0.9), None)
    >>> {name: sums.results()["sets"][name] for name in ("coverage", "coverage_at_worst", "width")}
    {'coverage': 1.0, 'coverage_at_worst': 0.5, 'width': 1.0}
    """

    def __init__(self) -> None:
        self.level = LEVEL
        self._sums: Any = 0.0  # weight, held at best, held at worst: (3, K+1) by size, from the first batch on

    def add(self, labels: Labels, sets: tuple[NDArray[np.bool_], float] | None, weight: Any) -> None:
        """Add the rows of a batch; nothing if there are no sets."""
        if sets is None:
            return
        held, self.level = sets
        w = np.where(labels.is_missing, 0.0, 1.0 if weight is None else weight)
        admitted = labels.admissible()
        best, worst = (held & admitted).any(axis=1), (held | ~admitted).all(axis=1)
        size, n = held.sum(axis=1), held.shape[1] + 1
        self._sums = self._sums + np.stack([np.bincount(size, w * one, n) for one in (1.0, best, worst)])

    def results(self) -> dict[str, Any]:
        """``sets``: level, coverage at best and at worst, mean width, and the same by size; {} if there are none."""
        if not np.any(self._sums):
            return {}
        weight, best, worst = self._sums
        total = float(weight.sum())
        sizes = [
            {
                "size": int(size),
                "share": float(weight[size] / total),
                "coverage": float(best[size] / weight[size]),
                "coverage_at_worst": float(worst[size] / weight[size]),
            }
            for size in np.flatnonzero(weight)
        ]
        found = {"coverage": float(best.sum() / total), "coverage_at_worst": float(worst.sum() / total)}
        width = float(weight @ np.arange(weight.size) / total)
        return {"sets": {"level": self.level, **found, "width": width, "sizes": sizes}}
