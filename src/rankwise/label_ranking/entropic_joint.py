"""Update III for the relative entropy: the best steps of all labels of an example at once.

If the non-zero entries of x are equal, :mod:`rankwise.label_ranking.levels` finds them directly. For any other x,
:mod:`rankwise.label_ranking.interior_point` finds them, at a cost per iteration that is linear in the number of labels.

**Labels that cannot move** are left out of the interior point. At the solution the relevant labels that moved share one
score and the others that moved share another, at most ``margin`` apart. So a label stays if it keeps the margin to
every label of the other side, or is beyond the score that the worst label of its side reaches with the whole cap.
"""

import numpy as np

from rankwise._kernels.compile import register_jitable
from rankwise.label_ranking.entropic import make_entropic_pass, pair_step
from rankwise.label_ranking.interior_point import interior_workspace, make_joint_solver
from rankwise.label_ranking.levels import lead_of_log_odds, make_levels
from rankwise.label_ranking.rounds import MOST_ITERATIONS, UNSOLVED
from rankwise.label_ranking.softmax import share_elsewhere, tilted_moments

_STEEPEST = 690.0  # log-odds of a weight that rounding has made 0 or 1


@register_jitable
def _derivatives(problem, a, first, second):
    """Derivatives of f; ``rest`` is the share of each label's weight on the features that x does not have."""
    X, i, largest, weights, b, normaliser, labels, rest, inside, margin = problem
    last = a.size - 1
    for e in range(last):
        mean, second[e] = tilted_moments(X, i, largest, weights, b, normaliser, labels[e], rest[e], a[e])
        first[e] = mean - (margin if inside[e] else 0.0)
    first[last], second[last] = 0.0, 0.0


_solve = make_joint_solver(_derivatives)
_move_to_levels = make_levels(lead_of_log_odds)


@register_jitable
def _joint_workspace(n_labels):
    """Labels that move and their steps, labels that may move, and the arrays of either solver."""
    moved, steps = np.empty(n_labels, dtype=np.int64), np.empty(n_labels)
    labels, inside = np.empty(n_labels, dtype=np.int64), np.empty(n_labels, dtype=np.bool_)
    return moved, steps, labels, inside, np.empty(n_labels), interior_workspace(n_labels)


@register_jitable
def _log_odds(scores, common, out):
    """Log-odds of the weight of each label on the entries of x."""
    for y in range(scores.size):
        q = scores[y] / common
        out[y] = min(_STEEPEST, max(-_STEEPEST, np.log(q / (1.0 - q)))) if q < 1.0 else _STEEPEST


@register_jitable
def _gather(scores, feedback, r, s, margin, top, bottom, labels, inside):
    """Gather the labels that may move; ``top`` and ``bottom`` are the scores that r and s reach with the whole cap."""
    above, start, stop = feedback
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
def _interior_steps(x, model, scores, feedback, r, s, margin, cap, workspace, counts):
    """Best steps by the interior point; none if only one pair can move, or if the duality gap was not closed."""
    X, i, _, filled, largest = x
    weights, b, _, normaliser, n_features = model
    moved, steps, labels, inside, rest, for_interior = workspace
    rest_r = share_elsewhere(X, i, weights, b, normaliser, r, filled, n_features)
    rest_s = share_elsewhere(X, i, weights, b, normaliser, s, filled, n_features)
    top, _ = tilted_moments(X, i, largest, weights, b, normaliser, r, rest_r, cap)
    bottom, _ = tilted_moments(X, i, largest, weights, b, normaliser, s, rest_s, -cap)
    n = _gather(scores, feedback, r, s, margin, top, bottom, labels, inside)
    if n == 2:
        return 0, 0.0
    for e in range(n):
        rest[e] = share_elsewhere(X, i, weights, b, normaliser, labels[e], filled, n_features)
    problem = X, i, largest, weights, b, normaliser, labels, rest, inside, margin
    mass, iterations = _solve(problem, inside[:n], cap, margin + largest, for_interior)
    counts[MOST_ITERATIONS] = max(counts[MOST_ITERATIONS], iterations)
    counts[UNSOLVED] += mass == 0.0
    n_moved, a = 0, for_interior[3]
    for e in range(n):
        if mass > 0.0 and a[e] != 0.0:
            moved[n_moved], steps[n_moved] = labels[e], a[e]
            n_moved += 1
    return n_moved, mass


@register_jitable
def _joint_steps(x, model, scores, feedback, pair, options, cap, workspace, counts):
    """Steps of update III, returned as those of updates I and II are."""
    _, _, common, filled, _ = x
    margin, (r, s) = options[3], pair
    moved, steps, _, _, heights, _ = workspace
    n_moved, mass = 0, 0.0
    if common > 0.0:
        above, start, stop = feedback
        _log_odds(scores, common, heights)
        n_moved, mass = _move_to_levels(
            heights[: scores.size], above, start, stop, common, margin / common, cap, moved, steps
        )
    elif filled > 0:
        n_moved, mass = _interior_steps(x, model, scores, feedback, r, s, margin, cap, workspace, counts)
    if n_moved == 0:
        mass = pair_step(x, model, scores, r, s, margin, cap)
        moved[0], moved[1], steps[0], steps[1] = r, s, mass, -mass
        n_moved = 2
    return n_moved, mass


learn_joint = make_entropic_pass(_joint_steps, _joint_workspace)
