"""How badly a class fits a row: the scores of conformal sets, (n, K), made so that low scores are neighbours.

The set of a row at a bound q is made of the classes with a score of at most q. Every score below is the probability
that an interval has before the class joins it, or a distance, so that the sets grow with q and stay contiguous.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import refuse_many_classes
from rankwise._kernels.compile import kernel
from rankwise._types import Floats
from rankwise.labels import encode


@kernel
def _shortest(probabilities):
    scores = np.empty_like(probabilities)
    n_rows, n_classes = probabilities.shape
    sums, start, mass = np.zeros(n_classes + 1), np.zeros(n_classes + 1, dtype=np.int64), np.zeros(n_classes + 1)
    for i in range(n_rows):
        for k in range(n_classes):
            sums[k + 1] = sums[k] + probabilities[i, k]
        for length in range(1, n_classes + 1):  # the most probable window of every length
            mass[length] = -1.0
            for first in range(n_classes - length + 1):
                inside = sums[first + length] - sums[first]
                if inside > mass[length]:
                    mass[length], start[length] = inside, first
        low, high = 0, n_classes - 1
        for length in range(n_classes, 0, -1):
            low, high = max(low, start[length]), min(high, start[length] + length - 1)
            for k in range(low, high + 1):
                scores[i, k] = mass[length - 1]
    return scores


@kernel
def _from_the_median(probabilities):
    scores = np.empty_like(probabilities)
    n_rows, n_classes = probabilities.shape
    for i in range(n_rows):
        low, below = 0, probabilities[i, 0]
        while below < 0.5 and low < n_classes - 1:
            low += 1
            below += probabilities[i, low]
        high, mass = low, probabilities[i, low]
        scores[i, low] = 0.0
        while high - low < n_classes - 1:
            if high == n_classes - 1 or (low > 0 and probabilities[i, low - 1] >= probabilities[i, high + 1]):
                low -= 1
                scores[i, low] = mass
                mass += probabilities[i, low]
            else:
                high += 1
                scores[i, high] = mass
                mass += probabilities[i, high]
    return scores


_MOST_CLASSES = 10_000  # a row takes time for every pair of them


def shortest(probabilities: Floats) -> Floats:
    """Scores whose sets are the shortest windows of a given probability.

    With ``W_L`` the most probable window of L classes and ``M_L`` its probability, the shortest window that holds more
    than q is the first with ``M_L > q``. Windows of different length need not lie in each other, so a class scores
    ``M_(L-1)`` for the smallest L from which on all longer windows hold it: its set at q is the intersection of the
    windows that hold more than q.

    >>> shortest(np.array([[0.1, 0.6, 0.3]]))
    array([[0.9, 0. , 0.6]])
    """
    return np.asarray(_shortest(np.ascontiguousarray(probabilities, dtype=np.float64)))


def from_the_median(probabilities: Floats) -> Floats:
    """Scores whose sets grow from the median, at each step by the more probable neighbour, the lower one of equals.

    >>> from_the_median(np.array([[0.1, 0.6, 0.3]]))
    array([[0.9, 0. , 0.6]])
    """
    return np.asarray(_from_the_median(np.ascontiguousarray(probabilities, dtype=np.float64)))


def distance(codes: NDArray[Any], n_classes: int) -> Floats:
    """Scores that count the ranks between a class and the one predicted.

    >>> distance(np.array([1]), 4)
    array([[1., 0., 1., 2.]])
    """
    return np.asarray(np.abs(np.arange(n_classes) - np.asarray(codes)[:, None]), dtype=np.float64)


def class_scores(kind: str, model: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """How badly every class fits every row, (n, K), by the scores of this kind."""
    if kind == "distance":
        return distance(encode(model.predict(X), classes).lower, classes.size)
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"score={kind!r} needs the probabilities of the classes, and {type(model).__name__} has none: take "
            f"score='distance', or an estimator with predict_proba such as CumulativeLink."
        )
    if kind == "shortest":
        refuse_many_classes("score='shortest'", classes.size, _MOST_CLASSES, "another score")
    known = model.predict_proba(X)
    probabilities = np.zeros((len(known), classes.size))
    probabilities[:, encode(model.classes_, classes).lower] = known
    return shortest(probabilities) if kind == "shortest" else from_the_median(probabilities)


def label_scores(scores: Floats, admitted: NDArray[np.bool_], labels: str) -> Floats:
    """One score for each row: that of the worst class that its label admits if guaranteed, of the best if weak."""
    if labels == "guaranteed":
        return np.asarray(np.where(admitted, scores, -np.inf).max(axis=1))
    return np.asarray(np.where(admitted, scores, np.inf).min(axis=1))


def ends(inside: NDArray[np.bool_], scores: Floats) -> tuple[NDArray[Any], NDArray[Any]]:
    """First and last code of sets, none of them empty; what lies between two classes of a set belongs to it."""
    inside = inside.copy()
    inside[np.arange(len(inside)), np.argmin(scores, axis=1)] = True
    return inside.argmax(axis=1), inside.shape[1] - 1 - inside[:, ::-1].argmax(axis=1)
