"""What a pass over rows changes besides the weights: counters and sums."""

from __future__ import annotations

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
