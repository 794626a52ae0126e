"""The joint update as a problem for the interior point, for any complexity function.

With f_y(a) = G(theta_y + a x) - margin a for relevant labels and G(theta_y + a x) for the others, minimise

    sum_y f_y(a_y)   subject to   sum_y a_y = 0,   sum_{relevant} a_y + slack = cap,   a >= 0 on the relevant labels,
                                  a <= 0 on the others,   slack >= 0.

The slack is one more variable, with f = 0, behind those of the labels.
"""

import numpy as np
from numba.extending import register_jitable

from rankwise.label_ranking.interior_point import WORK_ROWS, make_interior_point

_TOLERANCE = 1e-10  # duality gap, as a share of the cap times the size of the scores
_MOST_ITERATIONS = 100


@register_jitable
def room_for_joint(n_labels):
    """Arrays that the solver works in, for up to so many labels."""
    n = n_labels + 1
    return np.empty((2, n)), np.empty(n), np.zeros(n), np.empty(n), np.empty((WORK_ROWS, n))


@register_jitable
def _start(inside, cap, scale, A, p, a):
    """Constraints, and a point inside them: most of the cap spread over each side, or less if that would be a leap."""
    last = a.size - 1
    n_in = inside.sum()
    mass = min(0.9 * cap, 10.0 / scale)
    for e in range(last):
        A[0, e], A[1, e] = 1.0, 1.0 if inside[e] else 0.0
        p[e] = -1.0 if inside[e] else 1.0
        a[e] = mass / n_in if inside[e] else -mass / (last - n_in)
    A[0, last], A[1, last], p[last], a[last] = 0.0, 1.0, -1.0, cap - mass


@register_jitable
def _start_multipliers(first, inside, scale, nu):
    """Multipliers of the equalities that leave those of all bounds positive."""
    top, low = -np.inf, np.inf
    for e in range(inside.size):
        if inside[e]:
            low = min(low, first[e])
        else:
            top = max(top, first[e])
    room = 0.3 * max(abs(top - low), 1e-3 * scale)
    nu[0] = -(top + room)
    nu[1] = max(room, room - low - nu[0])


@register_jitable
def _clean(a, lam, inside, cap, scale):
    """Put labels that their bound holds exactly at it, and let both sides move the same mass; returns that mass."""
    mass_in, mass_out = 0.0, 0.0
    for e in range(inside.size):
        if abs(a[e]) / cap < lam[e] / scale:
            a[e] = 0.0
        if inside[e]:
            mass_in += a[e]
        else:
            mass_out -= a[e]
    if mass_in <= 0.0 or mass_out <= 0.0:
        return 0.0
    cap_holds = a[-1] / cap < lam[-1] / scale
    mass = cap if cap_holds else min(mass_in, cap)
    for e in range(inside.size):
        a[e] *= mass / mass_in if inside[e] else mass / mass_out
    return mass


def make_joint_solver(derivatives):
    """Compile the solver for one family of functions.

    Parameters
    ----------
    derivatives : jitable function
        ``derivatives(problem, a, first, second)`` fills ``first`` and ``second`` with the derivatives of all f_y, and
        with zeros in the last place.

    Returns
    -------
    jitable function
        ``solve(problem, inside, cap, scale, room)``: the best steps of the labels, of which ``inside`` says which are
        relevant, left in ``room[3]``; returns the mass that moves from one side to the other, zero if the duality gap
        was not closed, and the number of iterations. ``scale`` is the size of the derivatives.
    """
    minimise = make_interior_point(derivatives)

    @register_jitable
    def solve(problem, inside, cap, scale, room):
        A, p, q, a, work = room
        n = inside.size + 1
        A, p, q, a, work, nu = A[:, :n], p[:n], q[:n], a[:n], work[:, :n], np.empty(2)
        tolerance = _TOLERANCE * cap * scale
        width = 5.0 * cap  # two points are at most 2 cap apart on either side, and cap in the slack
        _start(inside, cap, scale, A, p, a)
        derivatives(problem, a, work[2], work[3])
        _start_multipliers(work[2], inside, scale, nu)
        iterations, gap = minimise(problem, A, p, q, a, nu, width, tolerance, _MOST_ITERATIONS, work)
        mass = _clean(a, work[0], inside, cap, scale) if gap <= tolerance else 0.0
        return mass, iterations

    return solve
