"""The classes of files that do not declare them: found in their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rankwise.io._label_columns import GoodLabels, LabelColumns, label_error
from rankwise.io._row_batch import Batch
from rankwise.io._table_errors import shown
from rankwise.labels import ClassOrder, infer_order
from rankwise.labels._format import distinct_labels, said_by_row
from rankwise.labels._grammar import UnreadableLabelsError
from rankwise.labels._order import refuse_continuous, warn_of_classes
from rankwise.labels._raw import as_ends, whole_if_possible
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
        present = [label if isinstance(label, frozenset) else as_ends(label) for label in present]
    values = whole_if_possible(read(present).values_present())
    if values.dtype.kind == "f":
        values = np.unique(values)
        refuse_continuous(values, n)
    order = ClassOrder(values) if values.dtype.kind == "f" else infer_order(values)
    if len(order) > 1:  # with one class nothing is learnt at all
        warn_of_classes(order, n)
    return order


def _refuse_mixed_types(labels: list[Any], columns: LabelColumns, again: Callable[[], Iterable[GoodLabels]]) -> None:
    """Name the labels of the rarer type where some are numbers and others are names: how many rows, and the first."""
    names = {label for label in labels if _is_name(label)}
    if not names or len(names) == len(labels):
        return
    counts: Counter[Any] = Counter()
    first: dict[Any, tuple[Batch, int]] = {}
    for good in again():
        groups, distinct = said_by_row(good.y)
        for group, row, count in zip(*np.unique(groups, return_index=True, return_counts=True), strict=True):
            counts[distinct[group]] += int(count)
            first.setdefault(distinct[group], (good.batch, int(row)))
    of_names = sum(counts[label] for label in names)
    is_odd, kind = (True, "numbers") if 2 * of_names <= sum(counts[label] for label in labels) else (False, "names")
    odd = [label for label in counts if label is not None and (label in names) == is_odd]  # as they occur
    reason = (
        f"a label is {shown(odd[0])} where most are {kind}, and these have no common order. "
        f"Correct it, or declare the classes."
    )
    error = UnreadableLabelsError(reason, [(label, counts[label], k) for k, label in enumerate(odd)])
    batch, row = first[odd[0]]
    told = error.told(lambda k: first[odd[k]][0].place(first[odd[k]][1]).removeprefix(f"file {batch.file}, "))
    raise label_error(batch, row, told, columns.label_names)


def _is_name(label: Any) -> bool:
    """Whether a label, as it was said, has a name in it."""
    return any(isinstance(value, str) for value in (label if isinstance(label, (tuple, frozenset)) else (label,)))
