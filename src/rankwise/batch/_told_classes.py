"""What ordinal labels can tell of a scale: which classes they tell apart, and which they leave undetermined.

A threshold that no label wants lower, because none begins above it, has no best place below the next one, and no
harm is done if it meets it; so with one that no label wants higher. What remains (Turnbull 1976) are the innermost
intervals ``[q_j, p_j]`` of classes: q begins a label, p ends one, and nothing begins or ends between. One threshold
lies between each two neighbours of them. The likelihood puts no probability on a class outside of all, and cannot tell
how the classes inside one share theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats, Places
from rankwise.losses._links import distribution, padded, quantile


@dataclass(frozen=True, eq=False)
class ToldClasses:
    """Innermost intervals of K classes; thresholds between them are counted from 1, and 0 and m are infinite ends.

    Labels 0, 1-2 and 4 of five classes: 1 and 2 stay together, and nothing needs 3.

    >>> told = ToldClasses.of(np.array([1.0, 1, 0, 0, 1]), np.array([1.0, 0, 1, 0, 1]))
    >>> told.first, told.last
    (array([0, 1, 4]), array([0, 2, 4]))
    >>> told.undetermined(), told.empty()
    ([array([1, 2])], array([3]))
    """

    n_classes: int
    first: Places  # code of the first class of every innermost interval
    last: Places

    @classmethod
    def of(cls, begins: Floats, ends: Floats) -> ToldClasses:
        """From the weight of the labels that begin with each class, and of those that end with it."""
        starts, stops = np.flatnonzero(begins > 0.0), np.flatnonzero(ends > 0.0)
        nearest = stops[np.searchsorted(stops, starts)]  # the next end at or after each beginning
        keep = np.append(np.diff(nearest) > 0, True)  # of the beginnings before one end, the last
        return cls(begins.size, starts[keep], nearest[keep])

    @property
    def n_thresholds(self) -> int:
        """Number of thresholds that the labels determine, M."""
        return self.first.size - 1

    def low_ends(self) -> Places:
        """Threshold below a label that begins with each code; 0 where there is none."""
        return np.searchsorted(self.last, np.arange(self.n_classes), side="left")

    def high_ends(self) -> Places:
        """Threshold above a label that ends with each code; M + 1 where there is none."""
        return np.searchsorted(self.first, np.arange(self.n_classes), side="right")

    def undetermined(self) -> list[Places]:
        """Codes of the classes that share their probability, run by run."""
        runs = zip(self.first, self.last, strict=True)
        return [np.arange(first, last + 1) for first, last in runs if last > first]

    def empty(self) -> Places:
        """Codes of the classes without probability."""
        return np.flatnonzero(self.low_ends() != self.high_ends() - 1)

    def place_of_all(self) -> tuple[Places, NDArray[np.bool_]]:
        """Of all K - 1 thresholds: the determined one that each equals, or lies above; and whether it lies above."""
        k = np.arange(self.n_classes - 1)
        below = np.searchsorted(self.last, k, side="right")
        return below, np.searchsorted(self.first, k, side="right") > below

    def all_thresholds(self, determined: Floats, link: str, score: float) -> Floats:
        """All K - 1 thresholds: those inside an interval share its probability in equal parts at ``score``.

        Outside of all intervals they meet, at infinity below the first and above the last.
        """
        t = padded(determined)
        place, inside = self.place_of_all()
        result = t[place]
        for k in np.flatnonzero(inside):
            j = place[k]
            low, high = distribution(link, t[j] - score), distribution(link, t[j + 1] - score)
            share = (k + 1 - self.first[j]) / (self.last[j] + 1 - self.first[j])
            result[k] = np.clip(score + quantile(link, low + share * (high - low)), t[j], t[j + 1])
        return result

    def determined_of(self, thresholds: Floats) -> Floats:
        """The determined ones among all."""
        return thresholds[self.last[:-1]]

    def describe(self, classes: NDArray[Any]) -> str:
        """One sentence or two about what the labels leave open; empty if nothing."""
        parts = []
        runs = [", ".join(map(str, classes[run].tolist())) for run in self.undetermined()]
        if runs:
            parts.append(
                f"the labels cannot tell these classes apart: {'; '.join(runs)}. They share their probability, in "
                f"equal parts at the mean score."
            )
        if self.empty().size:
            names = ", ".join(map(str, classes[self.empty()].tolist()))
            parts.append(f"no label needs these classes, their probability is zero: {names}.")
        return " ".join(parts)
