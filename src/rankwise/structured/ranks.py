"""Ordered classes as structured models: CuSum Rank and PRank, in the paper's terms.

Each is a joint feature map and a rule for ties; the structured perceptron turns the first into
:class:`rankwise.CuSumRank` and the second into :class:`rankwise.PRank` and :class:`rankwise.PRIL`, round by round.
Copy one to write your own model.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rankwise._types import Floats
from rankwise.structured.classes import ClassModel, dense
from rankwise.structured.structured_model import Atom, Bonus, Score


class _Ranks(ClassModel):
    def loss(self, annotation: Any, y: Any) -> float:
        """Distance in ranks to the nearest admissible class."""
        return float(min(abs(self._rank[y] - k) for k in self._admitted(annotation)))


class CumulativeRanks(_Ranks):
    """CuSum Rank: ``Phi(x, k)`` repeats x in the blocks 2 .. k; ties go to the lowest rank.

    Parameters
    ----------
    classes : sequence
        Classes, lowest first.
    fit_intercept : bool, default True
        Append the constant 1 to every input.

    Examples
    --------
    >>> from rankwise.structured import CumulativeRanks
    >>> CumulativeRanks(["low", "mid", "high"]).features([0.5], "mid")
    array([0. , 0. , 0.5, 1. , 0. , 0. ])
    """

    def parameters(self, x: Any) -> Floats:
        """One vector for each rank; the first stays zero."""
        return np.zeros(len(self.classes) * self._input(x).size)

    def features(self, x: Any, y: Any) -> Floats:
        """(0, x, .., x, 0, .., 0): x for each of the ranks above the first, up to y."""
        repeats = np.zeros(len(self.classes))
        repeats[1 : self._rank[y] + 1] = 1.0
        return np.outer(repeats, self._input(x)).ravel()

    def atoms(self, x: Any, y: Any) -> Iterator[Atom]:
        """One atom for each rank above the first, up to y; the intercept is a bias."""
        for k in range(1, self._rank[y] + 1):
            yield Atom(k, dense(x))
            if self.fit_intercept:
                yield Atom(k, None)


class ProjectedRanks(_Ranks):
    """PRank: one direction and ordered thresholds, ``Phi(x, k) = ((k - 1) x, -1 for each threshold below k)``.

    For the score ``f = <u, x>``, ``w . Phi(x, k)`` grows with k as long as f reaches the next threshold: ties go to the
    highest rank, so outputs are listed from the highest down. But a threshold equal to f is violated from both sides,
    so a round moves away from both the highest and the lowest of tied ranks. Weighted steps may put thresholds out of
    order; sorting them is the projection.

    Parameters
    ----------
    classes : sequence
        Classes, lowest first.

    Examples
    --------
    >>> from rankwise.structured import ProjectedRanks
    >>> ProjectedRanks(["low", "mid", "high"]).features([0.5], "high")
    array([ 1., -1., -1.])
    """

    def __init__(self, classes: Sequence[Any]) -> None:
        super().__init__(classes, fit_intercept=False)

    def outputs(self, x: Any) -> Sequence[Any]:
        """Ranks, the highest first."""
        return self.classes[::-1]

    def parameters(self, x: Any) -> Floats:
        """Direction and thresholds."""
        return np.zeros(dense(x).size + len(self.classes) - 1)

    def features(self, x: Any, y: Any) -> Floats:
        """((k - 1) x, -1, .., -1, 0, .., 0) for the k-th rank."""
        k = self._rank[y]
        thresholds = np.zeros(len(self.classes) - 1)
        thresholds[:k] = -1.0
        return np.concatenate([k * dense(x), thresholds])

    def rivals(self, x: Any, score: Score, *, bonus: Bonus | None = None) -> set[Any]:
        """The highest and the lowest of the best ranks."""
        values = {y: score(y) + (bonus(y) if bonus else 0.0) for y in self.classes}
        best = [y for y in self.classes if values[y] == max(values.values())]
        return {best[0], best[-1]} if best else set()

    def pairs(self, x: Any, score: Score, annotation: Any, rivals: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
        """The farthest wrong rival on each side, and the nearest to it of the best admissible ranks.

        So every violated threshold moves once, and those inside an interval never move.
        """
        admitted = sorted(self._admitted(annotation))
        wrong = sorted({self._rank[y] for y in rivals}.difference(admitted))
        below, above = ([k for k in wrong if k < admitted[0]], [k for k in wrong if k > admitted[-1]])
        values = {k: score(self.classes[k]) for k in admitted}
        best = [k for k in admitted if values[k] == max(values.values())] or admitted
        for rival in [*below[:1], *(k for k in wrong if k not in below + above), *above[-1:]]:
            nearest = best[int(np.argmin(np.abs(np.subtract(best, rival))))]
            yield self.classes[nearest], self.classes[rival]

    def project(self, weights: Floats) -> Floats:
        """Sort the thresholds."""
        first = weights.size - len(self.classes) + 1
        return np.concatenate([weights[:first], np.sort(weights[first:])])

    def atoms(self, x: Any, y: Any) -> Iterator[Atom]:
        """The direction, k - 1 times, and a bias for each threshold below the k-th rank."""
        k = self._rank[y]
        yield Atom("direction", dense(x), float(k))
        for j in range(k):
            yield Atom(j, None, -1.0)
