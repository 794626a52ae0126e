"""BoostedThresholds: labels, rounds, small data, columns, parameters."""

import contextlib
import os
import signal
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import rankwise
from rankwise import BoostedThresholds, CalibratedOrdinal, ConformalOrdinal, TableEncoder, TableModel
from rankwise.risks.links import probabilities
from rankwise.trees import growth
from rankwise.trees._objective import LikelihoodObjective
from tests.cli.commands import facts, succeed
from tests.trees.bits import bits_of

FAST = dict(n_jobs=1, random_state=0)
BRIEF = dict(max_iter=15, early_stopping=False, **FAST)


def data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.searchsorted([-0.5, 0.5, 1.5], X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=n))


def test_intervals_and_sets_teach_nearly_as_much_as_classes():
    X, y = data(600)
    rng = np.random.default_rng(1)
    intervals = np.column_stack(
        [np.maximum(y - rng.integers(0, 2, 600), 0), np.minimum(y + rng.integers(0, 2, 600), 3)]
    )
    sets = [frozenset({int(v), (int(v) + 2) % 4}) if i % 3 == 0 else int(v) for i, v in enumerate(y)]
    options = {**BRIEF, "max_iter": 60}
    errors = [-BoostedThresholds(**options).fit(X[:400], z[:400]).score(X[400:], y[400:]) for z in (y, intervals, sets)]
    assert errors[0] < 0.35
    assert max(errors[1:]) < errors[0] + 0.15


def test_thresholds_are_in_balance():
    X, y = data()
    model = BoostedThresholds(**BRIEF).fit(X, y)
    scores, best = model.project(X), model.thresholds_

    def loss(t):
        return -np.log(probabilities("logit", scores, t)[np.arange(y.size), y]).mean()

    assert (np.diff(best) > 0).all()
    for k in range(3):
        for step in (1e-2, -1e-2):
            assert loss(best) < loss(best + step * np.eye(3)[k])


def test_early_stopping_keeps_the_best_round():
    X, y = data(200)
    noise = np.random.default_rng(2).permutation(y)
    for how in (True, "cv"):
        model = BoostedThresholds(early_stopping=how, max_iter=60, n_iter_no_change=5, **FAST).fit(X, noise)
        assert model.n_iter_ == np.argmin(model.validation_loss_[1:]) + 1 < 60
        assert len(model.stage_thresholds_) == model.n_iter_ == model.booster_.num_trees()


def test_stages_end_in_the_model():
    X, y = data()
    model = BoostedThresholds(**BRIEF).fit(X, y)
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_allclose(last, model.predict_proba(X), atol=1e-12)
    *_, last = model.staged_predict(X)
    assert (last == model.predict(X)).all()


def test_warm_start_goes_on():
    X, y = data()
    model = BoostedThresholds(**{**BRIEF, "max_iter": 5}, warm_start=True).fit(X, y)
    first = model.project(X)
    model.set_params(max_iter=15).fit(X, y)
    whole = BoostedThresholds(**BRIEF).fit(X, y)
    stages = list(model.staged_project(X))
    np.testing.assert_allclose(stages[4], first, atol=1e-12)
    assert model.n_iter_ == 15
    assert np.abs(model.project(X) - whole.project(X)).mean() < 0.1
    with pytest.raises(ValueError, match="max_iter=10 must be larger than or equal to the 15 rounds"):
        model.set_params(max_iter=10).fit(X, y)
    assert model.n_iter_ == 15
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(early_stopping=True).fit(X, y)


@pytest.mark.parametrize("n", [2, 5, 17, 40])
@pytest.mark.filterwarnings("ignore:BoostedThresholds. no label needs:UserWarning")
def test_small_data(n):
    X, y = data()
    model = BoostedThresholds(classes=range(4), max_iter=20, **FAST).fit(X[:n], y[:n])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore:BoostedThresholds. no label needs:UserWarning")
def test_constant_columns_and_one_class(capfd):
    X, y = data(40)
    model = BoostedThresholds(**FAST).fit(np.ones_like(X), y)
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], np.bincount(y, minlength=4) / 40, atol=1e-6)
    one = BoostedThresholds(classes=[0, 1, 2], **FAST).fit(X, np.ones(40, dtype=int))
    assert (one.predict(X) == 1).all()
    assert (BoostedThresholds(**FAST).fit(X, np.ones(40, dtype=int)).predict(X) == 1).all()
    assert "Check failed" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("loss", ["implicit", "explicit"])
def test_hinges_have_no_probabilities(loss):
    X, y = data()
    model = BoostedThresholds(loss=loss, **{**BRIEF, "max_iter": 60}).fit(X, y)
    assert -model.score(X, y) < 0.3
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match="candidate"):
        model.set_params(classes=range(4)).fit(X, [frozenset({0, 2})] * 300)


def frame():
    X, y = data()
    table = pd.DataFrame(X, columns=list("abcd"))
    table["kind"] = pd.Categorical(np.array(["u", "v", "w"])[y % 3])
    table.loc[::9, "a"] = np.nan
    table.loc[::11, "kind"] = None
    return table, y


def test_tables_of_all_kinds_say_the_same():
    table, y = frame()
    model = BoostedThresholds(**BRIEF).fit(table, y)
    assert model.feature_importances_[4] > 0
    for other in (pl.from_pandas(table), pa.Table.from_pandas(table), table[list(table)[::-1]]):
        assert (model.project(other) == model.project(table)).all()
    assert np.isfinite(model.project(table.assign(kind="new"))).all()
    with pytest.raises(ValueError, match="no column 'kind'"):
        model.predict(table.drop(columns="kind"))


def test_a_table_model_hands_raw_columns_over():
    table, y = frame()
    model = TableModel(BoostedThresholds(**BRIEF)).fit(table, y)
    encoded = model.encoder_.transform(table)
    assert np.isnan(encoded).sum() == table.isna().sum().sum()
    assert model.estimator_._categorical() == model.encoder_.categorical_ == [4]
    assert model.evaluate(table, y)["mae"] < 0.5


def test_dense_and_csr_say_the_same():
    X, y = data()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, rows = BoostedThresholds(**BRIEF).fit(X, y), sparse.csr_matrix(X)
    assert (BoostedThresholds(**BRIEF).fit(rows, y).project(rows) == dense.project(X)).all()


def test_monotone_by_name_and_place():
    table, y = frame()
    for constraints in ({"b": 1}, [0, 1, 0, 0, 0]):
        model = BoostedThresholds(monotonic_cst=constraints, **BRIEF).fit(table, y)
        grid = pd.concat([table.iloc[:1]] * 50).assign(b=np.linspace(-3, 3, 50))
        assert (np.diff(model.project(grid)) >= 0).all()
    with pytest.raises(ValueError, match="categories"):
        BoostedThresholds(monotonic_cst={"kind": 1}, **BRIEF).fit(table, y)


def test_weights_of_classes():
    X, y = data()
    heavy = BoostedThresholds(class_weight={3: 50.0}, **BRIEF).fit(X, y)
    assert heavy.predict_proba(X)[:, 3].mean() > BoostedThresholds(**BRIEF).fit(X, y).predict_proba(X)[:, 3].mean()


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"engine_params": {"reg_alpha": 1.0}}, "knows no parameter"),
        ({"engine_params": {"num_leaves": 3}}, "sets it"),
        ({"engine_params": {"machines": "elsewhere:12400", "num_machines": 2}}, "rankwise.dask"),
        ({"engine_params": {"boosting": "dart"}}, "boosting"),
        ({"class_weight": {9: 1.0}}, "none of the classes"),
        ({"categorical_features": [9]}, "no column"),
        ({"monotonic_cst": [1]}, "monotonic_cst"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"loss": "implicit", "decision": "mode"}, "decision"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
    ],
)
def test_bad_parameters(parameters, match):
    X, y = data(50)
    with pytest.raises(ValueError, match=match):
        BoostedThresholds(**{**BRIEF, **parameters}).fit(X, y)


def test_infinity_is_refused_and_engine_params_work():
    X, y = data()
    lighter = BoostedThresholds(engine_params={"max_depth": 1}, **BRIEF).fit(X, y)
    assert (lighter.trees_.n_splits == 1).all()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity: row 3, column 1"):
        BoostedThresholds(**BRIEF).fit(X, y)


def test_an_interrupt_keeps_finished_rounds(monkeypatch):
    X, y = data()
    rounds, advance = [], growth.Growth.advance

    def stopped(self):
        rounds.append(1)
        if len(rounds) == 8:
            raise KeyboardInterrupt
        return advance(self)

    monkeypatch.setattr(growth.Growth, "advance", stopped)
    with pytest.warns(UserWarning, match="interrupted; it keeps the 6 rounds"):
        model = BoostedThresholds(**BRIEF).fit(X, y)
    assert model.n_iter_ == model.booster_.num_trees() == 6
    assert model.predict_proba(X).shape == (300, 4)


@pytest.fixture
def listening():
    """A process that hears SIGINT: one that a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("stopping", [False, "cv"])
def test_a_signal_is_not_lost_where_an_exception_would_be(monkeypatch, stopping):
    X, y = data()
    steps, step = [], LikelihoodObjective.step

    def swallowing(self, f, t):
        steps.append(1)
        if len(steps) == 16:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        return step(self, f, t)

    monkeypatch.setattr(LikelihoodObjective, "step", swallowing)
    with pytest.warns(UserWarning, match="interrupted; it keeps the"):
        model = BoostedThresholds(max_iter=60, early_stopping=stopping, **FAST).fit(X, y)
    assert 0 < model.n_iter_ < 20
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
@pytest.mark.slow  # by the clock; the tests above interrupt at a chosen round
@pytest.mark.usefixtures("listening")
def test_a_signal_keeps_finished_rounds():
    X, y = data(2000)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    model = BoostedThresholds(max_iter=100_000, early_stopping=False, **FAST)
    timer.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except KeyboardInterrupt:  # before the second round
            return
    assert 0 < model.n_iter_ < 100_000


def test_a_seed_gives_the_same_model():
    X, y = data()
    trees = [bits_of(BoostedThresholds(subsample=0.5, colsample=0.5, **BRIEF).fit(X, y)) for _ in range(2)]
    assert trees[0] == trees[1]


def test_conformal_sets():
    X, y = data(400)
    model = ConformalOrdinal(BoostedThresholds(**BRIEF), level=0.8).fit(X[:300], y[:300])
    assert model.predict_set(X[300:])[np.arange(100), y[300:]].mean() > 0.65


@pytest.mark.parametrize("categories", ["codes", "onehot"])
def test_what_trees_get_from_a_table(categories):
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "c": ["u", "v", None, "u"]})
    encoder = TableEncoder.for_trees(categories=categories).fit(frame)
    found = np.asarray(encoder.transform(frame), dtype=float)
    assert np.isnan(found[1, 0])  # missing numbers stay, unscaled
    assert found[0, 0] == 1.0
    if categories == "codes":
        assert found.shape == (4, 2)
        assert np.isnan(found[2, 1])
    else:
        assert found.shape == (4, 3)
        assert found[2, 1:].sum() == 0


def test_calibrated_probabilities():
    X, y = data(400)
    model = CalibratedOrdinal(BoostedThresholds(**BRIEF), cv=3).fit(X[:300], y[:300])
    P = model.predict_proba(X[300:])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert -np.log(P[np.arange(100), y[300:]]).mean() < -np.log(np.bincount(y) / len(y))[y[300:]].mean()


def test_the_command_fits_explains_and_reports(tmp_path):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 0] > 0, "up", None), y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = tmp_path / "m.rankwise"
    options = ["--label", "y", "--estimator", "BoostedThresholds", "--set", "max_iter=10"]
    succeed("fit", tmp_path / "rows.csv", *options, "--set", "early_stopping=false", "--output", model)
    assert rankwise.load(model).estimator_.n_iter_ == 10
    found = facts("explain", model, tmp_path / "rows.csv")
    assert "a" in str(found)
    report = tmp_path / "report.html"
    succeed("report", model, tmp_path / "rows.csv", "--label", "y", "--output", report)
    assert "BoostedThresholds" in report.read_text()


def test_warm_start_keeps_the_numbers_of_categories():
    rng = np.random.default_rng(0)

    def table(kinds):
        kind, x = rng.choice(kinds, 200), rng.normal(size=200)
        return pd.DataFrame({"kind": pd.Categorical(kind), "x": x}), np.digitize(x + 3.0 * (kind == "b"), [0, 2]) + 1

    X, y = table(["b", "c"])
    model = BoostedThresholds(**{**BRIEF, "max_iter": 10}, warm_start=True).fit(X, y)
    before = model.score(X, y)
    model.set_params(max_iter=11).fit(*table(["a", "b", "c"]))
    assert model.score(X, y) > before - 0.1


@pytest.mark.parametrize("method", ["staged_project", "staged_predict", "staged_predict_proba"])
def test_stages_of_a_model_that_is_not_fitted(method):
    X, _ = data(10)
    with pytest.raises(NotFittedError):
        next(getattr(BoostedThresholds(), method)(X))


@pytest.mark.parametrize("sampled", [{"subsample": 0.7}, {"subsample": 0.3}, {"subsample": 0.4, "colsample": 0.4}])
@pytest.mark.parametrize("early_stopping", [False, True, "cv"])
def test_a_round_whose_sample_has_no_split_grows_no_tree_and_ends_nothing(early_stopping, sampled):
    for seed in range(6):
        X, y = np.random.default_rng(seed).normal(size=(17, 3)), np.arange(17) % 3
        model = BoostedThresholds(**sampled, early_stopping=early_stopping, random_state=seed, n_jobs=1).fit(X, y)
        assert model.n_iter_ == len(model.stage_thresholds_) == model.booster_.num_trees()
    if sampled == {"subsample": 0.7} and not early_stopping:
        assert model.n_iter_ >= 290  # of 300 rounds


def test_trees_that_cannot_be_continued_stay_as_they_are():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 3
    model = BoostedThresholds(warm_start=True, early_stopping=False, max_iter=5, n_jobs=1).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(max_iter=20, min_samples_leaf=30).fit(X, y)  # no split has 30 rows on both sides
    assert model.n_iter_ == model.booster_.num_trees() == 5
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(("n", "subsample"), [(3, 0.3), (9, 0.1), (12, 0.01)])
@pytest.mark.parametrize("early_stopping", [False, "cv"])
def test_a_small_share_of_few_rows_draws_one(n, subsample, early_stopping, rng, capfd):
    model = BoostedThresholds(subsample=subsample, early_stopping=early_stopping, max_iter=5, random_state=0)
    model.fit(rng.normal(size=(n, 2)), np.arange(n) % 3)
    assert np.isfinite(model.predict_proba(rng.normal(size=(n, 2)))).all()
    assert "Fatal" not in "".join(capfd.readouterr())
