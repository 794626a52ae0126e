"""Bent numbers: the splines are scikit-learn's, the rule is the one that is stated, and files hold all of it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

import rankwise as rw
from rankwise import TableEncoder
from rankwise.features._bending import _decided


def frame(rng, n=60):
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.exponential(size=n), "few": rng.integers(0, 3, n)})


def test_splines_are_those_of_scikit_learn(rng):
    X = frame(rng)[["a", "b"]]
    new = frame(rng, 200)[["a", "b"]] * 3  # some of them outside of the range
    theirs = SplineTransformer(n_knots=5, knots="quantile").fit(X)
    scaler = StandardScaler().fit(theirs.transform(X))
    ours = TableEncoder(numbers="spline").fit(X)
    np.testing.assert_allclose(ours.transform(new), scaler.transform(theirs.transform(new)), atol=1e-9)
    unscaled = TableEncoder(numbers="spline", scaling="none").fit(X)
    np.testing.assert_allclose(unscaled.transform(X), theirs.transform(X), atol=1e-12)
    np.testing.assert_allclose(unscaled.transform(new).sum(axis=1), 2.0)


def test_products_are_those_of_scikit_learn(rng):
    X = frame(rng)
    encoder = TableEncoder(numbers="spline+products").fit(X)
    names = encoder.get_feature_names_out().tolist()
    pairs = ["a * b", "a * few", "b * few"]
    polynomials = PolynomialFeatures(2, interaction_only=True).fit_transform(StandardScaler().fit_transform(X))
    expected = StandardScaler().fit_transform(polynomials[:, -3:])
    np.testing.assert_allclose(encoder.transform(X)[:, [names.index(p) for p in pairs]], expected, atol=1e-9)


def test_names_are_readable_and_a_column_of_few_values_stays_as_it_is(rng):
    X = frame(rng)
    X["b"] = np.arange(60) / 59
    names = TableEncoder(numbers="spline").fit(X[["b", "few"]]).get_feature_names_out().tolist()
    assert names == [f"b near {v}" for v in ("-0.25", "0", "0.25", "0.5", "0.75", "1", "1.25")] + ["few"]


def test_many_equal_values_have_knots_among_the_others(rng):
    values = np.where(rng.random(500) < 0.8, 0.0, rng.exponential(size=500))
    encoder = TableEncoder(numbers="spline").fit(pd.DataFrame({"a": values}))
    assert encoder.n_features_out_ == 7
    assert np.isfinite(encoder.transform(pd.DataFrame({"a": [0.0, 1.0, np.nan, 99.0]}))).all()


def test_missing_values_count_as_the_filling(rng):
    X = frame(rng)
    encoder = TableEncoder(numbers="spline+products").fit(X)
    filled, missing = X.copy(), X.copy()
    missing.loc[3, "a"] = np.nan
    filled.loc[3, "a"] = X["a"].mean()
    np.testing.assert_allclose(encoder.transform(missing), encoder.transform(filled), atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "splines", "products", "expected"),
    [
        (299, 7, 0, "linear"),
        (300, 7, 0, "spline"),
        (500, 63, 3, "linear"),
        (504, 63, 3, "spline"),
        (1320, 63, 3, "spline+products"),
        (1319, 63, 3, "spline"),
        (10**6, 190, 20, "spline"),
    ],
)
def test_the_rule(rows, splines, products, expected):
    assert _decided(rows, splines, products) == expected


def test_auto_decides_and_says_so(rng):
    X = frame(rng, 400)[["a", "b"]]
    assert TableEncoder().fit(X[:200]).numbers_ == "linear"
    assert TableEncoder().fit(X).numbers_ == "spline+products"
    assert TableEncoder(stream=True).fit(X).numbers_ == "linear"
    wide = X.assign(c=[f"c{i % 90}" for i in range(400)])
    assert TableEncoder().fit(wide).numbers_ == "linear"


def test_a_curve_is_learnt(rng):
    X = pd.DataFrame({"a": rng.uniform(-2, 2, 600)})
    y = np.digitize(X["a"] ** 2 + rng.normal(0, 0.1, 600), [1, 2]) + 1
    errors = {
        numbers: -rw.TableModel(rw.SVOR(), TableEncoder(numbers=numbers)).fit(X[:400], y[:400]).score(X[400:], y[400:])
        for numbers in ("linear", "spline")
    }
    assert errors["spline"] < 0.15 < 0.5 < errors["linear"]


def test_kernels_get_numbers_as_they_are(rng):
    X, y = frame(rng, 400), rng.integers(0, 3, 400)
    assert rw.TableModel(rw.KernelPRIL(budget=10, n_epochs=1, random_state=0)).fit(X, y).encoder_.numbers_ == "linear"


@pytest.mark.parametrize("numbers", ["spline", "spline+products"])
def test_rows_do_not_depend_on_those_around_them_and_files_keep_all(numbers, rng, tmp_path):
    X = frame(rng, 300).assign(c=rng.choice(list("xyz"), 300))
    encoder = TableEncoder(numbers=numbers).fit(X)
    whole = encoder.transform(X)
    np.testing.assert_array_equal(np.vstack([encoder.transform(X[i : i + 7]) for i in range(0, 300, 7)]), whole)
    rw.save(encoder, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    np.testing.assert_array_equal(copy.transform(X), whole)
    assert copy.numbers_ == numbers
    assert copy.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain["columns"][0]["knots"].pop(),
        lambda plain: plain["columns"][0]["knots"].reverse(),
        lambda plain: plain["columns"][0]["spline_factor"].__setitem__(0, float("inf")),
        lambda plain: plain["columns"][0]["spline_factor"].__setitem__(0, 1e308),
        lambda plain: plain["columns"][0].update(knots="abcde"),
        lambda plain: plain["products"]["shift"].pop(),
        lambda plain: plain["products"].update(factor=None),
    ],
)
def test_forged_splines_are_refused(change, rng):
    plain = TableEncoder(numbers="spline+products").fit(frame(rng)).to_plain()
    change(plain)
    with pytest.raises((ValueError, TypeError)):
        TableEncoder().from_plain(plain)


def test_sparse_and_dense_say_the_same(rng):
    X = frame(rng, 300).assign(**{f"c{j}": [f"v{i % 90}" for i in range(300)] for j in range(3)})
    encoder = TableEncoder(numbers="spline").fit(X)
    matrix = encoder.transform(X)
    assert sparse.issparse(matrix)
    np.testing.assert_array_equal(matrix[:, :15].toarray(), TableEncoder(numbers="spline").fit_transform(X.iloc[:, :3]))


@pytest.mark.parametrize("numbers", ["spline", "spline+products"])
def test_numbers_that_cannot_bend_are_linear_before_and_after_saving(numbers):
    X = np.tile([[0.0], [1.0]], (10, 1))  # two values are too few for knots, and one column has no products
    encoder = TableEncoder(numbers=numbers).fit(X)
    copy = TableEncoder(numbers=numbers)
    copy.from_plain(encoder.to_plain())
    assert encoder.numbers_ == copy.numbers_ == "linear"
