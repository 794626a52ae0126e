"""The best step along one pair of labels when the complexity is the relative entropy.

Moving theta_r by tau x and theta_s by -tau x changes the dual by ``margin tau - G(theta_r + tau x) - G(theta_s - tau
x)`` and a constant: concave in tau, with the slope ``margin - <omega_r - omega_s, x>`` at the moved vectors.
"""

import numpy as np
from numba.extending import register_jitable

from rankwise.label_ranking.softmax import tilted_moments

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
def best_step(X, i, largest, weights, normaliser, r, s, rest_r, rest_s, margin, cap):
    """Best step in [0, cap] for any x: Newton's method on the slope, kept inside a shrinking bracket.

    ``rest`` is the share of a label's weight on the features that x does not have. The slope at 0 is positive.
    """
    below, above, tau = 0.0, cap, cap
    for _ in range(_MOST_STEPS):
        mean_r, variance_r = tilted_moments(X, i, largest, weights, normaliser, r, rest_r, tau)
        mean_s, variance_s = tilted_moments(X, i, largest, weights, normaliser, s, rest_s, -tau)
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
