"""A column as cubic splines between knots at its quantiles, so that a linear model can follow a curve.

The basis is that of scikit-learn's ``SplineTransformer(n_knots=5, knots="quantile")``: seven cubic B-splines over the
range of the rows it was fitted to, constant outside of it. Each is then scaled like any other feature.
"""

from __future__ import annotations

import numpy as np

from rankwise._kernels.scaling import put_splines
from rankwise._types import Floats

N_KNOTS, DEGREE = 5, 3
N_SPLINES = N_KNOTS + DEGREE - 1
_DEPENDENT = 1e-10  # eigenvalue of their correlations that is rounding


def knots_of(values: Floats) -> list[float] | None:
    """Knots at the quantiles of a column: of its distinct values where too many are equal, None if these are few."""
    shares = np.linspace(0, 1, N_KNOTS)
    with np.errstate(over="ignore", invalid="ignore"):  # differences of numbers up to 1e308 may overflow
        knots = np.quantile(values, shares)
        if not _rises(knots):
            distinct = np.unique(values)
            knots = np.quantile(distinct, shares) if distinct.size >= N_KNOTS else distinct[:1]
    return [float(knot) for knot in knots] if knots.size == N_KNOTS and _rises(knots) else None


def _rises(knots: Floats) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(knots)  # not so small or large that splines overflow
        return bool(np.isfinite(knots).all() and (steps > 1e-9 * np.abs(knots).max()).all() and steps.sum() < 1e150)


def full_knots(knots: list[float]) -> Floats:
    """The knots, and three more on each side, evenly spaced."""
    inner = np.asarray(knots, dtype=np.float64)
    steps = np.arange(DEGREE, 0, -1)
    below = inner[0] - steps * (inner[1] - inner[0])
    above = inner[-1] + steps[::-1] * (inner[-1] - inner[-2])
    return np.concatenate([below, inner, above])


def spline_values(values: Floats, knots: list[float]) -> Floats:
    """All splines at finite values, (n, 7), not scaled."""
    out = np.empty((values.size, N_SPLINES))
    put_splines(
        read_only(values), full_knots(knots), np.zeros(N_SPLINES), np.ones(N_SPLINES), 0.0, 0, out, 0, 0, values.size
    )
    return out


def are_independent(splines: Floats) -> bool:
    """Whether no spline is a sum of the others at these values: not if they are fewer than the splines, for example."""
    gram = splines.T @ splines / len(splines)
    scale = np.sqrt(np.diag(gram))
    return bool(scale.min() > 0.0 and np.linalg.eigvalsh(gram / np.outer(scale, scale))[0] > _DEPENDENT)


def read_only(values: Floats) -> Floats:
    """The same numbers marked read-only, as arrow's memory is, so that one version of the kernels serves all."""
    view = values.view()
    view.flags.writeable = False
    return view


def peaks(knots: list[float]) -> list[str]:
    """About where each spline is largest: the mean of its inner knots, with as few digits as tell them apart."""
    places = np.array([full_knots(knots)[k + 1 : k + 1 + DEGREE].mean() for k in range(N_SPLINES)])
    for digits in range(3, 17):
        shown = [f"{place:.{digits}g}" for place in places]
        if len(set(shown)) == N_SPLINES:
            break
    return shown
