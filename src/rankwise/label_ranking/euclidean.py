"""Label ranking by dual ascent with the squared norm as complexity: F(w) = |w|^2 / 2.

The weights are the dual vectors themselves, omega_y = theta_y, and G(theta) = |theta|^2 / 2. In a round with the scores
rho_y = <theta_y, x>, let (r, s) be the most violating pair: the one with the smallest rho_r - rho_s of all pairs where
r should be ranked above s. With c the weight of the example, which multiplies C:

- update I ("fixed"): on a mistake, rho_r <= rho_s, ``theta_r += c C x`` and ``theta_s -= c C x``: a perceptron;
- update II ("optimal"): if rho_r - rho_s < margin, the same with the best step along that pair, passive-aggressive:
  ``tau = min(c C, (margin - (rho_r - rho_s)) / (2 |x|^2))``;
- update III ("joint"): if rho_r - rho_s < margin, ``theta_y += a_y x`` with the best steps of all labels at once
  (:mod:`rankwise.label_ranking.levels`).

With intercepts, x has one more feature, the constant 1, whose weights b_y are stored apart from theta_y.

Without label noise the last weights are good; with noise, their average over the rounds is much better, as with every
perceptron (``average``, ours; kept lazily, :mod:`rankwise.online`). The dual value, the mistakes and the updates are
always those of the last weights.

Source: Shalev-Shwartz and Singer, "A unified algorithmic approach for efficient online label ranking", 2007.
"""

import numpy as np

from rankwise._kernels.compile import kernel, register_jitable
from rankwise._kernels.rows import all_finite, column, dots, n_entries, n_rows, squared_norm, value
from rankwise.label_ranking.levels import lead_of_scores, make_levels
from rankwise.label_ranking.rounds import FIXED, JOINT, make_ranker_pass

_move_to_levels = make_levels(lead_of_scores)


@register_jitable
def _move(X, i, parameters, rounds, moved, steps):
    """theta_y += step x for every moved label y, and the same times the rounds so far for its lag."""
    theta, lag, b, b_lag = parameters
    for p in range(n_entries(X, i)):
        j, x = column(X, i, p), value(X, i, p)
        for e in range(moved.size):
            theta[j, moved[e]] += steps[e] * x
        if lag.size:
            for e in range(moved.size):
                lag[j, moved[e]] += rounds * (steps[e] * x)
    if b.size:
        for e in range(moved.size):
            b[moved[e]] += steps[e]
            if b_lag.size:
                b_lag[moved[e]] += rounds * steps[e]


@register_jitable
def _dots(X, i, weights, intercepts, scores):
    dots(X, i, weights, scores)
    if intercepts.size:
        for y in range(scores.size):
            scores[y] += intercepts[y]


@register_jitable
def _score_labels(X, i, parameters, scores):
    _dots(X, i, parameters[0], parameters[2], scores)


@register_jitable
def _subtract_lag(X, i, parameters, rounds, scores, late):
    """Turn the scores of theta into those of its average over the rounds, theta - lag / rounds."""
    lag, b_lag = parameters[1], parameters[3]
    if lag.size + b_lag.size > 0 and rounds > 0:
        _dots(X, i, lag, b_lag, late)
        for y in range(scores.size):
            scores[y] -= late[y] / rounds


@register_jitable
def _workspace(n_labels):
    return np.empty(n_labels + 1, dtype=np.int64), np.empty(n_labels + 1)


@register_jitable
def _move_labels(X, i, parameters, scores, feedback, pair, options, cap, rounds, workspace, counts):
    _, update, _, margin, constant = options
    (r, s), (moved, steps), square = pair, workspace, squared_norm(X, i) + constant
    n_moved, mass = 2, cap
    if update == JOINT and square > 0.0:
        above, start, stop = feedback
        n_moved, mass = _move_to_levels(scores, above, start, stop, square, margin, cap, moved, steps)
    else:
        if update != FIXED and square > 0.0:
            mass = min(cap, (margin - (scores[r] - scores[s])) / (2.0 * square))
        moved[0], moved[1], steps[0], steps[1] = r, s, mass, -mass
    _move(X, i, parameters, rounds, moved[:n_moved], steps[:n_moved])
    return mass


@kernel
def scores_euclidean(X, parameters, rounds, out):
    """out[i, y]: score of label y by the averaged weights; return the first row where one is not finite, or -1."""
    late = np.empty(out.shape[1])
    for i in range(n_rows(X)):
        _score_labels(X, i, parameters, out[i])
        _subtract_lag(X, i, parameters, rounds, out[i], late)
        if not all_finite(out[i]):
            return i
    return -1


learn_euclidean = make_ranker_pass(_score_labels, _subtract_lag, _workspace, _move_labels)
