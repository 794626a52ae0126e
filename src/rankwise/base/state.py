"""What a pass over rows takes and changes: a state of named arrays, its counters, and the empty arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

State = dict[str, NDArray[Any]]

#: Places in ``state["counts"]``: rounds with information, rounds with an update, violated constraints.
ROUNDS, UPDATES, VIOLATIONS = 0, 1, 2

GIVEN_ORDER: NDArray[np.int64] = np.empty(0, dtype=np.int64)  # rows as they come
NO_PREDICTIONS: NDArray[np.int32] = np.empty(0, dtype=np.int32)  # nobody asked
NO_MASK: NDArray[np.bool_] = np.empty((0, 0), dtype=bool)  # every label is an interval


def counts_of_nothing() -> NDArray[np.int64]:
    """Fresh counters for a state."""
    return np.zeros(3, dtype=np.int64)
