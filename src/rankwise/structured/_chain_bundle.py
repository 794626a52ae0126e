"""Regularised surrogates for chains and trees by the concave-convex procedure, and where it starts.

Where the procedure ends depends on where it starts. Missing labels are filled in by the model itself, so the start is a
trained one: an averaged perceptron's, at the multiple that has the least objective. The rewards of ramp and max are the
model's own predictions even where labels are known; from a start that was trained for another objective it would keep
to its mistakes. They start from the minimum of the hinge.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rankwise.solvers.concave_convex import Descent, descend
from rankwise.structured._surrogates import Risk

Floats = NDArray[np.float64]

_MULTIPLES = 2.0 ** np.arange(-12, 5)


def minimise(risk: Risk, start: Floats, alpha: float, *, tol: float, max_iter: int, max_steps: int) -> Descent:
    """Minimise ``alpha/2 |theta|^2 + risk`` from the best multiple of ``start``; see the module's docstring."""
    first = replace(risk, surrogate="hinge") if risk.surrogate in ("ramp", "max") else risk

    def objective(theta: Floats) -> float:
        return 0.5 * alpha * float(theta @ theta) + first.convex(theta)[0] - first.reward(theta)[0]

    theta = min((multiple * start for multiple in _MULTIPLES), key=objective)
    run = partial(descend, alpha=alpha, tol=tol, max_iter=max_iter, max_steps=max_steps)
    found = run(first.convex, first.reward, start=theta)
    return found if first is risk else run(risk.convex, risk.reward, start=found.theta)
