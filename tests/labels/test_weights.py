"""Importance weights: numbers >= 0, one a row, or one for all."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.labels import UNIT_WEIGHTS, check_weights

NAN, INF = float("nan"), float("inf")


def test_no_weights_cost_nothing():
    assert check_weights(None, 10**9) is UNIT_WEIGHTS
    assert UNIT_WEIGHTS.size == 0


@pytest.mark.parametrize(
    "weight", [0, 2, 0.5, np.float32(0.5), np.array(3), np.int8(1), True, Decimal("0.5")], ids=repr
)
def test_a_scalar_is_for_every_row(weight):
    weights = check_weights(weight, 4)
    assert weights.dtype == np.float64
    assert weights.tolist() == [float(weight)] * 4


@pytest.mark.parametrize(
    "weights",
    [
        [0, 1, 2],
        (0, 1, 2),
        np.array([0, 1, 2], dtype=np.int8),
        np.array([0, 1, 2], dtype=np.float32),
        np.array([0, 9, 1, 9, 2, 9.0])[::2],
        np.array([0, 1, 2], dtype=object),
        np.ma.array([0, 1, 2], mask=False),
        pd.Series([0, 1, 2], index=[5, 6, 7]),
        pd.array([0, 1, 2], dtype="Int64"),
        pl.Series([0, 1, 2]),
        pa.array([0, 1, 2]),
        pa.chunked_array([[0], [1, 2]]),
    ],
    ids=lambda w: type(w).__module__ + "." + type(w).__name__,
)
def test_weights_of_any_container(weights):
    checked = check_weights(weights, 3)
    assert checked.dtype == np.float64
    assert checked.flags.c_contiguous
    assert checked.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("bad", [-1, -1e-300, NAN, INF, -INF, None])
@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
def test_bad_weights_name_their_row(bad, make):
    found = re.escape(str(NAN if bad is None else float(bad)))
    with pytest.raises(ValueError, match=rf"^row 2: a weight must be a finite number >= 0\. Got {found} instead\.$"):
        check_weights(make([1.0, 0.0, bad, -2.0]), 4)


def test_pandas_missing_value_is_a_bad_weight():
    with pytest.raises(ValueError, match=r"^row 1: a weight must be"):
        check_weights(pd.Series([1, pd.NA], dtype="Int64"), 2)


def test_a_masked_weight_is_missing():
    with pytest.raises(ValueError, match="row 1: a weight must be"):
        check_weights(np.ma.array([1, 2], mask=[0, 1]), 2)


@pytest.mark.parametrize("bad", [-1, NAN, INF])
def test_a_bad_scalar_is_refused(bad):
    with pytest.raises(ValueError, match=r"row 0: a weight must be a finite number >= 0"):
        check_weights(bad, 3)


@pytest.mark.parametrize("n", [1, 3])
def test_wrong_length(n):
    with pytest.raises(
        ValueError, match=re.escape(f"X has {n} rows but sample_weight.shape == (2,), expected ({n},)!")
    ):
        check_weights([1.0, 1.0], n)


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (3, 2), (1, 1, 1), (0, 0)])
def test_wrong_dimension(shape):
    with pytest.raises(
        ValueError, match=r"must be 1D array or scalar: sample_weight has shape " + re.escape(str(shape))
    ):
        check_weights(np.ones(shape), 3)


@pytest.mark.parametrize(
    "weights",
    [
        "heavy",
        ["a", "b"],
        [[1], [1, 2]],
        {"a": 1},
        {1, 2},
        [1, object()],
        [1j, 2],
        np.array([1j, 2]),
        [10**400, 1],
        [(), ()],
    ],
    ids=lambda w: type(w).__name__,
)
def test_what_is_no_number_is_refused(weights):
    with pytest.raises(ValueError, match=r"sample_weight must be|sample_weight has shape") as caught:
        check_weights(weights, 2)
    assert "\n" not in str(caught.value)


def test_the_input_is_left_alone():
    weights = np.array([1.0, 2.0])
    weights.flags.writeable = False
    assert check_weights(weights, 2).tolist() == [1.0, 2.0]


@given(st.lists(st.floats(width=32), min_size=1, max_size=8))
def test_exactly_the_finite_weights_from_zero_up_are_taken(weights):
    good = [0 <= w < INF for w in weights]
    if all(good):
        assert check_weights(weights, len(weights)).tolist() == weights
    else:
        with pytest.raises(ValueError, match=f"^row {good.index(False)}: "):
            check_weights(weights, len(weights))
