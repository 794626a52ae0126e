"""Trees as arrays: what predicts, explains, is exported and saved, without LightGBM.

The splits of all trees stand one after the other, and so do their leaves; a tree of m splits has m + 1 leaves. Within
its tree a split is known by its number, the root being 0, and a leaf by minus its number, minus one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._types import Floats
from rankwise.base.state import require_array
from rankwise.trees._shapley import add_contributions
from rankwise.trees._walk import BY_SET, MISSING_LEFT, add_scores

Places = NDArray[np.int32]

DEEPEST = 1024  # splits above a leaf
_MOST_COLUMNS = 1 << 24  # more than memory has for their bins
_BLOCK = 1024  # rows that go through one tree after the other, so that both stay in the cache


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees whose leaves add up to a score, in their order.

    A row goes left at a split if its value is at most the threshold or, ``BY_SET``, in a set of categories, whose
    number then stands for the threshold. NaN goes left if the rule says so (``MISSING_LEFT``), and is in no set.
    """

    n_splits: Places  #: of each tree
    feature: Places  #: column that the split looks at
    threshold: Floats
    rule: NDArray[np.uint8]
    left: Places  #: split or leaf below
    right: Places
    gain: NDArray[np.float32]  #: by which the split lessened the loss
    value: Floats  #: what the leaf adds to the score
    count: Places  #: rows of the fit in the leaf, at least 1
    set_ends: Places  #: where each set ends among the words
    words: NDArray[np.uint32]  #: a bit for each category that goes left

    @classmethod
    def of_one_leaf(cls) -> Trees:
        """One tree that adds nothing."""
        arrays = {name: np.zeros(0, dtype) for name, dtype in _TYPES.items()}
        return cls(**{**arrays, "n_splits": np.zeros(1, np.int32), "value": np.zeros(1), "count": np.ones(1, np.int32)})

    @classmethod
    def joined(cls, parts: Sequence[Trees]) -> Trees:
        """The trees of several, one after the other."""
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _TYPES}
        n_words = np.cumsum([0, *(part.words.size for part in parts)])
        arrays["set_ends"] = np.concatenate(
            [part.set_ends + np.int32(before) for part, before in zip(parts, n_words[:-1], strict=True)]
        )
        by_set = (arrays["rule"] & BY_SET) > 0
        arrays["threshold"][by_set] = np.arange(by_set.sum())
        return cls(**arrays)

    def part(self, first: int, count: int) -> Trees:
        """Some of the trees."""
        before, end = int(self.n_splits[:first].sum()), int(self.n_splits[: first + count].sum())
        sets = slice(*(int(self.by_set[:k].sum()) for k in (before, end)))
        words = slice(*(int(self.set_ends[k - 1]) if k else 0 for k in (sets.start, sets.stop)))
        leaves = slice(before + first, end + first + count)
        cuts = {"n_splits": slice(first, first + count), "value": leaves, "count": leaves}
        cuts |= {"set_ends": sets, "words": words}
        arrays = {name: getattr(self, name)[cuts.get(name, slice(before, end))] for name in _TYPES}
        by_set = (arrays["rule"] & BY_SET) > 0
        arrays["threshold"] = np.where(by_set, np.cumsum(by_set) - 1.0, arrays["threshold"])
        return Trees(**{**arrays, "set_ends": arrays["set_ends"] - np.int32(words.start)})

    def __len__(self) -> int:
        return self.n_splits.size

    @property
    def first_split(self) -> NDArray[np.int64]:
        """Where the splits of each tree begin. Its leaves begin as many further on as there are trees before it."""
        return np.cumsum(self.n_splits, dtype=np.int64) - self.n_splits

    @property
    def by_set(self) -> NDArray[np.bool_]:
        """Which splits are by a set of categories."""
        return (self.rule & BY_SET) > 0

    @property
    def missing_left(self) -> NDArray[np.bool_]:
        """At which splits NaN goes left."""
        return (self.rule & MISSING_LEFT) > 0

    def nodes(self) -> tuple[NDArray[np.int64], list[NDArray[np.int64]], list[NDArray[np.bool_]]]:
        """Root of each tree, and below each split on both sides: numbers of splits or leaves among those of all trees.

        The last part says which are leaves; so is the root of a tree without a split.
        """
        before = np.arange(len(self))  # trees, each of which has one more leaf than splits
        roots = np.where(self.n_splits > 0, self.first_split, self.first_split + before)
        first, before = (np.repeat(of_tree, self.n_splits) for of_tree in (self.first_split, before))
        sides = [side.astype(np.int64) for side in (self.left, self.right)]
        return roots, [first + np.where(c < 0, before - c - 1, c) for c in sides], [c < 0 for c in sides]

    def members(self, split: int) -> NDArray[np.intp]:
        """Categories that go left."""
        number = int(self.threshold[split])
        start = int(self.set_ends[number - 1]) if number else 0
        words = self.words[start : self.set_ends[number]].astype("<u4")
        return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))

    # -- using -----------------------------------------------------------------------------------------------------

    def scores(self, rows: Any, *, n_threads: int = 1) -> Floats:
        """Sum of the leaves that every row of an array or CSR matrix falls into."""
        rows, _, trees = self._among_used_columns(rows)
        return trees._added(add_scores, rows, np.zeros(rows.shape[0]), n_threads)

    def contributions(self, rows: Any, *, n_threads: int = 1) -> Floats:
        """Shapley values of the columns for the score of every row, (n, d), over the rows of the fit in each leaf."""
        used, columns, trees = self._among_used_columns(rows)
        out = np.zeros(rows.shape)
        out[:, columns] = trees._added(add_contributions, used, np.zeros(used.shape), n_threads)
        return out

    def _among_used_columns(self, rows: Any) -> tuple[Any, Any, Trees]:
        """Of a CSR matrix the few columns that splits look at, their places, and trees that look at these."""
        if not sparse.issparse(rows):
            return rows, slice(None), self
        columns, feature = np.unique(self.feature, return_inverse=True)
        return sparse.csr_matrix(rows)[:, columns], columns, replace(self, feature=feature.astype(np.int32))

    def _added(self, add: Any, rows: Any, out: Floats, n_threads: int) -> Floats:
        """``out``, to which a kernel has added, block by block."""
        arrays = (self.n_splits, self.feature, self.threshold, self.rule, self.left, self.right, self.value, self.count,
                  self.set_ends, self.words)  # fmt: skip

        def work(block: slice) -> None:
            part = rows[block]
            add(part.toarray().astype(np.float64) if sparse.issparse(part) else part, *arrays, out[block])

        blocks = [slice(a, a + _BLOCK) for a in range(0, len(out), _BLOCK)]
        if n_threads > 1 and len(blocks) > 1:
            with ThreadPoolExecutor(min(n_threads, len(blocks))) as pool:
                list(pool.map(work, blocks))
        else:
            for block in blocks:
                work(block)
        return out

    def importances(self, n_features: int, kind: str) -> Floats:
        """Sum of the gains of each column's splits, or how many there are."""
        useful = self.gain > 0.0
        weights = self.gain[useful].astype(np.float64) if kind == "gain" else None
        return np.bincount(self.feature[useful], weights, minlength=n_features).astype(np.float64)

    # -- files -----------------------------------------------------------------------------------------------------

    def to_plain(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""
        return {name: getattr(self, name) for name in _TYPES}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], n_features: int) -> Trees:
        """Trees of arrays that may have been forged: what comes out can be walked."""
        require_columns(n_features)
        if not isinstance(plain, dict) or set(plain) != set(_TYPES):
            raise ValueError(f"the trees need the arrays {list(_TYPES)}")
        n_trees, n, n_sets = (np.size(plain[name]) for name in ("n_splits", "feature", "set_ends"))
        lengths = {"n_splits": n_trees, "value": n + n_trees, "count": n + n_trees, "set_ends": n_sets}
        lengths["words"] = np.size(plain["words"])
        for name, dtype in _TYPES.items():
            is_finite = name not in ("threshold", "gain")
            require_array(name, plain[name], dtype, (lengths.get(name, n),), finite=is_finite)
        trees = cls(**plain)
        trees._require_whole(n_features)
        return trees

    def _require_whole(self, n_features: int) -> None:
        """Refuse splits that look at nothing, and trees that cannot be walked from the root to every leaf."""
        if (self.n_splits < 0).any() or self.n_splits.sum(dtype=np.int64) != self.feature.size or len(self) == 0:
            raise ValueError("there must be trees, and their splits be as many as they say")
        by_set = self.by_set
        checks = {
            "feature": (self.feature >= 0) & (self.feature < n_features),
            "rule": self.rule <= (BY_SET | MISSING_LEFT),
            "threshold": ~by_set | (self.threshold == np.cumsum(by_set) - 1.0),  # sets in the order of their splits
            "set_ends": np.diff(self.set_ends, prepend=np.int32(0)) > 0,
            "count": self.count > 0,
        }
        for name, good in checks.items():
            if not good.all():
                raise ValueError(f"array {name!r} holds {getattr(self, name)[~good][0]}, which cannot be")
        if self.set_ends.size != by_set.sum() or (self.set_ends[-1] if by_set.any() else 0) != self.words.size:
            raise ValueError("every split by categories needs a set of them")
        self._require_paths()

    def _require_paths(self) -> None:
        """Refuse a node that is reached twice, or before its parent, or not at all, and trees that are too deep."""
        tree, number = np.repeat(np.arange(len(self)), self.n_splits), np.arange(self.feature.size)
        in_tree = number - self.first_split[tree]
        for child in (self.left.astype(np.int64), self.right.astype(np.int64)):
            if ((child >= 0) & (child <= in_tree)).any():
                raise ValueError("a split must come after its parent")
            if (np.where(child < 0, -child - 1, child + 1) > self.n_splits[tree]).any():
                raise ValueError("a split leads to a node that is not in its tree")
        roots, sides, are_leaves = self.nodes()
        is_split = self.n_splits > 0
        below, is_leaf = np.concatenate(sides), np.concatenate(are_leaves)
        for reached, size in (
            ([roots[is_split], below[~is_leaf]], number.size), ([roots[~is_split], below[is_leaf]], self.value.size),
        ):  # fmt: skip
            if (np.bincount(np.concatenate(reached), minlength=size) != 1).any():
                raise ValueError("every split but the root, and every leaf, must have one parent")
        level = roots[is_split]
        for _ in range(DEEPEST):
            level = np.concatenate([side[level][~leaf[level]] for side, leaf in zip(sides, are_leaves, strict=True)])
        if level.size:
            raise ValueError(f"tree {tree[level].min()}: no tree is deeper than {DEEPEST} splits")


def require_columns(count: int) -> None:
    """Refuse more columns than trees can look at."""
    if count > _MOST_COLUMNS:
        raise ValueError(f"trees look at no more than {_MOST_COLUMNS:,} columns. Got {count:,}.")


#: Types of the arrays; those of :class:`Trees` in their order.
_TYPES: dict[str, Any] = {"n_splits": np.int32, "feature": np.int32, "threshold": np.float64, "rule": np.uint8}
_TYPES |= {"left": np.int32, "right": np.int32, "gain": np.float32, "value": np.float64, "count": np.int32}
_TYPES |= {"set_ends": np.int32, "words": np.uint32}
