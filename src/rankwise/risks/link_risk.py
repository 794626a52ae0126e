"""The likelihood of cumulative links as an oracle: mean of ``-log P`` of the labels, its derivatives and lower bounds.

:mod:`rankwise.risks.links` has the loss of one row. The logit's factor ``1 - exp(-(t_h - t_l))`` does not depend on
the row: its losses are summed over the pairs of thresholds that bound a label, not over rows.

**Certificate.** At a point (w, t) where the gradient by t is zero, the objective is at least
``objective - |gradient by w|^2 / (2 alpha)`` everywhere, as it is convex in t and strongly convex in w. (For the logit
this is the value of the dual point ``a, g, v``, with its entropies written out.) Rounding leaves a gradient e by t,
which may gain no more than ``e (t* - t)``: :meth:`LinkRisk.confined` bounds the best thresholds t*. Losses are not
negative, so an objective F at any known point bounds ``alpha/2 |w*|^2`` and the losses of the rows that end at
threshold k, of total weight W and mean length of x N:

    |w*| <= R = sqrt(2 F / alpha),       t*_k >= -(1 + F / W) - R N,

because -log F is convex, so that its mean over these rows is no less than its value at their mean score, and because
``-log F(z) <= u`` needs ``z >= -(1 + u)`` for all four links. The rows that begin there bound t*_k from above alike.

**Order.** Labels keep the thresholds that bound them in order. A barrier of weight 1e-9, which is not part of the
objective, keeps the other neighbours in order. Its slopes are multipliers of the constraint ``t_k <= t_{k+1}``, so the
bound above holds with it, minus the slopes times the distances.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rankwise._errors import refuse_many_classes
from rankwise._kernels.compile import kernel
from rankwise._kernels.rows import column, n_entries, value
from rankwise._types import Floats, Places
from rankwise.risks.coded_rows import CodedRows
from rankwise.risks.innermost_intervals import InnermostIntervals
from rankwise.risks.links import LINKS, exponentials, log_terms, logit_terms, padded, quantile
from rankwise.solvers.design import Design, LinearMap, squared_norms
from rankwise.solvers.row_sums import RowRisk, RowSums, Sums

_MOST_CLASSES = 4_000  # that labels tell apart: Newton's steps are cubic in them
_PRIOR = 1e-2  # weight, in a sample, of the labels of all rows at score zero: they determine all thresholds
_GUARD = 1e-9  # weight of the barrier between neighbours that bound no label
_RAREST, _APART = 1e-9, 1e-4  # least probability of a class, and least distance of two thresholds, at the start
_POLISH = 30  # most steps of the thresholds alone
_ROUNDING = 1e-14  # gradient by the thresholds that is small enough for a bound
_NEARLY = 1e-5  # gradient below which the gain of a step may be lost in rounding
_HALVINGS = 40
_PROFILE = 1e-10  # gradient by the thresholds that counts as zero while weights are fitted
LOGIT = LINKS["logit"]


@dataclass(frozen=True, eq=False)
class _Barrier:
    """Losses ``-log(1 - exp(-(t_high - t_low)))`` of pairs of thresholds, by weights."""

    low: Places
    high: Places
    weight: Floats

    def distances(self, t: Floats) -> Floats:
        return np.asarray(t[self.high] - t[self.low])

    def slopes(self, t: Floats) -> tuple[float, Floats]:
        """Loss and its derivatives by the padded thresholds."""
        apart = self.distances(t)
        pull = self.weight * np.exp(-apart) / -np.expm1(-apart)
        by_low, by_high = (at_ends(ends, pull, t.size) for ends in (self.low, self.high))
        return float(self.weight @ -np.log(-np.expm1(-apart))), by_low - by_high

    def curvature(self, t: Floats) -> Floats:
        """Stiffness of the springs between thresholds."""
        apart = self.distances(t)
        pull = np.exp(-apart) / -np.expm1(-apart)
        together = np.zeros((t.size, t.size))
        np.add.at(together, (self.low, self.high), self.weight * pull * (1.0 + pull))
        return together


class LinkRisk(RowRisk):
    """Weighted mean of ``-log P`` of CodedRows, or of such rows elsewhere; see the module's docstring.

    Implements :class:`rankwise.solvers.risk.Risk`.
    """

    n_scores = 1
    unit = 1.0

    def __init__(self, rows: RowSums, n_classes: int, link: str) -> None:
        self.rows = rows
        self.innermost = InnermostIntervals.of(*rows.mean(_weight_of_codes, n_classes))
        self.n_offsets = self.innermost.n_thresholds
        refuse_many_classes("the likelihood of thresholds", self.n_offsets + 1, _MOST_CLASSES, "PRIL")
        self.link, self.ends = link, (self.innermost.low_ends(), self.innermost.high_ends())
        self._set_pairs(*rows.mean(_weight_of_pairs, self.n_offsets + 2, *self.ends))
        bounded = np.zeros((self.n_offsets + 2,) * 2, dtype=bool)
        bounded[self.low, self.high] = True
        free = np.flatnonzero(~np.diag(bounded, 1)[1:-1]) + 1
        self.guard = _Barrier(free, free + 1, np.full(free.size, _GUARD))
        self.prior: CodedRows | None = None
        self.reach: tuple[Floats, Floats] | None = None

    def _set_pairs(self, weight: Floats) -> None:
        """Set the pairs of thresholds that bound a label, as rows, and their barrier; from their weights."""
        self.low, self.high = np.nonzero(weight)
        lower, upper = self.innermost.first[self.low], self.innermost.last[self.high - 1]
        self.pairs = CodedRows(weight[self.low, self.high], lower.astype(np.int32), upper.astype(np.int32))
        both = (self.low > 0) & (self.high <= self.n_offsets)
        counted = self.pairs.weight[both] * (self.link == "logit")  # in other links the losses of rows include it
        self.barrier = _Barrier(self.low[both], self.high[both], counted)

    def start(self) -> Floats:
        """Best thresholds for scores of zero if no label reached across them."""
        k = np.arange(1, self.n_offsets + 1)[:, None]
        below, above = (self.high <= k) @ self.pairs.weight, (self.low >= k) @ self.pairs.weight
        # Extreme weights must not give infinite or equal thresholds.
        t = quantile(self.link, np.clip(below / (below + above), _RAREST, 1.0 - _RAREST))
        least = _APART * np.arange(t.size)
        return np.asarray(np.maximum.accumulate(t - least) + least)

    def tidy(self, t: Floats) -> Floats:
        """Leave them: thresholds out of order have an infinite loss."""
        return t

    def take(self, index: Any) -> Self:
        """The risk of some of the rows, plus a little of the labels of all rows, so that no label is missing."""
        return self._of_rows(self.rows.take(index), replace(self.pairs, weight=_PRIOR * self.pairs.weight))

    def weighted(self, rows: RowSums) -> Self:
        """The same risk of the same rows with other weights."""
        return self._of_rows(rows, self.prior)

    def _of_rows(self, rows: RowSums, prior: CodedRows | None) -> Self:
        other = self.over(rows)
        other.prior = prior
        (weight,) = rows.mean(_weight_of_pairs, self.n_offsets + 2, *self.ends)
        if prior is not None:
            np.add.at(weight, (self.ends[0][prior.lower], self.ends[1][prior.upper]), prior.weight)
        other._set_pairs(weight)
        return other

    def confined(self, design: LinearMap, alpha: float) -> Self:
        """The same risk with bounds on the best thresholds, for weights that alpha regularises."""
        t = padded(self.start())
        objective = self._at_zero(_slopes, self.pairs, t)[1]
        objective += self.barrier.slopes(t)[0]
        radius = math.sqrt(2.0 * objective / alpha)
        lengths = self.rows.mean(_lengths_at_ends, design, t.size, *self.ends)
        by_low, by_high = (
            1.0 + (objective + radius * length[1:-1]) / at_ends(ends, self.pairs.weight, t.size)[1:-1]
            for ends, length in zip((self.low, self.high), lengths, strict=True)
        )
        other = copy(self)
        other.reach = -by_high, by_low
        return other

    def derivatives(self, scores: Any, t: Floats) -> tuple[float, Any, Floats]:
        """Mean loss and its derivatives, with the barrier that keeps order."""
        risk, r, dt, _ = self._slopes(scores, t)
        if risk == np.inf:
            return risk, r, dt
        extra, by_order = self.guard.slopes(padded(t))
        return risk + extra, r, dt + by_order[1:-1]

    def exact(self, scores: Any, t: Floats) -> tuple[float, Floats]:
        return self._slopes(scores, t)[0], t

    def hessian(self, design: LinearMap, scores: Any, t: Floats) -> Floats:
        d = design.n_features
        by_weight, by_both, *springs = self.rows.mean(_curvature, design, scores, padded(t), *self._likelihood())
        hessian = np.empty((d + self.n_offsets,) * 2)
        hessian[:d, :d] = by_weight
        hessian[d:, :d] = by_both[1:-1]
        hessian[:d, d:] = by_both[1:-1].T
        hessian[d:, d:] = self.by_thresholds(t, *springs)
        return hessian

    def by_thresholds(self, t: Floats, alone: Floats, together: Floats) -> Floats:
        """Second derivatives by thresholds, from the springs of the rows and those of the barriers."""
        t = padded(t)
        together = together + self.barrier.curvature(t) + self.guard.curvature(t)
        if self.prior is not None:
            more = self._at_zero(_springs, self.prior, t)
            alone, together = alone + more[0], together + more[1]
        together = together + together.T
        return np.asarray((np.diag(alone + together.sum(axis=1)) - together)[1:-1, 1:-1])

    def prior_slopes(self, t: Floats) -> Floats:
        """Derivatives by padded threshold of what the labels of all rows add to those of a sample."""
        if self.prior is None:
            return np.zeros(t.size + 2)
        return np.asarray(self._at_zero(_slopes, self.prior, padded(t))[3])

    def dual(self, scores: Any, t: Floats, *, balanced: bool) -> tuple[float, Any, Floats]:
        """The plane that touches the risk here; ``balanced``: at the best thresholds for these scores, from t on."""
        if balanced:
            t = self.best_thresholds(scores, t)
        risk, r, dt, along = self._slopes(scores, t)
        gain = risk - along - float(dt @ t)
        if not balanced:
            return gain, r, dt
        left = dt + self.guard.slopes(padded(t))[1][1:-1]
        least, most = self.reach if self.reach is not None else (-np.inf, np.inf)
        gain += float(np.minimum(left * least, left * most).sum(where=left != 0.0))
        return (
            gain if np.isfinite(gain) else 0.0,
            r,
            np.zeros_like(t),
        )  # without gain, the solver shrinks the plane to 0

    def best_thresholds(self, scores: Any, t: Floats, enough: float = _ROUNDING) -> Floats:
        """Thresholds for these scores, by Newton's steps from t: until the gradient is ``enough``, or rounding."""
        risk, _, gradient = self.derivatives(scores, t)
        for _ in range(_POLISH):
            size = float(np.abs(gradient).sum())
            if size <= enough:
                break
            springs = self.rows.mean(_springs, scores, padded(t), *self._likelihood())
            step = newton_step(self.by_thresholds(t, *springs), gradient)
            trial = self.derivatives(scores, t - step)
            for _ in range(_HALVINGS):
                # Near the best ones the gain is lost in rounding: compare gradients.
                better = trial[0] < risk if size > _NEARLY else np.abs(trial[2]).sum() < 0.5 * size
                if better and trial[0] < np.inf:
                    break
                if size <= _NEARLY and trial[0] < np.inf:
                    return t
                step = 0.5 * step
                trial = self.derivatives(scores, t - step)
            else:
                return t
            t, (risk, _, gradient) = t - step, trial
        return t

    def _likelihood(self) -> tuple[Any, ...]:
        """Link, and the thresholds that bound the labels, for the sums over rows."""
        return LINKS[self.link], *self.ends

    def _at_zero(self, sums: Callable[..., Sums], rows: CodedRows, t: Floats) -> Sums:
        """Sums over rows whose scores are zero, for padded thresholds."""
        return sums(rows, np.zeros((len(rows), 1)), t, *self._likelihood())

    def _slopes(self, scores: Any, t: Floats) -> tuple[float, Any, Floats, float]:
        """Mean loss, derivatives by score and by threshold, and the sum of derivatives times scores."""
        inside = padded(t)
        if not ((self.barrier.distances(inside) > 0.0).all() and (self.guard.distances(inside) > 0.0).all()):
            r, *_ = self.rows.slopes(_slopes, scores, padded(self.start()), *self._likelihood())
            return np.inf, r, np.zeros_like(t), 0.0
        r, risk, along, dt = self.rows.slopes(_slopes, scores, inside, *self._likelihood())
        extra, by_barrier = self.barrier.slopes(inside)
        if self.prior is not None:
            _, more, _, by_prior = self._at_zero(_slopes, self.prior, inside)
            extra, by_barrier = extra + more, by_barrier + by_prior
        return float(risk + extra), r, (dt + by_barrier)[1:-1], float(along)


class ProfiledRisk:
    """The risk at the best thresholds, as a function of the scores alone; a :class:`rankwise.solvers.risk.Risk`.

    Thresholds of many classes are much stiffer than weights of many features. Minimising over them costs passes over
    the scores, which are few compared with the entries of wide rows, and leaves a well-conditioned problem.
    """

    n_scores = 1
    n_offsets = 0
    unit = 1.0

    def __init__(self, risk: LinkRisk, thresholds: Floats) -> None:
        self.risk, self.thresholds = risk, thresholds

    def start(self) -> Floats:
        return np.empty(0)

    def tidy(self, b: Floats) -> Floats:
        return b

    def take(self, index: Any) -> ProfiledRisk:
        return ProfiledRisk(self.risk.take(index), self.thresholds)

    def derivatives(self, scores: Any, b: Floats) -> tuple[float, Any, Floats]:
        self.thresholds = self.risk.best_thresholds(scores, self.thresholds, _PROFILE)
        risk, r, _ = self.risk.derivatives(scores, self.thresholds)
        return risk, r, b

    def exact(self, scores: Any, b: Floats) -> tuple[float, Floats]:
        return self.risk.exact(scores, self.risk.best_thresholds(scores, self.thresholds))[0], b

    def hessian(self, design: LinearMap, scores: Any, b: Floats) -> Floats:
        """Schur complement of the thresholds' block."""
        whole, d = self.risk.hessian(design, scores, self.thresholds), design.n_features
        return np.asarray(whole[:d, :d] - whole[:d, d:] @ np.linalg.solve(whole[d:, d:], whole[d:, :d]))

    def dual(self, scores: Any, b: Floats, *, balanced: bool) -> tuple[float, Any, Floats]:
        gain, r, _ = self.risk.dual(scores, self.thresholds, balanced=True)
        return gain, r, b


# -- sums over rows ----------------------------------------------------------------------------------------------------


def at_ends(places: Places, weight: Floats, size: int) -> Floats:
    """Sum of the weights at every place."""
    return np.asarray(np.bincount(places, weight, size), dtype=np.float64)


def newton_step(hessian: Floats, gradient: Floats, ridge: float = 1e-14) -> Floats:
    """Solution of a linear system whose unknowns may have very different scales."""
    scale = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    scaled = hessian / np.outer(scale, scale)
    scaled[np.diag_indices_from(scaled)] += ridge
    try:
        factor = cho_factor(scaled, check_finite=False)
    except LinAlgError:  # the smallest pivot is lost in rounding
        return np.asarray(gradient / scale**2)
    return np.asarray(cho_solve(factor, gradient / scale, check_finite=False) / scale)


def _weight_of_codes(rows: CodedRows, n_classes: int) -> tuple[Floats, Floats]:
    """Weight of the labels that begin with each class, and of those that end with it."""
    begins, ends = (at_ends(codes.astype(np.intp), rows.weight, n_classes) for codes in (rows.lower, rows.upper))
    return begins, ends


def _weight_of_pairs(rows: CodedRows, size: int, low: Places, high: Places) -> tuple[Floats]:
    """Weight of the labels between every two padded thresholds, (size, size)."""
    cell = low[rows.lower] * size + high[rows.upper]
    return (at_ends(cell, rows.weight, size * size).reshape(size, size),)


def _lengths_at_ends(rows: CodedRows, design: Design, size: int, low: Places, high: Places) -> tuple[Floats, Floats]:
    """Sums of |x| over the rows whose label begins, and over those whose label ends, at each threshold."""
    weighted = rows.weight * np.sqrt(squared_norms(design.rows))
    return at_ends(low[rows.lower], weighted, size), at_ends(high[rows.upper], weighted, size)


def _slopes(
    rows: CodedRows, scores: Floats, t: Floats, link: int, low: Places, high: Places
) -> tuple[Floats, float, float, Floats]:
    """Derivatives by score; loss, sum of derivatives times scores, derivatives by padded threshold."""
    r, dt = np.empty_like(scores), np.zeros_like(t)
    labelled = scores[:, 0], t, *exponentials(t), rows.lower, rows.upper, rows.weight, link, low, high
    risk, along = _first(*labelled, r[:, 0], dt)
    return r, risk, along, dt


def _springs(rows: CodedRows, scores: Floats, t: Floats, link: int, low: Places, high: Places) -> tuple[Floats, Floats]:
    """Stiffness of the springs between each threshold and the scores, and of those between thresholds."""
    return row_springs(rows, scores, t, link, low, high)[2:]


def row_springs(
    rows: CodedRows, scores: Floats, t: Floats, link: int, low: Places, high: Places
) -> tuple[Floats, Floats, Floats, Floats]:
    """Stiffness of every row's springs to its two thresholds; then the results of :func:`_springs`."""
    above, below = np.empty(len(rows)), np.empty(len(rows))
    alone, together = np.zeros(t.size), np.zeros((t.size, t.size))
    labelled = scores[:, 0], t, *exponentials(t), rows.lower, rows.upper, rows.weight, link, low, high
    _second(*labelled, above, below, alone, together)
    return above, below, alone, together


def _curvature(
    rows: CodedRows, design: Design, scores: Floats, t: Floats, link: int, low: Places, high: Places
) -> tuple[Floats, Floats, Floats, Floats]:
    """Second derivatives by weights (d, d), by padded threshold and weight; then the results of :func:`_springs`."""
    above, below, alone, together = row_springs(rows, scores, t, link, low, high)
    by_both = np.zeros((t.size, design.n_features))
    pull_apart(design.rows, rows.lower, rows.upper, low, high, above, below, by_both)
    return design.gram(np.maximum(above + below, 0.0)), by_both, alone, together


@kernel
def _first(f, t, shrink, grow, lower, upper, weight, link, low, high, r, dt):
    """r, dt and the two sums of :func:`_slopes`; without the logit's barrier."""
    risk = along = 0.0
    for i in range(f.size):
        c, k, h = weight[i], low[lower[i]], high[upper[i]]
        r[i] = 0.0
        if c == 0.0:
            continue
        if link == LOGIT:
            loss, a, g = logit_terms(f[i], t[h], t[k], shrink[h], grow[k])
        else:
            loss, a, g, _, _ = log_terms(link, t[h] - f[i], t[k] - f[i], t[h] - t[k])
        risk += c * loss
        r[i] = c * (a - g)
        along += r[i] * f[i]
        dt[h] -= c * a
        dt[k] += c * g
    return risk, along


@kernel
def _second(f, t, shrink, grow, lower, upper, weight, link, low, high, above, below, alone, together):
    """Springs of :func:`row_springs`; without the logit's barrier."""
    for i in range(f.size):
        c, k, h = weight[i], low[lower[i]], high[upper[i]]
        above[i] = below[i] = 0.0
        if c == 0.0:
            continue
        if link == LOGIT:
            _, a, g = logit_terms(f[i], t[h], t[k], shrink[h], grow[k])
            p, q = a * (1.0 - a), g * (1.0 - g)
        else:
            _, a, g, p, q = log_terms(link, t[h] - f[i], t[k] - f[i], t[h] - t[k])
            together[k, h] += c * a * g
        above[i], below[i] = c * p, c * q
        alone[h] += c * p
        alone[k] += c * q


@kernel
def pull_apart(X, lower, upper, low, high, above, below, out):
    """out[h] -= above_i x_i, out[k] -= below_i x_i."""
    for i in range(above.size):
        p, q = above[i], below[i]
        if p != 0.0 or q != 0.0:
            row_high, row_low = out[high[upper[i]]], out[low[lower[i]]]
            for e in range(n_entries(X, i)):
                j, x = column(X, i, e), value(X, i, e)
                row_high[j] -= p * x
                row_low[j] -= q * x
