"""Columns whose scales differ are named, with the cure."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise.base.row_data import far_scales, kernel_rows

LINEAR = [rw.PRIL(), rw.SVOR(alpha=0.1), rw.CumulativeLink(), rw.CuSumRank(), rw.MORD(alpha=0.1)]


@pytest.fixture
def data(rng):
    X = pd.DataFrame({"age": rng.normal(40, 10, 90), "share": rng.uniform(0, 0.01, 90), "flag": np.arange(90) % 2})
    return X.astype(float), np.digitize(X["age"], [35, 45])


@pytest.mark.parametrize("estimator", LINEAR, ids=lambda e: type(e).__name__)
def test_linear_models_name_the_columns_and_the_cure(estimator, data):
    X, y = data
    with pytest.warns(UserWarning, match=r"scales differ by a factor of .* column 'age', .* in 'share'.*put a scaler"):
        estimator.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(StandardScaler(), estimator).fit(X, y)
        rw.TableModel(estimator).fit(X, y)


def test_a_table_model_names_its_columns_and_its_own_encoder(data):
    model = rw.TableModel(rw.CumulativeLink(), rw.TableEncoder(numbers="linear", scaling="none"))
    with pytest.warns(UserWarning, match=r"column 'age', .* in 'share'.*TableEncoder\(scaling='standard'\)\.$"):
        model.fit(*data)


def test_maximum_likelihood_needs_no_scales(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rw.CumulativeLink(alpha=0).fit(X[["share", "flag"]].assign(big=1e6 * np.cos(np.arange(90))), y)


def test_kernels_need_no_word_here(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rw.KernelPRIL(budget=10, n_epochs=1).fit(*data)


def test_dense_and_sparse_rows_say_the_same(data):
    X = data[0].to_numpy()
    scales = [far_scales(kernel_rows(rows), 1e3) for rows in (X, sparse.csr_matrix(X))]
    assert scales[0][:3:2] == (0, 1)
    np.testing.assert_allclose(scales[0], scales[1])
    assert far_scales(X[:, [0, 2]], 1e3) is None
    assert far_scales(np.zeros((3, 2)), 1e3) is None
    rare = np.zeros((400, 2))
    rare[7, 0], rare[:, 1] = 1.0, 1.0
    assert far_scales(rare, 1e3) is None
