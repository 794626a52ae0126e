"""Operations on row i of a data matrix: the only way a kernel touches X.

``X`` is a C-contiguous 2-D array, or the tuple ``(data, indices, indptr)`` of a CSR matrix with sorted indices. Each
operation is a plain Python function, which defines its meaning (and runs when numba is switched off), with one compiled
form for dense and one for CSR rows. Weight arrays are float64 and at least as long as a row: they may hold spare
capacity behind the known features.

Both forms give the same bits (see :mod:`rankwise._kernels.lanes`).
"""

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from rankwise._kernels import lanes


def entries(X, i):
    """Columns and values of the entries of row i."""
    if isinstance(X, tuple):
        data, indices, indptr = X
        stored = slice(indptr[i], indptr[i + 1])
        return indices[stored], data[stored].astype(np.float64)
    return np.arange(X.shape[1]), X[i].astype(np.float64)


def _sum_in_lanes(columns, products):
    lane = [0.0] * lanes.LANES
    for j, product in zip(columns, products, strict=True):
        lane[j % lanes.LANES] += product
    return (lane[0] + lane[2]) + (lane[1] + lane[3])


def n_rows(X):
    """Number of rows of X."""
    return X[2].size - 1 if isinstance(X, tuple) else X.shape[0]


@overload(n_rows)
def _n_rows(X):
    if isinstance(X, types.BaseTuple):
        return lambda X: X[2].size - 1
    return lambda X: X.shape[0]


def dot(X, i, w):
    """<w, x_i>."""
    columns, values = entries(X, i)
    return _sum_in_lanes(columns, values * w[columns])


@overload(dot)
def _dot(X, i, w):
    if isinstance(X, types.BaseTuple):
        return lambda X, i, w: lanes.sparse_dot(X[0], X[1], X[2][i], X[2][i + 1], w)
    return lambda X, i, w: lanes.dense_dot(X, i * X.shape[1], w, 0, X.shape[1])


def dot_lagged(X, i, w, lag, rate):
    """<w - rate * lag, x_i>: the dot product with lazily averaged weights."""
    columns, values = entries(X, i)
    return _sum_in_lanes(columns, values * (w[columns] - lag[columns] * rate))


@overload(dot_lagged)
def _dot_lagged(X, i, w, lag, rate):
    if isinstance(X, types.BaseTuple):
        return lambda X, i, w, lag, rate: lanes.sparse_dot_lagged(X[0], X[1], X[2][i], X[2][i + 1], w, lag, rate)
    return lambda X, i, w, lag, rate: lanes.dense_dot_lagged(X, i * X.shape[1], w, lag, rate, X.shape[1])


def squared_norm(X, i):
    """<x_i, x_i>."""
    columns, values = entries(X, i)
    return _sum_in_lanes(columns, values * values)


@overload(squared_norm)
def _squared_norm(X, i):
    if isinstance(X, types.BaseTuple):
        return lambda X, i: lanes.sparse_square(X[0], X[1], X[2][i], X[2][i + 1])
    return lambda X, i: lanes.dense_dot(X, i * X.shape[1], X, i * X.shape[1], X.shape[1])


def axpy_lagged(X, i, a, rounds, w, lag):
    """Add a * x_i to w and rounds * a * x_i to lag: an update and its lazy average, in one pass over the row."""
    columns, values = entries(X, i)
    w[columns] += a * values
    lag[columns] += (a * rounds) * values


@overload(axpy_lagged)
def _axpy_lagged(X, i, a, rounds, w, lag):
    if isinstance(X, types.BaseTuple):

        def sparse(X, i, a, rounds, w, lag):
            data, indices, indptr = X
            late = a * rounds
            for p in range(indptr[i], indptr[i + 1]):
                w[indices[p]] += a * data[p]
                lag[indices[p]] += late * data[p]

        return sparse

    def dense(X, i, a, rounds, w, lag):
        lanes.dense_axpy_lagged(X, i * X.shape[1], a, a * rounds, w, lag, X.shape[1])

    return dense


def n_entries(X, i):
    """Number of stored entries of row i; all columns of a dense row."""
    return entries(X, i)[0].size


@overload(n_entries)
def _n_entries(X, i):
    if isinstance(X, types.BaseTuple):
        return lambda X, i: X[2][i + 1] - X[2][i]
    return lambda X, i: X.shape[1]


def column(X, i, p):
    """Column of the p-th stored entry of row i."""
    return entries(X, i)[0][p]


@overload(column)
def _column(X, i, p):
    if isinstance(X, types.BaseTuple):
        return lambda X, i, p: X[1][X[2][i] + p]
    return lambda X, i, p: p


def value(X, i, p):
    """Value of the p-th stored entry of row i."""
    return entries(X, i)[1][p]


@overload(value)
def _value(X, i, p):
    if isinstance(X, types.BaseTuple):
        return lambda X, i, p: X[0][X[2][i] + p]
    return lambda X, i, p: X[i, p]


def all_finite(values):
    """Return whether all values are finite."""
    return bool(np.isfinite(values).all())


@overload(all_finite)
def _all_finite(values):
    def compiled(values):
        good = True
        for k in range(values.size):
            good &= np.isfinite(values[k])
        return good

    return compiled


def dots_lagged(X, i, W, lag, rate, out):
    """out[k] = <column k of W - rate * lag, x_i>, each summed column by column of X: one pass over W."""
    columns, values = entries(X, i)
    out[:] = 0.0
    for j, x in zip(columns, values, strict=True):
        out += x * (W[j] - lag[j] * rate)


@overload(dots_lagged)
def _dots_lagged(X, i, W, lag, rate, out):
    def compiled(X, i, W, lag, rate, out):
        out[:] = 0.0
        n = n_entries(X, i)
        whole = n - n % 4 if rate == 0.0 else 0
        for p in range(0, whole, 4):  # four entries for one pass over the sums; each sum is still in order
            j0, j1, j2, j3 = column(X, i, p), column(X, i, p + 1), column(X, i, p + 2), column(X, i, p + 3)
            x0, x1, x2, x3 = value(X, i, p), value(X, i, p + 1), value(X, i, p + 2), value(X, i, p + 3)
            for k in range(out.size):
                total = out[k] + x0 * W[j0, k]
                total += x1 * W[j1, k]
                total += x2 * W[j2, k]
                total += x3 * W[j3, k]
                out[k] = total
        for p in range(whole, n):
            j, x = column(X, i, p), value(X, i, p)
            for k in range(out.size):
                out[k] += x * (W[j, k] - lag[j, k] * rate)

    return compiled


def axpy_column(X, i, a, W, k):
    """Column k of W += a * x_i, in place."""
    columns, values = entries(X, i)
    W[columns, k] += a * values


@overload(axpy_column)
def _axpy_column(X, i, a, W, k):
    def compiled(X, i, a, W, k):
        for p in range(n_entries(X, i)):
            W[column(X, i, p), k] += a * value(X, i, p)

    return compiled


def axpy_span(X, i, a, rounds, W, lag, first, last):
    """Add a * x_i to the columns first .. last - 1 of W and rounds * a * x_i to those of lag, in place."""
    columns, values = entries(X, i)
    W[columns, first:last] += (a * values)[:, None]
    lag[columns, first:last] += ((a * rounds) * values)[:, None]


@overload(axpy_span)
def _axpy_span(X, i, a, rounds, W, lag, first, last):
    def compiled(X, i, a, rounds, W, lag, first, last):
        late = a * rounds
        for p in range(n_entries(X, i)):
            j, x = column(X, i, p), value(X, i, p)
            for k in range(first, last):
                W[j, k] += a * x
                lag[j, k] += late * x

    return compiled


def dots(X, i, W, out):
    """out[k] = <column k of W, x_i> for the first columns of W, each summed column by column of X: one pass over W."""
    columns, values = entries(X, i)
    out[:] = 0.0
    for j, x in zip(columns, values, strict=True):
        out += x * W[j, : out.size]


def dots_positive(X, i, W, out):
    """The same where negative elements of W count as zero."""
    columns, values = entries(X, i)
    out[:] = 0.0
    for j, x in zip(columns, values, strict=True):
        out += x * np.maximum(W[j, : out.size], 0.0)


def _dots_of(element):
    def compiled(X, i, W, out):
        out[:] = 0.0
        n = n_entries(X, i)
        whole = n - n % 4
        for p in range(0, whole, 4):  # four entries for one pass over the sums; each sum is still in order
            j0, j1, j2, j3 = column(X, i, p), column(X, i, p + 1), column(X, i, p + 2), column(X, i, p + 3)
            x0, x1, x2, x3 = value(X, i, p), value(X, i, p + 1), value(X, i, p + 2), value(X, i, p + 3)
            for k in range(out.size):
                total = out[k] + x0 * element(W[j0, k])
                total += x1 * element(W[j1, k])
                total += x2 * element(W[j2, k])
                total += x3 * element(W[j3, k])
                out[k] = total
        for p in range(whole, n):
            j, x = column(X, i, p), value(X, i, p)
            for k in range(out.size):
                out[k] += x * element(W[j, k])

    return lambda X, i, W, out: compiled


overload(dots)(_dots_of(register_jitable(lambda w: w)))
overload(dots_positive)(_dots_of(register_jitable(lambda w: max(w, 0.0))))


def absolute_sizes(X, i):
    """Largest absolute value of row i, and their sum: NaN or infinite if an entry is."""
    largest, total = 0.0, 0.0
    for x in np.abs(entries(X, i)[1]).tolist():
        largest = max(largest, x)
        total += x
    return largest, total


@overload(absolute_sizes)
def _absolute_sizes(X, i):
    def compiled(X, i):
        largest, total = 0.0, 0.0
        for p in range(n_entries(X, i)):
            size = abs(float(value(X, i, p)))
            largest = max(largest, size)
            total += size
        return largest, total

    return compiled
