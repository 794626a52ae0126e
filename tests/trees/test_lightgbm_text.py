"""LightGBM's text of trees, which files of version 0.1 hold: it is read, or refused in one line."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwise as rw
from rankwise.persistence import ModelFileError
from rankwise.trees._lightgbm_text import text_of_trees, trees_of_text
from rankwise.trees.arrays import Trees
from tests.trees.bits import bits_of
from tests.trees.test_arrays import N_COLUMNS, data, model, score_of

__all__ = ["model"]  # a fixture


@pytest.fixture(scope="module")
def text(model):
    return text_of_trees(model.trees_, N_COLUMNS)


def write_as_before(model, text, path):
    """Write a file as version 0.1 did."""

    class Before:
        def to_plain(self):
            return np.frombuffer(text.encode(), dtype=np.uint8)

    before = model._twin()
    before.trees_ = Before()
    rw.save(before, path)


FORGED = {
    "a child that points back": (r"left_child=\S+", "left_child=0"),
    "a leaf that is not there": (r"right_child=\S+", "right_child=-99"),
    "a column that is not there": (r"split_feature=\S+", "split_feature=99999"),
    "a negative column": (r"split_feature=\S+", "split_feature=-1"),
    "very many leaves": (r"num_leaves=\d+", "num_leaves=2000000000"),
    "more than there are": (r"num_leaves=\d+", f"num_leaves={10**30}"),
    "fewer leaves": (r"num_leaves=\d+", "num_leaves=2"),
    "no number": (r"leaf_value=\S+", "leaf_value=zero"),
    "NaN": (r"leaf_value=\S+", "leaf_value=nan"),
    "infinity": (r"leaf_value=\S+", "leaf_value=inf"),
    "another decision": (r"decision_type=\S+", "decision_type=255"),
    "zero as missing": (r"decision_type=\S+", "decision_type=4"),
    "linear leaves": ("is_linear=0", "is_linear=1"),
    "far categories": (r"cat_boundaries=0 \S+", "cat_boundaries=0 900000000"),
    "another number of columns": (r"max_feature_idx=\d+", "max_feature_idx=2147483647"),
    "averages": (r"label_index=0", "label_index=0\naverage_output"),
    "a line missing": (r"split_gain=.*\n", ""),
    "no end": ("end of trees\n", ""),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_file_of_before_is_refused(model, text, tmp_path, what):
    forged = re.sub(*FORGED[what], text, count=1)
    assert forged != text
    write_as_before(model, forged, tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"^[^\n]*BoostedThresholds[^\n]*$"):
        rw.load(tmp_path / "model")


def test_a_file_of_before_is_the_model(model, text, tmp_path):
    write_as_before(model, text, tmp_path / "model")
    assert bits_of(rw.load(tmp_path / "model")) == bits_of(model)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_damaged_text_is_refused_or_works(model, text, seed):
    """Bytes changed, dropped, doubled or moved: an error of ours, or trees that can be walked."""
    rng = np.random.default_rng(seed)
    for _ in range(rng.integers(1, 4)):
        a, b = sorted(rng.integers(0, len(text), 2).tolist())
        b = min(b, a + int(rng.integers(1, 40)))
        kind = rng.integers(5)
        piece = "".join(rng.choice(list("0123456789-.=eE \nTrelfint"), b - a))
        text = text[:a] + (piece, "", text[a:b] * 2, text[a:b][::-1], piece[:1])[kind] + text[b:]
    try:
        trees = Trees.from_plain(trees_of_text(text, N_COLUMNS).to_plain(), N_COLUMNS)
    except ValueError:
        return
    X = model._rows(data(50)[0], reset=False)
    np.testing.assert_allclose(trees.scores(X), score_of(trees, X), rtol=1e-12)
