"""LightGBM's text of a model: what it writes is read, and nothing else reaches LightGBM."""

import json
import re

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwise as rw
from rankwise.persistence import ModelFileError
from rankwise.trees._model_text import END, read_trees, without_trees

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


def score_of(trees, X):
    """Score by the arrays alone, row by row."""
    scores = np.zeros(len(X))
    for i, x in enumerate(X):
        for tree in trees:
            node = 0 if tree.feature.size else -1
            while node >= 0:
                value, chosen = x[tree.feature[node]], tree.categories[node]
                if chosen is not None:
                    left = not np.isnan(value) and value in chosen
                elif np.isnan(value) and not tree.nan_as_zero[node]:
                    left = tree.missing_left[node]
                else:
                    left = np.nan_to_num(value) <= tree.threshold[node]
                node = tree.left[node] if left else tree.right[node]
            scores[i] += tree.value[-node - 1]
    return scores


def test_the_arrays_say_what_lightgbm_says(model):
    X, _ = data()
    trees = read_trees(model._text, N_COLUMNS)
    assert any(chosen is not None for tree in trees for chosen in tree.categories)
    coded = model._rows(X, reset=False)
    np.testing.assert_allclose(score_of(trees, coded), model.project(X), rtol=1e-12)


def test_one_leaf_that_adds_nothing():
    trees = lightgbm.Booster(model_str=without_trees(3))
    assert trees.num_trees() == 1
    assert (trees.predict(np.ones((2, 3))) == 0).all()


def with_size(text):
    """The text with the sizes that its trees have."""
    head, rest = text.split("\n\n", 1)
    blocks = re.split(r"(?=^Tree=)", rest.removesuffix(END), flags=re.MULTILINE)
    sizes = " ".join(str(len(block)) for block in blocks if block)
    return re.sub(r"tree_sizes=.*", f"tree_sizes={sizes}", head) + "\n\n" + rest


FORGED = {
    "a child that points back": (r"left_child=\S+", "left_child=0"),
    "a leaf that is not there": (r"right_child=\S+", "right_child=-99"),
    "a column that is not there": (r"split_feature=\S+", "split_feature=99999"),
    "a negative column": (r"split_feature=\S+", "split_feature=-1"),
    "very many leaves": (r"num_leaves=\d+", "num_leaves=2000000000"),
    "fewer leaves": (r"num_leaves=\d+", "num_leaves=2"),
    "no number": (r"leaf_value=\S+", "leaf_value=zero"),
    "NaN": (r"leaf_value=\S+", "leaf_value=nan"),
    "infinity": (r"leaf_value=\S+", "leaf_value=inf"),
    "another decision": (r"decision_type=\S+", "decision_type=255"),
    "zero as missing": (r"decision_type=\S+", "decision_type=4"),
    "linear leaves": ("is_linear=0", "is_linear=1"),
    "far categories": (r"cat_boundaries=0 \S+", "cat_boundaries=0 900000000"),
    "an unknown line": (r"is_linear=0", "is_linear=0\nleaf_const=1"),
    "another number of columns": (r"max_feature_idx=\d+", "max_feature_idx=2147483647"),
    "several classes": (r"num_class=1", "num_class=1000000"),
    "another order": (r"num_cat=(\d+)\n(split_feature=.*)\n", r"\2\nnum_cat=\1\n"),
    "averages": (r"label_index=0", "label_index=0\naverage_output"),
    "names": (r"feature_names=\S+", "feature_names=odd"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_text_is_refused(model, what):
    pattern, put = FORGED[what]
    text = with_size(re.sub(pattern, put, model._text, count=1))
    assert text != model._text
    with pytest.raises(ValueError, match=r"."):
        read_trees(text, N_COLUMNS)


def test_sizes_must_be_those_of_the_text(model):
    text = re.sub(r"tree_sizes=\d+", "tree_sizes=1", model._text, count=1)
    with pytest.raises(ValueError, match="sizes"):
        read_trees(text, N_COLUMNS)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_damaged_text_is_refused_or_works(model, seed):
    """Bytes changed, dropped, doubled or moved: an error of ours, or trees that predict as their arrays say."""
    rng = np.random.default_rng(seed)
    text = model._text
    for _ in range(rng.integers(1, 4)):
        a, b = sorted(rng.integers(0, len(text), 2).tolist())
        b = min(b, a + int(rng.integers(1, 40)))
        kind = rng.integers(5)
        piece = "".join(rng.choice(list("0123456789-.=eE \nTrelfint"), b - a))
        put = (piece, "", text[a:b] * 2, text[a:b][::-1], piece[:1])[kind]
        text = text[:a] + put + text[b:]
    if rng.random() < 0.7:
        try:
            text = with_size(text)
        except ValueError:
            return
    try:
        trees = read_trees(text, N_COLUMNS)
    except ValueError:
        return
    X = np.nan_to_num(data(50)[0])
    found = lightgbm.Booster(model_str=text).predict(X, raw_score=True)
    np.testing.assert_allclose(found, score_of(trees, X), rtol=1e-9, atol=1e-300)


def test_a_forged_file_is_refused(model, tmp_path):
    """The checksum fits: the text itself must tell."""
    path = tmp_path / "model"
    for what, (pattern, put) in FORGED.items():
        forged = model._twin()
        forged._text = with_size(re.sub(pattern, put, model._text, count=1))
        rw.save(forged, path)
        with pytest.raises(ModelFileError, match="BoostedThresholds"):
            rw.load(path)
        assert what


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stages", np.zeros((2, 3))),
        ("stages", np.full((6, 3), np.nan)),
        ("stages", np.tile([3.0, 2.0, 1.0], (6, 1))),
        ("trees", np.zeros(10, dtype=np.uint8)),
        ("trees", np.full(10, 200, dtype=np.uint8)),
        ("trees", np.empty(0, dtype=np.uint8)),
        ("losses", "none"),
        ("values", {"9": np.zeros(1)}),
        ("values", {"x": np.zeros(1)}),
        ("values", {"2": np.array([1.0, 1.0])}),
        ("columns", [{"name": "a", "kind": "odd"}]),
        ("columns", [1]),
        ("features", 0),
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
    assert again.project(X).tobytes() == model.project(X).tobytes()
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    first = path.read_bytes()
    rw.save(again, path, notes={"rows": 300})
    assert path.read_bytes() == first
    assert json.dumps(rw.persistence.read_notes(path)) == '{"rows": 300}'
