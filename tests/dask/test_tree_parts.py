"""Partitions for boosted trees, without a cluster: read, put together, and learnt from as on one machine."""

import numpy as np
import pytest

dask = pytest.importorskip("dask")
pytest.importorskip("lightgbm")

import dask.array as da
from dask.delayed import delayed
from scipy import sparse

import rankwise as rw
import rankwise.dask as rd
from rankwise.dask._tree_parts import groups_of
from tests.trees.bits import bits_of

N = 900
FEW = {"max_iter": 6, "early_stopping": False, "random_state": 0, "n_jobs": 1}


pytestmark = pytest.mark.usefixtures("without_a_cluster")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X[:, 1]), [0.0, 1.0, 2.0])
    return X, y


def _blocks(X):
    return da.from_array(X, chunks=(300, -1))


def test_without_a_cluster_the_fit_is_that_of_one_machine(data):
    X, y = data
    options = {**FEW, "early_stopping": "auto"}
    plain = rw.BoostedThresholds(**options).fit(X, y)
    assert bits_of(rd.BoostedThresholds(**options).fit(_blocks(X), y)) == bits_of(plain)
    assert bits_of(rd.BoostedThresholds(**options).fit(X, y)) == bits_of(plain)
    rows = sparse.csr_matrix(np.nan_to_num(X))
    halves = [[delayed(half) for half in (whole[:500], whole[500:])] for whole in (rows, y)]
    found = rd.BoostedThresholds(**options).fit(*halves)
    assert bits_of(found) == bits_of(rw.BoostedThresholds(**options).fit(rows, y))


def test_numbers_that_stand_for_categories(data):
    X, y = data
    X = np.nan_to_num(X)
    X[:, 2] = np.arange(N) // 300 * 10 + y  # other ones in every partition
    options = {**FEW, "categorical_features": [2]}
    found, plain = rd.BoostedThresholds(**options).fit(_blocks(X), y), rw.BoostedThresholds(**options).fit(X, y)
    assert bits_of(found) == bits_of(plain)
    np.testing.assert_array_equal(found.predict(_blocks(X)).compute(), plain.predict(X))


def test_hinges_have_no_probabilities_and_lazy_ones_are_those_of_the_model(data):
    X, y = data
    model = rd.BoostedThresholds(**FEW).fit(_blocks(X), y)
    lazy = model.predict_proba(_blocks(X))
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy.compute(), model.to_local().predict_proba(X))
    assert not hasattr(rd.BoostedThresholds(loss="explicit"), "predict_proba")


def test_what_cannot_be_learnt_from_is_refused_in_one_error(data):
    pd = pytest.importorskip("pandas")
    X, y = data

    def bad(message, X, y, weight=None, **options):
        model = rd.BoostedThresholds(**options)
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, weight)
        assert not hasattr(model, "booster_")

    broken = X.copy()
    broken[617, 2] = np.inf
    bad(r"^partition 2: .*infinity|^partition 2: .*not finite", _blocks(broken), y)
    bad("^sample_weight is zero for every row", _blocks(X), y, np.zeros(N))
    bad("^every label is missing", _blocks(X), np.full(N, np.nan), classes=[0, 1, 2])
    bad("^class_weight gives every row the weight zero", _blocks(X), y, class_weight=dict.fromkeys(range(4), 0.0))
    bad("class_weight names 9", _blocks(X), y, class_weight={9: 1.0})
    for name in ("tree_learner", "machines", "forcedsplits_filename"):
        bad(f"^engine_params must not hold '{name}'", _blocks(X), y, engine_params={name: "data"})
    method = {"monotone_constraints_method": "advanced"}
    bad("^engine_params: monotone_constraints_method must be 'basic'", _blocks(X), y, engine_params=method)
    tables = [pd.DataFrame({"a": texts * 10, "b": range(20)}) for texts in (["u", "v"], ["1,5", "2"])]
    labels = [delayed(np.arange(20) % 3)] * 2
    bad("^column 'a': partition 1 holds numbers with a decimal comma, partition 0 holds categories",
        [delayed(table) for table in tables], labels)  # fmt: skip
    numbers = tables[0].assign(a=1.0)
    bad("^partition 0 has columns that are no numbers, partition 1 has numbers alone",
        [delayed(tables[0]), delayed(numbers)], labels)  # fmt: skip


def test_groups_have_enough_rows_and_follow_each_other():
    rng = np.random.default_rng(0)
    for _ in range(200):
        lengths = rng.integers(1, 500, rng.integers(1, 30)).tolist()
        most, least = int(rng.integers(1, 9)), 200
        groups = groups_of(lengths, most, least)
        assert [b for group in groups for b in group] == list(range(len(lengths)))
        assert len(groups) <= most
        assert len(groups) == 1 or min(sum(lengths[b] for b in group) for group in groups) >= least
    assert len(groups_of([1000] * 8, 4, 200)) == 4
