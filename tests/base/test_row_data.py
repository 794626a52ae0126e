"""Rows on their way into a kernel: few entries are converted, many are read as they are, with the same result."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from rankwise import PRIL, CumulativeLink
from rankwise.base import row_data
from rankwise.base.row_data import kernel_rows
from tests.online.test_online import ESTIMATORS
from tests.streams import make_stream

ALL = [CumulativeLink(), *ESTIMATORS]
QUICK = {str(PRIL()), str(CumulativeLink())}


def _wide(X, dtype=np.float64):
    X = sparse.csr_matrix(X, dtype=dtype)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("few", [0, 100])
def test_few_entries_have_the_types_of_the_kernels_that_are_there(monkeypatch, few):
    monkeypatch.setattr(row_data, "_FEW", few)
    X = np.eye(5)[:, :4].astype(np.float32)
    dense, (data, indices, indptr) = kernel_rows(X), kernel_rows(_wide(X, np.float32))
    assert dense.dtype == data.dtype == (np.float64 if few else np.float32)
    assert indices.dtype == indptr.dtype == (np.int32 if few else np.int64)
    np.testing.assert_array_equal(dense, X)
    np.testing.assert_array_equal(sparse.csr_matrix((data, indices, indptr), X.shape).toarray(), X)


def test_numbers_of_columns_that_are_wide_stay_so():
    X = sparse.csr_matrix((np.ones(1), np.array([2**40]), np.array([0, 1])), shape=(1, 2**40 + 1))
    assert kernel_rows(X)[1].tolist() == [2**40]


def test_what_kernels_are_compiled_for_is_not_copied():
    X = np.eye(3)
    assert np.shares_memory(kernel_rows(X), X)
    S = sparse.csr_matrix(X)
    assert all(map(np.shares_memory, kernel_rows(S), (S.data, S.indices, S.indptr)))


@pytest.mark.parametrize(
    "estimator", [pytest.param(e, marks=() if str(e) in QUICK else pytest.mark.slow) for e in ALL], ids=str
)
def test_kernels_read_single_precision_and_wide_indices_as_they_are(monkeypatch, estimator):
    stream = make_stream(11, n=60, n_classes=4, exact=1.0)
    model = clone(estimator).set_params(classes=[0, 1, 2, 3])
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    X = stream.X.astype(np.float32)
    plain = clone(model).fit(X, stream.lower)
    expected = plain.predict(X)
    monkeypatch.setattr(row_data, "_FEW", 0)
    for other in (X, _wide(X), sparse.csr_matrix(X)):
        same = clone(model).fit(other, stream.lower)
        np.testing.assert_array_equal(same.predict(other), expected)
        np.testing.assert_allclose(same.decision_function(other), plain.decision_function(X), rtol=1e-6, atol=1e-6)
