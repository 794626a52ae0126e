"""Risks that see their rows only through sums, wherever the rows are.

The loss of a row depends on its scores and on its codes, signs and weight. A risk built on :class:`RowRisk` never loops
over rows itself: it passes a function of some rows to :class:`RowSums`, which sums its results over all rows.
:class:`RowsHere` are rows in memory: one call of the function. Rows in blocks on other machines (:mod:`rankwise.dask`)
need one call for every block. So a new risk is a few functions of rows, and works in both places.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self

import numpy as np

from rankwise._types import Floats

Sums = tuple[Any, ...]  # numbers and arrays that are added over rows


def near_one(weight: Floats, largest: float | None = None) -> Floats:
    """Weights times the power of two that brings the largest near 1, so that sums cannot overflow; shares are the same.

    >>> bool(near_one(np.array([1e308, 0.0, 1e308])).sum() <= 2.0)
    True
    """
    exponent = np.frexp(np.max(weight, initial=0.0) if largest is None else largest)[1]
    return np.asarray(np.ldexp(weight, -exponent))


class RowSums(Protocol):
    """Sums over rows.

    ``function(rows, *arguments)`` gets some of the rows, as :class:`RowsHere`, and returns a tuple of sums over them.
    It must be a module-level function, so that it can be sent elsewhere. Scores and designs of all rows among the
    arguments are replaced by those of the rows that the function gets.
    """

    def take(self, index: Any) -> Self:
        """Some of the rows, with weights that add up to 1; all weights stay zero if they are zero."""

    def count(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Sums over all rows that do not depend on their weights."""

    def mean(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Sums over all rows that are proportional to their weights, which add up to 1."""

    def slopes(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """As :meth:`mean`, but the first result is not a sum: the derivatives by the rows' scores (n, Z)."""


@dataclass(frozen=True, eq=False)
class RowsHere:
    """Rows in memory, as arrays with an entry for every row; a subclass adds fields.

    >>> rows = RowsHere(np.array([0.2, 0.3, 0.5]))
    >>> rows.mean(lambda rows: (float(rows.weight.sum()),))
    (1.0,)
    >>> rows.take(np.array([0, 1])).weight
    array([0.4, 0.6])
    """

    weight: Floats  # adds up to 1 over all rows of a risk

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def at(self, index: Any) -> Self:
        """Rows at an index or slice, with unchanged weights."""
        return replace(self, **{field.name: getattr(self, field.name)[index] for field in fields(self)})

    def normalised(self) -> Self:
        """The same rows with weights that add up to 1, if any is above zero."""
        return replace(self, weight=self.weight / (self.weight.sum() or 1.0))

    def take(self, index: Any) -> Self:
        """See :class:`RowSums`, as for the other methods."""
        return self.at(index).normalised()

    def count(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """One call: all rows are here."""
        return function(self, *arguments)

    mean = slopes = count


class RowRisk:
    """Base of risks that are means over rows; a subclass completes :class:`rankwise.solvers.risk.Risk`."""

    rows: Any  # RowSums

    def over(self, rows: RowSums) -> Self:
        """The same risk of other rows."""
        other = copy(self)
        other.rows = rows
        return other

    def take(self, index: Any) -> Self:
        """The risk of some of the rows."""
        return self.over(self.rows.take(index))


class KinkedRowRisk(RowRisk):
    """Base of those with kinks, which a number mu smooths."""

    mu = 0.0

    def smoothed(self, mu: float) -> Self:
        """The risk smoothed by mu."""
        other = copy(self)
        other.mu = mu
        return other
