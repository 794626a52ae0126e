"""LightGBM's text of its trees: read after a fit and from files of earlier versions, written for LightGBM's own tools.

Of a text that may have been forged, :meth:`rankwise.trees.arrays.Trees.from_plain` checks what comes out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.trees._walk import BY_SET, MISSING_LEFT
from rankwise.trees.arrays import Trees

_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of a decision; the next two say what is missing
_MISSING, _NOTHING_IS, _NAN_IS = 12, 0, 8  # 4, zero, is not used here
_END = "end of trees\n"


def trees_of_text(text: str, n_features: int) -> Trees:
    """Trees of a text, or a ValueError that says what is wrong with it."""
    begun, end, _ = text.partition(_END)
    header, *blocks = begun.split("\nTree=")
    if not end or not blocks or "average_output" in header or f"\nmax_feature_idx={n_features - 1}\n" not in header:
        raise ValueError("this is no text of trees with these columns")
    found = []
    for number, block in enumerate(blocks):
        try:
            found.append(_tree(dict(line.split("=", 1) for line in block.split("\n") if "=" in line)))
        except KeyError as error:
            raise ValueError(f"tree {number}: the line {error} is missing") from None
        except (ValueError, OverflowError) as error:
            raise ValueError(f"tree {number}: {error}") from None
    return Trees.joined(found)


def _tree(lines: dict[str, str]) -> Trees:
    def numbers(key: str, count: int | None, kind: Callable[[str], Any], dtype: Any) -> Any:
        words = lines[key].split()
        if count is not None and len(words) != count:
            raise ValueError(f"{key} must be {count} numbers, not {len(words)}")
        return np.array(list(map(kind, words)), dtype=dtype)

    n = int(numbers("num_leaves", 1, int, np.int32)[0]) - 1
    if lines["is_linear"] != "0":
        raise ValueError("leaves must be numbers")
    threshold = numbers("threshold", n, float, np.float64)
    decision = numbers("decision_type", n, int, np.uint8)
    is_missing, by_set = decision & _MISSING, (decision & _CATEGORICAL) > 0
    if not np.isin(is_missing, (_NOTHING_IS, _NAN_IS)).all():
        raise ValueError("zero must not stand for a missing value")
    # Where fit saw no NaN, LightGBM takes it for zero.
    missing_left = np.where(is_missing == _NOTHING_IS, threshold >= 0.0, (decision & _DEFAULT_LEFT) > 0) & ~by_set
    has_sets = int(lines["num_cat"]) > 0
    # A single leaf has no count in some versions, and counts of several machines are estimates.
    count = numbers("leaf_count", n + 1, int, np.int32) if n else np.ones(1, dtype=np.int32)
    return Trees(
        n_splits=np.array([n], dtype=np.int32),
        feature=numbers("split_feature", n, int, np.int32),
        threshold=threshold,
        rule=(BY_SET * by_set + MISSING_LEFT * missing_left).astype(np.uint8),
        left=numbers("left_child", n, int, np.int32),
        right=numbers("right_child", n, int, np.int32),
        gain=numbers("split_gain", n, float, np.float32),
        value=numbers("leaf_value", n + 1, float, np.float64),
        count=np.maximum(count, 1),
        set_ends=numbers("cat_boundaries", None, int, np.int32)[1:] if has_sets else np.empty(0, dtype=np.int32),
        words=numbers("cat_threshold", None, int, np.uint32) if has_sets else np.empty(0, dtype=np.uint32),
    )


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
    decision = np.where(by_set, _CATEGORICAL, _NAN_IS + _DEFAULT_LEFT * tree.missing_left)
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
