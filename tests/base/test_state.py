"""The state of an online model by declaration: growing, averaging, undoing and checking follow from it."""

import re
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from rankwise import PRIL, CuSumRank, MultiplicativePRIL
from rankwise.base.row_data import kernel_rows
from rankwise.base.state import COUNTS, Savepoint, StateArray, StateLayout, averaged

LAYOUT = StateLayout(
    {
        "w": averaged("feature", lag="w_lag"),
        "W": averaged("feature", "padded class", lag="W_lag"),
        "t": averaged("threshold", lag="t_lag"),
        "b": StateArray(("class",), start=1.0),
        "all": StateArray(("feature",), local=False),
        "counts": COUNTS,
    }
)


def test_a_fresh_state_has_the_declared_shapes():
    state = LAYOUT.fresh(n_features=6, n_classes=5)
    shapes = {name: array.shape for name, array in state.items()}
    assert shapes == {
        "w": (6,), "w_lag": (6,), "W": (6, 8), "W_lag": (6, 8), "t": (4,), "t_lag": (4,), "b": (5,), "all": (6,),
        "counts": (3,),
    }  # fmt: skip
    assert state["counts"].dtype == np.int64
    assert state["b"].tolist() == [1.0] * 5


def test_features_join_with_zeros_and_room_to_spare():
    state = LAYOUT.fresh(2, 3)
    state["w"][:] = 7.0
    grown = LAYOUT.with_room(state, "feature", 3)
    assert grown["w"].size >= 6
    assert grown["w"][:3].tolist() == [7.0, 7.0, 0.0]
    assert grown["w"].size == grown["W_lag"].shape[0] == grown["all"].size
    assert grown["t"] is state["t"]


def test_a_class_joins_everywhere_at_its_place():
    state = LAYOUT.fresh(1, 3)
    state["t"][:] = [1.0, 2.0]
    state["W"][0, :3] = [1.0, 2.0, 3.0]
    wider = LAYOUT.with_class(state, place=1, n_classes=3)
    assert wider["t"].tolist() == [1.0, 2.0, 2.0]
    assert wider["W"][0].tolist() == [1.0, 0.0, 2.0, 3.0]
    assert wider["b"].tolist() == [1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("dense", [True, False])
def test_a_savepoint_undoes_whatever_a_pass_may_change(dense):
    X = sparse.csr_array(([1.0, 2.0], [3, 90], [0, 2]), shape=(1, 100))
    rows = kernel_rows(X.toarray() if dense else X)
    state = LAYOUT.fresh(100, 3)
    before = {name: array.copy() for name, array in state.items()}
    savepoint = Savepoint(LAYOUT, state, rows)
    for name in ("w", "w_lag", "W", "W_lag"):
        state[name][[3, 90]] += 1.0
    state["all"] += 1.0  # not of these columns only
    state["t"][0], state["counts"][0] = 5.0, 1
    savepoint.undo()
    assert all(np.array_equal(state[name], before[name]) for name in before)


@pytest.mark.parametrize(
    ("name", "wrong", "says"),
    [
        ("w", np.zeros(5), "array 'w' must be float64 of shape"),
        ("w", np.zeros(9), "array 'W' must be float64 of shape (9, 8)"),  # more room than its partner has
        ("W", np.zeros((6, 5)), "array 'W' must be float64 of shape"),
        ("t", np.zeros(2, dtype=np.float32), "array 't' must be float64"),
        ("b", np.array([1.0, np.nan, 0.0, 0.0, 0.0]), "array 'b' holds a number that is not finite"),
    ],
)
def test_a_state_that_is_not_as_declared_is_refused(name, wrong, says):
    state = {**LAYOUT.fresh(6, 5), name: wrong}
    with pytest.raises(ValueError, match=re.escape(says)):
        LAYOUT.check(state, 6, 5)


def test_missing_and_foreign_arrays_are_refused():
    state = LAYOUT.fresh(6, 5)
    state["x"] = state.pop("w")
    with pytest.raises(ValueError, match="expected the arrays"):
        LAYOUT.check(state, 6, 5)


@pytest.mark.parametrize("estimator", [PRIL(), CuSumRank(), MultiplicativePRIL()])
def test_a_refused_chunk_of_few_columns_leaves_no_trace(estimator):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(np.where(rng.random((40, 3000)) < 0.002, rng.random((40, 3000)), 0.0))
    y = rng.integers(0, 3, 40)
    model = estimator.set_params(classes=[0, 1, 2]).partial_fit(X, y)
    before = {name: array.copy() for name, array in model._state.items()}
    bad = X[:10].copy()
    bad.data[-1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.partial_fit(bad, y[:10])
    assert all(np.array_equal(model._state[name], before[name]) for name in before)


def test_a_chunk_of_a_wide_model_costs_what_its_rows_touch():
    X = sparse.csr_array(([1.0, 2.0, 3.0], [5, 1_700_000, 5], [0, 2, 3]), shape=(2, 2_000_000))
    model = PRIL(classes=[1, 2]).partial_fit(X, [1, 2])
    model.predict(X)  # compiled now
    tracemalloc.start()
    model.partial_fit(X, [1, 2])
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500_000  # the model itself has 32 MB, an index of its columns' numbers would have hundreds
