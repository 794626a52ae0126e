"""Which items several raters answer, and when.

A share of the items is answered by several raters, so that their agreement is known; the others are answered once. The
shared items are a random sample, which follows from the names of the items and a seed. They come from the start, in
step with the others: after any number of answers about their share of the items has been asked about, and those that
wait for another rater come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Places


class SharedItems:
    """The items that ``raters`` people answer: ``share`` of all, at least one. ``needed`` has the answers of each."""

    def __init__(self, names: Sequence[str], raters: int, share: float, seed: int) -> None:
        drawn = np.argsort([sha256(f"{seed}|{name}".encode()).digest() for name in names], kind="stable")
        n_shared = min(len(names), max(1, round(share * len(names)))) if raters > 1 and share > 0.0 else 0
        self.share = share
        self._turn: Places = np.empty(
            len(names), dtype=np.intp
        )  # shared items come in the order in which they were drawn
        self._turn[drawn] = np.arange(len(names))
        self.is_shared: NDArray[np.bool_] = self._turn < n_shared
        self.needed = np.where(self.is_shared, raters, 1)

    def first(self, left: Places, taken: Places) -> int | None:
        """The shared item among ``left`` that comes next; None if it is the turn of the others.

        ``taken`` has the answers of each item, with those that raters are about to give.
        """
        shared = left[self.is_shared[left]]
        begun = shared[taken[shared] > 0]
        if not begun.size:
            n_begun, n_shared = int((taken > 0).sum()), int((taken[self.is_shared] > 0).sum())
            is_due = n_shared < self.share * (n_begun + 1) or shared.size == left.size
            begun = shared if is_due else begun
        return int(begun[self._turn[begun].argmin()]) if begun.size else None
