"""The estimators on Dask, on clusters of one and two single-threaded worker processes, beside one plain process.

``python -m benchmarks.scaling svor --rows 20e6``, ``python -m benchmarks.scaling stream --rows 40e6`` and ``python -m
benchmarks.scaling trees --rows 2e5 --rows-per-partition 5e4``. The rows are written to Parquet files in ``--folder``
first, float32 with 20 features and ten classes, and left there for the next run. Each side is measured in a process of
its own, so that memory is its own too.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from dask.delayed import delayed
from distributed import Client, LocalCluster, wait

import rankwise
import rankwise.dask
from benchmarks._timing import Result, seconds
from rankwise.dask._blocks import Blocks
from rankwise.evaluation import format_table

D, K = 20, 10


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one partition: normal features, grades of a noisy linear score."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D), dtype=np.float32)
    w = np.random.default_rng(0).standard_normal(D).astype(np.float32) / np.sqrt(np.float32(D))
    score = X @ w + np.float32(0.5) * rng.standard_normal(n, dtype=np.float32)
    return X, np.digitize(score, np.linspace(-1.5, 1.5, K - 1)).astype(np.int8)


def write(folder: Path, n: int, n_partitions: int) -> Path:
    """Parquet files with all rows, made once."""
    place = folder / f"rows-{n}-{n_partitions}"
    place.mkdir(parents=True, exist_ok=True)
    for p in range(n_partitions):
        file = place / f"{p:05}.parquet"
        if not file.exists():
            X, y = rows(n // n_partitions, p + 1)
            table = pa.table({**{f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(D)}, "y": y})
            pq.write_table(table, file.with_suffix(".part"))
            file.with_suffix(".part").rename(file)
    return place


def read(place: Path) -> tuple[np.ndarray, np.ndarray]:
    """All rows in memory."""
    files = sorted(place.glob("*.parquet"))
    return tuple(np.concatenate([part(file, k) for file in files]) for k in range(2))


def part(file: Path, k: int) -> np.ndarray:
    """Features (k = 0) or labels (k = 1) of one file."""
    if k == 1:
        return pq.read_table(file, columns=["y"]).column("y").to_numpy()
    table = pq.read_table(file)
    return np.column_stack([table.column(f"x{j}").to_numpy() for j in range(D)])


@contextmanager
def cluster(n_workers: int, memory: str = "auto") -> Iterator[Client]:
    """Workers in processes of their own, one thread each."""
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, memory_limit=memory, dashboard_address=":0") as local,
        Client(local) as client,
    ):
        client.run(_warm_up)
        yield client


def _warm_up() -> None:
    X, y = rows(2000, 0)
    rankwise.SVOR(max_iter=50).fit(X, y)


class Rounds:
    """Rounds of a fit: how many, the bytes that the client sends and receives for them, and rows passed over."""

    def __init__(self, client: Client) -> None:
        self.sent, self.sizes, self.rows = 0, [], []
        comm, plain = client.scheduler_comm.comm, Blocks.sum
        write = comm.write

        async def counting(message: Any, *arguments: Any, **options: Any) -> Any:
            n = await write(message, *arguments, **options)
            self.sent += n
            return n

        def summing(blocks: Blocks, *arguments: Any) -> Any:
            result = plain(blocks, *arguments)
            self.sizes.append(len(pickle.dumps(result)))
            self.rows.append(blocks.n_rows)
            return result

        comm.write, Blocks.sum = counting, summing
        self._undo = lambda: (setattr(comm, "write", write), setattr(Blocks, "sum", plain))

    def stop(self) -> None:
        """Count no longer."""
        self._undo()

    @property
    def bytes_each(self) -> float:
        """Sent and received by the client, a round; what is sent includes the loading of the rows."""
        return (self.sent + sum(self.sizes)) / len(self.sizes)


def _worker_cpu(client: Client) -> float:
    return sum(client.run(time.process_time).values())


def svor(place: Path, repeats: int) -> Iterator[Result]:
    """SVOR in one plain process, and on one and two workers, from files and from memory."""
    start = time.perf_counter()
    X, y = read(place)
    reading = time.perf_counter() - start
    n = len(y)
    rankwise.SVOR().fit(X[:2000], y[:2000])
    plain, plain_cpu = np.inf, np.inf
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        model = rankwise.SVOR().fit(X, y)
        plain, plain_cpu = min(plain, time.perf_counter() - wall), min(plain_cpu, time.process_time() - cpu)
    del X, y
    found: dict[str, list[float]] = {}
    for n_workers in (1, 2):
        with cluster(n_workers) as client:
            frame = dd.read_parquet(place)
            features, labels = frame.drop(columns="y"), frame["y"]
            for _ in range(repeats):
                start = time.perf_counter()
                rankwise.dask.SVOR().fit(features, labels)
                found.setdefault(f"files {n_workers}", []).append(time.perf_counter() - start)
            files = sorted(place.glob("*.parquet"))
            tasks = [[delayed(part)(file, k) for file in files] for k in range(2)]
            held = [client.persist(column) for column in tasks]
            wait(held)
            for _ in range(repeats):
                rounds = Rounds(client)
                cpu, start = _worker_cpu(client), time.perf_counter()
                fitted = rankwise.dask.SVOR().fit(*held)
                found.setdefault(f"memory {n_workers}", []).append(time.perf_counter() - start)
                found.setdefault(f"cpu {n_workers}", []).append(_worker_cpu(client) - cpu)
                rounds.stop()
            del held
    best = {name: min(times) for name, times in found.items()}
    what = f"SVOR, {n:,} x {D} float32, K = {K}"
    for where, times in (("from Parquet", "files"), ("rows in the workers' memory", "memory")):
        yield Result.faster(f"{what}, {where}: two workers vs one", best[f"{times} 2"], best[f"{times} 1"], 1.6)
    yield Result.at_most(f"{what}: one worker, rows in memory, vs plain in memory", best["memory 1"], plain, 1.5)
    yield Result.at_most("  the same from Parquet, the plain one reading too", best["files 1"], plain + reading, 1.5)
    yield Result.at_most(
        "  the same in CPU seconds of the worker and of the plain process", best["cpu 1"], plain_cpu, 1.5
    )
    size = rounds.bytes_each
    yield Result("  client traffic a round, kB", f"{size / 1e3:.0f}", "1000", size / 1e6, "< 1 MB", size < 1e6)
    apart = abs(fitted.objective_ / model.objective_ - 1)
    yield Result("  objectives apart, relative", f"{apart:.1e}", "", apart, "<= 1e-6", apart <= 1e-6)
    passes = sum(rounds.rows) / n
    yield Result(
        f"  rounds, and how many passes over all rows they are: {passes:.1f}", str(len(rounds.rows)), "", 1.0, "", True
    )


def _peak(client: Client) -> float:
    """Most memory of a worker process so far, in bytes."""
    import resource

    return max(client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss).values()) * 1024.0


def stream(place: Path, repeats: int) -> Iterator[Result]:
    """PRIL over all partitions in turn: time, and the memory of the processes."""
    n = sum(pq.read_metadata(file).num_rows for file in place.glob("*.parquet"))
    options = {"n_epochs": 1, "shuffle": False, "classes": list(range(K))}
    for n_workers in (1, 2):
        with cluster(n_workers) as client:
            frame = dd.read_parquet(place)
            start = time.perf_counter()
            rankwise.dask.PRIL(**options).fit(frame.drop(columns="y"), frame["y"])
            taken, peak = time.perf_counter() - start, _peak(client)
            mine = float(psutil.Process().memory_info().rss)
        what = f"PRIL, {n:,} x {D} float32 in Parquet, partitions in turn, {n_workers} workers"
        yield Result(f"{what}: a row", seconds(taken / n), seconds(taken), 1.0, "", True)
        yield Result("  most memory of a worker, MB", f"{peak / 1e6:.0f}", "1000", peak / 1e9, "< 1 GB", peak < 1e9)
        yield Result("  memory of the client, MB", f"{mine / 1e6:.0f}", "1000", mine / 1e9, "< 1 GB", mine < 1e9)


def trees(place: Path, repeats: int) -> Iterator[Result]:
    """BoostedThresholds on one and two workers of one thread, beside one process with one and two threads."""
    X, y = read(place)
    options = {"max_iter": 100, "max_leaf_nodes": 31, "early_stopping": False, "random_state": 0}
    found: dict[str, list[float]] = {}

    def timed(name: str, model: Any, *data: Any) -> Any:
        start = time.perf_counter()
        model.fit(*data)
        found.setdefault(name, []).append(time.perf_counter() - start)
        return model

    rankwise.BoostedThresholds(max_iter=2, early_stopping=False).fit(X[:2000], y[:2000])
    files = sorted(place.glob("*.parquet"))
    with cluster(1) as one, cluster(2) as two:
        sides = {}
        for n_workers, client in ((1, one), (2, two)):
            with client.as_current():
                sides[n_workers] = [client.persist([delayed(part)(file, k) for file in files]) for k in range(2)]
                wait(sides[n_workers])
                rankwise.dask.BoostedThresholds(max_iter=2, early_stopping=False).fit(*sides[n_workers])
        for _ in range(repeats):
            for n_threads in (1, 2):
                plain = timed(f"plain {n_threads}", rankwise.BoostedThresholds(n_jobs=n_threads, **options), X, y)
            for n_workers, client in ((1, one), (2, two)):
                with client.as_current():
                    model = rankwise.dask.BoostedThresholds(**options)
                    fitted = timed(f"workers {n_workers}", model, *sides[n_workers])
    best = {name: min(times) for name, times in found.items()}
    what = f"BoostedThresholds, {len(y):,} x {D} float32, K = {K}, 100 rounds of 31 leaves"
    yield Result.at_most(
        f"{what}: two workers vs one process with two threads", best["workers 2"], best["plain 2"], 1.5
    )
    yield Result.at_most("  one worker vs one process with one thread", best["workers 1"], best["plain 1"], 1.2)
    yield Result.faster("  two workers vs one", best["workers 2"], best["workers 1"], 1.3)
    X, y = rows(50_000, 10**6)
    errors = [-model.score(X, y) for model in (fitted, plain)]
    apart = abs(errors[0] / errors[1] - 1)
    yield Result(
        "  test MAE of two workers, of one process", *(f"{e:.4f}" for e in errors), apart, "<= 1 %", apart < 0.01
    )


ALL = {"svor": svor, "stream": stream, "trees": trees}


def main() -> None:
    """Run one of them and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=list(ALL))
    parser.add_argument("--rows", type=float, default=20e6)
    parser.add_argument("--rows-per-partition", type=float, default=5e5)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "rankwise-scaling")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    n = int(options.rows)
    place = write(options.folder, n, max(1, round(n / options.rows_per_partition)))
    results = []
    for result in ALL[options.what](place, options.repeats):
        results.append(result.row())
        print(f"{result.what}: {result.ours} vs {result.theirs or '-'}", flush=True)
    print(format_table(results))


if __name__ == "__main__":
    main()
