"""Checks of parameters: the error names the parameter, its owner, the rule and the value."""

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike


def at_least(owner: str, name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return value as an int; raise unless it is a whole number within the limits."""
    whole = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if not whole or value < minimum or (maximum is not None and value > maximum):
        rule = f"at least {minimum}" + ("" if maximum is None else f" and at most {maximum}")
        raise ValueError(f"The {name!r} parameter of {owner} must be a whole number, {rule}. Got {value!r} instead.")
    return int(value)


def not_negative(owner: str, name: str, value: Any) -> float:
    """Return value as a float; raise unless it is a finite number >= 0."""
    number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if not number or not 0 <= value < math.inf:
        raise ValueError(f"The {name!r} parameter of {owner} must be a finite number >= 0. Got {value!r} instead.")
    return float(value)


def one_of(owner: str, name: str, value: Any, allowed: Collection[Any]) -> Any:
    """Return value; raise unless it is allowed."""
    if value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise ValueError(f"The {name!r} parameter of {owner} must be one of {listed}. Got {value!r} instead.")
    return value


def float_dtype(owner: str, value: DTypeLike) -> Any:
    """Return value as a dtype; raise unless it is float32 or float64."""
    dtype = np.dtype(value)
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"The 'dtype' parameter of {owner} must be float32 or float64. Got {dtype} instead.")
    return dtype
