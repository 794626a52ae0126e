"""Annotation processes small enough to know everything about: every risk is a sum over all cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LOSSES = {"mae": lambda y, p: abs(y - p), "zero_one": lambda y, p: float(y != p)}


@dataclass(frozen=True)
class Process:
    """A few inputs x, a classifier h, and the probabilities of class and interval; classes are codes 0..K-1."""

    n_classes: int
    intervals: list[tuple[int, int]]
    joint: np.ndarray  #: (x, y), p(x, y)
    annotation: np.ndarray  #: (x, y, interval), p(interval | x, y)
    h: np.ndarray  #: (x,), predicted codes

    def cases(self):
        """Every case of positive probability: p, predicted code, true code, interval."""
        for x, y in np.argwhere(self.joint > 0):
            for i in np.flatnonzero(self.annotation[x, y] > 0):
                yield self.joint[x, y] * self.annotation[x, y, i], int(self.h[x]), int(y), self.intervals[i]

    def risk(self, loss):
        return sum(p * LOSSES[loss](y, h) for p, h, y, _ in self.cases())

    def partial_risk(self, loss):
        return sum(p * min(LOSSES[loss](z, h) for z in range(low, high + 1)) for p, h, _, (low, high) in self.cases())

    def pessimistic_risk(self, loss):
        return sum(p * max(LOSSES[loss](z, h) for z in range(low, high + 1)) for p, h, _, (low, high) in self.cases())

    def ambiguity(self):
        """Largest probability that z != y is admissible, over all x, y, z."""
        rates = [
            sum(p for p, (low, high) in zip(self.annotation[x, y], self.intervals, strict=True) if low <= z <= high)
            for x, y in np.argwhere(self.joint > 0)
            for z in range(self.n_classes)
            if z != y
        ]
        return max(rates, default=0.0)

    @property
    def alpha(self):
        return sum(p for p, _, _, (low, high) in self.cases() if low == high)

    @property
    def beta(self):
        return max(high - low for _, _, _, (low, high) in self.cases())

    @property
    def mean_width(self):
        return sum(p * (high - low) for p, _, _, (low, high) in self.cases())

    @property
    def mean_reach(self):
        return sum(p * max(abs(low - y), abs(high - y)) for p, _, y, (low, high) in self.cases())

    def sample(self, n, rng):
        """Predicted codes, true codes and intervals (n, 2) of n independent rows."""
        cases = list(self.cases())
        weights = np.array([case[0] for case in cases])
        chosen = rng.choice(len(cases), n, p=weights / weights.sum())
        h, y, ends = ([cases[i][place] for i in chosen] for place in (1, 2, 3))
        return np.array(h), np.array(y), np.array(ends)


def make_process(seed, *, consistent=True, depends_on_x=True):
    """A random process: up to 4 inputs, 2 to 5 classes, sparse distributions of intervals."""
    rng = np.random.default_rng(seed)
    n_inputs, k = int(rng.integers(1, 5)), int(rng.integers(2, 6))
    intervals = [(low, high) for low in range(k) for high in range(low, k)]
    joint = rng.dirichlet(np.full(n_inputs * k, 0.5)).reshape(n_inputs, k)
    holds = np.array([[low <= y <= high for low, high in intervals] for y in range(k)])
    admitted = holds if consistent else np.ones_like(holds)
    shape = (n_inputs if depends_on_x else 1, k, len(intervals))
    weights = rng.gamma(0.3, size=shape) * admitted + 1e-9 * admitted
    weights[weights < 1e-3 * weights.max(axis=2, keepdims=True)] = 0.0
    annotation = np.broadcast_to(weights / weights.sum(axis=2, keepdims=True), (n_inputs, k, len(intervals)))
    return Process(k, intervals, joint, annotation, rng.integers(0, k, n_inputs))
