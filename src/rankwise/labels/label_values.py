"""Single values of labels: which are missing, as arrays and numbers, and as texts for messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

_SHOWN = 12
_SHOWN_CHARACTERS = 100

#: Whole numbers below this are exact as float64, and larger ones round to at least this.
EXACT_IN_FLOAT = 2.0**53


def is_missing(value: Any) -> bool:
    """Return whether a single label is missing: None, NaN, NaT, pandas' NA or numpy's masked."""
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas' NA refuses to be a truth value, but so do arrays
        return type(value).__name__ == "NAType"


def is_infinite(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isinf(value))


def as_object_array(values: Iterable[Any]) -> NDArray[Any]:
    """1-D object array that keeps every element unchanged, tuples and lists included."""
    items = list(values)
    return np.fromiter(items, dtype=object, count=len(items))


def numbered(items: Iterable[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Index of each item among the distinct ones, and these, in the order of their appearance.

    >>> numbered("abca")
    (array([0, 1, 2, 0]), ['a', 'b', 'c'])
    """
    index: dict[Any, int] = {}
    indices = [index.setdefault(item, len(index)) for item in items]
    return np.array(indices, dtype=np.intp), list(index)


def numbers_if_possible(values: NDArray[Any]) -> NDArray[Any]:
    """Convert objects to a numeric array where that loses nothing; floats may have None and NaN among them.

    Anything else stays an array of objects, such as whole numbers with missing values or beyond 64 bits.
    """
    if values.dtype.kind != "O" or values.size == 0:
        return values
    kinds = set(map(type, values.tolist()))
    if all(issubclass(k, (bool, np.bool_)) for k in kinds):
        return values.astype(bool)
    whole = {k for k in kinds - {np.timedelta64} if issubclass(k, (int, np.integer))}
    floating = {k for k in kinds if issubclass(k, (float, np.floating))}
    try:
        if whole == kinds:
            return values.astype(np.int64)
        if not floating:
            return values
        if kinds - whole - floating - {type(None)}:
            missing = np.fromiter(map(is_missing, values.tolist()), dtype=bool, count=values.size)
            if not set(map(type, values[~missing].tolist())) <= whole | floating:
                return values
            values = values.copy()
            values[missing] = None
        floats = values.astype(np.float64)
    except OverflowError:
        return values
    rounded = whole and np.any(np.abs(floats[np.isfinite(floats)]) >= EXACT_IN_FLOAT)
    return values if rounded else floats


def tidy(values: NDArray[Any]) -> NDArray[Any]:
    """Convert an object array that holds only numbers, or only strings, to a numeric or string array."""
    values = numbers_if_possible(values)
    if values.dtype.kind != "O" or values.size == 0:
        return values
    # NumPy would strip null characters from the end of a string.
    strings = all(isinstance(v, str) and not v.endswith("\0") for v in values.tolist())
    return values.astype(np.str_) if strings else values


def one_line(value: Any) -> str:
    """A value for an error message: on one line, and not too long."""
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def as_text(value: Any) -> str:
    """A class as text: whole numbers without a decimal point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT_IN_FLOAT:
        return str(int(value))
    return str(value)


def show(classes: NDArray[Any]) -> str:
    """The classes for an error message, shortened when there are many."""
    values = [one_line(value) for value in classes[: _SHOWN + 1].tolist()]
    if classes.size > _SHOWN:
        last = one_line(classes[-1:].tolist()[0])
        return f"[{', '.join(values[: _SHOWN - 2])}, ..., {last}] ({classes.size} classes)"
    return f"[{', '.join(values)}]"


def as_python(value: Any) -> Any:
    """Convert NumPy's numbers to Python's: NumPy's do not compare with every other number."""
    is_number = isinstance(value, (np.integer, np.floating)) and value.dtype.kind in "iuf"
    return value.item() if is_number else value


def refuse_unhashable(values: NDArray[Any]) -> NoReturn:
    bad = next(v for v in values.tolist() if not is_hashable(v))
    raise ValueError(
        f"Unknown label type: a label must be a number, a string or the like. Got {one_line(bad)} instead."
    ) from None


def is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
