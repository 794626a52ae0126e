"""Averaged loss-augmented perceptron for chains and trees with partial labels.

A round takes one structure with annotation a and weight c. With l(t) the partial loss of labelling t, s(t) its score:

    that = argmax_t s(t) + margin * l(t)                                       (Viterbi on augmented scores)
    no update if that agrees with a at every part; otherwise
    t*   = argmax over the labellings that a admits of s(t)                    (Viterbi with constraints)
    w   += c (Phi(t*) - Phi(that))

This is a subgradient step of the hinge surrogate, ``max (l + s) - max over a of s``. Phi adds x_v to the unary vector
of every part's label, 1 to its intercept and 1 to every pair of a part's label with its parent's. Structures without
any annotation or with weight zero are skipped and change nothing, not even the average.
"""

import numpy as np

from rankwise._kernels.compile import kernel, register_jitable
from rankwise._kernels.rows import axpy_two, dots_lagged
from rankwise._types import Floats, Ints
from rankwise.base.state import GIVEN_ORDER, ROUNDS, UPDATES, State, StateArray, StateLayout, averaged
from rankwise.structured._sequences import Annotation, Sequences
from rankwise.structured.max_sum import collect, read_labels

PREDICT, AUGMENT, CONSTRAIN = 0, 1, 2  # problems of a round: with averaged parameters, with losses, with constraints
NO_PREDICTIONS: Ints = np.empty(0, dtype=np.int64)
#: Arrays of a learner, whose classes are the decisions.
LAYOUT = StateLayout(
    {
        "W": averaged("feature", "padded class", lag="W_lag"),
        "b": averaged("class", lag="b_lag"),
        "P": averaged("class", "class", lag="P_lag"),
        "counts": StateArray((2,), np.int64),
    }
)


@register_jitable
def _score(X, first, n, weights, rate, row, unary):
    """Unary scores of the parts first .. first + n - 1, in the first n rows of ``unary``."""
    W, W_lag, b, b_lag = weights
    for v in range(n):
        dots_lagged(X, first + v, W, W_lag, rate, row)
        for y in range(b.size):
            unary[v, y] = row[y] + (b[y] - b_lag[y] * rate)


@kernel
def _learn(X, starts, parents, structures, order, weights, pairs, counts, settings, predictions):
    losses, allowed, informative, weight = structures
    W, W_lag, b, b_lag = weights
    P, P_lag = pairs
    margin, average = settings
    n_labels, longest = b.size, 0
    for s in range(starts.size - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    row, message = np.empty(W.shape[1]), np.empty(n_labels)
    unary, changed = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    below, labels = np.empty((longest, n_labels)), np.zeros((3, longest), dtype=np.int64)
    rival, target = labels[AUGMENT], labels[CONSTRAIN]
    pairwise, to_parent = np.empty((n_labels, n_labels)), np.empty((n_labels, n_labels))
    rounds = float(counts[ROUNDS])
    for r in range(starts.size - 1):
        s = order[r] if order.size else r
        first, n = starts[s], starts[s + 1] - starts[s]
        above = parents[first : first + n]
        c = weight[s]
        learns, agrees = c != 0.0 and informative[s], True
        for task in (PREDICT, AUGMENT, CONSTRAIN):  # a loop, so that the code is compiled once
            if (task == PREDICT and predictions.size == 0) or (task == AUGMENT and not learns):
                continue
            if task == CONSTRAIN and agrees:
                continue
            if task != CONSTRAIN:
                rate = 1.0 / rounds if task == PREDICT and average and rounds else 0.0
                _score(X, first, n, weights, rate, row, unary)
                for q in range(n_labels):
                    for y in range(n_labels):
                        pairwise[q, y] = to_parent[y, q] = P[q, y] - P_lag[q, y] * rate
            for v in range(n):
                for y in range(n_labels):
                    changed[v, y] = unary[v, y]
                    if task == AUGMENT:
                        changed[v, y] += margin * losses[first + v, y]
                    if task == CONSTRAIN and not allowed[first + v, y]:
                        changed[v, y] = -np.inf
            collect(changed, to_parent, above, 0, n, below, message)
            read_labels(below, pairwise, above, 0, n, labels[task])
            if task == PREDICT:
                predictions[first : first + n] = labels[task, :n]
            elif task == AUGMENT:
                for v in range(n):
                    agrees &= allowed[first + v, rival[v]]
        if not learns:
            continue
        if not agrees:
            late = c * rounds
            for v in range(n):
                if target[v] != rival[v]:
                    axpy_two(X, first + v, c, rounds, W, W_lag, target[v], rival[v])
                    b[target[v]] += c
                    b[rival[v]] -= c
                    b_lag[target[v]] += late
                    b_lag[rival[v]] -= late
                if above[v] >= 0:
                    P[target[above[v]], target[v]] += c
                    P[rival[above[v]], rival[v]] -= c
                    P_lag[target[above[v]], target[v]] += late
                    P_lag[rival[above[v]], rival[v]] -= late
            counts[UPDATES] += 1
        rounds += 1.0
        counts[ROUNDS] += 1


def learn(
    state: State, sequences: Sequences, annotation: Annotation, weight: Floats, *, margin: float, average: bool,
    order: Ints = GIVEN_ORDER, predictions: Ints = NO_PREDICTIONS,
) -> None:  # fmt: skip
    """One pass over the structures in ``order`` (empty: as they come), in place.

    ``predictions``, if it has an entry for each part, is filled with the labels predicted before each round. Features
    that make the parameters infinite are an error.
    """
    weights = state["W"], state["W_lag"], state["b"], state["b_lag"]
    structures = annotation.losses, annotation.allowed, annotation.informative, weight
    _learn(
        sequences.rows, sequences.starts, sequences.local_parents, structures, order, weights,
        (state["P"], state["P_lag"]), state["counts"], (float(margin), average), predictions,
    )  # fmt: skip
    if not all(np.isfinite(array).all() for array in state.values()):
        raise ValueError("the scores are not finite although the features are: these are too large. Scale them.")


def parameters(state: State, average: bool) -> tuple[Floats, Floats, Floats]:
    """Unary vectors (d, D), intercepts (D,) and pairwise scores (D, D), averaged over the rounds if ``average``."""
    rounds = int(state["counts"][ROUNDS])
    rate = 1.0 / rounds if average and rounds else 0.0
    W, b, P = (LAYOUT.average(state, name, rate) for name in ("W", "b", "P"))
    return np.ascontiguousarray(W[:, : b.size]), b, P
