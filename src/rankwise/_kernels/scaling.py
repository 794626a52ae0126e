"""Copy columns of numbers into a matrix, scaled, expanded into splines and with missing values filled in."""

import numpy as np

from rankwise._kernels.compile import inlined, kernel

FINITE, MISSING, INFINITE = 0, 1, 2


@inlined
def _filled(value, fill, worst):
    """The value, or ``fill`` if it is missing, and the worst state so far."""
    if np.isfinite(value):
        return value, worst
    if np.isnan(value):
        return fill, max(worst, MISSING)
    return value, INFINITE


@kernel
def put_column(column, shift, factor, fill, out, j, start, stop):
    """Write ``(value - shift) * factor`` into column j of rows ``start .. stop - 1``; return the worst state met."""
    worst = FINITE
    for i in range(start, stop):
        value, worst = _filled(column[i], fill, worst)
        out[i, j] = (value - shift) * factor
    return worst


@kernel
def put_splines(column, knots, shift, factor, fill, skip, out, j, start, stop):
    """Write the cubic B-splines of a column, scaled, into the columns of some rows from j on.

    The first ``skip`` splines, none or one, are left out. Return the worst state met.

    ``knots`` has three more knots on each side than the range that the splines cover; a value outside of the range
    counts as its nearer end. At any value four splines are nonzero; the recursion of de Boor and Cox builds them up
    from degree 0. It is unrolled: the first spline begins three intervals before the value's own, ``l1`` to ``l3`` are
    the distances to the knots below the value, ``r1`` to ``r3`` to those above.
    """
    worst = FINITE
    n_splines = knots.size - 4
    low, high = knots[3], knots[knots.size - 4]
    for i in range(start, stop):
        value, worst = _filled(column[i], fill, worst)
        value = min(max(value, low), high)
        m = 3
        for k in range(4, n_splines):  # no branch depends on the value
            m += int(value >= knots[k])
        l1, l2, l3 = value - knots[m], value - knots[m - 1], value - knots[m - 2]
        r1, r2, r3 = knots[m + 1] - value, knots[m + 2] - value, knots[m + 3] - value
        share = 1.0 / (r1 + l1)
        first, second = r1 * share, l1 * share
        share, other = first / (r1 + l2), second / (r2 + l1)
        first, second, third = r1 * share, l2 * share + r2 * other, l1 * other
        share, other, last = first / (r1 + l3), second / (r2 + l2), third / (r3 + l1)
        place = j - skip
        for k in range(skip, n_splines):
            out[i, place + k] = -shift[k] * factor[k]
        k = m - 3
        if k >= skip:
            out[i, place + k] = (r1 * share - shift[k]) * factor[k]
        out[i, place + k + 1] = (l3 * share + r2 * other - shift[k + 1]) * factor[k + 1]
        out[i, place + k + 2] = (l2 * other + r3 * last - shift[k + 2]) * factor[k + 2]
        out[i, place + k + 3] = (l1 * last - shift[k + 3]) * factor[k + 3]
    return worst


@kernel
def put_matrix(X, as_splines, knots, shift, factor, fill, skip, starts, out):
    """Write all columns of a matrix, marked ones as splines, to ``starts`` in ``out``; return the worst state met."""
    worst = FINITE
    for j in range(X.shape[1]):
        if as_splines[j]:
            state = put_splines(X[:, j], knots[j], shift[j], factor[j], fill[j], skip[j], out, starts[j], 0, X.shape[0])
        else:
            state = put_column(X[:, j], shift[j, 0], factor[j, 0], fill[j], out, starts[j], 0, X.shape[0])
        worst = max(worst, state)
    return worst


@kernel
def count_rows(X, counts, mean, squares, most, out):
    """Update mean and squares by Welford's rule, a feature at most ``most`` times; unless empty, ``out`` gets the rows.

    Each row is scaled by the mean and deviation so far.
    """
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
