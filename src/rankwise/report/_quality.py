"""Numbers of the report from the counts: quality with bootstrap limits, what may be claimed, classes one by one.

The measures depend only on the number of rows in each cell, so the bootstrap draws these numbers: it is the bootstrap
of rows, at a cost that does not grow with them. Where weights differ within a cell, their sum in a resample is drawn
from the normal distribution with their mean and variance, which is the limit for many rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rankwise._types import Floats
from rankwise.bounds import interval_mae_risk, interval_zero_one_risk
from rankwise.evaluation import ErrorRange
from rankwise.evaluation.error_bounds import hoeffding
from rankwise.metrics.ordinal_metrics import kappa_of, macro_error_of, tau_of
from rankwise.report._counts import Cells, RowCounts

_BLOCK = 2_000_000  # numbers that resampling holds at a time


@dataclass(frozen=True)
class Measured:
    """A measure on the rows and its confidence limits; NaN where the measure does not exist."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Measure:
    """One line of the table of quality."""

    name: str
    note: str
    better: str
    best: Measured  # partial labels count as the admissible class nearest to the prediction
    worst: Measured | None  # as the farthest one; None if no label is partial


@dataclass(frozen=True)
class Bootstrap:
    """Parameters of the confidence limits."""

    confidence: float
    n_resamples: int
    random_state: int


def measures(counts: RowCounts, bootstrap: Bootstrap, *, ordered: bool) -> list[Measure]:
    """Lines of the table of quality that the labels allow."""
    k = counts.n_classes
    used = np.flatnonzero(counts.losses.rows)
    kinds = [kind for kind in _ORDERED if k > 2 or kind is not _WITHIN_ONE] if ordered else [_RIGHT, _COST]
    # One column for each measure against the nearest class, then one for each against the farthest.
    columns = [of_distance(distance) for distance in np.divmod(used, k) for *_, of_distance in kinds]
    values = np.column_stack(columns).astype(np.float64)
    means = np.vstack([sums @ values / sums.sum(axis=1, keepdims=True) for sums in _resample(counts.losses, bootstrap)])
    points = counts.losses.weight[used] @ values / counts.losses.weight[used].sum()
    limits = [_limits(float(point), column, bootstrap) for point, column in zip(points, means.T, strict=True)]
    lines = [
        Measure(name, note, better, best, worst if counts.has_partial else None)
        for (name, note, better, _), best, worst in zip(kinds, limits[: len(kinds)], limits[len(kinds) :], strict=True)
    ]
    if ordered and not counts.has_partial and k > 1:
        lines += _of_tables(counts.exact, k, bootstrap)
    return lines


#: Name, note, which way is better, and the measure of one row by its distance from the label.
_Kind = tuple[str, str, str, Callable[[Any], Any]]
_MAE: _Kind = ("mean absolute error", "mean distance from the label, in ranks", "lower", lambda d: d)
_RIGHT: _Kind = ("exactly right", "share of the predictions that the label admits", "higher", lambda d: d == 0)
_WITHIN_ONE: _Kind = ("within one rank", "share at most one rank off", "higher", lambda d: d <= 1)
_MSE: _Kind = ("mean squared error", "of the distance in ranks", "lower", lambda d: d * d)
_COST: _Kind = ("weighted cost", "weight of the mistakes as a share of all weight", "lower", lambda d: d > 0)
_ORDERED = (_MAE, _RIGHT, _WITHIN_ONE, _MSE)


def _of_tables(cells: Cells, k: int, bootstrap: Bootstrap) -> list[Measure]:
    """Measures of the whole confusion matrix, which exists for exact labels only."""
    kinds = (
        ("macro mean absolute error", "mean over the classes: rare ones count as much as common ones", "lower"),
        ("quadratic weighted kappa", "agreement beyond chance; 1 is perfect, 0 is chance", "higher"),
        ("Kendall's tau", "pairs of rows in the right order, less those in the wrong one", "higher"),
    )
    used = np.flatnonzero(cells.rows)

    def values(weights: Floats) -> list[float]:
        table = np.zeros(k * k)
        table[used] = weights
        square, codes = table.reshape(k, k), np.arange(k)
        return [macro_error_of(square, codes), kappa_of(square, codes), tau_of(square)]

    resampled = np.array([values(weights) for block in _resample(cells, bootstrap) for weights in block])
    return [
        Measure(*kind, _limits(value, column, bootstrap), None)
        for kind, value, column in zip(kinds, values(cells.weight[used]), resampled.T, strict=True)
    ]


def _resample(cells: Cells, bootstrap: Bootstrap) -> Iterator[Floats]:
    """Weights of the cells with rows in resamples of the rows, a block at a time: (resamples, cells)."""
    generator = np.random.default_rng(bootstrap.random_state)
    used = np.flatnonzero(cells.rows)
    rows = cells.rows[used]
    mean = cells.weight[used] / rows
    spread = np.sqrt(np.maximum(cells.squares[used] / rows - mean * mean, 0.0))
    spread[spread < 1e-7 * mean] = 0.0  # rounding, for equal weights
    step = max(1, _BLOCK // used.size)
    for start in range(0, bootstrap.n_resamples, step):
        drawn = generator.multinomial(rows.sum(), rows / rows.sum(), size=min(step, bootstrap.n_resamples - start))
        sums = drawn * mean
        if spread.any():
            sums += np.sqrt(drawn) * spread * generator.standard_normal(drawn.shape)
        yield np.maximum(sums, 0.0)


def _limits(value: float, resampled: Floats, bootstrap: Bootstrap) -> Measured:
    tail = (1 - bootstrap.confidence) / 2
    known = resampled[np.isfinite(resampled)]
    if not known.size:
        return Measured(value, math.nan, math.nan)
    low, high = np.quantile(known, [tail, 1 - tail])
    return Measured(value, float(low), float(high))


@dataclass(frozen=True)
class Claim:
    """What the rows allow one to say about the error behind partial labels."""

    loss: str
    unit: str
    range: ErrorRange
    bounds: list[tuple[str, str, float]]  # theorem of rankwise.bounds, what it assumes, its upper end


def claims(counts: RowCounts, bootstrap: Bootstrap, *, ordered: bool) -> list[Claim]:
    """Ranges of the errors as in :func:`rankwise.evaluation.error_range`, and the risk bounds."""
    k = counts.n_classes
    least, most = np.divmod(np.arange(k * k), k)
    weight = float(counts.losses.weight.sum())
    alpha = float(counts.width_weight[0]) / weight
    beta = int(np.flatnonzero(counts.widths).max())
    mean_width = float(counts.width_weight @ np.arange(k)) / weight
    tail = (1 - bootstrap.confidence) / 2
    lines = []
    for loss in ("mae", "zero_one") if ordered else ("zero_one",):
        ends = [d.astype(float) if loss == "mae" else (d > 0).astype(float) for d in (least, most)]
        lower, upper = (float(counts.losses.weight @ values) / weight for values in ends)
        largest = float(k - 1) if loss == "mae" else 1.0
        limit = hoeffding((lower, upper), weight, float(counts.losses.squares.sum()), largest)
        limits = max(0.0, limit(0, tail)), min(largest, limit(1, 1 - tail))
        span = ErrorRange(lower, upper, *limits, bootstrap.confidence, counts.n_judged)
        bounds = []
        if counts.has_partial and loss == "mae":
            bounds = [
                ("Theorem 3", f"exact labels α = {alpha:.3g}, widths up to β = {beta}: error at best + (1 − α) β",
                 interval_mae_risk(lower, alpha, beta)),
                ("Theorem 3, mean width", f"labels {mean_width:.3g} ranks wide on average: error at best + mean width",
                 interval_mae_risk(lower, 0.0, mean_width)),
            ]  # fmt: skip
        elif counts.has_partial and alpha > 0:
            assumption = f"if every row had a chance of {alpha:.3g} or more of an exact label: error at best / α"
            bounds = [("Theorem 2", assumption, interval_zero_one_risk(min(1.0, lower), 1 - alpha))]
        name, unit = ("mean absolute error", "ranks") if loss == "mae" else ("share of mistakes", "")
        lines.append(Claim(name, unit, span, bounds))
    return lines


def by_class(counts: RowCounts, classes: NDArray[Any], confidence: float, *, ordered: bool) -> list[dict[str, Any]]:
    """One line per class: numbers of rows, recall, precision and mean absolute error."""
    k = counts.n_classes
    exact, predicted = counts.exact, counts.predicted
    rows, weight, squares = (sums.reshape(k, k) for sums in (exact.rows, exact.weight, exact.squares))
    lines = []
    for code, name in enumerate(classes.tolist()):
        of_class = weight[code].sum()
        recall = _share(weight[code, code], of_class, squares[code].sum(), confidence)
        right = counts.admissible.weight[code]
        precision = _share(right, predicted.weight[code], predicted.squares[code], confidence)
        distance = weight[code] @ np.abs(np.arange(k) - code) / of_class if ordered and of_class else math.nan
        lines.append({
            "class": str(name), "exact": int(rows[code].sum()), "admits": int(counts.admits[code]),
            "predicted": int(predicted.rows[code]), "recall": asdict(recall), "precision": asdict(precision),
            "mae": float(distance),
        })  # fmt: skip
    return lines


def _share(weight: float, total: float, squares: float, confidence: float) -> Measured:
    """Weighted share with Wilson's limits for the effective number of rows, ``(sum w)^2 / sum w^2``."""
    if total == 0:
        return Measured(math.nan, math.nan, math.nan)
    share, n = weight / total, total * total / squares
    z = float(ndtri((1 + confidence) / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Measured(share, max(0.0, middle - half), min(1.0, middle + half))
