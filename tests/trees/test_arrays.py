"""Trees as arrays: they answer as LightGBM does, bit by bit, and what is no tree is refused."""

import itertools
import json
import math
import subprocess
import sys

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import rankwise as rw
from rankwise.persistence import ModelFileError
from rankwise.trees._lightgbm_text import text_of_trees, trees_of_text
from rankwise.trees.arrays import Trees
from tests.trees.bits import bits_of

N_COLUMNS = 4


def data(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_COLUMNS))
    X[:, 2] = rng.integers(0, 40, n)
    X[::7, 0] = np.nan
    y = np.searchsorted([-0.5, 0.5, 1.5], X[:, 1] + X[:, 2] % 3 - 1 + np.nan_to_num(X[:, 0]) ** 2)
    return X, y


@pytest.fixture(scope="module")
def model():
    options = dict(max_iter=6, early_stopping=False, categorical_features=[2], min_samples_leaf=5, n_jobs=1)
    return rw.BoostedThresholds(**options, monotonic_cst=[0, 1, 0, 0], random_state=0).fit(*data())


def is_left(tree, split, value):
    if tree.by_set[split]:
        return value in tree.members(split)
    return bool(tree.missing_left[split]) if np.isnan(value) else value <= tree.threshold[split]


def score_of(trees, X):
    """Score tree by tree, row by row."""
    scores = np.zeros(len(X))
    for tree in (trees.part(t, 1) for t in range(len(trees))):
        for i, x in enumerate(X):
            node = 0 if tree.feature.size else -1
            while node >= 0:
                node = int((tree.left if is_left(tree, node, x[tree.feature[node]]) else tree.right)[node])
            scores[i] += tree.value[-node - 1]
    return scores


def grown(seed, n=400, n_trees=20):
    """Trees that LightGBM grew itself on numbers with every kind of missing values, and categories; and new rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 1], X[:, 2] = rng.integers(0, 50, n), rng.integers(0, 3, n)
    X[rng.random(n) < 0.2, 3] = np.nan
    X[rng.random(n) < 0.7, 4] = 0.0
    y = X[:, 0] ** 2 + X[:, 1] % 5 + X[:, 2] * np.nan_to_num(X[:, 3], nan=2.0) + X[:, 4]
    params = {"objective": "l2", "verbosity": -1, "num_threads": 1, "min_data_in_leaf": 3, "max_cat_to_onehot": 2}
    params |= {"num_leaves": int(rng.choice([2, 7, 31])), "bagging_fraction": 0.7, "bagging_freq": 1, "seed": seed}
    rows = lightgbm.Dataset(X, y, categorical_feature=[1, 2])
    booster = lightgbm.train(params, rows, n_trees)
    new = np.concatenate([X, X])
    odd = [np.nan, -0.0, 0.0, 1e300, -1e300, 5e-324, -5e-324, 1e-35, 49.0, 50.0, 64.0, 1e9, -1.0, 3.0]
    places = rng.random(new.shape) < 0.3
    new[places] = rng.choice(odd, places.sum())
    for j in (1, 2):  # LightGBM truncates what is no category
        new[:, j] = np.where(new[:, j] == np.floor(new[:, j]), np.clip(new[:, j], -9, 1e9), np.nan)
    return booster, new


@pytest.mark.parametrize("seed", range(6))
def test_scores_are_those_of_lightgbm_to_the_bit(seed):
    booster, X = grown(seed)
    trees = trees_of_text(booster.model_to_string(), 6)
    theirs = booster.predict(X, raw_score=True)
    assert trees.scores(X).tobytes() == theirs.tobytes()
    assert trees.scores(X, n_threads=2).tobytes() == theirs.tobytes()
    np.testing.assert_allclose(score_of(trees, X), theirs, rtol=1e-12)
    single = np.clip(X, -1e30, 1e30).astype(np.float32)
    assert trees.scores(single).tobytes() == booster.predict(single, raw_score=True).tobytes()
    rows = sparse.csr_matrix(np.nan_to_num(X))
    assert trees.scores(rows).tobytes() == booster.predict(rows, raw_score=True).tobytes()
    again = lightgbm.Booster(model_str=text_of_trees(trees, 6))
    assert again.predict(X, raw_score=True).tobytes() == theirs.tobytes()
    for kind in ("gain", "split"):
        assert trees.importances(6, kind).tolist() == booster.feature_importance(kind).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_contributions_are_those_of_lightgbm(seed):
    booster, X = grown(seed)
    trees, X = trees_of_text(booster.model_to_string(), 6), X[::10]
    theirs = booster.predict(X, pred_contrib=True)[:, :-1]
    np.testing.assert_allclose(trees.contributions(X), theirs, atol=1e-9)
    rows = sparse.csr_matrix(np.nan_to_num(X))
    np.testing.assert_array_equal(trees.contributions(rows), trees.contributions(np.nan_to_num(X)))


def test_contributions_are_shapley_values(model):
    X = model._rows(data()[0][:12], reset=False)

    def expected(tree, x, known, node):
        """Mean of the leaves below a node, where conditions on unknown columns hold as often as in the fit."""
        if node < 0:
            return tree.value[-node - 1], tree.count[-node - 1]
        sides = [expected(tree, x, known, int(child)) for child in (tree.left[node], tree.right[node])]
        count = sides[0][1] + sides[1][1]
        if tree.feature[node] in known:
            return sides[0 if is_left(tree, node, x[tree.feature[node]]) else 1][0], count
        return sum(value * n for value, n in sides) / count, count

    trees = [model.trees_.part(t, 1) for t in range(len(model.trees_))]
    for x, found in zip(X, model.trees_.contributions(X), strict=True):
        for j in range(N_COLUMNS):
            value = 0.0
            others = [k for k in range(N_COLUMNS) if k != j]
            for size in range(N_COLUMNS):
                share = math.factorial(size) * math.factorial(N_COLUMNS - size - 1) / math.factorial(N_COLUMNS)
                for known in itertools.combinations(others, size):
                    for tree in trees:
                        after, before = (expected(tree, x, {*known, *more}, 0)[0] for more in ([j], []))
                        value += share * (after - before)
            assert found[j] == pytest.approx(value, abs=1e-12)


def test_parts_and_joined_parts_are_the_trees(model):
    trees = model.trees_
    X = model._rows(data()[0], reset=False)
    parts = [trees.part(0, 2), trees.part(2, 1), trees.part(3, 0), trees.part(3, 3)]
    for part in parts[:2]:
        Trees.from_plain(part.to_plain(), N_COLUMNS)
    joined = Trees.joined(parts)
    assert {k: v.tobytes() for k, v in joined.to_plain().items()} == {k: v[1] for k, v in bits_of(model).items()}
    np.testing.assert_allclose(sum(part.scores(X) for part in parts), trees.scores(X), atol=1e-12)


def test_one_leaf_that_adds_nothing():
    trees = Trees.of_one_leaf()
    assert len(trees) == 1
    assert (trees.scores(np.ones((2, 3))) == 0).all()
    assert (trees.contributions(np.ones((2, 3))) == 0).all()
    assert (lightgbm.Booster(model_str=text_of_trees(trees, 3)).predict(np.ones((2, 3))) == 0).all()


def test_sparse_numbers_that_are_no_category_are_unseen():
    """LightGBM truncates them: 2.5 was the category 2 in sparse rows, and unseen in dense ones."""
    X, y = data()
    X = np.nan_to_num(X)
    options = dict(max_iter=6, early_stopping=False, categorical_features=[2], min_samples_leaf=5, n_jobs=1)
    by_rows = [rw.BoostedThresholds(**options).fit(rows, y) for rows in (X, sparse.csr_matrix(X))]
    X[:, 2] += 0.5
    assert by_rows[0].project(X).tobytes() == by_rows[1].project(sparse.csr_matrix(X)).tobytes()


def put(name, value, at=0):
    def forge(arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][at] = value

    return forge


FORGED = {
    "a child that points back": put("left", 0),
    "a leaf that is not there": put("right", -99),
    "a split that is not there": put("right", 2**31 - 1),
    "the least number": put("left", -(2**31)),
    "a column that is not there": put("feature", 99999),
    "a negative column": put("feature", -1),
    "more splits": put("n_splits", 2**31 - 1),
    "fewer splits": put("n_splits", 1),
    "negative splits": put("n_splits", -1),
    "NaN": put("value", np.nan),
    "infinity": put("value", np.inf),
    "no threshold": put("threshold", np.nan, slice(None)),
    "another rule": put("rule", 4),
    "no rows in a leaf": put("count", 0),
    "far categories": put("set_ends", 2**30),
    "sets that descend": put("set_ends", -1),
    "another set": lambda arrays: put("threshold", 1e9, arrays["rule"] == 1)(arrays),
    "no sets": lambda arrays: arrays.update(set_ends=arrays["set_ends"][:0], words=arrays["words"][:0]),
    "fewer words": lambda arrays: arrays.update(words=arrays["words"][:-1]),
    "fewer leaves": lambda arrays: arrays.update(value=arrays["value"][:-1]),
    "another type": lambda arrays: arrays.update(left=arrays["left"].astype(np.int64)),
    "another shape": lambda arrays: arrays.update(value=arrays["value"][None]),
    "no array": lambda arrays: arrays.update(value=[1.0]),
    "an array missing": lambda arrays: arrays.pop("gain"),
    "an array too many": lambda arrays: arrays.update(more=np.zeros(1)),
    "nothing": lambda arrays: arrays.update(Trees.of_one_leaf().to_plain()),
    "no trees": lambda arrays: arrays.update({name: array[:0] for name, array in arrays.items()}),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_file_is_refused(model, tmp_path, what, monkeypatch):
    """The checksum fits: the arrays themselves must tell."""
    arrays = dict(model.trees_.to_plain())
    FORGED[what](arrays)
    monkeypatch.setattr(Trees, "to_plain", lambda trees: arrays)
    rw.save(model, tmp_path / "model")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=r"^[^\n]*BoostedThresholds[^\n]*$"):
        rw.load(tmp_path / "model")


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_damaged_arrays_are_refused_or_work(model, seed):
    """Numbers changed or moved: an error of ours, or trees that can be walked, explained and written."""
    rng = np.random.default_rng(seed)
    arrays = {name: array.copy() for name, array in model.trees_.to_plain().items()}
    for _ in range(rng.integers(1, 4)):
        name = str(rng.choice([name for name, array in arrays.items() if array.size]))
        array, at = arrays[name], rng.integers(arrays[name].size)
        moved, changed = array[rng.integers(array.size)], array[at] + np.int8(rng.choice([-1, 1]))
        array[at] = moved if rng.random() < 0.5 else changed
    try:
        trees = Trees.from_plain(arrays, N_COLUMNS)
    except ValueError:
        return
    X = model._rows(data(50)[0], reset=False)
    np.testing.assert_allclose(trees.scores(X), score_of(trees, X), rtol=1e-12)
    sums = trees.contributions(X).sum(axis=1) - trees.scores(X)
    np.testing.assert_allclose(sums, sums[0], atol=1e-9)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stages", np.zeros((2, 3))),
        ("stages", np.full((6, 3), np.nan)),
        ("stages", np.tile([3.0, 2.0, 1.0], (6, 1))),
        ("trees", np.zeros(10, dtype=np.uint8)),
        ("trees", np.full(10, 200, dtype=np.uint8)),
        ("trees", np.empty(0, dtype=np.uint8)),
        ("trees", {}),
        ("trees", None),
        ("losses", "none"),
        ("values", {"9": np.zeros(1)}),
        ("values", {"x": np.zeros(1)}),
        ("values", {"2": np.array([1.0, 1.0])}),
        ("columns", [{"name": "a", "kind": "odd"}]),
        ("columns", [1]),
        ("features", 0),
        ("features", 10**9),
        ("classes", 4),
    ],
)
def test_a_forged_part_is_refused(model, key, value):
    plain = {**model.to_plain(), key: value}
    with pytest.raises((ValueError, TypeError, AttributeError, KeyError)):
        rw.BoostedThresholds(**model.get_params()).from_plain(plain)


def test_a_file_is_the_model(model, tmp_path):
    X, _ = data()
    path = tmp_path / "model"
    rw.save(model, path, notes={"rows": 300})
    again = rw.load(path)
    assert bits_of(again) == bits_of(model)
    assert again.project(X).tobytes() == model.project(X).tobytes()
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    first = path.read_bytes()
    rw.save(again, path, notes={"rows": 300})
    assert path.read_bytes() == first
    assert json.dumps(rw.persistence.read_notes(path)) == '{"rows": 300}'


USED_WITHOUT = """
import sys
sys.modules["lightgbm"] = None
import numpy as np
import rankwise as rw
model = rw.load(sys.argv[1])
X = np.load(sys.argv[2])
np.save(sys.argv[2], model.predict_proba(X))
print(rw.explain(model, X).method, model.feature_importances_.shape, len(list(model.staged_predict(X))))
try:
    model.booster_
except ImportError as error:
    print(error)
"""


def test_a_file_is_used_without_lightgbm(model, tmp_path):
    X, _ = data()
    rw.save(model, tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    asked = [sys.executable, "-c", USED_WITHOUT, tmp_path / "model", tmp_path / "X.npy"]
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    assert said.startswith("trees (4,) 6\n")
    assert "rankwise[trees]" in said
    assert np.load(tmp_path / "X.npy").tobytes() == model.predict_proba(X).tobytes()
