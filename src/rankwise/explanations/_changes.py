"""The smallest change of one column that moves a row to the next class: what would have to be different.

Columns of numbers are searched among the values that other rows have, to both sides of the row's own, and the place
where the class changes is then found by bisection; categories and booleans are tried one by one. Nothing outside of the
range of the other rows is proposed. Dates and texts are not changed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.explanations._exchangeable_rows import RawRows
from rankwise.explanations._scored_model import Target
from rankwise.labels import encode

_GRID = 65  # values of a column that are tried
_HALVINGS = 30
_MOST_CATEGORIES = 50


@dataclass(frozen=True)
class Change:
    """One column of one row with another value, and the class that the model gives it then."""

    column: str
    old: Any
    new: Any
    old_class: Any
    new_class: Any
    size: float  #: of a number, in standard deviations of its column; NaN for categories

    def __str__(self) -> str:
        old, new = (f"{v:.4g}" if isinstance(v, float) else str(v) for v in (self.old, self.new))
        return f"{self.column}: {old} -> {new} would make it {self.new_class} instead of {self.old_class}"


def smallest_changes(target: Target, rows: RawRows, row: int, background: RawRows) -> list[Change]:
    """Changes of single columns that move a row one class up or down or further, the smallest ones first."""
    classes = target.classes

    def codes(some: RawRows) -> NDArray[np.intp]:
        predicted = target.model.predict(some.given(target.takes_arrow))
        return np.asarray(encode(predicted, classes).lower, dtype=np.intp)

    one = rows.take([row])
    now = int(codes(one)[0])
    found: list[Change] = []
    for name in rows.names:
        own = rows.value(row, name)
        numbers = background.as_numbers(name)
        if numbers is None:
            found += _other_categories(name, own, one, background, codes, now, classes)
            continue
        known = numbers[np.isfinite(numbers)]
        if own is None or own != own or known.size < 2 or known.min() == known.max():
            continue
        grid = np.unique(np.quantile(known, np.linspace(0, 1, _GRID)))
        spread = float(known.std())
        for side in (grid[grid < own][::-1], grid[grid > own]):
            place, reached = _first_other(name, own, side, one, codes, now)
            if reached is not None:
                size = abs(place - float(own)) / spread
                found.append(Change(name, own, place, classes[now], classes[reached], size))
    return sorted(found, key=lambda change: (np.isnan(change.size), change.size))


def _tried(name: str, values: list[Any], one: RawRows, codes: Any) -> NDArray[np.intp]:
    many = one.take(np.zeros(len(values), dtype=np.intp))
    return np.asarray(codes(many.replaced(name, one.column_of(name, values))))


def _first_other(name: str, own: float, values: Floats, one: RawRows, codes: Any, now: int) -> tuple[float, int | None]:
    """The value nearest to the own one, on one side, at which the class is another; None if there is none."""
    if values.size == 0:
        return 0.0, None
    tried = _tried(name, values.tolist(), one, codes)
    others = np.flatnonzero(tried != now)
    if others.size == 0:
        return 0.0, None
    first = int(others[0])
    inside, outside = float(own) if first == 0 else float(values[first - 1]), float(values[first])
    reached = int(tried[first])
    whole = float(own).is_integer() and bool((values == np.round(values)).all())
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        if whole:
            middle = float(np.floor(middle) if outside > inside else np.ceil(middle))
        if middle in (inside, outside):
            break
        code = int(_tried(name, [middle], one, codes)[0])
        if code == now:
            inside = middle
        else:
            outside, reached = middle, code
    return outside, reached


def _other_categories(
    name: str, own: Any, one: RawRows, background: RawRows, codes: Any, now: int, classes: Any
) -> list[Change]:
    values = [value for value in background.categories(name) if value != own]
    if not values or len(values) > _MOST_CATEGORIES:
        return []
    tried = _tried(name, values, one, codes)
    return [
        Change(name, own, value, classes[now], classes[code], np.nan)
        for value, code in zip(values, tried.tolist(), strict=True)
        if code != now
    ]
