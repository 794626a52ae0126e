"""Derivatives of max-marginals: which unary and pairwise scores each of them is the sum of.

Every message of :mod:`rankwise.structured.max_sum` is a maximum, so every max-marginal is the score of one labelling,
and a weighted sum of max-marginals is a sum over its parts and pairs. Instead of one labelling for each of them, the
weights run back through the messages: each message hands its weight to the entry that was its maximum. One part costs
K^2, as on the way forth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.compile import kernel
from rankwise.structured.max_sum import collect

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def _gradient(unary, pairwise, to_parent, starts, parents, out, back, of_unary, of_pairwise):
    """``out`` are the max-marginals, ``back`` their weights, which are used up."""
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


def max_marginal_gradient(
    unary: Floats, pairwise: Floats, starts: Ints, parents: Ints, marginals: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Subgradient of ``sum(weights * marginals)`` by the unary (n, K) and the pairwise scores (K, K).

    Parameters
    ----------
    unary, pairwise, starts, parents
        As in :func:`rankwise.structured.max_sum.best_labellings`; all scores finite.
    marginals : ndarray of shape (n, K)
        What :func:`rankwise.structured.max_sum.max_marginals` gives for them.
    weights : ndarray of shape (n, K)
        Weight of every max-marginal.

    Examples
    --------
    The best labelling in which the first of two parts has label 1 is 1, 1:

    >>> from rankwise.structured.max_sum import chain_parents, max_marginals
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
