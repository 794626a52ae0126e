"""The joint update solved directly: relevant labels rise to one level, the others sink to one.

The steps of relevant labels a_r >= 0 and of the others a_s <= 0 maximise

    margin * sum_r a_r - sum_y G(theta_y + a_y x)   subject to   sum_y a_y = 0,   sum_r a_r <= cap.

At the solution the scores <omega_r, x> of all relevant labels that moved are equal, and so are those of the others that
moved; the first lead by the margin, or by less if the cap is reached. If a step changes the *height* of every label, an
increasing function of its score, at the same rate, there is a direct way to the solution: as the moved mass sum_r a_r
grows from zero, the level of the relevant labels rises from the lowest relevant height, the level of the others sinks
from the highest other height, and a label joins when its level reaches it, until the margin or the cap.

- Squared norm: a height is the score, and a step a raises it by a |x|^2.
- Relative entropy, x with one value v besides zeros: a height is log(q / (1 - q)) with q = score / v, the weight of a
  label on the entries of x, and a step a raises it by a v; so the margin is one between logistic functions of the
  heights.

A heap on each side finds the next label: O(k) and O(log k) for each label that moves.
"""

import numpy as np

from rankwise._kernels.compile import register_jitable
from rankwise._kernels.heap import heapify, take_top

_MOST_STEPS = 100


@register_jitable
def lead_of_scores(rising, sinking, lift, drop, margin, most):
    """Mass at which the rising level leads the sinking one by the margin; a unit of mass lifts and drops them."""
    return (margin - (rising - sinking)) / (lift + drop)


@register_jitable
def _logistic(height):
    return 1.0 / (1.0 + np.exp(min(-height, 700.0)))  # which does not overflow


@register_jitable
def lead_of_log_odds(rising, sinking, lift, drop, margin, most):
    """The same for logistic functions of the levels, by Newton's method in a bracket; inf if it is above ``most``."""
    below, above, mass = 0.0, most, most
    for _ in range(_MOST_STEPS):
        upper, lower = _logistic(rising + mass * lift), _logistic(sinking - mass * drop)
        lack = margin - (upper - lower)
        if lack > 0.0:
            below = mass
        else:
            above = mass
        if below == most:
            return np.inf
        slope = lift * upper * (1.0 - upper) + drop * lower * (1.0 - lower)
        following = mass + lack / slope if slope > 0.0 else np.inf
        if not below < following < above:
            following = 0.5 * (below + above)
        if abs(following - mass) <= 1e-14 * mass or lack == 0.0:
            break
        mass = following
    return mass


def make_levels(mass_to_margin):
    """Compile the method for one kind of height; ``mass_to_margin`` gives the mass at which the margin is reached."""

    @register_jitable
    def move_to_levels(heights, above, start, stop, rate, margin, cap, moved, steps):
        """Best steps of all labels; those in the slice [start, stop) of ``above`` are relevant.

        A unit of mass on one label changes its height by ``rate``. Fills ``moved`` and ``steps``; returns how many
        labels move, and the mass. The lowest relevant label must not be ahead of the highest other one by the margin.
        """
        n_in, e = stop - start, start
        for y in range(heights.size):  # relevant labels first, then the others
            if e < stop and above[e] == y:
                moved[e - start] = y
                e += 1
            else:
                moved[n_in + y - (e - start)] = y
        inside, outside = moved[:n_in], moved[n_in : heights.size]
        heapify(inside, heights, 1.0)
        heapify(outside, heights, -1.0)
        left_in, left_out = inside.size, outside.size
        rising = heights[take_top(inside, heights, 1.0, left_in)]
        sinking = heights[take_top(outside, heights, -1.0, left_out)]
        left_in, left_out, mass = left_in - 1, left_out - 1, 0.0
        while True:
            lift, drop = rate / (inside.size - left_in), rate / (outside.size - left_out)
            next_in = (heights[inside[0]] - rising) / lift if left_in else np.inf
            next_out = (sinking - heights[outside[0]]) / drop if left_out else np.inf
            remaining = cap - mass
            most = min(remaining, next_in, next_out)
            step = min(most, mass_to_margin(rising, sinking, lift, drop, margin, most))
            mass += step
            rising += step * lift
            sinking -= step * drop
            if step < most or most == remaining:
                break
            if step == next_in:
                rising = heights[take_top(inside, heights, 1.0, left_in)]
                left_in -= 1
            else:
                sinking = heights[take_top(outside, heights, -1.0, left_out)]
                left_out -= 1
        n_up, n_down = inside.size - left_in, outside.size - left_out
        for e in range(n_up):  # labels taken from a heap lie behind it
            moved[e] = inside[left_in + e]
            steps[e] = max(0.0, rising - heights[moved[e]])
        for e in range(n_down):
            moved[n_up + e] = outside[left_out + e]
            steps[n_up + e] = max(0.0, heights[moved[n_up + e]] - sinking)
        share_out(steps[:n_up], mass)
        share_out(steps[n_up : n_up + n_down], mass)
        for e in range(n_up, n_up + n_down):
            steps[e] = -steps[e]
        return n_up + n_down, mass

    return move_to_levels


@register_jitable
def share_out(shares, mass):
    """Scale the shares to the sum ``mass``, in place, so that rounding does not move one side more than the other."""
    total = shares.sum()
    if total > 0.0:
        shares *= mass / total
    else:
        shares[0] = mass
