"""Standard errors, likelihood ratios and effective sample sizes of cumulative links."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.linalg import inv
from sklearn.exceptions import ConvergenceWarning

from rankwise import CumulativeLink, load, save
from rankwise.risks.links import LINKS
from tests.reference.cumulative_link import objective

each_link = pytest.mark.parametrize("link", LINKS)
K = 4


def _data(intervals, n=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) * [1.0, 2.0, 0.5]
    y = np.digitize(X @ [1.0, -0.5, 0.0] + rng.logistic(size=n), [-1.5, 0.0, 1.0])
    lower, upper = y.copy(), y.copy()
    if intervals:
        lower, upper = np.maximum(y - (rng.random(n) < 0.4), 0), np.minimum(y + (rng.random(n) < 0.4), K - 1)
    return X, lower, upper


def _differences(function, theta, step=1e-4):
    units = step * np.eye(theta.size)
    return np.array(
        [
            [
                (function(theta + u + v) - function(theta + u - v) - function(theta - u + v) + function(theta - u - v))
                for u in units
            ]
            for v in units
        ]
    ) / (4 * step**2)


@each_link
@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize("alpha", [0.0, pytest.param(0.05, marks=pytest.mark.slow)])
def test_standard_errors_are_those_of_a_numerical_hessian(link, intervals, alpha):
    X, lower, upper = _data(intervals)
    weight = np.tile([1.0, 2.0], 200)
    y = np.column_stack([lower, upper])
    model = CumulativeLink(link, alpha=alpha, tol=1e-10).fit(X, y, weight)
    table = model.inference(X, y, weight)
    told = weight * ((lower > 0) | (upper < K - 1))
    theta = np.concatenate([model.coef_, model.thresholds_])

    def total(theta):
        return told.sum() * objective(link, theta[:3], theta[3:], X, lower, upper, weight, alpha)

    covariance = inv(_differences(total, theta))
    np.testing.assert_allclose(table["std_err"], np.sqrt(np.diag(covariance)), rtol=1e-4)
    # The sandwich, from the slopes of every row by differences.
    units = 1e-5 * np.eye(6)
    rows = [(X[i : i + 1], lower[i : i + 1], upper[i : i + 1], np.ones(1), 0.0) for i in np.flatnonzero(told)]
    sides = [
        [[objective(link, *np.split(theta + sign * u, [3]), *row) for u in units] for row in rows] for sign in (1, -1)
    ]
    slopes = np.subtract(*sides) / 2e-5
    meat = slopes.T @ (slopes * told[told > 0][:, None])
    np.testing.assert_allclose(table["robust_std_err"], np.sqrt(np.diag(covariance @ meat @ covariance)), rtol=1e-3)
    np.testing.assert_allclose(table["coef"], theta)
    np.testing.assert_allclose(table["z"], table["coef"] / table["std_err"])
    np.testing.assert_allclose(table["p"], 2 * stats.norm.sf(abs(table["z"])))
    np.testing.assert_allclose(table["upper"] - table["coef"], stats.norm.ppf(0.975) * table["std_err"])


def test_the_table_names_features_and_thresholds():
    X, lower, _ = _data(False)
    frame = pd.DataFrame(X, columns=["age", "dose", "noise"])
    words = np.array(["none", "mild", "bad", "worst"])
    model = CumulativeLink(alpha=0, classes=words.tolist()).fit(frame, words[lower])
    table = model.inference(frame, words[lower])
    assert table.index.tolist() == ["age", "dose", "noise", "none|mild", "mild|bad", "bad|worst"]
    expected = ["coef", "std_err", "robust_std_err", "z", "p", "lower", "upper", "odds_ratio"]
    assert table.columns.tolist() == expected
    np.testing.assert_allclose(table["odds_ratio"].iloc[:3], np.exp(model.coef_))
    assert table["odds_ratio"].iloc[3:].isna().all()
    assert table.loc["age", "p"] < 1e-6 < table.loc["noise", "p"]
    narrow = model.inference(frame, words[lower], level=0.5)
    assert (narrow["upper"] < table["upper"]).all()


def test_thresholds_that_labels_do_not_determine_have_no_error():
    X, lower, _ = _data(False)
    y = np.column_stack([lower, lower])
    y[lower >= 2] = 2, 3
    with pytest.warns(UserWarning, match="cannot tell these classes apart: 2, 3"):
        model = CumulativeLink(classes=range(K)).fit(X, y)
    errors = model.inference(X, y)["std_err"]
    np.testing.assert_array_equal(errors.isna(), [False] * 5 + [True])


def test_inference_says_why_it_cannot_be():
    X, lower, _ = _data(False)
    model = CumulativeLink(alpha=0).fit(X, lower)
    with pytest.warns(UserWarning, match="column 3 follows from column 0"):
        twice = CumulativeLink(alpha=0).fit(np.column_stack([X, X[:, 0]]), lower)
    with pytest.raises(ValueError, match=r"column 3 follows from column 0.*alpha > 0"):
        twice.inference(np.column_stack([X, X[:, 0]]), lower)
    with pytest.raises(ValueError, match=r"row 2: the candidate set .* has gaps; standard errors need intervals"):
        model.inference(X[:3], [0, 1, {0, 2}])
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        model.inference(X, lower, level=95)
    with pytest.raises(ValueError, match=r"needs a fit with alpha=0. It has alpha=0.1"):
        CumulativeLink(alpha=0.1).fit(X, lower).likelihood_ratio_test(X, lower)
    with pytest.raises(ValueError, match=r"without must be columns of X: 0, 1, 2\. Got 'age' instead"):
        model.likelihood_ratio_test(X, lower, without=["age"])


@pytest.mark.parametrize("intervals", [False, True])
def test_the_likelihood_ratio_is_that_of_two_fits(intervals):
    X, lower, upper = _data(intervals)
    y = np.column_stack([lower, upper])
    model = CumulativeLink(alpha=0).fit(X, y)
    found = model.likelihood_ratio_test(X, y, without=[1])
    smaller = CumulativeLink(alpha=0).fit(X[:, [0, 2]], y)
    rows = ((lower > 0) | (upper < K - 1)).sum()
    assert found.statistic == pytest.approx(2 * rows * (smaller.objective_ - model.objective_), rel=1e-6)
    assert found.df == 1
    assert found.p == pytest.approx(stats.chi2.sf(found.statistic, 1))
    noise, everything = (model.likelihood_ratio_test(X, y, without=columns) for columns in ([2], None))
    assert noise.p > 0.001 > everything.p
    assert everything.df == 3


@each_link
def test_imprecise_rows_are_worth_less_than_exact_ones_and_more_than_none(link):
    X, lower, upper = _data(True)
    exact, y = np.column_stack([lower, lower]), np.column_stack([lower, upper])
    model = CumulativeLink(link, alpha=0).fit(X, y)
    assert model.effective_sample_size(X, exact) == pytest.approx(400)
    worth = model.effective_sample_size(X, y)
    assert (lower == upper).sum() < worth < 400
    wide = np.column_stack([np.maximum(lower - 1, 0), np.minimum(upper + 1, K - 1)])
    assert model.effective_sample_size(X, wide) < worth
    assert model.effective_sample_size(X, y, np.full(400, 2.0)) == pytest.approx(2 * worth)


@each_link
def test_imprecise_rows_of_zeros_are_worth_as_much_as_very_short_ones(link):
    X, lower, upper = _data(True)
    y = np.column_stack([lower, upper])
    imprecise = lower < upper
    model = CumulativeLink(link, alpha=0).fit(X, y)
    short = model.effective_sample_size(np.where(imprecise[:, None], 1e-9, X), y)
    assert model.effective_sample_size(np.where(imprecise[:, None], 0.0, X), y) == pytest.approx(short)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_standard_errors_and_likelihood_are_those_of_statsmodels(link):
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    X, lower, _ = _data(False)
    theirs = ordinal.OrderedModel(lower, X, distr=link).fit(method="bfgs", maxiter=1000, gtol=1e-8, disp=False)
    model = CumulativeLink(link, alpha=0).fit(X, lower)
    table = model.inference(X, lower)
    np.testing.assert_allclose(model.coef_, theirs.params[:3], rtol=1e-4)
    np.testing.assert_allclose(table["std_err"][:3], theirs.bse[:3], rtol=1e-4)
    assert model.objective_ == pytest.approx(-theirs.llf / len(lower), abs=1e-6)


def test_a_maximum_likelihood_model_is_read_from_its_file(tmp_path):
    X, lower, _ = _data(False)
    model = CumulativeLink(alpha=0).fit(X, lower)
    save(model, tmp_path / "model.rankwise")
    again = load(tmp_path / "model.rankwise")
    assert np.isnan(again.gap_)
    assert again.inference(X, lower).equals(model.inference(X, lower))


def _far_scales(n=400):
    """Columns as tables have them: a year, an income."""
    rng = np.random.default_rng(0)
    year, income = rng.integers(2000, 2020, n), rng.normal(40000, 10000, n).round()
    score = 0.1 * (year - 2010) + (income - 40000) / 1e4
    return np.column_stack([year, income]), np.digitize(score + rng.logistic(size=n), [-1.0, 0.5, 2.0])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@each_link
def test_maximum_likelihood_does_not_depend_on_centre_and_scale(link, make):
    X, y = _far_scales()
    scale = X.std(axis=0)
    plain = CumulativeLink(link, alpha=0).fit(make(X), y)
    scaled = CumulativeLink(link, alpha=0).fit((X - X.mean(axis=0)) / scale, y)
    tiny = CumulativeLink(link, alpha=0).fit(make(1e-13 * X), y)
    assert plain.objective_ == pytest.approx(scaled.objective_, rel=1e-10)
    np.testing.assert_allclose(plain.coef_ * scale, scaled.coef_, rtol=1e-5)
    np.testing.assert_allclose(1e-13 * tiny.coef_, plain.coef_, rtol=1e-5)
    found, expected = plain.inference(make(X), y), scaled.inference((X - X.mean(axis=0)) / scale, y)
    np.testing.assert_allclose(found["z"].iloc[:2], expected["z"].iloc[:2], rtol=1e-4)
    assert plain.likelihood_ratio_test(make(X), y, [0]).statistic == pytest.approx(
        scaled.likelihood_ratio_test((X - X.mean(axis=0)) / scale, y, [0]).statistic, rel=1e-6
    )


def test_the_maximum_in_many_columns_does_not_depend_on_centre_and_scale():
    X, y = _far_scales(2000)
    X = np.column_stack([X, np.random.default_rng(1).normal(size=(2000, 310))])  # too many for Newton's steps
    plain, scaled = (CumulativeLink(alpha=0).fit(Z, y) for Z in (X, (X - X.mean(axis=0)) / X.std(axis=0)))
    assert plain.objective_ == pytest.approx(scaled.objective_, rel=1e-9)
    np.testing.assert_allclose(
        plain.predict_proba(X[:9]), scaled.predict_proba(((X - X.mean(0)) / X.std(0))[:9]), atol=1e-5
    )
    assert plain.inference(X, y)["p"].iloc[0] < 1e-10


@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_inference_refuses_what_the_model_was_not_fitted_to(alpha):
    X, lower, upper = _data(True)
    y, weight = np.column_stack([lower, upper]).astype(float), np.tile([1.0, 2.0], 200)
    model = CumulativeLink(alpha=alpha).fit(X, y, weight)
    asked = [model.inference] + [model.likelihood_ratio_test] * (alpha == 0.0)
    others = [(X, y, None), (X[:300], y[:300], weight[:300]), (X, y[::-1], weight), (X + 0.1, y, weight)]
    for ask in asked:
        for other in others:
            with pytest.raises(ValueError, match="not the rows, labels and weights of the fit, or the fit stopped"):
                ask(*other[:2], sample_weight=other[2])
        # The unit of weights, and rows that say nothing, do not matter.
        expected = ask(X, y, sample_weight=weight)
        unheard = np.full((50, 2), np.nan), np.zeros((50, 2))
        found = ask(
            np.vstack([X, X[:100]]), np.vstack([y, *unheard]),
            sample_weight=np.concatenate([weight, np.ones(50), np.zeros(50)]),
        )  # fmt: skip
        np.testing.assert_allclose(np.asarray(found, dtype=float), np.asarray(expected, dtype=float), rtol=1e-6)
        ask(X, y, sample_weight=10 * weight)


def test_inference_refuses_a_fit_that_stopped_early():
    X, lower, _ = _data(False)
    with pytest.warns(ConvergenceWarning):
        model = CumulativeLink(alpha=0, max_iter=1).fit(X, lower)
    for ask in (model.inference, model.likelihood_ratio_test):
        with pytest.raises(ValueError, match=r"stopped before its maximum \(max_iter=1\)"):
            ask(X, lower)
