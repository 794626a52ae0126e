"""The order of the classes: where it comes from, and the code of every class in it."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.labels import _lookup

_SHOWN = 12


class OrderWarning(UserWarning):
    """Strings were put into alphabetical order because nothing said what their order is."""


def is_missing(value: Any) -> bool:
    """Return whether a single label says nothing: None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA refuses to be a truth value
        return True


def as_object_array(values: Iterable[Any]) -> NDArray[Any]:
    """1-D object array that keeps every element as it is, tuples and lists included."""
    items = list(values)
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def tidy(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as numbers and strings as strings where an object array holds nothing else."""
    if values.dtype.kind != "O" or values.size == 0:
        return values
    kinds = set(map(type, values.tolist()))
    if all(issubclass(k, (bool, np.bool_)) for k in kinds):
        return values.astype(bool)
    if all(issubclass(k, (int, np.integer)) and not issubclass(k, (bool, np.bool_)) for k in kinds):
        return values.astype(np.int64)
    if all(issubclass(k, (int, float, np.integer, np.floating)) for k in kinds):
        return values.astype(np.float64)
    if all(issubclass(k, str) for k in kinds):
        return values.astype(np.str_)
    return values


class ClassOrder:
    """The classes in their order, lowest first, and the code 0..K-1 of each.

    Parameters
    ----------
    classes : sequence
        Distinct labels, lowest first. Numbers need not be evenly spaced nor ascending: the order given is the order.

    Examples
    --------
    >>> ClassOrder(["low", "medium", "high"]).code("medium")
    1
    """

    def __init__(self, classes: Sequence[Any] | NDArray[Any]) -> None:
        values = classes if isinstance(classes, np.ndarray) else tidy(as_object_array(classes))
        if values.ndim != 1 or values.size == 0:
            raise ValueError(f"classes must be a non-empty list of labels, lowest first. Got {classes!r} instead.")
        if any(is_missing(v) for v in values.tolist()):
            raise ValueError(f"classes must not hold missing values. Got {show(values)} instead.")
        self.values = values
        self.index: dict[Hashable, int] = {v: code for code, v in enumerate(values.tolist())}
        if len(self.index) != values.size:
            repeated = next(v for v in values.tolist() if values.tolist().count(v) > 1)
            raise ValueError(f"classes must be distinct. Got {repeated!r} more than once.")
        self.is_numeric = values.dtype.kind in "iufb"
        self.is_consecutive = self.is_numeric and bool(np.all(np.diff(values.astype(np.float64)) == 1.0))

    def __len__(self) -> int:
        return int(self.values.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassOrder) and self.values.tolist() == other.values.tolist()

    __hash__ = None  # type: ignore[assignment]

    def code(self, value: Any) -> int:
        """Code of one label; a label that is no class raises ``KeyError``."""
        return self.index[value]

    def numeric_table(self, dtype: type) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Ascending class values as ``dtype`` and the code of each, for the compiled look-up."""
        ascending = np.argsort(self.values, kind="stable")
        return self.values[ascending].astype(dtype), ascending.astype(np.int32)

    def codes(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """Code of every element of a 1-D array; MISSING (-1) for none, UNKNOWN (-2) for a value that is no class."""
        out = np.empty(values.size, dtype=np.int32)
        if self.is_numeric and values.dtype.kind in "iufb":
            numbers, table = comparable(values, self)
            _lookup.exact_codes(numbers, *table, out)
            return out
        items = values.tolist()
        try:
            found = map(self.index.get, items, repeat(_lookup.UNKNOWN))
            out[:] = np.fromiter(found, dtype=np.int32, count=len(items))
        except TypeError:  # something unhashable is among them: look at each
            out[:] = [self.index.get(v, _lookup.UNKNOWN) if isinstance(v, Hashable) else _lookup.UNKNOWN for v in items]
        for i in np.flatnonzero(out == _lookup.UNKNOWN):
            if is_missing(items[i]):
                out[i] = _lookup.MISSING
        return out

    def inserted(self, value: Any) -> tuple[ClassOrder, int]:
        """The order with one class more, at its sorted place, and that place."""
        values = self.values.tolist()
        try:
            place = sum(v < value for v in values)
        except TypeError:
            raise ValueError(
                f"label {value!r} cannot be ordered among the classes {show(self.values)}: "
                f"declare the order with classes=[...]."
            ) from None
        return ClassOrder([*values[:place], value, *values[place:]]), place


def comparable(values: NDArray[Any], order: ClassOrder) -> tuple[NDArray[Any], tuple[NDArray[Any], NDArray[np.int32]]]:
    """Values and class table in one type, int64 or float64, so that two compiled versions serve all numbers."""
    whole_classes = order.values.dtype.kind in "iub" or bool(np.all(order.values == np.floor(order.values)))
    dtype: type = np.int64 if values.dtype.kind in "iub" and whole_classes else np.float64
    return np.ascontiguousarray(values, dtype=dtype), order.numeric_table(dtype)


def show(classes: NDArray[Any]) -> str:
    """The classes for an error message, shortened when there are many."""
    values = classes.tolist()
    if len(values) > _SHOWN:
        return f"[{', '.join(map(repr, values[: _SHOWN - 2]))}, ..., {values[-1]!r}] ({len(values)} classes)"
    return repr(values)


def infer_order(values: NDArray[Any]) -> ClassOrder:
    """Order of the labels that occur: numbers sort, strings sort with a warning that says how to give the order."""
    if values.dtype.kind == "f":
        present = np.unique(values[np.isfinite(values)])
    elif values.dtype.kind in "iubU":
        present = np.unique(values)
    else:
        found = {v for v in values.tolist() if not is_missing(v)}
        try:
            present = tidy(as_object_array(sorted(found)))
        except TypeError:
            kinds = sorted({type(v).__name__ for v in found})
            raise ValueError(
                f"Unknown label type: labels of types {kinds} have no common order: declare it with classes=[...]."
            ) from None
    if present.size == 0:
        raise ValueError("every label is missing, so the classes are unknown: declare them with classes=[...].")
    if present.dtype.kind == "f":
        _refuse_continuous(present, values.size)
        if np.all(present == np.floor(present)) and values.dtype.kind == "O":
            present = present.astype(np.int64)
    if present.dtype.kind not in "iufb":
        warnings.warn(
            f"no order given for the classes, so they are sorted: {show(present)}. If that is not their order, "
            f"declare it: classes=[lowest, ..., highest], or make y an ordered Categorical.",
            OrderWarning,
            stacklevel=2,
        )
    return ClassOrder(present)


def _refuse_continuous(present: NDArray[Any], n: int) -> None:
    """Measurements are not grades: non-integer numbers that hardly ever repeat are refused."""
    if np.any(present != np.floor(present)) and 2 * present.size > n:
        raise ValueError(
            f"Unknown label type: continuous. y holds {present.size} different non-integer numbers in {n} labels: "
            f"cut it into grades first (for example with numpy.digitize), or declare them with classes=[...]."
        )
