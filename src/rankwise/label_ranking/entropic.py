"""Label ranking by dual ascent with the relative entropy to uniform weights as complexity: F(w) = sum_j w_j log(d w_j).

The weights of every label are positive and sum to one: omega_y = softmax(theta_y), G(theta) = log(mean_j exp(theta_j)).
The updates move theta as in :mod:`rankwise.label_ranking.euclidean`, so they multiply the weights. With (r, s) the most
violating pair and c the weight of the example, which multiplies C:

- update I ("fixed"): on a mistake, ``theta_r += c C x`` and ``theta_s -= c C x``: exponentiated gradient;
- update II ("optimal"): if rho_r - rho_s < margin, the same with the best step tau up to c C along that pair: in closed
  form if the non-zero entries of x are equal, by Newton's method otherwise. The step changes the dual by ``margin tau -
  G(theta_r + tau x) - G(theta_s - tau x)`` and a constant: concave in tau, with the slope ``margin - <omega_r -
  omega_s, x>`` at the moved vectors;
- update III ("joint"): if rho_r - rho_s < margin, the best steps of all labels at once
  (:mod:`rankwise.label_ranking.entropic_joint`).

Scores are averages of the entries of x, so a margin above their range is never reached: for binary x, 1 is too much.

Source: Shalev-Shwartz and Singer, "A unified algorithmic approach for efficient online label ranking", 2007.
"""

import numpy as np

from rankwise._kernels.compile import kernel, register_jitable
from rankwise._kernels.rows import absolute_sizes, all_finite, dots_positive, n_rows
from rankwise.label_ranking.rounds import FIXED, make_ranker_pass
from rankwise.label_ranking.softmax import (
    common_value,
    divide_by_normalisers,
    move_label,
    share_elsewhere,
    tilted_moments,
)

_MOST_STEPS = 100


@register_jitable
def best_step_binary(q_r, q_s, common, margin, cap):
    """Best step in [0, cap] if all non-zero entries of x are ``common``; q is the weight of a label on these entries.

    With b = exp(tau common) and g = margin / common, the slope is zero at the positive root of

        b^2 q_r (1 - q_s)(1 - g) - b g (q_r q_s + (1 - q_r)(1 - q_s)) - q_s (1 - q_r)(1 + g) = 0

    and positive everywhere if g >= 1. (The paper caps b by C instead of tau, a slip.)
    """
    g = margin / common
    square = q_r * (1.0 - q_s) * (1.0 - g)
    if g >= 1.0 or square <= 0.0:
        return cap
    half = 0.5 * g * (q_r * q_s + (1.0 - q_r) * (1.0 - q_s))
    constant = q_s * (1.0 - q_r) * (1.0 + g)
    root = (half + np.sqrt(half * half + square * constant)) / square
    return min(cap, max(0.0, np.log(root) / common))


@register_jitable
def best_step(X, i, largest, weights, b, normaliser, r, s, rest_r, rest_s, margin, cap):
    """Best step in [0, cap] for any x: Newton's method on the slope, kept inside a shrinking bracket.

    ``rest`` is the share of a label's weight on the features that x does not have. The slope at 0 is positive.
    """
    below, above, tau = 0.0, cap, cap
    for _ in range(_MOST_STEPS):
        mean_r, variance_r = tilted_moments(X, i, largest, weights, b, normaliser, r, rest_r, tau)
        mean_s, variance_s = tilted_moments(X, i, largest, weights, b, normaliser, s, rest_s, -tau)
        slope, curvature = margin - (mean_r - mean_s), variance_r + variance_s
        if slope >= 0.0:
            below = tau
        else:
            above = tau
        if below == cap:
            return cap
        following = tau + slope / curvature if curvature > 0.0 else np.inf
        if not below < following < above:
            following = 0.5 * (below + above)
        if abs(following - tau) <= 1e-14 * tau or slope == 0.0:
            return tau
        tau = following
    return tau


@register_jitable
def pair_step(x, model, scores, r, s, margin, cap):
    """Best step of theta_r against theta_s."""
    X, i, common, filled, largest = x
    weights, b, _, normaliser, n_features = model
    if filled == 0:
        return cap  # nothing moves, and the dual gains as much as the competitor loses
    if common > 0.0:
        return best_step_binary(scores[r] / common, scores[s] / common, common, margin, cap)
    rest_r = share_elsewhere(X, i, weights, b, normaliser, r, filled, n_features)
    rest_s = share_elsewhere(X, i, weights, b, normaliser, s, filled, n_features)
    return best_step(X, i, largest, weights, b, normaliser, r, s, rest_r, rest_s, margin, cap)


@register_jitable
def _pair_workspace(n_labels):
    return np.empty(2, dtype=np.int64), np.empty(2)


@register_jitable
def _pair_steps(x, model, scores, feedback, pair, options, cap, workspace, counts):
    """Steps of updates I and II; return how many labels move, and the mass that moves from one side to the other."""
    _, update, _, margin, _ = options
    (r, s), (moved, steps) = pair, workspace
    tau = cap if update == FIXED else pair_step(x, model, scores, r, s, margin, cap)
    moved[0], moved[1], steps[0], steps[1] = r, s, tau, -tau
    return 2, tau


@register_jitable
def _score_labels(X, i, parameters, scores):
    weights, b, _, normaliser, _ = parameters
    dots_positive(X, i, weights, scores)
    if b.size:
        for y in range(scores.size):
            scores[y] += max(b[y], 0.0)
    divide_by_normalisers(scores, normaliser)


@register_jitable
def _no_average(X, i, parameters, rounds, scores, late):
    """Every update changes all weights of a label: their average would cost a pass over all features."""


def make_entropic_pass(find_steps, make_workspace):
    """Compile a pass; ``find_steps`` fills the first two arrays of a workspace: which labels move, and how far."""

    @register_jitable
    def move_labels(X, i, parameters, scores, feedback, pair, options, cap, rounds, workspace, counts):
        weights, b, shift, normaliser, n_features = parameters
        common, filled = common_value(X, i, b)
        largest = max(absolute_sizes(X, i)[0], options[4])
        x = X, i, common, filled, largest
        n_moved, mass = find_steps(x, parameters, scores, feedback, pair, options, cap, workspace, counts)
        moved, steps = workspace[0], workspace[1]
        for e in range(n_moved):
            move_label(X, i, common, largest, weights, b, shift, normaliser, n_features, moved[e], steps[e])
        return mass

    return make_ranker_pass(_score_labels, _no_average, make_workspace, move_labels)


@kernel
def scores_entropic(X, parameters, out):
    """out[i, y] = <omega_y, x_i>; return the first row with a score that is not finite, or -1."""
    for i in range(n_rows(X)):
        _score_labels(X, i, parameters, out[i])
        if not all_finite(out[i]):
            return i
    return -1


learn_pairs = make_entropic_pass(_pair_steps, _pair_workspace)
