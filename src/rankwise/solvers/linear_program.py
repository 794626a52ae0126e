"""Risks without a regulariser: linear programmes, solved exactly by HiGHS where they are small enough.

    minimise  sum_s weight_s xi_s     subject to   xi_s >= constant_p + <scores' coefficients, X w> + <.., b>,  xi >= 0

for every linear piece p of every loss, and the order of the offsets where the risk demands one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from rankwise.solvers.design import Design
from rankwise.solvers.solution import Solution

Floats = NDArray[np.float64]

_MOST_ENTRIES = 2_000_000  # of the constraint matrix; beyond, HiGHS takes minutes


@dataclass(frozen=True)
class Pieces:
    """Linear pieces of a risk: ``xi[slack_p] >= constant_p + <by_score_p, scores of row_p> + <by_offset_p, b>``.

    Attributes
    ----------
    row, slack : int arrays of shape (P,)
        Row of the data, and slack variable, of each piece.
    constant : array of shape (P,)
        Constant terms.
    by_score : array of shape (P, n_scores)
        Coefficients of the row's scores.
    by_offset : sparse matrix of shape (P, n_offsets)
        Coefficients of the offsets.
    weight : array of shape (number of slacks,)
        Price of every slack.
    ordered : bool
        Whether the offsets must not descend.
    """

    row: NDArray[np.intp]
    slack: NDArray[np.intp]
    constant: Floats
    by_score: Floats
    by_offset: Any
    weight: Floats
    ordered: bool


def affordable(risk: Any, design: Design) -> bool:
    """Whether the linear programme is small enough to be solved exactly."""
    per_row = design.n_stored / max(design.n_rows, 1)
    return bool(risk.n_pieces() * (per_row * risk.n_scores + 3) <= _MOST_ENTRIES)


def minimise_exactly(design: Design, risk: Any) -> Solution:
    """Minimise the risk without a regulariser."""
    pieces = risk.pieces()
    X = design.matrix()[pieces.row]
    by_weight = [sparse.diags_array(pieces.by_score[:, z]) @ X for z in range(risk.n_scores)]
    n_pieces, n_slacks = pieces.row.size, pieces.weight.size
    slacks = sparse.csr_array((-np.ones(n_pieces), (np.arange(n_pieces), pieces.slack)), shape=(n_pieces, n_slacks))
    matrix = sparse.hstack([*by_weight, pieces.by_offset, slacks], format="csr")
    right = -pieces.constant
    n_weights, n_offsets = risk.n_scores * design.n_features, risk.n_offsets
    if pieces.ordered and n_offsets > 1:
        falls = sparse.eye_array(n_offsets - 1, n_offsets) - sparse.eye_array(n_offsets - 1, n_offsets, k=1)
        before = sparse.csr_array((n_offsets - 1, n_weights))
        after = sparse.csr_array((n_offsets - 1, n_slacks))
        matrix = sparse.vstack([matrix, sparse.hstack([before, falls, after])], format="csr")
        right = np.concatenate([right, np.zeros(n_offsets - 1)])
    prices = np.concatenate([np.zeros(n_weights + n_offsets), pieces.weight])
    bounds = np.full((prices.size, 2), (-np.inf, np.inf))
    bounds[n_weights + n_offsets :, 0] = 0.0
    # Scaled so that HiGHS's absolute tolerances are small against every price.
    found = linprog(prices * n_slacks, A_ub=matrix, b_ub=right, bounds=bounds, method="highs")
    if found.status != 0:
        raise RuntimeError(f"HiGHS could not solve the linear programme: {found.message}")
    weights, offsets = found.x[:n_weights], found.x[n_weights : n_weights + n_offsets]
    objective, offsets = risk.exact(design.times(weights.reshape(risk.n_scores, -1)), offsets)
    bound = float(found.ineqlin.marginals @ right) / n_slacks
    lower_bound = min(max(bound, 0.0), objective)
    return Solution(np.concatenate([weights, offsets]), float(objective), lower_bound, int(found.nit), True)
