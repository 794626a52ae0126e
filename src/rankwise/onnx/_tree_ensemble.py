"""Trees as one node of a graph: ``TreeEnsemble`` of ONNX's machine learning operators, in doubles."""

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from rankwise._types import Floats
from rankwise.onnx._graph import Graph
from rankwise.trees._model_text import ParsedTree, read_trees

ML_DOMAIN, ML_OPSET = "ai.onnx.ml", 5
_AT_MOST, _MEMBER = 0, 6  # modes of a split
_SUM = 1


def tree_scores(graph: Graph, rows: str, model: Any) -> str:
    """Sum of the trees of every row, (rows, 1).

    Where numbers stand for categories, a column holds these numbers; where texts do, their positions.
    """
    rows, place_of_column = _with_positions(graph, rows, model)
    splits: list[tuple[Any, ...]] = []
    weights: list[float] = []
    members: list[float] = []
    roots: list[int] = []
    for tree in read_trees(model._text, model.n_features_in_):
        roots.append(len(splits))
        _put_tree(tree, place_of_column, splits, weights, members)
    feature, threshold, mode, missing, yes, yes_is_leaf, no, no_is_leaf = map(list, zip(*splits, strict=True))
    return graph.add(
        "TreeEnsemble",
        rows,
        domain=ML_DOMAIN,
        aggregate_function=_SUM,
        n_targets=1,
        leaf_targetids=[0] * len(weights),
        leaf_weights=numpy_helper.from_array(np.array(weights), "leaf_weights"),
        membership_values=numpy_helper.from_array(np.array(members), "membership_values") if members else None,
        nodes_featureids=feature,
        nodes_splits=numpy_helper.from_array(np.array(threshold), "nodes_splits"),
        nodes_modes=helper.make_tensor("nodes_modes", TensorProto.UINT8, [len(mode)], mode),
        nodes_missing_value_tracks_true=missing,
        nodes_truenodeids=yes,
        nodes_falsenodeids=no,
        nodes_trueleafs=yes_is_leaf,
        nodes_falseleafs=no_is_leaf,
        tree_roots=roots,
    )


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


def _put_tree(
    tree: ParsedTree,
    place_of_column: list[int],
    splits: list[tuple[Any, ...]],
    weights: list[float],
    members: list[float],
) -> None:
    """Append one tree; one that is a single leaf becomes a split with the same leaf on both sides."""
    first, first_leaf = len(splits), len(weights)
    weights.extend(tree.value.tolist())

    def place(child: Any) -> tuple[int, int]:
        """Number of a split or leaf, and whether it is a leaf."""
        return (first + int(child), 0) if child >= 0 else (first_leaf - int(child) - 1, 1)

    if tree.feature.size == 0:
        splits.append((0, 0.0, _AT_MOST, 0, *place(-1), *place(-1)))
    for k in range(tree.feature.size):
        column, chosen = place_of_column[tree.feature[k]], tree.categories[k]
        if chosen is None:
            threshold = float(tree.threshold[k])
            rule = threshold, _AT_MOST, int(threshold >= 0.0 if tree.nan_as_zero[k] else tree.missing_left[k])
        else:
            members.extend([*chosen.astype(np.float64).tolist(), np.nan])
            rule = 0.0, _MEMBER, 0
        splits.append((column, *rule, *place(tree.left[k]), *place(tree.right[k])))
