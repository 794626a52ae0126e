"""Preferences: what an annotator says who compares labels instead of naming the relevant ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rankwise._errors import RowError
from rankwise.labels._order import is_missing, one_line

Pair = tuple[Any, Any]


class Preferences(Sequence[Any]):
    """For every example, pairs of labels of which the first should be ranked above the second.

    Relevant labels and full rankings are special cases: "each of these above each of the others", "each above all that
    follow it". An example without pairs says nothing.

    Parameters
    ----------
    rows : iterable of lists of pairs
        For every example a list of pairs ``(above, below)``; None or an empty list for an example that says nothing.

    Examples
    --------
    >>> from rankwise.labels import Preferences
    >>> y = Preferences([[("news", "spam")], [("work", "spam"), ("work", "news")], None])
    >>> len(y), y[1]
    (3, Preferences([[('work', 'spam'), ('work', 'news')]]))
    >>> Preferences.from_rankings([["work", "news", "spam"]]).rows
    [[('work', 'news'), ('work', 'spam'), ('news', 'spam')]]
    """

    def __init__(self, rows: Any) -> None:
        if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
            raise ValueError(f"preferences must be a list of lists of pairs. Got {one_line(rows)} instead.")
        self.rows: list[list[Pair]] = [_checked(pairs, row) for row, pairs in enumerate(rows)]

    @classmethod
    def from_rankings(cls, rankings: Iterable[Sequence[Any] | None]) -> Preferences:
        """Preferences of rankings, best first: every label above all that follow it, k (k - 1) / 2 pairs for k labels.

        Labels that a ranking does not name are not compared.
        """
        orders = [[] if ranking is None else list(ranking) for ranking in rankings]
        return cls([(above, below) for p, above in enumerate(order) for below in order[p + 1 :]] for order in orders)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: Any) -> Preferences:
        """Preferences of one example, of a slice, or of an array of places."""
        if isinstance(which, slice):
            return Preferences(self.rows[which])
        places = np.atleast_1d(np.arange(len(self))[which])
        return Preferences([self.rows[place] for place in places])

    def __iter__(self) -> Iterator[Preferences]:
        return (Preferences([row]) for row in self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Preferences) and self.rows == other.rows

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Preferences({one_line(self.rows)})"


def _checked(pairs: Any, row: int) -> list[Pair]:
    if pairs is None:
        return []
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise RowError(f"preferences must be a list of pairs (above, below). Got {one_line(pairs)} instead.", row)
    checked = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise RowError(f"a preference is a pair (above, below) of labels. Got {one_line(pair)} instead.", row)
        above, below = pair
        if is_missing(above) or is_missing(below):
            raise RowError(f"a preference must not hold missing values. Got {one_line(pair)} instead.", row)
        if above == below:
            raise RowError(f"a label cannot be preferred to itself. Got {one_line(pair)}.", row)
        checked.append((above, below))
    return checked
