"""Answers of several raters, read from a long or a wide table of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise._types import Places
from rankwise.labels import ClassOrder, Labels, encode, is_missing
from rankwise.labels.encoding import encode_ordered, has_intervals
from rankwise.labels.label_values import as_object_array, numbered, tidy
from rankwise.labels.reading import read


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers with their items and raters: answer i is ``labels[i]``."""

    items: NDArray[Any]  # names, in the order in which they first occur
    raters: NDArray[Any]
    item: Places  # index of each answer's item
    rater: Places
    labels: Labels

    @property
    def order(self) -> ClassOrder:
        return self.labels.order

    def take(self, rows: Any) -> Answers:
        """Some of the answers, about the same items and by the same raters."""
        return Answers(self.items, self.raters, self.item[rows], self.rater[rows], self.labels.take(rows))

    def informative(self) -> Answers:
        """The answers that are not missing."""
        return self.take(~self.labels.is_missing)

    def last(self) -> Answers:
        """One answer for each item and rater, the last one."""
        key = self.item * self.raters.size + self.rater
        _, from_end = np.unique(key[::-1], return_index=True)
        return self.take(np.sort(key.size - 1 - from_end))


def read_answers(
    table: Any, classes: Any, item: str, rater: str, label: Any, *, needed_by: str | None = None
) -> Answers:
    """Answers of a long table, or of a wide one if it has neither a column ``rater`` nor ``label``.

    In a long table each row is an answer. In a wide one each row is an item and each column a rater; the column
    ``item``, else the index of a pandas table, else the row number names the item. Names without an order are refused
    where it is ``needed_by`` some function; None where only intervals need it.
    """
    names = _column_names(table)
    of_label = [label] if isinstance(label, str) else list(label)
    wanted = [item, rater, *of_label]
    if all(name in names for name in wanted):
        ends = [_values(table[name]) for name in of_label]
        y = table[label] if isinstance(label, str) else list(zip(*ends, strict=True))
        labels = _encoded(y, classes, needed_by)
        of_item, of_rater = (_named(_values(table[name]), name) for name in (item, rater))
        return Answers(of_item[0], of_rater[0], of_item[1], of_rater[1], labels)
    if any(name in names for name in wanted[1:]):
        missing = ", ".join(repr(name) for name in wanted if name not in names)
        raise ValueError(
            f"a long table needs the columns {', '.join(map(repr, wanted))}. Not found: {missing} among "
            f"{', '.join(map(repr, names))}. Name them with item=, rater= and label=."
        )
    raters = [name for name in names if name != item]
    return _read_wide(table, raters, classes, item if item in names else None, needed_by)


def _encoded(y: Any, classes: Any, needed_by: str | None) -> Labels:
    raw = read(y)
    if needed_by is None and not has_intervals(raw):
        return encode(raw, classes, ordered=False)
    return encode_ordered(raw, classes, needed_by or "an interval")


def _read_wide(table: Any, raters: list[Any], classes: Any, item: str | None, needed_by: str | None) -> Answers:
    if not raters:
        raise ValueError("a wide table needs at least one column of labels, one for each rater. Got none.")
    columns = [table[name] for name in raters]
    if classes is None:  # an ordered categorical carries the order
        classes = next((order for column in columns if (order := read(column).order) is not None), None)
    answers = [_values(column) for column in columns]
    n = len(answers[0])
    for name, column in zip(raters, answers, strict=True):
        if len(column) != n:
            raise ValueError(
                f"all columns must have the same length. Got {len(column)} rows in {name!r} and {n} in {raters[0]!r}."
            )
    labels = _encoded([answer for row in zip(*answers, strict=True) for answer in row], classes, needed_by)
    index = table.index if item is None and hasattr(table, "iloc") else None
    given = range(n) if item is None and index is None else _values(table[item] if item is not None else index)
    items, of_item = _named(list(given), item or "index")
    item_of, rater_of = np.repeat(of_item, len(raters)), np.tile(np.arange(len(raters)), n)
    # An empty cell is no answer.
    return Answers(items, tidy(as_object_array(raters)), item_of, rater_of, labels).informative()


def _column_names(table: Any) -> list[Any]:
    if isinstance(table, Mapping):
        return list(table)
    names = getattr(table, "column_names", None)  # pyarrow
    names = getattr(table, "columns", None) if names is None else names
    if names is None:
        raise TypeError(
            f"answers must come as a table: pandas, polars, pyarrow or a dict of columns. Got {type(table).__name__}."
        )
    return list(names)


def _values(column: Any) -> list[Any]:
    """Values of a column of any library, as Python objects."""
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def _named(values: list[Any], column: str) -> tuple[NDArray[Any], Places]:
    """Distinct names in the order in which they first occur, and the index of each value among them."""
    codes, names = numbered(values)
    for code, name in enumerate(names):
        if is_missing(name):
            row = int(np.argmax(codes == code))
            raise RowError("every answer needs a name here. Got a missing value.", row, column)
    return tidy(as_object_array(names)), codes
