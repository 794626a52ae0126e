import numpy as np
import pytest

from rankwise.features import TableEncoder
from rankwise.features.number_rows import NumberRows


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_have_the_bits_of_the_encoder(dtype):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.exponential(size=300) * 1e5, rng.integers(0, 2, size=300)])
    X[::7, 1] = np.nan
    encoder = TableEncoder(numbers="spline", dtype=dtype).fit(X)
    assert encoder.n_features_out_ > X.shape[1]  # some columns are bent
    rows = NumberRows(encoder._numbers, encoder.dtype)
    new = np.vstack([X, 10 * X, encoder.transform(X[:1])[:, :3]])
    found, is_finite = rows(new)
    assert is_finite
    assert found.tobytes() == encoder.transform(new).tobytes()
    assert found[5].tobytes() == rows(new[5:6])[0].tobytes()
    assert not rows(np.array([[0.0, np.inf, 1.0]]))[1]
