"""Kinds of raw columns: what each learns in ``fit``, and how it turns values into features.

A number, a boolean, a duration or a part of a date gives one value a row, or seven if it is bent; a category or a text
gives entries of a sparse row. Columns consist of plain numbers and strings, so that a model file can hold them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise._kernels.scaling import put_column, put_splines
from rankwise._types import Floats
from rankwise._words import either, remedy, setting, when_fitting
from rankwise.features import _dates
from rankwise.features._ordered import OrderedColumn, check_ordered, fit_ordered
from rankwise.features._splines import N_KNOTS, N_SPLINES, are_independent, full_knots, knots_of, peaks, spline_values
from rankwise.features._texts import TextColumn, fit_text
from rankwise.features.arrow_columns import (
    coded_texts,
    decimal_mark,
    hashed_place,
    is_numeric,
    is_text,
    load_pyarrow,
    numbers,
    parsed_numbers,
)
from rankwise.features.date_texts import ORDERS, date_order
from rankwise.features.encoding_rules import Entries, Rules, refuse_missing, scale

_BETWEEN = re.compile(r"[+-]?\d+(?:[.,]\d+)?")


@dataclass(frozen=True)
class NumberColumn:
    """A number a row: ``(value - shift) * factor`` with ``fill`` for a missing value, or splines of it if it has knots.

    A boolean counts as 0 and 1, a duration in days. A date has several of these, one for each part.
    """

    name: str
    kind: str
    shift: float = 0.0
    factor: float = 1.0
    fill: float = 0.0
    indicated: bool = False
    decimal: str = "."  #: decimal mark of numbers written as text
    part: str = ""  #: of a date
    origin: float = 0.0  #: moment from which the days of a date are counted
    order: str = "ymd"  #: of the parts of dates written as text
    knots: list[float] = field(default_factory=list)
    spline_shift: list[float] = field(default_factory=list)
    spline_factor: list[float] = field(default_factory=list)
    drop_first: bool = False  #: whether the first spline is left out: all of them add up to one

    @property
    def width(self) -> int:
        """Features that it gives."""
        return N_SPLINES - self.skip if self.knots else 1

    @property
    def skip(self) -> int:
        """Number of splines that are left out, the first ones."""
        return int(self.drop_first)

    @property
    def label(self) -> str:
        if not self.part:
            return self.name
        return f"{self.name}: {'days since ' + _dates.day_name(self.origin) if self.part == 'days' else self.part}"

    def names(self) -> list[str]:
        return [f"{self.label} near {peak}" for peak in peaks(self.knots)[self.skip :]] if self.knots else [self.label]

    def read(self, column: Any) -> tuple[Floats, NDArray[np.bool_] | None]:
        """Values, NaN where missing; and, for a column of texts, which are neither numbers nor dates."""
        types = load_pyarrow().types
        kind = column.type
        if types.is_null(kind):
            return np.full(len(column), np.nan), None
        if self.kind == "date":
            if not (types.is_date(kind) or types.is_timestamp(kind) or is_text(kind)):
                raise ValueError(f"column {self.name!r} held dates when fitted, and now {kind}.")
            moments, other = _dates.seconds(column, self.order)
            return _dates.part_of(moments, self.part, self.origin), other
        if self.kind == "duration" and (types.is_duration(kind) or types.is_time(kind)):
            return _dates.days(column), None
        if is_text(kind):
            return parsed_numbers(column, self.decimal)
        if not (is_numeric(kind) or types.is_boolean(kind)):
            raise ValueError(f"column {self.name!r} held {self.kind}s when fitted, and now {kind}.")
        return numbers(column), None

    def put(self, values: Floats, out: NDArray[Any], j: int, start: int, stop: int) -> int:
        """Write the features of some rows, from column j on; return the worst kind of value met."""
        if not self.knots:
            return int(put_column(values, self.shift, self.factor, self.fill, out, j, start, stop))
        scale = np.asarray(self.spline_shift), np.asarray(self.spline_factor)
        return int(put_splines(values, full_knots(self.knots), *scale, self.fill, self.skip, out, j, start, stop))

    def problems(self, column: Any, rules: Rules) -> Iterator[RowError]:
        if self.part not in ("", "days"):  # all parts of a date have the same problems
            return
        values, other = self.read(column)
        for row in () if other is None or rules.slips == "missing" else np.flatnonzero(other).tolist():
            yield RowError(self.slip(column[row].as_py()), row, self.name)
        for row in np.flatnonzero(np.isinf(values)).tolist():
            yield RowError(f"a number must be finite. Got {values[row]}; X contains infinity.", row, self.name)
        if rules.missing == "refuse":
            missing = np.isnan(values) & (True if other is None or rules.slips == "missing" else ~other)
            yield from refuse_missing(self.name, missing)

    def slip(self, text: str) -> str:
        """Message about a text in a column of numbers or dates: what is wrong and how to correct it."""
        if self.kind == "date":
            return f"a date such as {ORDERS[self.order]} is needed. Got the text {text!r}."
        mark = " with a decimal comma" * (self.decimal == ",")
        numbers_in_it = _BETWEEN.findall(text)
        advice = f"Write {numbers_in_it[0].replace(',', '.')!r} if that is meant. " if len(numbers_in_it) == 1 else ""
        options = remedy(
            f"{when_fitting('--slips')}{setting('slips', 'missing')} takes such texts for missing values. If the "
            f"column holds categories, declare its kind as 'category' ({when_fitting('--kind')}"
            f"{either(f'kinds={{{self.name!r}: ...}}', f'--kind {self.name}=category')})."
        )
        return f"a number{mark} is needed. Got the text {text!r}. {advice}{options}".strip()

    def bent(self, values: Floats, rules: Rules) -> NumberColumn:
        """The same column with splines, if its finite values vary enough for them."""
        known = values[np.isfinite(values)]
        knots = knots_of(known) if known.size else None
        if knots is None:
            return self
        splines = spline_values(np.where(np.isnan(values), self.fill, values)[~np.isinf(values)], knots)
        if rules.has_reference and not are_independent(splines):
            return self
        how = "standard" if rules.scaling in ("standard", "robust") else "none"
        shift, factor = (list(side) for side in zip(*(scale(spline, how) for spline in splines.T), strict=True))
        bent = replace(self, knots=knots, spline_shift=shift, spline_factor=factor)
        return replace(bent, drop_first=rules.has_reference)


@dataclass(frozen=True)
class CategoryColumn:
    """A category: a one in its own column, in that of all rare ones, or at a hashed place."""

    name: str
    kind: str
    categories: list[str] = field(default_factory=list)
    hashed: bool = False
    other: bool = False
    indicated: bool = False
    rare: bool = False  #: whether the other categories share a column
    codes: bool = False  #: whether one column holds the place of the category instead of ones
    reference: str | None = None  #: the category that has no column: the others are compared with it

    @property
    def width(self) -> int:
        """Number of columns, apart from the hashed ones."""
        if self.codes:
            return 1
        return 0 if self.hashed else len(self.categories) + self.other + self.rare

    def names(self) -> list[str]:
        """Names of these columns."""
        if self.hashed or self.codes:
            return [self.name] * self.codes
        names = [f"{self.name}={text}" for text in self.categories]
        return names + [f"{self.name} is rare"] * self.rare + [f"{self.name} is new"] * self.other

    def entries(self, column: Any, rules: Rules) -> Entries:
        """Rows and places of the ones."""
        texts, codes = coded_texts(column)
        if self.hashed:
            table = np.array([hashed_place(self.name, text, rules.n_hashed) for text in texts] + [-1])
        else:
            known = {text: place for place, text in enumerate(self.categories)}
            unknown = len(self.categories) if self.other or self.rare else -1
            if self.reference is not None:
                known[self.reference] = -1
            table = np.array([known.get(text, unknown) for text in texts] + [-1])
        places = table[codes]
        if self.codes:
            every = np.arange(places.size)
            return every, np.zeros_like(every), np.where(places < 0, np.nan, places)
        rows = np.flatnonzero(places >= 0)
        return rows, places[rows], np.ones(rows.size)

    def problems(self, column: Any, rules: Rules) -> Iterator[RowError]:
        texts, codes = coded_texts(column)
        if rules.missing == "refuse":
            yield from refuse_missing(self.name, codes < 0)
        if rules.unknown == "refuse" and not self.hashed and not self.rare:
            known = {*self.categories, self.reference}
            is_new = np.array([text not in known for text in texts] + [False])
            for row in np.flatnonzero(is_new[codes]).tolist():
                text = texts[codes[row]]
                yield RowError(f"a category must be one of those met in fit. Got {text!r}.", row, self.name)


Column = NumberColumn | CategoryColumn | OrderedColumn | TextColumn
_CLASSES: dict[str, type[Any]] = dict(
    number=NumberColumn,
    boolean=NumberColumn,
    duration=NumberColumn,
    date=NumberColumn,
    category=CategoryColumn,
    ordered=OrderedColumn,
    text=TextColumn,
)
KINDS = (*_CLASSES, "date-dmy", "date-mdy", "ignore")


def from_plain(plain: Mapping[str, Any]) -> Column:
    """Column that ``asdict`` described, after checking that it can be one."""
    column: Column = _CLASSES[plain["kind"]](**plain)
    names = ("hashed", "other", "rare", "codes", "drop_first")
    flags = [column.indicated, *(getattr(column, flag, False) for flag in names)]
    if not isinstance(column.name, str) or not all(isinstance(flag, bool) for flag in flags):
        raise ValueError(f"a column needs a name, and a yes or no. Got {column!r}")
    if isinstance(column, NumberColumn):
        _check_number(column)
    elif isinstance(column, OrderedColumn):
        check_ordered(column)
    elif isinstance(column, CategoryColumn):
        _check_texts(column.categories, "a column of categories")
        if column.reference is not None:
            _check_texts([*column.categories, column.reference], "a column of categories with a reference")
        if column.rare and column.other:
            raise ValueError("new categories are rare ones: they have no column besides")
    else:
        _check_texts(column.words, "a column of texts")
        if column.weighting not in ("hash", "binary", "counts", "tfidf") or (column.hashed and column.words):
            raise ValueError(f"a column of texts needs a weighting. Got {column.weighting!r}")
        if not _are_finite(column.idf, len(column.words) if column.weighting == "tfidf" else 0):
            raise ValueError("a column of texts needs a weight for each word")
    return column


_LARGEST_SCALE = 1e100  # of splines, which are between 0 and 1: sums of such features are finite


def _check_number(column: NumberColumn) -> None:
    scalars = [column.shift, column.factor, column.fill, column.origin]
    if not _are_finite(scalars, len(scalars)) or column.decimal not in (".", ","):
        raise ValueError(f"a column of numbers needs finite numbers and a decimal mark. Got {column!r}")
    if column.order not in (ORDERS if column.kind == "date" else ("ymd",)):
        raise ValueError(f"the parts of a date have no order {column.order!r}")
    if column.part not in (_dates.PARTS if column.kind == "date" else ("",)) or abs(column.origin) > 1e13:
        raise ValueError(f"a date has no part {column.part!r} from {column.origin!r} on")
    n_splines = N_SPLINES if column.knots else 0
    if not (
        _are_finite(column.knots, N_KNOTS if column.knots else 0)
        and _are_finite(column.spline_shift, n_splines)
        and _are_finite(column.spline_factor, n_splines)
        and (np.diff(column.knots) > 0).all()
        and max(map(abs, [*column.spline_shift, *column.spline_factor]), default=0.0) <= _LARGEST_SCALE
    ):
        raise ValueError(f"splines need {N_KNOTS} rising knots and {N_SPLINES} scales. Got {column!r}")


def _are_finite(values: Any, length: int) -> bool:
    is_list = isinstance(values, list) and len(values) == length
    return is_list and all(isinstance(v, float) and np.isfinite(v) for v in values)


def _check_texts(texts: Any, what: str) -> None:
    is_list = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    if not is_list or len(set(texts)) != len(texts):
        raise ValueError(f"{what} needs distinct texts. Got {texts!r}")


def fit_column(name: str, kind: str, column: Any, rules: Rules) -> list[Column]:
    """Columns fitted to the values of one of a given kind; a date gives a column for each part."""
    if kind.startswith("date"):
        order = kind.partition("-")[2] or date_order(name, column) or "ymd"
        return list(_fit_date(NumberColumn(name, "date", order=order), column, rules))
    if kind == "category":
        return [_fit_category(name, column, rules)]
    if kind == "ordered":
        return [fit_ordered(name, column, rules)]
    if kind == "text":
        if not is_text(column.type) and not load_pyarrow().types.is_dictionary(column.type):
            raise ValueError(f"column {name!r} cannot be text: it holds {column.type}.")
        return [fit_text(name, column, rules)]
    decimal = (decimal_mark(name, column) if is_text(column.type) else None) or "."
    return [_fit_number(NumberColumn(name, kind, decimal=decimal), column, rules)]


def _fit_category(name: str, column: Any, rules: Rules) -> CategoryColumn:
    texts, codes = coded_texts(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    by_text = sorted(np.flatnonzero(counts).tolist(), key=texts.__getitem__)  # whatever the order of the rows
    texts, counts = [texts[k] for k in by_text], counts[by_text]
    indicated = rules.indicate_missing and bool((codes < 0).any())
    if rules.categories == "hash":
        return CategoryColumn(name, "category", hashed=True, indicated=indicated)
    if rules.categories == "codes":
        return CategoryColumn(name, "category", texts, indicated=indicated, codes=True)
    frequent = np.flatnonzero(counts >= rules.min_category_rows)
    frequent = frequent[np.argsort(-counts[frequent], kind="stable")][: rules.max_categories]
    rare = frequent.size < len(texts)
    other = rules.unknown == "column" and not rare
    reference = None
    if rules.has_reference and texts:
        # The most frequent one: differences from a rare category would all be uncertain.
        first = int(np.argmax(counts))
        reference, frequent = texts[first], frequent[frequent != first]
        rare, indicated = len(texts) > frequent.size + 1, bool((codes < 0).any())
    kept = [texts[k] for k in sorted(frequent)]
    return CategoryColumn(name, "category", kept, False, other, indicated, rare, reference=reference)


def _fit_date(date: NumberColumn, column: Any, rules: Rules) -> Iterator[NumberColumn]:
    """Days since the first one; and the parts that differ between the rows, as numbers or around the circle."""
    days, _ = replace(date, part="days").read(column)
    known = days[np.isfinite(days)]
    if known.size == 0:
        raise ValueError(f"column {date.name!r} holds no date in the rows to fit: leave it out.")
    origin = float(np.floor(known.min()) * 86400)
    yield _fit_number(replace(date, part="days", origin=origin), column, rules)
    for part in ("year", *_dates.PERIODS):
        values, _ = replace(date, part=part).read(column)
        if np.unique(values[np.isfinite(values)]).size > 1:
            around = rules.dates == "cyclic" and part in _dates.PERIODS
            for wave in (" sin", " cos") if around else ("",):
                yield replace(_fit_number(replace(date, part=part + wave), column, rules), indicated=False)


def _fit_number(column: NumberColumn, raw: Any, rules: Rules) -> NumberColumn:
    values, _ = column.read(raw)
    missing = np.isnan(values)
    known = values[np.isfinite(values)]
    if known.size == 0:
        raise ValueError(f"column {column.name!r} holds no finite number in the rows to fit: leave it out.")
    with np.errstate(over="ignore"):
        fill = float(np.median(known)) if rules.missing == "median" else float(known.mean())
    shift, factor = (0.0, 1.0) if column.kind == "boolean" else scale(known, rules.scaling)
    indicated = rules.indicate_missing and bool(missing.any())
    return replace(column, shift=shift, factor=factor, fill=fill, indicated=indicated)


def distinct_indicators(columns: list[Column], table: Any) -> list[Column]:
    """The columns, without the indicators of missing values that are one in the same rows as an earlier one."""
    seen: set[bytes] = set()
    kept: list[Column] = []
    for c in columns:
        rows = np.packbits(missing_rows(table.column(c.name), c)).tobytes() if c.indicated else b""
        kept.append(replace(c, indicated=c.indicated and rows not in seen))
        seen.add(rows)
    return kept


def missing_rows(column: Any, encoder: Column) -> NDArray[np.bool_]:
    """Rows without a value, NaN included."""
    if isinstance(encoder, NumberColumn):
        return np.isnan(encoder.read(column)[0])
    if isinstance(encoder, (CategoryColumn, OrderedColumn)):
        return np.asarray(coded_texts(column)[1] < 0)
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))
