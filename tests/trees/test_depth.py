"""Deep trees: LightGBM computes contributions by recursion, so a file may hold no deeper tree than a fit makes."""

import threading
import time

import numpy as np
import pytest

import rankwise as rw
from rankwise.onnx import to_onnx
from rankwise.persistence import ModelFileError
from rankwise.trees import boosted_thresholds
from rankwise.trees._model_text import DEEPEST, END, read_trees


def chain(n_splits, n_features=1):
    """Text of one tree, in which each split has a leaf and the next split below it."""
    split, leaf = np.arange(n_splits), np.arange(n_splits + 1)
    lines = {
        "num_leaves": [n_splits + 1],
        "num_cat": [0],
        "split_feature": split % n_features,
        "split_gain": split * 0 + 1,
        "threshold": split / n_splits,
        "decision_type": split * 0 + 2,
        "left_child": -split - 1,
        "right_child": [*range(1, n_splits), -n_splits - 1],
        "leaf_value": leaf / n_splits,
        "leaf_weight": leaf * 0 + 1,
        "leaf_count": leaf * 0 + 1,
        "internal_value": split * 0,
        "internal_weight": split * 0 + 1,
        "internal_count": n_splits + 1 - split,
        "is_linear": [0],
        "shrinkage": [1],
    }
    text = "Tree=0\n" + "".join(f"{key}={' '.join(map(str, v))}\n" for key, v in lines.items()) + "\n\n"
    names = " ".join(f"Column_{j}" for j in range(n_features))
    infos = " ".join(["[0:1]"] * n_features)
    return (
        f"tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={n_features - 1}\n"
        f"feature_names={names}\nfeature_infos={infos}\ntree_sizes={len(text)}\n\n{text}{END}"
    )


def depth(tree):
    below = np.zeros(tree.left.size, dtype=int)
    for k in range(tree.left.size):
        for child in (tree.left[k], tree.right[k]):
            if child >= 0:
                below[child] = below[k] + 1
    return int(below.max()) + 1


@pytest.fixture(scope="module")
def model():
    X = np.linspace(0, 1, 40)[:, None].repeat(3, axis=1)
    return rw.BoostedThresholds(max_iter=1, early_stopping=False, n_jobs=1).fit(X, (X[:, 0] > 0.5).astype(int))


@pytest.mark.parametrize("n_splits", [DEEPEST + 1, 300_000])
def test_a_deeper_tree_is_refused(model, tmp_path, n_splits):
    forged = model._twin()
    forged._text = chain(n_splits, 3)
    rw.save(forged, tmp_path / "model")
    start = time.process_time()
    with pytest.raises(ModelFileError, match=f"tree 0: no tree is deeper than {DEEPEST} splits"):
        rw.load(tmp_path / "model")
    assert time.process_time() - start < 30.0


def test_the_deepest_tree_answers_in_a_thread_with_a_small_stack(model, tmp_path):
    deep = model._twin()
    deep._text = chain(DEEPEST, 3)
    rw.save(deep, tmp_path / "model")
    loaded, X, found = rw.load(tmp_path / "model"), np.linspace(0, 1, 30)[:, None].repeat(3, axis=1), []
    size = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.extend([rw.explain(loaded, X), to_onnx(loaded)]))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    explanation = found[0]
    np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base, loaded.project(X), atol=1e-9)


def skewed(n=400):
    """Rows of which each outweighs all that follow: a split takes off one of them."""
    return np.arange(n, dtype=float)[:, None], np.arange(n) % 2, 0.97 ** np.arange(n)


GREEDY = {"min_samples_leaf": 1, "l2_regularization": 0.0, "max_bins": 65535, "max_leaf_nodes": 131_072}
GREEDY |= {"max_iter": 1, "early_stopping": False, "n_jobs": 1}


@pytest.mark.parametrize("asked", [{}, {"max_depth": 10**6}, {"max_depth": -1}, {"max_depth": 7}], ids=str)
def test_a_fit_makes_no_deeper_tree_than_a_file_may_hold(monkeypatch, tmp_path, asked):
    monkeypatch.setattr(boosted_thresholds, "DEEPEST", 50)
    X, y, weight = skewed()
    options = {"min_sum_hessian_in_leaf": 0.0, "min_data_in_bin": 1, **asked}
    model = rw.BoostedThresholds(engine_params=options, **GREEDY).fit(X, y, weight)
    (tree,) = read_trees(model._text, 1)
    assert depth(tree) == (7 if asked.get("max_depth") == 7 else 50)
    rw.save(model, tmp_path / "model")
    assert rw.load(tmp_path / "model").project(X).tobytes() == model.project(X).tobytes()


def test_the_bound_of_the_depth_must_be_a_number():
    with pytest.raises(ValueError, match="max_depth must be a whole number"):
        rw.BoostedThresholds(engine_params={"max_depth": "deep"}, **GREEDY).fit(*skewed())
