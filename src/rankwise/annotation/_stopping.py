"""When to stop asking: the error of control answers, its range, and what more minutes are worth.

Each control answer is compared with the model's prediction before learning from it: an unbiased error of a random item
at that time. The error at time T is modelled as ``a + b / sqrt(T)`` with ``a, b >= 0``, by least squares over the
control answers; more minutes are worth the fall of this curve. Resampling the control answers gives the ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from rankwise._types import Floats

_RESAMPLES = 200
_LEVEL = 0.9


@dataclass(frozen=True)
class Estimate:
    """A number with a range of 90 percent.

    Attributes
    ----------
    value, lower, upper : float
        The number and the ends of its range; NaN if unknown.
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
        self._fit: tuple[Floats, Floats] | None = None  # cached curves

    def add(self, minutes: float, error: float) -> None:
        """Add a control answer: minutes of annotation so far, and ranks between answer and prediction."""
        if not 0.0 < minutes < np.inf or not 0.0 <= error < np.inf:
            raise ValueError(f"minutes must be > 0, the error >= 0, both finite. Got {minutes!r} and {error!r}.")
        self._minutes.append(float(minutes))
        self._errors.append(float(error))
        self._fit = None

    def __len__(self) -> int:
        return len(self._errors)

    def error(self) -> Estimate:
        """Mean absolute error in ranks at the last control answer, by the curve."""
        return self._estimate(lambda a, b, now: a + b / np.sqrt(now))

    def worth(self, minutes: float) -> Estimate:
        """Ranks by which the error is expected to fall in this many more minutes."""
        return self._estimate(lambda a, b, now: b / np.sqrt(now) - b / np.sqrt(now + minutes))

    def should_stop(self, minutes: float = 10.0, worth: float = 0.01) -> bool:
        """Whether this many more minutes are worth less than ``worth`` ranks; never before ten control answers."""
        return len(self) >= 10 and self.worth(minutes).value < worth

    def curve(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Minutes of the control answers, and the error at these with the ends of its range, for plotting."""
        at = np.unique(self._minutes)
        if not at.size:
            return at, at, at, at
        a, b = self._curves()
        return at, *_with_range(a[:, None] + b[:, None] / np.sqrt(at))

    def _estimate(self, number: Callable[..., Floats]) -> Estimate:
        if not self._errors:
            return Estimate(*[float("nan")] * 3)
        ends = _with_range(number(*self._curves(), max(self._minutes))[:, None])
        return Estimate(*(float(end[0]) for end in ends))

    def _curves(self) -> tuple[Floats, Floats]:
        """a and b of the curve through all control answers, then of those through resampled ones."""
        if self._fit is None:
            n = len(self._errors)
            draws = check_random_state(self.random_state).randint(n, size=(_RESAMPLES if n > 1 else 0, n))
            rows = np.vstack([np.arange(n), draws])
            self._fit = _fitted(np.array(self._minutes)[rows], np.array(self._errors)[rows])
        return self._fit


def _with_range(numbers: Floats) -> tuple[Floats, Floats, Floats]:
    """The first row, and the ends of the range of the others; NaN if there are none."""
    if len(numbers) == 1:
        return numbers[0], *np.full((2, numbers.shape[1]), np.nan)
    lower, upper = np.quantile(numbers[1:], [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
    return numbers[0], lower, upper


def _fitted(minutes: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """a and b of ``a + b / sqrt(T)`` for every row, by least squares with neither below zero."""
    x = 1.0 / np.sqrt(minutes)
    mean_x, mean_y = x.mean(axis=1), errors.mean(axis=1)
    spread = ((x - mean_x[:, None]) ** 2).sum(axis=1)
    slope = ((x - mean_x[:, None]) * errors).sum(axis=1)
    b = np.where(spread > 1e-12 * (x * x).sum(axis=1), slope / np.maximum(spread, np.finfo(np.float64).tiny), 0.0)
    b = np.maximum(b, 0.0)
    b = np.where(mean_y - b * mean_x < 0.0, (x * errors).sum(axis=1) / (x * x).sum(axis=1), b)  # a is zero
    return np.maximum(mean_y - b * mean_x, 0.0), b
