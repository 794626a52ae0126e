"""Blocks of rows that several threads pass, with sums in a fixed order."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import joblib
import numpy as np

BLOCK = 1 << 14  # rows that one thread takes at a time


def n_threads(n_jobs: int | None) -> int:
    """Threads to use: all cores that the process may use for None, counted from the last for a negative number.

    ``OMP_NUM_THREADS`` bounds it, which joblib sets in its workers: searches in parallel do not fight for the cores.
    """
    cores = joblib.cpu_count()
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    if allowed.isdigit() and int(allowed) > 0:
        cores = min(cores, int(allowed))
    if n_jobs is None:
        return int(cores)
    return int(max(1, cores + 1 + n_jobs if n_jobs < 0 else n_jobs))


class RowBlocks:
    """Blocks of a fixed length, so that sums over rows do not depend on the number of threads.

    Parameters
    ----------
    n_rows, n_threads : int
        How many.
    """

    def __init__(self, n_rows: int, n_threads: int) -> None:
        edges = np.append(np.arange(0, n_rows, BLOCK), n_rows).tolist()
        self.blocks = [slice(a, b) for a, b in pairwise(edges)]
        self.n_threads = min(n_threads, len(self.blocks))
        self._pool: ThreadPoolExecutor | None = None

    def each(self, work: Callable[[slice], Any]) -> list[Any]:
        """What the work gives for every block, in their order."""
        if self.n_threads <= 1:
            return list(map(work, self.blocks))
        self._pool = self._pool or ThreadPoolExecutor(self.n_threads)
        return list(self._pool.map(work, self.blocks))

    def sums(self, work: Callable[[slice], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Sums over the blocks of every value that the work gives."""
        return tuple(sum(values[1:], start=values[0]) for values in zip(*self.each(work), strict=True))

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
