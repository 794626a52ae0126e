"""One answer of a rater, as the files of annotation tools hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankwise.io._table_errors import TableError
from rankwise.labels import ClassOrder, encode


@dataclass(frozen=True)
class Answer:
    """What a rater, or a model, said about an item."""

    item: Any
    rater: Any
    label: Any  # a class, a tuple (lower, upper) with None for an open end, a frozenset of candidates, or None
    seconds: float | None = None  # how long it took
    score: float | None = None  # how sure a model is
    by_model: bool = False


@dataclass(frozen=True)
class Controls:
    """Names under which an annotation tool keeps labels."""

    question: str | None  # None takes whatever there is
    ends: tuple[str, str]  # questions for the lower and the upper end of a range
    order: ClassOrder | None = None  # for tools that need every class of a range

    def members(self, label: Any) -> list[Any]:
        """Classes that a label admits, lowest first."""
        if self.order is not None:
            admitted = encode([label], self.order).admissible()[0]
            return list(self.order.values[admitted].tolist())
        return sorted(label, key=str) if isinstance(label, (tuple, frozenset)) else [label]


def interval(lower: Any, upper: Any) -> Any:
    """Label with two ends: one class where they are the same."""
    return lower if lower == upper else (lower, upper)


def as_whole(value: Any) -> Any:
    """JSON of other tools writes 3 as 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_number(value: Any) -> Any:
    """A number where a text is one, as options of a choice are; None where a text is empty."""
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
    """Refuse what is no JSON object."""
    if not isinstance(value, Mapping):
        raise TableError(f"{what} must be a JSON object. Got {type(value).__name__}.")
    return value


def sequence(value: Any, what: str, of: str) -> list[Any]:
    """Refuse what is no JSON list."""
    if not isinstance(value, list):
        raise TableError(f"{what} must be a JSON list of {of}. Got {type(value).__name__}.")
    return value
