"""Collinear columns and separable labels of maximum likelihood: two diagnoses, each with its remedy."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from rankwise import CumulativeLink

N = 400


def _drawn(seed=0):
    """A number and the three indicators of a category; the labels of a cumulative logit."""
    rng = np.random.default_rng(seed)
    number, level = rng.normal(size=N), rng.integers(3, size=N)
    X = np.column_stack([number, np.eye(3)[level]])
    y = np.digitize(number + np.array([0.0, 0.5, -0.5])[level] + rng.logistic(size=N), [-1.0, 0.0, 1.0])
    return X, y


def _warnings_of(X, y, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = CumulativeLink(alpha=0, **options).fit(X, y)
    return model, [(w.category, str(w.message)) for w in caught]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "loglog"])
def test_collinear_columns_are_not_called_separable(link, make):
    X, y = _drawn()
    model, found = _warnings_of(make(X), y, link=link)
    assert len(found) == 1
    category, message = found[0]
    assert category is UserWarning
    assert "columns of X are collinear: column 3 follows from columns 1, 2." in message
    assert "drop_first" in message
    assert "alpha > 0" in message
    assert "separable" not in message
    assert abs(model.coef_).max() < 3


def test_weights_of_collinear_columns_are_the_smallest_in_any_order_of_the_rows():
    X, y = _drawn()
    free = CumulativeLink(alpha=0).fit(X[:, :3], y)  # the third level is the reference
    order = np.random.default_rng(1).permutation(N)
    models = [_warnings_of(X[rows], y[rows])[0] for rows in (np.arange(N), order, order[::-1])]
    a, b = free.coef_[1:]
    expected = np.array([free.coef_[0], a, b, 0.0]) - np.array([0, 1, 1, 1]) * (a + b) / 3
    for model in models:
        np.testing.assert_allclose(model.coef_, expected, atol=1e-5)
        np.testing.assert_allclose(model.predict_proba(X), free.predict_proba(X[:, :3]), atol=1e-5)


def test_every_dependence_is_named():
    X, y = _drawn()
    X = np.column_stack([X[:, :3], np.full(N, 7.0), 2 * X[:, 0] - 3 * X[:, 1] + 1])
    _, found = _warnings_of(X, y)
    assert len(found) == 1
    assert "column 3 is constant; column 4 follows from columns 0, 1." in found[0][1]


def test_both_diagnoses_are_made():
    X, y = _drawn()
    X = np.column_stack([X, (y == 3) & (np.arange(N) % 3 == 0)])
    _, found = _warnings_of(X, y)
    assert [category for category, _ in found] == [UserWarning, ConvergenceWarning]
    assert "column 3 follows from columns 1, 2." in found[0][1]
    assert "separable by column 4:" in found[1][1]


def test_columns_far_from_zero_are_not_collinear():
    X, y = _drawn()
    X = np.column_stack([X[:, :3], 2e9 + 1e5 * np.random.default_rng(2).normal(size=N), 1e-9 * X[:, 0] ** 2])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has columns whose scales differ")
        CumulativeLink(alpha=0).fit(X, y)
        model = CumulativeLink(alpha=0).fit(X[:, :4], y)
        smaller = CumulativeLink(alpha=0).fit(X[:, :3], y)
    assert model.objective_ <= smaller.objective_ + 1e-5


def test_columns_are_judged_by_the_rows_with_labels():
    X, y = _drawn()
    y = y.astype(float)
    X[5, 1:] = 0.0  # the only row with none of the levels
    assert _warnings_of(X, y)[1] == []
    for unheard in ({"y": np.where(np.arange(N) == 5, np.nan, y)}, {"weight": np.arange(N) != 5}):
        with pytest.warns(UserWarning, match="column 3 follows from columns 1, 2"):
            CumulativeLink(alpha=0).fit(X, unheard.get("y", y), unheard.get("weight"))


def test_columns_of_a_wide_matrix_have_their_own_numbers():
    X, y = _drawn()
    wide = sparse.csr_matrix((N, 5000)).tolil()
    wide[:, [10, 2000, 4000]] = X[:, :3]
    wide[:, 4999] = X[:, 1] + X[:, 2]
    _, found = _warnings_of(sparse.csr_matrix(wide), y)
    assert "column 4999 follows from columns 2000, 4000." in found[0][1]


def test_a_model_with_a_penalty_says_nothing():
    X, y = _drawn()
    CumulativeLink(alpha=1e-3).fit(X, y)


def test_inference_names_what_is_not_identified():
    X, y = _drawn()
    model, _ = _warnings_of(X, y)
    with pytest.raises(
        ValueError, match=r"columns of X are collinear: column 3 follows from columns 1, 2\..*drop_first"
    ):
        model.inference(X, y)
    separable = np.column_stack([X[:, :3], (y == 3) & (np.arange(N) % 3 == 0)])
    model, _ = _warnings_of(separable, y)
    with pytest.raises(ValueError, match=r"the labels are separable by column 3, .*merge rare levels"):
        model.inference(separable, y)


def test_likelihood_ratios_count_the_rank():
    X, y = _drawn()
    model, _ = _warnings_of(X, y)
    free = CumulativeLink(alpha=0).fit(X[:, :3], y)
    expected = free.likelihood_ratio_test(X[:, :3], y, without=[1, 2])
    found = model.likelihood_ratio_test(X, y, without=[1, 2, 3])
    assert found.df == expected.df == 2
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-6)
    assert model.likelihood_ratio_test(X, y).df == 3
    assert model.likelihood_ratio_test(X, y, without=[0]).df == 1
    with pytest.raises(ValueError, match=r"column 3 follows from the others, so there is nothing to test"):
        model.likelihood_ratio_test(X, y, without=[3])
