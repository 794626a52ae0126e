"""Columns of ordered categories: indicators of "at least this level", or scores.

Thresholded indicators say what the order knows and no more. Without a penalty they fit as freely as one indicator for
each level, and a weight is the step from the level below; a ridge penalty shrinks these steps, so that neighbouring
levels get similar effects. Scores 0, 1, 2, ... assume that all steps are equal.

Sources: Walter, Feinstein and Wells, "Coding ordinal independent variables in multiple regression analyses", 1987;
Gertheiss and Tutz, "Penalized regression with ordinal predictors", 2009.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwise._errors import RowError
from rankwise._types import Floats
from rankwise.features.arrow_columns import coded_texts, load_pyarrow
from rankwise.features.encoding_rules import Entries, Rules, refuse_missing, scale

WAYS = ("cumulative", "scores", "codes")


@dataclass(frozen=True)
class OrderedColumn:
    """An ordered category: a one for each cut that its level reaches, its score, or its place for trees."""

    name: str
    kind: str
    levels: list[str] = field(default_factory=list)  #: lowest first, also those that no row of ``fit`` has
    how: str = "cumulative"
    cuts: list[int] = field(default_factory=list)  #: places of the levels that have an indicator "at least this"
    fill: list[float] = field(default_factory=list)  #: features of a row whose level is missing or not known
    shift: float = 0.0  #: scores are ``(place - shift) * factor``
    factor: float = 1.0
    other: bool = False  #: whether levels that are not known have a column
    indicated: bool = False
    hashed = False

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.fill) + self.other

    def names(self) -> list[str]:
        """Names of these columns."""
        own = [f"{self.name}>={self.levels[cut]}" for cut in self.cuts] if self.how == "cumulative" else [self.name]
        return own + [f"{self.name} is new"] * self.other

    def entries(self, column: Any, rules: Rules) -> Entries:
        """Rows, places and values of the features that are not zero."""
        places, is_new = self._places(column)
        known = places >= 0
        if self.how == "cumulative":
            values = (places[:, None] >= np.array(self.cuts, dtype=np.int64)).astype(np.float64)
        else:
            values = ((places - self.shift) * self.factor)[:, None]
        values[~known] = self.fill if rules.missing != "keep" else np.nan
        if self.other:
            values = np.column_stack([values, is_new])
        rows, columns = np.nonzero(values)
        return rows, columns, values[rows, columns]

    def problems(self, column: Any, rules: Rules) -> Iterator[RowError]:
        """Rows that are refused."""
        if rules.missing == "refuse":
            yield from refuse_missing(self.name, coded_texts(column)[1] < 0)
        if rules.unknown == "refuse":
            for row in np.flatnonzero(self._places(column)[1]).tolist():
                reason = f"a level must be one of {', '.join(self.levels)}. Got {column[row].as_py()!r}."
                yield RowError(reason, row, self.name)

    def _places(self, column: Any) -> tuple[Any, Any]:
        """Place of every row's level, -1 where it is missing or not known; and where it is not known."""
        texts, codes = coded_texts(column)
        known = {level: place for place, level in enumerate(self.levels)}
        places = np.array([*(known.get(text, -1) for text in texts), -1], dtype=np.int64)[codes]
        return places, (codes >= 0) & (places < 0)


def is_ordered(kind: Any) -> bool:
    """Whether a type of Arrow is that of ordered categories."""
    return bool(load_pyarrow().types.is_dictionary(kind) and kind.ordered)


def fit_ordered(name: str, column: Any, rules: Rules) -> OrderedColumn:
    """Column of ordered categories, fitted to the rows of one."""
    if not is_ordered(column.type):
        raise ValueError(
            f"column {name!r} cannot be ordered: its type, {column.type}, has no order. Give an ordered Categorical of "
            f"pandas, an Enum of polars, or an ordered dictionary of Arrow."
        )
    levels, codes = coded_texts(column)
    ranks = codes[codes >= 0]
    if not ranks.size:
        raise ValueError(f"column {name!r} holds no value in the rows to fit: leave it out.")
    counts = np.bincount(ranks, minlength=len(levels))
    has_missing = bool((codes < 0).any())
    indicated = has_missing and (rules.indicate_missing or rules.has_reference)
    if rules.categories == "codes":
        return OrderedColumn(name, "ordered", levels, "codes", [], [np.nan], indicated=indicated)
    other = rules.unknown == "column"
    if rules.ordered == "scores":
        shift, factor = scale(ranks.astype(np.float64), rules.scaling)
        middle = float(np.median(ranks) if rules.missing == "median" else ranks.mean())
        fill = [(middle - shift) * factor]
        return OrderedColumn(name, "ordered", levels, "scores", [], fill, shift, factor, other, indicated)
    cuts = np.flatnonzero(counts)[1:]
    cuts = cuts[counts[cuts] >= rules.min_category_rows]
    cuts = np.sort(cuts[np.argsort(-counts[cuts], kind="stable")][: rules.max_categories])
    shares: Floats = (ranks[:, None] >= cuts).mean(axis=0)
    fill = ((shares >= 0.5).astype(np.float64) if rules.missing == "median" else shares).tolist()
    return OrderedColumn(name, "ordered", levels, "cumulative", cuts.tolist(), fill, other=other, indicated=indicated)


def check_ordered(column: OrderedColumn) -> None:
    """Refuse a column of a model file that cannot be one of ordered categories."""
    levels, cuts, fill = column.levels, column.cuts, column.fill
    texts = isinstance(levels, list) and all(isinstance(level, str) for level in levels)
    if not texts or not levels or len(set(levels)) != len(levels):
        raise ValueError(f"a column of ordered categories needs distinct levels. Got {levels!r}")
    if column.how not in WAYS or not (isinstance(cuts, list) and isinstance(fill, list)):
        raise ValueError(f"ordered categories are {', '.join(WAYS)}. Got {column.how!r}")
    inside = all(type(cut) is int and 0 < cut < len(levels) for cut in cuts)
    n_features = len(cuts) if column.how == "cumulative" else 1
    if not inside or sorted(set(cuts)) != cuts or (column.how != "cumulative" and cuts) or len(fill) != n_features:
        raise ValueError(f"the cuts of ordered categories must rise and have a value for missing ones. Got {cuts!r}")
    numbers = [column.shift, column.factor, *([] if column.how == "codes" else fill)]
    if not all(isinstance(value, float) and np.isfinite(value) for value in numbers):
        raise ValueError(f"the features of ordered categories must be finite. Got {numbers!r}")
