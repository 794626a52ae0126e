"""A round of the label rankers: what an annotator said, the pair of labels most in the wrong order, and the pass.

What an annotator said about an example comes as the slice [start, stop) of two arrays of codes. Relevant labels lie in
``above``, ascending, with nothing in ``below``: every label of the slice should be ranked above every label outside it.
Preferences fill both arrays: ``above[e]`` should be ranked above ``below[e]``.

Of equal labels the one with the smaller code counts as the better ranked, the worse relevant and the better irrelevant.
"""

import numpy as np

from rankwise._kernels.compile import register_jitable
from rankwise._kernels.heap import heapify, take_top
from rankwise._kernels.rows import absolute_sizes, n_rows
from rankwise.base.state import VIOLATIONS
from rankwise.online._loop import UNCHANGED, make_pass

#: Places in ``state["counts"]`` besides those of all online estimators, of which VIOLATIONS counts mistakes: labels
#: known so far, rounds whose joint problem was not solved, and the most iterations that one took.
KNOWN, UNSOLVED, MOST_ITERATIONS = VIOLATIONS + 1, VIOLATIONS + 2, VIOLATIONS + 3
#: Places in ``state["sums"]``: margin times the dual variables, and a bound for the absolute value of every theta.
GAINED, REACH = 0, 1

#: Which dual variables of an example move, and how far.
UPDATES_BY_NAME = {"fixed": 0, "optimal": 1, "joint": 2}
FIXED, OPTIMAL, JOINT = UPDATES_BY_NAME.values()


@register_jitable
def rank_labels(scores, codes, out):
    """Fill ``out`` with the codes of the best labels, best first; labels that have no score yet come last.

    ``codes`` is room for a code of every label with a score.
    """
    for y in range(codes.size):
        codes[y] = y
    heapify(codes, scores, -1.0)
    for place in range(out.size):
        left = codes.size - place
        out[place] = take_top(codes, scores, -1.0, left) if left > 0 else place


@register_jitable
def lowest_inside(scores, above, start, stop):
    """Lowest-scored of the labels in a slice."""
    lowest = above[start]
    for e in range(start + 1, stop):
        if scores[above[e]] < scores[lowest]:
            lowest = above[e]
    return lowest


@register_jitable
def highest_outside(scores, above, start, stop):
    """Highest-scored of the labels that are not in a slice of ascending codes, which does not hold all of them."""
    highest, top, first = -1, -np.inf, 0
    for e in range(start, stop + 1):  # the labels between neighbours of the slice
        last = above[e] if e < stop else scores.size
        for y in range(first, last):
            if scores[y] > top:
                highest, top = y, scores[y]
        first = last + 1
    return highest


@register_jitable
def worst_pair(scores, above, below, start, stop):
    """Pair (r, s) of labels, r to be ranked above s, with the smallest difference of their scores."""
    if below.size == 0:
        return int(lowest_inside(scores, above, start, stop)), highest_outside(scores, above, start, stop)
    worst = start
    for e in range(start + 1, stop):
        lead, least = scores[above[e]] - scores[below[e]], scores[above[worst]] - scores[below[worst]]
        if lead < least or (lead == least and (above[e], below[e]) < (above[worst], below[worst])):
            worst = e
    return int(above[worst]), int(below[worst])


@register_jitable
def says_nothing(above, below, start, stop, n_labels):
    """Whether a slice prefers no label to another."""
    return start == stop or (below.size == 0 and stop - start == n_labels)


@register_jitable
def labels_known(above, below, start, stop, known):
    """How many labels are known once those of a slice are: new ones come in the order of their codes."""
    for e in range(start, stop):
        known = max(known, above[e] + 1)
        if below.size:
            known = max(known, below[e] + 1)
    return known


@register_jitable
def first_unusable_row(X, weight, C, constant, reach):
    """First row with an entry that is not finite, or with which a score might not be; -1 if there is none.

    ``reach`` bounds every weight so far: a row moves none by more than C times its own weight and largest entry. So a
    pass over rows that stand this test cannot fail half-way, and no copy of the model is needed to undo it.
    """
    rounds = 1e30  # more than there will ever be: averages are sums over them
    for i in range(n_rows(X)):
        largest, total = absolute_sizes(X, i)
        largest, total = max(largest, constant), total + constant
        c = weight[i] if weight.size else 1.0
        reach += C * c * largest
        if not (np.isfinite(rounds * reach * total) and np.isfinite(total * total)):
            return i
    return -1


def make_ranker_pass(score_labels, subtract_lag, make_room, move_labels):
    """Compile a pass over rows (:mod:`rankwise.online._loop`) from what one complexity function does.

    A pass learns ``(parameters, counts, sums, rankings)`` with the options ``(averaged, update, C, margin, constant)``
    from labels ``(starts, stops, (indptr, above, below))``. ``constant`` is the value of the feature that goes with the
    intercepts, one or zero. ``rankings`` has a row for each example if they are asked for.

    ``score_labels(X, i, parameters, scores)``
        Fill in the scores of as many labels as there is room for.
    ``subtract_lag(X, i, parameters, rounds, scores, late)``
        Turn them into those of the weights averaged over the rounds, if these are kept.
    ``make_room(n_labels)``
        Arrays that ``move_labels`` works in.
    ``move_labels(X, i, parameters, scores, said, pair, options, cap, rounds, room, counts)``
        Move the labels of an example that said ``(above, start, stop)`` and whose worst pair is ``pair``; return the
        mass that moves from one side to the other.
    """

    @register_jitable
    def prepare(model, said, options, predicting):
        n = model[0][0].shape[1]
        scores, averaged, late, codes = np.empty(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
        return n, (model, said, options, (scores, averaged, late, codes), make_room(n))

    @register_jitable
    def refuse(X, weight, room):
        _, _, C, _, constant = room[2]
        return first_unusable_row(X, weight, C, constant, room[0][2][REACH])

    @register_jitable
    def score(X, i, room):
        """Fill in the scores of the labels that are known once those of row i are; return how many were before."""
        (parameters, counts, _, _), (indptr, above, below) = room[0], room[1]
        before = counts[KNOWN]
        counts[KNOWN] = labels_known(above, below, indptr[i], indptr[i + 1], before)
        score_labels(X, i, parameters, room[3][0][: counts[KNOWN]])
        return before

    @register_jitable
    def predict(X, i, known, rounds, room):
        parameters, _, _, rankings = room[0]
        scores, averaged, late, codes = room[3]
        averaged[:known] = scores[:known]
        subtract_lag(X, i, parameters, rounds, averaged[:known], late[:known])
        rank_labels(averaged[:known], codes[:known], rankings[i])
        return rankings[i, 0]

    @register_jitable
    def informs(start, stop, highest, said, room):
        return not says_nothing(said[1], said[2], start, stop, room[0][1][KNOWN])

    @register_jitable
    def step(X, i, known, start, stop, c, past, room):
        if c == 0.0:
            return UNCHANGED
        (parameters, counts, sums, _), (_, above, below), options = room[0], room[1], room[2]
        _, update, C, margin, constant = options
        scores = room[3][0][: counts[KNOWN]]
        r, s = worst_pair(scores, above, below, start, stop)
        lead, cap = scores[r] - scores[s], c * C
        if lead > 0.0 if update == FIXED else lead >= margin:
            return UNCHANGED
        said = above, start, stop
        mass = move_labels(X, i, parameters, scores, said, (r, s), options, cap, past[0], room[4], counts)
        sums[GAINED] += margin * mass
        sums[REACH] += cap * max(absolute_sizes(X, i)[0], constant)
        return int(lead <= 0.0)

    return make_pass(prepare, score, predict, step, informs=informs, refuse=refuse, in_place=False)
