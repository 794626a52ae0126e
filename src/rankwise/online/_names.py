"""Names of features: which column each has, and examples, dicts of named features, as rows.

A model that never meets a name or a dict keeps no index: columns are then known by their numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.base.row_data import Rows


class _Plan:
    """How the values of a dict with these keys become a row; lean, because every example uses it."""

    __slots__ = ("indices", "indptr", "keys", "memory", "new", "pack_into", "row", "take", "values")

    def __init__(
        self, keys: tuple[Hashable, ...], new: tuple[Hashable, ...], take: NDArray[np.intp] | None, indices: Any
    ) -> None:  # fmt: skip
        self.keys = keys
        self.new = new  #: names that get the next columns, in their order
        self.take = take  #: places of the values in the order of their columns; None: as they come
        self.indices, self.indptr = indices, np.array([0, indices.size], dtype=np.int32)
        # Memory of the row to learn from: one thread at a time learns; readers have memory of their own.
        self.values = np.empty(len(keys))
        self.memory = self.values.data
        self.pack_into = struct.Struct(f"{len(keys)}d").pack_into
        self.row = self.values, self.indices, self.indptr


class FeatureIndex:
    """Column of every feature name, or of every number if only their number is given.

    Streams nearly always repeat the same keys in the same order, so the plans of the last dicts are kept: one to learn
    from and one to predict.
    """

    def __init__(self, names: int | Iterable[Hashable]) -> None:
        self._column = None if isinstance(names, int) else {name: j for j, name in enumerate(names)}
        self._n = names if isinstance(names, int) else len(self._column or ())
        self._plans: list[_Plan | None] = [None, None]

    _column: dict[Hashable, int] | None  # may hold names behind the first n, of a longer index that shares it

    def __getstate__(self) -> dict[str, Any]:
        return {"names": self._n if self._column is None else self.names()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["names"])  # type: ignore[misc]

    def __len__(self) -> int:
        return self._n

    def names(self) -> Sequence[Hashable]:
        """Names in the order of their columns."""
        return range(self._n) if self._column is None else list(self._column)[: self._n]

    @property
    def numbered(self) -> bool:
        """Whether the names are the numbers of the columns."""
        return self._column is None or all(name == j for j, name in enumerate(self.names()))

    def joined(self, new: Iterable[Hashable]) -> FeatureIndex:
        """Index in which these names have the next columns; it shares a dict with this one, which does not change."""
        column = self._column
        if column is None or len(column) != self._n:  # the rest belongs to an abandoned change or to a copy
            column = {name: j for j, name in enumerate(self.names())}
        longer = FeatureIndex(())
        for name in new:
            column[name] = len(column)
        self._column = longer._column = column
        longer._n = len(column)
        return longer

    def columns(self, names: Iterable[Hashable]) -> NDArray[np.int32]:
        """Column of every name; -1 for names that are not known."""
        if self._column is None:
            self._column = {j: j for j in range(self._n)}
        find, n = self._column.get, self._n
        columns = np.array([find(name, n) for name in names], dtype=np.int32)
        columns[columns >= n] = -1
        return columns

    def row(self, x: Mapping[Hashable, Any], *, learning: bool) -> tuple[Rows, tuple[Hashable, ...]]:
        """One row and the new names in it, which get the next columns when learning and are left out otherwise.

        This index does not remember new names: :meth:`joined` makes one that knows them.
        """
        try:
            keys = tuple(x)
            plan = self._plans[learning]
            if plan is None or plan.keys != keys:
                plan = self._plans[learning] = self._plan(keys, learning)
            if learning:
                plan.pack_into(plan.memory, 0, *x.values())
                if plan.take is None:
                    return plan.row, plan.new
                values = plan.values
            else:
                values = np.fromiter(x.values(), np.float64, len(keys))
        except (TypeError, ValueError, AttributeError, struct.error):
            raise _bad_example(x) from None
        return (values if plan.take is None else values[plan.take], plan.indices, plan.indptr), plan.new

    def _plan(self, keys: tuple[Hashable, ...], learning: bool) -> _Plan:
        columns = self.columns(keys)
        unknown = np.flatnonzero(columns < 0) if learning else np.empty(0, dtype=np.intp)
        columns[unknown] = np.arange(self._n, self._n + unknown.size)
        known = np.flatnonzero(columns >= 0)
        take = known[np.argsort(columns[known], kind="stable")]
        in_order = take.size == len(keys) and bool(np.all(take == np.arange(take.size)))
        new = tuple(keys[place] for place in unknown)
        return _Plan(keys, new, None if in_order else take, columns[take])


def _bad_example(x: Any) -> Exception:
    """Error about an example that is not a dict of numbers."""
    if not isinstance(x, Mapping):
        return TypeError(f"an example must be a dict, feature name -> number. Got a {type(x).__name__} instead.")
    for name, value in x.items():
        try:
            float(value)
        except (TypeError, ValueError):
            return ValueError(f"feature {name!r} must be a number. Got {value!r} instead.")
    return ValueError(f"features must be numbers. Got {dict(x)!r} instead.")
