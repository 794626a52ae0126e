"""A logistic regression of maximum likelihood: its weights, and what every row adds to them."""

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from rankwise._types import Floats
from rankwise.batch.cumulative_link import CumulativeLink
from rankwise.batch.link_inference import RowEvidence, require_identified


def binary_logit(
    X: Floats, answer: Floats, weight: Floats, name: Callable[[int], str | int]
) -> tuple[Floats, Floats]:  # fmt: skip
    """Weights (d,) and influences (n, d) of rows whose answers are 0 and 1: of one row, where its weight counts many.

    What is not identified raises an error, in which ``name`` names a column.
    """
    model = CumulativeLink(alpha=0.0)
    model._is_probe = True  # errors instead of warnings
    model.fit(X, answer.astype(int), weight)
    evidence = RowEvidence.of(model, X, answer.astype(int), weight)
    require_identified(model, evidence, name)
    with_one = np.column_stack([X, np.ones(len(X))])
    p = expit(evidence.scores[:, 0] - model.thresholds_[0])
    information = (with_one * (weight * p * (1 - p))[:, None]).T @ with_one
    inverse = np.linalg.inv(information)
    # A row pulls the fit towards its own answer, by its leverage: without it the influences are too small ("HC2").
    leverage = p * (1 - p) * np.einsum("ij,jk,ik->i", with_one, inverse, with_one)
    influence = ((answer - p) / np.sqrt(1 - leverage))[:, None] * (with_one @ inverse)
    return np.asarray(model.coef_), influence[:, :-1]
