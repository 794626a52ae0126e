"""The smallest change of one column that changes the predicted class of a row.

Numbers are searched among the values of other rows, on both sides of the row's own value; bisection then finds where
the class changes. Categories and booleans are tried one by one. Only values within the range of the other rows are
proposed. Dates and texts are not changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.explanations._exchangeable_rows import RawRows
from rankwise.explanations._scored_model import Target
from rankwise.labels import encode

CodesOf = Callable[[list[Any]], NDArray[np.intp]]  # codes predicted for a row with each of these values in a column
New = tuple[Any, int, float]  # a value that changes the class, the code of the new class, and the size of the change

_GRID = 65  # values of a column that are tried
_HALVINGS = 30
_MOST_CATEGORIES = 50


@dataclass(frozen=True)
class Change:
    """A new value for one column of a row, and the class that the model then predicts."""

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
    """Changes of single columns that change the predicted class of a row, the smallest ones first."""
    one, classes, predict = rows.take([row]), target.classes, target.model.given.predict

    def predicted(some: RawRows) -> NDArray[np.intp]:
        return np.asarray(encode(predict(some.given(target.takes_arrow)), classes).lower, dtype=np.intp)

    def with_values(name: str, values: list[Any]) -> NDArray[np.intp]:
        """Codes predicted for the row with each of these values in a column."""
        copies = one.take(np.zeros(len(values), dtype=np.intp))
        return predicted(copies.replaced(name, one.column_of(name, values)))

    old_code = int(predicted(one)[0])
    changes: list[Change] = []
    for name in rows.names:
        own, numbers = rows.value(row, name), background.as_numbers(name)
        codes_of = partial(with_values, name)
        if numbers is None:
            others = _other_categories(own, background.categories(name), codes_of, old_code)
        else:
            others = _nearest_numbers(own, numbers[np.isfinite(numbers)], codes_of, old_code)
        changes += [Change(name, own, new, classes[old_code], classes[code], size) for new, code, size in others]
    return sorted(changes, key=lambda change: (np.isnan(change.size), change.size))


def _other_categories(own: Any, categories: list[Any], codes_of: CodesOf, old_code: int) -> Iterator[New]:
    values = [value for value in categories if value != own]
    if not values or len(values) > _MOST_CATEGORIES:
        return
    for value, code in zip(values, codes_of(values).tolist(), strict=True):
        if code != old_code:
            yield value, code, np.nan


def _nearest_numbers(own: Any, numbers: Floats, codes_of: CodesOf, old_code: int) -> Iterator[New]:
    """The numbers nearest to the row's own, on either side, that change the predicted class."""
    if own is None or own != own or numbers.size < 2 or numbers.min() == numbers.max():
        return
    grid = np.unique(np.quantile(numbers, np.linspace(0, 1, _GRID)))
    for values in (grid[grid < own][::-1], grid[grid > own]):
        codes = codes_of(values.tolist()) if values.size else np.empty(0, dtype=np.intp)
        changed = np.flatnonzero(codes != old_code)
        if not changed.size:
            continue
        first = int(changed[0])
        inside, outside = float(own) if first == 0 else float(values[first - 1]), float(values[first])
        new_code = int(codes[first])
        whole = float(own).is_integer() and bool((values == np.round(values)).all())
        for _ in range(_HALVINGS):
            middle = 0.5 * (inside + outside)
            if whole:
                middle = float(np.floor(middle) if outside > inside else np.ceil(middle))
            if middle in (inside, outside):
                break
            code = int(codes_of([middle])[0])
            if code == old_code:
                inside = middle
            else:
                outside, new_code = middle, code
        yield outside, new_code, abs(outside - float(own)) / float(numbers.std())
