"""Whether labels are separable: then their likelihood has no maximum and grows with some weights for ever.

Labels are separable along a direction (dw, dt) of the parameters if no row loses likelihood by it, and some row gains:
for every row, ``dt_h - <dw, x> >= 0`` at its upper threshold and ``<dw, x> - dt_l >= 0`` at its lower one, and not
always zero. (If it is always zero the likelihood is flat, see ``identification.py``.) A diverging solver moves along
such a direction. So the last Newton step shows it, and so do the parameters if every row is on its side.
"""

from collections.abc import Sequence

import numpy as np

from rankwise._types import Floats, Places
from rankwise.batch.identification import MOST_PARAMETERS, Dependence, column_sizes, smallest
from rankwise.risks.coded_rows import CodedRows
from rankwise.risks.link_risk import LinkRisk, newton_step
from rankwise.risks.links import padded
from rankwise.solvers.design import LinearMap

_ROUNDING = 1e-7  # relative loss of a row by a direction that is not counted
_MOST_NAMES = 5


def separating_columns(
    design: LinearMap, risk: LinkRisk, weights: Floats, thresholds: Floats, flat: Sequence[Dependence]
) -> list[int] | None:
    """Columns of X with the largest effect on a direction that separates the labels; None if there is none."""
    for dw, dt in _directions(design, risk, weights, thresholds, flat):
        scores = design.times(dw[None])
        (size,) = risk.rows.mean(_size, scores)
        slack = _ROUNDING * (float(size) + float(np.abs(dt).max()))
        losing, gaining = risk.rows.count(_judged, scores, padded(dt), slack, *risk.ends)
        if gaining and not losing and size > slack:
            (sizes,) = risk.rows.mean(column_sizes, design)
            effect = np.abs(dw) * sizes
            order = np.argsort(-effect)[:_MOST_NAMES]
            return [int(j) for j in order if effect[j] > 1e-2 * effect[order[0]]]
    return None


def _directions(
    design: LinearMap, risk: LinkRisk, weights: Floats, thresholds: Floats, flat: Sequence[Dependence]
) -> list[tuple[Floats, Floats]]:
    """The parameters, and the next Newton step where it is affordable."""
    directions, d = [(weights, thresholds)], weights.size
    if d + thresholds.size <= MOST_PARAMETERS:
        scores = design.times(weights[None])
        _, r, dt = risk.derivatives(scores, thresholds)
        gradient = np.concatenate([design.pull(r)[0], dt])
        step = -newton_step(risk.hessian(design, scores, thresholds), gradient, ridge=1e-13)
        directions.append(smallest(step[:d], step[d:], flat, ordered=False))
    return directions


def _size(rows: CodedRows, scores: Floats) -> tuple[float]:
    return (float(rows.weight @ np.abs(scores[:, 0])),)


def _judged(rows: CodedRows, scores: Floats, dt: Floats, slack: float, low: Places, high: Places) -> tuple[int, int]:
    """Number of rows that lose likelihood, and of those that gain."""
    f = scores[:, 0]
    above, below = dt[high[rows.upper]] - f, f - dt[low[rows.lower]]
    losing = (above < -slack) | (below < -slack)
    gaining = (np.isfinite(above) & (above > slack)) | (np.isfinite(below) & (below > slack))
    heard = rows.weight > 0.0
    return int((losing & heard).sum()), int((gaining & heard).sum())
