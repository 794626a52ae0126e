"""One answer of a rater, as in the files of annotation tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankwise.io.table_errors import TableError
from rankwise.labels import ClassOrder, encode


@dataclass(frozen=True)
class Answer:
    """The label that a rater, or a model, gave to an item."""

    item: Any
    rater: Any
    label: Any  # a class, a tuple (lower, upper) with None for an open end, a frozenset of candidates, or None
    seconds: float | None = None  # time it took
    score: float | None = None  # confidence of a model
    by_model: bool = False
    is_decision: bool = False  # takes the place of the raters' answers


@dataclass(frozen=True)
class Controls:
    """Names under which an annotation tool keeps labels."""

    question: str | None  # None takes any
    ends: tuple[str, str]  # questions for the lower and the upper end of a range
    order: ClassOrder | None = None  # for tools that need every class of a range

    def members(self, label: Any) -> list[Any]:
        """Classes that a label admits, lowest first."""
        if self.order is not None:
            admitted = encode([label], self.order).admissible()[0]
            return list(self.order.values[admitted].tolist())
        return sorted(label, key=str) if isinstance(label, (tuple, frozenset)) else [label]


def interval(lower: Any, upper: Any) -> Any:
    """Label with two ends; a single class where they are equal."""
    return lower if lower == upper else (lower, upper)


def as_whole(value: Any) -> Any:
    """Convert whole floats to int: JSON of other tools writes 3 as 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_number(value: Any) -> Any:
    """Convert a text that is a number, such as an option of a choice; None for an empty text."""
    if not isinstance(value, str):
        return as_whole(value)
    try:
        return as_whole(float(value))
    except ValueError:
        return value or None


def candidates(values: Any) -> Any:
    """Label that admits one or several options."""
    members = [as_number(value) for value in values]
    return frozenset(members) if len(members) > 1 else next(iter(members), None)


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    """Return a JSON object; raise for anything else."""
    if not isinstance(value, Mapping):
        raise TableError(f"{what} must be a JSON object. Got {type(value).__name__}.")
    return value


def sequence(value: Any, what: str, of: str) -> list[Any]:
    """Return a JSON list; raise for anything else."""
    if not isinstance(value, list):
        raise TableError(f"{what} must be a JSON list of {of}. Got {type(value).__name__}.")
    return value
