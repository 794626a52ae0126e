"""Trees as one node of a graph: ``TreeEnsemble`` of ONNX's machine learning operators, in doubles."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from rankwise._types import Floats
from rankwise.onnx._graph import Graph

ML_DOMAIN, ML_OPSET = "ai.onnx.ml", 5
_AT_MOST, _MEMBER = 0, 6  # modes of a split
_SUM = 1


def tree_scores(graph: Graph, rows: str, model: Any) -> str:
    """Sum of the trees of every row, (rows, 1).

    Where numbers stand for categories, a column holds these numbers; where texts do, their positions.
    """
    rows, place_of_column = _with_positions(graph, rows, model)
    trees = model.trees_
    by_set = np.flatnonzero(trees.by_set)
    members = np.array([number for k in by_set for number in (*trees.members(k).tolist(), np.nan)], dtype=np.float64)
    roots, (yes, no), (yes_is_leaf, no_is_leaf) = trees.nodes()
    mode, threshold = np.where(trees.by_set, _MEMBER, _AT_MOST), np.where(trees.by_set, 0.0, trees.threshold)
    feature, missing = np.asarray(place_of_column)[trees.feature], trees.missing_left
    arrays = (feature, threshold, mode, missing, yes, yes_is_leaf, no, no_is_leaf)
    # A tree that is a single leaf becomes a split with this leaf on both sides.
    single = np.flatnonzero(trees.n_splits == 0)
    leaf, zero, one = roots[single], np.zeros(single.size), np.ones(single.size)
    added = (zero, zero, zero + _AT_MOST, zero, leaf, one, leaf, one)
    feature, threshold, mode, missing, yes, yes_is_leaf, no, no_is_leaf = map(np.append, arrays, added)
    roots[single] = trees.feature.size + np.arange(single.size)
    return graph.add(
        "TreeEnsemble",
        rows,
        domain=ML_DOMAIN,
        aggregate_function=_SUM,
        n_targets=1,
        leaf_targetids=[0] * trees.value.size,
        leaf_weights=numpy_helper.from_array(trees.value, "leaf_weights"),
        membership_values=numpy_helper.from_array(members, "membership_values") if members.size else None,
        nodes_splits=numpy_helper.from_array(threshold, "nodes_splits"),
        nodes_modes=helper.make_tensor("nodes_modes", TensorProto.UINT8, mode.shape, mode.astype(np.uint8).tolist()),
        nodes_featureids=_whole(feature),
        nodes_missing_value_tracks_true=_whole(missing),
        nodes_truenodeids=_whole(yes),
        nodes_falsenodeids=_whole(no),
        nodes_trueleafs=_whole(yes_is_leaf),
        nodes_falseleafs=_whole(no_is_leaf),
        tree_roots=_whole(roots),
    )


def _whole(numbers: NDArray[Any]) -> list[int]:
    return [int(number) for number in numbers]


def _with_positions(graph: Graph, rows: str, model: Any) -> tuple[str, list[int]]:
    """Rows with positions for categories, NaN for those not met in fit; and where each column is among them.

    Runtimes truncate what they look up in the set of a split: 2.5 would be the category 2, and huge numbers fail.
    """
    categories = categories_of(model)
    if not categories:
        return rows, list(range(model.n_features_in_))
    numbers = [j for j in range(model.n_features_in_) if j not in categories]
    parts = [graph.add("Gather", rows, numbers, axis=1)] if numbers else []
    for j, values in categories.items():
        column = graph.add("Add", graph.add("Gather", rows, [j], axis=1), 0.0)  # -0.0 is the category 0.0
        keys, positions = values + 0.0, np.arange(float(values.size))
        parts.append(
            graph.add(
                "LabelEncoder",
                column,
                domain=ML_DOMAIN,
                keys_tensor=numpy_helper.from_array(keys if keys.size else np.zeros(1), "keys"),
                values_tensor=numpy_helper.from_array(positions if keys.size else np.full(1, np.nan), "values"),
                default_tensor=numpy_helper.from_array(np.full(1, np.nan), "default"),
            )
        )
    order = [*numbers, *categories]
    return graph.add("Concat", *parts, axis=1), [order.index(j) for j in range(model.n_features_in_)]


def categories_of(model: Any) -> dict[int, Floats]:
    """What stands for each category in the rows of a graph, by column."""
    if model._raw is None:
        return {int(key): values for key, values in model._values.items()}
    return {j: np.arange(float(len(model._raw.columns[j].values))) for j in model._raw.categorical}


def categories_of_texts(model: Any) -> dict[str, list[str]]:
    """Categories of the columns that hold texts, by name; the rows of a graph give their positions."""
    columns = [] if getattr(model, "_raw", None) is None else model._raw.columns
    return {column.name: column.values for column in columns if column.kind in ("category", "ordered")}
