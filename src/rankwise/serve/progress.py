"""The error of a version of the model on its feedback, each row judged before the model learns from it.

Imprecise feedback leaves a range: the error to the nearest class that a label admits, and to the farthest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.evaluation.quality_sums import RunningLoss
from rankwise.labels import ClassOrder, Labels

_POINTS = 240  # of the curve; beyond, every second one is left out
_RECENT = 500.0  # rows that the recent error looks back


class ErrorProgress:
    """Sums over the feedback of a version."""

    def __init__(self, order: ClassOrder) -> None:
        self.order = order
        self.loss = RunningLoss(order)
        self.covered = [0, 0, 0]  # rows with an interval; whose label lies inside; whose label meets it
        self.refused = 0
        self.label_counts = np.zeros(len(order), dtype=np.int64)  # of exact labels
        self.curve: list[tuple[int, float, float]] = []  # place of the log, error and error at worst so far
        self.recent: list[float] = []
        self._stride, self._next = 1, 1

    def add(
        self, seq: int, labels: Labels, predicted: NDArray[Any], weight: Floats,
        intervals: NDArray[Any] | None,
    ) -> None:  # fmt: skip
        """Count rows that were predicted, up to a place of the log."""
        before, sums = self.loss.n_rows, self._sums()
        self.loss.add(labels, predicted, weight)
        exact = labels.is_exact
        self.label_counts += np.bincount(labels.lower[exact], minlength=len(self.order))
        if intervals is not None:
            self._cover(labels, intervals)
        n = self.loss.n_rows - before
        if n:
            self._look_back(n, (self._sums() - sums) / n)
        if self.loss.n_rows >= self._next:
            self._point(seq)

    def _sums(self) -> Floats:
        return np.array([self.loss._sums[0], self.loss._sums[3]])

    def _look_back(self, n: int, means: Floats) -> None:
        kept = float(np.exp(-n / _RECENT)) if self.recent else 0.0
        before = self.recent or [0.0, 0.0]
        self.recent = [kept * old + (1.0 - kept) * float(new) for old, new in zip(before, means, strict=True)]

    def _cover(self, labels: Labels, intervals: NDArray[Any]) -> None:
        known = ~labels.is_missing
        low, high = (self.order.codes(ends)[known] for ends in np.asarray(intervals).T)
        lower, upper = labels.lower[known], labels.upper[known]
        inside, meets = (low <= lower) & (upper <= high), (low <= upper) & (lower <= high)
        self.covered = [old + int(new.sum()) for old, new in zip(self.covered, (known, inside, meets), strict=True)]

    def _point(self, seq: int) -> None:
        results = self.loss.results()
        self.curve.append((seq, results["mae"], results["mae_at_worst"]))
        if len(self.curve) > _POINTS:
            self.curve = self.curve[1::2]
            self._stride *= 2
        self._next = self.loss.n_rows + self._stride

    # -- files -------------------------------------------------------------------------------------------------------

    def to_plain(self) -> dict[str, Any]:
        """All sums, as JSON holds them."""
        loss = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in self.loss.state().items()}
        own = {"covered": self.covered, "refused": self.refused, "labels": self.label_counts.tolist()}
        return {**own, "loss": loss, "curve": self.curve, "recent": self.recent, "stride": [self._stride, self._next]}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Continue from sums that :meth:`to_plain` gave."""
        self.loss.restore({k: np.array(v) if isinstance(v, list) else v for k, v in plain["loss"].items()})
        self.covered, self.refused = list(plain["covered"]), plain["refused"]
        self.label_counts = np.array(plain["labels"], dtype=np.int64)
        self.curve = [(seq, low, high) for seq, low, high in plain["curve"]]
        self.recent = list(plain["recent"])
        self._stride, self._next = plain["stride"]

    def facts(self) -> dict[str, Any]:
        """Results for people and machines."""
        results = self.loss.results()
        rows, inside, meets = self.covered
        facts = {name: results[name] for name in ("rows", "exact_labels", "unlabelled_rows")}
        facts["refused"] = self.refused
        if "mae" in results:
            facts |= {"error": results["mae"], "error_at_worst": results["mae_at_worst"], "error_se": results["mae_se"]}
            facts |= {"recent_error": self.recent[0], "recent_error_at_worst": self.recent[1]}
        if rows:
            facts |= {"covered_at_least": inside / rows, "covered_at_most": meets / rows}
        return facts
