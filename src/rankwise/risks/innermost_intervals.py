"""Which classes of a scale ordinal labels tell apart, and which they leave undetermined.

If no label begins above a threshold, no label wants it lower: the likelihood does not fall if the threshold moves up to
the next one. The same holds for a threshold that no label wants higher. What remains are the innermost intervals
``[q_j, p_j]`` of classes (Turnbull 1976): q begins a label, p ends one, and nothing begins or ends between. One
threshold lies between every two neighbouring intervals. The likelihood puts no probability on a class outside of all
intervals, and does not determine how the classes inside one share theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats, Places
from rankwise.risks.links import distribution, padded, quantile

_MOST_NAMES = 30  # of classes, in a message


@dataclass(frozen=True, eq=False)
class InnermostIntervals:
    """Innermost intervals of K classes; the M thresholds between them count from 1, and 0 and M + 1 are infinite ends.

    Labels 0, 1-2 and 4 of five classes: 1 and 2 stay together, and no label needs 3.

    >>> innermost = InnermostIntervals.of(np.array([1.0, 1, 0, 0, 1]), np.array([1.0, 0, 1, 0, 1]))
    >>> innermost.first, innermost.last
    (array([0, 1, 4]), array([0, 2, 4]))
    >>> innermost.undetermined(), innermost.empty()
    ([array([1, 2])], array([3]))
    """

    n_classes: int
    first: Places  # code of the first class of every innermost interval
    last: Places

    @classmethod
    def of(cls, begins: Floats, ends: Floats) -> InnermostIntervals:
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
        """For all K - 1 thresholds: the determined one that each equals or lies above, and whether it lies above."""
        k = np.arange(self.n_classes - 1)
        below = np.searchsorted(self.last, k, side="right")
        return below, np.searchsorted(self.first, k, side="right") > below

    def all_thresholds(self, determined: Floats, link: str, score: float) -> Floats:
        """All K - 1 thresholds: those inside an interval divide its probability equally at ``score``.

        Outside of all intervals they coincide, at infinity below the first and above the last.
        """
        t = padded(determined)
        place, inside = self.place_of_all()
        result = t[place]
        k = np.flatnonzero(inside)
        j = place[k]
        low, high = distribution(link, t[j] - score), distribution(link, t[j + 1] - score)
        share = (k + 1 - self.first[j]) / (self.last[j] + 1 - self.first[j])
        result[k] = np.clip(score + quantile(link, low + share * (high - low)), t[j], t[j + 1])
        return result

    def determined_of(self, thresholds: Floats) -> Floats:
        """The determined thresholds among all."""
        return thresholds[self.last[:-1]]

    def describe(self, classes: NDArray[Any]) -> str:
        """One or two sentences about what the labels leave undetermined; empty if nothing."""
        sentences = []
        runs = self.undetermined()
        if runs:
            shown = "; ".join(_named(classes[run]) for run in runs[:_MOST_NAMES])
            more = f"; and {len(runs) - _MOST_NAMES:,} more such runs" if len(runs) > _MOST_NAMES else ""
            sentences.append(
                f"the labels cannot tell these classes apart: {shown}{more}. They share their probability, in "
                f"equal parts at the mean score."
            )
        if self.empty().size:
            names = _named(classes[self.empty()])
            sentences.append(f"no label needs these classes, their probability is zero: {names}.")
        return " ".join(sentences)


def _named(classes: NDArray[Any]) -> str:
    """Names of classes; of many, some of them and how many more there are."""
    names = ", ".join(map(str, classes[:_MOST_NAMES].tolist()))
    return names if classes.size <= _MOST_NAMES else f"{names} and {classes.size - _MOST_NAMES:,} more"
