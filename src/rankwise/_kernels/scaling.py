"""Columns of numbers into rows of a matrix, scaled, bent and filled on the way."""

import numpy as np

from rankwise._kernels.compile import inlined, kernel

FINITE, MISSING, INFINITE = 0, 1, 2


@inlined
def _filled(value, fill, worst):
    """A number, with ``fill`` for one that is missing, and the worst met so far."""
    if np.isfinite(value):
        return value, worst
    if np.isnan(value):
        return fill, max(worst, MISSING)
    return value, INFINITE


@kernel
def put_column(column, shift, factor, fill, out, j, start, stop):
    """Write ``(value - shift) * factor`` into column j of some rows; say the worst that was met."""
    worst = FINITE
    for i in range(start, stop):
        value, worst = _filled(column[i], fill, worst)
        out[i, j] = (value - shift) * factor
    return worst


#: (column, shift, factor, fill, out, j, start, stop) -> FINITE, MISSING or INFINITE


@kernel
def put_splines(column, knots, shift, factor, fill, out, j, start, stop):
    """Write the cubic B-splines of a column, scaled, into the columns of some rows from j on; say the worst met.

    ``knots`` has three knots more on each side than the range that the splines cover; a value outside of the range
    counts as its nearer end. At any value four splines are not zero: the recursion of de Boor and Cox builds them up
    from degree 0, ``basis[r]`` being the one that begins r intervals before the value's own.
    """
    worst = FINITE
    n_splines = knots.size - 4
    low, high = knots[3], knots[knots.size - 4]
    basis, left, right = np.empty(4), np.empty(4), np.empty(4)
    for i in range(start, stop):
        value, worst = _filled(column[i], fill, worst)
        value = min(max(value, low), high)
        m = 3
        while m < n_splines - 1 and value >= knots[m + 1]:
            m += 1
        basis[0] = 1.0
        for degree in range(1, 4):
            left[degree] = value - knots[m + 1 - degree]
            right[degree] = knots[m + degree] - value
            carried = 0.0
            for r in range(degree):
                share = basis[r] / (right[r + 1] + left[degree - r])
                basis[r] = carried + right[r + 1] * share
                carried = left[degree - r] * share
            basis[degree] = carried
        for k in range(n_splines):
            out[i, j + k] = -shift[k] * factor[k]
        for r in range(4):
            k = m - 3 + r
            out[i, j + k] = (basis[r] - shift[k]) * factor[k]
    return worst


#: (column, knots, shift, factor, fill, out, j, start, stop) -> FINITE, MISSING or INFINITE


@kernel
def count_rows(X, counts, mean, squares, most, out):
    """Count rows in, a feature at most ``most`` times, by Welford's rule; ``out`` gets each, scaled by those so far."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if counts[j] < most:
                counts[j] += 1
                delta = X[i, j] - mean[j]
                mean[j] += delta / counts[j]
                squares[j] += delta * (X[i, j] - mean[j])
            if out.size:
                variance = squares[j] / counts[j]
                out[i, j] = (X[i, j] - mean[j]) / (np.sqrt(variance) if variance > 0.0 else 1.0)
