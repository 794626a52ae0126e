"""What kind of label to buy: many wide intervals, or few exact labels.

n labels of width beta let one claim, by Theorem 3 of the thesis on partial annotations and a term for n rows,

    ``R_MAE <= (partial risk on the n rows) + complexity / sqrt(n) + beta``.

A budget B at a price c a label buys ``n = B / c`` rows. Mixtures need no search: with shares s of the kinds, the second
term is ``complexity * sqrt(sum s c / B)`` and the third ``sum s beta``, which is concave in s, so the smallest value is
at a single kind of label (but for the rounding to whole rows).

The bound is a worst case: it ignores that wider intervals lower the partial risk, and favours exact labels. The thesis'
own experiments lose far less than beta. With labelled rows, a simulation
(:func:`rankwise.evaluation.simulate_annotation`) can replace the bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np


@dataclass(frozen=True)
class Purchase:
    """What a budget buys if it is spent on one kind of label.

    Attributes
    ----------
    beta : float
        Width ``upper - lower`` of the labels; 0 for exact ones. The MAE exceeds the partial risk by at most this.
    n_rows : int
        Number of rows that the budget buys.
    sampling : float
        ``complexity / sqrt(n_rows)``: the risk exceeds its estimate on these rows by at most this.
    """

    beta: float
    n_rows: int
    sampling: float

    @property
    def bound(self) -> float:
        """``sampling + beta``, to be compared between kinds of labels."""
        return self.sampling + self.beta


@dataclass(frozen=True)
class Plan:
    """Simulated result of spending a budget of minutes on one way of annotating.

    Attributes
    ----------
    kind : str
        Name of the way of annotating.
    minutes : float
        Minutes spent: the budget, or fewer if the simulation ran out of items.
    n_labels : int
        Items answered in that time.
    error : float
        Mean absolute error in ranks after that time.
    """

    kind: str
    minutes: float
    n_labels: int
    error: float


@overload
def plan_budget(budget: float, prices: Mapping[float, float], complexity: float) -> list[Purchase]: ...
@overload
def plan_budget(budget: float, *, curves: Mapping[str, Any]) -> list[Plan]: ...
def plan_budget(
    budget: float,
    prices: Mapping[float, float] | None = None,
    complexity: float | None = None,
    *,
    curves: Mapping[str, Any] | None = None,
) -> list[Purchase] | list[Plan]:
    """What a budget buys of every kind of label, the kind with the smallest bound on the MAE first.

    Parameters
    ----------
    budget : float
        Amount to spend, > 0.
    prices : mapping of width to price
        Price of one label by its width ``upper - lower``: ``{0: 1.0, 4: 0.2}`` for exact labels at 1 and intervals of
        five classes at a fifth of that. For labels of various widths give their mean. Kinds of which the budget buys
        none are left out.
    complexity : float
        How fast the error falls with the number of rows, > 0. For test rows of a fixed model Hoeffding's inequality
        gives ``(K - 1) * sqrt(log(1 / delta) / 2)``, and the bound holds with probability ``1 - delta``. For rows to
        learn from, the slope of a learning curve over ``1 / sqrt(n)`` gives a rule of thumb.
    curves : mapping of str to AnnotationCurve, optional
        In place of prices and complexity: error against minutes for each way of annotating, from
        :func:`rankwise.evaluation.simulate_annotation`. The budget is then in minutes.

    Returns
    -------
    list of Purchase, or of Plan with ``curves``
        Smallest bound first; of equal ones, the narrower labels first. With curves, smallest error first.

    Examples
    --------
    >>> for kind in plan_budget(100, {0: 1.0, 1: 0.05}, complexity=20):
    ...     print(kind.beta, kind.n_rows, round(kind.bound, 3))
    1 2000 1.447
    0 100 2.0
    """
    if curves is not None:
        if prices is not None or complexity is not None:
            raise ValueError("give prices and complexity, or curves, not both.")
        return _plans(budget, curves)
    if prices is None or complexity is None:
        raise ValueError("give prices and complexity, or the curves of simulations.")
    for name, value in (("budget", budget), ("complexity", complexity)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be a finite number > 0. Got {value!r} instead.")
    for beta, price in prices.items():
        if not 0 <= beta < math.inf or not 0 < price < math.inf:
            raise ValueError(f"prices must map widths >= 0 to prices > 0. Got {beta!r}: {price!r}.")
    # A quotient that rounding put just below a whole number is that number: 0.3 buys three at 0.1.
    bought = {beta: math.floor(budget / price * (1 + 1e-12)) for beta, price in prices.items()}
    options = [Purchase(beta, n, complexity / math.sqrt(n)) for beta, n in bought.items() if n]
    if not options:
        raise ValueError(f"the budget must buy at least one label. Got {budget!r} and the prices {dict(prices)!r}.")
    return sorted(options, key=lambda kind: (kind.bound, kind.beta))


def _plans(budget: float, curves: Mapping[str, Any]) -> list[Plan]:
    """Read each curve at the minutes of the budget."""
    plans = []
    for kind, curve in curves.items():
        if not budget >= curve.minutes[0]:  # NaN too
            raise ValueError(
                f"the budget must reach the first fit of the simulation {kind!r}, after {curve.minutes[0]:.3g} minutes."
                f" Got {budget!r}."
            )
        spent = min(float(budget), float(curve.minutes[-1]))
        n_labels = int(np.interp(spent, curve.minutes, curve.n_labels))
        plans.append(Plan(kind, spent, n_labels, float(np.interp(spent, curve.minutes, curve.error))))
    return sorted(plans, key=lambda plan: plan.error)
