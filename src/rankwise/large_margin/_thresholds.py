"""The loss of SVOR as an oracle: hinges between scores and thresholds, smoothed or not, with their dual variables.

Row i with codes ``[lo, hi]`` wants its score above the thresholds below ``lo`` and below those from ``hi`` on:

    psi_i = sum_{lo-reach <= k < lo} (1 - f_i + t_k)_+  +  sum_{hi <= k < hi+reach} (1 + f_i - t_k)_+

``reach = K - 1`` is SVOR-IMC (implicit constraints), ``reach = 1`` SVOR-EXP (explicit ones), whose thresholds must be
kept in order. The risk is the weighted mean of psi.

**Smoothing.** ``h(u) = max_{0<=a<=1} [a u + mu a (1 - a) / 2]`` is the hinge ``u_+`` but for ``|u| < mu/2``, where it
is a parabola, at most mu/8 above. Its derivative ``a = clip(u/mu + 1/2, 0, 1)`` is a dual variable of the hinge, so
every smoothed gradient is nearly a dual point: with ``P_k`` and ``N_k`` the sums of the a that push threshold k down
and up,

    D = sum c (a)  -  |sum_i r_i x_i|^2 / (2 alpha),      r_i = sum of the a above - sum of the a below,

is a lower bound on the objective once ``P_k = N_k`` for all k. Scaling down the larger side of each threshold makes
it so. (With order constraints ``P_k - N_k + m_k - m_{k-1} = 0`` with multipliers ``m >= 0`` is enough. With
regularised thresholds nothing need balance: the difference is charged as the weights are.)

**Cost.** For ordered thresholds the hinges of a row that are active, and those on their parabola, are ranges of k: four
binary searches, prefix sums of t and t^2, and difference arrays for the derivative by t give O(log K) a row. Short
ranges are looped over, which is faster. SVOR-IMC never needs its thresholds out of order: exchanging two that are
cannot raise psi, because the lower one only has rows more that want it low.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray
from scipy import sparse

from rankwise._kernels.compile import SOURCES, kernel
from rankwise._kernels.rows import column, n_entries, value
from rankwise.solvers.design import Design
from rankwise.solvers.linear_program import Pieces

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

_SHORT = 12  # thresholds up to which looping over a row's range beats searching it

#: Price of a unit of disorder between neighbouring thresholds. A multiplier of an order constraint is a difference of
#: sums of dual variables, at most 1 each as the weights add up to 1: a price above 2 enforces the constraint exactly.
_ORDER_PRICE = 2.5


@register_jitable(forceinline=True)
def count_up_to(t, x):
    """Number of thresholds <= x, by a binary search without branches."""
    base = 0
    n = t.size
    while n > 1:
        half = n >> 1
        base += half * (t[base + half - 1] <= x)
        n -= half
    return base + (t[base] <= x)


@register_jitable(forceinline=True)
def inverse_of(mu):
    """1 / mu, and a number that makes every dual variable 0 or 1 when nothing is smoothed, mu = 0."""
    return 1.0 / mu if mu > 0.0 else 1e300


@register_jitable(forceinline=True)
def dual(u, half, inverse):
    """Derivative of the smoothed hinge: 0 below -mu/2, 1 above mu/2."""
    return min(max((u + half) * inverse, 0.0), 1.0)


def _make_looped():
    sources = SOURCES

    @kernel
    def looped(f, t, lo, hi, c, reach, mu, scale_low, scale_high, r, dt):
        """Risk, its derivatives r by score and dt by threshold, looping over each row's thresholds.

        The dual variables of threshold k are multiplied by ``scale_low[k]`` (the rows above it) and ``scale_high[k]``
        (the rows below it), in the derivatives and in the second result, the sum of all dual variables.
        """
        _ = sources
        half, inverse = 0.5 * mu, inverse_of(mu)
        risk = gain = 0.0
        for k in range(t.size):
            dt[k] = 0.0
        for i in range(f.size):
            below, above = f[i] - 1.0, f[i] + 1.0
            loss = push = 0.0
            total = 0.0
            for k in range(max(lo[i] - reach, 0), lo[i]):
                u = t[k] - below
                a = dual(u, half, inverse)
                loss += a * (u + half * (1.0 - a))
                a *= scale_low[k]
                push -= a
                total += a
                dt[k] += c[i] * a
            for k in range(hi[i], min(hi[i] + reach, t.size)):
                u = above - t[k]
                a = dual(u, half, inverse)
                loss += a * (u + half * (1.0 - a))
                a *= scale_high[k]
                push += a
                total += a
                dt[k] -= c[i] * a
            r[i] = c[i] * push
            risk += c[i] * loss
            gain += c[i] * total
        return risk, gain

    return looped


@register_jitable
def prefix(values):
    """Sums of the first 0, 1, 2, ... values."""
    sums = np.empty(values.size + 1)
    sums[0] = 0.0
    for k in range(values.size):
        sums[k + 1] = sums[k] + values[k]
    return sums


def _make_searched():
    sources = SOURCES

    @kernel
    def searched(f, t, lo, hi, c, mu, scale_low, scale_high, r, dt):
        """What ``looped`` computes with the longest reach, in O(log K) a row, for thresholds in order.

        Of the thresholds below lo, those in [p0, p1) are on their parabola and those in [p1, lo) on their line; of
        those from hi on, [hi, q0) on their line and [q0, q1) on their parabola.
        """
        _ = sources
        half, inverse = 0.5 * mu, inverse_of(mu)
        t1, t2 = prefix(t), prefix(t * t)
        low0, low1 = prefix(scale_low), prefix(scale_low * t)
        high0, high1 = prefix(scale_high), prefix(scale_high * t)
        # Differences over k of: the constant dual variables, and those that are a constant plus t_k / mu, on each side.
        flat_low, slope_low = np.zeros(t.size + 1), np.zeros(t.size + 1)
        flat_high, slope_high = np.zeros(t.size + 1), np.zeros(t.size + 1)
        risk = gain = 0.0
        for i in range(f.size):
            below, above, weight = f[i] - 1.0, f[i] + 1.0, c[i]
            p1 = min(count_up_to(t, below + half), lo[i])
            p0 = min(count_up_to(t, below - half), lo[i])
            q0 = max(count_up_to(t, above - half), hi[i])
            q1 = max(count_up_to(t, above + half), hi[i])
            loss = t1[lo[i]] - t1[p1] - (lo[i] - p1) * below + (q0 - hi[i]) * above - (t1[q0] - t1[hi[i]])
            total_low = low0[lo[i]] - low0[p1]
            total_high = high0[q0] - high0[hi[i]]
            flat_low[p1] += weight
            flat_low[lo[i]] -= weight
            flat_high[hi[i]] += weight
            flat_high[q0] -= weight
            if p0 < p1:
                e = half - below
                s = t1[p1] - t1[p0]
                loss += 0.5 * inverse * (t2[p1] - t2[p0] + 2.0 * e * s + (p1 - p0) * e * e)
                total_low += inverse * (low1[p1] - low1[p0] + e * (low0[p1] - low0[p0]))
                flat_low[p0] += weight * e * inverse
                flat_low[p1] -= weight * e * inverse
                slope_low[p0] += weight
                slope_low[p1] -= weight
            if q0 < q1:
                e = above + half
                s = t1[q1] - t1[q0]
                loss += 0.5 * inverse * (t2[q1] - t2[q0] - 2.0 * e * s + (q1 - q0) * e * e)
                total_high += inverse * (e * (high0[q1] - high0[q0]) - (high1[q1] - high1[q0]))
                flat_high[q0] += weight * e * inverse
                flat_high[q1] -= weight * e * inverse
                slope_high[q0] += weight
                slope_high[q1] -= weight
            r[i] = weight * (total_high - total_low)
            risk += weight * loss
            gain += weight * (total_low + total_high)
        a0 = a1 = b0 = b1 = 0.0
        for k in range(t.size):
            a0 += flat_low[k]
            a1 += slope_low[k]
            b0 += flat_high[k]
            b1 += slope_high[k]
            dt[k] = scale_low[k] * (a0 + a1 * inverse * t[k]) - scale_high[k] * (b0 - b1 * inverse * t[k])
        return risk, gain

    return searched


def _make_curvature():
    sources = SOURCES

    @kernel
    def curvature(X, f, t, lo, hi, c, reach, ordered, mu, by_score, by_both, by_threshold):
        """Second derivatives: by score (n,), by score and threshold summed over rows (K-1, d), by threshold (K-1,)."""
        _ = sources
        half, inverse = 0.5 * mu, inverse_of(mu)
        for i in range(f.size):
            below, above = f[i] - 1.0, f[i] + 1.0
            p0, p1 = max(lo[i] - reach, 0), lo[i]
            q0, q1 = hi[i], min(hi[i] + reach, t.size)
            if ordered:
                p0 = max(p0, min(count_up_to(t, below - half), p1))
                p1 = min(p1, max(count_up_to(t, below + half), p0))
                q0 = max(q0, min(count_up_to(t, above - half), q1))
                q1 = min(q1, max(count_up_to(t, above + half), q0))
            second = c[i] * inverse
            found = 0
            for side in range(2):
                start, stop, middle = (p0, p1, below) if side == 0 else (q0, q1, above)
                for k in range(start, stop):
                    if abs(t[k] - middle) < half:
                        found += 1
                        by_threshold[k] += second
                        row = by_both[k]
                        for p in range(n_entries(X, i)):
                            row[column(X, i, p)] -= second * value(X, i, p)
            by_score[i] = second * found

    return curvature


@register_jitable
def slope_of(k, weight_below, passed_low, passed_high):
    """Slope of threshold k's problem, from the weights whose break points were passed, by lower and by upper code."""
    slope = -weight_below[k]
    for y in range(k + 1, passed_low.size):
        slope += passed_low[y]
    for y in range(k + 1):
        slope += passed_high[y]
    return slope


def _make_order_statistics():
    sources = SOURCES

    @kernel
    def order_statistics(f, lo, hi, c, row, t, r):
        """t[k] = the minimiser of threshold k's problem, for rows in the order of their scores; return the gain.

        From left to right the slope of the problem grows by c at f - 1 of every row above the threshold, whose hinge
        sets in there, and at f + 1 of every row below it, whose hinge ends there; it starts at minus the weight below.
        The threshold lies where the slope passes zero, and the row there gets the part of its dual variable that
        makes it zero. The lower of two thresholds passes first, so that one sweep over all break points finds all.
        """
        _ = sources
        n, K = f.size, t.size + 1
        passed_low, passed_high = np.zeros(K), np.zeros(K)
        weight_below, weight_above = np.zeros(K), np.zeros(K)
        for i in range(n):
            weight_below[hi[i]] += c[i]
            weight_above[lo[i]] += c[i]
        for k in range(1, K):
            weight_below[k] += weight_below[k - 1]
            weight_above[K - 1 - k] += weight_above[K - k]  # of code K-1-k and more
        # How many rows in order had passed their f - 1, and their f + 1, when each threshold was found.
        low_place, high_place = np.full(K, n), np.full(K, n)
        gain = 0.0
        k = low = high = 0
        slope = slope_of(0, weight_below, passed_low, passed_high)
        last = f[0] - 1.0
        while k < t.size and high < n:
            from_low = low < n and f[low] - 1.0 <= f[high] + 1.0
            i = low if from_low else high
            while k < t.size:
                counts = c[i] > 0.0 and (lo[i] > k if from_low else hi[i] <= k)
                if counts:
                    last = f[i] - 1.0 if from_low else f[i] + 1.0
                elif weight_below[k] > 0.0 or weight_above[k + 1] > 0.0:
                    break
                if counts and slope + c[i] < 0.0:
                    slope += c[i]
                    break
                t[k] = last
                low_place[k], high_place[k] = low, high + (counts and not from_low)
                if counts:
                    part = -slope if from_low else slope + c[i]
                    gain += part
                    r[row[i]] += -part if from_low else part
                k += 1
                slope = slope_of(k, weight_below, passed_low, passed_high)
            if from_low:
                passed_low[lo[i]] += c[i]
                low += 1
            else:
                passed_high[hi[i]] += c[i]
                high += 1
        for rest in range(k, t.size):  # no row above these, and rounding kept the slope from reaching zero
            t[rest] = last
            for i in range(n):
                if c[i] > 0.0 and hi[i] <= rest:
                    t[rest] = max(t[rest], f[i] + 1.0)
        # Full dual variables: the rows that passed f - 1 pull the threshold down, those before f + 1 push it up.
        k_low = k_high = 0
        for i in range(n):
            while k_low < t.size and low_place[k_low] <= i:
                k_low += 1
            while k_high < t.size and high_place[k_high] <= i:
                k_high += 1
            down, up = max(lo[i] - k_low, 0), max(k_high - hi[i], 0)
            gain += c[i] * (down + up)
            r[row[i]] += c[i] * (up - down)
        return gain

    return order_statistics


_LOOPED = _make_looped()
_SEARCHED = _make_searched()
_CURVATURE = _make_curvature()
_ORDER_STATISTICS = _make_order_statistics()


class ThresholdRisk:
    """Weighted mean of SVOR's losses; see the module's docstring.

    Parameters
    ----------
    lower, upper : int32 arrays of shape (n,)
        Lowest and highest admissible code of every row.
    weight : float64 array of shape (n,)
        Weights that add up to 1.
    n_classes : int
        K, at least 2.
    explicit : bool
        Whether only the thresholds next to the label count, and order is a constraint.
    """

    n_scores = 1
    first_smoothing = 4.0  # every hinge begins on its parabola

    def __init__(self, lower: Codes, upper: Codes, weight: Floats, n_classes: int, *, explicit: bool) -> None:
        self.lower, self.upper, self.weight = lower, upper, weight
        self.n_offsets = n_classes - 1
        self.explicit = explicit
        self.reach = 1 if explicit else self.n_offsets
        self._one = np.ones(self.n_offsets)

    def take(self, index: NDArray[np.intp]) -> ThresholdRisk:
        """The risk of some rows."""
        weight = self.weight[index]
        return ThresholdRisk(
            self.lower[index], self.upper[index], weight / weight.sum(), self.n_offsets + 1, explicit=self.explicit
        )

    def start(self) -> Floats:
        """Thresholds to start from: the more weight above one, the lower it lies."""
        above = np.bincount(self.lower, self.weight, self.n_offsets + 1)[:0:-1].cumsum()[::-1]
        below = np.bincount(self.upper, self.weight, self.n_offsets + 1)[:-1].cumsum()
        both = above + below
        return np.asarray(np.divide(below - above, both, out=np.zeros_like(both), where=both > 0))

    def tidy(self, t: Floats) -> Floats:
        """Thresholds at which the risk is not larger, in order if that is free."""
        return t if self.explicit else np.sort(t)

    def smooth(self, scores: Floats, t: Floats, mu: float) -> tuple[float, Floats, Floats]:
        """Smoothed risk, its derivatives by score (n, 1) and by threshold (K-1,)."""
        risk, _, r, dt = self._evaluate(scores, t, mu, self._one, self._one)
        if self.explicit:
            u = t[:-1] - t[1:]
            m = _multipliers(t, mu)
            risk += _ORDER_PRICE * float(m @ u + 0.5 * mu * (m @ (1.0 - m)))
            dt[:-1] += _ORDER_PRICE * m
            dt[1:] -= _ORDER_PRICE * m
        return risk, r, dt

    def exact(self, scores: Floats, t: Floats) -> tuple[float, Floats]:
        """The risk itself, at the nearest thresholds that are allowed, and these."""
        t = _in_order(t) if self.explicit else np.sort(t)
        return self._evaluate(scores, t, 0.0, self._one, self._one)[0], t

    def dual(self, scores: Floats, t: Floats, mu: float, *, balanced: bool) -> tuple[float, Floats, Floats]:
        """Dual variables near the smoothed gradient, feasible: their sum, and what they pull at scores and thresholds.

        ``balanced``: thresholds are not regularised, so that nothing may be left that pulls at them.
        """
        if not balanced:
            _, gain, r, dt = self._evaluate(scores, t, mu, self._one, self._one)
            if self.explicit:
                m = _ORDER_PRICE * _multipliers(t, mu)
                dt[:-1] += m
                dt[1:] -= m
            return gain, r, dt
        low, high = self._sides(scores, t, mu)
        new_low, new_high = _balance_in_order(low, high) if self.explicit else (np.minimum(low, high),) * 2
        scale_low = np.divide(new_low, low, out=np.zeros_like(low), where=low > 0)
        scale_high = np.divide(new_high, high, out=np.zeros_like(high), where=high > 0)
        _, gain, r, _ = self._evaluate(scores, t, mu, scale_low, scale_high)
        return gain, r, np.zeros_like(t)

    def hessian(self, design: Design, scores: Floats, t: Floats, mu: float) -> Floats:
        """Second derivatives of the smoothed risk by weights and thresholds, (d + K-1, d + K-1)."""
        d = design.n_features
        by_score = np.empty(design.n_rows)
        by_both, by_threshold = np.zeros((t.size, d)), np.zeros(t.size)
        _CURVATURE(
            design.rows, scores[:, 0], t, self.lower, self.upper, self.weight, self.reach,
            not self.explicit, mu, by_score, by_both, by_threshold,
        )  # fmt: skip
        hessian = np.zeros((d + t.size, d + t.size))
        hessian[:d, :d] = design.gram(by_score)
        hessian[:d, d:] = by_both.T
        hessian[d:, :d] = by_both
        hessian[d:, d:] = np.diag(by_threshold)
        if self.explicit:
            second = _ORDER_PRICE / mu * (np.abs(t[:-1] - t[1:]) < 0.5 * mu)
            k = np.arange(d, d + t.size - 1)
            hessian[k, k] += second
            hessian[k + 1, k + 1] += second
            hessian[k, k + 1] -= second
            hessian[k + 1, k] -= second
        return hessian

    def best_offsets(self, scores: Floats) -> tuple[Floats, tuple[float, Floats]] | None:
        """Thresholds that minimise the risk at these scores, and a balanced dual point: its sum and pull.

        Without order constraints (there is no such formula with them: None) each threshold has a problem of its own,
        whose solution is an order statistic.
        """
        if self.explicit:
            return None
        order = np.argsort(scores[:, 0])
        t, r = np.empty(self.n_offsets), np.zeros_like(scores)
        gain = _ORDER_STATISTICS(
            scores[order, 0], self.lower[order], self.upper[order], self.weight[order], order, t, r[:, 0]
        )
        return np.maximum.accumulate(t), (gain, r)

    def n_pieces(self) -> int:
        """Number of hinges."""
        low, high = self._ranges()
        return int(low.sum() + high.sum())

    def pieces(self) -> Pieces:
        """All hinges, each with a slack of its own."""
        low, high = self._ranges()
        row = np.repeat(np.arange(low.size), low + high)
        place = np.arange(row.size) - np.repeat((low + high).cumsum() - (low + high), low + high)
        is_low = place < low[row]
        k = np.where(is_low, self.lower[row] - low[row] + place, self.upper[row] + place - low[row])
        sign = np.where(is_low, 1.0, -1.0)
        by_offset = sparse.csr_array((sign, (np.arange(row.size), k)), shape=(row.size, self.n_offsets))
        return Pieces(
            row, np.arange(row.size), np.ones(row.size), -sign[:, None], by_offset, self.weight[row], self.explicit
        )

    def _ranges(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number of thresholds below and above the label that count, for every row."""
        low = np.minimum(self.lower, self.reach).astype(np.intp)
        high = np.minimum(self.n_offsets - self.upper, self.reach).astype(np.intp)
        return low, high

    def _evaluate(
        self, scores: Floats, t: Floats, mu: float, scale_low: Floats, scale_high: Floats
    ) -> tuple[float, float, Floats, Floats]:
        r, dt = np.empty_like(scores), np.empty_like(t)
        f, rest = scores[:, 0], (mu, scale_low, scale_high, r[:, 0], dt)
        if self.reach <= _SHORT:
            risk, gain = _LOOPED(f, t, self.lower, self.upper, self.weight, self.reach, *rest)
        else:
            risk, gain = _SEARCHED(f, t, self.lower, self.upper, self.weight, *rest)
        return risk, gain, r, dt

    def _sides(self, scores: Floats, t: Floats, mu: float) -> tuple[Floats, Floats]:
        """Sums of the dual variables that push each threshold down, and of those that push it up."""
        none = np.zeros_like(t)
        low = self._evaluate(scores, t, mu, self._one, none)[3]
        high = -self._evaluate(scores, t, mu, none, self._one)[3]
        return low, np.maximum(high, 0.0)


def _multipliers(t: Floats, mu: float) -> Floats:
    """Derivatives of the smoothed hinges of disorder between neighbours."""
    u = t[:-1] - t[1:]
    return np.clip(u / mu + 0.5, 0.0, 1.0) if mu > 0.0 else (u > 0.0).astype(np.float64)


def _in_order(t: Floats) -> Floats:
    """Nearest ordered vector in the least-squares sense (pool adjacent violators)."""
    means: list[float] = []
    sizes: list[int] = []
    for value_ in t.tolist():
        means.append(value_)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            mean, size = means.pop(), sizes.pop()
            means[-1] = (means[-1] * sizes[-1] + mean * size) / (sizes[-1] + size)
            sizes[-1] += size
    return np.repeat(np.array(means), sizes)


def _balance_in_order(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Scale down sums so that the multipliers ``m_k = sum_{j<=k} (high_j - low_j)`` are >= 0 and the last is 0."""
    low, high = low.copy(), high.copy()
    multiplier = 0.0
    for k in range(low.size):
        low[k] = min(low[k], multiplier + high[k])
        multiplier += high[k] - low[k]
    for k in range(low.size - 1, -1, -1):  # what is left over goes from the last ones that push up
        cut = min(high[k], multiplier)
        high[k] -= cut
        multiplier -= cut
    return low, high
