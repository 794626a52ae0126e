"""LightGBM's text of its trees: read after a fit and from files of earlier versions, written for LightGBM's own tools.

Of a text that may have been forged, :meth:`rankwise.trees.arrays.Trees.from_plain` checks what comes out.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.trees._walk import BY_SET, MISSING_LEFT
from rankwise.trees.arrays import Trees

_CATEGORICAL, _DEFAULT_LEFT, _ZERO_IS_MISSING, _NAN_IS_MISSING = 1, 2, 4, 8  # bits of a decision
_END = "end of trees\n"


def trees_of_text(text: str, n_features: int) -> Trees:
    """Trees of a text, or a ValueError that says what is wrong with it."""
    begun, end, _ = text.partition(_END)
    header, *blocks = begun.split("\nTree=")
    if not end or not blocks or "average_output" in header or f"\nmax_feature_idx={n_features - 1}\n" not in header:
        raise ValueError("this is no text of trees with these columns")
    lines = [dict(line.split("=", 1) for line in block.split("\n") if "=" in line) for block in blocks]
    n_splits = _numbers(lines, "num_leaves", [1] * len(lines), int, np.int32) - np.int32(1)
    splits, leaves = n_splits.tolist(), (n_splits + 1).tolist()
    threshold = _numbers(lines, "threshold", splits, float, np.float64)
    decision = _numbers(lines, "decision_type", splits, int, np.uint8)
    if (decision & _ZERO_IS_MISSING).any() or any(tree.get("is_linear") != "0" for tree in lines):
        raise ValueError("leaves must be numbers, and zero must not stand for a missing value")
    by_set = (decision & _CATEGORICAL) > 0
    # Where fit saw no NaN, LightGBM takes it for zero.
    missing_left = np.where(decision & _NAN_IS_MISSING, decision & _DEFAULT_LEFT, threshold >= 0.0).astype(bool)
    with_sets = [tree for tree in lines if tree.get("num_cat") != "0"]
    ends = [_numbers([tree], "cat_boundaries", None, int, np.int32)[1:] for tree in with_sets]
    n_words = np.cumsum([0, *(int(of_tree[-1]) if of_tree.size else 0 for of_tree in ends)])
    set_ends = [of_tree + before for of_tree, before in zip(ends, n_words[:-1], strict=True)]
    # A single leaf has no count in some versions, and counts of several machines are estimates.
    counted = [{"leaf_count": "1", **tree} if n else {"leaf_count": "1"} for tree, n in zip(lines, splits, strict=True)]
    return Trees(
        n_splits=n_splits,
        feature=_numbers(lines, "split_feature", splits, int, np.int32),
        threshold=np.where(by_set, np.cumsum(by_set) - 1.0, threshold),
        rule=(BY_SET * by_set + MISSING_LEFT * (missing_left & ~by_set)).astype(np.uint8),
        left=_numbers(lines, "left_child", splits, int, np.int32),
        right=_numbers(lines, "right_child", splits, int, np.int32),
        gain=_numbers(lines, "split_gain", splits, float, np.float32),
        value=_numbers(lines, "leaf_value", leaves, float, np.float64),
        count=np.maximum(_numbers(counted, "leaf_count", leaves, int, np.int32), 1),
        set_ends=np.concatenate([np.empty(0, dtype=np.int64), *set_ends]).astype(np.int32),
        words=_numbers(with_sets, "cat_threshold", None, int, np.uint32),
    )


def _numbers(
    lines: list[dict[str, str]], key: str, counts: list[int] | None, kind: Callable[[str], Any], dtype: Any
) -> NDArray[Any]:
    """Numbers in the lines of this name of all trees; ``counts`` says how many each must have."""
    words = [tree.get(key, "").split() for tree in lines]
    if counts is not None and list(map(len, words)) != counts:
        tree = next(t for t, (found, count) in enumerate(zip(words, counts, strict=True)) if len(found) != count)
        raise ValueError(f"tree {tree}: {key} must be {counts[tree]} numbers, not {len(words[tree])}")
    try:
        return np.array(list(map(kind, chain.from_iterable(words))), dtype=dtype)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{key}: {error}") from None


def text_of_trees(trees: Trees, n_features: int) -> str:
    """Text that LightGBM reads as the same trees."""
    names = " ".join(f"Column_{j}" for j in range(n_features))
    infos = " ".join(["none"] * n_features)
    header = {"version": "v4", "num_class": 1, "num_tree_per_iteration": 1, "label_index": 0}
    header |= {"max_feature_idx": n_features - 1, "feature_names": names, "feature_infos": infos}
    blocks = [f"Tree={t}\n{_written(_lines(trees.part(t, 1)))}\n\n" for t in range(len(trees))]
    return f"tree\n{_written(header)}tree_sizes={' '.join(str(len(b)) for b in blocks)}\n\n{''.join(blocks)}{_END}"


def _lines(tree: Trees) -> dict[str, Any]:
    n, by_set = tree.feature.size, tree.by_set
    decision = np.where(by_set, _CATEGORICAL, _NAN_IS_MISSING + _DEFAULT_LEFT * tree.missing_left)
    lines: dict[str, Any] = {"num_leaves": n + 1, "num_cat": int(by_set.sum())}
    lines |= {"split_feature": tree.feature, "split_gain": tree.gain, "threshold": tree.threshold}
    lines |= {"decision_type": decision, "left_child": tree.left, "right_child": tree.right}
    lines |= {"leaf_value": tree.value, "leaf_weight": tree.count, "leaf_count": tree.count}
    count, value = np.zeros(n, dtype=np.int64), np.zeros(n)  # of the rows below each split, and their mean
    for k in range(n - 1, -1, -1):
        sides = (tree.left[k], tree.right[k])
        children = [(tree.count, tree.value, -c - 1) if c < 0 else (count, value, c) for c in sides]
        count[k] = sum(counts[c] for counts, _, c in children)
        value[k] = sum(counts[c] * values[c] for counts, values, c in children) / count[k]
    lines |= {"internal_value": value, "internal_weight": count, "internal_count": count}
    if by_set.any():
        lines |= {"cat_boundaries": [0, *tree.set_ends.tolist()], "cat_threshold": tree.words}
    return {**lines, "is_linear": 0, "shrinkage": 1}


def _written(lines: dict[str, Any]) -> str:
    return "".join(f"{key}={' '.join(map(str, np.ravel(value).tolist()))}\n" for key, value in lines.items())
