"""scikit-learn's scalers as graphs: what usually stands in front of an estimator here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from rankwise.onnx._graph import Graph


def standard(graph: Graph, rows: str, scaler: Any) -> str:
    """``(x - mean) / scale``."""
    if scaler.with_mean:
        rows = graph.add("Sub", rows, _vector(graph, scaler.mean_))
    return graph.add("Div", rows, _vector(graph, scaler.scale_)) if scaler.with_std else rows


def min_max(graph: Graph, rows: str, scaler: Any) -> str:
    """``x * scale + min``, cut off at the ends of the range if the scaler does so."""
    rows = graph.add("Add", graph.add("Mul", rows, _vector(graph, scaler.scale_)), _vector(graph, scaler.min_))
    if not scaler.clip:
        return rows
    low, high = (graph.number(float(end)) for end in scaler.feature_range)
    return graph.add("Clip", rows, low, high)


def max_abs(graph: Graph, rows: str, scaler: Any) -> str:
    """``x / scale``."""
    rows = graph.add("Div", rows, _vector(graph, scaler.scale_))
    if not getattr(scaler, "clip", False):
        return rows
    return graph.add("Clip", rows, graph.number(-1.0), graph.number(1.0))


def _vector(graph: Graph, values: Any) -> str:
    return graph.constant(np.asarray(values, dtype=np.float64))


SCALERS: dict[type[Any], Callable[[Graph, str, Any], str]] = {
    StandardScaler: standard,
    MinMaxScaler: min_max,
    MaxAbsScaler: max_abs,
}
