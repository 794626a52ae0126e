"""The hinges of SVOR, smoothed, as an objective of boosted trees.

A label ``[lo, hi]`` wants the score above the thresholds below lo and below those from hi on, by a margin of 1. With
``u = 1 - (f - t)`` or ``1 + (f - t)`` the shortfall, the loss of a threshold is the hinge ``max(u, 0)``, rounded off on
``[0, 1]``: ``u^2 / 2`` there and ``u - 1/2`` beyond. "implicit" adds it over all thresholds (the score of a class is
how many thresholds lie below it), "explicit" over the one or two that end the label (Chu and Keerthi, 2007).

Second derivatives are 1 for every hinge with a shortfall: a bound which the loss touches, so a leaf moves by no more
than the margin. Thresholds do not depend on each other but for their order. Their step is Newton's with the same bound,
and then the nearest ascending thresholds, by isotonic regression with the second derivatives as weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from rankwise._kernels.compile import kernel
from rankwise._types import Floats, Places
from rankwise.risks.innermost_intervals import InnermostIntervals
from rankwise.trees._objective import FLOOR, Objective
from rankwise.trees.tree_rows import TeamRows

_STEPS, _ENOUGH = 200, 1e-8  # of the thresholds alone
_LIGHT = 1e-12  # weight of a threshold without a shortfall


class HingeObjective(Objective):
    """Mean of smoothed hinges; see the module's docstring.

    ``reach`` thresholds beyond each end of a label count: 1 for "explicit", K for "implicit".
    """

    def __init__(self, rows: TeamRows, innermost: InnermostIntervals, reach: int, n_threads: int = 1) -> None:
        super().__init__(len(rows), n_threads, rows.team)
        self.rows, self.innermost, self.reach = rows, innermost, reach
        self.low = innermost.low_ends()[rows.lower].astype(np.int32)
        self.high = innermost.high_ends()[rows.upper].astype(np.int32) - np.int32(1)

    def start(self) -> Floats:
        """Whole numbers about zero, in balance with scores of zero."""
        m = self.innermost.n_thresholds
        return self.balanced(np.zeros(self.n_rows), np.asarray(np.arange(m) - 0.5 * (m - 1), dtype=np.float64))

    def step(self, f: Floats, t: Floats) -> Floats:
        """One pass over the rows."""
        _, dt, stiffness = self._pass(f, t)
        if t.size == 0:
            return t
        moved = t - dt / np.maximum(stiffness, _LIGHT)
        return np.asarray(isotonic_regression(moved, weights=np.maximum(stiffness, _LIGHT)).x)

    def balanced(self, f: Floats, t: Floats) -> Floats:
        """Steps until nothing moves."""
        for _ in range(_STEPS):
            before, t = t, self.step(f, t)
            if not np.any(np.abs(t - before) > _ENOUGH):
                break
        return t

    def loss(self, f: Floats, t: Floats) -> float:
        """Weighted mean over rows."""
        return float(self._pass(f, t)[0])

    def take(self, index: Places) -> HingeObjective:
        """Some of the rows."""
        return HingeObjective(self.rows.take(index), self.innermost, self.reach, self.n_threads)

    def _pass(self, f: Floats, t: Floats) -> tuple[Any, ...]:
        def work(block: slice) -> tuple[float, Floats, Floats]:
            sums = np.zeros(t.size), np.zeros(t.size)
            rows = f[block], self.low[block], self.high[block], self.rows.weight[block]
            filled = self.gradient[block], self.curvature[block]
            return _derivatives(*rows, t, self.reach, float(self.n_of_team), *filled, *sums), *sums

        return self.blocks.sums(work)


@kernel
def _derivatives(f, low, high, weight, t, reach, scale, gradient, curvature, dt, stiffness):
    """Derivatives of every row, sums over rows by threshold; returns the sum of the losses."""
    risk = 0.0
    for i in range(f.size):
        c, loss, push, active = weight[i], 0.0, 0.0, 0
        for k in range(max(low[i] - reach, 0), low[i]):
            u = 1.0 - (f[i] - t[k])
            if u > 0.0:
                slope = min(u, 1.0)
                loss += slope * (u - 0.5 * slope)
                push -= slope
                active += 1
                dt[k] += c * slope
                stiffness[k] += c
        for k in range(high[i], min(high[i] + reach, t.size)):
            u = 1.0 + (f[i] - t[k])
            if u > 0.0:
                slope = min(u, 1.0)
                loss += slope * (u - 0.5 * slope)
                push += slope
                active += 1
                dt[k] -= c * slope
                stiffness[k] += c
        risk += c * loss
        gradient[i] = scale * c * push
        curvature[i] = scale * c * max(float(active), FLOOR)
    return risk
