"""Risks without a regulariser: linear programmes, solved exactly by HiGHS once most of their pieces are fixed.

    minimise  sum_s weight_s max(0, pieces of s)        over weights w and offsets b

Smoothing quickly solves the problem with a tiny regulariser. Its solution is so near that it shows for most losses
which piece is the largest. Only pieces that are nearly tied there stay open; a loss with a single piece left is linear.
A maximum over fewer pieces is never larger, so the value of this smaller programme is a lower bound, and if the risk
itself is no larger at its solution, both are exact. If it is larger, the missing pieces are added and the programme is
solved again.

If very many losses are tied, the open pieces may leave the programme unbounded. A mean of the pieces of a loss is never
larger than their maximum either; with the means of the smoothed gradient, the linear part is balanced but for the tiny
regulariser. If that is not enough, more pieces are opened.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from rankwise._types import Floats
from rankwise.solvers.design import Design, LinearMap
from rankwise.solvers.risk import HasKinks, HasPieces, Risk, require_capabilities
from rankwise.solvers.smoothing import continued
from rankwise.solvers.solution import Solution, relative_gap

_NEARLY_NONE = 1e-6  # strength of the regulariser for the first solution
_NEAR = 1e-4  # its relative gap
_OPEN = 10  # pieces that stay open at first, for every parameter
_MOST_PIECES = 20_000_000  # numbers that describe all pieces; more take too much memory
_MOST_ENTRIES = 4_000_000  # of the first programme; with more, HiGHS takes minutes
_SIMPLEX_UP_TO = 5_000  # open pieces; with more, HiGHS's interior point is faster than its simplex method


def affordable(risk: Any, design: LinearMap) -> bool:
    """Whether the risk is a linear programme that is small enough to be solved exactly."""
    n_pieces: float = risk.n_pieces() if isinstance(risk, HasPieces) else np.inf
    n_open = min(n_pieces, _OPEN * (risk.n_scores * design.n_features + risk.n_offsets))
    remains = n_open * (design.per_row * risk.n_scores + 3)
    return bool(n_pieces * (risk.n_scores + 3) <= _MOST_PIECES and remains <= _MOST_ENTRIES)


def minimise_exactly(design: Design, risk: Any, *, tol: float, max_iter: int, start: Floats | None = None) -> Solution:
    """Minimise a risk of rows in memory without a regulariser, to a certified relative gap of ``tol``; usually exactly.

    The risk must be ``HasKinks`` and ``HasPieces``. ``max_iter`` bounds the smoothing that comes first, ``start`` holds
    parameters (w, b) to start from.
    """
    require_capabilities(risk, "minimise_exactly", Risk, HasKinks, HasPieces)
    n_weights = risk.n_scores * design.n_features
    penalty = np.concatenate([np.ones(n_weights), np.zeros(risk.n_offsets)])
    first: Any = continued(design, risk, _NEARLY_NONE, penalty, _NEAR, max_iter, start)
    return _Programme(design, risk, first.theta, first.mu).run(first.solution(), tol)


class _Programme:
    """All pieces of a risk, those in the programme, and the smoothed solution that fixes the rest."""

    def __init__(self, design: Design, risk: Any, theta: Floats, mu: float) -> None:
        self.design, self.risk, self.pieces = design, risk, risk.pieces()
        self.n_weights = risk.n_scores * design.n_features
        self.n_slacks = self.pieces.weight.size
        self.inside = np.zeros(self.pieces.row.size, dtype=bool)
        self.zero_inside = np.zeros(self.n_slacks, dtype=bool)
        self.theta, self.mu = theta, 0.0
        self.smoothed = mu
        # HiGHS drops coefficients below 1e-9: very small or large features are scaled by powers of 1024.
        largest = np.ravel(abs(design.matrix()).max(axis=0).toarray())
        unit = np.exp2(10.0 * np.round(0.1 * np.log2(np.where(largest > 0.0, largest, 1.0))))
        self.unit = np.concatenate([np.tile(unit, risk.n_scores), np.ones(risk.n_offsets)])

    def run(self, first: Solution, tol: float) -> Solution:
        """Solve, from a nearby solution."""
        n_open, n_iter = _OPEN * first.theta.size, first.n_iter
        best, lower_bound = self._candidate(first.theta), 0.0
        self._add(self.theta, self._margin(self.theta, n_open))
        while True:
            solved = self._solve()
            everything = bool(self.inside.all() and self.zero_inside.all())
            if solved is not None:
                theta, bound, iterations = solved
                n_iter += iterations
                lower_bound = max(lower_bound, bound)
                best = min(best, self._candidate(theta), key=lambda candidate: candidate[1])
                done = relative_gap(best[1], lower_bound) <= tol
                if not done and self._add(theta, self._margin(theta, 0)):
                    continue
                # If no piece was missed and none is in a mean, the remaining gap is rounding.
                if done or everything or self.mu == 0.0:
                    return Solution(*best, min(lower_bound, best[1]), n_iter, True)
            elif everything:
                raise RuntimeError("HiGHS could not solve the linear programme.")
            elif self.mu == 0.0:
                self.mu = self.smoothed
                continue
            n_open *= 16
            self._add(self.theta, self._margin(self.theta, n_open))

    def _candidate(self, theta: Floats) -> tuple[Floats, float]:
        """Parameters with feasible offsets, and the risk there."""
        weights = theta[: self.n_weights]
        objective, offsets = self.risk.exact(self._scores(weights), theta[self.n_weights :])
        return np.concatenate([weights, offsets]), float(objective)

    def _scores(self, weights: Floats) -> Floats:
        return self.design.times(weights.reshape(self.risk.n_scores, -1))

    def _behind(self, theta: Floats) -> tuple[Floats, Floats]:
        """How far every piece, and zero, lies below the maximum of its loss."""
        p = self.pieces
        scores = self._scores(theta[: self.n_weights])
        values = p.constant + np.einsum("pz,pz->p", p.by_score, scores[p.row]) + p.by_offset @ theta[self.n_weights :]
        top = np.zeros(self.n_slacks)
        np.maximum.at(top, p.slack, values)
        return top[p.slack] - values, top

    def _margin(self, theta: Floats, n_open: int) -> float:
        """Distance within which ``n_open`` candidates lie, besides the maximum of every loss."""
        behind = np.concatenate(self._behind(theta))
        place = min(self.n_slacks + n_open, behind.size) - 1
        return float(np.partition(behind, place)[place])

    def _add(self, theta: Floats, margin: float) -> bool:
        """Add the candidates within a margin; return whether any is new."""
        behind, zero_behind = self._behind(theta)
        before = int(self.inside.sum() + self.zero_inside.sum())
        self.inside |= behind <= margin
        self.zero_inside |= zero_behind <= margin
        return int(self.inside.sum() + self.zero_inside.sum()) > before

    def _solve(self) -> tuple[Floats, float, int] | None:
        """Parameters, lower bound and iterations of the programme with the pieces inside; None if it is unbounded."""
        p, n_offsets = self.pieces, self.risk.n_offsets
        candidates = np.bincount(p.slack[self.inside], minlength=self.n_slacks) + self.zero_inside
        alone = candidates[p.slack] == 1
        is_open = np.flatnonzero(self.inside & ~alone)
        in_open_row = np.isin(p.row, p.row[is_open])
        slopes, constant = self._linear(np.flatnonzero(self.inside & alone & in_open_row), ~in_open_row)
        slacks, slack = np.unique(p.slack[is_open], return_inverse=True)
        X = self.design.matrix()[p.row[is_open]] @ sparse.diags_array(1.0 / self.unit[: self.design.n_features])
        by_weight = [sparse.diags_array(p.by_score[is_open, z]) @ X for z in range(self.risk.n_scores)]
        shape = is_open.size, slacks.size
        by_slack = sparse.csr_array((-np.ones(shape[0]), (np.arange(shape[0]), slack)), shape=shape)
        matrix = sparse.hstack([*by_weight, p.by_offset[is_open], by_slack], format="csr")
        right = -p.constant[is_open]
        if p.ordered and n_offsets > 1:
            falls = sparse.eye_array(n_offsets - 1, n_offsets) - sparse.eye_array(n_offsets - 1, n_offsets, k=1)
            before = sparse.csr_array((n_offsets - 1, self.n_weights))
            after = sparse.csr_array((n_offsets - 1, slacks.size))
            matrix = sparse.vstack([matrix, sparse.hstack([before, falls, after])], format="csr")
            right = np.concatenate([right, np.zeros(n_offsets - 1)])
        prices = np.concatenate([slopes / self.unit, p.weight[slacks]])
        bounds = np.full((prices.size, 2), (-np.inf, np.inf))
        bounds[slopes.size :, 0] = np.where(self.zero_inside[slacks], 0.0, -np.inf)
        # Scaled so that HiGHS's absolute tolerances are small against every price.
        method = "highs-ds" if is_open.size <= _SIMPLEX_UP_TO else "highs-ipm"
        result = linprog(prices * self.n_slacks, A_ub=matrix, b_ub=right, bounds=bounds, method=method)
        if result.status != 0:
            return None
        bound = constant + float(result.ineqlin.marginals @ right) / self.n_slacks
        return result.x[: slopes.size] / self.unit, bound, int(result.nit)

    def _linear(self, alone: NDArray[np.intp], elsewhere: NDArray[np.bool_]) -> tuple[Floats, float]:
        """Slopes by weights and offsets, and constant, of all that is not open.

        ``alone``: pieces whose loss has no other candidate, in rows with an open loss. ``elsewhere``: pieces of rows
        without one, whose losses come from the oracle.
        """
        p = self.pieces
        price = p.weight[p.slack[alone]]
        pull = np.zeros((self.design.n_rows, self.risk.n_scores))
        np.add.at(pull, p.row[alone], price[:, None] * p.by_score[alone])
        by_offset = p.by_offset[alone].T @ price
        constant = float(price @ p.constant[alone])
        rows, first = np.unique(p.row[elsewhere], return_index=True)
        share = float(p.weight[p.slack[elsewhere][first]].sum())
        if share > 0.0:
            scores = self._scores(self.theta[: self.n_weights])[rows]
            remaining = self.risk.take(rows).smoothed(self.mu)
            gain, r, db = remaining.dual(scores, self.theta[self.n_weights :], balanced=False)
            pull[rows] += share * r
            by_offset, constant = by_offset + share * db, constant + share * gain
        return np.concatenate([self.design.pull(pull).ravel(), by_offset]), constant
