"""Rows that the solvers do not see: a design and sums over rows for any risk, by tasks on the blocks that hold them.

The solvers of :mod:`rankwise.solvers` see rows only through sums over them: the risk, its derivatives by weights and
offsets, its second derivatives, and what a dual point adds up to. So they run on the client as they are, and every sum
becomes one round of tasks (:mod:`rankwise.dask._blocks`). Scores never leave the workers: the client knows them by the
weights that make them, and a task computes them again, which costs less than to keep and read them. Derivatives by the
scores are known by what they add up to with the features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise.dask._blocks import Blocks, RowBlock
from rankwise.solvers.row_sums import Sums

Floats = NDArray[np.float64]


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

    def part(self, step: int) -> int:
        """A part is known by its step."""
        return step

    def take(self, step: int) -> RemoteDesign:
        """The rows of a part."""
        return RemoteDesign(self.blocks.part(step), n_features=self.n_features)

    def without_columns(self) -> RemoteDesign:
        """The same rows with no features."""
        return RemoteDesign(self.blocks, n_features=0)


class RemoteRows:
    """The :class:`rankwise.solvers.row_sums.RowSums` of rows in blocks: one round of tasks for every sum.

    The blocks have ``weight``, ``sum`` and ``part`` as :class:`rankwise.dask._blocks.Blocks` has.
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
        """Derivatives by the scores, known by those by weights, and means."""
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
