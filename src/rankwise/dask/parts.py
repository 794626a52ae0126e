"""Partitioned data of any kind as lists of delayed blocks, and results of tasks, whose errors name the partition.

X may be a Dask array, a Dask dataframe, or a list of delayed blocks, such as CSR matrices that functions of the user
load. Labels and weights come in the same partitions; for a Dask array they are rechunked, or cut up if in memory.
"""

import asyncio
import concurrent.futures
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import dask
import dask.array
import numpy as np
from dask.delayed import Delayed

from rankwise._errors import RowError
from rankwise._sklearn import take_rows

_watchers: list[Callable[[], None]] = []


def is_partitioned(data: Any) -> bool:
    """Whether data is a Dask collection, or a list of delayed blocks."""
    return bool(dask.is_dask_collection(data)) or _is_list_of_delayed(data)


def _is_list_of_delayed(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(block, Delayed) for block in data)


def aligned_blocks(X: Any, *others: Any) -> list[tuple[Any, ...]]:
    """Blocks of X and of the others (labels, weights, or None), together for each partition."""
    if isinstance(X, dask.array.Array) and X.ndim != 2:
        raise ValueError(f"X must be a Dask array of two dimensions. Got shape {X.shape} instead.")
    columns = [_blocks(X)]
    for other, name in zip(others, ("y", "sample_weight"), strict=False):
        columns.append(_blocks_like(X, len(columns[0]), other, name))
    return list(zip(*columns, strict=True))


def _blocks(data: Any) -> list[Any]:
    if _is_list_of_delayed(data):
        return list(data)
    if isinstance(data, dask.array.Array):
        whole_rows = data.rechunk({1: -1}) if data.ndim == 2 and data.numblocks[1] > 1 else data
        return whole_rows.to_delayed().ravel().tolist()  # type: ignore[no-any-return]
    # Unused columns are not read. Without graph optimisation: it would join partitions if there are few columns.
    return list(data.simplify().to_delayed(optimize_graph=False))


def _blocks_like(X: Any, n_blocks: int, data: Any, name: str) -> list[Any]:
    if data is None:
        return [None] * n_blocks
    lengths = X.chunks[0] if isinstance(X, dask.array.Array) else (np.nan,)
    known = not np.isnan(lengths).any()
    if not is_partitioned(data):
        if not known:
            raise TypeError(
                f"{name} must be a Dask collection or a list of delayed blocks, in the same partitions as X, whose "
                f"lengths are not known here. Got a {type(data).__name__} instead."
            )
        n = data.shape[0] if hasattr(data, "shape") else len(data)
        if n != sum(lengths):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {sum(lengths)} rows, {name} has "
                f"{n}."
            )
        ends = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        return [take_rows(data, slice(first, last)) for first, last in pairwise(ends)]
    if isinstance(data, dask.array.Array) and known and not np.isnan(data.shape[0]) and data.shape[0] == sum(lengths):
        data = data.rechunk({0: lengths})
    blocks = _blocks(data)
    if len(blocks) != n_blocks:
        raise ValueError(f"X has {n_blocks} partitions but {name} has {len(blocks)}: they must be the same.")
    return blocks


class PartitionError(ValueError):
    """An error in the data of a partition: its number, and the complaint, which counts rows within the partition."""

    def __init__(self, partition: int, complaint: str) -> None:
        super().__init__(f"partition {partition}: {complaint}")
        self.partition, self.complaint = partition, complaint

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.partition, self.complaint)


class PartitionRowError(RowError, PartitionError):
    """An error in a row of a partition."""

    def __init__(self, partition: int, error: RowError) -> None:
        PartitionError.__init__(self, partition, str(error))
        self.reason, self.row, self.column = error.reason, error.row, error.column


@contextmanager
def naming_partition(number: int) -> Iterator[None]:
    """Errors about data begin with the number of the partition; the row in them is counted within it."""
    try:
        yield
    except RowError as error:
        raise PartitionRowError(number, error) from None
    except TypeError as error:
        raise TypeError(f"partition {number}: {error}") from None
    except ValueError as error:
        raise PartitionError(number, str(error)) from None


class TaskEngine:
    """Where the tasks of one call run: on the client that is current when it begins, or in threads of this process.

    A call stays with its client. If that is lost, another one, or this process, would not have its rows.
    """

    def __init__(self) -> None:
        self.client = _current_client()

    @property
    def n_threads(self) -> int:
        """Threads of the cluster, or of this process."""
        if self.client is None:
            return int(dask.config.get("num_workers", None) or os.cpu_count() or 1)
        with self.clear_errors():
            return max(1, int(sum(self.client.nthreads().values())))

    def computed(self, tasks: Sequence[Any]) -> list[Any]:
        """Results of delayed tasks."""
        with self.clear_errors():
            if self.client is None:
                results = dask.compute(*tasks, optimize_graph=False)
            else:
                results = self.client.gather(self.client.compute(list(tasks), optimize_graph=False))
        for watcher in _watchers:
            watcher()
        return list(results)

    def kept(self, tasks: Sequence[Any]) -> list[Any]:
        """Delayed tasks whose results stay where they are computed, in the memory of the workers."""
        with self.clear_errors():
            if self.client is None:
                return list(dask.persist(*tasks, optimize_graph=False))
            return list(self.client.persist(list(tasks), optimize_graph=False))

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Raise one clear error when the scheduler is lost."""
        try:
            if self.client is not None and self.client.status != "running":
                raise ConnectionError(f"the client is {self.client.status}")
            yield
        except BaseException as error:
            alive = self.client is None or (self.client.status == "running" and not isinstance(error, _LOST))
            if alive or isinstance(error, KeyboardInterrupt):
                raise
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise ConnectionError(
                f"the Dask scheduler at {self.client.scheduler.address} cannot be reached any more ({why}). Nothing "
                f"was learnt, and the estimator is as it was: connect a new dask.distributed.Client and call the "
                f"method again."
            ) from error


_LOST = (concurrent.futures.CancelledError, asyncio.CancelledError, ConnectionError)


def _current_client() -> Any:
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].Client.current()
    except ValueError:
        return None


@contextmanager
def watched(watcher: Callable[[], None]) -> Iterator[None]:
    """Call a function after every round of tasks, to show that something happens."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)
