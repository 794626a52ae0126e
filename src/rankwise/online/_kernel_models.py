"""What the kernel estimators share: kernels, blocks of rows, support vectors in slots, and the budget.

Rows are taken in blocks: the kernel values of a block with all support vectors, and within the block, are computed
together, and then the rounds of the block run in order. The order of the sums makes the result independent of the
size of the blocks.

``budget`` bounds the number of support vectors. When it is full, a new one takes the place of the one with the smallest
influence, whose share goes to its neighbours: :mod:`rankwise.online._support_budget`. An example that is already a
support vector (in a later epoch) adds to its coefficients.

An algorithm supplies one compiled loop over the rounds of a block, which calls ``admit`` from there when a row becomes
a support vector.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rankwise._sklearn import COUNT, POSITIVE, Interval, StrOptions
from rankwise._types import Codes, Floats
from rankwise.base.row_data import Rows, first_non_finite, length
from rankwise.base.state import COUNTS, GIVEN_ORDER, NO_PREDICTIONS, ROUNDS, State, StateArray, grown
from rankwise.base.transaction import reader
from rankwise.online._support_budget import remember, shrink
from rankwise.online._support_vectors import VECTORS, DenseSupport, SparseSupport
from rankwise.online.array_learner import surely
from rankwise.online.online_estimator import OnlineEstimator

#: What the loop over a block reads and fills, besides labels: ``values[b, s]``, the kernel of row b with the vector in
#: slot s (columns behind the last slot are zero and have zero coefficients); ``within[b, e]``, with row e of the block;
#: ``slots[b]``, the slot that row b already holds, or -1; ``taken[b]``, the slot that row b took, or -1; ``owner[s]``,
#: the row that took slot s, or -1; and the table of cosines among the vectors from before the block.
Block = tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]
#: Lower and upper ends and mask of some rows.
LabelArrays = tuple[Codes, Codes, NDArray[np.bool_]]

_BLOCK_ROWS = 128
_NO_COSINES = np.zeros((0, 0), dtype=np.float32)

#: Arrays of every kernel model besides the coefficients "dual"; the vectors themselves come with the first rows.
SLOTS = {
    "squares": StateArray(("slot",), mixes="follows"),
    "influence": StateArray(("slot",), mixes="follows"),  # sqrt(k(x_s, x_s))
    "born": StateArray(("slot",), np.int64, mixes="follows"),
    "row": StateArray(("slot",), np.int64, start=-1, joins=-1, mixes="follows"),  # row of the current fit in the slot
    "size": StateArray((1,), np.int64, mixes="follows"),
    "gamma": StateArray((1,), mixes="follows"),  # 0: not settled yet
    "counts": COUNTS,
}


class KernelEstimator(OnlineEstimator):
    """Base of the estimators whose score is a sum over support vectors; see the module's docstring."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineEstimator._parameter_constraints,
        "kernel": [StrOptions({"rbf", "polynomial", "poly", "linear"}), callable],
        "degree": [COUNT],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "gamma": [POSITIVE, None],
        "budget": [COUNT, None],
        "n_neighbors": [Interval(Integral, 0, None, closed="left")],
    }

    bends = True

    kernel: str | Callable[[Any, Any], Any]
    degree: int
    coef0: float
    gamma: float | None
    budget: int | None
    n_neighbors: int

    @abstractmethod
    def _block_pass(
        self, state: State, block: Block, labels: LabelArrays, weight: Floats, limits: tuple[int, int],
        average: Any, predictions: Codes,
    ) -> int:  # fmt: skip
        """Run the rounds of a block; return -1, or the row of the block whose score is not finite."""

    def _learn_epochs(self, X: Any, y: Any, sample_weight: Any) -> None:
        super()._learn_epochs(X, y, sample_weight)
        self._state["row"][:] = -1  # outside of a fit the same rows do not come again

    _learns_in_place = False  # a pass replaces arrays by longer ones, which a reader must not mix

    def _pass(
        self, state: State, rows: Rows, labels: LabelArrays, weight: Floats, order: NDArray[np.int64],
        predictions: Codes,
    ) -> int:  # fmt: skip
        self._make_ready(state, rows)
        # Slots remember their rows only during one fit, where the same rows come again.
        slot_of = np.full(length(rows), -1, dtype=np.int64)
        if order.size:
            held = np.flatnonzero(state["row"] >= 0)
            slot_of[state["row"][held]] = held
        lower, upper, mask = labels
        n_rows = order.size or length(rows)
        for start in range(0, n_rows, _BLOCK_ROWS):
            stop = min(start + _BLOCK_ROWS, n_rows)
            picked = order[start:stop] if order.size else np.arange(start, stop)
            block_labels = lower[picked], upper[picked], mask[picked] if mask.size else mask
            block_weight = weight[picked] if weight.size else weight
            codes = np.empty(picked.size if predictions.size else 0, dtype=np.int32)
            bad, vectors, block = self._learn_block(
                state, rows, picked, block_labels, block_weight, slot_of[picked], self._averaging(state, order), codes
            )
            if predictions.size:
                predictions[picked] = codes
            if bad >= 0:
                return int(picked[bad])
            taken = block[3]
            self._store(state).store(state, vectors, taken)
            self._remember(state, block)
            del vectors, block  # the next block takes their memory, whose pages are there already
            if order.size:
                chosen = np.flatnonzero(taken >= 0)
                former = state["row"][taken[chosen]]
                slot_of[former[former >= 0]] = -1
                state["row"][taken[chosen]] = picked[chosen]
                slot_of[picked[chosen]] = taken[chosen]
        return -1

    def _make_ready(self, state: State, rows: Rows) -> None:
        """Create the arrays of support vectors before the first rows, and shrink these to the current budget."""
        if "support" not in state and "support_data" not in state:
            store = SparseSupport if isinstance(rows, tuple) else DenseSupport
            state.update(store.start(self.n_features_in_))
            state["gamma"][0] = self._settled_gamma()
        size = int(state["size"][0])
        if self.budget is not None and size > self.budget:
            table = self._cosines(state, size) if self.n_neighbors else _NO_COSINES
            dual, lag = (state[name].reshape(len(state["born"]), -1) for name in ("dual", "dual_lag"))
            rounds, lengths = float(state["counts"][ROUNDS]), state["influence"]
            shrink(dual, lag, rounds, lengths, state["born"], size, (self.budget, self.n_neighbors), table)
            stay = np.flatnonzero(lengths[:size] >= 0.0)
            self._store(state).keep_only(state, stay)
            for name, array in self._layout.arrays.items():
                if array.axes[0] == "slot":
                    moved = state[name][stay]
                    state[name][: stay.size], state[name][stay.size : size] = moved, array.joins
            state["size"][0] = stay.size
            state.pop("cosines", None)

    def _cosines(self, state: State, n_slots: int) -> NDArray[np.float32]:
        """Cosines among the support vectors, in a table for at least ``n_slots`` of them."""
        table = state.get("cosines")
        if table is not None and len(table) >= n_slots:
            return table
        size, of_slot, born = int(state["size"][0]), state["influence"], state["born"]
        table = np.zeros((n_slots, n_slots), dtype=np.float32)
        rows: Any = self._store(state).vectors(state, size, self.n_features_in_)
        if sparse.issparse(rows):
            rows = rows.data, rows.indices, rows.indptr
        for start, values in self._kernel_blocks(rows, state):
            for s, products in enumerate(values, start):
                older = np.flatnonzero(born[:size] <= born[s])  # a new row has kernel values with the vectors before it
                lengths = of_slot[s] * of_slot[older]
                cosines = np.divide(products[older], lengths, out=np.zeros(older.size), where=lengths > 0.0)
                table[s, older] = table[older, s] = cosines
        return table

    def _learn_row(self, state: State, row: Rows, labels: LabelArrays, weight: Floats) -> int:
        # Copy all that a round changes, except the vectors: of these it overwrites only an evicted one.
        shrinks = self.budget is not None and state["size"][0] > self.budget
        state = {name: array.copy() if shrinks or name not in VECTORS else array for name, array in state.items()}
        self._make_ready(state, row)
        row_0, no_slot = np.zeros(1, dtype=np.int64), np.full(1, -1, dtype=np.int64)
        bad, vectors, block = self._learn_block(
            state, row, row_0, labels, weight, no_slot, self._averaging(state, GIVEN_ORDER), NO_PREDICTIONS
        )
        if bad >= 0 or not self._layout.tame(state):
            return 0
        store = self._store(state)
        if store is SparseSupport:  # overwrites nothing
            store.store(state, vectors, block[3])
        attributes = {**self.__dict__, "_state": state}

        def commit() -> None:
            if store is DenseSupport:
                store.store(state, vectors, block[3])
            self._remember(state, block)
            self.__dict__ = attributes

        self._gate.count |= 1
        try:
            surely(commit)
        finally:
            self._gate.count += 1
        return -1

    def _learn_block(
        self, state: State, rows: Rows, picked: NDArray[Any], labels: LabelArrays, weight: Floats,
        slots: NDArray[np.int64], average: Any, predictions: Codes,
    ) -> tuple[int, Any, Any]:  # fmt: skip
        """Run a block; return the bad row or -1, its rows as vectors, and the block, still to be stored."""
        store = self._store(state)
        vectors = store.block(rows, picked, self.n_features_in_)
        bad = first_non_finite(vectors)
        if bad >= 0:
            return bad, vectors, None
        size = int(state["size"][0])
        budget = np.iinfo(np.int64).max if self.budget is None else int(self.budget)
        n_slots = min(size + picked.size, budget)
        state.update(self._layout.with_room(state, "slot", n_slots))
        within_products = store.products_within(vectors)
        squares = np.diagonal(within_products).copy()
        values = np.zeros((picked.size, n_slots))
        values[:, :size] = self._kernel_values(state, vectors, size, squares)
        within = self._kernel_of(state, vectors, vectors, within_products, squares, squares)
        good = np.isfinite(np.diagonal(within))
        if not good.all():  # such a support vector would spoil every later score
            return int(np.argmin(good)), vectors, None
        if self.n_neighbors and size + picked.size > budget:  # a vector may be evicted
            state["cosines"] = self._cosines(state, budget)
        else:
            state.pop("cosines", None)
        taken, owner = np.full(picked.size, -1, dtype=np.int64), np.full(n_slots, -1, dtype=np.int64)
        block = values, within, slots, taken, owner, state.get("cosines", _NO_COSINES)
        bad = self._block_pass(state, block, labels, weight, (budget, self.n_neighbors), average, predictions)
        chosen = np.flatnonzero(taken >= 0)
        state["squares"][taken[chosen]] = squares[chosen]
        return int(bad), vectors, block

    def _remember(self, state: State, block: Block) -> None:
        if "cosines" in state:
            remember(block, state["influence"], int(state["size"][0]), state["cosines"])

    @reader
    def to_plain(self) -> dict[str, Any]:
        """As for every estimator, without the cosines, which follow from the vectors."""
        plain = super().to_plain()
        state = plain["state"]
        state.pop("cosines", None)
        for name in ("support_data", "support_indices"):
            if name in state:  # an interrupted round may have left entries behind those in use
                state[name] = state[name].copy()
                state[name][int(state["support_used"][0]) :] = 0
        return plain

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """As for every estimator; files of earlier versions hold lengths of coefficients that are computed now."""
        if isinstance(plain["state"], dict):
            plain["state"].pop("strength", None)
        super().from_plain(plain)

    def _with_features(self, state: State, n_features: int) -> State:
        state = super()._with_features(state, n_features)
        if "support" in state:
            state["support"] = grown(state["support"], n_features, axis=0)
        return state

    def _check_state(self, state: Mapping[str, NDArray[Any]], n_features: int, n_classes: int) -> None:
        """As for every estimator, and slots must refer to support vectors that are there."""
        declared = {name: array for name, array in state.items() if name in self._layout.arrays}
        super()._check_state(declared, n_features, n_classes)
        size, capacity = int(state["size"][0]), len(state["born"])
        if not 0 <= size <= capacity:
            raise ValueError(f"{size} support vectors do not fit {capacity} slots")
        if state["row"].max(initial=-1) >= 0:
            raise ValueError("slots must not refer to rows outside fit")
        vectors = set(state) - set(declared)
        for store in (DenseSupport, SparseSupport):
            if vectors == set(store.start(0)):
                store.check(state, size, n_features)
                return
        if vectors or size:
            raise ValueError(f"unexpected arrays {sorted(vectors)} for {size} support vectors")

    # -- kernel values ---------------------------------------------------------------------------------------------

    def _store(self, state: State) -> type[DenseSupport] | type[SparseSupport]:
        return DenseSupport if "support" in state else SparseSupport

    def _settled_gamma(self) -> float:
        if self.gamma is not None:
            return float(self.gamma)
        return 1.0 / max(1, self.n_features_in_) if self.kernel == "rbf" else 1.0

    def _kernel_values(self, state: State, block: Any, size: int, squares: Floats) -> Floats:
        """Kernel (B, size) of the block's rows with the support vectors."""
        store = self._store(state)
        if callable(self.kernel):
            vectors = store.vectors(state, size, self.n_features_in_)
            return self._kernel_of(state, block, vectors, None, squares, squares)
        products = store.products(state, block, size)
        return self._kernel_of(state, block, None, products, squares, state["squares"][:size])

    def _kernel_of(
        self, state: State, left: Any, right: Any, products: Floats | None, left_squares: Floats, right_squares: Floats
    ) -> Floats:
        if callable(self.kernel):
            left, right = (_as_matrix(vectors, self.n_features_in_) for vectors in (left, right))
            shape = left.shape[0], right.shape[0]
            if 0 in shape:
                return np.zeros(shape)
            values: Floats = np.ascontiguousarray(self.kernel(left, right), dtype=np.float64)
            if values.shape != shape:
                raise ValueError(f"the kernel must return an array of shape {shape}. Got shape {values.shape} instead.")
            return values
        assert products is not None
        gamma = float(state["gamma"][0])
        with np.errstate(over="ignore", invalid="ignore"):  # scores that are not finite are refused later
            if self.kernel == "rbf":
                products *= 2.0 * gamma
                products -= gamma * left_squares[:, None]
                products -= gamma * right_squares
                return np.exp(np.minimum(products, 0.0, out=products), out=products)
            if self.kernel in ("polynomial", "poly"):
                base = products * gamma + self.coef0
                power: Floats = base.copy()
                for _ in range(self.degree - 1):
                    power *= base
                return power
        return products

    def _kernel_blocks(self, rows: Rows, state: State | None = None) -> Iterator[tuple[int, Floats]]:
        """Kernel values of all rows with the support vectors, some rows at a time, with the first row's number."""
        state = self._state if state is None else state
        size = int(state["size"][0])
        store = self._store(state)
        for start in range(0, length(rows), _BLOCK_ROWS):
            picked = np.arange(start, min(start + _BLOCK_ROWS, length(rows)))
            block = store.block(rows, picked, self.n_features_in_)
            bad = first_non_finite(block)
            if bad >= 0:
                self._refuse_row(rows, start + bad)
            squares = np.diagonal(store.products_within(block)).copy() if self.kernel == "rbf" else np.empty(0)
            yield start, np.ascontiguousarray(self._kernel_values(state, block, size, squares))

    def _filled(self, out: NDArray[Any], kernel: Callable[..., int], rows: Rows, *arguments: Any) -> NDArray[Any]:
        """As for every estimator, but the kernel reads kernel values instead of rows."""
        for start, values in self._kernel_blocks(rows):
            bad = kernel(values, *arguments, out[start:])
            if bad >= 0:
                self._refuse_row(rows, start + bad)
        return out

    # -- the model ------------------------------------------------------------------------------------------------

    @property
    def support_vectors_(self) -> Any:
        """Examples with an update, as rows."""
        check_is_fitted(self)
        state = self._state
        return self._store(state).vectors(state, int(state["size"][0]), self.n_features_in_)

    @property
    def dual_coef_(self) -> Floats:
        """Coefficients of the support vectors; averaged over the rounds if ``average``."""
        averaged = self._averaged("dual")
        return averaged[: int(self._state["size"][0])]


def _as_matrix(block: Any, n_features: int) -> Any:
    """Array or sparse matrix of a block, for the user's kernel function."""
    if isinstance(block, tuple):
        return sparse.csr_matrix(block, shape=(block[2].size - 1, n_features))
    return block
