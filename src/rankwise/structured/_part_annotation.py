"""Partial annotations of parts as what learners need: which decisions each part admits, and what each would cost.

A part's annotation a_v is a set of labels: one, some (candidates, an interval), or all of them (missing). The partial
loss is the sum over the parts of ``l(a_v, t) = min over y in a_v of loss[y, t]``, and zero where the label is missing
(eq. 4.2 of the thesis, with candidate sets as its natural generalisation). Decisions t are the labels and, with a
reject cost, "don't know", the last one: it costs the same wherever there is an annotation, and no annotation admits
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.labels import Labels
from rankwise.losses import loss_matrix

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Annotation:
    """Annotation of n parts in m structures, with D decisions.

    Attributes
    ----------
    losses : ndarray of shape (n, D)
        Partial loss of every decision at every part.
    allowed : bool ndarray of shape (n, D)
        Decisions that the annotation admits.
    known : bool ndarray of shape (n,)
        Parts that have an annotation.
    informative : bool ndarray of shape (m,)
        Structures that have an annotated part.
    """

    losses: Floats
    allowed: NDArray[np.bool_]
    known: NDArray[np.bool_]
    informative: NDArray[np.bool_]


def decision_losses(loss: Any, n_classes: int, reject_cost: float | None) -> Floats:
    """Part loss of every decision (column) for every label (row), (K, K), or (K, K + 1) with a reject cost."""
    if isinstance(loss, str):
        matrix = loss_matrix({"hamming": "zero_one"}.get(loss, loss), n_classes)
    else:
        try:
            matrix = np.array(loss, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"a loss matrix must hold numbers: {error}.") from None
        if matrix.shape != (n_classes, n_classes):
            raise ValueError(
                f"a loss matrix must have one row and one column per class, shape {(n_classes, n_classes)}. "
                f"Got shape {matrix.shape} instead."
            )
        good = (matrix >= 0) & (matrix < np.inf)
        if not good.all():
            y, t = np.argwhere(~good)[0].tolist()
            raise ValueError(f"a part loss must be a finite number >= 0. Got loss[{y}, {t}] = {matrix[y, t]}.")
    return matrix if reject_cost is None else np.column_stack([matrix, np.full(n_classes, float(reject_cost))])


def annotate(labels: Labels, losses: Floats, starts: NDArray[np.int64]) -> Annotation:
    """Annotation of the parts that ``labels`` describe; ``losses`` as :func:`decision_losses` gives them."""
    n_classes, n_decisions = losses.shape
    admissible, known = labels.admissible(), ~labels.is_missing
    allowed = np.zeros((len(labels), n_decisions), dtype=bool)
    allowed[:, :n_classes] = admissible
    costs = np.full((len(labels), n_decisions), np.inf)
    for y in range(n_classes):
        rows = admissible[:, y]
        costs[rows] = np.minimum(costs[rows], losses[y])
    costs[~known] = 0.0
    counted = np.concatenate([[0], np.cumsum(known)])
    return Annotation(costs, allowed, known, counted[starts[1:]] > counted[starts[:-1]])
