"""The loop that every online algorithm shares: a pass over rows, compiled for each algorithm from what is its own.

:func:`make_pass` closes over an algorithm's functions. In the order of their use, with ``model`` the arrays that are
learnt and ``options`` what was chosen, beginning with whether predictions are averaged:

``prepare(model, mask, options, predicting)``
    Highest code of a label, and ``room``: a tuple of all that the other functions need, scratch arrays included.
    ``mask`` holds the candidates of every row, or nothing if labels are intervals.
``score(X, i, room)``
    Score of row i by the last weights: a number, or whatever else ``predict`` and ``step`` understand.
``predict(X, i, score, rounds, room)``
    Code predicted with the averaged weights ``w - lag / rounds``, the last ones if ``rounds`` is zero; below zero if a
    score is not finite. Called only where predictions are asked for, before ``step``.
``step(X, i, score, lo, hi, c, past, room)``
    Learn from row i with a label between the codes lo and hi and the weight c, which is zero if the row says nothing,
    after ``past = (rounds, updates, violations)``. Return how many constraints were violated if the model changed and
    :data:`UNCHANGED` if not; :data:`NOT_FINITE`, before any change, if the score is not finite.
``finish(model, room)``
    Write back what was learnt in ``room``.
``informs(lo, hi, highest, mask, room)``
    Whether a label says anything; for classes, whether it admits fewer than all of them.
``refuse(X, weight, room)``
    First row that must not be learnt from, or -1: for an algorithm that looks at all rows before it changes anything.

``score``, ``predict`` and ``step`` are made with :func:`rankwise._kernels.compile.inlined`, the others with
``register_jitable``.
"""

from __future__ import annotations

from numba.extending import register_jitable

from rankwise._kernels.compile import inlined, kernel
from rankwise._kernels.rows import n_rows
from rankwise.base.state import ROUNDS, UPDATES, VIOLATIONS

#: What a step returns instead of a number of violations.
UNCHANGED, NOT_FINITE = -1, -2


@register_jitable
def nothing_to_write(model, room):
    """``finish`` of an algorithm that learns in place."""


@inlined
def admits_fewer(lo, hi, highest, mask, room):
    """``informs`` of an algorithm whose labels are classes."""
    return (lo > 0) | (hi < highest) | (mask.size > 0)


@register_jitable
def nothing_to_refuse(X, weight, room):
    """``refuse`` of an algorithm that meets a bad row on its way."""
    return -1


def make_pass(
    prepare, score, predict, step, finish=nothing_to_write, *, informs=admits_fewer, refuse=nothing_to_refuse,
    plain=False,
):  # fmt: skip
    """Compile a pass over rows.

    Parameters
    ----------
    prepare, score, predict, step, finish, informs, refuse : functions
        What the algorithm does, see the module's docstring.
    plain : bool, default False
        Compile for rows in the order given, with unit weights and no predictions asked for: a common case, in which a
        round of a fast algorithm need not test for the others.

    Returns
    -------
    function
        ``learn(X, labels, weight, order, model, counts, options, predictions)``, which learns in place and returns -1,
        or the row whose score is not finite. ``labels`` are ``(lower, upper, mask)``. An empty array stands for unit
        weights, the order given, and predictions that nobody asked for.
    """

    @kernel
    def learn(X, labels, weight, order, model, counts, options, predictions):
        lower, upper, mask = labels
        highest, room = prepare(model, mask, options, predictions.size > 0)
        rounds, updates, violations = float(counts[ROUNDS]), counts[UPDATES], counts[VIOLATIONS]
        bad = refuse(X, weight, room)
        for r in range(n_rows(X) if bad < 0 else 0):
            i = r if plain or not order.size else order[r]
            found = score(X, i, room)
            if not plain and predictions.size:
                predictions[i] = predict(X, i, found, rounds if options[0] else 0.0, room)
                if predictions[i] < 0:
                    bad = i
                    break
            lo, hi = lower[i], upper[i]
            c = 1.0 if plain or not weight.size else weight[i]
            # A row that says nothing is no round. Without "and" and "or": labels are no branch a processor can predict.
            informative = (c > 0.0) & informs(lo, hi, highest, mask, room)
            violated = step(X, i, found, lo, hi, c * informative, (rounds, updates, violations), room)
            if violated >= 0:
                updates += 1
                violations += violated
            elif violated == NOT_FINITE:
                bad = i
                break
            rounds += informative
        if bad < 0:
            finish(model, room)
            counts[ROUNDS], counts[UPDATES], counts[VIOLATIONS] = rounds, updates, violations
        return bad

    return learn
