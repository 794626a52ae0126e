"""Shapley values of the columns for the score of a row, from the leaves of trees.

A leaf adds its value to the score if all conditions on the way to it hold. Conditions on a column that is not known
hold with the share of the rows of the fit that meet them, given those before. The Shapley value of a column is the mean
over all orders in which the columns become known: a polynomial of these shares for every leaf, whose coefficients by
the number of known columns are built up column by column, and taken apart again for one column at a time.

Source: Lundberg, Erion and Lee (2018), Consistent individualized feature attribution for tree ensembles, algorithm 2.
"""

import numpy as np

from rankwise._kernels.compile import inlined, kernel
from rankwise.trees._walk import goes_left


@inlined
def _extend(weights, size, share, holds):
    """Let one more column into the coefficients of ``size`` columns."""
    weights[size] = 1.0 if size == 0 else 0.0
    for i in range(size - 1, -1, -1):
        if holds:
            weights[i + 1] += weights[i] * (i + 1) / (size + 1)
        weights[i] *= share * (size - i) / (size + 1)


@inlined
def _sum_without(weights, size, share, holds):
    """Sum of the coefficients of all but one of ``size`` columns."""
    total, ahead = 0.0, weights[size]
    for i in range(size - 1, -1, -1):
        if holds:
            part = ahead * (size + 1) / (i + 1)
            ahead = weights[i] - part * share * (size - i) / (size + 1)
        else:
            part = weights[i] / share * (size + 1) / (size - i)
        total += part
    return total


@kernel
def add_contributions(rows, n_splits, feature, threshold, rule, left, right, value, count, set_ends, words, out):
    """Add to ``out`` (n, d) the Shapley values of every tree."""
    most = n_splits.max()
    above_split, above_leaf = np.empty(most, np.int64), np.empty(most + 1, np.int64)
    below = np.empty(most, np.int64)  # rows of the fit below each split
    path, column, place = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    share, holds, weights = np.empty(most), np.empty(most, np.bool_), np.empty(most + 1)
    first = 0
    for t in range(n_splits.size):
        for k in range(n_splits[t] - 1, -1, -1):  # what is below a split comes after it
            below[k] = 0
            for child in (left[first + k], right[first + k]):
                if child >= 0:
                    above_split[child] = k
                    below[k] += below[child]
                else:
                    above_leaf[-child - 1] = k
                    below[k] += count[first + t - child - 1]
        for leaf in range(n_splits[t] + 1 if n_splits[t] > 0 else 0):
            here, child, size, length = np.int64(count[first + t + leaf]), -leaf - 1, 0, 0
            while child != 0:
                k = above_leaf[leaf] if child < 0 else above_split[child]
                slot = 0
                while slot < size and column[slot] != feature[first + k]:
                    slot += 1
                if slot == size:
                    column[slot], share[slot], size = feature[first + k], 1.0, size + 1
                share[slot] *= here / below[k]
                path[length], place[length], length = (k if left[first + k] == child else ~k), slot, length + 1
                here, child = below[k], k
            for i in range(rows.shape[0]):
                holds[:size] = True
                for step in range(length):
                    k = first + (path[step] if path[step] >= 0 else ~path[step])
                    is_left = goes_left(float(rows[i, feature[k]]), threshold[k], rule[k], set_ends, words)
                    holds[place[step]] &= is_left == (path[step] >= 0)
                _extend(weights, 0, 1.0, True)
                for slot in range(size):
                    _extend(weights, slot + 1, share[slot], holds[slot])
                for slot in range(size):
                    whole = _sum_without(weights, size, share[slot], holds[slot])
                    factor = (1.0 if holds[slot] else 0.0) - share[slot]
                    out[i, column[slot]] += whole * factor * value[first + t + leaf]
        first += n_splits[t]
