"""The right model for a table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise import SVOR, AutoOrdinal, BlendedOrdinal, CumulativeLink, TableModel
from rankwise.auto import _search
from rankwise.auto._search import Budget
from rankwise.auto.blended import stacking_weights
from rankwise.labels import encode
from rankwise.metrics import log_score
from rankwise.table_model import table_encoder

FEW = ["constant", "SVOR", "CumulativeLink"]


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40, 10, n), "colour": rng.choice(["red", "green"], n)})
    score = (frame.age - 40) / 10 + (frame.colour == "red") + 0.3 * rng.normal(size=n)
    y = np.searchsorted([-0.5, 0.5, 1.5], score) + 1
    labels = np.column_stack([y, np.minimum(y + rng.integers(0, 2, n), 4)]).astype(float)
    labels[::15] = np.nan
    return frame, labels


def test_it_chooses_fits_and_says_how_good_all_were():
    frame, labels = table()
    model = AutoOrdinal(n_fits=100, estimators=FEW, classes=[1, 2, 3, 4]).fit(frame, labels)
    board = model.leaderboard_
    assert {entry["model"] for entry in board} == set(FEW)
    assert board[0]["model"] == model.best_name_
    assert board[-1]["model"] == "constant"
    assert [entry["error"] for entry in board] == sorted(entry["error"] for entry in board)
    for entry in board:
        assert entry["nearest"] <= entry["farthest"]
        assert entry["rows"] == 140  # those with a label
        assert entry["fit_seconds"] > 0
    assert model.score(frame, labels) > -0.3
    assert "constant" in str(model)


def test_the_choice_is_that_of_the_folds_and_the_model_that_of_all_rows():
    frame, labels = table()
    model = AutoOrdinal(n_fits=100, estimators=["constant", "SVOR"]).fit(frame, labels)
    same = TableModel(SVOR(alpha="auto")).fit(frame, encode(labels))
    np.testing.assert_array_equal(model.predict(frame), same.predict(frame))


def test_a_number_of_fits_is_a_budget_that_can_be_repeated():
    frame, labels = table()
    boards = [AutoOrdinal(n_fits=11, estimators=FEW).fit(frame, labels).leaderboard_ for _ in range(2)]
    timeless = [[{k: v for k, v in entry.items() if k != "fit_seconds"} for entry in board] for board in boards]
    assert str(timeless[0]) == str(timeless[1])
    assert boards[0][-1]["remark"] == "no budget left"  # two candidates in five folds, the third has no room
    with pytest.raises(ValueError, match="the budget allows no fit"):
        AutoOrdinal(n_fits=4).fit(frame, labels)


def test_a_budget_for_one_candidate_goes_to_a_model_and_warns():
    frame, labels = table()
    with pytest.warns(UserWarning, match=r"allowed one of 3 candidates, CumulativeLink, .* Raise n_fits or time"):
        model = AutoOrdinal(n_fits=6, estimators=FEW).fit(frame, labels)
    assert model.best_name_ == "CumulativeLink"
    assert np.unique(model.predict(frame)).size > 1


def test_time_ends_the_search(monkeypatch):
    clock = iter(range(0, 10_000, 20))
    monkeypatch.setattr(_search.time, "perf_counter", lambda: float(next(clock)))
    frame, labels = table()
    with pytest.warns(UserWarning, match="the budget allowed one of 3 candidates, constant, which is chosen without"):
        model = AutoOrdinal(time_budget=50, estimators=FEW).fit(frame, labels)
    remarks = [entry["remark"] for entry in model.leaderboard_]
    assert "no budget left" in remarks
    assert "" in remarks


def test_what_is_left_of_a_budget():
    budget = Budget(fits=10)
    budget.fitted = 6
    assert budget.allows(4, 1e9)
    assert not budget.allows(5, 0.0)
    assert (budget.spent, budget.total) == (6, 10)


def test_many_rows_are_halved_and_the_default_stays(monkeypatch):
    monkeypatch.setattr(_search, "_FIRST_ROWS", 40)
    frame, labels = table(400)
    model = AutoOrdinal(n_fits=1000, estimators=["constant", "SVOR", "CumulativeLink, linear", "CumulativeLink"], cv=3)
    board = model.fit(frame, labels).leaderboard_
    rows = {entry["model"]: entry["rows"] for entry in board}
    assert rows["constant"] == 40
    assert rows["CumulativeLink"] == rows[model.best_name_] == 373
    assert board[-1]["remark"] == "judged on fewer rows"


def test_an_interrupt_ends_with_the_best_so_far(monkeypatch):
    frame, labels = table()

    def interrupted(self, *arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(SVOR, "fit", interrupted)  # the constant and the default are judged by then
    model = AutoOrdinal(n_fits=100, estimators=FEW).fit(frame, labels)
    assert model.best_name_ == "CumulativeLink"
    monkeypatch.setattr(CumulativeLink, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):  # nothing to end with
        AutoOrdinal(n_fits=100, estimators=FEW).fit(frame, labels)


def test_candidates_that_cannot_are_named_and_passed_over():
    frame, labels = table()
    model = AutoOrdinal(n_fits=100, estimators={"mine": SVOR(alpha=0.1), "exact only": rw.PRank(random_state=0)})
    board = model.fit(frame, labels).leaderboard_
    assert model.best_name_ == "mine"
    assert "does not learn from interval labels" in board[-1]["remark"]
    with pytest.raises(ValueError, match=r"there is no candidate 'SVM'\. Known: constant, CumulativeLink"):
        AutoOrdinal(estimators=["SVM"]).fit(frame, labels)


@pytest.mark.parametrize("metric", ["zero_one", "squared", "log", "ranked"])
def test_other_metrics(metric):
    frame, labels = table(80)
    model = AutoOrdinal(n_fits=100, metric=metric, estimators=["constant", "CumulativeLink"]).fit(frame, labels)
    assert model.best_name_ == "CumulativeLink"
    assert model.leaderboard_[0]["nearest"] <= model.leaderboard_[0]["farthest"]
    assert model.predict_proba(frame).shape == (80, 4)


def test_every_container_of_rows():
    frame, labels = table()
    expected = AutoOrdinal(n_fits=100, estimators=["SVOR"]).fit(frame, labels).predict(frame)
    other = pl.DataFrame({name: frame[name].to_numpy() for name in frame})
    for X in (other, other.to_arrow()):
        np.testing.assert_array_equal(AutoOrdinal(n_fits=100, estimators=["SVOR"]).fit(X, labels).predict(X), expected)
    X = np.random.default_rng(0).normal(size=(150, 3))
    assert AutoOrdinal(n_fits=100, estimators=["SVOR"]).fit(X, labels).predict(X).shape == (150,)
    model = AutoOrdinal(n_fits=100, estimators=["SVOR"]).fit(sparse.csr_matrix(X), labels)
    assert model.predict(sparse.csr_matrix(X)).shape == (150,)


def test_the_package_can_be_called():
    frame, labels = table()
    assert rw.auto(frame, labels, n_fits=10, estimators=["SVOR"]).best_name_ == "SVOR"


def test_it_is_saved_with_its_leaderboard(tmp_path):
    frame, labels = table()
    model = AutoOrdinal(n_fits=100, estimators=FEW, blend=2).fit(frame, labels)
    rw.save(model, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    assert str(copy.leaderboard_) == str(model.leaderboard_)
    np.testing.assert_array_equal(copy.predict(frame), model.predict(frame))


def test_progress_is_shown_when_asked_for(capsys):
    frame, labels = table(60)
    AutoOrdinal(n_fits=100, estimators=["SVOR"], verbose=True).fit(frame, labels)
    assert "of the budget  SVOR" in capsys.readouterr().err
    AutoOrdinal(n_fits=100, estimators=["SVOR"]).fit(frame, labels)
    assert capsys.readouterr().err == ""


# -- blending ----------------------------------------------------------------------------------------------------------


def test_stacking_finds_the_weights_of_the_best_mixture(rng):
    by_model = rng.random((200, 3))
    v = stacking_weights(by_model)

    def value(v):
        return np.log(by_model @ v).mean()

    gradient = (by_model / (by_model @ v)[:, None]).mean(axis=0)
    assert v.sum() == pytest.approx(1.0)
    assert gradient.max() <= 1.0 + 1e-3  # the condition of the optimum on the simplex: equal to 1 where v > 0
    for _ in range(20):
        assert value(rng.dirichlet(np.ones(3))) <= value(v) + 1e-9
    doubled = stacking_weights(np.vstack([by_model, by_model[:50]]))
    weighted = stacking_weights(by_model, np.where(np.arange(200) < 50, 2.0, 1.0))
    np.testing.assert_allclose(doubled, weighted, atol=1e-4)


def test_a_blend_is_no_worse_than_its_parts_and_is_saved(tmp_path):
    frame, labels = table(200)
    parts = [TableModel(CumulativeLink(alpha=alpha)) for alpha in (3.0, 1e-4)]
    model = BlendedOrdinal(parts).fit(frame, labels)
    scores = [
        log_score(labels, one.fit(frame, encode(labels)).predict_proba(frame), classes=model.classes_) for one in parts
    ]
    assert log_score(labels, model.predict_proba(frame), classes=model.classes_) <= max(scores)
    np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1.0)
    rw.save(model, tmp_path / "m")
    np.testing.assert_array_equal(rw.load(tmp_path / "m").predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="SVOR has none: put it into CalibratedOrdinal"):
        BlendedOrdinal([SVOR()]).fit(frame, labels)
    with pytest.raises(ValueError, match="estimators must hold at least one estimator"):
        BlendedOrdinal([]).fit(frame, labels)


def test_a_search_blends_if_that_is_better():
    frame, labels = table(200)
    given = {"strong": TableModel(CumulativeLink(alpha=1.0)), "weak": TableModel(CumulativeLink(alpha=1e-4))}
    model = AutoOrdinal(n_fits=100, metric="log", estimators=given, blend=2).fit(frame, labels)
    errors = {entry["model"]: entry["error"] for entry in model.leaderboard_}
    if model.best_name_ == "blend":
        assert errors["blend"] < min(errors["strong"], errors["weak"])
        assert isinstance(model.best_estimator_, BlendedOrdinal)
        assert "weak" in model.leaderboard_[0]["remark"]
    else:
        assert "blend" not in errors


def test_a_forged_mixture_of_what_is_no_model_is_refused():
    X, y = np.arange(12.0).reshape(-1, 1), np.arange(12) // 4
    model = BlendedOrdinal([CumulativeLink(tol=0.1), CumulativeLink(alpha=1.0, tol=0.1)], cv=2).fit(X, y)
    with pytest.raises(ValueError, match=r"estimators must have predict_proba. list has none"):
        BlendedOrdinal([[], CumulativeLink()]).from_plain(model.to_plain())


def test_a_kernel_is_explained_by_raw_columns_saved_and_served(tmp_path):
    frame, labels = table()
    search = AutoOrdinal(n_fits=100, estimators=["CumulativeLink, kernel"], cv=2).fit(frame, labels)
    model = search.best_estimator_
    assert model.estimator_.n_features_in_ == 35  # rows that span the kernel: a quarter of those with a label
    rw.save(search, tmp_path / "m")
    np.testing.assert_array_equal(rw.load(tmp_path / "m").predict_proba(frame), search.predict_proba(frame))
    found = rw.explain(search, frame[:3], background=frame)
    assert found.columns == list(frame.columns)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), model.project(frame[:3]), atol=1e-9)
    assert table_encoder(model.encoder_).problems(frame) == []
    assert table_encoder(StandardScaler()) is None
