"""The fitted encoding of a table: a matrix with numbers, then ones, indicators and hashed places.

Rules are the parameters of the encoder at the time when rows are encoded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._errors import RowError
from rankwise._kernels.scaling import FINITE, INFINITE, MISSING
from rankwise._warn import warn_user
from rankwise.features._bending import Products
from rankwise.features._splines import read_only
from rankwise.features._texts import grams
from rankwise.features.arrow_columns import coded_texts, hashed_place
from rankwise.features.encoded_columns import CategoryColumn, Column, NumberColumn, missing_rows
from rankwise.features.encoding_rules import Entries, Rules, joined

_WIDEST_DENSE = 256  # columns of ones and zeros that a dense matrix may have
_BLOCK = 4096  # rows copied at a time: their part of the matrix stays in the cache while the columns are written
_MOST_NAMED = 2000  # hashed words whose names are kept


def problems(table: Any, columns: list[Column], rules: Rules) -> list[RowError]:
    errors = [error for c in columns for error in c.problems(table.column(c.name), rules)]
    return sorted(errors, key=lambda error: error.row)


def refuse_problems(table: Any, columns: list[Column], rules: Rules) -> None:
    errors = problems(table, columns, rules)
    if errors:
        raise errors[0]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Columns of a table and their features, in the order of the matrix."""

    columns: list[Column]
    products: Products
    kept: dict[int, str]  # names of hashed places
    n_places: int  # for hashed words and categories, where there are any

    def __post_init__(self) -> None:
        index(self.n_features)  # widths of a forged file must add up now, not when rows come

    @cached_property
    def numbers(self) -> list[NumberColumn]:
        """Columns of numbers, which come first in the matrix."""
        return [c for c in self.columns if isinstance(c, NumberColumn)]

    @cached_property
    def others(self) -> list[Any]:
        """Columns of ones and words."""
        return [c for c in self.columns if not isinstance(c, NumberColumn)]

    @cached_property
    def n_dense(self) -> int:
        """Number of features that are numbers."""
        return sum(c.width for c in self.numbers) + self.products.width

    @cached_property
    def n_own(self) -> int:
        """Number of features of categories and words with a column of their own."""
        return sum(c.width for c in self.others)

    @cached_property
    def n_indicated(self) -> int:
        return sum(c.indicated for c in self.columns)

    @cached_property
    def n_hashed(self) -> int:
        """Number of features that hashed words and categories share."""
        return self.n_places if any(c.hashed for c in self.others) else 0

    @cached_property
    def is_sparse(self) -> bool:
        return self.n_hashed > 0 or self.n_own + self.n_indicated > _WIDEST_DENSE

    @property
    def n_features(self) -> int:
        return self.n_dense + self.n_own + self.n_indicated + self.n_hashed

    @property
    def how_numbers(self) -> str:
        """How numbers are encoded."""
        bent = any(c.knots for c in self.numbers)
        return "spline+products" if self.products.shift else "spline" if bent else "linear"

    def names(self) -> list[str]:
        names = [name for c in self.numbers for name in c.names()] + self.products.names(self.numbers)
        names += [name for c in self.others for name in c.names()]
        names += [f"{c.name} is missing" for c in self.columns if c.indicated]
        return names + [self.kept.get(place, f"hashed {place}") for place in range(self.n_hashed)]

    def categorical(self) -> list[int]:
        """Columns of the matrix that hold codes of categories."""
        starts = np.cumsum([self.n_dense, *(c.width for c in self.others)]).tolist()
        return [j for j, c in zip(starts, self.others, strict=False) if isinstance(c, CategoryColumn) and c.codes]

    # -- rows --------------------------------------------------------------------------------------------------------

    def matrix(self, table: Any, rules: Rules, dtype: str) -> Any:
        """Features of the rows of a table; a row that cannot be encoded raises an error."""
        n, m, own = table.num_rows, self.n_dense, self.n_own + self.n_indicated
        rows, places, entries = joined(entries for _, entries in self.entries(table, rules))
        values = np.empty((n, m if self.is_sparse else m + own), dtype=dtype)
        suspect = self.put_numbers(table, rules, values)
        if suspect or (self.others and "refuse" in (rules.missing, rules.unknown)):
            refuse_problems(table, self.columns, rules)
        if self.is_sparse:
            ones = sparse.csr_matrix((entries.astype(dtype), (rows, places)), shape=(n, own + self.n_hashed))
            ones.sum_duplicates()
            ones.data[ones.indices >= own] = 1  # two columns at one place count once
            return sparse.hstack([sparse.csr_matrix(values), ones], format="csr") if m else ones
        values[:, m:] = 0
        values[rows, m + places] = entries
        return values

    def put_numbers(self, table: Any, rules: Rules, out: NDArray[Any]) -> bool:
        """Write scaled and filled numbers into the first columns; return whether some values may have to be refused."""
        worst = FINITE
        read = [c.read(table.column(c.name)) for c in self.numbers]
        columns = [read_only(values) for values, _ in read]
        starts = np.cumsum([0, *(c.width for c in self.numbers)]).tolist()
        for start in range(0, out.shape[0], _BLOCK):
            stop = min(start + _BLOCK, out.shape[0])
            for j, c in enumerate(self.numbers):
                worst = max(worst, c.put(columns[j], out, starts[j], start, stop))
        self.products.put(columns, self.numbers, out, starts[-1])
        if rules.missing == "keep":
            for j, values in enumerate(columns):
                out[np.isnan(values), starts[j] : starts[j + 1]] = np.nan
        is_text = rules.slips == "refuse" and any(other is not None and other.any() for _, other in read)
        return is_text or worst == INFINITE or (worst == MISSING and rules.missing == "refuse")

    def entries(self, table: Any, rules: Rules) -> Iterator[tuple[Column, Entries]]:
        """Rows, places and values of everything but the numbers, column by column."""
        start, indicator, hashed_start = 0, self.n_own, self.n_own + self.n_indicated
        for c in self.columns:
            column = table.column(c.name)
            if not isinstance(c, NumberColumn):
                rows, places, values = c.entries(column, rules)
                yield c, (rows, places + (hashed_start if c.hashed else start), values)
                start += c.width
            if c.indicated:
                rows = np.flatnonzero(missing_rows(column, c))
                yield c, (rows, np.full(rows.size, indicator), np.ones(rows.size))
                indicator += 1

    def warn_of_slips(self, table: Any) -> None:
        """Warn of texts that were taken for missing values, once for all columns."""
        slips = []
        for c in self.numbers:
            other = c.read(table.column(c.name))[1] if c.part in ("", "days") else None
            if other is not None and other.any():
                row = int(np.flatnonzero(other)[0])
                text = table.column(c.name)[row].as_py()
                slips.append(f"{other.sum():,} in {c.name!r}, such as {text!r} in row {row}")
        if slips:
            warn_user(f"texts among numbers or dates are taken for missing values: {'; '.join(slips)}.")


def kept_names(table: Any, columns: Sequence[Column], rules: Rules) -> dict[int, str]:
    """Name of each hashed place: its most frequent word or category, among the most frequent ones of all columns."""
    counts: Counter[tuple[int, str]] = Counter()
    for c in columns:
        if isinstance(c, NumberColumn) or not c.hashed:
            continue
        is_category = isinstance(c, CategoryColumn)
        column = table.column(c.name)
        texts, codes = coded_texts(column) if is_category else grams(column, rules.ngrams)[1:]
        n_each = np.bincount(codes[codes >= 0], minlength=len(texts))
        for k in np.argsort(-n_each, kind="stable")[:_MOST_NAMED].tolist():
            if n_each[k] and texts[k]:
                name = f"{c.name}={texts[k]}" if is_category else f"{c.name}: {texts[k]}"
                counts[hashed_place(c.name, texts[k], rules.n_hashed), name] = int(n_each[k])
    kept: dict[int, str] = {}
    for (place, name), _ in counts.most_common(_MOST_NAMED):
        kept.setdefault(place, name)
    return dict(sorted(kept.items()))
