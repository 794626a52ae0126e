"""A round of tasks on many workers, simulated event by event beside the formula of docs/scaling.md.

A round sums over B blocks that lie on W workers, and adds up the sums by a tree. What is assumed:

- the scheduler is one server: a task costs it ``schedule`` seconds when it is sent and again when it is done;
- a worker runs one task at a time, for ``overhead`` seconds and ``work`` seconds for a block;
- a message takes ``latency`` seconds, a sum ``size / bandwidth`` more;
- blocks are spread evenly and no worker is slower than another; nothing fails.

``python -m benchmarks.scaling_simulation`` prints both for growing clusters.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass, replace

FAN_IN = 16


@dataclass(frozen=True)
class Cluster:
    """What a round costs; all times in seconds."""

    n_workers: int
    blocks_per_worker: int
    work: float  # for one block
    schedule: float = 0.0003
    overhead: float = 0.001
    latency: float = 0.0005
    size: float = 7e3  # bytes of a sum
    bandwidth: float = 1e9  # bytes a second

    @property
    def n_blocks(self) -> int:
        """B."""
        return self.n_workers * self.blocks_per_worker


@dataclass
class _Task:
    worker: int
    seconds: float
    waits_for: int
    then: int | None  # the task that adds its sum up


def _tasks(cluster: Cluster) -> list[_Task]:
    """Blocks and the additions above them; an addition runs where its first sum is."""
    tasks = [
        _Task(i // cluster.blocks_per_worker, cluster.overhead + cluster.work, 0, None) for i in range(cluster.n_blocks)
    ]
    level = list(range(len(tasks)))
    while len(level) > 1:
        above = []
        for first in range(0, len(level), FAN_IN):
            some = level[first : first + FAN_IN]
            fetch = cluster.latency + (len(some) - 1) * cluster.size / cluster.bandwidth
            tasks.append(_Task(tasks[some[0]].worker, cluster.overhead + fetch, len(some), None))
            for below in some:
                tasks[below].then = len(tasks) - 1
            above.append(len(tasks) - 1)
        level = above
    return tasks


def simulated(cluster: Cluster) -> float:
    """Seconds of one round, event by event."""
    tasks = _tasks(cluster)
    scheduler_free = 0.0
    worker_free = [0.0] * cluster.n_workers
    # Events reach the scheduler in the order of their times: a task that may be sent, or one that is done.
    events = [(0.0, i, "send") for i, task in enumerate(tasks) if not task.waits_for]
    heapq.heapify(events)
    end = 0.0
    while events:
        time, i, what = heapq.heappop(events)
        scheduler_free = max(scheduler_free, time) + cluster.schedule
        task = tasks[i]
        if what == "send":
            begin = max(scheduler_free + cluster.latency, worker_free[task.worker])
            worker_free[task.worker] = begin + task.seconds
            heapq.heappush(events, (worker_free[task.worker] + cluster.latency, i, "done"))
        elif task.then is None:
            end = scheduler_free + cluster.latency + cluster.size / cluster.bandwidth
        else:
            tasks[task.then].waits_for -= 1
            if not tasks[task.then].waits_for:
                heapq.heappush(events, (scheduler_free, task.then, "send"))
    return end


def formula(cluster: Cluster) -> float:
    """Seconds of one round, on paper: the busier of scheduler and workers, and then the levels of the tree."""
    levels, rest = 0, cluster.n_blocks
    while rest > 1:
        levels, rest = levels + 1, -(-rest // FAN_IN)
    busy = max(2.0 * cluster.schedule * cluster.n_blocks, cluster.blocks_per_worker * (cluster.overhead + cluster.work))
    fetch = cluster.latency + (FAN_IN - 1) * cluster.size / cluster.bandwidth
    step = 2.0 * (cluster.schedule + cluster.latency) + cluster.overhead + fetch
    return busy + 2.0 * cluster.latency + 2.0 * cluster.schedule + levels * step


def fit_seconds(cluster: Cluster, rounds: int, passes: float, round_seconds: float | None = None) -> float:
    """Seconds of a fit: rounds over a tenth of the rows count as a tenth of a pass but as a whole round."""
    empty = simulated(replace(cluster, work=0.0))
    full = simulated(cluster) if round_seconds is None else round_seconds
    return rounds * empty + passes * (full - empty)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--rows-per-block", type=float, default=1e6)
    parser.add_argument("--seconds-per-row", type=float, default=8e-8, help="of one pass, on one core")
    parser.add_argument("--rounds", type=int, default=54)
    parser.add_argument("--passes", type=float, default=10.0, help="rounds in units of all rows")
    options = parser.parse_args()
    print("workers  blocks  round simulated  on paper  fit simulated  speed-up")
    work = options.seconds_per_row * options.rows_per_block
    blocks = int(options.rows / options.rows_per_block)
    first = None
    for n_workers in [n for n in (1, 2, 10, 100, 1000) if n <= blocks]:
        cluster = Cluster(n_workers, blocks // n_workers, work)
        fit = fit_seconds(cluster, options.rounds, options.passes)
        first = first or fit
        print(
            f"{n_workers:7}  {cluster.n_blocks:6}  {simulated(cluster):13.3f} s  {formula(cluster):6.3f} s  "
            f"{fit:11.1f} s  {first / fit:8.1f}"
        )


if __name__ == "__main__":
    main()
