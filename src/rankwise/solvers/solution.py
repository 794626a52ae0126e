"""What every solver returns: parameters and their certificate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Smaller objectives count as zero: a hinge has a margin of 1.
SMALLEST = 1e-6

#: By how much a bound may exceed the objective, relative to it or to 1: sums of rounded terms agree to about 1e-12 of
#: their size, and the linear programmes that balance flows and solve risks without a regulariser hold their constraints
#: to 1e-7. With losses of about 1, anything above is not rounding.
_ROUNDING = 1e-6


class CertificateError(ArithmeticError):
    """A lower bound above the objective that it bounds: a defect of the solver, not of the data."""


def relative_gap(objective: float, lower_bound: float) -> float:
    """``(objective - lower_bound) / objective``; an objective below 1e-6 counts as 1e-6.

    A bound above the objective by no more than rounding, ``1e-6 max(1, objective)``, leaves no gap; one further above
    raises :class:`CertificateError`.

    Examples
    --------
    >>> relative_gap(0.5, 0.25)
    0.5
    """
    if lower_bound - objective > _ROUNDING * max(1.0, abs(objective)):
        raise CertificateError(
            f"the lower bound {lower_bound!r} is above the objective {objective!r}. This is a defect of rankwise: "
            f"please report it with the data and the parameters."
        )
    return max(objective - lower_bound, 0.0) / max(abs(objective), SMALLEST)


@dataclass(frozen=True)
class Solution:
    """Parameters with the objective there and a proven lower bound on it."""

    theta: NDArray[np.float64]
    objective: float
    lower_bound: float  # no parameters have a lower objective; -inf where no bound was found
    n_iter: int  # iterations over all rows
    converged: bool  # whether the relative gap reached the tolerance

    def __post_init__(self) -> None:
        relative_gap(self.objective, self.lower_bound)  # raises if the bound cannot be one

    @property
    def gap(self) -> float:
        """Relative gap between objective and lower bound, see :func:`relative_gap`."""
        return relative_gap(self.objective, self.lower_bound)
