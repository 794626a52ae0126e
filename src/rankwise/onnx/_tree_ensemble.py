"""Trees as one node of a graph: ``TreeEnsemble`` of ONNX's machine learning operators, in doubles."""

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from rankwise.onnx._graph import Graph
from rankwise.trees._model_text import ParsedTree, read_trees

ML_DOMAIN, ML_OPSET = "ai.onnx.ml", 5
_AT_MOST, _MEMBER = 0, 6  # modes of a split
_SUM = 1


def tree_scores(graph: Graph, rows: str, model: Any) -> str:
    """Sum of the trees of every row, (rows, 1).

    Columns of categories hold their places, as the model's encoder makes them; where numbers stand for categories, the
    numbers themselves.
    """
    splits: list[tuple[Any, ...]] = []
    weights: list[float] = []
    members: list[float] = []
    roots: list[int] = []
    for tree in read_trees(model._text, model.n_features_in_):
        roots.append(len(splits))
        _put_tree(tree, model, splits, weights, members)
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


def _put_tree(
    tree: ParsedTree, model: Any, splits: list[tuple[Any, ...]], weights: list[float], members: list[float]
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
        column, chosen = int(tree.feature[k]), tree.categories[k]
        if chosen is None:
            threshold = float(tree.threshold[k])
            rule = threshold, _AT_MOST, int(threshold >= 0.0 if tree.nan_as_zero[k] else tree.missing_left[k])
        else:
            values = model._values.get(str(column))
            known = chosen if values is None else values[chosen[chosen < values.size]]
            members.extend([*np.asarray(known, dtype=np.float64).tolist(), np.nan])
            rule = 0.0, _MEMBER, 0
        splits.append((column, *rule, *place(tree.left[k]), *place(tree.right[k])))
