"""Loss of accuracy by interval labels: the same learner and rows, with annotations of decreasing precision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from rankwise.annotation import alpha_beta_intervals
from rankwise.evaluation.error_bounds import error_range
from rankwise.labels import encode
from rankwise.losses import Loss


@dataclass(frozen=True)
class Annotated:
    """Error of a model that learnt from annotations of one kind.

    Attributes
    ----------
    width : int
        ``upper - lower`` of the intervals.
    portion : float
        Expected share of the rows with an interval; the others are exact.
    cost : float or None
        Expected price of all labels; None without prices.
    error : float
        Mean loss on the test rows.
    lower_limit, upper_limit : float
        Bootstrap limits of its expectation over test rows, for this model.
    """

    width: int
    portion: float
    cost: float | None
    error: float
    lower_limit: float
    upper_limit: float


def annotation_tradeoff(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    widths: Sequence[int] = (1, 2, 4),
    portions: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    prices: Mapping[int, float] | None = None,
    loss: Loss = "mae",
    classes: Any = None,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> list[Annotated]:
    """Turn some of the exact labels into intervals, learn, and judge on test rows, for every width and portion.

    Parameters
    ----------
    estimator : estimator
        Learns from exact and interval labels; clones of it are fitted.
    X, y : array-like
        Rows and exact labels to learn from. The annotations are made by
        :func:`rankwise.annotation.alpha_beta_intervals` with ``alpha = 1 - portion`` and ``beta = width``; with the
        same ``random_state`` a larger portion only adds intervals.
    X_test, y_test : array-like
        Rows and exact labels to judge by.
    widths : sequence of int, default (1, 2, 4)
        ``upper - lower`` of the intervals, in 1..K-1.
    portions : sequence of float, default (0, 0.25, 0.5, 0.75, 1)
        Shares of the rows with an interval, in [0, 1].
    prices : mapping of width to price, optional
        Price of one label by its width, 0 for exact ones, as in :func:`rankwise.annotation.plan_budget`.
    loss : {"mae", "zero_one", "squared"} or matrix, default "mae"
        Loss to judge by.
    classes : sequence, optional
        All classes, lowest first; by default those of ``y``.
    confidence : float, default 0.95
        Of the limits.
    random_state : int, default 0
        Makes annotations and limits repeatable.

    Returns
    -------
    list of Annotated
        In the order of widths, then of portions.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(600, 3, 5, noise=0.3, random_state=0)
    >>> halves = X[:300], y[:300], X[300:], y[300:]
    >>> prices = {0: 1.0, 2: 0.4}
    >>> kinds = annotation_tradeoff(rw.PRIL(random_state=0), *halves, widths=[2], portions=[0, 1], prices=prices)
    >>> [(kind.portion, kind.cost) for kind in kinds]
    [(0, 300.0), (1, 120.0)]
    """
    exact = encode(y, classes)
    truth = encode(y_test, exact.order)
    if prices is not None:
        unpriced = [width for width in (0, *widths) if width not in prices]
        if unpriced:
            raise ValueError(f"prices must name every width, and 0 for exact labels. Got none for {unpriced}.")
    kinds, ranges = [], {}
    for width in widths:
        for portion in portions:
            intervals = alpha_beta_intervals(exact, 1 - portion, width, random_state=random_state)
            key = intervals.tobytes() if intervals.dtype != object else repr(intervals.tolist())
            if key not in ranges:  # without intervals the width does not matter
                predicted = with_classes(estimator, exact.classes).fit(X, intervals).predict(X_test)
                ranges[key] = error_range(
                    truth, predicted, loss=loss, confidence=confidence, limits="bootstrap", random_state=random_state
                )
            errors = ranges[key]
            price = None if prices is None else (1 - portion) * prices[0] + portion * prices[width]
            cost = None if price is None else float(len(exact) * price)
            kinds.append(Annotated(width, portion, cost, errors.lower, errors.lower_limit, errors.upper_limit))
    return kinds


def with_classes(estimator: Any, classes: Any) -> Any:
    """A clone of the estimator with all classes, if it has a parameter for them."""
    model = clone(estimator)
    return model.set_params(classes=classes) if "classes" in model.get_params(deep=False) else model
