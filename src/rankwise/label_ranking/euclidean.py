"""Label ranking by dual ascent with the squared norm as complexity: F(w) = |w|^2 / 2.

The weights are the dual vectors themselves, omega_y = theta_y, and G(theta) = |theta|^2 / 2. In a round with the scores
rho_y = <theta_y, x>, let (r, s) be the most violating pair: of all pairs of which r should be ranked above s, the one
with the smallest rho_r - rho_s. With c the weight of the example, which multiplies C:

- update I ("fixed"): on a mistake, rho_r <= rho_s, ``theta_r += c C x`` and ``theta_s -= c C x``: a perceptron;
- update II ("optimal"): if rho_r - rho_s < margin, the same with the best step along that pair, passive-aggressive:
  ``tau = min(c C, (margin - (rho_r - rho_s)) / (2 |x|^2))``;
- update III ("joint"): if rho_r - rho_s < margin, ``theta_y += a_y x`` with the best steps of all labels at once
  (:mod:`rankwise.label_ranking.levels`).

Without mistakes of the annotator the last weights are good; with some, their average over the rounds is much better, as
with every perceptron (``average``, ours; kept lazily, :mod:`rankwise.online`). The dual value, the mistakes and
the updates are always those of the last weights.

Source: Shalev-Shwartz and Singer, "A unified algorithmic approach for efficient online label ranking", 2007.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from rankwise._kernels.compile import kernel
from rankwise._kernels.rows import absolute_sizes, all_finite, column, dots, n_entries, n_rows, squared_norm, value
from rankwise.label_ranking._counters import FIXED, GAINED, JOINT, KNOWN, MISTAKES, REACH, ROUNDS, UPDATES
from rankwise.label_ranking.label_scores import first_unusable_row, labels_known, rank_labels, says_nothing, worst_pair
from rankwise.label_ranking.levels import lead_of_scores, make_levels

_move_to_levels = make_levels(lead_of_scores)


@register_jitable
def _move(X, i, theta, lag, rounds, moved, steps):
    """theta_y += step x for every moved label y, and as much times the rounds so far to its lag."""
    for p in range(n_entries(X, i)):
        j, x = column(X, i, p), value(X, i, p)
        for e in range(moved.size):
            theta[j, moved[e]] += steps[e] * x
        if lag.size:
            for e in range(moved.size):
                lag[j, moved[e]] += rounds * (steps[e] * x)


@register_jitable
def _subtract_lag(X, i, lag, rounds, scores, late):
    """Turn the scores of theta into those of its average over the rounds: theta - lag / rounds."""
    if lag.size and rounds > 0:
        dots(X, i, lag, late)
        for y in range(scores.size):
            scores[y] -= late[y] / rounds


@kernel
def learn_euclidean(X, indptr, above, below, weight, order, theta, lag, counts, sums, options, predictions):
    """Learn from the rows in order, in place; return -1, or the first row that cannot be used."""
    update, C, margin = options
    bad = first_unusable_row(X, weight, C, sums[REACH])
    if bad >= 0:
        return bad
    n_labels = theta.shape[1]
    all_scores, averaged, late = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels)
    codes = np.empty(n_labels, dtype=np.int64)
    moved, steps = np.empty(n_labels + 1, dtype=np.int64), np.empty(n_labels + 1)
    for t in range(n_rows(X)):
        i = order[t] if order.size else t
        start, stop = indptr[i], indptr[i + 1]
        before = counts[KNOWN]
        counts[KNOWN] = labels_known(above, below, start, stop, before)
        scores = all_scores[: counts[KNOWN]]
        dots(X, i, theta, scores)
        if predictions.size:
            averaged[:before] = scores[:before]
            _subtract_lag(X, i, lag, counts[ROUNDS], averaged[:before], late[:before])
            rank_labels(averaged[:before], codes[:before], predictions[i])
        c = weight[i] if weight.size else 1.0
        if c == 0.0 or says_nothing(above, below, start, stop, scores.size):
            continue
        r, s = worst_pair(scores, above, below, start, stop)
        lead, cap = scores[r] - scores[s], c * C
        counts[ROUNDS] += 1
        counts[MISTAKES] += lead <= 0.0
        if lead > 0.0 if update == FIXED else lead >= margin:
            continue
        square = squared_norm(X, i)
        n_moved, tau = 2, cap
        if update == JOINT and square > 0.0:
            n_moved, tau = _move_to_levels(scores, above, start, stop, square, margin, cap, moved, steps)
        else:
            if update != FIXED and square > 0.0:
                tau = min(cap, (margin - lead) / (2.0 * square))
            moved[0], moved[1], steps[0], steps[1] = r, s, tau, -tau
        _move(X, i, theta, lag, counts[ROUNDS] - 1, moved[:n_moved], steps[:n_moved])
        sums[GAINED] += margin * tau
        sums[REACH] += cap * absolute_sizes(X, i)[0]
        counts[UPDATES] += 1
    return -1


@kernel
def scores_euclidean(X, theta, lag, rounds, out):
    """out[i, y] = <theta_y - lag_y / rounds, x_i>; returns the first row where one is not finite, or -1."""
    late = np.empty(out.shape[1])
    for i in range(n_rows(X)):
        dots(X, i, theta, out[i])
        _subtract_lag(X, i, lag, rounds, out[i], late)
        if not all_finite(out[i]):
            return i
    return -1
