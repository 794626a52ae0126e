"""Operations on row i of a data matrix: the only way a kernel touches X.

``X`` is a C-contiguous 2-D array, or the tuple ``(data, indices, indptr)`` of a CSR matrix with sorted indices. Each
operation is a plain Python function, which defines its meaning (and runs when numba is switched off), with one compiled
form for dense and one for CSR rows. Weight arrays are float64 and at least as long as a row: they may hold spare
capacity behind the known features.

Both forms give the same bits (see :mod:`rankwise._kernels.lanes`).
"""

import numpy as np
from numba import types

from rankwise._kernels import lanes
from rankwise._kernels.columns import columns_axpy, columns_dot
from rankwise._kernels.compile import overload, register_jitable
from rankwise._kernels.llvm import LANES


def entries(X, i):
    """Columns and values of the entries of row i."""
    if isinstance(X, tuple):
        data, indices, indptr = X
        stored = slice(indptr[i], indptr[i + 1])
        return indices[stored], data[stored].astype(np.float64)
    return np.arange(X.shape[1]), X[i].astype(np.float64)


def _sum_in_lanes(columns, products):
    lane = [0.0] * LANES
    for j, product in zip(columns, products, strict=True):
        lane[j % LANES] += product
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


def padded(n_columns):
    """Smallest width of whole blocks of columns: weights of this width fill whole registers."""
    return -(-n_columns // LANES) * LANES


def dots_lagged(X, i, W, lag, rate, out):
    """out[k] = <column k of W - rate * lag, x_i>, each summed column by column of X: one pass over W."""
    columns, values = entries(X, i)
    out[: W.shape[1]] = 0.0
    for j, x in zip(columns, values, strict=True):
        out[: W.shape[1]] += x * (W[j] - lag[j] * rate)


@register_jitable(forceinline=True)
def _blocks_dot(data, indices, start, stop, W, lag, rate, out):
    """Dot products of the columns in whole blocks, up to three in one pass over the row; return how many columns."""
    k = 0
    while k + 3 * LANES <= W.shape[1]:
        columns_dot(data, indices, start, stop, W, lag, rate, k, 3, out)
        k += 3 * LANES
    while k + LANES <= W.shape[1]:
        columns_dot(data, indices, start, stop, W, lag, rate, k, 1, out)
        k += LANES
    return k


@overload(dots_lagged, forceinline=True)
def _dots_lagged(X, i, W, lag, rate, out):
    if isinstance(X, types.BaseTuple):

        def whole(X, i, W, lag, rate, out):
            return _blocks_dot(X[0], X[1], X[2][i], X[2][i + 1], W, lag, rate, out)

    else:

        def whole(X, i, W, lag, rate, out):
            return _blocks_dot(X, None, i * X.shape[1], (i + 1) * X.shape[1], W, lag, rate, out)

    whole = register_jitable(forceinline=True)(whole)

    def compiled(X, i, W, lag, rate, out):
        done = whole(X, i, W, None, 0.0, out) if rate == 0.0 else whole(X, i, W, lag, rate, out)
        for k in range(done, W.shape[1]):
            total = 0.0
            for p in range(n_entries(X, i)):
                j = column(X, i, p)
                total += value(X, i, p) * (W[j, k] - lag[j, k] * rate)
            out[k] = total

    return compiled


def axpy_two(X, i, a, rounds, W, lag, plus, minus):
    """Add a * x_i to column plus of W and subtract it from column minus; rounds times as much for lag, in place."""
    columns, values = entries(X, i)
    for k, factor in ((plus, a), (minus, -a)):
        W[columns, k] += factor * values
        lag[columns, k] += (factor * rounds) * values


@overload(axpy_two)
def _axpy_two(X, i, a, rounds, W, lag, plus, minus):
    def compiled(X, i, a, rounds, W, lag, plus, minus):
        late = a * rounds
        for p in range(n_entries(X, i)):
            j, x = column(X, i, p), value(X, i, p)
            W[j, plus] += a * x
            W[j, minus] -= a * x
            lag[j, plus] += late * x
            lag[j, minus] -= late * x

    return compiled


def axpy_columns(X, i, factors, rounds, W, lag, first, last):
    """Add factors[k] * x_i to column k of W and rounds * factors[k] * x_i to that of lag, for k = first .. last - 1.

    W has whole blocks of columns (:func:`padded`); ``factors`` has as many entries, zero outside the range.
    """
    columns, values = entries(X, i)
    W[columns] += np.multiply.outer(values, factors)
    lag[columns] += np.multiply.outer(values, factors * rounds)


@overload(axpy_columns, forceinline=True)
def _axpy_columns(X, i, factors, rounds, W, lag, first, last):
    if isinstance(X, types.BaseTuple):

        def sparse(X, i, factors, rounds, W, lag, first, last):
            for k in range(first - first % LANES, last, LANES):
                columns_axpy(X[0], X[1], X[2][i], X[2][i + 1], factors, rounds, W, lag, k)

        return sparse

    def dense(X, i, factors, rounds, W, lag, first, last):
        for k in range(first - first % LANES, last, LANES):
            columns_axpy(X, None, i * X.shape[1], (i + 1) * X.shape[1], factors, rounds, W, lag, k)

    return dense


def dots(X, i, W, out):
    """out[k] = <column k of W, x_i> for the first columns of W, each summed column by column of X: one pass over W."""
    columns, values = entries(X, i)
    out[:] = 0.0
    for j, x in zip(columns, values, strict=True):
        out += x * W[j, : out.size]


def dots_positive(X, i, W, out):
    """:func:`dots` with negative elements of W counted as zero."""
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
