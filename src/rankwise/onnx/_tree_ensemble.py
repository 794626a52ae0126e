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
    nodes: dict[str, list[Any]] = {name: [] for name in ("feature", "split", "mode", "missing", "yes", "no")}
    leaves_at: dict[str, list[int]] = {"yes": [], "no": []}
    weights: list[float] = []
    members: list[float] = []
    roots: list[int] = []
    for tree in read_trees(model._text, model.n_features_in_):
        roots.append(len(nodes["feature"]))
        _put_tree(tree, model, nodes, leaves_at, weights, members)
    return graph.add(
        "TreeEnsemble",
        rows,
        domain=ML_DOMAIN,
        aggregate_function=_SUM,
        n_targets=1,
        leaf_targetids=[0] * len(weights),
        leaf_weights=numpy_helper.from_array(np.array(weights), "leaf_weights"),
        membership_values=numpy_helper.from_array(np.array(members), "membership_values") if members else None,
        nodes_featureids=nodes["feature"],
        nodes_splits=numpy_helper.from_array(np.array(nodes["split"]), "nodes_splits"),
        nodes_modes=helper.make_tensor("nodes_modes", TensorProto.UINT8, [len(nodes["mode"])], nodes["mode"]),
        nodes_missing_value_tracks_true=nodes["missing"],
        nodes_truenodeids=nodes["yes"],
        nodes_falsenodeids=nodes["no"],
        nodes_trueleafs=leaves_at["yes"],
        nodes_falseleafs=leaves_at["no"],
        tree_roots=roots,
    )


def _put_tree(
    tree: ParsedTree, model: Any, nodes: dict[str, list[Any]], leaves_at: dict[str, list[int]], weights: list[float],
    members: list[float],
) -> None:  # fmt: skip
    """Append one tree; one that is a single leaf becomes a split with the same leaf on both sides."""
    first, first_leaf = len(nodes["feature"]), len(weights)
    weights.extend(tree.value.tolist())
    if tree.feature.size == 0:
        for name, value in (("feature", 0), ("split", 0.0), ("mode", _AT_MOST), ("missing", 0)):
            nodes[name].append(value)
        for side in ("yes", "no"):
            nodes[side].append(first_leaf)
            leaves_at[side].append(1)
        return
    for k in range(tree.feature.size):
        chosen = tree.categories[k]
        nodes["feature"].append(int(tree.feature[k]))
        nodes["split"].append(0.0 if chosen is not None else float(tree.threshold[k]))
        nodes["mode"].append(_AT_MOST if chosen is None else _MEMBER)
        if chosen is not None:
            values = model._values.get(str(int(tree.feature[k])))
            known = chosen if values is None else values[chosen[chosen < values.size]]
            members.extend([*np.asarray(known, dtype=np.float64).tolist(), np.nan])
            nodes["missing"].append(0)
        else:
            as_zero = tree.nan_as_zero[k]
            nodes["missing"].append(int(tree.threshold[k] >= 0.0 if as_zero else tree.missing_left[k]))
        for side, child in (("yes", int(tree.left[k])), ("no", int(tree.right[k]))):
            nodes[side].append(first + child if child >= 0 else first_leaf - child - 1)
            leaves_at[side].append(int(child < 0))
