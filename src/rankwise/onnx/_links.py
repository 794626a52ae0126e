"""Cumulative links as graphs: probabilities of the classes, and the decision that follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from rankwise.losses._links import quantile
from rankwise.onnx._graph import Graph


def link_probabilities(graph: Graph, score: str, model: Any) -> str:
    """Probability of every class (rows, K), by the formulas without differences of :mod:`rankwise.losses._links`.

    Runtimes have the error function of the probit in single precision only: its probabilities are right to about 1e-7.
    """
    t = np.concatenate([[-np.inf], model.thresholds_, [np.inf]])
    low, high = t[:-1], t[1:]
    width = np.subtract(high, low, out=np.zeros(low.size), where=high > low)
    apart = graph.constant(-np.expm1(-width)[None, :])
    above, below = (graph.add("Sub", graph.constant(ends[None, :]), score) for ends in (high, low))
    if model.link == "logit":
        sides = graph.add("Sigmoid", above), graph.add("Sigmoid", graph.add("Neg", below))
        return graph.add("Mul", graph.add("Mul", *sides), apart)
    if model.link == "probit":
        root = graph.number(np.sqrt(0.5))
        single = (graph.add("Cast", graph.add("Mul", z, root), to=TensorProto.FLOAT) for z in (above, below))
        high_part, low_part = (graph.add("Cast", graph.add("Erf", z), to=TensorProto.DOUBLE) for z in single)
        return graph.add("Mul", graph.add("Sub", high_part, low_part), graph.number(0.5))
    if model.link == "loglog":
        above, below = graph.add("Neg", below), graph.add("Neg", above)
    outside = graph.add("Exp", graph.add("Neg", graph.add("Exp", below)))
    mass = graph.add("Mul", graph.add("Exp", graph.add("Min", above, graph.number(700.0))), apart)  # finite
    inside = graph.add("Sub", graph.number(1.0), graph.add("Exp", graph.add("Neg", mass)))
    return graph.add("Mul", outside, inside)


def median_shift(model: Any) -> float:
    """What is added to the score, so that the thresholds decide for the median."""
    return float(quantile(model.link, 0.5))


def decision_costs(model: Any) -> Any:
    """Cost matrix (K, K) that the decision minimises."""
    k = np.arange(len(model.classes_))
    if not isinstance(model.decision, str):
        return np.asarray(model.decision, dtype=np.float64)
    return 1.0 - np.eye(k.size) if model.decision == "mode" else np.subtract.outer(k, k) ** 2.0
