"""Labels that cannot be read, each distinct one with its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise._words import the_classes
from rankwise.labels.label_values import is_missing, one_line

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]00:00(?::00)?)?")


class UnreadableLabelsError(RowError):
    """Labels that cannot be read: each distinct one with its count and the first row.

    Attributes
    ----------
    found : list of (label, count, first row)
        The distinct labels, the first row first.
    """

    __module__ = "rankwise.labels"  # the public name, in tracebacks and pickles
    _MOST_NAMED = 10

    def __init__(self, reason: str, found: list[tuple[Any, int, int]]) -> None:
        self.found, self.first_reason = found, reason
        super().__init__(self.told(lambda row: f"row {row}"), found[0][2])

    def told(self, place: Callable[[int], str]) -> str:
        """The reason, with the other labels and the first row of each; ``place`` names a row."""
        (_, count, _), *others = self.found
        message = self.first_reason + (f" {count} rows hold this label." if count > 1 else "")
        if not others:
            return message
        named = [
            f"{one_line(label)} ({place(row)}{f' and {count - 1} more' if count > 1 else ''})"
            for label, count, row in others[: self._MOST_NAMED]
        ]
        more = f" and {len(others) - self._MOST_NAMED} others" if len(others) > self._MOST_NAMED else ""
        return f"{message} Nor can these be read: {', '.join(named)}{more}."


def map_distinct(distinct: Iterable[Any], groups: NDArray[np.intp], function: Callable[[Any], Any]) -> list[Any]:
    """Apply a function to each distinct label; ``groups`` tells which rows to name where it raises ``ValueError``."""
    results: list[Any] = []
    bad: dict[int, tuple[Any, str]] = {}
    for group, label in enumerate(distinct):
        try:
            results.append(function(label))
        except ValueError as error:
            bad[group] = (label, str(error))
    if bad:
        raise unreadable(bad, groups)
    return results


def unreadable(bad: dict[int, tuple[Any, str]], groups: NDArray[np.intp]) -> UnreadableLabelsError:
    """Error about the distinct labels of these numbers, each with its reason; ``groups`` gives every row's number."""
    occurring, first, counts = np.unique(groups, return_index=True, return_counts=True)
    places = {int(group): (int(row), int(n)) for group, row, n in zip(occurring, first, counts, strict=True)}
    rows = sorted((*places[group], *why) for group, why in bad.items())
    return UnreadableLabelsError(rows[0][3], [(label, count, row) for row, count, label, _ in rows])


def values_of(label: Any) -> Iterable[Any]:
    return label if isinstance(label, (tuple, set, frozenset)) else (label,)


def has_name(label: Any) -> bool:
    """Whether a label has a name in it, and not only numbers."""
    return any(isinstance(value, str) for value in values_of(label))


def mixed_types(label: Any, most: str) -> str:
    """Error message for a number among names, or the reverse; ``most`` is what the other labels are."""
    why = f"where most are {most}, and these have no common order. Correct it, or {declare()}"
    return f"a label is {one_line(label)} {why}"


def is_date_cell(value: Any) -> bool:
    """Whether a value is a date, as a cell of a spreadsheet is that was typed as 1-2, or the text of one."""
    if isinstance(value, str):
        return _ISO_DATE.fullmatch(value.strip()) is not None
    return isinstance(value, (date, np.datetime64)) and not is_missing(value)


def date_cell(value: Any) -> str:
    """Error message for a date among labels that are none."""
    return (
        f"cannot read {one_line(str(value))} as a label: spreadsheets turn 1-2 into such a date. Enter it as text, or "
        f"{declare()}"
    )


def declare() -> str:
    return f"declare the classes with {the_classes()}."
