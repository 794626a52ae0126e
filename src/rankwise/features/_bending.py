"""Which numbers become splines, and products of pairs of numbers.

With splines a linear model follows curves, with products it follows interactions. Both need rows: ``numbers="auto"``
makes splines if there are :data:`FEWEST_ROWS` and :data:`ROWS_A_SPLINE` for each feature that there would be, and adds
products if there are :data:`ROWS_A_PRODUCT` for each, and not too many of them in all. It leaves the numbers of streams
alone: perceptrons, which see each row once, lose as often as they gain by it.
``python -m benchmarks bending`` measures what it gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.features._dates import DAYS_ROUND
from rankwise.features.encoded_columns import Column, NumberColumn
from rankwise.features.encoding_rules import Rules

FEWEST_ROWS, ROWS_A_SPLINE, ROWS_A_PRODUCT, MOST_WITH_PRODUCTS = 300, 8, 20, 200
_LARGEST = 1e150  # whose square is a number


@dataclass(frozen=True)
class Products:
    """Scaled products of all pairs of number columns; none if there are no scales."""

    shift: list[float] = field(default_factory=list)
    factor: list[float] = field(default_factory=list)

    @property
    def width(self) -> int:
        return len(self.shift)

    @classmethod
    def from_plain(cls, plain: Any, columns: Sequence[Column]) -> Self:
        """Products that ``asdict`` described, after checking that they can be."""
        products = cls(**(plain or {}))
        wanted = len(_pairs(columns)) if products.shift else 0
        for scale in (products.shift, products.factor):
            if not (isinstance(scale, list) and len(scale) == wanted and np.isfinite(scale).all()):
                raise ValueError("products need a scale for each pair of numbers")
        return products

    def pairs(self, columns: Sequence[Column]) -> list[tuple[NumberColumn, NumberColumn]]:
        """The two columns of each product."""
        return _pairs(columns) if self.shift else []

    def names(self, columns: Sequence[Column]) -> list[str]:
        return [f"{a.name} * {b.name}" for a, b in self.pairs(columns)]

    def put(self, values: Sequence[Floats], columns: Sequence[NumberColumn], out: NDArray[Any], j: int) -> None:
        """Write all products, from column j on."""
        if not self.shift:
            return
        for k, product in enumerate(_multiplied(values, columns)):
            out[:, j + k] = (product - self.shift[k]) * self.factor[k]


def bent_numbers(how: str, table: Any, columns: Sequence[Column], rules: Rules) -> tuple[list[Column], Products]:
    """Columns with the splines they get, and the products."""
    numbers = [c for c in columns if isinstance(c, NumberColumn)]
    is_few = table.num_rows < max(FEWEST_ROWS, ROWS_A_SPLINE * len(columns))  # that no rule would bend any of them
    if how == "linear" or not numbers or (how == "auto" and (rules.stream or is_few)):
        return list(columns), Products()
    values = {id(c): c.read(table.column(c.name))[0] for c in numbers}
    spans = {c.name: float(np.nanmax(values[id(c)]) - np.nanmin(values[id(c)])) for c in numbers if c.part == "days"}
    bent: list[Column] = [
        c.bent(values[id(c)], rules) if isinstance(c, NumberColumn) and _may_bend(c, spans) else c for c in columns
    ]
    if how == "auto":
        how = _decided(table.num_rows, sum(c.width for c in bent), len(_pairs(columns)))
        if how == "linear":
            return list(columns), Products()
    products = Products()
    if how == "spline+products":
        for product in _multiplied([values[id(c)] for c in numbers], numbers):
            with np.errstate(over="ignore"):
                spread = float(product.std())
            products.shift.append(float(product.mean()))
            products.factor.append(1 / spread if spread > 1e-300 else 1.0)
    return bent, products


def _decided(n_rows: int, n_splines: int, n_products: int) -> str:
    n_features = n_splines + n_products
    if n_rows < max(FEWEST_ROWS, ROWS_A_SPLINE * n_splines):
        return "linear"
    enough = n_rows >= ROWS_A_PRODUCT * n_features and n_features <= MOST_WITH_PRODUCTS
    return "spline+products" if n_products and enough else "spline"


def _may_bend(column: NumberColumn, spans: dict[str, float]) -> bool:
    """Whether splines make sense for a column: not for booleans, whose values are two, and sines, which are curves.

    Future days and years lie beyond all knots, where a line says more than a curve. A periodic part of a date may have
    a curve once the dates cover two periods: before that it cannot be told from the days.
    """
    if column.kind != "date":
        return column.kind != "boolean"
    return spans.get(column.name, 0.0) >= 2 * DAYS_ROUND.get(column.part, np.inf)


def _pairs(columns: Sequence[Column]) -> list[tuple[NumberColumn, NumberColumn]]:
    return list(combinations([c for c in columns if isinstance(c, NumberColumn) and c.kind == "number"], 2))


def _multiplied(values: Sequence[Floats], columns: Sequence[NumberColumn]) -> Any:
    """Product of the scaled numbers of each pair of columns, one after the other; finite in any case."""
    scaled = [
        np.clip((np.where(np.isnan(v), c.fill, v) - c.shift) * c.factor, -_LARGEST, _LARGEST)
        for v, c in zip(values, columns, strict=True)
        if c.kind == "number"
    ]
    for a, b in combinations(scaled, 2):
        yield a * b
