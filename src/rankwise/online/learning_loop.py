"""The loop that all online algorithms share: a pass over rows, compiled for each algorithm with its own functions.

:func:`make_pass` closes over these functions. In the order of their use, with ``model`` the arrays that are learnt and
``options`` the settings, of which the first is whether predictions are averaged, or the standing of the contest that
decides it (:mod:`rankwise.online._contest`):

``prepare(model, mask, options, predicting)``
    Highest code of a label, and ``workspace``: a tuple of all that the other functions need, also scratch arrays.
    ``mask`` holds the candidates of every row, or nothing if labels are intervals.
``score(X, i, workspace)``
    Score of row i by the last weights: a number, or whatever else ``predict`` and ``step`` understand.
``predict(X, i, score, rounds, workspace)``
    Code predicted with the averaged weights ``w - lag / rounds``, the last ones if ``rounds`` is zero; below zero if a
    score is not finite. Called only where predictions are asked for, before ``step``.
``step(X, i, score, lo, hi, c, past, workspace)``
    Learn from row i with a label between the codes lo and hi and the weight c, which is zero if the row has no
    information, after ``past = (rounds, updates, violations)``. Return how many constraints were violated if the model
    changed and :data:`UNCHANGED` if not; :data:`NOT_FINITE`, before any change, if the score is not finite.
``both_right(X, i, score, lo, hi, rounds, workspace)``
    Whether the predictions with the last and with the averaged weights surely lie between lo and hi: a quick test that
    saves the contest the predictions themselves, for intervals.
``finish(model, workspace)``
    Write back what was learnt in ``workspace``.
``informs(lo, hi, highest, mask, workspace)``
    Whether a label is informative; for classes, whether it admits fewer than all of them.
``refuse(X, weight, workspace)``
    First row that must not be learnt from, or -1: for an algorithm that looks at all rows before it changes anything.
``repair(model, options)``
    Recompute what follows from the arrays in which a row was undone.

A pass that learns in place from a single row undoes it if the model would not be tame after it
(:data:`rankwise.base.state.LARGEST`): nothing can interrupt it half-way. For that ``model`` begins with two tuples: the
arrays with one entry, or row, for each feature, and the 1-D arrays that any row may change.

``score``, ``predict`` and ``step`` are made with :func:`rankwise._kernels.compile.inlined`, the others with
``register_jitable``.
"""

import numpy as np

from rankwise._kernels.compile import inlined, kernel, overload, register_jitable
from rankwise._kernels.rows import column, n_entries, n_rows
from rankwise.base.state import LARGEST, ROUNDS, UPDATES, VIOLATIONS
from rankwise.online._contest import averages, is_due, judged, settle, standing

#: What a step returns instead of a number of violations.
UNCHANGED, NOT_FINITE = -1, -2


@register_jitable
def write_back(values, array):
    """Copy values into an array of the same length, for ``finish``."""
    for k in range(array.size):  # numba compiles an assignment of slices in two seconds, with its error messages
        array[k] = values[k]


@register_jitable
def nothing_to_do(model, _):
    """``finish`` and ``repair`` of an algorithm that learns in place and has no derived arrays."""


@inlined
def admits_fewer(lo, hi, highest, mask, workspace):
    """``informs`` of an algorithm whose labels are classes."""
    return (lo > 0) | (hi < highest) | (mask.size > 0)


@inlined
def never_sure(X, i, score, lo, hi, rounds, workspace):
    """``both_right`` of an algorithm that has no quicker way than to predict."""
    return False


@register_jitable
def nothing_to_refuse(X, weight, workspace):
    """``refuse`` of an algorithm that detects a bad row when it comes to it."""
    return -1


@register_jitable
def _n_touched(X, model):
    """How many numbers a single row may change; zero for several rows, of which nothing is kept."""
    of_features, of_all = model[:2]
    n = 0
    for array in of_features:
        n += n_entries(X, 0) * (array.size // max(1, array.shape[0]))
    for array in of_all:
        n += array.size
    return n if n_rows(X) == 1 else 0


def _flat(array):
    """The numbers of an array, one after the other."""
    return array.reshape(-1)


@overload(_flat, inline="always")
def _overload_flat(array):
    # Reshaping is a call into numpy, which is noticeable for single rows; most arrays have one number per feature.
    return (lambda array: array) if array.ndim == 1 else (lambda array: array.reshape(-1))


#: Actions on the numbers that a row may change: keep a copy, look at them, or restore them from the copy.
_KEEP, _LOOK, _PUT_BACK = 0, 1, 2


@inlined
def _exchange(array, first, n, copy, place, action):
    """Keep, look at or put back n numbers of an array; return whether those looked at are tame."""
    # A loop for each action, and no index that could be negative, as far as numba knows: so they run in registers.
    tame, first, n, place = True, np.uintp(first), np.uintp(n), np.uintp(place)
    if action == _KEEP:
        for j in range(n):
            copy[place + j] = array[first + j]
    elif action == _LOOK:
        for j in range(n):
            tame &= abs(array[first + j]) <= LARGEST  # false for NaN
    else:
        for j in range(n):
            array[first + j] = copy[place + j]
    return tame


@register_jitable
def _touched(X, model, copy, action):
    """Keep, look at or put back all that row 0 may change; return whether what is looked at is tame."""
    of_features, of_all = model[:2]
    n = n_entries(X, 0)
    run = n if n > 0 and column(X, 0, n - 1) - column(X, 0, 0) == n - 1 else 1  # neighbouring columns at once
    place, tame = 0, True
    for array in of_features:
        flat, width = _flat(array), array.size // max(1, array.shape[0])
        for p in range(0, n, run):
            tame &= _exchange(flat, column(X, 0, p) * width, run * width, copy, place, action)
            place += run * width
    for array in of_all:
        tame &= _exchange(array, 0, array.size, copy, place, action)
        place += array.size
    return tame


@register_jitable
def _none_touched(X, model):
    return 0


@register_jitable
def _nothing_touched(X, model, copy, action):
    return True


def make_pass(
    prepare, score, predict, step, finish=nothing_to_do, *, informs=admits_fewer, both_right=never_sure,
    refuse=nothing_to_refuse, repair=nothing_to_do, plain=False, in_place=True, ordered=True,
):  # fmt: skip
    """Compile ``learn(X, labels, weight, order, model, counts, options, predictions)`` from an algorithm's functions.

    It learns in place and returns -1, or the row whose score is not finite. ``labels`` are ``(lower, upper, mask)``.
    Empty arrays stand for unit weights, the given order and no predictions.

    ``plain`` compiles for these three only: a common case, in which a round of a fast algorithm need not test for the
    others. ``in_place``: other threads read the arrays of the model, which are not copies. ``ordered``: a prediction
    farther from the label is a larger error.
    """
    n_touched, touched = (_n_touched, _touched) if in_place else (_none_touched, _nothing_touched)

    @kernel
    def learn(X, labels, weight, order, model, counts, options, predictions):
        lower, upper, mask = labels
        lead, spread = standing(options[0])
        highest, workspace = prepare(model, mask, options, predictions.size > 0)
        rounds, updates, violations = float(counts[ROUNDS]), counts[UPDATES], counts[VIOLATIONS]
        bad = refuse(X, weight, workspace)
        before = np.empty(n_touched(X, model))
        if before.size:
            touched(X, model, before, _KEEP)
        n_steps = order.size if not plain and order.size else n_rows(X)
        for r in range(n_steps if bad < 0 else 0):
            i = r if plain or not order.size else order[r]
            row_score = score(X, i, workspace)
            lo, hi = lower[i], upper[i]
            due, asked = is_due(options[0], rounds), not plain and predictions.size > 0
            last = mean = lo  # right, unless predicted below
            if asked or (due and not both_right(X, i, row_score, lo, hi, rounds, workspace)):
                averaged = averages(options[0], lead, spread)
                # Way 0 is the last weights, way 1 their mean: a loop, so that predicting is compiled once.
                for way in range(0 if due else int(averaged), 2 if due else 1 + int(averaged)):
                    code = predict(X, i, row_score, way * rounds, workspace)
                    last, mean = (last, code) if way else (code, mean)
                if asked:
                    predictions[i] = mean if averaged else last
                    if predictions[i] < 0:
                        bad = i
                        break
            c = 1.0 if plain or not weight.size else weight[i]
            # A row without information is not a round. "&" instead of "and": no processor can predict such branches.
            informative = (c > 0.0) & informs(lo, hi, highest, mask, workspace)
            if due:
                worth = c * informative
                lead, spread = judged(options[0], last, mean, lo, hi, mask, i, ordered, worth, lead, spread)
            violated = step(X, i, row_score, lo, hi, c * informative, (rounds, updates, violations), workspace)
            if violated >= 0:
                updates += 1
                violations += violated
            elif violated == NOT_FINITE:
                bad = i
                break
            rounds += informative
        if bad < 0:
            finish(model, workspace)
            if before.size and not touched(X, model, before, _LOOK):
                touched(X, model, before, _PUT_BACK)
                repair(model, options)
                return 0
            counts[ROUNDS], counts[UPDATES], counts[VIOLATIONS] = rounds, updates, violations
            settle(options[0], lead, spread)
        return bad

    return learn
