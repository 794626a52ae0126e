"""Arrays that need no conversion are read at once, with the same answers, errors and warnings as others."""

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import rankwise as rw
from rankwise.base import estimator as module


@pytest.fixture
def fitted(rng):
    X = rng.standard_normal((60, 3))
    return rw.PRIL(classes=[1, 2, 3]).fit(X, np.digitize(X[:, 0], [-0.4, 0.4]) + 1), X


def test_answers_are_those_of_converted_rows(fitted, monkeypatch):
    model, X = fitted
    expected = model.predict(X.tolist())
    columns_first = np.asfortranarray(X)
    monkeypatch.setattr(module, "validate_data", lambda *_, **__: pytest.fail("converted"))
    for rows in (X, X.astype(np.float32), columns_first, X[::-1][::-1]):
        np.testing.assert_array_equal(model.predict(rows), expected)


def test_errors_and_warnings_stay(fitted, rng):
    model, X = fitted
    with pytest.raises(ValueError, match="X has 2 features, but PRIL is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.predict(X[:0])
    with pytest.raises(ValueError, match=r"NaN: row 4, column 1"):
        model.predict(np.where(np.arange(180).reshape(60, 3) == 13, np.nan, X))
    with pytest.raises(NotFittedError):
        rw.PRIL(classes=[1, 2, 3]).predict(X)
    named = rw.PRIL(classes=[1, 2]).fit(pd.DataFrame(X, columns=list("abc")), 1 + (X[:, 0] > 0))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.predict(X)


def test_one_row_takes_less_than_its_conversion(fitted):
    model, X = fitted
    row, listed = X[:1], X[:1].tolist()

    def took(rows):
        best = np.inf
        for _ in range(5):
            start = time.process_time()
            for _ in range(100):
                model.predict(rows)
            best = min(best, time.process_time() - start)
        return best

    assert took(row) < 0.6 * took(listed)
