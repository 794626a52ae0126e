"""LightGBM's text of a model: read into arrays, and checked before LightGBM itself sees it.

LightGBM trusts its own files: a child that points back, a feature that is not there or a wrong size ends in an endless
loop or in memory that is not its own, and a tree too deep in a stack that overflows, because contributions descend by
recursion. So :func:`read_trees` takes nothing but what LightGBM writes: known lines in their order, one tree for each
round, numbers that are numbers, lists as long as they must be, every node reached once from the root, no deeper than a
fit makes them, features and categories that exist, sizes that are those of the text.

Texts end with the trees: what LightGBM writes behind them (its parameters, say) is not needed to predict.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats

Places = NDArray[np.int64]

END = "end of trees\n"
DEEPEST = 1024  # splits above a leaf: 200 kB of the stack in LightGBM's recursion, where a thread may have 512 kB
_MOST_LEAVES = 1 << 20
_HEADER = ("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective",
           "average_output", "feature_names", "monotone_constraints", "feature_infos", "tree_sizes")  # fmt: skip
_LINES = ("num_leaves", "num_cat", "split_feature", "split_gain", "threshold", "decision_type", "left_child",
          "right_child", "leaf_value", "leaf_weight", "leaf_count", "internal_value", "internal_weight",
          "internal_count", "cat_boundaries", "cat_threshold", "is_linear", "shrinkage")  # fmt: skip
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"-?(?:\d{1,330}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,3})?|inf)", re.ASCII)
_INFO = re.compile(r"none|\[[-+.\deE]{1,60}:[-+.\deE]{1,60}\]|-?\d{1,9}(?::-?\d{1,9})*", re.ASCII)
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_NONE, _MISSING_NAN = 0, 8  # bits 2 and 3; 4, zero as missing, is not used here


@dataclass(frozen=True, eq=False)
class ParsedTree:
    """One tree of m leaves and m - 1 splits, the root first; ``value`` is by leaf, everything else by split."""

    feature: Places  # column that the split looks at
    threshold: Floats  # rows with a value at most so large go left
    categories: list[Places | None]  # those that go left; None for a split of numbers
    missing_left: NDArray[np.bool_]  # whether a missing value goes left
    nan_as_zero: NDArray[np.bool_]  # whether it counts as zero, because there was none in fit
    left: Places  # split below, or minus the number of a leaf, minus one
    right: Places
    value: Floats  # what each leaf adds to the score
    gain: Floats  # by which the split lessened the loss


def trimmed(text: str) -> str:
    """The text up to the last tree."""
    return text[: text.index(END) + len(END)]


def without_trees(n_features: int) -> str:
    """Text of a model with one leaf that adds nothing."""
    tree = (
        "Tree=0\nnum_leaves=1\nnum_cat=0\nsplit_feature=\nsplit_gain=\nthreshold=\ndecision_type=\nleft_child=\n"
        "right_child=\nleaf_value=0\nleaf_weight=\nleaf_count=\ninternal_value=\ninternal_weight=\ninternal_count=\n"
        "is_linear=0\nshrinkage=1\n\n\n"
    )
    names, infos = (" ".join(words) for words in ([f"Column_{j}" for j in range(n_features)], ["none"] * n_features))
    return (
        f"tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={n_features - 1}\n"
        f"feature_names={names}\nfeature_infos={infos}\ntree_sizes={len(tree)}\n\n{tree}{END}"
    )


def read_trees(text: str, n_features: int) -> list[ParsedTree]:
    """Trees of a text as LightGBM writes it, see :func:`trimmed`, or a ValueError that says what is wrong with it.

    >>> read_trees(without_trees(3), 3)[0].value
    array([0.])
    """
    if not text.isascii() or not text.endswith(END) or "\r" in text:
        raise ValueError("the text of the trees does not end where it should")
    header, _, rest = text.partition("\n\n")
    sizes = _read_header(header, n_features)
    if sum(sizes) != len(rest) - len(END) or not sizes:
        raise ValueError("the sizes of the trees are not those of the text")
    trees, start = [], 0
    for number, size in enumerate(sizes):
        trees.append(_read_tree(rest[start : start + size], number, n_features))
        start += size
    return trees


def _read_header(header: str, n_features: int) -> list[int]:
    """Sizes of the trees, after a check of the other lines."""
    first, _, rest = header.partition("\n")
    if first != "tree":
        raise ValueError("the text of the trees does not begin as it should")
    fields = _lines(rest, _HEADER, ("label_index", "objective", "average_output", "monotone_constraints"))
    fixed = {"version": ("v3", "v4"), "num_class": ("1",), "num_tree_per_iteration": ("1",), "label_index": ("0",),
             "max_feature_idx": (str(n_features - 1),), "objective": ("custom", "none")}  # fmt: skip
    for key, allowed in fixed.items():
        if key in fields and fields[key] not in allowed:
            raise ValueError(f"{key} must be {' or '.join(allowed)}, not {fields[key][:40]!r}")
    if "average_output" in fields:
        raise ValueError("the trees must be added, not averaged")
    names = [f"Column_{j}" for j in range(n_features)]
    if fields["feature_names"].split(" ") != names:
        raise ValueError("the columns of the trees have other names than they should")
    infos = fields["feature_infos"].split(" ")
    if len(infos) != n_features or not all(map(_INFO.fullmatch, infos)):
        raise ValueError("feature_infos does not describe every column")
    if "monotone_constraints" in fields:
        _whole(fields, "monotone_constraints", n_features, -1, 1)
    return list(_whole(fields, "tree_sizes", None, 1, 1 << 40).tolist())


def _read_tree(text: str, number: int, n_features: int) -> ParsedTree:
    first, _, rest = text.partition("\n")
    if first != f"Tree={number}" or not rest.endswith("\n\n\n"):
        raise ValueError(f"tree {number} does not begin and end as it should")
    fields = _lines(rest.rstrip("\n"), _LINES, ("cat_boundaries", "cat_threshold"))
    try:
        return _checked_tree(fields, n_features)
    except ValueError as error:
        raise ValueError(f"tree {number}: {error}") from None


def _checked_tree(fields: dict[str, str], n_features: int) -> ParsedTree:
    m = int(_whole(fields, "num_leaves", 1, 1, _MOST_LEAVES)[0])
    n_cat = int(_whole(fields, "num_cat", 1, 0, m - 1)[0])
    if fields["is_linear"] != "0":
        raise ValueError("leaves must be numbers")
    _numbers(fields, "shrinkage", 1)
    value = _numbers(fields, "leaf_value", m)
    for key in ("leaf_weight", "leaf_count"):
        if fields[key] or m > 1:  # a single leaf has no counts in some versions
            _numbers(fields, key, m)
    for key in ("internal_value", "internal_weight", "internal_count"):
        _numbers(fields, key, m - 1)
    feature = _whole(fields, "split_feature", m - 1, 0, n_features - 1)
    threshold = _numbers(fields, "threshold", m - 1, finite=False)
    decision = _whole(fields, "decision_type", m - 1, 0, 15)
    left = _whole(fields, "left_child", m - 1, -m, m - 2)
    right = _whole(fields, "right_child", m - 1, -m, m - 2)
    _require_tree(left, right, m)
    missing = decision & 12
    if not np.isin(missing, (_MISSING_NONE, _MISSING_NAN)).all():
        raise ValueError("zero must not stand for a missing value")
    is_set = (decision & _CATEGORICAL).astype(bool)
    categories: list[Places | None] = [None] * (m - 1)
    if int(is_set.sum()) != n_cat:
        raise ValueError("the number of splits by category is not what it should be")
    if n_cat:
        for split, chosen in zip(np.flatnonzero(is_set), _sets(fields, n_cat, threshold[is_set]), strict=True):
            categories[split] = chosen
    gain = _numbers(fields, "split_gain", m - 1, finite=False)
    to_left = (decision & _DEFAULT_LEFT).astype(bool)
    return ParsedTree(feature, threshold, categories, to_left, missing == _MISSING_NONE, left, right, value, gain)


def _sets(fields: dict[str, str], n_cat: int, places: Floats) -> list[Places]:
    """Categories that go left, for every split by category; the threshold of such a split is the place of its set."""
    if "cat_boundaries" not in fields or "cat_threshold" not in fields:
        raise ValueError("the categories are missing")
    ends = _whole(fields, "cat_boundaries", n_cat + 1, 0, 1 << 40)
    if ends[0] != 0 or (np.diff(ends) < 1).any():
        raise ValueError("cat_boundaries must ascend from 0")
    words = _whole(fields, "cat_threshold", int(ends[-1]), 0, 2**32 - 1)
    if sorted(places.tolist()) != list(range(n_cat)):
        raise ValueError("every split by category needs a set of its own")
    chosen = []
    for place in places.astype(np.int64):
        bits = np.unpackbits(words[ends[place] : ends[place + 1]].astype("<u4").view(np.uint8), bitorder="little")
        chosen.append(np.flatnonzero(bits))
    return chosen


def _require_tree(left: Places, right: Places, m: int) -> None:
    """Refuse a tree in which a node is reached twice, or before its parent, or that is too deep."""
    children = np.concatenate([left, right])
    if sorted(children.tolist()) != [*range(-m, 0), *range(1, m - 1)] and m > 1:
        raise ValueError("every split but the root, and every leaf, must have one parent")
    parents = np.arange(m - 1)
    for child in (left, right):
        if ((child >= 0) & (child <= parents)).any():
            raise ValueError("a split must come after its parent")
    level = np.zeros(int(m > 1), dtype=np.int64)
    for _ in range(DEEPEST):
        below = np.concatenate([left[level], right[level]])
        level = below[below >= 0]
    if level.size:
        raise ValueError(f"no tree is deeper than {DEEPEST} splits")


def _lines(text: str, known: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, str]:
    """Values of lines ``key=value`` by key: the known keys in their order, all but the optional ones."""
    fields: dict[str, str] = {}
    place = 0
    for line in text.split("\n"):
        key, equals, value = line.partition("=")
        if key not in known[place:] or (not equals and key != "average_output"):
            raise ValueError(f"unknown line: {line[:40]!r}")
        place = known.index(key) + 1
        fields[key] = value
    absent = [key for key in known if key not in fields and key not in optional]
    if absent:
        raise ValueError(f"the line {absent[0]!r} is missing")
    return fields


def _whole(fields: dict[str, str], key: str, count: int | None, least: int, most: int) -> Places:
    """Value of a key as ``count`` whole numbers within a range."""
    words = fields[key].split(" ") if fields[key] else []
    if (count is not None and len(words) != count) or not all(map(_WHOLE.fullmatch, words)):
        raise ValueError(f"{key} must be {count if count is not None else ''} whole numbers, not {fields[key][:40]!r}")
    values = np.array([int(word) for word in words], dtype=np.int64)
    if values.size and not (least <= values.min() and values.max() <= most):
        raise ValueError(f"{key} must lie between {least} and {most}")
    return values


def _numbers(fields: dict[str, str], key: str, count: int, *, finite: bool = True) -> Floats:
    """Value of a key as ``count`` numbers."""
    words = fields[key].split(" ") if fields[key] else []
    if len(words) != count or not all(map(_NUMBER.fullmatch, words)):
        raise ValueError(f"{key} must be {count} numbers, not {fields[key][:40]!r}")
    values = np.array([float(word) for word in words])
    if finite and not np.isfinite(values).all():
        raise ValueError(f"{key} must be finite")
    return values
