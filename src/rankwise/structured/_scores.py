"""Parameters of a structured perceptron: a vector or, in the kernel form, signed counts of atoms."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Self

import numpy as np
from scipy import sparse

from rankwise._types import Floats
from rankwise.base.state import grown
from rankwise.structured.structured_model import Atom, Score, StructuredModel


class Weights:
    """The primal form: w, and a lagging sum for its average over the rounds."""

    def __init__(self, start: Floats, lag: Floats | None = None) -> None:
        self.w, self.lag = start, np.zeros_like(start) if lag is None else lag

    def copy(self) -> Self:
        return type(self)(self.w.copy(), self.lag.copy())

    def score(self, model: StructuredModel, x: Any, rate: float) -> _PrimalScore:
        """Score under ``w - rate * lag``."""
        return _PrimalScore(model, x, self.w - self.lag * rate if rate else self.w)

    def difference(self, model: StructuredModel, x: Any, y: Any, z: Any) -> Any:
        """Phi(x, y) - Phi(x, z)."""
        return _features(model, x, y, self.w.size) - _features(model, x, z, self.w.size)

    @staticmethod
    def square(difference: Any) -> float:
        """Squared norm."""
        return float(difference.power(2).sum() if sparse.issparse(difference) else difference @ difference)

    def move(self, difference: Any, a: float, rounds: int) -> None:
        """Add ``a`` times a difference of features."""
        places: Any = slice(None)
        if sparse.issparse(difference):
            places, difference = difference.indices, difference.data
        self.w[places] += a * difference
        self.lag[places] += (a * rounds) * difference

    def project(self, model: StructuredModel, rounds: int) -> None:
        """Project the parameters on the feasible ones."""
        allowed = model.project(self.w)
        if allowed is not self.w:
            self.lag += (allowed - self.w) * rounds
            self.w = allowed


class _PrimalScore(Score):
    weights: Floats

    def __init__(self, model: StructuredModel, x: Any, weights: Floats) -> None:
        self._model, self._x, self.weights = model, x, weights

    def __call__(self, y: Any) -> float:
        product = _features(self._model, self._x, y, self.weights.size) @ self.weights
        return float(product[0] if product.ndim else product)

    def atom(self, block: Hashable, part: Floats | None) -> float:
        raise TypeError("score.atom is for the kernel form: without a kernel, use score.weights.")


def _features(model: StructuredModel, x: Any, y: Any, size: int) -> Any:
    features = model.features(x, y)
    is_sparse = sparse.issparse(features)
    features = sparse.csr_array(features) if is_sparse else np.asarray(features, dtype=np.float64)
    if features.shape != ((1, size) if is_sparse else (size,)):
        raise ValueError(
            f"{type(model).__name__}.features(x, {y!r}) must be as long as the parameters, {size}. "
            f"Got shape {features.shape} instead."
        )
    return features


class Counts:
    """The dual form (Figure 5): a signed count of every stored part in every block.

    The score of an atom (block, part) is the sum over stored parts of ``count[block, stored] * kernel(stored, part)``.
    Every length of parts has its own pool, since the kernel compares equal lengths; that of length 0 holds the bias.
    """

    def __init__(self, kernel: Callable[[Floats, Floats], Floats]) -> None:
        self.kernel = kernel
        self.pools: dict[int, Pool] = {}

    def copy(self) -> Self:
        twin = type(self)(self.kernel)
        twin.pools = {size: pool.copy() for size, pool in self.pools.items()}
        return twin

    def score(self, model: StructuredModel, x: Any, rate: float) -> _DualScore:
        """Score under ``counts - rate * lag``."""
        return _DualScore(self, model, x, rate)

    @staticmethod
    def difference(model: StructuredModel, x: Any, y: Any, z: Any) -> list[Atom]:
        """Atoms of Phi(x, y) - Phi(x, z), each only once and with a count that is not zero."""
        total: dict[tuple[Hashable, bytes], Atom] = {}
        for sign, output in ((1.0, y), (-1.0, z)):
            for block, part, count in model.atoms(x, output):
                array = _array_of(part)
                key = block, array.tobytes()
                before = total[key].times if key in total else 0.0
                total[key] = Atom(block, array, before + sign * count)
        return [atom for atom in total.values() if atom.times != 0.0]

    def square(self, difference: Iterable[Atom]) -> float:
        """Squared norm of a difference: a sum of kernels over all pairs of atoms that share a block."""
        together: dict[tuple[Hashable, int], list[Atom]] = {}
        for atom in difference:
            together.setdefault((atom.block, _array_of(atom.part).size), []).append(atom)
        total = 0.0
        for atoms in together.values():
            parts, counts = np.stack([_array_of(a.part) for a in atoms]), np.array([a.times for a in atoms])
            total += float(counts @ self.values(parts, parts) @ counts)
        return total

    def move(self, difference: Iterable[Atom], a: float, rounds: int) -> None:
        """Add ``a`` times a difference of features."""
        for block, part, count in difference:
            array = _array_of(part)
            self.pools.setdefault(array.size, Pool(array.size)).add(block, array, a * count, (a * rounds) * count)

    def values(self, left: Floats, right: Floats) -> Floats:
        """Kernel of every pair of rows; 1 for the bias."""
        if left.shape[1] == 0:
            return np.ones((left.shape[0], right.shape[0]))
        return np.asarray(self.kernel(left, right), dtype=np.float64)


class Pool:
    """Stored parts of one length, and the count of each in every block."""

    def __init__(self, size: int) -> None:
        self._parts = np.zeros((4, size))
        self._counts, self._lag = np.zeros((4, 4)), np.zeros((4, 4))
        self._blocks: dict[Hashable, int] = {}
        self._slots: dict[bytes, int] = {}

    def copy(self) -> Self:
        twin = type(self)(self._parts.shape[1])
        twin.__dict__.update({name: value.copy() for name, value in self.__dict__.items()})
        return twin

    @property
    def parts(self) -> Floats:
        """Stored parts, in order of appearance."""
        return self._parts[: len(self._slots)]

    def counts(self, rate: float) -> dict[Hashable, Floats]:
        """Count of every part in each block, averaged by ``rate``."""
        counts = (self._counts - self._lag * rate if rate else self._counts)[:, : len(self._slots)]
        return {block: counts[row] for block, row in self._blocks.items()}

    def add(self, block: Hashable, part: Floats, count: float, late: float) -> None:
        """Add to the count of a part in a block, and to its lag."""
        row = self._blocks.setdefault(block, len(self._blocks))
        slot = self._slots.setdefault(part.tobytes(), len(self._slots))
        wide = (grown(array, slot + 1, axis=1) for array in (self._counts, self._lag))
        self._counts, self._lag = (grown(array, row + 1, axis=0) for array in wide)
        self._parts = grown(self._parts, slot + 1, axis=0)
        self._parts[slot] = part
        self._counts[row, slot] += count
        self._lag[row, slot] += late


class _DualScore(Score):
    def __init__(self, store: Counts, model: StructuredModel, x: Any, rate: float) -> None:
        self._store, self._model, self._x = store, model, x
        self._counts = {size: pool.counts(rate) for size, pool in store.pools.items()}
        self._seen: dict[bytes, Floats] = {}

    def __call__(self, y: Any) -> float:
        return sum((count * self.atom(block, part) for block, part, count in self._model.atoms(self._x, y)), 0.0)

    def atom(self, block: Hashable, part: Floats | None) -> float:
        array = _array_of(part)
        counts = self._counts.get(array.size, {}).get(block)
        if counts is None:
            return 0.0
        name = array.tobytes()
        if name not in self._seen:  # one row of kernel values for all blocks and outputs of this input
            self._seen[name] = self._store.values(self._store.pools[array.size].parts, array[None])[:, 0]
        return float(counts @ self._seen[name])


def _array_of(part: Floats | None) -> Floats:
    return np.empty(0) if part is None else np.ascontiguousarray(part, dtype=np.float64)
