"""Dates, times and durations as numbers: parts of a date such as month and hour, and lengths in days."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.features.arrow_columns import load_pyarrow, numbers, one_chunk
from rankwise.features.date_texts import text_moments

_DAY = 86400.0

#: Parts of a date: the length of the periodic ones, in their own unit and in days; and all parts.
PERIODS = {"month": 12.0, "weekday": 7.0, "hour": 24.0}
DAYS_ROUND = {"month": 365.0, "weekday": 7.0, "hour": 1.0}
PARTS = ("days", "year", *PERIODS, *(f"{part} {wave}" for part in PERIODS for wave in ("sin", "cos")))


def seconds(column: Any, order: str = "ymd") -> tuple[Floats, NDArray[np.bool_] | None]:
    """Seconds since 1970 in the column's local time, NaN where missing; and which texts are not dates of this order."""
    pa = load_pyarrow()
    array = one_chunk(column)
    if pa.types.is_date(array.type):
        return numbers(array.cast(pa.date32()).cast(pa.int32())) * _DAY, None
    if pa.types.is_timestamp(array.type):
        if array.type.tz is not None:  # local hours matter
            array = pa.compute.local_timestamp(array)
        return numbers(array.cast(pa.int64())) / _UNITS[array.type.unit], None
    return text_moments(array, order)


_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def days(column: Any) -> Floats:
    """Length of each duration, or the time since midnight, in days."""
    pa = load_pyarrow()
    array = one_chunk(column)
    unit = array.type.unit
    if pa.types.is_time(array.type):
        array = array.cast(pa.int32() if unit in ("s", "ms") else pa.int64())
    return numbers(array.cast(pa.int64())) / (_UNITS[unit] * _DAY)


def part_of(moments: Floats, part: str, origin: float) -> Floats:
    """One part of moments that :func:`seconds` gives; ``origin`` is the moment from which days are counted."""
    if part == "days":
        return (moments - origin) / _DAY
    name, _, wave = part.partition(" ")
    values = _PLAIN[name](moments)
    if not wave:
        return values
    # A year begins with month 1, a week with day 0 and a day with hour 0: only the distance around the circle counts.
    angle = values * (2 * np.pi / PERIODS[name])
    return np.asarray(np.sin(angle) if wave == "sin" else np.cos(angle))


def _calendar(moments: Floats, unit: str) -> Floats:
    """Months or years since 1970."""
    known = np.isfinite(moments)
    whole = np.floor(np.where(known, moments, 0.0)).astype("datetime64[s]")
    return np.where(known, whole.astype(f"datetime64[{unit}]").astype(np.int64), np.nan)


_PLAIN: dict[str, Callable[[Floats], Floats]] = {
    "year": lambda moments: _calendar(moments, "Y") + 1970,
    "month": lambda moments: _calendar(moments, "M") % 12 + 1,
    "weekday": lambda moments: np.floor(moments / _DAY + 3) % 7,  # Monday is 0; the year 1970 began on a Thursday
    "hour": lambda moments: np.mod(moments, _DAY) / 3600,
}


def day_name(origin: float) -> str:
    """The day of a moment, as ISO 8601 writes it."""
    return str(np.datetime64(int(np.floor(origin)), "s").astype("datetime64[D]"))
