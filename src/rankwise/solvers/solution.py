"""What every solver returns: parameters, and a certificate of how good they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SMALLEST = 1e-6  # objectives below are zero for all purposes: a hinge has a margin of 1


def relative_gap(objective: float, lower_bound: float) -> float:
    """``(objective - lower_bound) / objective``; an objective below 1e-6 counts as 1e-6, or zero had no gap."""
    return max(objective - lower_bound, 0.0) / max(abs(objective), _SMALLEST)


@dataclass(frozen=True)
class Solution:
    """Parameters with the objective there and a proven lower bound on it.

    Attributes
    ----------
    theta : array
        The parameters.
    objective : float
        Value of the objective at ``theta``.
    lower_bound : float
        No parameters have a lower objective; -inf where no bound was found.
    n_iter : int
        Iterations over all rows.
    converged : bool
        Whether the relative gap reached the tolerance.
    """

    theta: NDArray[np.float64]
    objective: float
    lower_bound: float
    n_iter: int
    converged: bool

    @property
    def gap(self) -> float:
        """Relative gap between objective and lower bound, see :func:`relative_gap`."""
        return relative_gap(self.objective, self.lower_bound)
