"""Kernel PRIL: the threshold perceptron with a score that need not be linear.

PRIL (:mod:`rankwise.perceptrons.pril`) only ever adds multiples of examples to w, so with a kernel k its score is

    f(x) = sum_s a_s k(x_s, x),   a_s = c * (sum of the tau of round s)

over the rounds s with an update (Manwani, Algorithm 2); thresholds move as before. Kernels: linear ``<x, z>``,
polynomial ``(gamma <x, z> + coef0)^degree``, RBF ``exp(-gamma |x - z|^2)``, or a function of two matrices.

Rows are taken in blocks: the kernel values of a block with all support vectors, and within the block, are computed
together, and then the rounds of the block run in order. The sums are ordered such that the size of the blocks does not
show in the result.

``budget`` bounds the number of support vectors. When it is full, a new one takes the place of the one with the smallest
influence ``|a_s| sqrt(k(x_s, x_s))``, the change in f (as a function, in the kernel's own norm) that its removal makes;
of equals the oldest goes. An example that is a support vector already (in a later epoch) adds to its coefficient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rankwise._kernels.compile import SOURCES, kernel
from rankwise._kernels.rows import dot, dot_lagged
from rankwise._sklearn import Interval, StrOptions
from rankwise.models.thresholds import rank_lagged
from rankwise.perceptrons._rows import Rows, length
from rankwise.perceptrons._state import ROUNDS, UPDATES, VIOLATIONS, State, counts_of_nothing
from rankwise.perceptrons._support import DenseSupport, SparseSupport
from rankwise.perceptrons._thresholds import (
    ThresholdEstimator,
    move_violated,
    scores_of_rows,
    with_sentinels,
)

Floats = NDArray[np.float64]

BLOCK = 128


def _make_block_pass():
    sources = SOURCES

    @kernel
    def learn_block(values, within, labels, slots, vectors, thresholds, counts, budget, average, predictions, taken):
        """Run the rounds of a block.

        ``values[b, s]`` is the kernel of row b with the vector in slot s, ``within[b, e]`` with row e of the block;
        ``slots[b]`` is the slot that row b holds already, or -1. Fills ``taken[b]``, the slot that row b took, or -1.
        Columns of ``values`` behind the last slot are zero and have zero coefficients.
        """
        _ = sources
        lower, upper, weight = labels
        dual, dual_lag, influence, born, size = vectors
        final_t, t_lag = thresholds
        ends = with_sentinels(final_t)
        t = ends[1:-1]
        for b in range(within.shape[0]):
            rounds = float(counts[ROUNDS])
            f = dot(values, b, dual)
            if not np.isfinite(f):
                return b
            if predictions.size:
                rate = 1.0 / rounds if average and rounds else 0.0
                score = dot_lagged(values, b, dual, dual_lag, rate) if rate else f
                predictions[b] = rank_lagged(score, t, t_lag, rate)
            c = weight[b] if weight.size else 1.0
            lo, hi = lower[b], upper[b]
            if c == 0.0 or (lo == 0 and hi == t.size):
                continue
            if f <= ends[lo] or f >= ends[hi + 1]:
                a, violated = move_violated(f, lo, hi, c, ends, ends, t_lag, rounds)
                counts[UPDATES] += 1
                counts[VIOLATIONS] += violated
                slot = slots[b]
                if slot < 0 and a != 0.0:
                    if size[0] < budget:
                        slot = size[0]
                        size[0] += 1
                    else:
                        slot = 0
                        for s in range(1, size[0]):
                            less = abs(dual[s]) * influence[s] - abs(dual[slot]) * influence[slot]
                            if less < 0.0 or (less == 0.0 and born[s] < born[slot]):
                                slot = s
                        for e in range(within.shape[0]):  # the row that held the slot holds it no more
                            if slots[e] == slot:
                                slots[e] = -1
                            if taken[e] == slot:
                                taken[e] = -1
                    taken[b] = slot
                    dual[slot] = 0.0
                    dual_lag[slot] = 0.0
                    influence[slot] = np.sqrt(within[b, b])
                    born[slot] = counts[UPDATES]
                    for later in range(b + 1, within.shape[0]):
                        values[later, slot] = within[later, b]
                if slot >= 0:
                    dual[slot] += a
                    dual_lag[slot] += a * rounds
            counts[ROUNDS] += 1
        final_t[:] = t
        return -1

    return learn_block


_LEARN_BLOCK = _make_block_pass()


class KernelPRIL(ThresholdEstimator):
    """Threshold perceptron with a kernel, from exact, interval and missing labels, online, on a budget if wanted.

    Parameters
    ----------
    kernel : {"rbf", "polynomial", "poly", "linear"} or callable, default "rbf"
        A callable gets two matrices (n, d) and (m, d) and returns the (n, m) kernel values.
    degree : int, default 3
        Degree of the polynomial kernel.
    coef0 : float, default 1.0
        Constant of the polynomial kernel.
    gamma : float or None, default None
        Scale of the RBF and polynomial kernels. None: 1/d for RBF (d = number of features of the first rows seen),
        1 for polynomial.
    budget : int or None, default None
        Largest number of support vectors. When it is reached, the one with the smallest influence
        ``|a_s| sqrt(k(x_s, x_s))`` makes room, of equals the oldest.
    n_epochs : int, default 5
        Passes over the rows in ``fit``.
    shuffle, average, random_state, classes
        As in :class:`rankwise.PRIL`.

    Attributes
    ----------
    support_vectors_ : ndarray or CSR matrix of shape (s, d)
        Examples with an update.
    dual_coef_ : ndarray of shape (s,)
        Their coefficients.
    thresholds_ : ndarray of shape (K-1,)
        Thresholds between neighbouring classes, ascending.
    classes_, n_updates_, n_violations_, n_iter_
        As in :class:`rankwise.PRIL`.

    Notes
    -----
    A model that starts with sparse rows or dicts keeps its support vectors sparse, one that starts with dense rows
    dense; later rows may be either.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import KernelPRIL
    >>> from rankwise.datasets import make_pril_synthetic
    >>> X, y = make_pril_synthetic(2000, random_state=0)
    >>> model = KernelPRIL(kernel="polynomial", degree=2, random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > -0.4)
    True
    """

    feature_arrays = ("support",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ThresholdEstimator._parameter_constraints,
        "kernel": [StrOptions({"rbf", "polynomial", "poly", "linear"}), callable],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        gamma: float | None = None,
        budget: int | None = None,
        n_epochs: int = 5,
        shuffle: bool = True,
        average: bool = True,
        random_state: Any = None,
        classes: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.budget = budget
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.random_state = random_state
        self.classes = classes

    def _new_state(self, n_features: int, n_classes: int) -> State:
        return {
            "dual": np.zeros(8),
            "dual_lag": np.zeros(8),
            "squares": np.zeros(8),
            "influence": np.zeros(8),
            "born": np.zeros(8, dtype=np.int64),
            "row": np.full(8, -1, dtype=np.int64),  # row of the current fit that a slot holds
            "size": np.zeros(1, dtype=np.int64),
            "gamma": np.zeros(1),  # 0: not settled yet
            "t": np.zeros(n_classes - 1),
            "t_lag": np.zeros(n_classes - 1),
            "counts": counts_of_nothing(),
        }

    def _pass(
        self,
        state: State,
        rows: Rows,
        lower: NDArray[np.int32],
        upper: NDArray[np.int32],
        mask: NDArray[np.bool_],
        weight: Floats,
        order: NDArray[np.int64],
        predictions: NDArray[np.int32],
    ) -> int:
        if "support" not in state and "support_data" not in state:
            store = SparseSupport if isinstance(rows, tuple) else DenseSupport
            state.update(store.start(self.n_features_in_))
            state["gamma"][0] = self._settled_gamma(rows)
        # Slots know their rows within one fit only, where the same rows come again.
        slot_of = np.full(length(rows), -1, dtype=np.int64)
        if order.size:
            held = np.flatnonzero(state["row"] >= 0)
            slot_of[state["row"][held]] = held
        for start in range(0, length(rows), BLOCK):
            stop = min(start + BLOCK, length(rows))
            picked = order[start:stop] if order.size else np.arange(start, stop)
            bad = self._learn_block(state, rows, picked, lower, upper, weight, predictions, slot_of, bool(order.size))
            if bad >= 0:
                return int(picked[bad])
        return -1

    def _learn_block(
        self,
        state: State,
        rows: Rows,
        picked: NDArray[Any],
        lower: NDArray[np.int32],
        upper: NDArray[np.int32],
        weight: Floats,
        predictions: NDArray[np.int32],
        slot_of: NDArray[np.int64],
        remember_rows: bool,
    ) -> int:
        store = self._store(state)
        block = store.block(rows, picked, self.n_features_in_)
        bad = store.first_bad(block)
        if bad >= 0:
            return bad
        size = int(state["size"][0])
        budget = np.iinfo(np.int64).max if self.budget is None else int(self.budget)
        room = min(size + picked.size, budget)
        for name, empty in (("dual", 0), ("dual_lag", 0), ("squares", 0), ("influence", 0), ("born", 0), ("row", -1)):
            old = state[name]
            if old.size < room:
                state[name] = np.full(2 * room, empty, dtype=old.dtype)
                state[name][: old.size] = old
        within_products = store.products_within(block)
        squares = np.diagonal(within_products).copy()
        values = np.zeros((picked.size, room))
        values[:, :size] = self._kernel_values(state, block, size, squares)
        within = self._kernel_of(state, block, block, within_products, squares, squares)
        taken = np.full(picked.size, -1, dtype=np.int64)
        guesses = np.empty(picked.size if predictions.size else 0, dtype=np.int32)
        bad = _LEARN_BLOCK(
            values,
            within,
            (lower[picked], upper[picked], weight[picked] if weight.size else weight),
            slot_of[picked],
            tuple(state[name] for name in ("dual", "dual_lag", "influence", "born", "size")),
            (state["t"], state["t_lag"]),
            state["counts"],
            budget,
            self.average,
            guesses,
            taken,
        )
        if predictions.size:
            predictions[picked] = guesses
        if bad >= 0:
            return int(bad)
        store.store(state, block, taken)
        chosen = np.flatnonzero(taken >= 0)
        state["squares"][taken[chosen]] = squares[chosen]
        if remember_rows:
            former = state["row"][taken[chosen]]
            slot_of[former[former >= 0]] = -1
            state["row"][taken[chosen]] = picked[chosen]
            slot_of[picked[chosen]] = taken[chosen]
        return -1

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelPRIL:
        """Learn from scratch; as in :meth:`rankwise.PRIL.fit`."""
        super().fit(X, y, sample_weight)
        self._state["row"][:] = -1
        return self

    def _check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """As for every estimator; slots have spare capacity, and must refer to support vectors that are there."""
        slots = ("dual", "dual_lag", "squares", "influence", "born", "row")
        fresh, capacity = self._state, len(state["dual"])
        size = int(state["size"][0])
        for store in (DenseSupport, SparseSupport):
            if set(state) == {*fresh, *store.start(0)}:
                store.check(state, size, self.n_features_in_)
                break
        else:
            if set(state) != set(fresh):
                raise ValueError(f"unexpected arrays {sorted(state)}")
        super()._check_state({name: state[name][:8] if name in slots else state[name] for name in fresh})
        if not (0 <= size <= capacity and all(state[name].shape == (capacity,) for name in slots)):
            raise ValueError(f"{size} support vectors do not fit {capacity} slots")
        if state["row"].max(initial=-1) >= 0:
            raise ValueError("slots must not refer to rows outside fit")

    # -- kernel values ---------------------------------------------------------------------------------------------

    def _store(self, state: State) -> type[DenseSupport] | type[SparseSupport]:
        return DenseSupport if "support" in state else SparseSupport

    def _settled_gamma(self, rows: Rows) -> float:
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
            left, right = (_as_matrix(part, self.n_features_in_) for part in (left, right))
            shape = left.shape[0], right.shape[0]
            if 0 in shape:
                return np.zeros(shape)
            found: Floats = np.ascontiguousarray(self.kernel(left, right), dtype=np.float64)
            if found.shape != shape:
                raise ValueError(f"the kernel must return an array of shape {shape}. Got shape {found.shape} instead.")
            return found
        assert products is not None
        gamma = float(state["gamma"][0])
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite shows in the score, which is checked
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

    def _project(self, rows: Rows) -> Floats:
        state = self._state
        size = int(state["size"][0])
        out = np.zeros(length(rows))
        store = self._store(state)
        for start in range(0, length(rows), BLOCK):
            picked = np.arange(start, min(start + BLOCK, length(rows)))
            block = store.block(rows, picked, self.n_features_in_)
            bad = store.first_bad(block)
            if bad >= 0:
                self._refuse_row(rows, int(picked[bad]))
            squares = store.squares(block) if self.kernel == "rbf" else out[:0]
            values = np.ascontiguousarray(self._kernel_values(state, block, size, squares))
            bad = scores_of_rows(values, state["dual"], state["dual_lag"], self._averaging_rate, out[start:])
            if bad >= 0:
                self._refuse_row(rows, int(picked[bad]))
        return out


def _as_matrix(block: Any, n_features: int) -> Any:
    """Array or sparse matrix of a block, for a kernel function of the user's."""
    if isinstance(block, tuple):
        return sparse.csr_matrix(block, shape=(block[2].size - 1, n_features))
    return block
