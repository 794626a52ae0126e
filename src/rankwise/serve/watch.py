"""Metrics of a running service: times, counts, and how far rows have drifted."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_REFERENCE = 1000  # first rows that later ones are compared with
_RECENT = 1000.0  # rows that the comparison looks back
_SHOWN = 12  # last predictions and feedbacks on the page


class Requests:
    """Counts and times of requests."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()
        self.times: dict[str, list[float]] = {}  # a count for each bucket and one beyond, the sum

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.counts[route, status] += 1
        times = self.times.setdefault(route, [0.0] * (len(BUCKETS) + 2))
        times[bisect_left(BUCKETS, seconds)] += 1
        times[-1] += seconds


class Watch:
    """Predictions of one model.

    ``columns`` are the columns of numbers, which come first in encoded rows; ``standard`` is whether they had mean 0
    and spread 1 in the rows that the model was fitted to.
    """

    def __init__(self, n_classes: int, columns: list[str], *, standard: bool) -> None:
        self.columns = columns
        self.n_predicted = 0
        self.class_counts = np.zeros(n_classes, dtype=np.int64)
        self.predictions: deque[dict[str, Any]] = deque(maxlen=_SHOWN)
        self.feedback: deque[dict[str, Any]] = deque(maxlen=_SHOWN)
        self.started = time.time()
        d = len(columns)
        self._first = np.zeros(n_classes)
        self._recent = np.zeros(n_classes)
        self._standard = standard
        self._n_reference = 0
        self._sums = np.zeros((2, d))
        self._means = np.zeros(d)
        self._weight = 0.0

    def predicted(self, codes: NDArray[np.integer[Any]], encoded: Any) -> None:
        """Count predictions and look at their rows."""
        n = len(codes)
        counts = np.bincount(codes, minlength=self.class_counts.size)
        self.class_counts += counts
        if self.n_predicted < _REFERENCE:
            self._first += counts
        kept = float(np.exp(-n / _RECENT))
        self._recent = kept * self._recent + (1.0 - kept) * counts / n
        self.n_predicted += n
        if isinstance(encoded, np.ndarray) and self.columns:
            self._look_at(encoded[:, : len(self.columns)], kept)

    def _look_at(self, numbers: NDArray[Any], kept: float) -> None:
        if not self._standard and self._n_reference < _REFERENCE:
            self._n_reference += len(numbers)
            with np.errstate(over="ignore"):  # a spread beyond all numbers is no drift
                self._sums += numbers.sum(axis=0), (numbers * numbers).sum(axis=0)
        self._means = kept * self._means + (1.0 - kept) * numbers.mean(axis=0)
        self._weight = kept * self._weight + (1.0 - kept)

    def class_drift(self) -> float:
        """Distance (total variation, 0 to 1) of the classes predicted lately from those predicted first."""
        if self.n_predicted < _REFERENCE:
            return 0.0
        return float(0.5 * np.abs(self._first / self._first.sum() - self._recent / self._recent.sum()).sum())

    def column_drift(self) -> dict[str, float]:
        """Distance of the mean of recent rows from the reference, in its standard deviations, for every column."""
        if not self._weight or (not self._standard and self._n_reference < _REFERENCE):
            return {}
        mean: Any = 0.0
        spread: Any = 1.0
        if not self._standard:
            mean = self._sums[0] / self._n_reference
            spread = np.sqrt(np.maximum(self._sums[1] / self._n_reference - mean**2, 1e-300))
        distances = np.abs(self._means / self._weight - mean) / spread
        return dict(zip(self.columns, distances.tolist(), strict=True))


class Exposition:
    """Text for Prometheus."""

    def __init__(self) -> None:
        self._metrics: dict[str, list[str]] = {}  # the lines of one metric stand together

    def _lines(self, name: str, kind: str, help: str) -> list[str]:
        return self._metrics.setdefault(name, [f"# HELP {name} {help}", f"# TYPE {name} {kind}"])

    def add(self, name: str, kind: str, help: str, value: float, **labels: Any) -> None:
        """Add a value of a metric."""
        self._lines(name, kind, help).append(f"{name}{_labelled(labels)} {value:.12g}")

    def histogram(self, name: str, help: str, times: Mapping[str, list[float]]) -> None:
        """Add the times of all routes."""
        lines = self._lines(name, "histogram", help)
        for route, values in times.items():
            total = 0.0
            for bound, count in zip([*map(str, BUCKETS), "+Inf"], values[:-1], strict=True):
                total += count
                lines.append(f"{name}_bucket{_labelled({'route': route, 'le': bound})} {total:.12g}")
            lines.append(f"{name}_sum{_labelled({'route': route})} {values[-1]:.12g}")
            lines.append(f"{name}_count{_labelled({'route': route})} {total:.12g}")

    def text(self) -> str:
        """All metrics."""
        return "\n".join([line for lines in self._metrics.values() for line in lines] + [""])


def _labelled(labels: Mapping[str, Any]) -> str:
    if not labels:
        return ""
    escapes = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    return "{" + ",".join(f'{name}="{str(value).translate(escapes)}"' for name, value in labels.items()) + "}"
