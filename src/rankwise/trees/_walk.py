"""The walk from the root of a tree to a leaf, see :class:`rankwise.trees.arrays.Trees` for the arrays."""

from rankwise._kernels.compile import inlined, kernel

BY_SET, MISSING_LEFT = 1, 2  # bits of a rule


@inlined
def goes_left(value, threshold, rule, set_ends, words):
    """Whether a value goes left at a split."""
    if not rule & BY_SET:
        return value <= threshold or (value != value and rule & MISSING_LEFT != 0)
    number = int(threshold)
    start = set_ends[number - 1] if number > 0 else 0
    if not 0.0 <= value < 32.0 * (set_ends[number] - start) or value != int(value):
        return False
    return (words[start + (int(value) >> 5)] >> (int(value) & 31)) & 1 != 0


@kernel
def add_scores(rows, n_splits, feature, threshold, rule, left, right, value, count, set_ends, words, out):
    """Add to ``out`` the leaf of every row in every tree, tree by tree."""
    first = 0
    for t in range(n_splits.size):
        for i in range(rows.shape[0]):
            node = 0 if n_splits[t] > 0 else -1
            while node >= 0:
                k = first + node
                is_left = goes_left(float(rows[i, feature[k]]), threshold[k], rule[k], set_ends, words)
                node = left[k] if is_left else right[k]
            out[i] += value[first + t - node - 1]
        first += n_splits[t]
