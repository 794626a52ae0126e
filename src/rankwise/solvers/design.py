"""The data matrix as the solvers see it: a linear map from weights to scores, its transpose, and samples of its rows.

``times`` gives the scores ``S[i, z] = <w_z, x_i>`` of every row for Z weight vectors, ``pull`` the transposed product
``sum_i R[i, z] x_i``. Both are one pass over the stored rows, dense or CSR, in one thread and without a copy. For the
few columns that large-margin problems usually have, this is faster than a threaded BLAS call.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._kernels.compile import kernel
from rankwise._kernels.rows import column, dot, n_entries, n_rows, squared_norm, value
from rankwise._types import Floats

_CONSTANT = 1e-13  # deviation of a column, relative to its centre, that is rounding


@kernel
def _times(X, W, out):
    """out[i, z] = <W[z], x_i>."""
    for i in range(n_rows(X)):
        for z in range(W.shape[0]):
            out[i, z] = dot(X, i, W[z])


@kernel
def _squared_norms(X, out):
    for i in range(n_rows(X)):
        out[i] = squared_norm(X, i)


@kernel
def _pull(X, R, out):
    """out[z] += sum_i R[i, z] x_i."""
    for i in range(n_rows(X)):
        for z in range(R.shape[1]):
            r = R[i, z]
            if r != 0.0:
                row = out[z]
                for p in range(n_entries(X, i)):
                    row[column(X, i, p)] += r * value(X, i, p)


@kernel
def _gram(X, weight, out):
    """Lower triangle of out += sum_i weight[i] x_i x_i'."""
    for i in range(n_rows(X)):
        if weight[i] != 0.0:
            for p in range(n_entries(X, i)):
                row, factor = out[column(X, i, p)], weight[i] * value(X, i, p)
                for q in range(p + 1):
                    row[column(X, i, q)] += factor * value(X, i, q)


def squared_norms(rows: Any) -> Floats:
    """Squared norm of every row, dense or CSR."""
    out = np.empty(n_rows(rows))
    _squared_norms(rows, out)
    return out


def sampled_rows(step: int, first: int, count: int) -> NDArray[np.intp]:
    """Places of a random sample of all rows, among ``count`` rows that begin with row number ``first``.

    One row of every ``step`` consecutive ones is drawn, by their number alone: so the sample is the same whatever the
    blocks in which the rows are read.
    """
    groups = np.arange(first // step, -(-(first + count) // step), dtype=np.uint64)
    # SplitMix64 (Steele, Lea and Flood): a pseudo-random number for every group.
    z = (groups + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    drawn = (z ^ (z >> np.uint64(31))) % np.uint64(step)
    places = (groups * np.uint64(step) + drawn).astype(np.intp) - first
    return np.asarray(places[(places >= 0) & (places < count)])


class LinearMap(Protocol):
    """What solvers need of the data matrix, see :class:`Design`. Rows elsewhere have scores of another kind."""

    n_rows: int
    n_features: int

    @property
    def per_row(self) -> float:
        """Stored entries of a row, on average."""

    def times(self, W: Floats) -> Any:
        """Scores of the weight vectors W (Z, d)."""

    def pull(self, R: Any) -> Floats:
        """Return the transposed product, (Z, d)."""

    def inner(self, R: Any, S: Any) -> float:
        """Sum over rows of derivatives by the scores times changes of the scores."""

    def sample(self, step: int) -> Any:
        """Index of a random sample for ``take``, about one row in ``step``."""

    def take(self, index: Any, /) -> LinearMap:
        """Some of the rows."""

    def without_columns(self) -> LinearMap:
        """The same rows with no features."""


class Design:
    """Rows of features, as :mod:`rankwise._kernels.rows` reads them, as a linear map.

    >>> design = Design(np.array([[1.0, 2.0], [3.0, 4.0]]), 2)
    >>> design.times(np.array([[1.0, 1.0]]))
    array([[3.],
           [7.]])
    >>> design.pull(np.array([[1.0], [1.0]]))
    array([[4., 6.]])
    """

    def __init__(self, rows: Any, n_features: int, columns: NDArray[np.intp] | None = None) -> None:
        self.rows = rows
        self.n_features = n_features
        self.columns = columns  # their numbers in the design from which they were taken
        self.is_sparse = isinstance(rows, tuple)
        self.n_rows = int(n_rows(rows))

    def times(self, W: Floats) -> Floats:
        """Scores (n, Z) of the weight vectors W (Z, d)."""
        out = np.empty((self.n_rows, W.shape[0]))
        _times(self.rows, np.ascontiguousarray(W), out)
        return out

    def pull(self, R: Floats) -> Floats:
        """Return the transposed product: (Z, d) from R (n, Z)."""
        out = np.zeros((R.shape[1], self.n_features))
        _pull(self.rows, R, out)
        return out

    def inner(self, R: Floats, S: Floats) -> float:
        """Sum of the products of two matrices (n, Z)."""
        return float(np.einsum("iz,iz->", R, S))

    @property
    def n_stored(self) -> int:
        """Number of stored entries."""
        return int(self.rows[0].size if self.is_sparse else self.rows.size)

    @property
    def per_row(self) -> float:
        """Stored entries of a row, on average."""
        return self.n_stored / max(self.n_rows, 1)

    @property
    def nbytes(self) -> int:
        """Memory of the stored rows."""
        return sum(array.nbytes for array in self.rows) if self.is_sparse else int(self.rows.nbytes)

    def __sizeof__(self) -> int:
        return self.nbytes

    def sample(self, step: int) -> NDArray[np.intp]:
        """Numbers of the rows of a random sample, about one in ``step``; see :func:`sampled_rows`."""
        return sampled_rows(step, 0, self.n_rows)

    def take(self, index: NDArray[np.intp]) -> Design:
        """The rows at ``index``, copied."""
        if not self.is_sparse:
            return Design(np.ascontiguousarray(self.rows[index]), self.n_features)
        taken = self.matrix()[index]
        return Design((taken.data, taken.indices, taken.indptr), self.n_features)

    def between(self, first: int, last: int) -> Design:
        """Rows first .. last - 1, without a copy."""
        if not self.is_sparse:
            return Design(self.rows[first:last], self.n_features)
        data, indices, indptr = self.rows
        return Design((data, indices, indptr[first : last + 1]), self.n_features)

    def without_columns(self) -> Design:
        """The same rows with no features, for scores that are fixed."""
        return Design(np.empty((self.n_rows, 0)), 0)

    def used_columns(self) -> NDArray[np.intp] | None:
        """The first column and those with entries, if they are certainly about half of all or fewer; else None."""
        if not self.is_sparse or 2 * self.n_stored >= self.n_features:
            return None
        return np.unique(np.append(self.rows[1], 0)).astype(np.intp)

    def take_columns(self, index: NDArray[np.intp]) -> Design:
        """The columns at ``index``, ascending; all entries must lie in them."""
        data, indices, indptr = self.rows
        return Design((data, np.searchsorted(index, indices).astype(indices.dtype), indptr), index.size, index)

    def standardised(self, weight: Floats) -> tuple[Design, Floats, Floats]:
        """A copy with columns of weighted variance 1, their centres and scales; sparse rows are not centred."""
        matrix, share = self.matrix() if self.is_sparse else self.rows, weight / weight.sum()
        centre = np.asarray(share @ matrix, dtype=np.float64)
        if self.is_sparse:
            size = np.sqrt(np.asarray(share @ matrix.multiply(matrix)).ravel())
            scale = np.where(size > 0.0, size, 1.0)
            data, indices, indptr = self.rows
            return Design((data / scale[indices], indices, indptr), self.n_features), np.zeros_like(scale), scale
        centred = np.ascontiguousarray(matrix - centre, dtype=np.float64)
        size = np.sqrt(share @ np.square(centred))
        scale = np.where(size > _CONSTANT * np.abs(centre), size, 1.0)
        centred /= scale
        return Design(centred, self.n_features), centre, scale

    def gram(self, weight: Floats) -> Floats:
        """``sum_i weight_i x_i x_i'`` (d, d)."""
        out = np.zeros((self.n_features, self.n_features))
        _gram(self.rows, weight, out)
        lower = np.tril(out, -1)
        return np.asarray(out + lower.T)

    def matrix(self) -> Any:
        """The rows as a CSR matrix; a dense matrix is converted."""
        if not self.is_sparse:
            return sparse.csr_matrix(self.rows)
        data, indices, indptr = self.rows
        return sparse.csr_matrix((data, indices, indptr), shape=(self.n_rows, self.n_features), copy=False)
