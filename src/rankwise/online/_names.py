"""Names of features: which column each has, and examples, dicts of named features, as rows.

A model that never meets a name or a dict keeps no index: columns are then known by their numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.base.row_data import Rows


class _Plan(NamedTuple):
    """How the values of a dict with these keys become a row. It never changes, so that threads may share it."""

    keys: tuple[Hashable, ...]
    n_names: int  #: names that were known when it was made
    new: tuple[Hashable, ...]  #: names that get the next columns, in their order
    take: NDArray[np.intp] | None  #: places of the values in the order of their columns; None: as they come
    indices: NDArray[np.int32]
    indptr: NDArray[np.int32]
    pack_into: Any


class FeatureIndex:
    """Column of every feature name.

    Streams nearly always repeat the same keys in the same order, so the plan of the last dict is kept, one for rows to
    learn from and one for rows to predict.

    Parameters
    ----------
    names : int or iterable
        The names in the order of their columns, or how many columns there are, whose names are their numbers.
    """

    def __init__(self, names: int | Iterable[Hashable]) -> None:
        if isinstance(names, int):
            self._n_numbered, self._column = names, None
        else:
            self._n_numbered, self._column = 0, {name: j for j, name in enumerate(names)}
        self._plans: list[_Plan | None] = [None, None]

    _column: dict[Hashable, int] | None

    def __getstate__(self) -> dict[str, Any]:
        return {"names": self._n_numbered if self._column is None else list(self._column)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["names"])  # type: ignore[misc]

    def __len__(self) -> int:
        return self._n_numbered if self._column is None else len(self._column)

    @property
    def column(self) -> dict[Hashable, int]:
        """Column of every name."""
        if self._column is None:
            self._column = {j: j for j in range(self._n_numbered)}
        return self._column

    def names(self) -> Sequence[Hashable]:
        """Names in the order of their columns."""
        return range(self._n_numbered) if self._column is None else list(self._column)

    @property
    def numbered(self) -> bool:
        """Whether the names are the numbers of the columns."""
        return self._column is None or all(name == j for j, name in enumerate(self._column))

    def join(self, new: Iterable[Hashable]) -> None:
        """Let names join with the next columns."""
        column = self.column
        for name in new:
            column[name] = len(column)

    def forget(self, new: Iterable[Hashable]) -> None:
        """Undo :meth:`join`."""
        for name in new:
            self.column.pop(name, None)

    def row(self, x: Mapping[Hashable, Any], *, learning: bool) -> tuple[Rows, tuple[Hashable, ...]]:
        """One row, and the names that are new in it: to learn from, they have the next columns; else they are left out.

        Nothing is remembered of new names before :meth:`join`.
        """
        try:
            keys = tuple(x)
            plan = self._plans[learning]
            if plan is None or plan.keys != keys or plan.n_names != len(self):
                plan = self._plans[learning] = self._plan(keys, learning)
            values = np.empty(len(keys))
            plan.pack_into(values.data, 0, *x.values())
        except (TypeError, ValueError, AttributeError, struct.error):
            raise _bad_example(x) from None
        return (values if plan.take is None else values[plan.take], plan.indices, plan.indptr), plan.new

    def _plan(self, keys: tuple[Hashable, ...], learning: bool) -> _Plan:
        column, n = self.column, len(self)
        new = tuple(key for key in keys if key not in column) if learning else ()
        joining = {key: n + j for j, key in enumerate(new)}
        columns = np.array([column.get(key, joining.get(key, -1)) for key in keys], dtype=np.int32)
        known = np.flatnonzero(columns >= 0)
        take = known[np.argsort(columns[known], kind="stable")]
        in_order = take.size == len(keys) and bool(np.all(take == np.arange(take.size)))
        return _Plan(
            keys, n, new, None if in_order else take, columns[take], np.array([0, take.size], dtype=np.int32),
            struct.Struct(f"{len(keys)}d").pack_into,
        )  # fmt: skip


def _bad_example(x: Any) -> Exception:
    """Say what is wrong with an example that is no row of numbers."""
    if not isinstance(x, Mapping):
        return TypeError(f"an example must be a dict, feature name -> number. Got a {type(x).__name__} instead.")
    for name, value in x.items():
        try:
            float(value)
        except (TypeError, ValueError):
            return ValueError(f"feature {name!r} must be a number. Got {value!r} instead.")
    return ValueError(f"features must be numbers. Got {dict(x)!r} instead.")
