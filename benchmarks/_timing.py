"""Timing that survives a noisy machine: both sides in turn, the best of several."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass


def best_of(*actions: Callable[[], object], repeats: int = 7) -> list[float]:
    """Best time of each action in seconds; the actions take turns, so a busy moment hits all of them."""
    for action in actions:  # compile, load, warm up
        action()
    best = [float("inf")] * len(actions)
    gc.collect()
    gc.disable()  # as timeit does: a collection would be charged to whoever happens to run
    try:
        for _ in range(repeats):
            for k, action in enumerate(actions):
                start = time.perf_counter()
                action()
                best[k] = min(best[k], time.perf_counter() - start)
    finally:
        gc.enable()
    return best


@dataclass(frozen=True)
class Result:
    """One line of the table: what was compared, both figures, their ratio and the goal for it."""

    what: str
    ours: str
    theirs: str
    ratio: float
    goal: str
    met: bool

    @staticmethod
    def at_most(what: str, ours: float, theirs: float, limit: float) -> Result:
        """Our time is at most ``limit`` times theirs."""
        ratio = ours / theirs
        return Result(what, seconds(ours), seconds(theirs), ratio, f"<= {limit:g} x", ratio <= limit)

    @staticmethod
    def faster(what: str, ours: float, theirs: float, times: float) -> Result:
        """We are at least ``times`` times faster."""
        ratio = theirs / ours
        return Result(what, seconds(ours), seconds(theirs), ratio, f">= {times:g} x", ratio >= times)

    def row(self) -> dict[str, object]:
        """The line for the table."""
        return {
            "what": self.what,
            "ours": self.ours,
            "theirs": self.theirs,
            "ratio": float(self.ratio),
            "goal": self.goal,
            "met": "yes" if self.met else "NO",
        }


def seconds(value: float) -> str:
    """A time with a unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
