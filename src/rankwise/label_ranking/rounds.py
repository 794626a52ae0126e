"""A round of the label rankers: the feedback on an example, the most violating pair of labels, and the pass.

Feedback on an example is the slice [start, stop) of two arrays of codes. Relevant labels are in ``above``, ascending,
and ``below`` is empty: every label of the slice should be ranked above every label outside it. Preferences fill both
arrays: ``above[e]`` should be ranked above ``below[e]``.

Ties: the label with the smaller code is ranked first, and is the worst relevant or the best irrelevant one.
"""

import numpy as np

from rankwise._kernels.compile import register_jitable
from rankwise._kernels.heap import heapify, take_top
from rankwise._kernels.rows import absolute_sizes, n_rows
from rankwise.base.state import VIOLATIONS
from rankwise.online.learning_loop import UNCHANGED, make_pass

#: Places in ``state["counts"]`` after those of all online estimators (VIOLATIONS counts mistakes): labels known so
#: far, rounds whose joint problem was not solved, and the most iterations in a round.
KNOWN, UNSOLVED, MOST_ITERATIONS = VIOLATIONS + 1, VIOLATIONS + 2, VIOLATIONS + 3
#: Places in ``state["sums"]``: margin times the dual variables, and a bound on the absolute value of every theta.
GAINED, REACH = 0, 1

#: Which dual variables of an example move, and how far.
UPDATES_BY_NAME = {"fixed": 0, "optimal": 1, "joint": 2}
FIXED, OPTIMAL, JOINT = UPDATES_BY_NAME.values()


@register_jitable
def rank_labels(scores, codes, out):
    """Fill ``out`` with the codes of the best labels, best first; labels without a score come last.

    ``codes`` is a scratch array with one place for each label with a score.
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
    """Highest-scored label outside a slice of ascending codes; there must be one."""
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
    """Pair (r, s) with the smallest difference of scores, where r should be ranked above s."""
    if below.size == 0:
        return int(lowest_inside(scores, above, start, stop)), highest_outside(scores, above, start, stop)
    worst = start
    for e in range(start + 1, stop):
        lead, least = scores[above[e]] - scores[below[e]], scores[above[worst]] - scores[below[worst]]
        if lead < least or (lead == least and (above[e], below[e]) < (above[worst], below[worst])):
            worst = e
    return int(above[worst]), int(below[worst])


@register_jitable
def labels_known(above, below, start, stop, known):
    """Number of known labels after a slice: new labels appear in the order of their codes."""
    for e in range(start, stop):
        known = max(known, above[e] + 1)
        if below.size:
            known = max(known, below[e] + 1)
    return known


@register_jitable
def first_unusable_row(X, weight, C, constant, reach):
    """First row with an entry that is not finite or could make a score so; -1 if there is none.

    ``reach`` bounds every weight so far: a row moves a weight by at most C times its own weight and largest entry. So
    a pass over rows that pass this test cannot fail half-way and needs no copy of the model to undo it.
    """
    rounds = 1e30  # more than there can be; averages are sums over rounds
    for i in range(n_rows(X)):
        largest, total = absolute_sizes(X, i)
        largest, total = max(largest, constant), total + constant
        c = weight[i] if weight.size else 1.0
        reach += C * c * largest
        if not (np.isfinite(rounds * reach * total) and np.isfinite(total * total)):
            return i
    return -1


def make_ranker_pass(score_labels, subtract_lag, make_workspace, move_labels):
    """Compile a pass over rows (:mod:`rankwise.online.learning_loop`) from the functions of one complexity function.

    A pass learns ``(parameters, counts, sums, rankings)`` with the options ``(averaged, update, C, margin, constant)``
    from labels ``(starts, stops, (indptr, above, below))``. ``constant`` is the value of the constant feature: 1 with
    intercepts, 0 without. ``rankings`` has a row for each example if rankings are asked for.

    ``score_labels(X, i, parameters, scores)``
        Fill ``scores``, one for each of the first labels.
    ``subtract_lag(X, i, parameters, rounds, scores, late)``
        Turn them into the scores of the averaged weights, if averages are kept.
    ``make_workspace(n_labels)``
        Scratch arrays for ``move_labels``.
    ``move_labels(X, i, parameters, scores, feedback, pair, options, cap, rounds, workspace, counts)``
        Learn from an example with the feedback ``(above, start, stop)`` and the worst pair ``pair``; return the mass
        that moves from one side to the other.
    """

    @register_jitable
    def prepare(model, labels, options, predicting):
        n = model[0][0].shape[1]
        scores, averaged, late, codes = np.empty(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
        return n, (model, labels, options, (scores, averaged, late, codes), make_workspace(n))

    @register_jitable
    def refuse(X, weight, workspace):
        _, _, C, _, constant = workspace[2]
        return first_unusable_row(X, weight, C, constant, workspace[0][2][REACH])

    @register_jitable
    def score(X, i, workspace):
        """Score all known labels, those of row i included; return how many were known before it."""
        (parameters, counts, _, _), (indptr, above, below) = workspace[0], workspace[1]
        before = counts[KNOWN]
        counts[KNOWN] = labels_known(above, below, indptr[i], indptr[i + 1], before)
        score_labels(X, i, parameters, workspace[3][0][: counts[KNOWN]])
        return before

    @register_jitable
    def predict(X, i, known, rounds, workspace):
        parameters, _, _, rankings = workspace[0]
        scores, averaged, late, codes = workspace[3]
        averaged[:known] = scores[:known]
        subtract_lag(X, i, parameters, rounds, averaged[:known], late[:known])
        rank_labels(averaged[:known], codes[:known], rankings[i])
        return rankings[i, 0]

    @register_jitable
    def informs(start, stop, highest, labels, workspace):
        """Whether the feedback prefers any label to another."""
        below, n_labels = labels[2], workspace[0][1][KNOWN]
        return start != stop and (below.size > 0 or stop - start != n_labels)

    @register_jitable
    def step(X, i, known, start, stop, c, past, workspace):
        if c == 0.0:
            return UNCHANGED
        (parameters, counts, sums, _), (_, above, below), options = workspace[0], workspace[1], workspace[2]
        _, update, C, margin, constant = options
        scores = workspace[3][0][: counts[KNOWN]]
        r, s = worst_pair(scores, above, below, start, stop)
        lead, cap = scores[r] - scores[s], c * C
        if lead > 0.0 if update == FIXED else lead >= margin:
            return UNCHANGED
        feedback = above, start, stop
        mass = move_labels(X, i, parameters, scores, feedback, (r, s), options, cap, past[0], workspace[4], counts)
        sums[GAINED] += margin * mass
        sums[REACH] += cap * max(absolute_sizes(X, i)[0], constant)
        return int(lead <= 0.0)

    return make_pass(prepare, score, predict, step, informs=informs, refuse=refuse, in_place=False)
