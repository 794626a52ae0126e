"""The test of parallel lines: against a plain version, on collinear columns, with weights, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import rankwise as rw
from rankwise.explanations import parallel_lines
from tests.reference.parallel_lines import brant


def drawn(seed, n=600):
    """A number and a category of three, and classes of a cumulative logit."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"size": rng.normal(size=n), "colour": rng.choice(["a", "b", "c"], n, p=[0.3, 0.5, 0.2])})
    score = table["size"] + table["colour"].map({"a": 0.0, "b": 0.5, "c": -0.5})
    return table, np.digitize(score + rng.logistic(size=n), [-1.0, 0.3, 1.5]) + 1


def model_of(table, y, alpha=0.0, **encoding):
    encoder = rw.TableEncoder(numbers="linear", scaling="none", **encoding)
    return rw.TableModel(rw.CumulativeLink(alpha=alpha), encoder).fit(table, y)


@pytest.mark.parametrize("intervals", [False, True])
def test_it_is_brants_test(intervals):
    table, y = drawn(0)
    lower = upper = y - 1
    if intervals:
        upper = np.where(np.arange(600) % 3 == 0, np.minimum(y, 3), upper)
    weight = np.tile([1.0, 2.0, 3.0, 0.5], 150)
    labels = np.column_stack([lower, upper]) + 1
    model = model_of(table, labels)
    found = parallel_lines(model, table, labels, weight)
    X = np.column_stack([table["size"], table["colour"] == "a", table["colour"] == "c"]).astype(float)
    coef, (statistic, df, p_all), p = brant(X, lower, upper, weight, 4)
    assert found.columns == ["size", "colour=a", "colour=c"]
    np.testing.assert_allclose(found.coef, coef, rtol=1e-6, atol=1e-8)
    assert found.statistic == pytest.approx(statistic, rel=1e-6)
    assert (found.df, df) == (6, 6)
    assert found.p_all == pytest.approx(p_all, rel=1e-6)
    np.testing.assert_allclose(found.p, p, rtol=1e-6)


def test_a_row_of_weight_two_is_two_rows():
    table, y = drawn(1, 300)
    times = np.tile([1, 2, 3], 100)
    rows = np.repeat(np.arange(300), times)
    weighted = parallel_lines(model_of(table, y), table, y, times)
    repeated = parallel_lines(model_of(table, y), table.iloc[rows], y[rows])
    assert weighted.statistic == pytest.approx(repeated.statistic, rel=1e-6)
    np.testing.assert_allclose(weighted.std_err, repeated.std_err, rtol=1e-6)


def test_models_that_hold_are_not_rejected_whatever_the_coding():
    """Ten data sets of 1,500 rows, with a number and a category of three."""
    p = []
    for seed in range(10):
        table, y = drawn(seed, 1500)
        free = parallel_lines(model_of(table, y), table, y)
        for model in (model_of(table, y, 1e-3), model_of(table, y, 1e-3, drop_first=True)):
            found = parallel_lines(model, table, y)
            assert found.statistic == pytest.approx(free.statistic, rel=1e-5)
            assert found.df == free.df == 6
        with pytest.warns(UserWarning, match="collinear: 'colour=c' follows from 'colour=a', 'colour=b'"):
            every = model_of(table, y, drop_first=False)
        found = parallel_lines(every, table, y)
        assert found.statistic == pytest.approx(free.statistic, rel=1e-5)
        assert found.columns == ["size", "colour=a", "colour=b"]
        assert found.left_out == ["colour=c"]
        assert np.isfinite(found.p).all()
        p.append(found.p_all)
    # Uniform: the probability that Kolmogorov's distance is this large is 1 %, and none is extreme.
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert min(p) > 0.001


def test_splines_count_as_the_curve_that_they_make():
    """Weights of single splines rest on a few rows at the ends: testing each of them rejected half of what holds."""
    table, y = drawn(4, 800)
    table = table.assign(other=np.random.default_rng(5).normal(size=800))
    rejected = 0
    for numbers, columns in (("spline", ["size", "other"]), ("spline+products", ["size", "other", "products"])):
        model = rw.TableModel(rw.CumulativeLink(alpha=0), rw.TableEncoder(numbers=numbers)).fit(table, y)
        found = parallel_lines(model, table, y)
        assert found.columns == [*columns, "colour=a", "colour=c"]
        assert found.df == 2 * len(found.columns)
        curve = model.encoder_.transform(table)[:, :6] @ model.estimator_.coef_[:6]
        X = np.column_stack([curve, table["colour"] == "a", table["colour"] == "c"]).astype(float)
        rejected += found.p_all < 0.01
    assert rejected == 0
    assert brant(X, y - 1, y - 1, np.ones(800), 4)[0][:, 0] == pytest.approx(found.coef[:, 0], rel=0.2)


def test_columns_that_follow_from_others_or_are_constant_are_left_out():
    table, y = drawn(2)
    X = np.column_stack([table["size"], np.full(600, 3.0), 2 - 5 * table["size"], table["colour"] == "a"])
    model = rw.CumulativeLink(alpha=1e-3).fit(X, y)
    found = parallel_lines(model, X, y)
    assert (found.columns, found.left_out, found.df) == (["x0", "x3"], ["x1", "x2"], 4)
    with pytest.raises(ValueError, match="no column varies"):
        parallel_lines(rw.CumulativeLink().fit(X[:, [1]], y), X[:, [1]], y)


def test_what_is_not_identified_at_a_threshold_is_refused_by_name():
    table, y = drawn(3)
    rare = np.where((y == 4) & (np.arange(600) % 4 == 0), "rare", table["colour"])
    table = table.assign(colour=rare)
    model = model_of(table, y, 1e-3, drop_first=True)
    with pytest.raises(ValueError, match=r"above 1: the labels are separable by 'colour=rare'.*min_category_rows"):
        parallel_lines(model, table, y)
    labels = np.column_stack([y, y])
    labels[rare == "rare"] = 1, 2
    with pytest.raises(ValueError, match=r"above 1: columns of X are collinear: 'colour=rare' is constant"):
        parallel_lines(model, table, labels)
