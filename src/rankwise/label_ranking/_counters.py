"""What a pass over rows changes besides the weights: counters and sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankwise.base.state import ROUNDS, UPDATES, VIOLATIONS

#: Places in ``state["counts"]``: those of all online estimators, of which VIOLATIONS counts mistakes; labels known so
#: far, rounds whose joint problem was not solved, and the most iterations that one took.
MISTAKES, KNOWN, UNSOLVED, MOST_ITERATIONS = VIOLATIONS, 3, 4, 5
#: Places in ``state["sums"]``: margin times the dual variables, and a bound for the absolute value of every theta.
GAINED, REACH = 0, 1

#: Which dual variables of an example move, and how far.
UPDATES_BY_NAME = {"fixed": 0, "optimal": 1, "joint": 2}
FIXED, OPTIMAL, JOINT = UPDATES_BY_NAME.values()

__all__ = [
    "FIXED",
    "GAINED",
    "JOINT",
    "KNOWN",
    "MISTAKES",
    "MOST_ITERATIONS",
    "OPTIMAL",
    "REACH",
    "ROUNDS",
    "UNSOLVED",
    "UPDATES",
    "UPDATES_BY_NAME",
]


def fresh_counts(n_labels: int) -> NDArray[np.int64]:
    """Counters before the first round."""
    counts = np.zeros(6, dtype=np.int64)
    counts[KNOWN] = n_labels
    return counts


def fresh_sums() -> NDArray[np.float64]:
    """Sums before the first round."""
    return np.zeros(2)
