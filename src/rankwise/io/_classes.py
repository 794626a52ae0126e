"""The classes of files that do not declare them: found in their labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rankwise.io._label_columns import GoodLabels, LabelColumns, label_error
from rankwise.io._table_errors import shown
from rankwise.labels import ClassOrder, infer_order
from rankwise.labels._format import distinct_labels, said_by_row
from rankwise.labels._order import EXACT_IN_FLOAT, refuse_continuous
from rankwise.labels._read import read


def find_classes(labels: Callable[[], Iterable[GoodLabels]], columns: LabelColumns) -> ClassOrder:
    """Classes of all labels, as they were read without classes, in their order.

    ``labels`` is called again only to name the row whose label does not belong.
    """
    distinct: set[Any] = set()
    n = 0
    for good in labels():
        is_table = isinstance(good.y, np.ndarray) and good.y.dtype != object
        distinct.update(distinct_labels(np.unique(good.y, axis=0) if is_table else good.y))
        n += len(good.y)
    # Only all labels together say which whole numbers lie between the ends of open intervals. An exact label beside
    # intervals is one, whether it was written as one number or as two.
    present = [label for label in distinct if label is not None]
    _refuse_mixed_types(present, columns, labels)
    if any(isinstance(label, tuple) for label in present):
        present = [label if isinstance(label, frozenset) else _as_ends(label) for label in present]
    values = read(present).values_present()
    if values.dtype.kind != "f":
        return infer_order(values)
    values = np.unique(values[np.isfinite(values)])
    refuse_continuous(values, n)
    whole = np.all((values == np.floor(values)) & (np.abs(values) < EXACT_IN_FLOAT))
    return infer_order(values.astype(np.int64)) if whole else ClassOrder(values)


def _refuse_mixed_types(labels: list[Any], columns: LabelColumns, again: Callable[[], Iterable[GoodLabels]]) -> None:
    """Name the first label of the rarer type where some labels are numbers and others are names."""
    names = {label for label in labels if _is_name(label)}
    others = set(labels) - names
    if not (names and others):
        return
    odd, kind = (names, "numbers") if len(names) <= len(others) else (others, "names")
    for good in again():
        groups, distinct = said_by_row(good.y)
        is_odd = np.array([label in odd for label in distinct])[groups]
        if is_odd.any():
            i = int(np.argmax(is_odd))
            reason = (
                f"a label is {shown(distinct[groups[i]])} where most are {kind}, and these have no common order. "
                f"Correct it, or declare the classes."
            )
            raise label_error(good.batch, i, reason, columns.label_names)


def _is_name(label: Any) -> bool:
    """Whether a label, as it was said, has a name in it."""
    return any(isinstance(value, str) for value in (label if isinstance(label, (tuple, frozenset)) else (label,)))


def _as_ends(label: Any) -> tuple[Any, ...]:
    """A label as an interval, with numbers of one type."""
    ends = label if isinstance(label, tuple) else (label, label)
    numeric = all(end is None or isinstance(end, (int, float)) for end in ends)
    return tuple(np.nan if end is None else float(end) for end in ends) if numeric else ends
