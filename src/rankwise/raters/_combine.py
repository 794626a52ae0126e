"""One label for each item from the answers of several raters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.base.probabilities import require_level
from rankwise.labels import Labels
from rankwise.raters._answers import Answers, read_answers
from rankwise.raters.rater_model import RaterModel, central_intervals

_TIE = 1e-9  # of a vote: shares are sums of fractions

How = Literal["intersection", "union", "majority", "model"]


@dataclass(frozen=True, eq=False)
class Combined:
    """One label for each item.

    Attributes
    ----------
    items : ndarray
        Names, in the order in which they first occur.
    labels : Labels
        Their labels, for every estimator that takes their kind.
    """

    items: NDArray[Any]
    labels: Labels


def combine(
    table: Any, how: How = "intersection", classes: Any = None, *,
    level: float = 0.9, item: str = "item", rater: str = "rater", label: Any = "label",
) -> Combined:  # fmt: skip
    """One label for each item from all answers about it.

    Parameters
    ----------
    table : table
        Answers, long or wide, as in :meth:`RaterModel.fit`.
    how : {"intersection", "union", "majority", "model"}, default "intersection"
        - ``"intersection"``: the classes that every answer admits. Where there is none, the shortest interval that
          reaches every answer: of "1 to 2" and "4 to 5", 2 to 4.
        - ``"union"``: the classes that some answer admits.
        - ``"majority"``: the class with most votes, each answer sharing one vote among the classes that it admits;
          several if they have equally many.
        - ``"model"``: the interval that holds the true class with probability ``level`` by a :class:`RaterModel`.
    classes : sequence, optional
        The classes, lowest first; by default as in :func:`rankwise.labels.encode`.
    level : float, default 0.9
        For ``"model"``.
    item, rater, label : str
        Names of the columns, as in :meth:`RaterModel.fit`.

    Examples
    --------
    >>> from rankwise.raters import combine
    >>> answers = {"item": ["a", "a", "b", "b"], "rater": [1, 2, 1, 2], "label": ["3-5", "4", "1", "3"]}
    >>> combine(answers, classes=range(1, 6)).labels.tolist()
    [4, (1, 3)]
    >>> combine(answers, "union", classes=range(1, 6)).labels.tolist()
    [(3, 5), frozenset({1, 3})]
    """
    require_level("level", level)
    if how not in ("intersection", "union", "majority", "model"):
        raise ValueError(f"how must be 'intersection', 'union', 'majority' or 'model'. Got {how!r} instead.")
    needed_by = f"combine(how={how!r})" if how in ("intersection", "model") else None
    answers = read_answers(table, classes, item, rater, label, needed_by=needed_by)
    if how == "model":
        model = RaterModel(classes=answers.order.values)
        model._learn(answers, None)
        return Combined(answers.items, central_intervals(model.posterior_, level, answers.order))
    return Combined(answers.items, _LABELS[how](answers))


def _votes(answers: Answers, *, shared: bool = False) -> NDArray[np.float64]:
    """Votes of the informative answers for each item and class: one for every class admitted, or shares of one."""
    answers = answers.informative()
    admits = answers.labels.admissible()
    votes = np.zeros((answers.items.size, len(answers.order)))
    np.add.at(votes, answers.item, admits / admits.sum(axis=1, keepdims=True) if shared else admits)
    return votes


def _union(answers: Answers) -> Labels:
    votes = _votes(answers)
    return Labels.from_mask((votes > 0) | ~votes.any(axis=1, keepdims=True), answers.order)


def _intersection(answers: Answers) -> Labels:
    informative = answers.informative()
    count = np.bincount(informative.item, minlength=answers.items.size)
    common = _votes(answers) >= count[:, None]
    low, high = np.full(count.size, len(answers.order) - 1, dtype=np.int32), np.zeros(count.size, dtype=np.int32)
    np.minimum.at(low, informative.item, informative.labels.upper)  # the lowest upper and the highest lower end
    np.maximum.at(high, informative.item, informative.labels.lower)
    between = Labels(answers.order, np.minimum(low, high), np.maximum(low, high)).admissible()
    return Labels.from_mask(np.where(common.any(axis=1, keepdims=True), common, between), answers.order)


def _majority(answers: Answers) -> Labels:
    votes = _votes(answers, shared=True)
    return Labels.from_mask(votes >= votes.max(axis=1, keepdims=True) - _TIE, answers.order)


_LABELS = {"intersection": _intersection, "union": _union, "majority": _majority}
