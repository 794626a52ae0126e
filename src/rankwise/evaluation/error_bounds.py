"""Claims about the error of a model from test rows with partial labels.

The loss of a row lies between those against the nearest and the farthest class that its label admits. The means bound
the error on these rows; only knowledge of how they were annotated can narrow the range, by two theorems of
:mod:`rankwise.bounds`.

Limits for the population come on top: the lower limit of the lower end and the upper limit of the upper end, each at
half the error probability, so that the range between them holds the risk with the required confidence.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from rankwise._types import Floats
from rankwise.bounds import interval_mae_risk, interval_zero_one_risk
from rankwise.bounds.checks import integer
from rankwise.labels import Labels
from rankwise.labels.label_values import show
from rankwise.losses import Loss, interval_insensitive, interval_pessimistic
from rankwise.losses.target_losses import largest_loss
from rankwise.metrics.comparison import compare, mean, needs_order

#: (end, p) -> limit of the expected lower (0) or upper (1) end, which lies below it with probability p if p > 1/2,
#: above it with probability 1 - p otherwise; at least.
Limit = Callable[[int, float], float]

#: (generator, size) -> both mean losses of that many resamples of the rows, shape (size, 2).
Draw = Callable[[np.random.RandomState, int], Floats]

_BLOCK = 1_000_000  # row numbers that resampling holds at a time


@dataclass(frozen=True)
class ErrorRange:
    """Range of a mean loss.

    Attributes
    ----------
    lower, upper : float
        Least and largest mean loss on the rows at hand that their labels allow. With knowledge of the annotation
        process, ``upper`` estimates what it allows on the population.
    lower_limit, upper_limit : float
        Range that holds the expected loss on new rows with the given confidence.
    confidence : float
        Probability of this range.
    n_rows : int
        Rows that count.
    """

    lower: float
    upper: float
    lower_limit: float
    upper_limit: float
    confidence: float
    n_rows: int


def error_range(
    y_true: Any,
    y_pred: Any,
    *,
    loss: Loss = "mae",
    classes: Any = None,
    sample_weight: Any = None,
    missing: Literal["left_out", "counted"] = "left_out",
    alpha: float | None = None,
    beta: float | None = None,
    ambiguity: float | None = None,
    confidence: float = 0.95,
    limits: Literal["hoeffding", "bootstrap"] = "hoeffding",
    n_resamples: int = 1000,
    random_state: Any = None,
) -> ErrorRange:
    """Range of the error that test rows with partial labels allow, on these rows and on new ones.

    The labels must be consistent, i.e. admit the true class. The limits ask for independent rows that the model was
    not fitted to.

    Parameters
    ----------
    y_true, y_pred, classes
        As in :func:`rankwise.metrics.mean_absolute_error`.
    loss : {"mae", "zero_one", "squared"} or array-like of shape (K, K), default="mae"
        Target loss, see :func:`rankwise.losses.loss_matrix`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; not random, for the limits.
    missing : {"left_out", "counted"}, default="left_out"
        Rows without a label, or with one that admits every class: left out, which is right if missing labels are
        independent of the class; or counted, with the largest possible loss.
    alpha, beta : float, optional
        The annotation process of these rows names the true class alone with a probability of at least ``alpha``, and
        no label is wider than ``beta`` ranks: Theorem 3 then keeps the upper end within ``(1 - alpha) * beta`` of the
        lower one. For the MAE, with values from another source; shares seen in these rows give a wider range.
    ambiguity : float, optional
        epsilon of the annotation process: Theorem 2 then keeps the upper end below ``lower / (1 - epsilon)``. For the
        0/1 loss.
    confidence : float, default=0.95
        Probability that the limits hold.
    limits : {"hoeffding", "bootstrap"}, default="hoeffding"
        ``"hoeffding"`` holds for every distribution and number of rows, but is wide: it assumes the largest loss on
        the scale. ``"bootstrap"`` takes quantiles of resampled means; narrower, but only valid for many rows.
    n_resamples : int, default=1000
        Bootstrap samples.
    random_state : int, RandomState or None
        Makes the bootstrap repeatable.

    Examples
    --------
    >>> errors = error_range([(1, 2), (2, 3), 4, None], [1, 4, 4, 1], classes=[1, 2, 3, 4])
    >>> round(errors.lower, 3), round(errors.upper, 3), errors.n_rows
    (0.333, 1.0, 3)
    """
    _check_options(confidence, limits, missing, n_resamples)
    labels, codes, weight = compare(
        y_true, y_pred, classes, sample_weight, "error_range", ordered=needs_order(loss),
        keep_missing=missing == "counted",
    )  # fmt: skip
    theorem = _theorem(loss, alpha, beta, ambiguity, labels)
    losses = np.array([interval_insensitive(labels, codes, loss), interval_pessimistic(labels, codes, loss)])
    lower, upper = mean(losses[0], weight), mean(losses[1], weight)
    largest = largest_loss(loss, len(labels.order))
    if limits == "hoeffding":
        limit = hoeffding((lower, upper), float(weight.sum()), float(weight @ weight), largest)
    else:
        limit = _bootstrap(losses, weight, n_resamples, random_state)
    tail = (1 - confidence) / 2
    lower_limit = limit(0, tail)
    if theorem is None:
        upper_limit = limit(1, 1 - tail)
    else:
        # The smaller of two upper limits: each gets half of the error probability.
        upper_limit = min(limit(1, 1 - tail / 2), theorem(limit(0, 1 - tail / 2)))
        upper = min(upper, theorem(lower))
    n_rows = int(np.count_nonzero(weight))
    return ErrorRange(lower, upper, max(0.0, lower_limit), min(largest, upper_limit), confidence, n_rows)


def hoeffding(means: tuple[float, float], weight: float, squared_weight: float, largest: float) -> Limit:
    """Limits from Hoeffding's inequality for a weighted mean of independent losses in [0, largest].

    ``weight`` is the sum of the weights, ``squared_weight`` that of their squares.
    """
    spread = largest * math.sqrt(squared_weight / 2) / weight

    def limit(end: int, probability: float) -> float:
        slack = spread * math.sqrt(-math.log(min(probability, 1 - probability)))
        return means[end] - slack if probability < 0.5 else means[end] + slack

    return limit


def _bootstrap(losses: Floats, weight: Floats, n_resamples: int, random_state: Any) -> Limit:
    """Limits as quantiles of the weighted means of resampled rows."""
    losses, weight = losses[:, weight > 0], weight[weight > 0]
    generator = check_random_state(random_state)
    draw = _draw_groups(losses) if (weight == weight[0]).all() else _draw_rows(losses, weight)
    step = max(1, _BLOCK // losses.shape[1])  # samples at a time, so that memory stays bounded
    sizes = [min(step, n_resamples - start) for start in range(0, n_resamples, step)]
    means = np.concatenate([draw(generator, size) for size in sizes])
    return lambda end, probability: float(np.quantile(means[:, end], probability))


def _draw_rows(losses: Floats, weight: Floats) -> Draw:
    columns = np.vstack([losses * weight, weight]).T.copy()

    def draw(generator: np.random.RandomState, size: int) -> Floats:
        rows = generator.randint(weight.size, size=(size, weight.size))
        sums = np.array([np.bincount(chosen, minlength=weight.size) @ columns for chosen in rows])
        return np.asarray(sums[:, :2] / sums[:, 2:])

    return draw


def _draw_groups(losses: Floats) -> Draw:
    """Rows of equal weight and equal losses form groups; only the number of rows of each group is drawn."""
    n = losses.shape[1]
    (least, of_least), (most, of_most) = (np.unique(row, return_inverse=True) for row in losses)
    counts = np.bincount(of_least.ravel() * most.size + of_most.ravel(), minlength=least.size * most.size)
    values = np.column_stack([np.repeat(least, most.size), np.tile(most, least.size)])

    def draw(generator: np.random.RandomState, size: int) -> Floats:
        return np.asarray(generator.multinomial(n, counts / n, size=size) @ values / n)

    return draw


def _theorem(
    loss: Loss, alpha: float | None, beta: float | None, ambiguity: float | None, labels: Labels
) -> Callable[[float], float] | None:
    """Upper end of the risk as a function of the partial risk, from knowledge of the annotation process."""
    named = loss if isinstance(loss, str) else None
    if (alpha is None) != (beta is None):
        raise ValueError(f"alpha and beta must be given together. Got alpha={alpha!r} and beta={beta!r}.")
    for name, value, wanted in (("alpha and beta", alpha, "mae"), ("ambiguity", ambiguity, "zero_one")):
        if value is not None and named != wanted:
            raise ValueError(f"{name} can only be used with loss={wanted!r}. Got loss={loss!r}.")
    if alpha is not None and beta is not None:
        interval_mae_risk(0.0, alpha, beta)  # checks alpha and beta
        width = labels.upper - labels.lower
        if width.max() > beta:
            row = int(np.argmax(width))
            widest = show(labels.classes[[labels.lower[row], labels.upper[row]]])
            raise ValueError(f"beta must be the width of the widest label at least. Got beta={beta!r} and {widest}.")
        return lambda partial_risk: interval_mae_risk(partial_risk, alpha, beta)
    if ambiguity is not None:
        interval_zero_one_risk(0.0, ambiguity)
        return lambda partial_risk: interval_zero_one_risk(min(1.0, partial_risk), ambiguity)
    return None


def _check_options(confidence: float, limits: str, missing: str, n_resamples: int) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1. Got {confidence!r} instead.")
    if limits not in ("hoeffding", "bootstrap"):
        raise ValueError(f"limits must be 'hoeffding' or 'bootstrap'. Got {limits!r} instead.")
    if missing not in ("left_out", "counted"):
        raise ValueError(f"missing must be 'left_out' or 'counted'. Got {missing!r} instead.")
    integer(1, n_resamples=n_resamples)
