"""The data matrix as the solvers see it: a linear map from weights to scores, its transpose, and parts of it.

``times`` gives the scores ``S[i, z] = <w_z, x_i>`` of every row for Z weight vectors, ``pull`` the transposed product
``sum_i R[i, z] x_i``. Both are one pass over the stored rows, dense or CSR, in one thread and without a copy: for the
few columns that large-margin problems usually have, that is faster than a threaded BLAS call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._kernels.compile import SOURCES, kernel
from rankwise._kernels.rows import column, dot, n_entries, n_rows, value

Floats = NDArray[np.float64]


def _make_times():
    sources = SOURCES

    @kernel
    def times(X, W, out):
        """out[i, z] = <W[z], x_i>."""
        _ = sources
        for i in range(n_rows(X)):
            for z in range(W.shape[0]):
                out[i, z] = dot(X, i, W[z])

    return times


def _make_pull():
    sources = SOURCES

    @kernel
    def pull(X, R, out):
        """out[z] += sum_i R[i, z] x_i."""
        _ = sources
        for i in range(n_rows(X)):
            for z in range(R.shape[1]):
                r = R[i, z]
                if r != 0.0:
                    row = out[z]
                    for p in range(n_entries(X, i)):
                        row[column(X, i, p)] += r * value(X, i, p)

    return pull


def _make_gram():
    sources = SOURCES

    @kernel
    def gram(X, weight, out):
        """Lower triangle of out += sum_i weight[i] x_i x_i'."""
        _ = sources
        for i in range(n_rows(X)):
            if weight[i] != 0.0:
                for p in range(n_entries(X, i)):
                    row, factor = out[column(X, i, p)], weight[i] * value(X, i, p)
                    for q in range(p + 1):
                        row[column(X, i, q)] += factor * value(X, i, q)

    return gram


_TIMES = _make_times()
_PULL = _make_pull()
_GRAM = _make_gram()


class Design:
    """Rows of features as a linear map.

    Parameters
    ----------
    rows : C-contiguous array, or the tuple (data, indices, indptr) of a CSR matrix with sorted indices
        The rows, as :mod:`rankwise._kernels.rows` reads them.
    n_features : int
        d.

    Examples
    --------
    >>> design = Design(np.array([[1.0, 2.0], [3.0, 4.0]]), 2)
    >>> design.times(np.array([[1.0, 1.0]]))
    array([[3.],
           [7.]])
    >>> design.pull(np.array([[1.0], [1.0]]))
    array([[4., 6.]])
    """

    def __init__(self, rows: Any, n_features: int) -> None:
        self.rows = rows
        self.n_features = n_features
        self.is_sparse = isinstance(rows, tuple)
        self.n_rows = int(rows[2].size - 1 if self.is_sparse else rows.shape[0])

    def times(self, W: Floats) -> Floats:
        """Scores (n, Z) of the weight vectors W (Z, d)."""
        out = np.empty((self.n_rows, W.shape[0]))
        _TIMES(self.rows, np.ascontiguousarray(W), out)
        return out

    def pull(self, R: Floats) -> Floats:
        """Return the transposed product: (Z, d) from R (n, Z)."""
        out = np.zeros((R.shape[1], self.n_features))
        _PULL(self.rows, R, out)
        return out

    def take(self, index: NDArray[np.intp]) -> Design:
        """The rows at ``index``, copied."""
        if not self.is_sparse:
            return Design(np.ascontiguousarray(self.rows[index]), self.n_features)
        part = self.matrix()[index]
        return Design((part.data, part.indices, part.indptr), self.n_features)

    def gram(self, weight: Floats) -> Floats:
        """``sum_i weight_i x_i x_i'`` (d, d)."""
        out = np.zeros((self.n_features, self.n_features))
        _GRAM(self.rows, weight, out)
        lower = np.tril(out, -1)
        return np.asarray(out + lower.T)

    def matrix(self) -> Any:
        """The rows as a CSR matrix; a dense matrix is converted."""
        if not self.is_sparse:
            return sparse.csr_matrix(self.rows)
        data, indices, indptr = self.rows
        return sparse.csr_matrix((data, indices, indptr), shape=(self.n_rows, self.n_features), copy=False)
