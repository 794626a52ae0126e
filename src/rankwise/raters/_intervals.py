"""Interval labels from class probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankwise import decisions
from rankwise.labels import ClassOrder, Labels


def central_intervals(probabilities: NDArray[np.float64], level: float, order: ClassOrder) -> Labels:
    """Central intervals of at least a probability, as labels."""
    cumulative = np.cumsum(probabilities, axis=1)[:, :-1]
    lower, upper = (decisions.quantiles(cumulative, q).astype(np.int32) for q in (0.5 * (1 - level), 0.5 * (1 + level)))
    return Labels(order, lower, upper)
