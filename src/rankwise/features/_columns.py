"""Kinds of raw columns: what each learns from the rows it is fitted to, and how it turns values into features.

A number or a boolean gives one value a row, a category or a text gives the places of ones. All of a column is plain
numbers and strings, so that a model file can hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import murmurhash3_32

from rankwise._errors import RowError
from rankwise.features._arrow import Floats, coded_texts, decimal_mark, load_pyarrow, numbers, one_chunk, parsed_numbers

Places = tuple[NDArray[np.int64], NDArray[np.int64]]  # rows, and columns counted from the column's own first

_WORDS_OF_A_TEXT = 3.0  # a column whose values have more words than this in the mean is text
_NOT_A_WORD = r"[^\pL\pN_]+"


@dataclass(frozen=True)
class Rules:
    """What the encoder's parameters say about columns of every kind."""

    missing: str
    scaling: str
    categories: str
    unknown: str
    max_categories: int
    indicate_missing: bool
    n_hashed: int


@dataclass(frozen=True)
class NumberColumn:
    """A number, or a boolean as 0 and 1: ``(value - shift) * factor``, with ``fill`` for a missing value."""

    name: str
    kind: str
    shift: float = 0.0
    factor: float = 1.0
    fill: float = 0.0
    indicated: bool = False
    decimal: str = "."  #: decimal mark of numbers written as text

    def read(self, column: Any) -> tuple[Floats, NDArray[np.bool_] | None]:
        """Values, NaN where there is none, and which texts, if it holds texts, are no numbers."""
        pa = load_pyarrow()
        if _is_text(pa, column.type):
            return parsed_numbers(column, self.decimal)
        if not (_is_numeric(pa, column.type) or pa.types.is_boolean(column.type) or pa.types.is_null(column.type)):
            raise ValueError(f"column {self.name!r} held numbers when fitted, and now {column.type}.")
        return numbers(column), None

    def problems(self, column: Any, rules: Rules) -> Iterator[RowError]:
        """Rows that cannot be encoded."""
        values, other = self.read(column)
        for row in () if other is None else np.flatnonzero(other).tolist():
            text, mark = column[row].as_py(), " with a decimal comma" * (self.decimal == ",")
            hint = f"If the column holds categories, declare its kind as 'category' (--kind {self.name}=category)."
            yield RowError(f"a number{mark} is needed. Got the text {text!r}. {hint}", row, self.name)
        for row in np.flatnonzero(np.isinf(values)).tolist():
            yield RowError(f"a number must be finite. Got {values[row]}; X contains infinity.", row, self.name)
        if rules.missing == "refuse":
            yield from _refuse_missing(self.name, np.isnan(values) & (True if other is None else ~other))


@dataclass(frozen=True)
class CategoryColumn:
    """A category: a one at its place among those that were met, or at its hashed place if there were too many."""

    name: str
    kind: str
    categories: list[str] = field(default_factory=list)
    hashed: bool = False
    other: bool = False
    indicated: bool = False

    @property
    def width(self) -> int:
        """Columns of its own, apart from the hashed ones."""
        return 0 if self.hashed else len(self.categories) + self.other

    def names(self) -> list[str]:
        """Names of these columns."""
        if self.hashed:
            return []
        return [f"{self.name}={text}" for text in self.categories] + [f"{self.name} is new"] * self.other

    def places(self, column: Any, rules: Rules) -> Places:
        """Rows and places of the ones."""
        texts, codes = coded_texts(column)
        if self.hashed:
            table = np.array([hashed_place(self.name, text, rules.n_hashed) for text in texts] + [-1])
        else:
            known = {text: place for place, text in enumerate(self.categories)}
            unknown = len(self.categories) if self.other else -1
            table = np.array([known.get(text, unknown) for text in texts] + [-1])
        places = table[codes]
        rows = np.flatnonzero(places >= 0)
        return rows, places[rows]

    def problems(self, column: Any, rules: Rules) -> Iterator[RowError]:
        """Rows that cannot be encoded."""
        texts, codes = coded_texts(column)
        if rules.missing == "refuse":
            yield from _refuse_missing(self.name, codes < 0)
        if rules.unknown == "refuse" and not self.hashed:
            known = set(self.categories)
            strange = np.array([text not in known for text in texts] + [False])
            for row in np.flatnonzero(strange[codes]).tolist():
                text = texts[codes[row]]
                yield RowError(f"a category must be one of those met in fit. Got {text!r}.", row, self.name)


@dataclass(frozen=True)
class TextColumn:
    """A text: a one at the hashed place of each of its words, in lower case; a word that is repeated counts once."""

    name: str
    kind: str = "text"
    indicated: bool = False

    def places(self, column: Any, rules: Rules) -> Places:
        """Rows and places of the ones; a place may occur twice in a row."""
        pa = load_pyarrow()
        words = _words(pa, column)
        rows = pa.compute.list_parent_indices(words).to_numpy(zero_copy_only=False)
        texts, codes = coded_texts(pa.compute.list_flatten(words))
        table = np.array([hashed_place(self.name, text, rules.n_hashed) if text else -1 for text in texts] + [-1])
        places = table[codes]
        counted = np.flatnonzero(places >= 0)
        return rows[counted], places[counted]

    def problems(self, column: Any, rules: Rules) -> Iterator[RowError]:
        """Rows that cannot be encoded."""
        if rules.missing == "refuse":
            yield from _refuse_missing(self.name, column.is_null().to_numpy(zero_copy_only=False))


Column = NumberColumn | CategoryColumn | TextColumn
_CLASSES: dict[str, type[Any]] = dict(
    number=NumberColumn, boolean=NumberColumn, category=CategoryColumn, text=TextColumn
)
KINDS = (*_CLASSES, "ignore")


def from_plain(plain: Mapping[str, Any]) -> Column:
    """Column that ``asdict`` described, after checking that it can be one."""
    column: Column = _CLASSES[plain["kind"]](**plain)
    flags = column.indicated, getattr(column, "hashed", False), getattr(column, "other", False)
    if not isinstance(column.name, str) or not all(isinstance(flag, bool) for flag in flags):
        raise ValueError(f"a column needs a name, and a yes or no. Got {column!r}")
    if isinstance(column, NumberColumn) and not (
        all(isinstance(v, float) and np.isfinite(v) for v in (column.shift, column.factor, column.fill))
        and column.decimal in (".", ",")
    ):
        raise ValueError(f"a column of numbers needs finite numbers and a decimal mark. Got {column!r}")
    if isinstance(column, CategoryColumn) and not (
        isinstance(column.categories, list)
        and all(isinstance(text, str) for text in column.categories)
        and len(set(column.categories)) == len(column.categories)
    ):
        raise ValueError(f"a column of categories needs distinct texts. Got {column!r}")
    return column


def kind_of(name: str, column: Any) -> str:
    """Kind of a column by its type; a column of strings may be numbers, or texts of several words."""
    pa = load_pyarrow()
    kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        return "ignore"
    if pa.types.is_boolean(kind):
        return "boolean"
    if _is_numeric(pa, kind):
        return "number"
    if pa.types.is_dictionary(kind):
        return "category"
    if _is_text(pa, kind):
        if decimal_mark(name, column) is not None:
            return "number"
        return "text" if _mean_words(pa, column) > _WORDS_OF_A_TEXT else "category"
    if pa.types.is_temporal(kind):
        raise ValueError(
            f"column {name!r} holds dates or times ({kind}), which have no fixed meaning as a feature: leave it out, "
            f"or put a number in its place, such as the days since a fixed day, the month or the hour."
        )
    raise ValueError(
        f"column {name!r} holds {kind}: a column must hold numbers, booleans, categories or texts. Leave it out."
    )


def fit_column(name: str, kind: str, column: Any, rules: Rules) -> Column:
    """What a column of a given kind learns from its values."""
    if kind in ("number", "boolean"):
        return _fit_number(name, kind, column, rules)
    if kind == "category":
        texts, codes = coded_texts(column)
        indicated = rules.indicate_missing and bool((codes < 0).any())
        if rules.categories == "hash" or len(texts) > rules.max_categories:
            return CategoryColumn(name, kind, hashed=True, indicated=indicated)
        return CategoryColumn(name, kind, sorted(texts), other=rules.unknown == "column", indicated=indicated)
    pa = load_pyarrow()
    if not _is_text(pa, column.type) and not pa.types.is_dictionary(column.type):
        raise ValueError(f"column {name!r} cannot be text: it holds {column.type}.")
    return TextColumn(name, indicated=rules.indicate_missing and column.null_count > 0)


def _fit_number(name: str, kind: str, column: Any, rules: Rules) -> NumberColumn:
    decimal = (decimal_mark(name, column) if _is_text(load_pyarrow(), column.type) else None) or "."
    values, _ = NumberColumn(name, kind, decimal=decimal).read(column)
    missing = np.isnan(values)
    known = values[np.isfinite(values)]
    if known.size == 0:
        raise ValueError(f"column {name!r} holds no finite number in the rows to fit: leave it out.")
    fill = float(np.median(known)) if rules.missing == "median" else float(known.mean())
    shift, factor = (0.0, 1.0) if kind == "boolean" else _scale(known, rules.scaling)
    return NumberColumn(name, kind, shift, factor, fill, rules.indicate_missing and bool(missing.any()), decimal)


def _scale(values: Floats, scaling: str) -> tuple[float, float]:
    """Shift and factor; a constant column is only shifted."""
    if scaling == "none":
        return 0.0, 1.0
    with np.errstate(over="ignore", invalid="ignore"):  # numbers up to 1e308 have a spread that is none
        if scaling == "standard":
            shift, spread = float(values.mean()), float(values.std())
        elif scaling == "minmax":
            shift, spread = float(values.min()), float(values.max() - values.min())
        else:
            low, shift, high = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
            spread = high - low
        factor = 1.0 / spread if spread > 0 and np.isfinite(spread) else 1.0
    if not np.isfinite(shift) or not np.isfinite(factor):
        return 0.0, 1.0
    return shift, factor


def hashed_place(name: str, text: str, n_hashed: int) -> int:
    """Place of a value among the hashed columns, which all columns share."""
    return int(murmurhash3_32(f"{name}={text}".encode(), seed=0, positive=True)) % n_hashed


def missing_rows(column: Any, encoder: Column) -> NDArray[np.bool_]:
    """Rows without a value, NaN included."""
    if isinstance(encoder, NumberColumn):
        return np.isnan(encoder.read(column)[0])
    if isinstance(encoder, CategoryColumn):
        return np.asarray(coded_texts(column)[1] < 0)
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def _refuse_missing(name: str, missing: NDArray[np.bool_]) -> Iterator[RowError]:
    for row in np.flatnonzero(missing).tolist():
        yield RowError(
            "a value is missing (NaN), and missing='refuse'. Give missing='mean' or 'median', or drop it.", row, name
        )


def _is_numeric(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _words(pa: Any, column: Any) -> Any:
    """List of the words of every row, empty texts among them."""
    texts = one_chunk(column).cast(pa.large_string()).fill_null("")
    return pa.compute.split_pattern_regex(pa.compute.utf8_lower(texts), _NOT_A_WORD)


def _mean_words(pa: Any, column: Any) -> float:
    """Mean number of words of the values that are not missing."""
    words = pa.compute.list_flatten(_words(pa, column))
    n_words = len(words) - (pa.compute.sum(pa.compute.equal(words, "")).as_py() or 0)
    return float(n_words / max(1, len(column) - column.null_count))
