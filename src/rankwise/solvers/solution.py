"""What every solver returns: parameters, and a certificate of how good they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
        """``(objective - lower_bound) / objective``; 0 where both are 0."""
        difference = self.objective - self.lower_bound
        return difference / abs(self.objective) if difference > 0.0 else 0.0
