"""Row operations: compiled = plain Python, dense = CSR, to the bit."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numba import njit
from scipy import sparse

from rankwise._kernels import rows
from rankwise._kernels.sparse import require_sound
from rankwise.base.row_data import kernel_rows


@njit
def _dot(X, i, w):
    return rows.dot(X, i, w)


@njit
def _dot_lagged(X, i, w, lag, rate):
    return rows.dot_lagged(X, i, w, lag, rate)


@njit
def _squared_norm(X, i):
    return rows.squared_norm(X, i)


@njit
def _axpy_lagged(X, i, a, rounds, w, lag):
    rows.axpy_lagged(X, i, a, rounds, w, lag)


@njit
def _dots_lagged(X, i, W, lag, rate, out):
    rows.dots_lagged(X, i, W, lag, rate, out)


@njit
def _axpy_two(X, i, a, rounds, W, lag, plus, minus):
    rows.axpy_two(X, i, a, rounds, W, lag, plus, minus)


@njit
def _axpy_columns(X, i, factors, rounds, W, lag, first, last):
    rows.axpy_columns(X, i, factors, rounds, W, lag, first, last)


@njit
def _shape_of_row(X, i):
    return rows.n_rows(X), rows.n_entries(X, i)


def _csr(X):
    """The arrays of a CSR matrix, of the types they have: kernel_rows converts few entries."""
    X = sparse.csr_matrix(X)
    return X.data, X.indices, X.indptr


finite = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(data=st.data(), d=st.integers(0, 23), dtype=st.sampled_from([np.float64, np.float32]))
def test_compiled_dense_and_sparse_rows_give_the_bits_of_the_plain_operations(data, d, dtype):
    width = 32 if dtype == np.float32 else 64
    values = st.floats(-1e6, 1e6, width=width, allow_subnormal=False) | st.just(0.0)
    X = data.draw(arrays(dtype, (3, d), elements=values))
    w, lag = (data.draw(arrays(np.float64, d + 5, elements=finite)) for _ in range(2))  # five spare places behind
    W, W_lag = (np.outer(np.append(w, 1.0)[: d + 2], [1.0, -2.5, 0.3]) for w in (w, lag))
    tuples = _csr(X) if d else X
    for i in range(3):
        for form in (X, tuples):
            assert _dot(form, i, w) == rows.dot(form, i, w) == rows.dot(X, i, w)
            assert _dot_lagged(form, i, w, lag, 0.3) == rows.dot_lagged(X, i, w, lag, 0.3)
            assert _dot_lagged(form, i, w, lag, 0.0) == _dot(X, i, w)
            assert _squared_norm(form, i) == rows.squared_norm(X, i)
            found, expected = [(w.copy(), lag.copy(), W.copy(), W_lag.copy()) for _ in range(2)]
            _axpy_lagged(form, i, -1.7, 3.0, *found[:2])
            rows.axpy_lagged(X, i, -1.7, 3.0, *expected[:2])
            _axpy_two(form, i, 0.9, 3.0, *found[2:], 1, 2)
            rows.axpy_two(X, i, 0.9, 3.0, *expected[2:], 1, 2)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)
            for rate in (0.0, 0.25):
                a, b = np.full(3, 9.0), np.full(3, 9.0)
                _dots_lagged(form, i, W, W_lag, rate, a)
                rows.dots_lagged(X, i, W, W_lag, rate, b)
                np.testing.assert_array_equal(a, b)
        assert _shape_of_row(X, i) == (3, d)


@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 9),
    width=st.integers(1, 30),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_columns_of_every_width_give_the_bits_of_the_plain_operations(seed, d, width, dtype):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((2, d)) * rng.integers(0, 2, (2, d))).astype(dtype)
    W, lag = rng.standard_normal((2, d + 3, width))  # three spare features behind
    for form in (X, _csr(X)):
        for rate in (0.0, 0.3):
            found, expected = np.full(width, 9.0), np.full(width, 9.0)
            _dots_lagged(form, 1, W, lag, rate, found)
            rows.dots_lagged(X, 1, W, lag, rate, expected)
            np.testing.assert_array_equal(found, expected)
        whole = rows.padded(width)
        first = int(rng.integers(whole))
        last = int(rng.integers(first, whole)) + 1
        factors = np.where((np.arange(whole) >= first) & (np.arange(whole) < last), rng.standard_normal(whole), 0.0)
        found, expected = (tuple(np.pad(array, ((0, 0), (0, whole - width))) for array in (W, lag)) for _ in range(2))
        _axpy_columns(form, 1, factors, 7.0, *found, first, last)
        rows.axpy_columns(X, 1, factors, 7.0, *expected, first, last)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@given(d=st.integers(1, 40), bad=st.sampled_from([np.nan, np.inf, -np.inf]), where=st.integers(0, 39))
def test_a_bad_entry_always_shows_in_the_score(d, bad, where):
    X = np.ones((1, d))
    X[0, where % d] = bad
    for w in (np.zeros(d), np.ones(d), -np.ones(d)):
        for form in (X, kernel_rows(sparse.csr_matrix(X))):
            assert not np.isfinite(_dot(form, 0, w))


def test_sum_is_close_to_numpys():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((50, 1003)), rng.standard_normal(1003)
    np.testing.assert_allclose([_dot(X, i, w) for i in range(50)], X @ w, rtol=1e-12, atol=1e-12)


def test_rows_shorter_than_their_weights_do_not_read_behind_them():
    """The last partial vector of a row is masked: neighbours in memory, NaN here, stay unread."""
    memory = np.full((2, 7), np.nan)
    memory[0] = 1.0
    w = np.full(11, np.nan)
    w[:7] = 2.0
    assert _dot(memory, 0, w) == 14.0


def test_column_index_outside_the_matrix_is_refused():
    X = sparse.csr_matrix(np.eye(3))
    X.indices[1] = 7
    with pytest.raises(ValueError, match=r"column index outside 0\.\.2"):
        require_sound(X)


def test_read_only_rows_are_not_copied_and_not_written():
    X = np.arange(12.0).reshape(3, 4)
    X.flags.writeable = False
    view = kernel_rows(X)
    assert np.shares_memory(X, view)
    assert view.flags.writeable
    assert not X.flags.writeable


STREAM = """
import json
import sys
import numpy as np
from rankwise import KernelPRIL, MulticlassPerceptron, MultiplicativePRIL, PRIL, WidrowHoff
from scipy import sparse

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(40), [-0.5, 0.5])
weight = rng.choice([0.5, 1.0, 2.0], 40)
found = []
for model in eval(sys.argv[1]):
    for form in (X, sparse.csr_matrix(X)):
        model.set_params(classes=[0, 1, 2])
        fresh = type(model)(**model.get_params())
        predicted = fresh.progressive_predict(form, y, sample_weight=weight)
        scores = np.round(fresh.decision_function(form), 9).ravel().tolist()
        found.append([predicted.tolist(), fresh.n_updates_, scores])
print(json.dumps(found))
"""


@pytest.mark.parametrize(
    "models",
    [
        "[PRIL()]",
        pytest.param('[PRIL(step="pa1"), MultiplicativePRIL(), MulticlassPerceptron()]', marks=pytest.mark.slow),
        pytest.param('[WidrowHoff(), KernelPRIL(kernel="linear")]', marks=pytest.mark.slow),
    ],
)
def test_compiled_and_interpreted_code_learn_the_same(models):
    outputs = []
    for switch in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": switch}
        result = subprocess.run(
            [sys.executable, "-W", "error", "-c", STREAM, models],
            capture_output=True, text=True, env=environment, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        outputs.append(json.loads(result.stdout))
    assert outputs[0] == outputs[1]
