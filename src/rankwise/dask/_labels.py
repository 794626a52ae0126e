"""The order of the classes when no one sees all labels: each partition says what it holds, and that is put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.labels import ClassOrder, infer_order
from rankwise.labels._order import as_object_array, refuse_continuous, show, tidy
from rankwise.labels._read import read


@dataclass(frozen=True)
class Found:
    """Labels of one partition: the order that its container declares, or the values that occur; and how many rows."""

    declared: NDArray[Any] | None
    present: NDArray[Any]
    n_rows: int


def found_in(y: Any) -> Found:
    """Classes of one partition."""
    raw = read(y)
    if raw.order is not None:
        return Found(ClassOrder(raw.order).values, np.empty(0), len(raw))
    values = raw.values_present()
    if values.dtype.kind == "f":
        values = values[np.isfinite(values)]
    return Found(None, np.unique(values) if values.dtype.kind in "iufb" else _distinct(values), len(raw))


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    try:
        return as_object_array(dict.fromkeys(values.tolist()))
    except TypeError:  # something unhashable: who puts the order together says so
        return values


def merged_order(found: list[Found], *, warn: bool) -> ClassOrder:
    """The order of all classes, as :func:`rankwise.labels.encode` would find it if it saw all rows.

    Parameters
    ----------
    found : list of Found
        One for each partition.
    warn : bool
        Whether classes without an order, such as strings, sort with a warning.
    """
    declared = [part.declared for part in found if part.declared is not None]
    if declared:
        for number, part in enumerate(found):
            if part.declared is None or part.declared.tolist() != declared[0].tolist():
                other = "no order" if part.declared is None else show(part.declared)
                raise ValueError(
                    f"partition {number}: all partitions must have classes in the same order, {show(declared[0])}. "
                    f"Got {other} instead."
                )
        return ClassOrder(declared[0])
    arrays = [part.present for part in found if part.present.size] or [np.empty(0)]
    in_numbers = all(array.dtype.kind in "iufb" for array in arrays)
    values = np.unique(np.concatenate(arrays)) if in_numbers else tidy(as_object_array(np.concatenate(arrays).tolist()))
    if values.dtype.kind == "f":
        refuse_continuous(values, sum(part.n_rows for part in found))
        values = np.repeat(values, 2)  # that was said about all rows; for the values alone it would be wrong
    return infer_order(values, warn=warn)
