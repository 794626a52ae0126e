"""The joint update for the squared norm, solved directly: two levels that approach each other's other side.

With scores s_y = <theta_y, x> and n = |x|^2, the steps of relevant labels a_r >= 0 and of the others a_s <= 0 maximise

    margin * sum_r a_r - sum_y (s_y a_y + n a_y^2 / 2)   subject to   sum_y a_y = 0,  sum_r a_r <= cap.

The optimality conditions say that the relevant labels are lifted to a common level and the others lowered to one:

    a_r = max(0, lower level - s_r) / n,   a_s = -max(0, s_s - upper level) / n

As the moved mass sum_r a_r grows from zero, the level of the relevant labels rises from the lowest relevant score and
the level of the others sinks from the highest other score; a label joins when its level reaches it. The mass stops
growing at the cap, or when the relevant level is ahead of the other by the margin. Sorting takes O(k log k), this O(k).
"""

import numpy as np
from numba.extending import register_jitable


@register_jitable
def move_to_levels(low, high, square, margin, cap, up, down):
    """Steps of the relevant labels with scores ``low`` (ascending) and of the others with scores ``high`` (descending).

    Fills ``up`` and ``down`` with the sizes of the steps; returns their common sum, and how many are not zero on
    either side. Needs ``low[0] - high[0] < margin`` and ``square > 0``.
    """
    rising, sinking = low[0], high[0]  # the two levels
    n_up, n_down, mass = 1, 1, 0.0
    while True:
        lift, drop = square / n_up, square / n_down  # change of a level for each unit of mass
        at_margin = (margin - (rising - sinking)) / (lift + drop)
        at_cap = cap - mass
        next_up = (low[n_up] - rising) / lift if n_up < low.size else np.inf
        next_down = (sinking - high[n_down]) / drop if n_down < high.size else np.inf
        step = min(at_margin, at_cap, next_up, next_down)
        mass += step
        rising += step * lift
        sinking -= step * drop
        if step in (at_margin, at_cap):
            break
        if step == next_up:
            rising = low[n_up]
            n_up += 1
        else:
            sinking = high[n_down]
            n_down += 1
    for r in range(n_up):
        up[r] = max(0.0, rising - low[r])
    for s in range(n_down):
        down[s] = max(0.0, high[s] - sinking)
    share_out(up[:n_up], mass)
    share_out(down[:n_down], mass)
    return mass, n_up, n_down


@register_jitable
def share_out(shares, mass):
    """Scale the shares to the sum ``mass``, in place; rounding must not make one side move more than the other."""
    total = shares.sum()
    if total > 0.0:
        shares *= mass / total
    else:
        shares[0] = mass
