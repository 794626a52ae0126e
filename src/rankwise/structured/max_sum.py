"""Best labelling of chains and trees: maximise unary plus pairwise scores exactly, by message passing.

A structure is a range of rows (its parts); ``parents[v]`` is the row of the part above part v, a smaller number, or -1
at a root. In a chain it is the previous part. The score of labels y is

    s(y) = sum_v unary[v, y_v] + sum over v with a parent p of  pairwise[y_p, y_v]

From the last part to the first, ``below[v, y]`` becomes the best score of v and all parts below it if v has label y;
then the labels are read off from the first part to the last. Ties go to the smallest labelling in lexicographic order.
One part costs K^2 additions, whatever the length.

Constraints are minus infinities and losses are additions in ``unary``: the constrained and the loss-augmented problem
need no extra code. The best labelling that disagrees with a constraint somewhere needs one more flag
(:func:`best_disagreeing`).

Every message is a maximum, so every max-marginal is the score of one labelling, and a weighted sum of max-marginals is
a sum over its parts and pairs. For the derivatives, the weights run back through the messages: each message passes its
weight to the entry that was its maximum. One part costs K^2, as before.
"""

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.compile import kernel, register_jitable
from rankwise._types import Floats, Ints


@register_jitable
def send_up(below, c, to_parent, message):
    """message[q] = max over the labels y of part c of below[c, y] + pairwise[q, y]; ``to_parent`` is its transpose."""
    n_labels = message.size
    for q in range(n_labels):
        message[q] = below[c, 0] + to_parent[0, q]
    for y in range(1, n_labels):
        score = below[c, y]
        for q in range(n_labels):
            through = score + to_parent[y, q]
            message[q] = through if through > message[q] else message[q]


@register_jitable
def collect(unary, to_parent, parents, first, last, below, message):
    """Fill ``below`` for the parts first .. last - 1, from the last to the first."""
    for v in range(first, last):
        for y in range(message.size):
            below[v, y] = unary[v, y]
    for v in range(last - 1, first - 1, -1):
        p = parents[v]
        if p >= 0:
            send_up(below, v, to_parent, message)
            for q in range(message.size):
                below[p, q] += message[q]


@register_jitable
def read_labels(below, pairwise, parents, first, last, labels):
    """Labels of the best labelling, from the first part to the last; return its score."""
    total = 0.0
    for v in range(first, last):
        p = parents[v]
        best, top = 0, -np.inf
        for y in range(below.shape[1]):
            score = below[v, y] if p < 0 else below[v, y] + pairwise[labels[p], y]
            best, top = (y, score) if score > top else (best, top)
        labels[v] = best
        total += top if p < 0 else 0.0
    return total


@kernel
def _best(unary, pairwise, to_parent, starts, parents, labels, values):
    below, message = np.empty_like(unary), np.empty(unary.shape[1])
    for s in range(values.size):
        first, last = starts[s], starts[s + 1]
        collect(unary, to_parent, parents, first, last, below, message)
        values[s] = read_labels(below, pairwise, parents, first, last, labels)


@register_jitable
def link_children(parents, first, last, first_child, next_sibling):
    """Children of every part as linked lists in ascending order; the list of roots starts in ``first_child[-1]``."""
    first_child[first:last] = -1
    first_child[-1] = -1
    for v in range(last - 1, first - 1, -1):
        p = parents[v]  # -1, the last place, for a root
        next_sibling[v] = first_child[p]
        first_child[p] = v


@register_jitable
def top_of(left, right, v, pairwise, p, labels):
    """Label and value of the best entry of max(left, right)[v] + pairwise[label of p]; ties go to the smallest."""
    best, top = 0, -np.inf
    for y in range(left.shape[1]):
        score = max(left[v, y], right[v, y])
        if p >= 0:
            score += pairwise[labels[p], y]
        best, top = (y, score) if score > top else (best, top)
    return best, top


@register_jitable
def send_duty(v, agreeing, differing, pairwise, labels, first_child, next_sibling, duty):
    """Give the duty to disagree to the child of v (the root, if v is -1) that loses least by it."""
    chosen, least = -1, np.inf
    c = first_child[v]
    while c >= 0:
        lost = top_of(agreeing, differing, c, pairwise, v, labels)[1]
        lost -= top_of(differing, differing, c, pairwise, v, labels)[1]
        if chosen < 0 or lost < least:
            chosen, least = c, lost
        c = next_sibling[c]
    if chosen >= 0:
        duty[chosen] = True


@kernel
def _best_disagreeing(unary, pairwise, to_parent, starts, parents, allowed, labels, values):
    """As ``_best``, with a flag: agreeing[v, y], or differing[v, y] if v or a part below has a forbidden label.

    Children are added one by one: after a child, v differs if it differed before or if the child does. On the way back
    a part may have the duty to disagree, itself or in one of its children.
    """
    n_labels = unary.shape[1]
    agreeing, differing = np.empty_like(unary), np.empty_like(unary)
    keeps, breaks = np.empty(n_labels), np.empty(n_labels)
    duty = np.zeros(unary.shape[0], dtype=np.bool_)
    first_child = np.empty(unary.shape[0] + 1, dtype=np.int64)
    next_sibling = np.empty(unary.shape[0], dtype=np.int64)
    for s in range(values.size):
        first, last = starts[s], starts[s + 1]
        link_children(parents, first, last, first_child, next_sibling)
        for v in range(first, last):
            for y in range(n_labels):
                agreeing[v, y] = unary[v, y] if allowed[v, y] else -np.inf
                differing[v, y] = -np.inf if allowed[v, y] else unary[v, y]
        for v in range(last - 1, first - 1, -1):
            p = parents[v]
            if p >= 0:
                send_up(agreeing, v, to_parent, keeps)
                send_up(differing, v, to_parent, breaks)
                for q in range(n_labels):
                    before = differing[p, q] + max(keeps[q], breaks[q])
                    differing[p, q] = max(before, agreeing[p, q] + breaks[q])
                    agreeing[p, q] += keeps[q]
        send_duty(-1, agreeing, differing, pairwise, labels, first_child, next_sibling, duty)
        total = 0.0
        for v in range(first, last):
            p = parents[v]
            free = differing if duty[v] else agreeing
            labels[v], top = top_of(free, differing, v, pairwise, p, labels)
            total += top if p < 0 else 0.0
            if duty[v] and allowed[v, labels[v]]:
                send_duty(v, agreeing, differing, pairwise, labels, first_child, next_sibling, duty)
        values[s] = total


@kernel
def _max_marginals(unary, pairwise, to_parent, starts, parents, out):
    """out[v, y] = below[v, y] + the best score of all other parts, if v has label y."""
    n_labels = unary.shape[1]
    below, message, outside = np.empty_like(unary), np.empty(n_labels), np.empty((1, n_labels))
    for s in range(starts.size - 1):
        first, last = starts[s], starts[s + 1]
        collect(unary, to_parent, parents, first, last, below, message)
        for v in range(first, last):
            p = parents[v]
            for y in range(n_labels):
                out[v, y] = below[v, y]
            if p >= 0:
                send_up(below, v, to_parent, message)
                for q in range(n_labels):
                    outside[0, q] = out[p, q] - message[q]
                send_up(outside, 0, pairwise, message)
                for y in range(n_labels):
                    out[v, y] += message[y]


@kernel
def _gradient(unary, pairwise, to_parent, starts, parents, out, back, of_unary, of_pairwise):
    """``out`` are the max-marginals, ``back`` their weights, which are overwritten."""
    n_labels = unary.shape[1]
    below, message = np.empty_like(unary), np.empty(n_labels)
    best_child = np.empty(unary.shape, dtype=np.int64)  # [v, q]: label of v in its message to label q of its parent
    to_message = np.zeros_like(unary)  # [v, q]: weight of that message
    for s in range(starts.size - 1):
        first, last = starts[s], starts[s + 1]
        collect(unary, to_parent, parents, first, last, below, message)
        for v in range(last - 1, first - 1, -1):
            p = parents[v]
            if p >= 0:
                for q in range(n_labels):
                    best, top = 0, -np.inf
                    for y in range(n_labels):
                        score = below[v, y] + pairwise[q, y]
                        best, top = (y, score) if score > top else (best, top)
                    best_child[v, q], message[q] = best, top
                # out[v, y] = below[v, y] + max over q of (out[p, q] - message[q]) + pairwise[q, y]
                for y in range(n_labels):
                    best, top = 0, -np.inf
                    for q in range(n_labels):
                        score = out[p, q] - message[q] + pairwise[q, y]
                        best, top = (q, score) if score > top else (best, top)
                    back[p, best] += back[v, y]
                    to_message[v, best] -= back[v, y]
                    of_pairwise[best, y] += back[v, y]
        for v in range(first, last):
            p = parents[v]
            for y in range(n_labels):
                of_unary[v, y] += back[v, y]
            if p >= 0:
                # below[p, q] has the message of v as a term
                for q in range(n_labels):
                    weight = to_message[v, q] + of_unary[p, q]
                    of_unary[v, best_child[v, q]] += weight
                    of_pairwise[q, best_child[v, q]] += weight


def chain_parents(starts: Ints) -> Ints:
    """Parents of chains: the previous part, and -1 at every start.

    >>> chain_parents(np.array([0, 2, 5]))
    array([-1,  0, -1,  2,  3])
    """
    parents = np.arange(-1, starts[-1] - 1)
    parents[starts[:-1][starts[:-1] < starts[1:]]] = -1
    return parents


def best_labellings(unary: Floats, pairwise: Floats, starts: Ints, parents: Ints) -> tuple[Ints, Floats]:
    """Best labelling of every structure, (n,), and its score, (m,).

    Structure s has the rows ``starts[s] .. starts[s + 1] - 1`` of ``unary``, where -inf forbids a label. For example,
    with pairwise scores that favour change:

    >>> unary = np.array([[1.0, 0.0], [0.5, 0.0], [0.0, 0.0]])
    >>> change = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> starts = np.array([0, 3])
    >>> best_labellings(unary, change, starts, chain_parents(starts))
    (array([0, 1, 0]), array([3.]))
    """
    labels, values = np.zeros(len(unary), dtype=np.int64), np.empty(starts.size - 1)
    _best(unary, pairwise, np.ascontiguousarray(pairwise.T), starts, parents, labels, values)
    return labels, values


def best_disagreeing(
    unary: Floats, pairwise: Floats, starts: Ints, parents: Ints, allowed: NDArray[np.bool_]
) -> tuple[Ints, Floats]:
    """Best labelling of every structure with at least one label that is not ``allowed``, and its score.

    A structure that allows everything has none: its score is -inf. Ties go to the smallest labelling in a chain, and in
    a tree to one that disagrees in the first child that can do so without loss.

    >>> unary, starts = np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([0, 2])
    >>> only_zero = np.array([[True, False], [True, False]])
    >>> best_disagreeing(unary, np.zeros((2, 2)), starts, chain_parents(starts), only_zero)
    (array([1, 0]), array([3.]))
    """
    labels, values = np.zeros(len(unary), dtype=np.int64), np.empty(starts.size - 1)
    to_parent = np.ascontiguousarray(pairwise.T)
    _best_disagreeing(unary, pairwise, to_parent, starts, parents, allowed, labels, values)
    return labels, values


def max_marginals(unary: Floats, pairwise: Floats, starts: Ints, parents: Ints) -> Floats:
    """Score of the best labelling with a given label at a part, for every part and label, (n, K); for finite scores.

    >>> starts = np.array([0, 2])
    >>> max_marginals(np.array([[1.0, 0.0], [0.0, 0.0]]), np.eye(2), starts, chain_parents(starts))
    array([[2., 1.],
           [2., 1.]])
    """
    out = np.empty_like(unary)
    _max_marginals(unary, pairwise, np.ascontiguousarray(pairwise.T), starts, parents, out)
    return out


def max_marginal_gradient(
    unary: Floats, pairwise: Floats, starts: Ints, parents: Ints, marginals: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Subgradient of ``sum(weights * marginals)`` by the unary (n, K) and the pairwise scores (K, K).

    ``marginals`` are those of :func:`max_marginals` for these scores, all finite. Here the best labelling of two parts
    with label 1 at the first one is 1, 1:

    >>> starts = np.array([0, 2])
    >>> problem = np.array([[1.0, 0.0], [0.0, 0.0]]), np.eye(2), starts, chain_parents(starts)
    >>> max_marginal_gradient(*problem, max_marginals(*problem), np.array([[0.0, 1.0], [0.0, 0.0]]))
    (array([[0., 1.],
           [0., 1.]]), array([[0., 0.],
           [0., 1.]]))
    """
    of_unary, of_pairwise = np.zeros_like(unary), np.zeros_like(pairwise)
    to_parent = np.ascontiguousarray(pairwise.T)
    _gradient(unary, pairwise, to_parent, starts, parents, marginals, weights.copy(), of_unary, of_pairwise)
    return of_unary, of_pairwise
