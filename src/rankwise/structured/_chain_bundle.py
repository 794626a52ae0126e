"""Regularised surrogates for chains and trees by the concave-convex procedure, and where it starts.

Where the procedure ends depends on where it starts. Missing labels are filled in by the model itself, so the start is a
trained one: an averaged perceptron's, at the multiple that has the least objective. The rewards of ramp and max are the
model's own predictions even where labels are known; from a start that was trained for another objective it would keep
to its mistakes. They start from the minimum of the hinge. There, "don't know" is never chosen, since the hinge only
ever pushes its score down; so it is first raised by the constant with the least objective.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rankwise.solvers.concave_convex import Descent, descend
from rankwise.structured._surrogates import Risk

Floats = NDArray[np.float64]

_MULTIPLES = 2.0 ** np.arange(-12, 5)
_AMOUNTS = 2.0 ** np.arange(-3, 5, 0.5)


def minimise(
    risk: Risk, start: Floats, alpha: float, *, rejecting: bool, tol: float, max_iter: int, max_steps: int
) -> Descent:
    """Minimise ``alpha/2 |theta|^2 + risk`` from the best multiple of ``start``; see the module's docstring.

    ``rejecting`` says that the last decision is "don't know".
    """
    first = replace(risk, surrogate="hinge") if risk.surrogate in ("ramp", "max") else risk
    theta = min((multiple * start for multiple in _MULTIPLES), key=partial(_objective, first, alpha))
    run = partial(descend, alpha=alpha, tol=tol, max_iter=max_iter, max_steps=max_steps)
    found = run(first.convex, first.reward, start=theta)
    if first is risk:
        return found
    theta = found.theta
    if rejecting:
        theta = min(_raised(risk, theta), key=partial(_objective, risk, alpha))
    return run(risk.convex, risk.reward, start=theta)


def _objective(risk: Risk, alpha: float, theta: Floats) -> float:
    return 0.5 * alpha * float(theta @ theta) + risk.convex(theta)[0] - risk.reward(theta)[0]


def _raised(risk: Risk, theta: Floats) -> Iterator[Floats]:
    """Parameters with several intercepts of "don't know", the last decision."""
    for amount in (0.0, *_AMOUNTS):
        raised = theta.copy()
        risk.unpack(raised)[1][-1] += amount
        yield raised
