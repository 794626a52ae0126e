"""Boosted trees on partitions: the trees and thresholds of one machine, and one error where a worker is lost."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("lightgbm")

import dask.array as da
from dask.delayed import delayed

import rankwise as rw
import rankwise.dask as rd
from rankwise.dask import _trees
from rankwise.dask._trees import Tasks, WorkerLostError
from rankwise.trees import fitting
from rankwise.trees.growth import dealt
from tests.trees.bits import bits_of

# The processes of a cluster say on their way out what they did not finish; nothing of ours.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

N, K = 1600, 4
# LightGBM estimates the rows of a leaf from second derivatives where they are on several machines: a bound on them
# would make other trees, whatever else is the same.
SAME = {"min_samples_leaf": 1, "engine_params": {"min_sum_hessian_in_leaf": 10.0}, "random_state": 0, "n_jobs": 1}
FEW = {"max_iter": 12, "early_stopping": False}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(N, 5)), 2)
    score = X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=N)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.searchsorted(np.quantile(score, [0.25, 0.5, 0.75]), score)
    return X, y


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="4GB", dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def _on_both_workers(monkeypatch):
    """Two workers, though one would be faster with so few rows."""
    monkeypatch.setattr(_trees, "_LEAST", 200)


def _blocks(X, size=400):
    return da.from_array(X, chunks=(size, -1))


def _one_sided(y):
    """Exact labels, intervals, and labels that are open on one side."""
    rng = np.random.default_rng(1)
    lower = np.where(rng.random(N) < 0.2, 0, y)
    upper = np.where(rng.random(N) < 0.2, K - 1, np.minimum(y + rng.integers(0, 2, N), K - 1))
    return np.column_stack([lower, upper])


def _same(found, plain):
    """The same trees to the bit of their splits; their leaves and the thresholds but for the rounding of sums."""
    assert found.n_iter_ == plain.n_iter_
    for mine, theirs in zip(*(m.booster_.dump_model()["tree_info"] for m in (found, plain)), strict=True):
        assert mine["num_leaves"] == theirs["num_leaves"]
    np.testing.assert_array_equal(found.booster_.feature_importance(), plain.booster_.feature_importance())
    np.testing.assert_allclose(found.stage_thresholds_, plain.stage_thresholds_, rtol=0, atol=1e-9)


OPTIONS = [
    ("intervals", {}),
    ("intervals", {"loss": "implicit"}),
    ("weights", {"link": "probit", "class_weight": "balanced", "monotonic_cst": {1: 1}, "colsample": 0.6}),
    ("weights", {"class_weight": {1: 2.0, 3: 0.5}}),
    ("gaps", {}),
]


@pytest.mark.parametrize(("labels", "options"), OPTIONS, ids=str)
def test_trees_and_thresholds_are_those_of_one_machine(client, data, labels, options):
    X, y = data
    weight = np.random.default_rng(2).integers(0, 3, N).astype(float) if labels == "weights" else None
    if labels == "intervals":
        y = _one_sided(y)
    if labels == "gaps":  # on one worker alone
        y = [{0, 2} if c == 0 and i < 300 else {int(c)} for i, c in enumerate(y)]
    plain = rw.BoostedThresholds(**SAME, **FEW, **options).fit(X, y, weight)
    parts = _blocks(X)
    labels = y if isinstance(y, np.ndarray) else [delayed(y[a : a + 400]) for a in range(0, N, 400)]
    blocks = parts if isinstance(y, np.ndarray) else list(parts.to_delayed().ravel())
    found = rd.BoostedThresholds(**SAME, **FEW, **options).fit(blocks, labels, weight)
    _same(found, plain)
    np.testing.assert_allclose(found.project(X), plain.project(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("early_stopping", [True, "cv"])
def test_early_stopping_looks_at_the_loss_of_all_workers(client, data, monkeypatch, early_stopping):
    X, y = data
    options = {**SAME, "early_stopping": early_stopping, "max_iter": 25, "n_iter_no_change": 3, "learning_rate": 0.5}
    found = rd.BoostedThresholds(**options).fit(_blocks(X), y)

    def by_worker(order_by, n_parts, generator):
        """Rows dealt as the two workers deal theirs, each with a generator of its own."""
        state = generator.get_state()
        parts = []
        for half in (slice(0, N // 2), slice(N // 2, N)):
            generator.set_state(state)
            parts.append(dealt(order_by[half], n_parts, generator))
        return np.concatenate(parts)

    monkeypatch.setattr(fitting, "dealt", by_worker)
    plain = rw.BoostedThresholds(**options).fit(X, y)
    _same(found, plain)
    assert found.n_iter_ < 25
    np.testing.assert_allclose(found.validation_loss_, plain.validation_loss_, rtol=0, atol=1e-9)


def test_default_parameters_are_as_good_as_on_one_machine_and_repeat(client, data):
    X, y = data
    plain = rw.BoostedThresholds(random_state=0, early_stopping=True, max_iter=25).fit(X, y)
    found = rd.BoostedThresholds(random_state=0, early_stopping=True, max_iter=25).fit(_blocks(X), y)
    again = rd.BoostedThresholds(random_state=0, early_stopping=True, max_iter=25).fit(_blocks(X), y)
    assert found.score(X, y) > plain.score(X, y) - 0.05
    assert np.abs(found.predict_proba(X) - plain.predict_proba(X)).mean() < 0.05
    assert bits_of(again) == bits_of(found)
    np.testing.assert_array_equal(again.thresholds_, found.thresholds_)


def test_tables_with_other_categories_in_every_partition(client, data, tmp_path):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["town"] = np.where(y > 1, "x", "y")
    frame.loc[:500, "town"] = np.where(y[:501] > 1, "z", "y")  # which other partitions do not have
    frame["town"] = frame["town"].astype("category")
    frame.loc[1200:, "town"] = None
    frame["grade"] = pd.Categorical.from_codes(y, ["low", "fair", "good", "best"], ordered=True)
    frame["weight"] = 1.0 + (np.arange(N) % 2)
    pieces = [frame[a : a + 400] for a in range(0, N, 400)]
    pieces = [piece.assign(town=piece["town"].cat.remove_unused_categories()) for piece in pieces]
    table = dd.from_delayed([delayed(piece) for piece in (*pieces, frame[:0])], meta=frame[:0], verify_meta=False)
    columns = [*"abcde", "town"]
    found = rd.BoostedThresholds(**SAME, **FEW).fit(table[columns], table["grade"], table["weight"])
    plain = rw.BoostedThresholds(**SAME, **FEW).fit(frame[columns], frame["grade"], frame["weight"])
    _same(found, plain)
    assert found._raw.columns[5].values == ["x", "y", "z"]
    assert found.classes_.tolist() == ["low", "fair", "good", "best"]
    lazy = found.predict([delayed(piece[columns]) for piece in pieces])
    np.testing.assert_array_equal(lazy.compute(), plain.predict(frame[columns]))
    rw.save(found, tmp_path / "model")
    loaded = rw.load(tmp_path / "model")
    assert type(loaded) is rw.BoostedThresholds
    np.testing.assert_array_equal(loaded.predict_proba(frame[columns]), found.predict_proba(frame[columns]))


def test_trees_are_continued_with_warm_start(client, data):
    X, y = data
    options = {**SAME, "warm_start": True}
    models = [rw.BoostedThresholds(**options), rd.BoostedThresholds(**options)]
    for max_iter in (6, 12):
        for model, rows in zip(models, (X, _blocks(X)), strict=True):
            model.set_params(max_iter=max_iter).fit(rows, y)
    _same(models[1], models[0])
    assert models[1].n_iter_ == 12


def test_fits_at_the_same_time(client, data):
    X, y = data
    with ThreadPoolExecutor(3) as threads:
        fits = [threads.submit(rd.BoostedThresholds(**SAME, **FEW).fit, _blocks(X), y) for _ in range(3)]
        texts = {repr(bits_of(fit.result(timeout=120))) for fit in fits}
    assert len(texts) == 1


def _at_look(monkeypatch, number, action):
    """Do something when the client looks at the workers for the n-th time."""
    looks, pause = [], Tasks._pause

    def disturbed(self):
        pause(self)
        looks.append(None)
        if len(looks) == number:
            action(self)

    monkeypatch.setattr(Tasks, "_pause", disturbed)


@pytest.mark.parametrize("rank", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_worker_killed_during_the_fit_is_one_error_in_bounded_time(client, data, monkeypatch, rank):
    X, y = data
    client.wait_for_workers(2, timeout=60)
    began = []

    def kill(tasks):
        os.kill(client.run(os.getpid, workers=[tasks.workers[rank]])[tasks.workers[rank]], signal.SIGKILL)
        began.append(time.monotonic())

    _at_look(monkeypatch, 3, kill)
    model = rd.BoostedThresholds(random_state=0, max_iter=100_000, early_stopping=False)
    with pytest.raises(WorkerLostError, match=r"^the worker tcp://.* was lost while trees grew on it.*call fit again"):
        model.fit(_blocks(X), y)
    assert time.monotonic() - began[0] < 60
    assert not hasattr(model, "booster_")
    monkeypatch.undo()
    monkeypatch.setattr(_trees, "_LEAST", 200)
    client.wait_for_workers(2, timeout=60)
    assert model.set_params(max_iter=3).fit(_blocks(X), y).n_iter_ == 3


def test_an_interrupt_keeps_the_finished_rounds(client, data, monkeypatch):
    X, y = data
    _at_look(monkeypatch, 3, lambda _: signal.raise_signal(signal.SIGINT))
    model = rd.BoostedThresholds(random_state=0, max_iter=100_000, early_stopping=False)
    with pytest.warns(UserWarning, match=r"the fit was interrupted; it keeps the \d+ rounds"):
        model.fit(_blocks(X), y)
    assert 0 < model.n_iter_ < 100_000


def test_few_rows_are_learnt_by_one_worker_and_an_interrupt_ends_that_too(client, data, monkeypatch):
    X, y = data
    monkeypatch.setattr(_trees, "_LEAST", 5000)
    options = {"random_state": 0, "n_jobs": 1, "max_iter": 8}
    found, plain = rd.BoostedThresholds(**options).fit(_blocks(X), y), rw.BoostedThresholds(**options).fit(X, y)
    assert bits_of(found) == bits_of(plain)
    _at_look(monkeypatch, 3, lambda _: signal.raise_signal(signal.SIGINT))
    with pytest.warns(UserWarning, match="the fit was interrupted"):
        rd.BoostedThresholds(max_iter=100_000, early_stopping=False).fit(_blocks(X), y)


def test_an_error_of_the_engine_is_that_of_one_machine(client, data):
    X, y = data
    bad = {"engine_params": {"min_sum_hessian_in_leaf": -1.0}, **FEW}
    with pytest.raises(ValueError, match="LightGBM cannot grow trees") as plain:
        rw.BoostedThresholds(**bad).fit(X, y)
    with pytest.raises(type(plain.value), match="LightGBM cannot grow trees"):
        rd.BoostedThresholds(**bad).fit(_blocks(X), y)
