"""Label ranking by dual ascent with the relative entropy to uniform weights as complexity: F(w) = sum_j w_j log(d w_j).

The weights of every label are positive and sum to one: omega_y = softmax(theta_y), G(theta) = log(mean_j exp(theta_j)).
The updates move theta as those of :mod:`rankwise.label_ranking.euclidean` do, so the weights change by factors. With
(r, s) the most violating pair and c the weight of the example, which multiplies C:

- update I ("fixed"): on a mistake, ``theta_r += c C x`` and ``theta_s -= c C x``: exponentiated gradient;
- update II ("optimal"): if rho_r - rho_s < margin, the same with the best step up to c C along that pair
  (:mod:`rankwise.label_ranking.pair_ascent`): in closed form if the non-zero entries of x are equal, by Newton's method
  otherwise;
- update III ("joint"): if rho_r - rho_s < margin, the best steps of all labels at once
  (:mod:`rankwise.label_ranking.entropic_joint`).

Scores are averages of the entries of x, so a margin above their range is never reached: with binary x it must be below
1.

Source: Shalev-Shwartz and Singer, "A unified algorithmic approach for efficient online label ranking", 2007.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from rankwise._kernels.compile import kernel
from rankwise._kernels.rows import absolute_sizes, all_finite, dots_positive, n_rows
from rankwise.label_ranking._counters import FIXED, GAINED, KNOWN, MISTAKES, REACH, ROUNDS, UPDATES
from rankwise.label_ranking.label_scores import first_unusable_row, labels_known, rank_labels, says_nothing, worst_pair
from rankwise.label_ranking.pair_ascent import best_step, best_step_binary
from rankwise.label_ranking.softmax import common_value, divide_by_normalisers, move_label, share_elsewhere


@register_jitable
def pair_step(x, model, scores, r, s, margin, cap):
    """Best step of theta_r against theta_s."""
    X, i, common, filled, largest = x
    weights, _, normaliser, n_features = model
    if filled == 0:
        return cap  # nothing moves, and the dual gains as much as the competitor loses
    if common > 0.0:
        return best_step_binary(scores[r] / common, scores[s] / common, common, margin, cap)
    rest_r = share_elsewhere(X, i, weights, normaliser, r, filled, n_features)
    rest_s = share_elsewhere(X, i, weights, normaliser, s, filled, n_features)
    return best_step(X, i, largest, weights, normaliser, r, s, rest_r, rest_s, margin, cap)


@register_jitable
def _room_for_pairs(n_labels):
    """Arrays that a pass works in: labels that move, and their steps."""
    return np.empty(2, dtype=np.int64), np.empty(2)


@register_jitable
def _pair_steps(x, model, scores, said, r, s, options, cap, room, counts):
    """Steps of updates I and II: how many labels move, and how much mass from one side to the other."""
    update, _, margin = options
    moved, steps = room
    tau = cap if update == FIXED else pair_step(x, model, scores, r, s, margin, cap)
    moved[0], moved[1], steps[0], steps[1] = r, s, tau, -tau
    return 2, tau


def make_pass(find_steps, make_room):
    """Compile a pass over rows; ``find_steps`` says which labels move, and how far, in arrays from ``make_room``."""

    @kernel
    def learn(X, indptr, above, below, weight, order, model, counts, sums, options, predictions):
        weights, shift, normaliser, n_features = model
        update, C, margin = options
        bad = first_unusable_row(X, weight, C, sums[REACH])
        if bad >= 0:
            return bad
        room = make_room(weights.shape[1])
        moved, steps = room[0], room[1]
        all_scores, codes = np.empty(weights.shape[1]), np.empty(weights.shape[1], dtype=np.int64)
        for t in range(n_rows(X)):
            i = order[t] if order.size else t
            start, stop = indptr[i], indptr[i + 1]
            before = counts[KNOWN]
            counts[KNOWN] = labels_known(above, below, start, stop, before)
            scores = all_scores[: counts[KNOWN]]
            dots_positive(X, i, weights, scores)
            divide_by_normalisers(scores, normaliser)
            if predictions.size:
                rank_labels(scores[:before], codes[:before], predictions[i])
            c = weight[i] if weight.size else 1.0
            if c == 0.0 or says_nothing(above, below, start, stop, scores.size):
                continue
            r, s = worst_pair(scores, above, below, start, stop)
            lead, cap = scores[r] - scores[s], c * C
            counts[ROUNDS] += 1
            counts[MISTAKES] += lead <= 0.0
            if lead > 0.0 if update == FIXED else lead >= margin:
                continue
            common, filled = common_value(X, i)
            largest, _ = absolute_sizes(X, i)
            x, said = (X, i, common, filled, largest), (above, start, stop)
            n_moved, tau = find_steps(x, model, scores, said, r, s, options, cap, room, counts)
            for e in range(n_moved):
                move_label(X, i, common, largest, weights, shift, normaliser, n_features, moved[e], steps[e])
            sums[GAINED] += margin * tau
            sums[REACH] += cap * largest
            counts[UPDATES] += 1
        return -1

    return learn


@kernel
def scores_entropic(X, weights, normaliser, out):
    """out[i, y] = <omega_y, x_i>; returns the first row with a score that is not finite, or -1."""
    for i in range(n_rows(X)):
        dots_positive(X, i, weights, out[i])
        divide_by_normalisers(out[i], normaliser)
        if not all_finite(out[i]):
            return i
    return -1


learn_pairs = make_pass(_pair_steps, _room_for_pairs)
