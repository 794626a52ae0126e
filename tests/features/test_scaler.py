"""OnlineScaler: the mean and variance of all rows, in the same bits whatever the chunks, in pipelines and as dicts."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwise as rw
from rankwise import OnlineScaler


@parametrize_with_checks([OnlineScaler()])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(name="X")
def rows(rng):
    return rng.normal([0, 5, -1000, 3], [1, 100, 0.01, 0], size=(200, 4))


def test_is_the_scaler_of_scikit_learn(X):
    theirs, ours = StandardScaler().fit(X), OnlineScaler().fit(X)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-12)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.transform(X)[:, :3], theirs.transform(X)[:, :3], atol=1e-6)
    assert (ours.transform(X)[:, 3] == 0).all()


@pytest.mark.parametrize("size", [1, 7, 200])
def test_chunks_give_the_same_bits(X, size):
    whole, parts = OnlineScaler().fit(X), OnlineScaler()
    rows = np.vstack([parts.partial_fit_transform(X[i : i + size]) for i in range(0, 200, size)])
    np.testing.assert_array_equal(parts.mean_, whole.mean_)
    np.testing.assert_array_equal(parts.var_, whole.var_)
    np.testing.assert_array_equal(rows, OnlineScaler().partial_fit_transform(X))
    np.testing.assert_array_equal(rows[49], OnlineScaler().fit(X[:50]).transform(X[49:50])[0])


def test_dicts_give_the_same_bits_and_may_lack_features(X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    whole, one = OnlineScaler().fit(frame), OnlineScaler()
    for row in frame.to_dict("records"):
        one.learn_one(row)
    np.testing.assert_array_equal(one.mean_, whole.mean_)
    np.testing.assert_array_equal(one.var_, whole.var_)
    assert list(one.transform_one({"b": 1.0, "new": 3.0}).values()) == [
        float((1.0 - whole.mean_[1]) / whole.scale_[1]), 0.0,
    ]  # fmt: skip
    before = one.mean_.copy()
    one.learn_one({"e": 7.0})
    np.testing.assert_array_equal(one.mean_, [*before, 7.0])
    with pytest.raises(ValueError, match="features must be finite numbers"):
        one.learn_one({"a": float("nan")})


def test_scales_can_be_frozen(X):
    frozen = OnlineScaler(frozen_after=50).fit(X)
    np.testing.assert_array_equal(frozen.mean_, OnlineScaler().fit(X[:50]).mean_)


@pytest.mark.parametrize("size", [1, 13, 200])
def test_a_pipeline_that_learns_on(X, size, rng, tmp_path):
    y = np.digitize(X[:, 1], [-50, 50]) + 1
    whole, parts = (rw.TableModel(rw.PRIL(classes=[1, 2, 3]), OnlineScaler()) for _ in range(2))
    whole.partial_fit(X, y)
    for i in range(0, 200, size):
        parts.partial_fit(X[i : i + size], y[i : i + size])
    np.testing.assert_array_equal(parts.estimator_.coef_, whole.estimator_.coef_)
    rw.save(parts, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    np.testing.assert_array_equal(copy.predict(X), parts.predict(X))
    mean = copy.encoder_.mean_.copy()
    with pytest.raises(ValueError, match="not one of the classes"):
        copy.partial_fit(X, np.full(200, 9))
    np.testing.assert_array_equal(copy.encoder_.mean_, mean)
    assert (whole.predict(X) == y).mean() > 0.6
    unscaled = rw.PRIL(classes=[1, 2, 3]).partial_fit(X, y)
    assert (unscaled.predict(X) == y).mean() < (whole.predict(X) == y).mean()


def test_sparse_rows_are_refused():
    with pytest.raises(TypeError, match="OnlineScaler needs dense rows"):
        OnlineScaler().fit(sparse.eye(3))


def test_forged_files_are_refused(X):
    for change in (dict(mean=np.zeros(3)), dict(squares=-np.ones(4)), dict(counts=np.ones(4)), dict(features=0)):
        plain = OnlineScaler().fit(X).to_plain() | change
        with pytest.raises(ValueError, match=r"must|array|features"):
            OnlineScaler().from_plain(plain)


def test_a_number_of_rows_that_never_comes_is_like_none():
    X = np.arange(6.0).reshape(3, 2)
    late, never = OnlineScaler(frozen_after=10**30).fit(X), OnlineScaler().fit(X)
    np.testing.assert_array_equal(late.transform(X), never.transform(X))


def test_a_text_in_a_row_is_a_value_error():
    scaler = OnlineScaler().learn_one({"a": 1.0})
    for method in (scaler.learn_one, scaler.transform_one):
        with pytest.raises(ValueError, match="could not convert string to float: 'x'"):
            method({"a": "x"})
