"""Online estimators on partitions: in turn to the bit, and mixed with hardly any loss."""

import numpy as np
import pytest

dask = pytest.importorskip("dask")

import dask.array as da
from dask.delayed import delayed
from sklearn.base import clone
from sklearn.model_selection import train_test_split

import rankwise as rw
import rankwise.dask as rd
from rankwise.dask._mixing import contribution, mixed, together
from rankwise.datasets import load_parkinsons, make_ordinal

MODELS = [
    ("PRank", {}),
    ("PRIL", {}),
    ("PRIL", {"step": "pa1"}),
    ("MultiplicativePRIL", {}),
    ("OnlineCumulativeLink", {}),
    ("CuSumRank", {}),
    ("ImportanceWeightedPerceptron", {}),
    ("LabelRanker", {}),
    ("LabelRanker", {"complexity": "entropic"}),
]


pytestmark = pytest.mark.usefixtures("without_a_cluster")


@pytest.fixture(scope="module")
def data():
    X, y = make_ordinal(800, 4, 5, random_state=0)
    return np.clip(X / 4, -1, 1), y


@pytest.mark.parametrize(("name", "options"), MODELS, ids=str)
@pytest.mark.parametrize("average", [True, False])
def test_in_turn_the_state_is_that_of_one_machine_to_the_bit(data, name, options, average):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    averaging = {"average": average} if "average" in getattr(rw, name)().get_params() else {}
    options = {"n_epochs": 2, "shuffle": False, **averaging, **options}
    plain = getattr(rw, name)(**options).fit(X, y, weight)
    model = getattr(rd, name)(**options).fit(da.from_array(X, chunks=(300, -1)), y, da.from_array(weight, chunks=500))
    assert model._state.keys() == plain._state.keys()
    for array in plain._state:
        np.testing.assert_array_equal(model._state[array], plain._state[array], strict=True)
    np.testing.assert_array_equal(model.classes_, plain.classes_)
    assert model.n_iter_ == 2


@pytest.mark.parametrize(("name", "options"), MODELS, ids=str)
def test_one_partition_mixed_is_one_machine(data, name, options):
    X, y = data
    options = {"n_epochs": 2, "shuffle": False, **options}
    plain = getattr(rw, name)(**options).fit(X, y)
    model = getattr(rd, name)(mode="mixing", **options).fit([delayed(X)], [delayed(y)])
    np.testing.assert_array_equal(model._state["counts"], plain._state["counts"])
    # (Not the states: exponents are kept with a shift, which mixing chooses anew.)
    for attribute in ("coef_", "thresholds_", "intercept_", "dual_value_", "cost_", "eta_"):
        if hasattr(plain, attribute):
            found, expected = getattr(model, attribute), getattr(plain, attribute)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=attribute)


@pytest.mark.parametrize(("name", "options"), MODELS, ids=str)
def test_mixing_learns(data, name, options):
    X, y = data
    parts = da.from_array(X, chunks=(200, -1))
    plain = getattr(rw, name)(random_state=0, **options).fit(X, y)
    model = getattr(rd, name)(mode="mixing", random_state=0, **options).fit(parts, y)
    assert model.score(parts, y) == pytest.approx(model.score(X, y), rel=1e-12)
    assert model.score(X, y) >= plain.score(X, y) - 0.02
    again = clone(model).fit(parts, y)
    for array in model._state:
        np.testing.assert_array_equal(again._state[array], model._state[array])


def test_mixing_averages_by_updates_and_counts_all_rounds():
    """Two partitions of which one makes no update: the other's weights are taken, and the mean is over both."""
    model = rw.PRIL(classes=[1, 2], shuffle=False, n_epochs=1)
    still, moving = np.array([[1.0]]), np.array([[2.0], [3.0]])
    base = clone(model).partial_fit([[1.0]], [2])
    before = base._state
    states = []
    for X, y in ((still, [2]), (moving, [1, 1])):
        after = rw.PRIL(classes=[1, 2]).partial_fit([[1.0]], [2]).partial_fit(X, y)
        states.append(after._state)
    result = mixed(base, together(*(contribution(base, before, after) for after in states), None))
    np.testing.assert_array_equal(result["w"], states[1]["w"])
    np.testing.assert_array_equal(result["t"], states[1]["t"])
    assert result["counts"].tolist() == (states[0]["counts"] + states[1]["counts"] - before["counts"]).tolist()
    # Round by round: w of the common first round, of the still partition, and of the two rounds of the moving one.
    path = [1.0, 1.0, *_weights_after_each([[2.0], [3.0]], [1, 1])]
    rounds = result["counts"][0]
    assert rounds == 4
    assert (result["w"] - result["w_lag"] / rounds)[0] == pytest.approx(np.mean(path))


def _weights_after_each(X, y):
    model = rw.PRIL(classes=[1, 2], average=False).partial_fit([[1.0]], [2])
    found = []
    for row, label in zip(X, y, strict=True):
        model.partial_fit([row], [label])
        found.append(model.coef_[0])
    return found


def test_the_dual_value_of_a_mixed_ranker_stays_a_lower_bound(data):
    X, y = data
    model = rd.LabelRanker(mode="mixing", n_epochs=1, average=False, shuffle=False)
    model.fit(da.from_array(X, chunks=(200, -1)), y)
    # P at the learnt weights, over the rounds, is above D.
    W, C = model.coef_, model.C
    scores = X @ W.T
    own = scores[np.arange(len(y)), y - 1]
    rest = np.where(np.eye(5, dtype=bool)[y - 1], -np.inf, scores).max(axis=1)
    primal = 0.5 * np.sum(W * W) + C * np.maximum(0.0, model.margin - (own - rest)).sum()
    assert 0.0 < model.dual_value_ <= primal


def test_mixing_on_real_data_is_as_good_as_one_pass_after_the_other():
    try:
        found = load_parkinsons()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    X, y = np.asarray(found.X, dtype=float), np.asarray(found.y)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    parts = da.from_array(X_train, chunks=(len(X_train) // 8 + 1, -1))
    scores = {}
    for mode in ("sequential", "mixing"):
        scores[mode] = rd.PRIL(mode=mode, random_state=0).fit(parts, y_train).score(X_test, y_test)
    assert scores["mixing"] >= scores["sequential"] - 0.02


def test_partial_fit_goes_on_where_it_was(data):
    X, y = data
    parts = da.from_array(X, chunks=(150, -1))
    model = rd.PRIL().partial_fit(parts[:300], y[:300]).partial_fit(parts[300:], y[300:], classes=[1, 2, 3, 4, 5])
    plain = rw.PRIL().partial_fit(X, y, classes=[1, 2, 3, 4, 5])
    np.testing.assert_array_equal(model._state["w"], plain._state["w"])
    with pytest.raises(ValueError, match="is not the same as before"):
        model.partial_fit(parts, y, classes=[1, 2])
    np.testing.assert_array_equal(model._state["w"], plain._state["w"])
    with pytest.raises(ValueError, match="is not the same as before"):
        rd.PRIL(classes=[1, 2, 3]).partial_fit(parts, np.minimum(y, 2), classes=[1, 2])


def test_label_rankers_take_label_lists_and_indicators():
    X = np.eye(4)
    lists = [["work", "news"], ["spam"], [], ["work"]]
    model = rd.LabelRanker(shuffle=False).fit(
        [delayed(X[:2]), delayed(X[2:])], [delayed(lists[:2]), delayed(lists[2:])]
    )
    plain = rw.LabelRanker(shuffle=False).fit(X, lists)
    assert model.classes_.tolist() == plain.classes_.tolist() == ["news", "spam", "work"]
    np.testing.assert_array_equal(model._state["theta"], plain._state["theta"])
    parts = da.from_array(X, chunks=(2, 4))
    np.testing.assert_array_equal(model.predict_top(parts, 2).compute(), plain.predict_top(X, 2))
    np.testing.assert_array_equal(model.predict_ranking(parts).compute(), plain.predict_ranking(X))
    indicator = da.from_array(np.array([[1, 0], [0, 1], [1, 0], [0, 1]]), chunks=(2, 2))
    assert rd.LabelRanker().fit(parts, indicator).classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="no row says which label"):
        rd.LabelRanker(classes=["a", "b"]).fit([delayed(X)], [delayed([[], [], [], []])])


def test_bad_partitions_leave_the_model_as_it_was(data):
    X, y = data
    broken = X.copy()
    broken[517, 1] = np.inf
    model = rd.PRIL(random_state=0).fit(da.from_array(X, chunks=(200, -1)), y)
    before = model.coef_.copy()
    for mode in ("sequential", "mixing"):
        with pytest.raises(ValueError, match=r"^partition 2: Input X contains infinity: row 117, column 1"):
            model.set_params(mode=mode).fit(da.from_array(broken, chunks=(200, -1)), y)
        np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        model.fit(da.from_array(X, chunks=(200, -1)), y, np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"^partition 1: X has 3 features, but PRIL is expecting 4"):
        rd.PRIL().fit([delayed(X), delayed(X[:, 1:])], [delayed(y), delayed(y)])
    with pytest.raises(ValueError, match="'mode' parameter of PRIL must be"):
        rd.PRIL(mode="fast").fit(da.from_array(X, chunks=(200, -1)), y)


def test_parameters_are_those_of_one_machine_and_the_mode():
    for name in ("PRank", "PRIL", "MultiplicativePRIL", "CuSumRank", "ImportanceWeightedPerceptron", "LabelRanker"):
        plain, model = getattr(rw, name)(), getattr(rd, name)()
        assert model.get_params() == {**plain.get_params(), "mode": "sequential"}
        assert getattr(rd, name)(mode="mixing", n_epochs=3).get_params()["n_epochs"] == 3
    with pytest.raises(TypeError, match="unexpected keyword argument 'epochs'"):
        rd.PRIL(epochs=3)


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    import importlib
    import sys

    for module in [m for m in sys.modules if m.startswith("rankwise.dask")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"^rankwise\.dask needs Dask: pip install 'rankwise\[dask\]'$"):
        importlib.import_module("rankwise.dask")


def test_masked_entries_of_a_partition_are_refused(data):
    X, y = data
    hidden = np.ma.array(X, copy=True)
    hidden[450, 2] = np.ma.masked
    with pytest.raises(ValueError, match=r"partition 1: .*NaN.*row 150"):
        rd.PRIL(classes=[1, 2, 3, 4, 5]).fit(da.from_array(hidden, chunks=(300, -1), asarray=False), y)
