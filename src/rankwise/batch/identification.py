"""Which columns have no weights of their own, because they follow from others and a constant.

The likelihood is flat along a direction (dw, dt) of the parameters if ``<dw, x> = dt_k`` at every threshold k that
bounds the label of a row x: no row can tell. These directions are the null space of the second derivatives, at any
parameters. At weights of zero no row has lost its curvature to a probability near one, so separable labels are not
mistaken for collinear columns there. Columns are taken from left to right: one that follows from earlier ones is
dependent, and has one such direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf

from rankwise._types import Floats, Places
from rankwise.risks.coded_rows import CodedRows
from rankwise.risks.link_risk import LinkRisk
from rankwise.risks.links import padded
from rankwise.solvers.design import Design, LinearMap

MOST_PARAMETERS = 2000  # whose second derivatives are looked at
_SUSPECT = 1e-11  # pivot of the scaled second derivatives below which rows are asked
_ROUNDING = 1e-8  # change of a score, relative to the products that it adds up, that is rounding
_NAMED = 1e-6  # least share of a column in a dependence
_MOST_NAMES, _MOST_DEPENDENCES = 5, 3


@dataclass(frozen=True, eq=False)
class Dependence:
    """A column that follows from earlier ones, ``others``; constant if there are none."""

    column: int
    others: list[int]
    direction: Floats  # of weights, then thresholds
    is_zero: bool


def dependences(design: LinearMap, risk: LinkRisk) -> list[Dependence]:
    """All columns that follow from earlier ones on these rows; none if there are too many parameters to look."""
    d, m = design.n_features, risk.n_offsets
    if d == 0 or m == 0 or d + m > MOST_PARAMETERS:
        return []
    hessian = risk.hessian(design, design.times(np.zeros((1, d))), risk.start())
    order = np.append(np.arange(d, d + m), np.arange(d))  # thresholds first: beside them a constant is dependent
    scale = np.sqrt(np.diag(hessian))
    scale[scale == 0.0] = 1.0
    scaled = (hessian / np.outer(scale, scale))[np.ix_(order, order)]
    (size,) = risk.rows.mean(column_sizes, design)
    found: list[Dependence] = []
    kept = np.arange(d + m)
    while True:
        factor, first = _factor(scaled[np.ix_(kept, kept)])
        if first is None:
            return found
        place, before = kept[first], kept[:first]
        direction = np.zeros(d + m)
        direction[order[before]] = -cho_solve((factor[:first, :first], True), scaled[before, place])
        direction[order[place]] = 1.0
        direction /= scale
        kept = np.delete(kept, first)
        column = int(order[place])
        effect = np.abs(direction[:d]) * size
        # In rounding a column may also seem to follow from others.
        if column < d and _is_flat(design, risk, direction, float(effect.sum())):
            others = np.flatnonzero(effect > _NAMED * effect[column])
            found.append(Dependence(column, others[others != column].tolist(), direction, bool(size[column] == 0.0)))


def _factor(scaled: Floats) -> tuple[Floats, int | None]:
    """Cholesky factor, and the first row whose pivot is lost in rounding."""
    factor, info = dpotrf(scaled, lower=1)
    pivots = np.diag(factor)[: info - 1 if info else None]
    small = np.flatnonzero(pivots**2 < _SUSPECT)
    return factor, int(small[0]) if small.size else info - 1 if info else None


def _is_flat(design: LinearMap, risk: LinkRisk, direction: Floats, size: float) -> bool:
    """Whether no row can tell the direction."""
    dw, dt = np.split(direction, [design.n_features])
    (moved,) = risk.rows.count(_moved, design.times(dw[None]), padded(dt), _ROUNDING * size, *risk.ends)
    return not moved


def _moved(rows: CodedRows, scores: Floats, dt: Floats, slack: float, low: Places, high: Places) -> tuple[int]:
    """Number of rows for which a direction changes the distance to a threshold."""
    moved = np.zeros(len(rows), dtype=bool)
    for ends in (low[rows.lower], high[rows.upper]):
        inner = (ends > 0) & (ends < dt.size - 1)
        moved |= inner & (np.abs(scores[:, 0] - np.where(inner, dt[ends], 0.0)) > slack)
    return (int((moved & (rows.weight > 0.0)).sum()),)


def column_sizes(rows: CodedRows, design: Design) -> tuple[Floats]:
    """Mean absolute value of every column."""
    return (np.asarray(np.abs(design.matrix()).T @ rows.weight).ravel(),)


def smallest(
    weights: Floats, thresholds: Floats, found: Sequence[Dependence], *, ordered: bool = True
) -> tuple[Floats, Floats]:
    """Parameters, or steps, of the same likelihood with the smallest weights, whatever the order of the rows.

    ``ordered``: the thresholds ascend, and must go on so.
    """
    if not found:
        return weights, thresholds
    flat = np.array([dependence.direction for dependence in found])
    flat /= np.abs(flat[:, : weights.size]).max(axis=1)[:, None]
    moves = np.linalg.lstsq(flat[:, : weights.size].T, -weights, rcond=None)[0] @ flat
    moved = thresholds + moves[weights.size :]
    if ordered and (np.diff(moved) <= 0.0).any():  # of those that bound no label together
        return weights, thresholds
    return weights + moves[: weights.size], moved


def described(found: Iterable[Dependence], name: Callable[[int], str | int]) -> str:
    """What is wrong with the columns, and what helps."""
    given = [dependence for dependence in found if not dependence.is_zero] or list(found)
    shown = [
        f"{columns_named([dependence.column], name)} "
        + (f"follows from {columns_named(dependence.others, name)}" if dependence.others else "is constant")
        for dependence in given[:_MOST_DEPENDENCES]
    ]
    more = f"; and {len(given) - len(shown)} more" if len(given) > len(shown) else ""
    return f"columns of X are collinear: {'; '.join(shown)}{more}."


REMEDY = (
    "Drop such columns, leave out reference levels of categories (TableEncoder(drop_first=True)), or set alpha > 0."
)


def columns_named(columns: Sequence[int], name: Callable[[int], str | int]) -> str:
    """Columns in words: by their names, or by numbers where ``name`` gives these."""
    names = [name(j) for j in columns[:_MOST_NAMES]]
    shown = ", ".join(map(repr, names)) + (f" and {len(columns) - len(names)} more" * (len(columns) > len(names)))
    return shown if isinstance(names[0], str) else f"column{'s' * (len(columns) > 1)} {shown}"
