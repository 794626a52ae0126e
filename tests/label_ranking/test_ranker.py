"""The label ranker as an estimator: forms of labels, streams, chunks, saving, errors, scikit-learn."""

import json
import os
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import label_ranking_loss, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwise as rw
from rankwise import LabelRanker
from rankwise.label_ranking import entropic_joint
from rankwise.labels import Preferences

ESTIMATORS = [
    LabelRanker("fixed"),
    LabelRanker("optimal"),
    LabelRanker("joint", C=0.1),
    LabelRanker("optimal", average=False),
    LabelRanker("fixed", "entropic"),
    LabelRanker("optimal", "entropic", margin=0.2),
    LabelRanker("joint", "entropic", margin=0.2),
]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=[str(e) for e in ESTIMATORS])

WEIGHT_IS_NOT_REPETITION = (
    "an online update by c is one step of size c, as in the papers; c presentations of a row are up to c steps, each "
    "from where the last one led"
)
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHT_IS_NOT_REPETITION,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHT_IS_NOT_REPETITION,
    "check_classifiers_multilabel_representation_invariance": "nested lists are lists of labels, not a matrix",
    "check_classifiers_multilabel_output_format_predict": (
        "a ranker orders the labels and does not decide how many are relevant: predict gives the best one"
    ),
}


@parametrize_with_checks(
    [LabelRanker(), LabelRanker("joint", "entropic", margin=0.2)], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class Data:
    """Rows whose relevant labels can be learnt, some without information, with weights."""

    def __init__(self, n=120, d=6, k=4, seed=0):
        rng = np.random.default_rng(seed)
        self.X = np.round(rng.uniform(-1, 1, (n, d)), 2) * (rng.random((n, d)) < 0.7)
        scores = self.X @ rng.standard_normal((d, k)) + 0.2 * rng.standard_normal((n, k))
        self.indicator = (scores > np.median(scores, axis=1, keepdims=True)).astype(int)
        self.indicator[::17] = 0
        self.indicator[5::23] = 1
        self.lists = [np.flatnonzero(row).tolist() for row in self.indicator]
        self.weight = rng.choice([0.0, 0.5, 1.0, 2.0], n)


DATA = Data()


def prepared(estimator):
    return clone(estimator).set_params(classes=[0, 1, 2, 3])


def state_of(model):
    return {name: array.copy() for name, array in model._trimmed_state().items()}


def assert_same_model(a, b):
    """Equal to the bit, spare room apart."""
    left, right = state_of(a), state_of(b)
    assert left.keys() == right.keys()
    for name, array in left.items():
        np.testing.assert_array_equal(array, right[name], err_msg=name)


@each
def test_rows_chunks_and_one_epoch_end_in_the_same_model(estimator):
    whole = prepared(estimator).partial_fit(DATA.X, DATA.indicator, sample_weight=DATA.weight)
    chunked, single, epoch = (clone(whole) for _ in range(3))
    for part in (slice(0, 1), slice(1, 20), slice(20, 119), slice(119, 120)):
        chunked.partial_fit(DATA.X[part], DATA.indicator[part], sample_weight=DATA.weight[part])
    for x, labels, w in zip(DATA.X, DATA.lists, DATA.weight, strict=True):
        single.learn_one(dict(enumerate(x)), set(labels), w=w)
    epoch.set_params(n_epochs=1, shuffle=False).fit(DATA.X, DATA.lists, sample_weight=DATA.weight)
    for other in (chunked, single, epoch):
        assert_same_model(whole, other)
        np.testing.assert_array_equal(other.predict_ranking(DATA.X), whole.predict_ranking(DATA.X))
        assert other.dual_value_ == whole.dual_value_


@each
def test_rows_of_every_form_give_the_same_bits(estimator):
    dense = prepared(estimator).partial_fit(DATA.X, DATA.lists)
    wide = sparse.csr_matrix(DATA.X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    columns = {name: DATA.X[:, j] for j, name in enumerate("abcdef")}
    frames = pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)
    for X in (sparse.csr_matrix(DATA.X), sparse.csc_array(DATA.X), wide, *frames):
        other = clone(dense).partial_fit(X, DATA.lists)
        assert_same_model(dense, other)
        np.testing.assert_array_equal(other.decision_function(X), dense.decision_function(DATA.X))
    single = DATA.X.astype(np.float32)
    assert_same_model(
        clone(dense).partial_fit(single, DATA.lists), clone(dense).partial_fit(single.astype(np.float64), DATA.lists)
    )


@each
def test_labels_of_every_form_give_the_same_model(estimator):
    model = clone(estimator).set_params(n_epochs=2, random_state=0).fit(DATA.X, DATA.indicator)
    names = np.array(["a", "b", "c", "d"])
    named = [names[labels].tolist() for labels in DATA.lists]
    forms = [DATA.indicator.astype(bool), sparse.csr_array(DATA.indicator), DATA.lists, map_sets(DATA.lists), named]
    forms += [pd.DataFrame(DATA.indicator, columns=names), pl.DataFrame(DATA.indicator, schema=list(names))]
    for y in forms:
        other = clone(model).fit(DATA.X, y)
        np.testing.assert_array_equal(other.coef_, model.coef_)
        assert other.score(DATA.X, y) == model.score(DATA.X, DATA.indicator)
    assert other.classes_.tolist() == ["a", "b", "c", "d"]
    shuffled = clone(model).set_params(classes=["d", "b", "a", "c"]).fit(DATA.X, named)
    assert shuffled.classes_.tolist() == ["d", "b", "a", "c"]


def map_sets(lists):
    return [set(labels) if labels else None for labels in lists]


@each
def test_one_relevant_label_a_row_is_a_list_of_one(estimator):
    y = DATA.indicator.argmax(axis=1)
    model = clone(estimator).set_params(random_state=0).fit(DATA.X, y)
    other = clone(model).fit(DATA.X, [[label] for label in y])
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert set(model.predict(DATA.X)) <= set(y)


@each
def test_rankings_are_those_of_ranking_then_learning(estimator):
    model = prepared(estimator)
    looped = clone(model)
    rankings = model.progressive_predict(DATA.X, DATA.lists, sample_weight=DATA.weight)
    assert rankings.dtype == np.int32
    np.testing.assert_array_equal(np.sort(rankings, axis=1), np.tile(np.arange(4), (120, 1)))
    assert_same_model(model, clone(model).partial_fit(DATA.X, DATA.lists, sample_weight=DATA.weight))
    for i in range(len(DATA.X)):
        row = slice(i, i + 1)
        if i > 0:
            np.testing.assert_array_equal(looped.predict_ranking(DATA.X[row])[0], rankings[i])
            assert looped.rank_one(dict(enumerate(DATA.X[i]))) == rankings[i].tolist()
            assert looped.predict_one(dict(enumerate(DATA.X[i]))) == rankings[i, 0] == looped.predict(DATA.X[row])[0]
        looped.partial_fit(DATA.X[row], DATA.lists[row], sample_weight=DATA.weight[row])
    top = clone(model).progressive_predict(DATA.X, DATA.lists, sample_weight=DATA.weight, top=2)
    np.testing.assert_array_equal(top, rankings[:, :2])


@each
def test_labels_that_appear_during_a_stream(estimator):
    """Chunks of any size, single rows and single examples agree about when a label joins."""
    names = ["late", "b", "a", "last"]  # in the order of their codes, not of their appearance
    y = [[names[code] for code in labels] for labels in DATA.lists]
    whole = clone(estimator)
    rankings = whole.progressive_predict(DATA.X, y, sample_weight=DATA.weight)
    appearance = list(dict.fromkeys(label for row in y for label in row))
    assert whole.classes_.tolist() == appearance
    chunked, single = clone(estimator), clone(estimator)
    for part in (slice(0, 3), slice(3, 4), slice(4, 60), slice(60, 120)):
        chunked.partial_fit(DATA.X[part], y[part], sample_weight=DATA.weight[part])
    for i, (x, labels, w) in enumerate(zip(DATA.X, y, DATA.weight, strict=True)):
        known = single.rank_one(dict(enumerate(x)))
        assert known == whole.classes_[rankings[i]].tolist()[: len(known)]
        single.learn_one(dict(enumerate(x)), labels, w=w)
    assert_same_model(whole, chunked)
    assert_same_model(whole, single)
    assert chunked.classes_.tolist() == single.classes_.tolist() == appearance


@each
def test_streams_of_dicts_bring_names(estimator):
    model = clone(estimator)
    assert model.predict_one({"a": 1.0}) is None
    assert model.rank_one({"a": 1.0}) == []
    model.learn_one({"a": 1.0}, None)
    model.learn_one({"a": 1.0}, [])
    assert model.predict_one({"a": 1.0}) is None
    for x, labels in zip(DATA.X, DATA.lists, strict=True):
        known = "abcdef" if model.__sklearn_is_fitted__() and model.n_updates_ > 30 else "abc"
        model.learn_one({name: v for name, v in zip("abcdef", x, strict=True) if name in known}, set(labels))
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.coef_.shape == (4, 6)
    frame = pd.DataFrame(DATA.X, columns=list("abcdef"))
    rows = frame.to_dict("records")
    np.testing.assert_array_equal(model.predict(frame), [model.predict_one(row) for row in rows])
    assert model.rank_one({"c": 1.0, "unheard of": 5.0}) == model.rank_one({"c": 1.0})
    if model.complexity == "entropic":
        np.testing.assert_allclose(model.coef_.sum(axis=1) + model.intercept_, 1.0)


def test_a_new_name_joins_the_squared_norm_as_a_column_that_was_zero():
    X = DATA.X.copy()
    X[:60, 3:] = 0.0
    whole, late = LabelRanker(classes=range(4)).partial_fit(X, DATA.lists), LabelRanker(classes=range(4))
    for i, (x, labels) in enumerate(zip(X, DATA.lists, strict=True)):
        late.learn_one({j: x[j] for j in range(3 if i < 60 else 6)}, labels)
    assert_same_model(whole, late)


def test_a_new_name_joins_the_relative_entropy_with_the_weight_of_a_feature_that_never_moved():
    model = LabelRanker("fixed", "entropic", C=2.0, classes=["x", "y"])
    model.learn_one({"a": 1.0, "b": 1.0, "c": 0.0}, ["y"])
    before, dual = model.coef_, model.dual_value_
    model.learn_one({"d": 0.0}, None)
    after = model.coef_
    np.testing.assert_allclose(after[:, 3], after[:, 2])
    np.testing.assert_allclose(after[:, :3] / after[:, 2:3], before / before[:, 2:3])
    np.testing.assert_allclose(after.sum(axis=1) + model.intercept_, 1.0)
    assert model.dual_value_ != dual  # uniform over one feature more is another start


def test_names_may_join_a_label_whose_exponents_all_sank():
    model = LabelRanker("fixed", "entropic", C=1000.0, classes=["x", "y"], fit_intercept=False)
    model.learn_one({"a": 1.0, "b": 1.0}, ["y"])  # all exponents of x are -1000 now
    model.learn_one({"c": 1.0}, None)
    np.testing.assert_allclose(model.coef_, [[0.0, 0.0, 1.0], [0.5, 0.5, 0.0]], atol=1e-12)
    assert np.isfinite(model.dual_value_)


@each
def test_rows_without_information_change_nothing(estimator):
    model = prepared(estimator).partial_fit(DATA.X, DATA.lists)
    before = state_of(model)
    X = DATA.X[:5]
    model.partial_fit(X, [None] * 5)
    model.partial_fit(X, [[]] * 5)
    model.partial_fit(X, [[0, 1, 2, 3]] * 5)
    model.partial_fit(X, np.zeros((5, 4), dtype=int))
    model.partial_fit(X, Preferences([None] * 5)) if model.update != "joint" else None
    model.partial_fit(X[:2], [[1], [2]], sample_weight=[0.0, 0.0])
    model.learn_one({0: 1.0}, None)
    model.learn_one({0: 1.0}, {1}, w=0.0)
    for name, array in before.items():
        np.testing.assert_array_equal(state_of(model)[name], array, err_msg=name)


@each
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_bad_row_leaves_the_model_as_it_was_and_is_named(estimator, bad, form):
    model = prepared(estimator).partial_fit(form(DATA.X), DATA.lists)
    before, attributes = state_of(model), set(vars(model))
    X = DATA.X.copy()
    X[97, 3] = bad
    what = "NaN" if np.isnan(bad) else "infinity"
    for learn in (model.partial_fit, model.progressive_predict, model.fit):
        with pytest.raises(ValueError, match=f"{what}: row 97, column 3"):
            learn(form(X), DATA.lists)
    for ask in (model.predict, model.predict_ranking, model.decision_function):
        with pytest.raises(ValueError, match=f"{what}: row 97, column 3"):
            ask(form(X))
    with pytest.raises(ValueError, match=f"{what}: row 0, column 6"):
        model.learn_one({"new": bad}, [1])
    assert set(vars(model)) == attributes
    for name, array in before.items():
        np.testing.assert_array_equal(state_of(model)[name], array, err_msg=name)


@each
def test_numbers_too_large_for_a_score_are_refused_before_anything_changes(estimator):
    model = prepared(estimator).partial_fit(DATA.X, DATA.lists)
    before = state_of(model)
    X = DATA.X.copy()
    X[7] = 1e300
    with pytest.raises(ValueError, match=r"row 7: .*too large for this model, up to 1e\+300 in row 7, column 0"):
        model.partial_fit(X, DATA.lists)
    for name, array in before.items():
        np.testing.assert_array_equal(state_of(model)[name], array, err_msg=name)


@each
def test_wrong_input_is_refused_before_anything_changes(estimator):
    model = prepared(estimator).partial_fit(DATA.X, DATA.lists)
    before = state_of(model)
    cases = [
        (dict(X=DATA.X, y=DATA.lists[:-1]), "X has 120 rows, y has 119"),
        (dict(X=DATA.X[:, :4], y=DATA.lists), "X has 4 features"),
        (dict(X=DATA.X[:1], y=[[9]]), r"row 0: 9 is not one of the labels \[0, 1, 2, 3\]"),
        (dict(X=DATA.X[:1], y=[9]), r"row 0: 9 is not one of the labels \[0, 1, 2, 3\]"),
        (dict(X=DATA.X[:2], y=np.zeros((2, 3))), r"one column per label: 4 for \[0, 1, 2, 3\]\. Got shape \(2, 3\)"),
        (dict(X=DATA.X[:2], y=np.array([[0, 1, 0, 0], [0, 0, 2, 0]])), "row 1: an indicator must be 0 or 1. Got 2"),
        (dict(X=DATA.X[:1], y=[[1, 1]]), "row 0: label 1 is listed twice"),
        (dict(X=DATA.X[:1], y=[[1, None]]), "row 0: a list of labels must not hold missing values"),
        (dict(X=DATA.X, y=DATA.lists, sample_weight=np.full(120, -1.0)), "row 0: a weight must be a finite number"),
        (dict(X=DATA.X, y=DATA.lists, classes=[0, 1]), r"classes=\[0, 1\] is not the same as before"),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(**arguments)
    for x, y, w, message in (
        ({0: 1.0}, [1], -1.0, "a weight must be"),
        ({0: 1.0}, [7], 1.0, "7 is not one of the labels"),
        ({0: "red"}, [1], 1.0, r"feature 0 must be a number\. Got 'red'"),
        ({0: 1.0}, Preferences([[(1, 2)], [(1, 2)]]), 1.0, "the preferences of one example. Got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            model.learn_one(x, y, w)
    for top in (0, 1.5, True):
        with pytest.raises(ValueError, match="top must be an integer >= 1"):
            model.progressive_predict(DATA.X, DATA.lists, top=top)
        with pytest.raises(ValueError, match="n must be an integer >= 1"):
            model.predict_top(DATA.X, top)
    for name, array in before.items():
        np.testing.assert_array_equal(state_of(model)[name], array, err_msg=name)


def test_an_example_that_is_refused_leaves_no_trace():
    fresh = LabelRanker()
    for x, y, w in (({"a": np.nan}, 1, 1.0), ({"a": "red"}, 1, 1.0), ({"a": 1.0}, 1, -1.0), ({"a": 1.0}, [1, 1], 1.0)):
        with pytest.raises(ValueError, match=r"."):
            fresh.learn_one(x, y, w)
        assert set(vars(fresh)) == set(vars(LabelRanker()))
    fresh.learn_one({"a": 1.0}, [1])
    fresh.learn_one({"a": -1.0}, [2])
    before = state_of(fresh)
    for x, y in (({"b": np.nan}, 1), ({"b": "red"}, 1), ({"a": np.inf}, 7), ({"b": 1.0}, [3, 3]), ({"b": 1e300}, 3)):
        with pytest.raises(ValueError, match=r"."):
            fresh.learn_one(x, y)
        assert fresh.feature_names_in_.tolist() == ["a"]
        assert fresh.classes_.tolist() == [1, 2]
        for name, array in before.items():
            np.testing.assert_array_equal(state_of(fresh)[name], array, err_msg=name)


def test_the_joint_update_refuses_preferences_and_says_what_to_do():
    y = Preferences([[(0, 1)]])
    with pytest.raises(ValueError, match="preferences do not say which are relevant: use update='fixed' or 'optimal'"):
        LabelRanker("joint", classes=[0, 1]).partial_fit([[1.0]], y)
    with pytest.raises(ValueError, match="use update='fixed' or 'optimal'"):
        LabelRanker("joint").learn_one({"a": 1.0}, y)


def test_labels_that_say_nothing_at_all_are_refused_by_fit():
    for y in ([[1, 0], [0, 1]], [[], [0, 1]], np.zeros((2, 3))):
        with pytest.raises(ValueError, match=r"no row says which label .*An indicator matrix must be an array"):
            LabelRanker().fit([[1.0], [2.0]], y)
    with pytest.raises(ValueError, match="no row names a label, so the labels are unknown"):
        LabelRanker().fit([[1.0]], [None])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LabelRanker(update="newton"), "'update' parameter of LabelRanker must be a str among"),
        (LabelRanker(complexity="lasso"), "'complexity' parameter of LabelRanker must be a str among"),
        (LabelRanker(C=0), "'C' parameter of LabelRanker must be a float in the range \\(0"),
        (LabelRanker(margin=-1.0), "'margin' parameter of LabelRanker must be a float in the range \\(0"),
        (LabelRanker(n_epochs=0), "'n_epochs' parameter of LabelRanker must be an int in the range \\[1"),
        (LabelRanker(classes=["a", "a"]), "classes must be distinct"),
    ],
)
def test_bad_parameters_are_named(estimator, message):
    for learn in (
        lambda m: m.fit([[1.0]], ["a"]),
        lambda m: m.partial_fit([[1.0]], ["a"]),
        lambda m: m.learn_one({0: 1.0}, ["a"]),
    ):
        with pytest.raises(ValueError, match=message):
            learn(clone(estimator))


@each
def test_saving_and_loading_gives_the_same_model(estimator, tmp_path):
    frame = pd.DataFrame(DATA.X, columns=list("abcdef"))
    model = clone(estimator).partial_fit(frame, [[f"label {code}" for code in labels] for labels in DATA.lists])
    rw.save(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), rw.load(tmp_path / "model")):
        assert copy.get_params() == model.get_params()
        assert_same_model(model, copy)
        assert copy.dual_value_ == model.dual_value_
        np.testing.assert_array_equal(copy.predict_ranking(frame), model.predict_ranking(frame))
        copy.learn_one({"b": 1.0, "g": 2.0}, ["label 1", "a new one"])
        assert copy.n_features_in_ == 7
        assert copy.classes_[-1] == "a new one"
        assert copy.coef_.shape == (5, 7)


@each
def test_works_in_pipelines_and_searches(estimator):
    pipeline = make_pipeline(MaxAbsScaler(), clone(estimator).set_params(random_state=0))
    assert cross_val_score(pipeline, DATA.X, DATA.indicator, cv=3).min() > 0.5
    scorer = make_scorer(label_ranking_loss, response_method="decision_function", greater_is_better=False)
    losses = cross_val_score(pipeline, DATA.X, DATA.indicator, cv=3, scoring=scorer)
    np.testing.assert_allclose(1 + losses, cross_val_score(pipeline, DATA.X, DATA.indicator, cv=3))
    search = GridSearchCV(pipeline, {"labelranker__C": [0.1, 1.0]}, cv=KFold(3)).fit(DATA.X, DATA.lists)
    assert search.best_estimator_[-1].predict_top(DATA.X, 2).shape == (120, 2)


def test_preferences_work_in_cross_validation():
    y = Preferences.from_rankings(np.argsort(-DATA.X[:, :4], axis=1).tolist())
    scores = cross_val_score(LabelRanker(random_state=0), DATA.X, y, cv=KFold(3))
    assert scores.min() > 0.8


@each
def test_decision_function_agrees_with_rankings(estimator):
    model = clone(estimator).set_params(random_state=0).fit(DATA.X, DATA.lists)
    scores = model.decision_function(DATA.X)
    assert scores.shape == (120, 4)
    np.testing.assert_allclose(scores, DATA.X @ model.coef_.T + model.intercept_, atol=1e-12)
    np.testing.assert_array_equal(np.argsort(-scores, axis=1, kind="stable"), model.predict_ranking(DATA.X))
    np.testing.assert_array_equal(model.predict_top(DATA.X, 9), model.classes_[model.predict_ranking(DATA.X)])
    np.testing.assert_array_equal(model.predict(DATA.X), model.predict_top(DATA.X, 1)[:, 0])
    two = clone(estimator).fit(DATA.X, DATA.X[:, 0] > 0)
    np.testing.assert_array_equal(two.decision_function(DATA.X) > 0, two.predict(DATA.X))


@each
def test_shuffling_is_reproducible_and_depends_on_the_seed(estimator):
    fits = [clone(estimator).set_params(random_state=seed).fit(DATA.X, DATA.lists) for seed in (0, 0, 1)]
    assert_same_model(fits[0], fits[1])
    assert not np.array_equal(fits[0].coef_, fits[2].coef_)
    assert fits[0].n_iter_ == fits[0].n_epochs


@each
def test_more_labels_take_room_and_nothing_else(estimator):
    """A label that is never relevant and scores below the others changes no weights of theirs."""
    model = clone(estimator).set_params(update="fixed", classes=range(200)).partial_fit(DATA.X, DATA.lists)
    assert model.coef_.shape == (200, 6)
    assert model.progressive_predict(DATA.X, DATA.lists, top=3).shape == (120, 3)


def test_an_unsolved_joint_problem_warns_and_moves_the_worst_pair(monkeypatch):
    model = LabelRanker("joint", "entropic", margin=0.2, classes=range(4))

    def never_solved(*arguments):
        result = entropic_joint.learn_joint(*arguments)
        arguments[5][4] += 3
        return result

    monkeypatch.setattr("rankwise.label_ranking._complexity.learn_joint", never_solved)
    with pytest.warns(ConvergenceWarning, match="the joint problem of 3 rounds was not solved"):
        model.partial_fit(DATA.X, DATA.lists)


STREAM = """
import json
import sys
import numpy as np
from rankwise import LabelRanker

rng = np.random.default_rng(0)
X = np.round(rng.uniform(-1, 1, (25, 4)), 2)
X[::2] = X[::2] > 0
y = (X @ rng.standard_normal((4, 3)) > 0).astype(int)
found = []
for complexity in ("euclidean", "entropic"):
    for update in sys.argv[1:]:
        model = LabelRanker(update, complexity, margin=0.3, C=0.5)
        rankings = model.progressive_predict(X, y, sample_weight=rng.choice([0.5, 1.0], 25))
        found.append([rankings.tolist(), model.n_mistakes_, np.round(model.coef_, 9).tolist()])
print(json.dumps(found))
"""


@pytest.mark.parametrize("updates", [("fixed",), pytest.param(("fixed", "optimal", "joint"), marks=pytest.mark.slow)])
def test_compiled_and_interpreted_code_learn_the_same(updates):
    outputs = []
    for switch in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": switch}
        result = subprocess.run(
            [sys.executable, "-W", "error", "-c", STREAM, *updates],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        outputs.append(json.loads(result.stdout))
    assert outputs[0] == outputs[1]


def test_predicting_dense_rows_makes_no_copy_of_them():
    rng = np.random.default_rng(0)
    model = LabelRanker().fit(rng.standard_normal((50, 40)), rng.random((50, 3)) < 0.5)
    X = rng.standard_normal((40_000, 40)).astype(np.float32)
    model.predict(X[:2000])  # compiled now: fewer rows would be converted
    tracemalloc.start()
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2  # scores of three labels, no copy in double precision with the number of every column


def test_averaging_may_be_switched_off_after_learning():
    model = LabelRanker()
    for label in "abc":
        model.learn_one({label: 1.0, "other": 0.5}, label)
    before = model.coef_
    assert model.set_params(average=False).coef_.shape == before.shape == (3, 4)
    assert model.to_plain()["state"]["lag"].shape == (4, 3)


@pytest.mark.parametrize("binary", [False, True])
@each
def test_an_intercept_is_a_column_of_ones(estimator, binary):
    X = (DATA.X > 0) * 1.0 if binary else DATA.X
    ones = np.column_stack([X, np.ones(len(X))])
    model = prepared(estimator).set_params(random_state=0, n_epochs=2).fit(X, DATA.lists, sample_weight=DATA.weight)
    twin = clone(model).set_params(fit_intercept=False).fit(ones, DATA.lists, sample_weight=DATA.weight)
    np.testing.assert_allclose(np.column_stack([model.coef_, model.intercept_]), twin.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), twin.decision_function(ones), rtol=1e-6, atol=1e-9)
    assert model.dual_value_ == pytest.approx(twin.dual_value_, rel=1e-6)
    assert model.n_mistakes_ == twin.n_mistakes_
    assert not twin.intercept_.any()


@each
def test_a_file_from_before_there_were_intercepts_predicts_as_it_did(estimator):
    model = prepared(estimator).set_params(fit_intercept=False, random_state=0).fit(DATA.X, DATA.lists)
    parameters = {name: value for name, value in model.get_params().items() if name != "fit_intercept"}
    loaded = LabelRanker(**parameters)
    loaded.from_plain(model.to_plain())
    assert loaded.fit_intercept is False
    np.testing.assert_array_equal(loaded.decision_function(DATA.X), model.decision_function(DATA.X))
    assert_same_model(loaded.partial_fit(DATA.X, DATA.lists), model.partial_fit(DATA.X, DATA.lists))


def test_a_model_whose_averaging_was_switched_off_can_be_saved(tmp_path):
    model = LabelRanker(random_state=0).fit(DATA.X, DATA.lists).set_params(average=False, fit_intercept=False)
    rw.save(model, tmp_path / "model.rankwise")
    loaded = rw.load(tmp_path / "model.rankwise")
    np.testing.assert_array_equal(loaded.decision_function(DATA.X), model.decision_function(DATA.X))


def test_intercepts_alone_are_averaged_too():
    model = LabelRanker("fixed", C=1.0, classes=["x", "y"])
    for label in "xyyx":
        model.learn_one({}, [label])
    np.testing.assert_allclose(model._scores(np.empty((1, 0)))[0], model.intercept_)
    assert model.rank_one({}) == model.classes_[np.argsort(-model.intercept_, kind="stable")].tolist()


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_examples_without_features_may_come_first(fit_intercept):
    model = LabelRanker("fixed", "entropic", classes=["x", "y"], fit_intercept=fit_intercept)
    for _ in range(3):
        model.learn_one({}, ["y"])
    model.learn_one({"a": 1.0}, ["x"])
    assert np.isfinite(model.dual_value_)
    np.testing.assert_allclose(model.coef_.sum(axis=1) + model.intercept_, 1.0)


@each
def test_labels_that_are_new_after_fit_join_in_chunks_as_in_rows(estimator):
    names = [["abcd"[code] for code in row] for row in DATA.lists]
    first = [[label for label in row if label in "ab"] for row in names]
    model = clone(estimator).set_params(random_state=0, n_epochs=1).fit(DATA.X, first)
    rows, chunk = pickle.loads(pickle.dumps(model)), model.partial_fit(DATA.X, names)
    for x, row in zip(DATA.X, names, strict=True):
        rows.partial_fit([x], [row])
    assert sorted(chunk.classes_.tolist()) == ["a", "b", "c", "d"]
    assert chunk.classes_.tolist() == rows.classes_.tolist()
    assert_same_model(chunk, rows)
    with pytest.raises(ValueError, match="'e' is not one of the labels"):
        clone(estimator).set_params(classes=["a", "b"]).fit(DATA.X, first).partial_fit(DATA.X[:1], [["e"]])
