"""Weights on the simplex: omega_jy = exp(theta_jy) / Z_y with Z_y = sum_j exp(theta_jy), for labels y and features j.

Scores need exp(theta), so that is stored: ``weights = exp(theta - shift_y)``, with one shift for every label. Moving
theta multiplies weights. A weight that would underflow is stored as its logarithm, which is negative, and counts as
zero until it grows again; so nothing is forgotten, however far apart the exponents of a label are.

The normaliser of a label is the sum of its weights. It is updated by the weights that changed, in twice the working
precision (``normaliser[0] + normaliser[1]``), so it stays their sum after any number of updates. Only when it is tiny
beside its largest value since it was last computed afresh (``normaliser[2]``), or would overflow, does the label get a
new shift and a new sum, at the cost of a pass over its features.

The conjugate of the relative entropy to uniform weights is ``G(theta) = log(sum_j exp(theta_j)) - log(d)``. Its first
and second derivatives along x are mean and variance of x_j under the tilted distribution softmax(theta + a x).

With intercepts, x has one more feature, the constant 1. Its weights are in ``b``, which is empty without them.
"""

import numpy as np

from rankwise._kernels.compile import kernel, register_jitable
from rankwise._kernels.rows import column, n_entries, value

LOWEST = -600.0  # logarithm of the smallest weight that is stored as such
_SMALLEST = np.exp(LOWEST)
_LARGEST = np.exp(300.0)
WIDEST = 300.0  # a change of an exponent, or the logarithm of a normaliser, that is still harmless
_TINY = 1e-15  # of the largest sum; what is left still has some 15 digits


@register_jitable(forceinline=True)
def add_exactly(total, low, term):
    """Add to a sum of two numbers; the second one holds the rounding errors of the first."""
    new = total + term
    back = new - total
    return new, low + ((total - (new - back)) + (term - back))


@register_jitable
def weight_of(logarithm):
    """Stored form of a weight with this logarithm."""
    return np.exp(logarithm) if logarithm > LOWEST else logarithm


@register_jitable
def log_weight(weight):
    """Logarithm of a stored weight."""
    return np.log(weight) if weight > 0.0 else weight


@register_jitable
def raise_shift(weights, b, shift, normaliser, y, n_features, change):
    """Add ``change`` to the shift of label y: divide its weights by exp(change) and sum them afresh."""
    total, low = 0.0, 0.0
    for j in range(n_features):
        weights[j, y] = weight_of(log_weight(weights[j, y]) - change)
        total, low = add_exactly(total, low, max(weights[j, y], 0.0))
    if b.size:
        b[y] = weight_of(log_weight(b[y]) - change)
        total, low = add_exactly(total, low, max(b[y], 0.0))
    shift[y] += change
    normaliser[0, y], normaliser[1, y], normaliser[2, y] = total, low, total


@register_jitable
def _prevent_overflow(X, i, weights, b, shift, normaliser, n_features, y, step):
    """Before a long step, choose the shift so that no weight will be above one."""
    top = max(0.0, log_weight(b[y]) + step) if b.size else 0.0
    for p in range(n_entries(X, i)):
        top = max(top, log_weight(weights[column(X, i, p), y]) + step * value(X, i, p))
    if top > 0.0:
        raise_shift(weights, b, shift, normaliser, y, n_features, top)


@register_jitable
def _moved(weight, exponent, factor):
    """A weight times ``factor``, which is exp(exponent)."""
    if weight > 0.0:
        new = weight * factor
        return np.log(weight) + exponent if new < _SMALLEST else new
    return weight_of(weight + exponent)


@register_jitable
def move_label(X, i, common, largest, weights, b, shift, normaliser, n_features, y, step):
    """theta_y += step x_i; ``common`` is from :func:`common_value`, ``largest`` is the largest absolute entry."""
    if abs(step) * largest > WIDEST:
        _prevent_overflow(X, i, weights, b, shift, normaliser, n_features, y, step)
    factor = np.exp(step * common)
    total, low = normaliser[0, y], normaliser[1, y]
    for p in range(n_entries(X, i)):
        x = value(X, i, p)
        if x == 0.0:
            continue
        j = column(X, i, p)
        old = weights[j, y]
        new = _moved(old, step * x, factor if common > 0.0 else np.exp(step * x))
        weights[j, y] = new
        total, low = add_exactly(total, low, max(new, 0.0))
        total, low = add_exactly(total, low, -max(old, 0.0))
    if b.size:
        old = b[y]
        b[y] = _moved(old, step, np.exp(step))
        total, low = add_exactly(total, low, max(b[y], 0.0))
        total, low = add_exactly(total, low, -max(old, 0.0))
    largest_sum = max(normaliser[2, y], total)
    normaliser[0, y], normaliser[1, y], normaliser[2, y] = total, low, largest_sum
    if not _TINY * largest_sum < total + low < _LARGEST:
        top = log_weight(b[y]) if b.size else -np.inf
        for j in range(n_features):
            top = max(top, log_weight(weights[j, y]))
        raise_shift(weights, b, shift, normaliser, y, n_features, top)


@register_jitable
def divide_by_normalisers(scores, normaliser):
    """Turn <weights, x> into <omega, x>, in place; zero while there are no features."""
    for y in range(scores.size):
        total = normaliser[0, y] + normaliser[1, y]
        scores[y] = scores[y] / total if total > 0.0 else 0.0


@register_jitable
def common_value(X, i, b):
    """The positive value of all non-zero entries of row i, 0 if they differ; and the number of these entries."""
    common, filled = (1.0, 1) if b.size else (0.0, 0)
    for p in range(n_entries(X, i)):
        x = value(X, i, p)
        if x != 0.0:
            common = x if filled == 0 or x == common else -1.0
            filled += 1
    return max(common, 0.0), filled


@register_jitable
def share_elsewhere(X, i, weights, b, normaliser, y, filled, n_features):
    """Share of the weight of label y on the features that are zero in row i."""
    if filled == n_features + (b.size > 0):
        return 0.0
    rest, total = normaliser[0, y], normaliser[0, y] + normaliser[1, y]
    if b.size:
        rest -= max(b[y], 0.0)
    for p in range(n_entries(X, i)):
        if value(X, i, p) != 0.0:
            rest -= max(weights[column(X, i, p), y], 0.0)
    return max(rest / total, 0.0)


@register_jitable
def tilted_moments(X, i, largest, weights, b, normaliser, y, rest, a):
    """Mean and variance of the entries of x_i under softmax(theta_y + a x_i): the derivatives of G along x.

    ``rest`` is from :func:`share_elsewhere`, ``largest`` is the largest absolute entry.
    """
    total = normaliser[0, y] + normaliser[1, y]
    if abs(a) * largest <= WIDEST:
        mass, first, second, scale = rest, 0.0, 0.0, 1.0 / total
        if b.size:
            first = second = max(b[y], 0.0) * scale * np.exp(a)
            mass += first
        for p in range(n_entries(X, i)):
            x = value(X, i, p)
            if x != 0.0:
                weight = max(weights[column(X, i, p), y], 0.0) * scale * np.exp(a * x)
                mass += weight
                first += weight * x
                second += weight * x * x
    else:  # the same with the largest exponent taken out, so that nothing overflows and not all underflows
        top = np.log(rest) if rest > 0.0 else -np.inf
        if b.size:
            top = max(top, log_weight(b[y]) - np.log(total) + a)
        for p in range(n_entries(X, i)):
            top = max(top, log_weight(weights[column(X, i, p), y]) - np.log(total) + a * value(X, i, p))
        mass, first, second = rest * np.exp(-top) if rest > 0.0 else 0.0, 0.0, 0.0
        if b.size:
            first = second = np.exp(log_weight(b[y]) - np.log(total) + a - top)
            mass += first
        for p in range(n_entries(X, i)):
            x = value(X, i, p)
            if x != 0.0:
                weight = np.exp(log_weight(weights[column(X, i, p), y]) - np.log(total) + a * x - top)
                mass += weight
                first += weight * x
                second += weight * x * x
    mean = first / mass
    return mean, max(0.0, second / mass - mean * mean)


@kernel
def join_features(weights, b, shift, normaliser, first, last):
    """Add the features first .. last - 1 to all labels, with theta = 0."""
    for y in range(shift.size):
        if -shift[y] > WIDEST:
            raise_shift(weights, b, shift, normaliser, y, first, -shift[y])
        weight = weight_of(-shift[y])
        total, low = normaliser[0, y], normaliser[1, y]
        for j in range(first, last):
            weights[j, y] = weight
            total, low = add_exactly(total, low, max(weight, 0.0))
        normaliser[0, y], normaliser[1, y], normaliser[2, y] = total, low, max(normaliser[2, y], total)
