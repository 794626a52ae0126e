"""The likelihood of cumulative links as an objective of boosted trees.

Trees add up to a score f. Each round they get the first and second derivatives by f of every row's ``-log P``
(:mod:`rankwise.risks.links`), and the thresholds take Newton's step of their own, so that they stay in balance:

    one pass at (f, t):   derivatives by f, for the next tree
                          t <- t - H^-1 gradient by t, K - 1 unknowns

Both come from one pass over the rows, so a tree gets its derivatives at the thresholds of the round before, which
differ by what one tree changes. Second derivatives have a small floor: rows far inside the first or the last class have
none. Thresholds and a constant in f are not both determined, so nothing but the trees moves f. Thresholds that labels
do not determine are left out, as for :class:`rankwise.CumulativeLink` (:mod:`rankwise.risks.innermost_intervals`).

A candidate set with gaps is several runs of classes. Its row's derivatives are those of its runs, weighted by their
probability given the set (EM): the first is exact, the second is that of a convex bound which touches the loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise._kernels.compile import kernel
from rankwise._types import Floats, Places
from rankwise.risks.innermost_intervals import InnermostIntervals
from rankwise.risks.link_risk import LOGIT, LinkRisk, newton_step
from rankwise.risks.links import LINKS, exponential, exponentials, log_terms, logit_slopes, logit_terms, padded
from rankwise.trees.tree_rows import ALONE, RowBlocks, Team, TeamRows

FLOOR = 1e-6  # of second derivatives
_LONGEST = 1.0  # step of a threshold in one round: Newton's model may be far from the truth
_CLOSER = 0.2  # share of their distance that neighbours keep in one step
_BALANCE = 1e-10  # gradient by the thresholds that counts as none
_EM_ROUNDS, _LEAST_SHARE = 20, 1e-18


class Objective(ABC):
    """What grows trees and thresholds: derivatives for the next tree and a step of the thresholds, in one pass."""

    innermost: InnermostIntervals  # which thresholds the labels determine; only these are counted here

    def __init__(self, n_rows: int, n_threads: int, team: Team = ALONE) -> None:
        self.n_rows, self.n_threads, self.team = n_rows, n_threads, team
        self.n_of_team = int(team.total((n_rows,))[0])
        self.blocks = RowBlocks(n_rows, n_threads, team)
        # Derivatives of n_of_team times the mean loss by the scores, as the last step left them.
        self.gradient = np.empty(n_rows, dtype=np.float32)
        self.curvature = np.empty(n_rows, dtype=np.float32)

    @abstractmethod
    def start(self) -> Floats:
        """Thresholds before the first tree: the best ones for scores of zero."""

    @abstractmethod
    def step(self, f: Floats, t: Floats) -> Floats:
        """Fill the derivatives at (f, t), and return the thresholds that follow t."""

    @abstractmethod
    def balanced(self, f: Floats, t: Floats) -> Floats:
        """The best thresholds for these scores, from t on."""

    @abstractmethod
    def loss(self, f: Floats, t: Floats) -> float:
        """Mean loss."""

    @abstractmethod
    def take(self, index: Places) -> Objective:
        """The objective of some of the rows, with the same thresholds."""

    def mean(self, f: Floats) -> float:
        """Mean score."""
        return float(self.team.total((float(f.sum()),))[0] / self.n_of_team)


class LikelihoodObjective(Objective):
    """Mean of ``-log P`` of the labels; see the module's docstring.

    The risk is that of the rows or, with the row that owns each, ascending, of the runs of their candidate sets; no
    weight is zero.
    """

    def __init__(self, risk: LinkRisk, owner: Places | None = None, n_threads: int = 1) -> None:
        rows: TeamRows = risk.rows
        super().__init__(len(rows) if owner is None else int(owner[-1]) + 1, n_threads, rows.team)
        self.risk, self.owner, self.innermost = risk, owner, risk.innermost
        self.low = risk.ends[0][rows.lower].astype(np.int32)
        self.high = risk.ends[1][rows.upper].astype(np.int32)
        self.weight = rows.weight if owner is None else np.bincount(owner, rows.weight)
        self.runs: tuple[Any, ...] = self.blocks, self.gradient, self.curvature
        if owner is not None:
            by_run = (np.empty(len(owner), dtype=np.float32) for _ in range(2))
            self.runs = RowBlocks(len(owner), n_threads, self.team), *by_run

    def start(self) -> Floats:
        """See :class:`Objective`, as for the other methods."""
        return self.risk.best_thresholds(np.zeros((len(self.risk.rows), 1)), self.risk.start(), _BALANCE)

    def step(self, f: Floats, t: Floats) -> Floats:
        """One pass over the rows."""
        scores = self._shared(f, t)
        dt, alone, together = self._pass(scores, t)
        if self.owner is not None:
            for by_run, by_row in zip(self.runs[1:], (self.gradient, self.curvature), strict=True):
                by_row[:] = np.bincount(self.owner, by_run)
        if t.size == 0:
            return t
        inside = padded(t)
        dt = dt + self.risk.barrier.slopes(inside)[1] + self.risk.guard.slopes(inside)[1] + self.risk.prior_slopes(t)
        step = newton_step(self.risk.by_thresholds(t, alone, together), dt[1:-1])
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
        while (np.diff(t - step) < _CLOSER * np.diff(t)).any():
            step = 0.5 * step
        return np.asarray(t - step)

    def balanced(self, f: Floats, t: Floats) -> Floats:
        """Newton's steps until the gradient vanishes; with candidate sets that have gaps, EM."""
        for _ in range(_EM_ROUNDS if self.owner is not None else 1):
            scores = self._shared(f, t)
            t = self.risk.best_thresholds(scores[:, None], t, _BALANCE)
        return t

    def loss(self, f: Floats, t: Floats) -> float:
        """Weighted mean over rows."""
        loss = self._losses(f if self.owner is None else f[self.owner], t)
        if self.owner is not None:
            with np.errstate(divide="ignore"):
                loss = -np.log(np.bincount(self.owner, np.exp(-loss)))
        return float(self.team.total((self.weight @ loss,))[0])

    def take(self, index: Places) -> LikelihoodObjective:
        """Some of the rows, to which the labels of all rows add a little, so that no threshold is undetermined."""
        if self.owner is None:
            return LikelihoodObjective(self.risk.take(index), None, self.n_threads)
        place = np.full(self.n_rows, -1)
        place[index] = np.arange(len(index))
        owner = place[self.owner]
        runs = np.flatnonzero(owner >= 0)
        runs = runs[np.argsort(owner[runs], kind="stable")]
        return LikelihoodObjective(self.risk.take(runs), owner[runs], self.n_threads)

    def _shared(self, f: Floats, t: Floats) -> Floats:
        """Scores of the runs, whose weights are shared anew by their probabilities."""
        if self.owner is None:
            return f
        scores = np.asarray(f[self.owner])
        chance = np.exp(-self._losses(scores, t))
        share = chance / np.maximum(np.bincount(self.owner, chance), 1e-300)[self.owner]
        weight = self.weight[self.owner] * np.maximum(share, _LEAST_SHARE)
        self.risk = self.risk.weighted(replace(self.risk.rows, weight=weight).normalised())
        return scores

    def _losses(self, scores: Floats, t: Floats) -> Floats:
        t = padded(t)
        losses = np.empty(scores.size)
        _losses(scores, self.low, self.high, t, *exponentials(t), LINKS[self.risk.link], losses)
        return losses

    def _pass(self, f: Floats, t: Floats) -> tuple[Any, ...]:
        """Fill the derivatives; sums of derivatives by padded threshold, and of springs, over all rows."""
        blocks, gradient, curvature = self.runs
        t = padded(t)
        fixed = t, *exponentials(t), LINKS[self.risk.link], float(self.n_of_team)

        def work(block: slice) -> tuple[Floats, Floats, Floats]:
            sums = np.zeros(t.size), np.zeros(t.size), np.zeros((t.size, t.size))
            rows = f[block], self.low[block], self.high[block], self.risk.rows.weight[block]
            _derivatives(*rows, *fixed, gradient[block], curvature[block], *sums)
            return sums

        sums: tuple[Any, ...] = blocks.sums(work)
        return sums


@kernel
def _derivatives(f, low, high, weight, t, shrink, grow, link, scale, gradient, curvature, dt, alone, together):
    """Derivatives of every row by its score, and sums over rows by threshold; without the logit's barrier."""
    e = np.empty(f.size if link == LOGIT else 0)
    exponential(f[: e.size], e)
    for i in range(f.size):
        c, k, h = weight[i], low[i], high[i]
        if link == LOGIT:
            a, g = logit_slopes(f[i], e[i], t[h], t[k], shrink[h], grow[k])
            p, q = a * (1.0 - a), g * (1.0 - g)
        else:
            _, a, g, p, q = log_terms(link, t[h] - f[i], t[k] - f[i], t[h] - t[k])
            together[k, h] += c * a * g
        gradient[i] = scale * c * (a - g)
        curvature[i] = scale * c * max(p + q, FLOOR)
        dt[h] -= c * a
        dt[k] += c * g
        alone[h] += c * p
        alone[k] += c * q


@kernel
def _losses(f, low, high, t, shrink, grow, link, out):
    """out[i] = -log P."""
    for i in range(f.size):
        k, h = low[i], high[i]
        if link == LOGIT:
            loss, _, _ = logit_terms(f[i], t[h], t[k], shrink[h], grow[k])
            out[i] = loss - np.log(-np.expm1(t[k] - t[h]))
        else:
            out[i] = log_terms(link, t[h] - f[i], t[k] - f[i], t[h] - t[k])[0]
