"""Update III for the relative entropy: the best steps of all labels of an example at once.

With f_y(a) = G(theta_y + a x) - margin a for relevant labels and G(theta_y + a x) for the others, minimise

    sum_y f_y(a_y)   subject to   sum_y a_y = 0,   sum_{relevant} a_y + slack = cap,   a >= 0 on the relevant labels,
                                  a <= 0 on the others,   slack >= 0.

If the non-zero entries of x are equal, :mod:`rankwise.solvers.levels` solves it directly. For any other x it is solved
by :mod:`rankwise.solvers.interior_point`, whose work in an iteration is linear in the number of labels.

**Labels that cannot move** are left out of the interior point. At the solution the moved relevant labels share one
score, the moved others another, at most ``margin`` apart. So a label stays where it is if it keeps the margin to every
label of the other side, or if it is beyond the score that the worst label of its side reaches with the whole cap.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from rankwise.label_ranking._state import MOST_ITERATIONS, UNSOLVED
from rankwise.label_ranking.entropic import make_pass, pair_step
from rankwise.models.softmax import share_elsewhere, tilted_moments
from rankwise.solvers.interior_point import WORK_ROWS, make_interior_point
from rankwise.solvers.levels import lead_of_log_odds, make_levels, share_out

_TOLERANCE = 1e-10  # duality gap, as a share of what the example can move times the size of its scores
_MOST_ITERATIONS = 60
_STEEPEST = 690.0  # log-odds of a weight that rounding has made 0 or 1


@register_jitable
def _derivatives(problem, a, first, second):
    """Derivatives of f; ``rest`` is the share of each label's weight on the features that x does not have."""
    X, i, largest, weights, normaliser, labels, rest, inside, margin = problem
    last = a.size - 1
    for e in range(last):
        mean, second[e] = tilted_moments(X, i, largest, weights, normaliser, labels[e], rest[e], a[e])
        first[e] = mean - (margin if inside[e] else 0.0)
    first[last], second[last] = 0.0, 0.0


_minimise = make_interior_point(_derivatives)
_move_to_levels = make_levels(lead_of_log_odds)


@register_jitable
def _room_for_all(n_labels):
    """Arrays that a pass works in, for all labels and the slack of the cap."""
    n = n_labels + 1
    moved, steps = np.empty(n, dtype=np.int64), np.empty(n)
    labels, inside = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
    A, p, q, a = np.empty((2, n)), np.empty(n), np.zeros(n), np.empty(n)
    return moved, steps, labels, inside, A, p, q, a, np.empty(n), np.empty((WORK_ROWS, n))


@register_jitable
def _log_odds(scores, common, out):
    """Logarithm of the weight of each label on the entries of x, over its weight elsewhere."""
    for y in range(scores.size):
        q = scores[y] / common
        out[y] = min(_STEEPEST, max(-_STEEPEST, np.log(q / (1.0 - q)))) if q < 1.0 else _STEEPEST


@register_jitable
def _gather(scores, said, r, s, margin, top, bottom, labels, inside):
    """Gather the labels that may move; ``top`` and ``bottom`` are what r and s reach with the whole cap."""
    above, start, stop = said
    n, e = 0, start
    for y in range(scores.size):
        relevant = e < stop and above[e] == y
        if relevant:
            e += 1
            can = y == r or scores[y] < min(top, scores[s] + margin)
        else:
            can = y == s or scores[y] > max(bottom, scores[r] - margin)
        if can:
            labels[n], inside[n] = y, relevant
            n += 1
    return n


@register_jitable
def _start(inside, cap, A, p, a):
    """Constraints, and a point inside them: half of the cap spread over each side."""
    last = a.size - 1
    n_in = inside.sum()
    for e in range(last):
        A[0, e], A[1, e] = 1.0, 1.0 if inside[e] else 0.0
        p[e] = -1.0 if inside[e] else 1.0
        a[e] = 0.5 * cap / n_in if inside[e] else -0.5 * cap / (last - n_in)
    A[0, last], A[1, last], p[last], a[last] = 0.0, 1.0, -1.0, 0.5 * cap


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
def _cleaned(a, lam, inside, labels, cap, scale, moved, steps):
    """Labels whose bound holds them are at it: drop them, and let both sides move the same mass, at most the cap."""
    n_up, mass = 0, 0.0
    for e in range(inside.size):
        if inside[e] and a[e] / cap >= lam[e] / scale:
            moved[n_up], steps[n_up] = labels[e], a[e]
            mass += a[e]
            n_up += 1
    n = n_up
    for e in range(inside.size):
        if not inside[e] and -a[e] / cap >= lam[e] / scale:
            moved[n], steps[n] = labels[e], -a[e]
            n += 1
    if n_up == 0 or n == n_up:
        return 0, 0.0
    cap_holds = a[-1] / cap < lam[-1] / scale
    mass = cap if cap_holds else min(mass, cap)
    share_out(steps[:n_up], mass)
    share_out(steps[n_up:n], mass)
    for e in range(n_up, n):
        steps[e] = -steps[e]
    return n, mass


@register_jitable
def _interior_steps(x, model, scores, said, r, s, margin, cap, room, counts):
    """Best steps by the interior point; no label moves if only one pair can, or if the gap was not closed."""
    X, i, _, filled, largest = x
    weights, _, normaliser, n_features = model
    moved, steps, labels, inside, A, p, q, a, rest, work = room
    rest_r = share_elsewhere(X, i, weights, normaliser, r, filled, n_features)
    rest_s = share_elsewhere(X, i, weights, normaliser, s, filled, n_features)
    top, _ = tilted_moments(X, i, largest, weights, normaliser, r, rest_r, cap)
    bottom, _ = tilted_moments(X, i, largest, weights, normaliser, s, rest_s, -cap)
    n = _gather(scores, said, r, s, margin, top, bottom, labels, inside)
    if n == 2:
        return 0, 0.0
    labels, inside, rest, work = labels[:n], inside[:n], rest[:n], work[:, : n + 1]
    A, p, q, a = A[:, : n + 1], p[: n + 1], q[: n + 1], a[: n + 1]
    for e in range(n):
        rest[e] = share_elsewhere(X, i, weights, normaliser, labels[e], filled, n_features)
    problem = X, i, largest, weights, normaliser, labels, rest, inside, margin
    scale, nu = margin + largest, np.empty(2)
    width, tolerance = 5.0 * cap, _TOLERANCE * cap * scale  # |a - a*| is at most 2 cap on either side, cap in the slack
    _start(inside, cap, A, p, a)
    _derivatives(problem, a, work[2], work[3])
    _start_multipliers(work[2], inside, scale, nu)
    iterations, gap = _minimise(problem, A, p, q, a, nu, width, tolerance, _MOST_ITERATIONS, work)
    counts[MOST_ITERATIONS] = max(counts[MOST_ITERATIONS], iterations)
    if gap > tolerance:
        counts[UNSOLVED] += 1
        return 0, 0.0
    return _cleaned(a, work[0], inside, labels, cap, scale, moved, steps)


@register_jitable
def _joint_steps(x, model, scores, said, r, s, options, cap, room, counts):
    """Steps of update III: how many labels move, and how much mass from one side to the other."""
    _, _, common, filled, _ = x
    _, _, margin = options
    moved, steps = room[0], room[1]
    n_moved, mass = 0, 0.0
    if common > 0.0:
        above, start, stop = said
        heights = room[8][: scores.size]
        _log_odds(scores, common, heights)
        n_moved, mass = _move_to_levels(heights, above, start, stop, common, margin / common, cap, moved, steps)
    elif filled > 0:
        n_moved, mass = _interior_steps(x, model, scores, said, r, s, margin, cap, room, counts)
    if n_moved == 0:
        mass = pair_step(x, model, scores, r, s, margin, cap)
        moved[0], moved[1], steps[0], steps[1] = r, s, mass, -mass
        n_moved = 2
    return n_moved, mass


learn_joint = make_pass(_joint_steps, _room_for_all)
