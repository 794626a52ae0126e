"""Clusters of real processes: lost and joining workers, spilling, and scikit-learn's search."""

import os
import signal
from functools import partial

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import dask.array as da
import joblib
from dask.delayed import delayed
from sklearn.model_selection import GridSearchCV

import rankwise as rw
import rankwise.dask as rd
from rankwise.dask._blocks import Blocks
from rankwise.datasets import make_ordinal

# The processes of a cluster say on their way out what they did not finish; nothing of ours.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def data():
    return make_ordinal(6000, 5, 4, random_state=0)


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="4GB", dashboard_address=":0"
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def undisturbed(client, data):
    X, y = data
    return rd.SVOR(alpha=0.01).fit(da.from_array(X, chunks=(2000, -1)), y)


def _at_round(monkeypatch, number, action):
    """Do something when the solver asks for its n-th sum over all rows."""
    rounds = []
    plain_sum = Blocks.sum

    def disturbed(self, *arguments):
        rounds.append(None)
        if len(rounds) == number:
            action()
        return plain_sum(self, *arguments)

    monkeypatch.setattr(Blocks, "sum", disturbed)
    return rounds


def _same(model, other):
    assert model.objective_ == other.objective_
    assert model.lower_bound_ == other.lower_bound_
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(model.thresholds_, other.thresholds_)


def test_the_fit_on_a_cluster_is_that_of_one_machine(undisturbed, data):
    plain = rw.SVOR(alpha=0.01).fit(*data)
    assert undisturbed.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert undisturbed.gap_ <= 1e-3


def test_a_worker_killed_during_the_fit_changes_nothing(client, undisturbed, data, monkeypatch):
    X, y = data
    killed = []

    def kill():
        killed.append(next(iter(client.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)

    rounds = _at_round(monkeypatch, 5, kill)
    model = rd.SVOR(alpha=0.01).fit(da.from_array(X, chunks=(2000, -1)), y)
    assert len(rounds) > 10
    _same(model, undisturbed)
    client.wait_for_workers(2, timeout=60)
    assert killed[0] not in client.run(os.getpid).values()


@pytest.mark.slow
def test_a_worker_that_joins_during_the_fit_changes_nothing(cluster, client, undisturbed, data, monkeypatch):
    X, y = data

    def add():
        cluster.scale(3)
        client.wait_for_workers(3, timeout=60)

    _at_round(monkeypatch, 5, add)
    try:
        _same(rd.SVOR(alpha=0.01).fit(da.from_array(X, chunks=(2000, -1)), y), undisturbed)
    finally:
        cluster.scale(2)


def _killing_block(X, place, once):
    """The rows of a block, whose worker dies the first time that it is asked for them."""
    if not os.path.exists(once):
        open(once, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return X


def test_a_worker_killed_while_an_online_model_passes_changes_nothing(client, data, tmp_path):
    X, y = data
    blocks = [delayed(X[a : a + 2000]) for a in (0, 2000, 4000)]
    blocks[1] = delayed(_killing_block)(X[2000:4000], 1, str(tmp_path / "once"))
    labels = [delayed(y[a : a + 2000]) for a in (0, 2000, 4000)]
    model = rd.PRIL(n_epochs=2, shuffle=False, classes=[1, 2, 3, 4]).fit(blocks, labels)
    assert (tmp_path / "once").exists()
    plain = rw.PRIL(n_epochs=2, shuffle=False).fit(X, y)
    for array in plain._state:
        np.testing.assert_array_equal(model._state[array], plain._state[array])


def test_bad_data_on_a_worker_name_partition_and_row(client, data):
    X, y = data
    broken = X.copy()
    broken[4017, 3] = np.nan
    for model in (rd.SVOR(), rd.PRIL()):
        with pytest.raises(ValueError, match=r"^partition 2: Input X contains NaN: row 17, column 3"):
            model.fit(da.from_array(broken, chunks=(2000, -1)), y)
        assert not hasattr(model, "coef_") or not model.__sklearn_is_fitted__()


def test_grid_search_with_the_dask_backend(client, data):
    X, y = data
    search = partial(GridSearchCV, rw.SVOR(), {"alpha": [1.0, 0.01]}, cv=2)
    with joblib.parallel_config(backend="dask"):
        on_cluster = search().fit(X[:1000], y[:1000])
    here = search().fit(X[:1000], y[:1000])
    np.testing.assert_array_equal(on_cluster.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
    assert on_cluster.best_params_ == here.best_params_


def _spilled(dask_worker):
    return len(dask_worker.data.slow)


@pytest.mark.slow
def test_rows_that_do_not_fit_into_memory_are_spilled(monkeypatch):
    X, y = make_ordinal(12_000, 20, 3, random_state=0)
    expected = rw.SVOR(alpha=0.1).fit(X, y)
    spilled = []
    # One megabyte for rows of which there are two: the worker's own code would need more than any limit that small.
    limits = {"target": 0.001, "spill": False, "pause": False, "terminate": False}
    options = {f"distributed.worker.memory.{name}": value for name, value in limits.items()}
    with (
        dask.config.set(options),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit="1GB", dashboard_address=":0"
        ) as small,
        distributed.Client(small) as client,
    ):
        _at_round(monkeypatch, 8, lambda: spilled.extend(client.run(_spilled).values()))
        model = rd.SVOR(alpha=0.1).fit(da.from_array(X, chunks=(2000, -1)), y)
    assert spilled[0] > 0
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-6)
