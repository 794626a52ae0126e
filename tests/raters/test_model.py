import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from rankwise import PRIL, CumulativeLink, load, save
from rankwise.raters import RaterModel, combine
from tests.reference import raters as reference


def simulated(seed=0, n_items=150, n_raters=12, n_classes=5, per_item=4, wide=0.3):
    """Answers of raters with shifts, precisions and slips; some are intervals, some candidate sets. And the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)
    shift, noise, slip = rng.normal(0, 0.6, n_raters), rng.uniform(0.2, 1.2, n_raters), rng.uniform(0, 0.2, n_raters)
    rows = {"item": [], "rater": [], "label": []}
    for i in range(n_items):
        for r in rng.choice(n_raters, per_item, replace=False):
            answer = int(np.clip(np.rint(truth[i] + shift[r] + rng.logistic(0, noise[r] / 2)), 0, n_classes - 1))
            if rng.random() < slip[r]:
                answer = int(rng.integers(n_classes))
            label = {answer}
            if rng.random() < wide:
                label = {max(answer - 1, 0), answer} if rng.random() < 0.7 else {answer, (answer + 2) % n_classes}
            rows["item"].append(f"i{i}")
            rows["rater"].append(f"r{r}")
            rows["label"].append(label)
    return rows, truth


def by_item(model, table):
    found = {name: [] for name in model.items_.tolist()}
    place = {name: r for r, name in enumerate(model.raters_.tolist())}
    for item, rater, label in zip(table["item"], table["rater"], table["label"], strict=True):
        found[item].append((place[rater], label))
    return list(found.values())


@pytest.fixture(scope="module")
def small():
    table, _ = simulated(n_items=40, n_raters=5, n_classes=4, per_item=3)
    model = RaterModel(classes=range(4), tol=0.0, max_iter=20000)
    return table, model.fit(table)


def test_posteriors_and_objective_are_those_of_the_formulas(small):
    table, model = small
    items = by_item(model, table)
    joint = np.array([reference.joint(answers, model) for answers in items])
    np.testing.assert_allclose(model.posterior_, joint / joint.sum(axis=1, keepdims=True), atol=1e-10)
    assert model.objective_ == pytest.approx(reference.log_posterior(items, model), abs=1e-8)


def test_the_objective_never_falls_and_ends_where_its_slope_vanishes(small):
    table, model = small
    assert (np.diff(model.objective_path_) >= 0.0).all()
    items = by_item(model, table)

    def at(name, place, change):
        moved = clone(model)
        moved.__dict__.update({key: np.copy(value) for key, value in vars(model).items() if key.endswith("_")})
        vars(moved)[name][place] += change
        return reference.log_posterior(items, moved)

    places = [("shift_", 0), ("precision_", 1), ("spread_", 2), ("slips_", 3), ("thresholds_", 1), ("positions_", 2)]
    for name, place in places:
        slope = (at(name, place, 1e-5) - at(name, place, -1e-5)) / 2e-5
        assert abs(slope) < 2e-3, name


def test_it_beats_the_majority_on_raters_with_biases():
    table, truth = simulated(seed=3, n_items=600, n_raters=20, per_item=4, wide=0.0)
    model = RaterModel(classes=range(5)).fit(table)
    majority = combine(table, "majority", classes=range(5)).labels
    voted = (majority.lower + majority.upper) / 2
    assert np.abs(model.predict() - truth).mean() < 0.9 * np.abs(voted - truth).mean()


def test_raters_are_told_apart():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 4, size=300)
    seen = {
        "low": truth - (rng.random(300) < 0.8),
        "high": truth + (rng.random(300) < 0.8),
        "sharp": truth,
        "guess": rng.integers(5, size=300),
        "fair": truth,
    }
    model = RaterModel(classes=range(5)).fit(seen)
    shift = dict(zip(model.raters_.tolist(), model.shift_, strict=True))
    assert shift["low"] > shift["fair"] + 0.3  # higher thresholds: lower answers
    assert shift["high"] < shift["fair"] - 0.3
    slips = dict(zip(model.raters_.tolist(), model.slips_, strict=True))
    assert slips["guess"] > 0.3 > 0.1 > slips["sharp"]
    assert (model.predict() == truth).mean() > 0.97


def test_features_help_where_answers_are_few():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2))
    truth = np.digitize(X @ [1.0, -1.0] + 0.3 * rng.normal(size=400), [-1, 0, 1])
    said = np.clip(truth + rng.integers(-1, 2, size=400), 0, 3)
    more = np.clip(truth + rng.integers(-1, 2, size=400), 0, 3)
    table = {"a": said, "b": more}
    without = RaterModel(classes=range(4)).fit(table)
    model = RaterModel(classes=range(4)).fit(table, X)
    assert (np.diff(model.objective_path_) >= 0.0).all()
    assert np.abs(model.predict() - truth).mean() < 0.8 * np.abs(without.predict() - truth).mean()
    assert np.abs(model.predict(X=X) - truth).mean() < 0.5
    frame = pd.DataFrame(X[::-1], index=range(399, -1, -1), columns=["u", "v"])
    named = RaterModel(classes=range(4)).fit(table, frame)  # rows by name, not by place
    np.testing.assert_allclose(named.posterior_, model.posterior_, atol=1e-6)
    with pytest.raises(ValueError, match="no row for item 399"):
        RaterModel(classes=range(4)).fit(table, frame.iloc[1:])
    with pytest.raises(ValueError, match="fitted without features"):
        without.predict(X=X)


def test_other_items_of_known_raters(small):
    table, model = small
    again = model.predict_proba(table)
    np.testing.assert_allclose(again, model.posterior_, atol=1e-9)
    stranger = model.predict_proba({"item": [1], "rater": ["nobody"], "label": [0]})
    assert stranger.argmax() == 0


def test_what_estimators_take(small):
    _, model = small
    X = np.linspace(-1, 1, 40).reshape(-1, 1)
    labels = model.intervals(0.9)
    P = model.predict_proba()
    inside = np.where(labels.admissible(), P, 0.0).sum(axis=1)
    assert (inside >= 0.9 - 1e-12).all()
    PRIL(random_state=0).fit(X, labels)
    rows, y, weight = model.weighted()
    np.testing.assert_allclose(np.bincount(rows, weight), 1.0)
    CumulativeLink(classes=range(4)).fit(X[rows], y, sample_weight=weight)
    with pytest.raises(ValueError, match="least must lie"):
        model.weighted(0.5)


def test_saved_and_loaded_it_is_the_same(small, tmp_path):
    table, model = small
    save(model, tmp_path / "raters.rankwise")
    again = load(tmp_path / "raters.rankwise")
    assert np.array_equal(again.predict_proba(), model.predict_proba())
    assert np.array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.items_.tolist() == model.items_.tolist()
    save(again, tmp_path / "again.rankwise")
    assert (tmp_path / "again.rankwise").read_bytes() == (tmp_path / "raters.rankwise").read_bytes()


def test_a_model_with_features_is_saved_with_them(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    table = {"a": (X[:, 0] > 0).astype(int), "b": (X[:, 0] > 0.1).astype(int)}
    model = RaterModel(classes=[0, 1]).fit(table, X)
    save(model, tmp_path / "m.rankwise")
    assert np.array_equal(load(tmp_path / "m.rankwise").predict_proba(X=X), model.predict_proba(X=X))


def test_bad_input_leaves_the_model_as_it_was(small):
    _, model = small
    before = model.posterior_.copy()
    twin = clone(model)
    with pytest.raises(NotFittedError):
        twin.predict()
    for table, message in (
        ({"item": [1], "rater": ["a"], "label": [None]}, "no answer says anything"),
        ({"item": [1], "rater": ["a"], "label": [9]}, "9 is not one of the classes"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(table)
    assert np.array_equal(model.posterior_, before)
    with pytest.raises(ValueError, match="at least two classes"):
        RaterModel(classes=[1]).fit({"item": [1], "rater": ["a"], "label": [1]})
    with pytest.raises(ValueError, match="cost matrix"):
        RaterModel(classes=[1, 2], decision=np.eye(3)).fit({"item": [1], "rater": ["a"], "label": [1]})


def test_stopping_early_warns():
    table, _ = simulated(n_items=30)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        RaterModel(classes=range(5), max_iter=2).fit(table)


@pytest.mark.parametrize("decision", ["mode", "mean", [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]])
def test_decisions(small, decision):
    table, model = small
    other = RaterModel(classes=range(4), decision=decision, tol=0.0, max_iter=20000).fit(table)
    P = model.predict_proba()
    expected = np.floor(P @ np.arange(4) + 0.5) if decision == "mean" else P.argmax(axis=1)
    assert np.array_equal(other.predict(), expected)
