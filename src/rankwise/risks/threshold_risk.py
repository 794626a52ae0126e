"""The loss of SVOR as an oracle: hinges between scores and thresholds, smoothed or not, with their dual variables.

The score of row i with codes ``[lo, hi]`` should be above the thresholds below ``lo`` and below those from ``hi`` on:

    psi_i = sum_{lo-reach <= k < lo} (1 - f_i + t_k)_+  +  sum_{hi <= k < hi+reach} (1 + f_i - t_k)_+

``reach = K - 1`` is SVOR-IMC (implicit constraints), ``reach = 1`` SVOR-EXP (explicit ones), whose thresholds must be
kept in order. The risk is the weighted mean of psi.

**Smoothing.** ``h(u) = max_{0<=a<=1} [a u + mu a (1 - a) / 2]`` is the hinge ``u_+`` except for ``|u| < mu/2``, where
it is a parabola, at most mu/8 above. Its derivative ``a = clip(u/mu + 1/2, 0, 1)`` is a dual variable of the hinge, so
every smoothed gradient is nearly a dual point: with ``P_k`` and ``N_k`` the sums of the a that push threshold k down
and up,

    D = sum c (a)  -  |sum_i r_i x_i|^2 / (2 alpha),      r_i = sum of the a above - sum of the a below,

is a lower bound on the objective once ``P_k = N_k`` for all k, which scaling down the larger side of each threshold
achieves. (With order constraints ``P_k - N_k + m_k - m_{k-1} = 0`` with multipliers ``m >= 0`` is enough. With
regularised thresholds nothing needs to balance: the difference is penalised like the weights.)

**Cost.** For ordered thresholds, the active hinges of a row and those on their parabola are ranges of k: four binary
searches, prefix sums of t and t^2, and difference arrays for the derivative by t give O(log K) per row. Short ranges
are looped over, which is faster. SVOR-IMC never needs thresholds out of order: exchanging two such thresholds cannot
raise psi, because all rows that want the upper one low want the lower one low too.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import isotonic_regression

from rankwise._types import Floats
from rankwise.risks.coded_rows import CodedRows
from rankwise.risks.hinges import bucketed, curvature, looped, order_statistics, searched
from rankwise.solvers.design import Design, LinearMap
from rankwise.solvers.risk import Pieces
from rankwise.solvers.row_sums import KinkedRowRisk, RowSums

_MOST_BUCKETS = 2000  # for counting scores before a few of them are sorted
_SHORT = 12  # thresholds up to which looping over a row's range is faster than searching it

#: Price of a unit of disorder between neighbouring thresholds. A multiplier of an order constraint is a difference of
#: sums of dual variables, at most 1 each because weights add up to 1: a price above 2 enforces the constraint exactly.
_ORDER_PRICE = 2.5


class ThresholdRisk(KinkedRowRisk):
    """Weighted mean of SVOR's losses; see the module's docstring.

    ``rows`` are CodedRows, or sums over such rows elsewhere. ``explicit``: whether only the thresholds next to the
    label count, and order is a constraint. Implements all protocols of :mod:`rankwise.solvers.risk`.
    """

    n_scores = 1
    most_classes = 20_000  # for which a fit takes seconds
    first_smoothing = 4.0  # every hinge begins on its parabola
    unit = 1.0

    def __init__(self, rows: RowSums, n_classes: int, *, explicit: bool) -> None:
        self.rows = rows
        self.n_offsets = n_classes - 1
        self.explicit = explicit
        self.reach = 1 if explicit else self.n_offsets
        self._one = np.ones(self.n_offsets)

    def start(self) -> Floats:
        """The more weight above a threshold, the lower it starts."""
        by_lower, by_upper = self.rows.mean(_weight_of_codes, self.n_offsets + 1)
        above, below = by_lower[:0:-1].cumsum()[::-1], by_upper[:-1].cumsum()
        both = above + below
        return np.asarray(np.divide(below - above, both, out=np.zeros_like(both), where=both > 0))

    def tidy(self, t: Floats) -> Floats:
        """Sort the thresholds, unless order is a constraint: that cannot raise the risk."""
        return t if self.explicit else np.sort(t)

    def derivatives(self, scores: Floats, t: Floats) -> tuple[float, Floats, Floats]:
        r, risk, _, dt = self._evaluate(scores, t, self._one, self._one)
        if self.explicit:
            m = self._add_order_pull(t, dt)
            risk += _ORDER_PRICE * float(m @ (t[:-1] - t[1:]) + 0.5 * self.mu * (m @ (1.0 - m)))
        return risk, r, dt

    def exact(self, scores: Floats, t: Floats) -> tuple[float, Floats]:
        """The risk at the nearest ordered thresholds, and these."""
        t = isotonic_regression(t).x if self.explicit else np.sort(t)
        return float(self.rows.mean(_exactly, scores, t, self.reach)[0]), t

    def dual(self, scores: Floats, t: Floats, *, balanced: bool) -> tuple[float, Floats, Floats]:
        """Dual variables near the smoothed gradient, made feasible; the gain is their sum."""
        if not balanced:
            r, _, gain, dt = self._evaluate(scores, t, self._one, self._one)
            if self.explicit:
                self._add_order_pull(t, dt)
            return gain, r, dt
        low, high = self.rows.mean(_sides, scores, t, self.mu, self.reach)
        new_low, new_high = _balance_in_order(low, high) if self.explicit else (np.minimum(low, high),) * 2
        scale_low = np.divide(new_low, low, out=np.zeros_like(low), where=low > 0)
        scale_high = np.divide(new_high, high, out=np.zeros_like(high), where=high > 0)
        r, _, gain, _ = self._evaluate(scores, t, scale_low, scale_high)
        return gain, r, np.zeros_like(t)

    def hessian(self, design: LinearMap, scores: Floats, t: Floats) -> Floats:
        d = design.n_features
        by_weight, by_both, by_threshold = self.rows.mean(_curvature, design, scores, t, self.mu, self.reach)
        hessian = np.zeros((d + t.size, d + t.size))
        hessian[:d, :d] = by_weight
        hessian[:d, d:] = by_both.T
        hessian[d:, :d] = by_both
        hessian[d:, d:] = np.diag(by_threshold)
        if self.explicit:
            second = _ORDER_PRICE / self.mu * (np.abs(t[:-1] - t[1:]) < 0.5 * self.mu)
            k = np.arange(d, d + t.size - 1)
            hessian[k, k] += second
            hessian[k + 1, k + 1] += second
            hessian[k, k + 1] -= second
            hessian[k + 1, k] -= second
        return hessian

    def best_offsets(self, scores: Floats) -> tuple[Floats, tuple[float, Floats]] | None:
        """Order statistics: without order constraints, every threshold is a separate problem.

        None with order constraints, and where the scores are not in one place.
        """
        if self.explicit or not isinstance(self.rows, CodedRows):
            return None
        t, r = np.empty(self.n_offsets), np.zeros_like(scores)
        n_buckets = min(_MOST_BUCKETS, len(scores))
        rows = scores[:, 0], self.rows.lower, self.rows.upper, self.rows.weight
        gain = bucketed(*rows, n_buckets, len(scores), t, r[:, 0])
        if np.isnan(gain):
            order = np.argsort(scores[:, 0])
            r[:] = 0.0
            gain = order_statistics(*(values[order] for values in rows), order, t, r[:, 0])
        return np.maximum.accumulate(t), (gain, r)

    def n_pieces(self) -> int:
        return int(self.rows.count(_n_pieces, self.n_offsets, self.reach)[0])

    def pieces(self) -> Pieces:
        """All hinges, each with its own slack."""
        low, high = _ranges(self.rows, self.n_offsets, self.reach)
        row = np.repeat(np.arange(low.size), low + high)
        place = np.arange(row.size) - np.repeat((low + high).cumsum() - (low + high), low + high)
        is_low = place < low[row]
        k = np.where(is_low, self.rows.lower[row] - low[row] + place, self.rows.upper[row] + place - low[row])
        sign = np.where(is_low, 1.0, -1.0)
        by_offset = sparse.csr_array((sign, (np.arange(row.size), k)), shape=(row.size, self.n_offsets))
        return Pieces(
            row, np.arange(row.size), np.ones(row.size), -sign[:, None], by_offset, self.rows.weight[row], self.explicit
        )

    def _add_order_pull(self, t: Floats, dt: Floats) -> Floats:
        """Add the pull of the order price to dt; return the derivatives of its smoothed hinges."""
        u = t[:-1] - t[1:]
        m = np.clip(u / self.mu + 0.5, 0.0, 1.0) if self.mu > 0.0 else (u > 0.0).astype(np.float64)
        dt[:-1] += _ORDER_PRICE * m
        dt[1:] -= _ORDER_PRICE * m
        return m

    def _evaluate(self, scores: Floats, t: Floats, scale_low: Floats, scale_high: Floats) -> Any:
        return self.rows.slopes(_evaluate, scores, t, self.mu, scale_low, scale_high, self.reach)


def _evaluate(
    rows: CodedRows, scores: Floats, t: Floats, mu: float, scale_low: Floats, scale_high: Floats, reach: int
) -> tuple[Floats, float, float, Floats]:
    """Derivatives by score; risk, sum of the scaled dual variables, derivatives by threshold."""
    r, dt = np.empty_like(scores), np.empty_like(t)
    labelled, rest = (scores[:, 0], t, rows.lower, rows.upper, rows.weight), (mu, scale_low, scale_high, r[:, 0], dt)
    risk, gain = looped(*labelled, reach, *rest) if reach <= _SHORT else searched(*labelled, *rest)
    return r, risk, gain, dt


def _exactly(rows: CodedRows, scores: Floats, t: Floats, reach: int) -> tuple[float]:
    """The risk itself at feasible thresholds."""
    one = np.ones(t.size)
    return (_evaluate(rows, scores, t, 0.0, one, one, reach)[1],)


def _sides(rows: CodedRows, scores: Floats, t: Floats, mu: float, reach: int) -> tuple[Floats, Floats]:
    """Sums of the dual variables that push each threshold down, and of those that push it up."""
    none, one = np.zeros(t.size), np.ones(t.size)
    low = _evaluate(rows, scores, t, mu, one, none, reach)[3]
    high = -_evaluate(rows, scores, t, mu, none, one, reach)[3]
    return low, np.maximum(high, 0.0)


def _curvature(
    rows: CodedRows, design: Design, scores: Floats, t: Floats, mu: float, reach: int
) -> tuple[Floats, Floats, Floats]:
    """Second derivatives by weights (d, d), by threshold and weight, by threshold (K-1,)."""
    by_score = np.empty(design.n_rows)
    by_both, by_threshold = np.zeros((t.size, design.n_features)), np.zeros(t.size)
    curvature(
        design.rows, scores[:, 0], t, rows.lower, rows.upper, rows.weight, reach,
        reach == t.size, mu, by_score, by_both, by_threshold,
    )  # fmt: skip
    return design.gram(by_score), by_both, by_threshold


def _weight_of_codes(rows: CodedRows, n_classes: int) -> tuple[Floats, Floats]:
    """Weight of the rows with each lowest, and with each highest, admissible code."""
    by_lower, by_upper = (np.bincount(codes, rows.weight, n_classes) for codes in (rows.lower, rows.upper))
    return by_lower.astype(np.float64), by_upper.astype(np.float64)


def _ranges(rows: CodedRows, n_offsets: int, reach: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number of thresholds below and above the label that count in every row's loss."""
    low = np.minimum(rows.lower, reach).astype(np.intp)
    high = np.minimum(n_offsets - rows.upper, reach).astype(np.intp)
    return low, high


def _n_pieces(rows: CodedRows, n_offsets: int, reach: int) -> tuple[int]:
    low, high = _ranges(rows, n_offsets, reach)
    return (int(low.sum() + high.sum()),)


def _balance_in_order(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Scale down sums so that the multipliers ``m_k = sum_{j<=k} (high_j - low_j)`` are >= 0 and the last is 0."""
    low, high = low.copy(), high.copy()
    multiplier = 0.0
    for k in range(low.size):
        low[k] = min(low[k], multiplier + high[k])
        multiplier += high[k] - low[k]
    for k in range(low.size - 1, -1, -1):  # take the surplus from the last ones that push up
        cut = min(high[k], multiplier)
        high[k] -= cut
        multiplier -= cut
    return low, high
