"""Agreement of raters, from exact and imprecise answers.

**Alpha** is Krippendorff's: one minus observed over expected disagreement,

    ``alpha = 1 - (n - 1) sum_{a,b} o_ab d_ab / sum_{a,b} n_a n_b d_ab``,

with ``o_ab = sum over items of (pairs of answers a, b) / (answers of the item - 1)``, ``n_a = sum_b o_ab``, n their
sum, and the ordinal difference ``d_ck = (sum_{g=c..k} n_g - (n_c + n_k) / 2)^2`` of classes. Answers that admit several
classes differ by the least difference of two that they admit: those that overlap do not contradict each other. For
``n_g`` they share one vote among their classes. For exact labels it is Krippendorff's ordinal alpha.

Source: Krippendorff, "Computing Krippendorff's alpha-reliability", 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._types import Floats, Places
from rankwise.labels import Labels
from rankwise.raters._answers import Answers, read_answers


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of raters with an item in common.

    Attributes
    ----------
    first, second : int array
        Places of the two among ``raters``, ``first < second``.
    n_items : int array
        Items that both answered.
    overlap : float array
        Share of these items on which their answers admit a common class.
    """

    first: Places
    second: Places
    n_items: Places
    overlap: Floats


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of raters.

    Attributes
    ----------
    alpha : float
        Krippendorff's alpha for ordered classes: 1 is perfect, 0 chance. NaN if undefined: no two answers for an item,
        or no two answers that differ.
    overlap : float
        Share of the pairs of answers for an item that admit a common class; NaN without such pairs.
    pairs : Overlaps
        The same for every pair of raters with an item in common.
    raters : ndarray
        Names, in the order in which they first occur.
    n_answers : int array of shape (n_raters,)
        Answers of each that are not missing.
    bias : float array of shape (n_raters,)
        Mean of the middle of the rater's answer minus the mean middle of the others' for the same item, in ranks: a
        positive one answers high. NaN for a rater who shares no item.
    width : float array of shape (n_raters,)
        Mean number of ranks between the ends of the answers; 0 for exact ones.
    missing : float array of shape (n_raters,)
        Share of missing answers.
    """

    alpha: float
    overlap: float
    pairs: Overlaps
    raters: NDArray[Any]
    n_answers: Places
    bias: Floats
    width: Floats
    missing: Floats

    def __str__(self) -> str:
        head = f"alpha {self.alpha:.3f}, overlap {self.overlap:.3f}, {self.raters.size} raters"
        size = max(len("rater"), *(len(str(name)) for name in self.raters.tolist()))
        lines = [f"{'rater':<{size}}  answers    bias   width  missing"]
        for name, n, bias, width, missing in zip(
            self.raters.tolist(), self.n_answers, self.bias, self.width, self.missing, strict=True
        ):
            lines.append(f"{name!s:<{size}}  {n:7d}  {bias:6.2f}  {width:6.2f}  {missing:7.2f}")
        return "\n".join([head, *lines])


def agreement(
    table: Any, classes: Any = None, *, item: str = "item", rater: str = "rater", label: Any = "label"
) -> Agreement:
    """How far raters agree, and how each of them differs from the others.

    Parameters
    ----------
    table : table
        Answers, long or wide, as in :meth:`RaterModel.fit`. Of several answers of a rater for one item the last counts.
    classes : sequence, optional
        The classes, lowest first; by default as in :func:`rankwise.labels.encode`.
    item, rater, label : str
        Names of the columns, as in :meth:`RaterModel.fit`.

    Examples
    --------
    >>> from rankwise.raters import agreement
    >>> wide = {"Ann": [1, 2, 3, 5], "Bo": [1, "2-3", 3, None], "Cy": [2, 3, 4, "4-5"]}
    >>> result = agreement(wide, classes=range(1, 6))
    >>> round(result.alpha, 3), round(result.overlap, 3)
    (0.841, 0.5)
    >>> print(result)
    alpha 0.841, overlap 0.500, 3 raters
    rater  answers    bias   width  missing
    Ann          4   -0.31    0.00     0.00
    Bo           3   -0.33    0.33     0.00
    Cy           4    0.56    0.25     0.00
    """
    given = read_answers(table, classes, item, rater, label, needed_by="agreement").last()
    answers, n_raters = given.informative(), given.raters.size
    n_given = np.bincount(given.rater, minlength=n_raters)
    n_answers = np.bincount(answers.rater, minlength=n_raters)
    pairs, overlap = _overlaps(answers)
    with np.errstate(invalid="ignore", divide="ignore"):
        width = np.bincount(answers.rater, answers.labels.upper - answers.labels.lower, n_raters) / n_answers
        missing = 1.0 - n_answers / n_given
        alpha, bias = _alpha(answers), _bias(answers)
    return Agreement(alpha, overlap, pairs, given.raters, n_answers, bias, np.asarray(width), np.asarray(missing))


def _alpha(answers: Answers) -> float:
    shared = np.bincount(answers.item, minlength=answers.items.size)[answers.item] > 1
    answers = answers.take(shared)
    if not len(answers.labels):
        return float("nan")
    distinct, group = answers.labels.distinct()
    ones = np.ones(group.size)
    counts = sparse.coo_array((ones, (answers.item, group)), shape=(answers.items.size, len(distinct))).tocsr()
    share = 1.0 / np.maximum(counts.sum(axis=1) - 1.0, 1.0)
    weighted = sparse.diags_array(share) @ counts
    observed = (counts.T @ weighted).toarray() - np.diag(weighted.sum(axis=0))
    n = observed.sum(axis=0)
    apart = _differences(distinct, n)
    expected = n @ apart @ n
    return float(1.0 - (n.sum() - 1.0) * (observed * apart).sum() / expected) if expected > 0.0 else float("nan")


def _differences(distinct: Labels, n: Floats) -> Floats:
    """Least ordinal difference of two classes that labels admit, for all pairs of labels."""
    admits = distinct.admissible()
    per_class = n @ (admits / admits.sum(axis=1, keepdims=True))
    middle = np.cumsum(per_class) - 0.5 * per_class
    # Between intervals it is the gap between their nearest ends; labels with gaps are compared class by class.
    lower, upper = middle[distinct.lower], middle[distinct.upper]
    apart = np.maximum(np.maximum(lower[:, None] - upper, lower - upper[:, None]), 0.0)
    for a in np.flatnonzero(distinct.has_gaps):
        far = np.abs(middle[admits[a]][:, None] - middle).min(axis=0)  # from each class to label a
        apart[a] = apart[:, a] = np.where(admits, far, np.inf).min(axis=1)
    return np.asarray(apart**2)


def _overlaps(answers: Answers) -> tuple[Overlaps, float]:
    """Overlap of every pair of raters, and of all pairs of answers."""
    order = np.argsort(answers.item, kind="stable")
    size = np.bincount(answers.item, minlength=answers.items.size)
    start = np.cumsum(size) - size
    # Pair every answer with the later ones about the same item.
    behind = size[answers.item[order]] - (np.arange(order.size) - start[answers.item[order]]) - 1
    one = np.repeat(np.arange(order.size), behind)
    other = one + 1 + np.arange(one.size) - np.repeat(np.cumsum(behind) - behind, behind)
    one, other = order[one], order[other]
    distinct, group = answers.labels.distinct()
    admits = distinct.admissible().astype(np.float32)
    meets = (admits @ admits.T > 0)[group[one], group[other]]
    ends = np.sort(np.column_stack([answers.rater[one], answers.rater[other]]), axis=1)
    n_raters = max(answers.raters.size, 1)
    key, place = np.unique(ends[:, 0] * n_raters + ends[:, 1], return_inverse=True)
    n_items = np.bincount(place.ravel(), minlength=key.size)
    share = np.bincount(place.ravel(), meets, key.size) / np.maximum(n_items, 1)
    pairs = Overlaps(key // n_raters, key % n_raters, n_items, share)
    return pairs, float(meets.mean()) if meets.size else float("nan")


def _bias(answers: Answers) -> Floats:
    middle = 0.5 * (answers.labels.lower + answers.labels.upper)
    size, total = (np.bincount(answers.item, w, answers.items.size)[answers.item] for w in (None, middle))
    with np.errstate(invalid="ignore", divide="ignore"):
        away = middle - (total - middle) / (size - 1)
        compared = size > 1
        sums = np.bincount(answers.rater[compared], away[compared], answers.raters.size)
        return np.asarray(sums / np.bincount(answers.rater[compared], minlength=answers.raters.size))
