"""Whether an annotation plan makes learning possible: conditions for consistent learning from partial annotations.

Definition 8 of the thesis, "property A", asks of the way examples are annotated:

1. the annotated parts z are independent of the labels y given the input x (4.3), and an annotation copies the label of
   every annotated part (4.4);
2. for some rho > 0 and every x, every part is annotated with a probability of at least rho, and every labelling has a
   probability of at least rho.

Under it, minimising the partial loss is as good as minimising the complete one (Theorem 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom
from sklearn.utils import check_random_state

from rankwise._errors import RowError
from rankwise._masks import unmasked
from rankwise._types import Floats, Places

Verdict = tuple[bool | None, str]  # of a condition: whether it holds, and the reason


@dataclass(frozen=True)
class Condition:
    """One condition of property A.

    Attributes
    ----------
    name : str
        The condition in words.
    holds : bool or None
        Whether it holds; None if the data cannot tell.
    reason : str
        The numbers behind the verdict.
    """

    name: str
    holds: bool | None
    reason: str


@dataclass(frozen=True)
class PlanReport:
    """Which conditions of property A an annotation plan fulfils.

    Attributes
    ----------
    conditions : tuple of Condition
        The conditions, each with its verdict and reason.
    """

    conditions: tuple[Condition, ...]

    @property
    def holds(self) -> bool | None:
        """False if a condition fails, None if none fails but some cannot be told, True if all hold."""
        verdicts = [condition.holds for condition in self.conditions]
        return False if False in verdicts else None if None in verdicts else True

    def __str__(self) -> str:
        word = {True: "yes", False: "NO", None: "?"}
        width = max(len(condition.name) for condition in self.conditions)
        lines = (f"{word[c.holds]:<3}  {c.name.ljust(width)}  {c.reason}" for c in self.conditions)
        return "\n".join(lines)


def check_plan(
    annotated: Any,
    *,
    groups: Any = None,
    labels: Any = None,
    label_probabilities: Any = None,
    rho: float = 0.01,
    level: float = 0.01,
    n_permutations: int = 999,
    random_state: Any = None,
) -> PlanReport:
    """Check property A (Definition 8) of an annotation plan, or of annotations, as far as the data can tell.

    Parameters
    ----------
    annotated : array-like of shape (n, V)
        A plan: the probability that each part (label, position) of each example is annotated, in numbers that are not
        all 0 and 1. Or observed annotations: True, or 1, where a part was annotated, as in ``Y.notna()``.
    groups : array-like of shape (n,), optional
        What is known of the input x, as one value for each example (an annotator's task, a stratum); the conditions are
        checked within each group. By default all examples form one.
    labels : array-like of shape (n, V), optional
        The true labels, also of parts that were not annotated, such as those of an audited sample. With observed
        annotations they allow a test of the independence; a plan made without knowing the labels needs none.
    label_probabilities : array-like of shape (n, N), optional
        Probability of each of the N labellings of each example, if known.
    rho : float, default 0.01
        Smallest probability that is required.
    level : float, default 0.01
        Significance level: a condition on observed annotations fails if its p-value is at most this.
    n_permutations : int, default 999
        Shuffles of the examples within their groups, for the test of independence.
    random_state : int, RandomState or None
        Makes these repeatable.

    Examples
    --------
    The left parts in even images, the right ones in odd images, shown in random order:

    >>> import numpy as np
    >>> from rankwise.annotation import check_plan
    >>> plan = np.full((100, 4), 0.5)
    >>> print(check_plan(plan))
    yes  every part has a chance   smallest probability 0.5, part 0
    yes  labels play no part       a plan of probabilities is drawn without the labels
    ?    every labelling possible  no label_probabilities given

    Only parts that show a 1 are annotated:

    >>> labels = np.tile([[0, 1], [1, 0], [1, 1], [0, 0]], (25, 1))
    >>> report = check_plan(labels == 1, labels=labels, random_state=0)
    >>> report.holds, report.conditions[1].holds
    (False, False)
    """
    z = _matrix(annotated)
    if not 0 < rho <= 1 or not 0 < level < 1:
        raise ValueError(f"rho and level must lie in (0, 1]. Got rho={rho!r} and level={level!r} instead.")
    if not n_permutations >= 1:
        raise ValueError(f"n_permutations must be a number >= 1. Got {n_permutations!r} instead.")
    group = np.zeros(len(z), dtype=np.intp) if groups is None else _column(groups, len(z))
    if np.any((z > 0) & (z < 1)):  # a plan
        chance = _planned_chance(z, rho)
        independence: Verdict = True, "a plan of probabilities is drawn without the labels"
    else:
        chance = _observed_chance(z, group, rho, level)
        independence = _independence(z, group, labels, level, n_permutations, random_state)
    verdicts = {
        "every part has a chance": chance,
        "labels play no part": independence,
        "every labelling possible": _every_labelling(label_probabilities, rho),
    }
    return PlanReport(tuple(Condition(name, *verdict) for name, verdict in verdicts.items()))


def _planned_chance(z: Floats, rho: float) -> Verdict:
    lowest = float(z.min())
    return lowest >= rho, f"smallest probability {lowest:.3g}, part {np.argmin(z.min(axis=0))}"


def _observed_chance(z: Floats, group: Places, rho: float, level: float) -> Verdict:
    """A rarely annotated part fails if so few annotations would be very unlikely with a probability of rho."""
    sizes = np.bincount(group)
    counts = np.array([np.bincount(group, weights=column) for column in z.T])  # (V, groups)
    # Probabilities of at most so many annotations if each had the probability rho, corrected after Bonferroni.
    p = binom.cdf(counts, sizes, rho) * counts.size
    rate = counts / sizes
    part, where = np.unravel_index(int(np.argmin(p if p.min() <= level else rate)), rate.shape)
    seen = f"part {part} in {counts[part, where]:.0f} of {sizes[where]} examples" + (
        f" of group {where}" if sizes.size > 1 else ""
    )
    if p.min() <= level:
        return False, f"{seen}: too few for a probability of {rho:g}"
    if rate.min() >= rho:
        return True, f"least often {seen}"
    return None, f"least often {seen}: too few to tell"


def _independence(
    z: Floats, group: Places, labels: Any, level: float, n_permutations: int, random_state: Any
) -> Verdict:
    """Permutation test within groups, on the sum of squared correlations of annotated parts and label indicators."""
    if labels is None:
        return None, "no true labels given to compare with"
    table = np.asarray(labels)
    if table.shape != z.shape:
        raise ValueError(f"labels must have the shape of annotated, {z.shape}. Got {table.shape} instead.")
    shown = [(v, column == value) for v, column in enumerate(table.T) for value in np.unique(column)]
    a, b = _within(z, group), _within(np.column_stack([where for _, where in shown]).astype(np.float64), group)
    if not (a.any() and b.any()):
        return None, "annotations or labels do not vary, so nothing can be seen"
    generator = check_random_state(random_state)
    seen = (a.T @ b) ** 2
    statistic, order = seen.sum(), np.argsort(group, kind="stable")
    exceeded = 0
    for _ in range(n_permutations):
        shuffled = np.empty(len(z), dtype=np.intp)
        random = generator.random_sample(len(z))
        shuffled[order] = np.lexsort((random, group))  # a permutation of every group
        exceeded += ((a[shuffled].T @ b) ** 2).sum() >= statistic * (1 - 1e-12)
    p = (1 + exceeded) / (1 + n_permutations)
    part, indicator = np.unravel_index(int(np.argmax(seen)), seen.shape)
    reason = f"permutation test p = {p:.2g}; strongest: annotating part {part}, label of part {shown[indicator][0]}"
    return bool(p > level), reason


def _every_labelling(label_probabilities: Any, rho: float) -> Verdict:
    if label_probabilities is None:
        return None, "no label_probabilities given"
    table = np.atleast_2d(np.asarray(unmasked(label_probabilities), dtype=np.float64))
    if np.any(table < 0) or not np.allclose(table.sum(axis=1), 1.0):
        raise ValueError("label_probabilities must be probabilities: rows of numbers >= 0 that add up to one.")
    return bool(table.min() >= rho), f"smallest probability {table.min():.3g}"


def _within(columns: Floats, group: Places) -> Floats:
    """Columns minus their group's mean, of unit length where they vary."""
    means = np.array([np.bincount(group, weights=column) for column in columns.T]) / np.bincount(group)
    centred = columns - means.T[group]
    length = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(centred / np.where(length > 1e-9, length, np.inf))


def _matrix(annotated: Any) -> Floats:
    z = np.asarray(annotated)
    if z.ndim != 2 or 0 in z.shape:
        raise ValueError(f"annotated must be a table, examples by parts. Got an array of shape {z.shape} instead.")
    z = z.astype(np.float64)
    good = (z >= 0) & (z <= 1)
    if not good.all():
        row, part = np.argwhere(~good)[0].tolist()
        raise RowError(f"a probability, or 0 or 1, is needed. Got {z[row, part]:g} instead.", row, part, axis="part")
    return z


def _column(groups: Any, n: int) -> Places:
    values = np.asarray(groups)
    if values.shape != (n,):
        raise ValueError(f"groups must have one value for each of the {n} examples. Got shape {values.shape} instead.")
    return np.unique(values, return_inverse=True)[1].astype(np.intp)
