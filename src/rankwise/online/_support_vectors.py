"""Support vectors of a kernel estimator: where they are kept, and inner products with them.

Dense vectors lie side by side in the columns of one (d, capacity) array, so that the compiled loop over neighbouring
support vectors uses vector instructions; sparse ones lie in a pool of entries with a start and a stop per slot. Either
way an inner product is summed over the features in ascending order, so both give the same bits, for any division of the
rows into blocks (a BLAS product would not).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._kernels.compile import kernel
from rankwise._types import Floats
from rankwise.base.row_data import Rows, row_entries
from rankwise.base.state import State, grown, require_array

#: Arrays of the vectors, of which a new vector overwrites only what no slot in use refers to, and of their cosines.
VECTORS = frozenset({"support", "support_data", "support_indices", "cosines"})


@kernel
def _dense_products(X, columns, size, out):
    """out[i, s] = <x_i, columns[:, s]> for s < size."""
    tile = 512  # support vectors at a time: their partial sums stay in the fastest cache
    for first in range(0, size, tile):
        last = min(size, first + tile)
        for i in range(X.shape[0]):
            row = out[i, first:last]
            row[:] = 0.0
            for j in range(X.shape[1]):
                x, column = X[i, j], columns[j, first:last]
                for s in range(row.size):
                    row[s] += x * column[s]


@kernel
def _sparse_products(X, data, indices, start, stop, size, n_features, out):
    """out[i, s] = <x_i, vector in slot s> for CSR rows."""
    x_data, x_indices, x_indptr = X
    spread = np.zeros(n_features)
    for i in range(x_indptr.size - 1):
        for p in range(x_indptr[i], x_indptr[i + 1]):
            spread[x_indices[p]] = x_data[p]
        for s in range(size):
            total = 0.0
            for p in range(start[s], stop[s]):
                total += spread[indices[p]] * data[p]
            out[i, s] = total
        for p in range(x_indptr[i], x_indptr[i + 1]):
            spread[x_indices[p]] = 0.0


class DenseSupport:
    """Support vectors in the columns of ``state["support"]``."""

    @staticmethod
    def start(n_features: int) -> State:
        """Arrays of an empty set."""
        return {"support": np.zeros((n_features, 8))}

    @staticmethod
    def block(rows: Rows, picked: NDArray[np.intp], n_features: int) -> Floats:
        """The picked rows as a float64 array."""
        if not isinstance(rows, tuple):
            return np.ascontiguousarray(rows[picked], dtype=np.float64)
        dense = np.zeros((picked.size, n_features))
        for b, i in enumerate(picked):
            columns, values = row_entries(rows, i)
            dense[b, columns] = values
        return dense

    @staticmethod
    def products(state: State, block: Floats, size: int) -> Floats:
        """Inner products (B, size) of the block's rows with the support vectors."""
        out = np.empty((block.shape[0], size))
        _dense_products(block, state["support"], size, out)
        return out

    @staticmethod
    def products_within(block: Floats) -> Floats:
        """Inner products (B, B) among the block's rows."""
        out = np.empty((block.shape[0], block.shape[0]))
        _dense_products(block, np.ascontiguousarray(block.T), block.shape[0], out)
        return out

    @staticmethod
    def store(state: State, block: Floats, taken: NDArray[np.int64]) -> None:
        """Put row b of the block into slot taken[b], where that is not -1."""
        chosen = np.flatnonzero(taken >= 0)
        if chosen.size:
            state["support"] = grown(state["support"], int(taken.max()) + 1)
            state["support"][: block.shape[1], taken[chosen]] = block[chosen].T

    @staticmethod
    def keep_only(state: State, slots: NDArray[np.intp]) -> None:
        """Let these slots be the first ones; nothing refers to the others."""
        state["support"][:, : slots.size] = state["support"][:, slots]

    @staticmethod
    def check(state: Mapping[str, NDArray[Any]], size: int, n_features: int) -> None:
        """Refuse arrays that do not hold ``size`` vectors."""
        support = state["support"]
        if support.dtype != np.float64 or support.ndim != 2 or support.shape[0] < n_features or support.shape[1] < size:
            raise ValueError(f"array 'support' of shape {support.shape} does not hold {size} vectors of {n_features}")
        require_array("support", support)

    @staticmethod
    def vectors(state: State, size: int, n_features: int) -> Floats:
        """The support vectors as rows."""
        return np.ascontiguousarray(state["support"][:n_features, :size].T)


class SparseSupport:
    """Support vectors as slices [start, stop) of a pool of entries."""

    @staticmethod
    def start(n_features: int) -> State:
        """Arrays of an empty set."""
        return {
            "support_data": np.zeros(8),
            "support_indices": np.zeros(8, dtype=np.int32),
            "support_start": np.zeros(8, dtype=np.int64),
            "support_stop": np.zeros(8, dtype=np.int64),
            "support_used": np.zeros(1, dtype=np.int64),
        }

    @staticmethod
    def block(rows: Rows, picked: NDArray[np.intp], n_features: int) -> Rows:
        """The picked rows as float64 CSR arrays."""
        if n_features > np.iinfo(np.int32).max:
            raise ValueError(
                f"sparse support vectors have at most {np.iinfo(np.int32).max} features, not {n_features}."
            )
        if isinstance(rows, tuple):
            data, indices, indptr = rows
            block = sparse.csr_matrix((data, indices, indptr), shape=(indptr.size - 1, n_features))[picked]
        else:
            block = sparse.csr_matrix(rows[picked])
        return block.data.astype(np.float64), block.indices.astype(np.int32), block.indptr.astype(np.int32)

    @staticmethod
    def products(state: State, block: Rows, size: int) -> Floats:
        """Inner products (B, size) of the block's rows with the support vectors."""
        out = np.empty((block[2].size - 1, size))
        used = int(state["support_used"][0])
        largest = max((int(a.max()) for a in (block[1], state["support_indices"][:used]) if a.size), default=-1)
        _sparse_products(
            block, state["support_data"], state["support_indices"], state["support_start"], state["support_stop"],
            size, largest + 1, out,
        )  # fmt: skip
        return out

    @staticmethod
    def products_within(block: Rows) -> Floats:
        """Inner products (B, B) among the block's rows."""
        data, indices, indptr = block
        ends = indptr.astype(np.int64)
        out = np.empty((indptr.size - 1, indptr.size - 1))
        n_features = int(indices.max()) + 1 if indices.size else 0
        _sparse_products(block, data, indices, ends[:-1].copy(), ends[1:].copy(), indptr.size - 1, n_features, out)
        return out

    @staticmethod
    def store(state: State, block: Rows, taken: NDArray[np.int64]) -> None:
        """Put row b of the block into slot taken[b], where that is not -1."""
        for b in np.flatnonzero(taken >= 0).tolist():
            indices, data = row_entries(block, b)
            slot, used = int(taken[b]), int(state["support_used"][0])
            for name, length in (("support_start", slot + 1), ("support_stop", slot + 1)):
                state[name] = grown(state[name], length)
            for name, values in (("support_data", data), ("support_indices", indices)):
                state[name] = grown(state[name], used + data.size)
                state[name][used : used + data.size] = values
            state["support_start"][slot], state["support_stop"][slot] = used, used + data.size
            state["support_used"][0] = used + data.size
        SparseSupport._compact(state)

    @staticmethod
    def _compact(state: State) -> None:
        """Drop entries that no slot refers to any more, once they are more than half of the pool."""
        start, stop = state["support_start"], state["support_stop"]
        alive = int((stop - start).sum())
        if state["support_used"][0] <= max(64, 2 * alive):
            return
        keep = np.concatenate([np.arange(a, b) for a, b in zip(start, stop, strict=True)])
        state["support_data"], state["support_indices"] = state["support_data"][keep], state["support_indices"][keep]
        lengths = stop - start
        state["support_stop"] = np.cumsum(lengths)
        state["support_start"] = state["support_stop"] - lengths
        state["support_used"][0] = alive

    @staticmethod
    def keep_only(state: State, slots: NDArray[np.intp]) -> None:
        """Let these slots be the first ones; nothing refers to the others."""
        for name in ("support_start", "support_stop"):
            kept = state[name][slots]
            state[name][:] = 0
            state[name][: slots.size] = kept
        SparseSupport._compact(state)

    @staticmethod
    def check(state: Mapping[str, NDArray[Any]], size: int, n_features: int) -> None:
        """Refuse arrays that do not hold ``size`` vectors."""
        fresh = SparseSupport.start(0)
        start, stop, used = state["support_start"], state["support_stop"], state["support_used"]
        indices = state["support_indices"]
        if not (
            all(state[name].dtype == like.dtype and state[name].ndim == 1 for name, like in fresh.items())
            and used.size == 1
            and 0 <= used[0] <= min(indices.size, state["support_data"].size)
            and start.size == stop.size >= size
            and np.all((start >= 0) & (start <= stop) & (stop <= used[0]))
            and (stop - start).sum() <= used[0]  # vectors that share entries would need more memory than the file
            and np.all((indices[: used[0]] >= 0) & (indices[: used[0]] < max(n_features, 1)))
        ):
            raise ValueError(f"the sparse support arrays do not hold {size} vectors of {n_features} features")
        require_array("support_data", state["support_data"])

    @staticmethod
    def vectors(state: State, size: int, n_features: int) -> Any:
        """The support vectors as rows of a CSR matrix."""
        slots = list(zip(state["support_start"][:size], state["support_stop"][:size], strict=True))
        keep = np.concatenate([np.arange(a, b) for a, b in slots]) if slots else np.empty(0, dtype=np.int64)
        indptr = np.concatenate([[0], np.cumsum([b - a for a, b in slots], dtype=np.int64)])
        entries = state["support_data"][keep], state["support_indices"][keep], indptr
        return sparse.csr_matrix(entries, shape=(size, n_features))
