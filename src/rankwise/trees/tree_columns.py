"""Raw columns as trees take them: numbers and missing values as they are, categories as whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rankwise._errors import RowError
from rankwise._types import Floats
from rankwise.features.arrow_columns import as_table, coded_texts, load_pyarrow
from rankwise.features.column_kinds import DECIMAL_COMMA, kind_of
from rankwise.features.date_texts import ORDER_NOTES, ORDERS
from rankwise.features.encoded_columns import NumberColumn
from rankwise.features.encoding_rules import Rules

_RULES = Rules()


@dataclass(frozen=True)
class RawColumn:
    """One column: a number, with its decimal mark if it is written as text, or a category with its values."""

    name: str
    kind: str  # "number", "category", "ordered", "date", the days since 1970, or "duration", in days
    values: list[str] = field(default_factory=list)  # categories that were met in fit; levels, the lowest first
    decimal: str = "."  # decimal mark of numbers that are written as text
    order: str = "ymd"  # of the parts of dates that are written as text

    @property
    def form(self) -> tuple[str, str, str]:
        """How its values are written, which must be the same everywhere."""
        return self.kind, self.decimal, self.order

    @classmethod
    def fitted(cls, name: str, column: Any, declared: bool) -> RawColumn:
        """Column of a kind that follows from its type and values, or of categories if ``declared``."""
        kind, note = ("category", "") if declared else kind_of(name, column, stream=True)  # trees pass over constants
        if kind == "text":
            raise ValueError(
                f"column {name!r} holds texts of several words, not categories: leave it out, or encode the table with "
                f"TableEncoder."
            )
        if kind == "category" or (kind == "ignore" and load_pyarrow().types.is_dictionary(column.type)):
            return cls(name, "category", sorted(coded_texts(column)[0]))
        if kind == "ordered":
            return cls(name, kind, coded_texts(column)[0])
        if kind == "ignore":  # nothing in it: trees pass over it
            return cls(name, "number")
        kind = "number" if kind == "boolean" else kind
        order = next((order for order, text in ORDER_NOTES.items() if note == text), "ymd")
        return cls(name, kind, decimal="," if note == DECIMAL_COMMA else ".", order=order)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> RawColumn:
        """Column of a model file, after a check."""
        column = cls(**plain)
        texts = [column.name, column.kind, column.decimal, *column.values]
        known = column.kind in ("number", "date", "duration", "category", "ordered") and column.decimal in (".", ",")
        known = known and column.order in ORDERS
        distinct = all(isinstance(text, str) for text in texts) and len(set(column.values)) == len(column.values)
        if not known or not distinct:
            raise ValueError(f"a column needs a name, a kind and distinct categories. Got {column!r}"[:200])
        return column

    def read(self, column: Any) -> Floats:
        """Numbers, or places of the categories; NaN for missing values and categories unseen in fit."""
        if self.kind in ("category", "ordered"):
            texts, codes = coded_texts(column)
            place = {text: i for i, text in enumerate(self.values)}
            return np.array([*(place.get(text, np.nan) for text in texts), np.nan])[codes]
        part = "days" if self.kind == "date" else ""
        number = NumberColumn(self.name, self.kind, decimal=self.decimal, part=part, order=self.order)
        values, other = number.read(column)
        if other is not None and other.any():
            raise next(number.problems(column, _RULES))
        return values


class RawColumns:
    """All columns of a table, in the order of the features."""

    def __init__(self, columns: Sequence[RawColumn]) -> None:
        self.columns = list(columns)

    @classmethod
    def fitted(cls, table: Any, declared: Sequence[str]) -> RawColumns:
        """Columns of a table; ``declared`` names those of categories, whatever their type."""
        names = table.column_names
        if len(set(names)) < len(names):
            raise ValueError("a column name occurs twice: columns are known by their names.")
        return cls([RawColumn.fitted(name, table.column(name), name in declared) for name in names])

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    @property
    def categorical(self) -> list[int]:
        """Places of the categories."""
        return [j for j, column in enumerate(self.columns) if column.kind == "category"]

    def matrix(self, X: Any) -> Floats:
        """Rows of a table as numbers."""
        table = as_table(X)
        absent = [name for name in self.names if name not in table.column_names]
        if absent:
            raise ValueError(f"the table has no column {absent[0]!r}; it has {', '.join(table.column_names[:12])}.")
        out = np.empty((table.num_rows, len(self.columns)))
        for j, column in enumerate(self.columns):
            out[:, j] = column.read(table.column(column.name))
            bad = np.flatnonzero(np.isinf(out[:, j]))
            if bad.size:
                raise RowError("a number must be finite or missing. X contains infinity.", int(bad[0]), column.name)
        return out

    def to_plain(self) -> list[dict[str, Any]]:
        """As plain values."""
        return [asdict(column) for column in self.columns]


def holds_only_numbers(frame: Any) -> bool:
    """Whether all columns of a table of pandas, polars or pyarrow are numbers or booleans."""
    kind = type(frame).__module__.partition(".")[0]
    if kind == "pandas":
        return all(getattr(dtype, "kind", "O") in "iufb" for dtype in frame.dtypes)
    if kind == "polars":
        return all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in frame.dtypes)
    types = (str(field.type) for field in frame.schema)
    return all(name.startswith(("int", "uint", "float", "double", "half", "bool")) for name in types)


def is_frame(X: Any) -> bool:
    """Whether X is a table of pandas, polars or pyarrow."""
    kind = type(X).__module__.partition(".")[0]
    return kind in ("pandas", "polars", "pyarrow") and (hasattr(X, "columns") or hasattr(X, "schema"))


def coded(column: Floats, values: Floats) -> Floats:
    """Place of each number among the known ones, which ascend; NaN for any other."""
    place = np.minimum(np.searchsorted(values, column), max(values.size - 1, 0))
    known = values[place] == column if values.size else np.zeros(column.size, dtype=bool)
    return np.where(known, place.astype(np.float64), np.nan)
