"""Rows that several threads or machines process together, with sums in a fixed order."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from rankwise.risks.coded_rows import CodedRows
from rankwise.solvers.row_sums import Sums

BLOCK = 1 << 14  # rows that one thread takes at a time


class Team:
    """Machines that grow the same trees, each on its own rows; this base class is a team of one."""

    params: dict[str, Any]  # LightGBM's, for the team
    sample: Any = None  # rows of all machines, to find the bins of every column; None: the rows here

    def __init__(self) -> None:
        self.params = {}

    def total(self, sums: Sums) -> Sums:
        """Sums over the rows of all machines, from those over the rows here; every machine must call it."""
        return sums

    def largest(self, number: float) -> float:
        """The largest of the numbers that the machines give."""
        return float(max(self.total(([number],))[0]))

    def is_asked_to_stop(self) -> bool:
        """Whether the user wants no more rounds; the same on every machine."""
        return False

    def tell(self, *progress: Any) -> None:
        """Report the progress of the fit."""


ALONE = Team()


@dataclass(frozen=True, eq=False)
class TeamRows(CodedRows):
    """Rows of one machine, with sums over the rows of all machines."""

    team: Team = ALONE

    def at(self, index: Any) -> Self:
        """See :class:`rankwise.solvers.row_sums.RowsHere`, as for the other methods."""
        return replace(self, weight=self.weight[index], lower=self.lower[index], upper=self.upper[index])

    def normalised(self) -> Self:
        """Weights of all machines add up to 1."""
        (total,) = self.team.total((float(self.weight.sum()),))
        return replace(self, weight=self.weight / (total or 1.0))

    def count(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Sums over all machines."""
        return self.team.total(function(self, *arguments))

    mean = count

    def slopes(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Derivatives by score stay here, sums are over all machines."""
        by_score, *sums = function(self, *arguments)
        return by_score, *self.team.total(tuple(sums))


class RowBlocks:
    """Blocks of a fixed length, so that sums over rows do not depend on the number of threads."""

    def __init__(self, n_rows: int, n_threads: int, team: Team = ALONE) -> None:
        self.team = team
        edges = np.append(np.arange(0, n_rows, BLOCK), n_rows).tolist()
        self.blocks = [slice(a, b) for a, b in pairwise(edges)]
        self.n_threads = min(n_threads, len(self.blocks))
        self._pool: ThreadPoolExecutor | None = None

    def sums(self, work: Callable[[slice], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Sums of every value that ``work`` returns, over the blocks in their order and over the team."""
        if self.n_threads > 1:
            self._pool = self._pool or ThreadPoolExecutor(self.n_threads)
        by_block = map(work, self.blocks) if self._pool is None else self._pool.map(work, self.blocks)
        return self.team.total(tuple(sum(values[1:], start=values[0]) for values in zip(*by_block, strict=True)))

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
