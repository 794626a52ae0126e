"""Parameters of the bounds: one clear error for each that makes no sense."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


def integer(least: int, **parameter: Any) -> None:
    """Refuse parameters that are no integers, or below the least."""
    for name, value in parameter.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
            raise ValueError(f"{name} must be an integer >= {least}. Got {value!r} instead.")


def non_negative(**parameter: Any) -> None:
    """Refuse parameters that are no finite numbers >= 0."""
    for name, value in parameter.items():
        if not isinstance(value, Real) or not 0 <= float(value) < math.inf:
            raise ValueError(f"{name} must be a finite number >= 0. Got {value!r} instead.")


def positive(**parameter: Any) -> None:
    """Refuse parameters that are no finite numbers > 0."""
    for name, value in parameter.items():
        if not isinstance(value, Real) or not 0 < float(value) < math.inf:
            raise ValueError(f"{name} must be a finite number > 0. Got {value!r} instead.")


def share(**parameter: Any) -> None:
    """Refuse parameters that are no numbers in [0, 1]."""
    for name, value in parameter.items():
        if not isinstance(value, Real) or not 0 <= float(value) <= 1:
            raise ValueError(f"{name} must lie in [0, 1]. Got {value!r} instead.")
