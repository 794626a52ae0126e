"""Blocks of encoded rows in the memory of the workers, sums over all of them, and what the solvers see of them.

A sum is one task for each block and a tree of additions in the order of the blocks, so that the result does not depend
on which worker was faster, and the client receives one sum however many blocks there are. The tasks are pure functions
of blocks and arguments: when a worker is lost, Dask computes its blocks and its sums again and nothing changes.

Within a block the sum runs over some thousand rows at a time, which stay in the cache between the product with the
weights and that with the derivatives.

The solvers of :mod:`rankwise.solvers` see rows only through sums over them: the risk, its derivatives by weights and
offsets, its second derivatives, and what a dual point adds up to. So they run on the client as they are, and every sum
becomes one round of tasks. Scores never leave the workers: the client knows them by the
weights that make them, and a task computes them again, which costs less than to keep and read them. Derivatives by the
scores are known by what they add up to with the features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from dask.delayed import Delayed, delayed
from scipy import sparse

from rankwise._types import Floats
from rankwise.base.row_data import kernel_rows
from rankwise.dask.parts import TaskEngine
from rankwise.solvers.design import Design, sampled_rows
from rankwise.solvers.row_sums import RowsHere
from rankwise.solvers.row_sums import Sums as Sums  # for those who add them

_FAN_IN = 16  # sums that one task adds up
_BYTES_IN_CACHE = 1 << 21  # of rows that are worked on at a time


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Rows of one partition: features, and what a risk knows of the rows; weight zero where a label is missing."""

    design: Design
    rows: RowsHere

    def __sizeof__(self) -> int:  # Dask decides by it what to spill and what to move
        return self.design.nbytes + self.rows.nbytes

    def portions(self) -> Iterator[RowBlock]:
        """The rows in portions that fit into the cache."""
        n, row = self.design.n_rows, 8 * max(1, self.design.n_stored // max(1, self.design.n_rows))
        size = max(256, _BYTES_IN_CACHE // row)
        for first in range(0, n, size):
            last = min(first + size, n)
            yield RowBlock(self.design.between(first, last), self.rows.at(slice(first, last)))

    def part(self, step: int, first: int) -> RowBlock:
        """The rows of a random part, of a block whose first row has the number ``first``."""
        index = sampled_rows(step, first, self.design.n_rows)
        return RowBlock(self.design.take(index), self.rows.at(index))

    def size(self) -> tuple[int, int, float]:
        """Rows, stored entries, and the sum of the weights."""
        return self.design.n_rows, self.design.n_stored, float(self.rows.weight.sum())


def added(first: Sums, *others: Sums) -> Sums:
    """Sum of sums, in their order; one of them may be a tuple of sums again."""
    total = first
    for other in others:
        total = tuple(added(a, b) if isinstance(a, tuple) else a + b for a, b in zip(total, other, strict=True))
    return total


def tree_sum(tasks: list[Delayed], together: Callable[..., Any] = added) -> Delayed:
    """Delayed sum of the results of tasks, by a tree that depends on their number alone."""
    add = delayed(together, pure=False)
    while len(tasks) > 1:
        tasks = [add(*tasks[i : i + _FAN_IN]) for i in range(0, len(tasks), _FAN_IN)]
    return tasks[0]


def _sum_over_portions(block: RowBlock, call: tuple[Callable[..., Sums], tuple[Any, ...]]) -> Sums:
    return added(*(call[0](portion, *call[1]) for portion in block.portions()))


class Blocks:
    """All rows, in blocks that the workers of an engine keep."""

    def __init__(self, tasks: list[Delayed], n_features: int, engine: TaskEngine) -> None:
        self.engine = engine
        sizes = engine.computed([task.size() for task in tasks])
        self.tasks = [task for task, size in zip(tasks, sizes, strict=True) if size[0]]
        self.lengths = [size[0] for size in sizes if size[0]]
        self.n_features = n_features
        self.n_rows = sum(self.lengths)
        self.n_stored = sum(size[1] for size in sizes)
        self.weight = sum(size[2] for size in sizes)
        self._parts: dict[int, Blocks] = {}

    def sum(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Sum over all rows of ``function(block, *arguments)``, for portions of blocks."""
        shared = delayed((function, arguments), traverse=False)  # sent once, not once for every block
        task = delayed(_sum_over_portions, pure=False)
        total: Sums = self.engine.computed([tree_sum([task(block, shared) for block in self.tasks])])[0]
        return total

    def part(self, step: int) -> Blocks:
        """A random part of the rows, kept by the workers too; the same for the same step."""
        if step not in self._parts:
            firsts = np.concatenate([[0], np.cumsum(self.lengths)]).tolist()
            tasks = [block.part(step, first) for block, first in zip(self.tasks, firsts, strict=False)]
            self._parts[step] = Blocks(self.engine.kept(tasks), self.n_features, self.engine)
        return self._parts[step]

    @cached_property
    def whole(self) -> RowBlock:
        """All rows in one block, brought to the client."""
        blocks = self.engine.computed(self.tasks)
        if blocks[0].design.is_sparse:
            rows = kernel_rows(sparse.vstack([block.design.matrix() for block in blocks], format="csr"))
        else:
            rows = np.concatenate([block.design.rows for block in blocks])
        kept = [block.rows for block in blocks]
        joined = {field.name: np.concatenate([getattr(rows, field.name) for rows in kept]) for field in fields(kept[0])}
        return RowBlock(Design(rows, self.n_features), type(kept[0])(**joined))


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores X W' of rows elsewhere, known by the weights W (Z, d); linear in them."""

    __array_ufunc__: ClassVar[None] = None  # a NumPy number times this is left to this

    weights: Floats

    def __add__(self, other: Scores) -> Scores:
        return Scores(self.weights + other.weights)

    def __sub__(self, other: Scores) -> Scores:
        return Scores(self.weights - other.weights)

    def __rmul__(self, factor: float) -> Scores:
        return Scores(factor * self.weights)


@dataclass(frozen=True, eq=False)
class Pulled:
    """Derivatives R by the scores of rows elsewhere, known by R' X (Z, d)."""

    by_weight: Floats


class RemoteDesign:
    """A :class:`rankwise.solvers.design.LinearMap` of rows in blocks."""

    def __init__(self, blocks: Blocks, *, n_features: int) -> None:
        self.blocks, self.n_features = blocks, n_features
        self.n_rows, self.per_row = blocks.n_rows, blocks.n_stored / max(blocks.n_rows, 1)

    def times(self, W: Floats) -> Scores:
        """Scores of the weight vectors W (Z, d)."""
        return Scores(W)

    def pull(self, R: Pulled) -> Floats:
        """Return the transposed product (Z, d)."""
        return R.by_weight if self.n_features else R.by_weight[:, :0]

    def inner(self, R: Pulled, S: Scores) -> float:
        """<R, X W'> = <R' X, W>; zero where there are no features."""
        return float(np.sum(self.pull(R) * S.weights)) if S.weights.size else 0.0

    def sample(self, step: int) -> int:
        """A sample is known by its step."""
        return step

    def take(self, step: int) -> RemoteDesign:
        """The rows of a sample."""
        return RemoteDesign(self.blocks.part(step), n_features=self.n_features)

    def without_columns(self) -> RemoteDesign:
        """The same rows with no features."""
        return RemoteDesign(self.blocks, n_features=0)


class RemoteRows:
    """The :class:`rankwise.solvers.row_sums.RowSums` of rows in blocks: one round of tasks for every sum.

    The blocks have ``weight``, ``sum`` and ``part`` as :class:`Blocks` has.
    """

    def __init__(self, blocks: Any) -> None:
        self.blocks = blocks

    def take(self, step: int) -> RemoteRows:
        """The rows of a part."""
        return RemoteRows(self.blocks.part(step))

    def count(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Sums that do not depend on weights."""
        sums: Sums = self.blocks.sum(_summed, function, _sent(arguments))
        return sums

    def mean(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Sums that are proportional to the weights, divided by those of all rows, where they have any."""
        return self._divided(self.count(function, *arguments))

    def slopes(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Derivatives by the scores, in the form of derivatives by weights, and means."""
        pulled, *means = self._divided(self.blocks.sum(_pulled, function, _sent(arguments)))
        return Pulled(pulled), *means

    def _divided(self, sums: Sums) -> Sums:
        return tuple(value / (self.blocks.weight or 1.0) for value in sums)


@dataclass(frozen=True)
class _Columns:
    """Place of a block's own design among the arguments, with its columns or without."""

    kept: bool


def _sent(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments as the tasks get them: the design, which holds all blocks, stays with the client."""
    return tuple(_Columns(a.n_features > 0) if isinstance(a, RemoteDesign) else a for a in arguments)


def _received(block: RowBlock, argument: Any) -> Any:
    if isinstance(argument, Scores):
        return block.design.times(argument.weights)
    if isinstance(argument, _Columns):
        return block.design if argument.kept else block.design.without_columns()
    return argument


def _summed(block: RowBlock, function: Callable[..., Sums], arguments: tuple[Any, ...]) -> Sums:
    return function(block.rows, *(_received(block, argument) for argument in arguments))


def _pulled(block: RowBlock, function: Callable[..., Sums], arguments: tuple[Any, ...]) -> Sums:
    r, *sums = _summed(block, function, arguments)
    return block.design.pull(r), *sums
