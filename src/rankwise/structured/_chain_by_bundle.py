"""Chains that the concave-convex procedure learns, with a certificate of its last convex problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise._types import Floats
from rankwise._warn import warn_user
from rankwise.base.state import require_arrays, require_number
from rankwise.structured._chain_bundle import minimise
from rankwise.structured._chain_model import ChainModel
from rankwise.structured._chain_risk import ChainRisk
from rankwise.structured._sequences import Annotation, Sequences

CERTIFICATE = ("objective_", "objectives_", "convex_lower_bound_", "convex_gap_")
PARAMETERS = ("unary_coef_", "intercept_", "pairwise_coef_")


class BundleChain(ChainModel):
    """What ``solver="bundle"`` has."""

    alpha: float
    tol: float
    max_iter: int
    max_steps: int
    intercept_scaling: float
    pairwise_scaling: float
    objective_: float
    objectives_: list[float]
    convex_lower_bound_: float
    convex_gap_: float

    def _minimise(
        self, sequences: Sequences, annotation: Annotation, weight: Floats, start: tuple[Floats, Floats, Floats]
    ) -> None:
        """Concave-convex procedure from the perceptron's parameters."""
        counted = np.where(annotation.informative, weight, 0.0)
        scalings = float(self.intercept_scaling), float(self.pairwise_scaling)
        risk = ChainRisk(sequences, annotation, counted / counted.sum(), self.surrogate, *scalings)
        descent = minimise(
            risk, risk.pack(*start), self.alpha, rejecting=self.reject_cost is not None, tol=self.tol,
            max_iter=self.max_iter, max_steps=self.max_steps,
        )  # fmt: skip
        if not descent.converged:
            warn_user(
                f"ChainClassifier did not converge: the gap of the last convex problem is {descent.last.gap:.2g} after "
                f"{descent.n_iter} evaluations and {len(descent.history) - 1} convex problems (tol={self.tol:g}). "
                f"Raise max_iter or max_steps, or alpha or tol.",
                ConvergenceWarning,
            )
        self.objective_, self.objectives_ = descent.objective, descent.history
        self.convex_lower_bound_, self.convex_gap_ = descent.last.lower_bound, descent.last.gap
        self.n_iter_ = descent.n_iter
        self._set_parameters(*risk.unpack(descent.theta))

    @property
    def lower_bound_(self) -> float:
        """``convex_lower_bound_``, under the usual name."""
        return self.convex_lower_bound_

    @property
    def gap_(self) -> float:
        """``convex_gap_``, under the usual name."""
        return self.convex_gap_

    def _take_certified(self, plain: Any, n_features: int, n_decisions: int) -> None:
        """Take the parameters and their certificate from a model file, after a check."""
        shapes = (n_decisions, n_features), (n_decisions,), (n_decisions, n_decisions)
        require_arrays(plain["state"], {n: (np.float64, shape) for n, shape in zip(PARAMETERS, shapes, strict=True)})
        for name, array in plain["state"].items():
            setattr(self, name, array)
        objective, objectives, *bounds = plain["certificate"]
        for value in (objective, *list(objectives), *bounds):
            require_number("a value of the certificate", value, float)
        for name, value in zip(CERTIFICATE, plain["certificate"], strict=True):
            setattr(self, name, value)
