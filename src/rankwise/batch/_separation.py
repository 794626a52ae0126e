"""Whether labels are separable: then their likelihood has no maximum and grows with some weights for ever.

Labels are separable along a direction (dw, dt) of the parameters if no row loses likelihood by it: for every row,
``dt_h - <dw, x> >= 0`` at its upper threshold and ``<dw, x> - dt_l >= 0`` at its lower one. A diverging solver moves
along such a direction. So the last Newton step shows it, and so do the parameters if every row is on its side.
"""

import numpy as np

from rankwise._types import Floats, Places
from rankwise.batch._coded_rows import CodedRows
from rankwise.batch._link_risk import LinkRisk, newton_step
from rankwise.losses._links import padded
from rankwise.solvers.design import Design, LinearMap

_MOST_PARAMETERS = 2000  # for which a last Newton step is made
_ROUNDING = 1e-7  # relative loss of a row by a direction that is not counted
_MOST_NAMES = 5


def separating_columns(design: LinearMap, risk: LinkRisk, weights: Floats, thresholds: Floats) -> list[int] | None:
    """Columns of X with the largest effect on a direction that separates the labels; None if there is none."""
    for dw, dt in _directions(design, risk, weights, thresholds):
        scores = design.times(dw[None])
        (size,) = risk.rows.mean(_size, scores)
        slack = _ROUNDING * (float(size) + float(np.abs(dt).max()))
        (losing,) = risk.rows.count(_losing, scores, padded(dt), slack, *risk.ends)
        if not losing and size > slack:
            (column_sizes,) = risk.rows.mean(_column_sizes, design)
            effect = np.abs(dw) * column_sizes
            order = np.argsort(-effect)[:_MOST_NAMES]
            return [int(j) for j in order if effect[j] > 1e-2 * effect[order[0]]]
    return None


def _directions(design: LinearMap, risk: LinkRisk, weights: Floats, thresholds: Floats) -> list[tuple[Floats, Floats]]:
    """The parameters, and the next Newton step where it is affordable."""
    directions, d = [(weights, thresholds)], weights.size
    if d + thresholds.size <= _MOST_PARAMETERS:
        scores = design.times(weights[None])
        _, r, dt = risk.derivatives(scores, thresholds)
        gradient = np.concatenate([design.pull(r)[0], dt])
        step = -newton_step(risk.hessian(design, scores, thresholds), gradient, ridge=1e-13)
        directions.append((step[:d], step[d:]))
    return directions


def _size(rows: CodedRows, scores: Floats) -> tuple[float]:
    return (float(rows.weight @ np.abs(scores[:, 0])),)


def _losing(rows: CodedRows, scores: Floats, dt: Floats, slack: float, low: Places, high: Places) -> tuple[int]:
    """Number of rows that lose likelihood."""
    f = scores[:, 0]
    lost = (dt[high[rows.upper]] - f < -slack) | (f - dt[low[rows.lower]] < -slack)
    return (int((lost & (rows.weight > 0.0)).sum()),)


def _column_sizes(rows: CodedRows, design: Design) -> tuple[Floats]:
    """Mean absolute value of every column."""
    return (np.asarray(np.abs(design.matrix()).T @ rows.weight).ravel(),)
