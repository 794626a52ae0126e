"""Deep trees: a walk is short and a recursion of LightGBM's shallow, as files hold no deeper tree than a fit makes."""

import threading
import time

import numpy as np
import pytest

import rankwise as rw
from rankwise.onnx import to_onnx
from rankwise.persistence import ModelFileError
from rankwise.trees import boosted_thresholds
from rankwise.trees._walk import MISSING_LEFT
from rankwise.trees.arrays import DEEPEST, Trees


def chain(n_splits, n_features=1):
    """One tree, in which each split has a leaf and the next split below it."""
    split, arrays = np.arange(n_splits, dtype=np.int32), Trees.of_one_leaf().to_plain()
    arrays |= {"n_splits": np.full(1, n_splits, dtype=np.int32), "feature": split % n_features}
    arrays |= {"threshold": split / n_splits, "rule": np.full(n_splits, MISSING_LEFT, dtype=np.uint8)}
    arrays |= {"left": -split - 1, "right": split + 1, "gain": np.ones(n_splits, dtype=np.float32)}
    arrays |= {"value": np.arange(n_splits + 1) / n_splits, "count": np.ones(n_splits + 1, dtype=np.int32)}
    arrays["right"][-1] = -n_splits - 1
    return Trees(**arrays)


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
    forged.trees_ = chain(n_splits, 3)
    rw.save(forged, tmp_path / "model")
    start = time.process_time()
    with pytest.raises(ModelFileError, match=f"tree 0: no tree is deeper than {DEEPEST} splits"):
        rw.load(tmp_path / "model")
    assert time.process_time() - start < 30.0


def test_the_deepest_tree_answers_in_a_thread_with_a_small_stack(model, tmp_path):
    deep = model._twin()
    deep.trees_ = chain(DEEPEST, 3)
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
    theirs = loaded.booster_.predict(X, pred_contrib=True)[:, :-1]
    np.testing.assert_allclose(explanation.values, theirs, atol=1e-9)
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
    assert depth(model.trees_) == (7 if asked.get("max_depth") == 7 else 50)
    rw.save(model, tmp_path / "model")
    assert rw.load(tmp_path / "model").project(X).tobytes() == model.project(X).tobytes()


def test_the_bound_of_the_depth_must_be_a_number():
    with pytest.raises(ValueError, match="max_depth must be a whole number"):
        rw.BoostedThresholds(engine_params={"max_depth": "deep"}, **GREEDY).fit(*skewed())
