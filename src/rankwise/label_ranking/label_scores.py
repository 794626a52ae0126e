"""Rankings of k labels by their scores, and the pairs of labels in the wrong order.

What an annotator said about an example comes as the slice [start, stop) of two arrays of codes. Relevant labels lie in
``above``, ascending, with nothing in ``below``: every label of the slice should be ranked above every label outside it.
Preferences fill both arrays: ``above[e]`` should be ranked above ``below[e]``.

Of equal labels the one with the smaller code counts as the better ranked, the worse relevant and the better irrelevant.
"""

import numpy as np
from numba.extending import register_jitable

from rankwise._kernels.heap import heapify, take_top
from rankwise._kernels.rows import absolute_sizes, n_rows


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
def first_unusable_row(X, weight, C, reach):
    """First row with an entry that is not finite, or with which a score might not be; -1 if there is none.

    ``reach`` bounds every weight so far: a row moves none by more than C times its own weight and largest entry. So a
    pass over rows that stand this test cannot fail half-way, and no copy of the model is needed to undo it.
    """
    rounds = 1e30  # more than there will ever be: averages are sums over them
    for i in range(n_rows(X)):
        largest, total = absolute_sizes(X, i)
        c = weight[i] if weight.size else 1.0
        reach += C * c * largest
        if not (np.isfinite(rounds * reach * total) and np.isfinite(total * total)):
            return i
    return -1
