"""When to stop asking: the error of control answers, its range, and what more minutes are worth.

Each control answer is compared with what the model predicted before it learnt from it: an honest error of a random
item, at that time. The error at time T is modelled as ``a + b / sqrt(T)`` with ``a, b >= 0``, by least squares over the
control answers; what more minutes are worth is how far this curve falls in them. Resampling the control answers gives
the ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.utils import check_random_state

Floats = NDArray[np.float64]

_RESAMPLES = 200
_LEVEL = 0.9


@dataclass(frozen=True)
class Estimate:
    """A number with a range of 90 percent.

    Attributes
    ----------
    value, lower, upper : float
        The number and the ends of its range; NaN where nothing is known.
    """

    value: float
    lower: float
    upper: float


class ErrorMonitor:
    """Error of the model while answers come in, from control answers.

    Examples
    --------
    >>> from rankwise.annotation import ErrorMonitor
    >>> monitor = ErrorMonitor(random_state=0)
    >>> for minute in range(1, 61):
    ...     monitor.add(minute, 0.4 + 2.0 / minute**0.5 + 0.1 * (-1) ** minute)
    >>> round(monitor.error().value, 2)
    0.66
    >>> round(monitor.worth(10.0).value, 2)
    0.02
    >>> monitor.should_stop(minutes=10.0, worth=0.05)
    True
    """

    def __init__(self, random_state: int | None = 0) -> None:
        self.random_state = random_state
        self._minutes: list[float] = []
        self._errors: list[float] = []

    def add(self, minutes: float, error: float) -> None:
        """Take a control answer: minutes of annotation so far, and ranks between answer and prediction."""
        if not minutes > 0.0 or not error >= 0.0:
            raise ValueError(f"minutes must be > 0 and the error >= 0. Got {minutes!r} and {error!r}.")
        self._minutes.append(float(minutes))
        self._errors.append(float(error))

    def __len__(self) -> int:
        return len(self._errors)

    def error(self) -> Estimate:
        """Mean absolute error in ranks at the last control answer, by the curve."""
        return self._of_curves(lambda a, b, now: a + b / np.sqrt(now))

    def worth(self, minutes: float) -> Estimate:
        """Ranks by which the error is expected to fall in so many more minutes."""
        return self._of_curves(lambda a, b, now: b / np.sqrt(now) - b / np.sqrt(now + minutes))

    def should_stop(self, minutes: float = 10.0, worth: float = 0.01) -> bool:
        """Whether so many more minutes are worth less than ``worth`` ranks; never before ten control answers."""
        return len(self) >= 10 and self.worth(minutes).value < worth

    def curve(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Minutes of the control answers, and there the error with the ends of its range, for a picture."""
        at = np.unique(self._minutes)
        found = [self._of_curves(lambda a, b, now, t=t: a + b / np.sqrt(t)) for t in at]
        value, lower, upper = (np.array([getattr(e, n) for e in found]) for n in ("value", "lower", "upper"))
        return at, value, lower, upper

    def _of_curves(self, number: Callable[..., float]) -> Estimate:
        nan = float("nan")
        if not self._errors:
            return Estimate(nan, nan, nan)
        minutes, errors = np.array(self._minutes), np.array(self._errors)
        now = minutes.max()
        generator = check_random_state(self.random_state)
        value = number(*_fitted(minutes, errors), now)
        if len(errors) < 2:
            return Estimate(float(value), nan, nan)
        draws = generator.randint(len(errors), size=(_RESAMPLES, len(errors)))
        resampled = [number(*_fitted(minutes[rows], errors[rows]), now) for rows in draws]
        lower, upper = np.quantile(resampled, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
        return Estimate(float(value), float(lower), float(upper))


def _fitted(minutes: Floats, errors: Floats) -> tuple[float, float]:
    """a and b of ``a + b / sqrt(T)``, neither below zero."""
    a, b = nnls(np.column_stack([np.ones(minutes.size), 1.0 / np.sqrt(minutes)]), errors)[0]
    return float(a), float(b)
