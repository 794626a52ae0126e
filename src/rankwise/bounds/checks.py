"""Checks of numeric parameters; the error names parameter, rule and value."""

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any


def integer(least: int, **parameters: Any) -> None:
    """Raise unless the parameters are integers >= ``least``."""
    for name, value in parameters.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
            raise ValueError(f"{name} must be an integer >= {least}. Got {value!r} instead.")


def non_negative(**parameters: Any) -> None:
    """Raise unless the parameters are finite numbers >= 0."""
    _number("be a finite number >= 0", lambda value: 0 <= value < math.inf, parameters)


def positive(**parameters: Any) -> None:
    """Raise unless the parameters are finite numbers > 0."""
    _number("be a finite number > 0", lambda value: 0 < value < math.inf, parameters)


def share(**parameters: Any) -> None:
    """Raise unless the parameters are numbers in [0, 1]."""
    _number("lie in [0, 1]", lambda value: 0 <= value <= 1, parameters)


def _number(rule: str, holds: Callable[[float], bool], parameters: Mapping[str, Any]) -> None:
    for name, value in parameters.items():
        if not isinstance(value, Real) or not holds(float(value)):
            raise ValueError(f"{name} must {rule}. Got {value!r} instead.")
