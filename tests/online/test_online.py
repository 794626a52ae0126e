"""What every online estimator must do, whatever its algorithm."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwise as rw
from rankwise import (
    PRIL,
    CuSumRank,
    ImportanceWeightedPerceptron,
    KernelCuSumRank,
    KernelPRIL,
    MulticlassPerceptron,
    MultiplicativePRIL,
    OnlineCumulativeLink,
    PRank,
    WidrowHoff,
)
from rankwise.labels import encode
from tests.streams import best_constant_score, make_stream

ESTIMATORS = [
    PRIL(),
    PRIL(step="pa"),
    PRIL(step="pa1", C=0.1),
    PRIL(step="pa2"),
    PRank(),
    MultiplicativePRIL(),
    MultiplicativePRIL(eta=0.1, signed=False),
    KernelPRIL(gamma=0.2),
    KernelPRIL(kernel="polynomial", degree=2, budget=40),
    WidrowHoff(),
    WidrowHoff(normalized=False, learning_rate=1e-4),
    MulticlassPerceptron(),
    ImportanceWeightedPerceptron(),
    ImportanceWeightedPerceptron(scheme="all-pairs", scoring="max-win"),
    CuSumRank(),
    CuSumRank(step="pa1", margin="constant", C=0.1),
    CuSumRank(margin="none", fit_intercept=False),
    KernelCuSumRank(gamma=0.2),
    KernelCuSumRank(kernel="polynomial", degree=2, budget=40, step="pa1", margin="constant", C=0.1),
    KernelCuSumRank(kernel="linear", margin="none", fit_intercept=False),
    OnlineCumulativeLink(),
    OnlineCumulativeLink(link="probit", decision="mode", n_epochs=1),
]
NAMES = [str(e) for e in ESTIMATORS]
FIRST_OF_EACH = list({type(e): e for e in reversed(ESTIMATORS)}.values())
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)

WEIGHT_IS_NOT_REPETITION = (
    "an online update by c is one step of size c, as in the papers; c presentations of a row are up to c steps, each "
    "from where the last one led"
)


def _expected_failures(estimator):
    median = getattr(estimator, "decision", "mode") == "median"
    reason = "the median is predicted, which need not be the most probable class"
    return {
        **({"check_classifiers_train": reason} if median else {}),
        "check_sample_weight_equivalence_on_dense_data": WEIGHT_IS_NOT_REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHT_IS_NOT_REPETITION,
    }


@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")  # some checks use strings without an order
@parametrize_with_checks(FIRST_OF_EACH, expected_failed_checks=_expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")
@parametrize_with_checks([e for e in ESTIMATORS if e not in FIRST_OF_EACH], expected_failed_checks=_expected_failures)
def test_scikit_learn_checks_with_other_parameters(estimator, check):
    check(estimator)


def parameters_of(model):
    """Everything learnt, as arrays; cosines among support vectors follow from these."""
    arrays = {name: array.copy() for name, array in model._state.items() if not name.startswith("support")}
    return {name: array for name, array in arrays.items() if name not in ("row", "cosines")}


def assert_same_model(a, b):
    """Equal to the bit; arrays may have different spare capacity."""
    for name, left in parameters_of(a).items():
        right = parameters_of(b)[name]
        shape = tuple(min(n, m) for n, m in zip(left.shape, right.shape, strict=True))
        common = tuple(slice(n) for n in shape)
        np.testing.assert_array_equal(left[common], right[common], err_msg=name)


def prepared(estimator, n=150, seed=11):
    """Fresh estimator with its classes declared, and a stream it can learn from."""
    exact = 1.0 if estimator.label_kinds == {"exact"} else 0.4
    stream = make_stream(seed, n=n, n_classes=4, exact=exact)
    y = stream.lower if exact == 1.0 else stream.y
    return clone(estimator).set_params(classes=[0, 1, 2, 3]), stream, y


def one_label(y, i):
    return int(y[i]) if y.ndim == 1 else (int(y[i, 0]), int(y[i, 1]))


@each
def test_rows_chunks_and_one_epoch_end_in_the_same_model(estimator):
    whole, stream, y = prepared(estimator)
    whole.partial_fit(stream.X, y, sample_weight=stream.weight)
    chunked, single, epoch = (clone(whole) for _ in range(3))
    for start, stop in ((0, 1), (1, 20), (20, 140), (140, 150)):
        chunk = slice(start, stop)
        chunked.partial_fit(stream.X[chunk], y[chunk], sample_weight=stream.weight[chunk])
    for i in range(len(stream)):
        single.learn_one(dict(enumerate(stream.X[i])), one_label(y, i), w=stream.weight[i])
    epoch.set_params(n_epochs=1, shuffle=False).fit(stream.X, y, sample_weight=stream.weight)
    for other in (chunked, single, epoch):
        assert_same_model(whole, other)
        np.testing.assert_array_equal(other.predict(stream.X), whole.predict(stream.X))


CHANGES = [
    (PRIL(), {"step": "pa1", "C": 0.1}),
    (PRIL(step="pa1"), {"C": 0.01}),
    (MultiplicativePRIL(signed=True), {"eta": 0.5}),
    (WidrowHoff(), {"learning_rate": 0.5}),
    (CuSumRank(), {"margin": "constant", "delta": 5.0}),
    (ImportanceWeightedPerceptron(), {"fit_intercept": False}),
    (OnlineCumulativeLink(), {"alpha": 50.0}),
]


@pytest.mark.parametrize(("estimator", "change"), CHANGES, ids=[str(e) for e, _ in CHANGES])
def test_single_rows_see_a_parameter_and_a_chunk_at_once(estimator, change):
    """What learning from single rows keeps between them follows from the parameters and the arrays of today."""
    stream = make_stream(1, n=90, exact=1.0)
    y = stream.lower
    single, chunks = (clone(estimator).set_params(classes=stream.classes) for _ in range(2))

    def learn_one_by_one(rows):
        for i in rows:
            single.learn_one(dict(enumerate(stream.X[i])), int(y[i]))

    learn_one_by_one(range(30))
    single.set_params(**change)
    learn_one_by_one(range(30, 60))
    single.partial_fit(stream.X[60:70], y[60:70])
    learn_one_by_one(range(70, 90))
    chunks.partial_fit(stream.X[:30], y[:30])
    unchanged = pickle.loads(pickle.dumps(chunks))
    chunks.set_params(**change).partial_fit(stream.X[30:], y[30:])
    unchanged.partial_fit(stream.X[30:], y[30:])
    assert_same_model(chunks, single)
    assert any((array != unchanged._state[name]).any() for name, array in chunks._state.items())


@each
def test_sparse_rows_give_the_same_bits_as_dense_ones(estimator):
    dense, stream, y = prepared(estimator)
    wide = sparse.csr_matrix(stream.X)
    wide.indices = wide.indices.astype(np.int64)
    wide.indptr = wide.indptr.astype(np.int64)
    dense.partial_fit(stream.X, y)
    for X in (sparse.csr_matrix(stream.X), sparse.csr_array(stream.X), sparse.csc_matrix(stream.X), wide):
        other = clone(dense).partial_fit(X, y)
        assert_same_model(dense, other)
        np.testing.assert_array_equal(other.predict(X), dense.predict(stream.X))
        np.testing.assert_array_equal(other.decision_function(X), dense.decision_function(stream.X))


@each
def test_single_precision_rows_give_the_model_of_the_same_numbers(estimator):
    model, stream, y = prepared(estimator)
    X = stream.X.astype(np.float32)
    model.partial_fit(X, y)
    other = clone(model).partial_fit(X.astype(np.float64), y)
    assert_same_model(model, other)
    assert_same_model(model, clone(model).partial_fit(sparse.csr_matrix(X), y))


@each
def test_duplicate_and_unsorted_sparse_entries_are_put_in_order(estimator):
    model, _, _ = prepared(estimator)
    messy = sparse.csr_matrix(
        (np.array([1.0, 2.0, 0.5, 3.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    model.partial_fit(messy, [3, 0])
    assert_same_model(model, clone(model).partial_fit(messy.toarray(), [3, 0]))


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if "candidates" in e.label_kinds], ids=str)
def test_candidate_sets_in_rows_and_chunks_end_in_the_same_model(estimator, rng):
    whole, stream, _ = prepared(estimator)
    sets = rng.random((150, 4)) < 0.6  # many with gaps; those of all classes say nothing, in whatever company
    sets[np.arange(150), stream.lower] = True
    whole.partial_fit(stream.X, sets)
    chunked, single = clone(whole), clone(whole)
    for i in range(150):
        chunked.partial_fit(stream.X[i : i + 1], sets[i : i + 1])
        single.learn_one(dict(enumerate(stream.X[i])), set(np.flatnonzero(sets[i]).tolist()))
    for other in (chunked, single):
        assert_same_model(whole, other)


@each
@pytest.mark.parametrize("average", [True, False])
def test_progressive_predictions_are_those_of_predicting_then_learning(estimator, average):
    model, stream, y = prepared(estimator)
    if "average" in model.get_params():
        model.set_params(average=average)
    looped = clone(model)
    predicted = model.progressive_predict(stream.X, y, sample_weight=stream.weight)
    assert_same_model(model, clone(model).partial_fit(stream.X, y, sample_weight=stream.weight))
    expected = []
    for i in range(len(stream)):
        row = slice(i, i + 1)
        x = dict(enumerate(stream.X[i]))
        expected.append(looped.predict_one(x))
        if i > 0:
            assert expected[-1] == looped.predict(stream.X[row])[0]
        looped.partial_fit(stream.X[row], y[row], sample_weight=stream.weight[row])
    np.testing.assert_array_equal(predicted[1:], expected[1:])


@each
def test_rows_without_information_change_nothing(estimator, rng):
    model, stream, y = prepared(estimator)
    model.partial_fit(stream.X, y)
    before = parameters_of(model)
    model.partial_fit(rng.standard_normal((5, 5)), [np.nan] * 5)
    model.partial_fit(rng.standard_normal((5, 5)), [None] * 5)
    model.partial_fit(rng.standard_normal((2, 5)), y[:2], sample_weight=[0.0, 0.0])
    model.learn_one({0: 1.0}, None)
    model.learn_one({0: 1.0}, one_label(y, 0), w=0.0)
    after = parameters_of(model)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name][: array.shape[0]], array, err_msg=name)


@each
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_bad_row_leaves_the_model_as_it_was_and_is_named(estimator, bad, form):
    model, stream, y = prepared(estimator)
    model.partial_fit(form(stream.X), y)
    before, untouched = parameters_of(model), dict(vars(model))
    X = stream.X.copy()
    X[137, 3] = bad
    what = "NaN" if np.isnan(bad) else "infinity"
    for learn in (model.partial_fit, model.progressive_predict, model.fit):
        with pytest.raises(ValueError, match=f"{what}: row 137, column 3"):
            learn(form(X), y)
        assert set(vars(model)) == set(untouched)
        for name, array in before.items():
            np.testing.assert_array_equal(model._state[name][: array.shape[0]], array, err_msg=name)
    with pytest.raises(ValueError, match=f"{what}: row 137, column 3"):
        model.predict(form(X))
    with pytest.raises(ValueError, match=f"{what}: row 0, column 3"):
        model.learn_one(dict(enumerate(X[137])), one_label(y, 0))
    with pytest.raises(ValueError, match=f"{what}: row 0, column 5"):
        model.learn_one({**dict(enumerate(stream.X[0])), "new": bad}, one_label(y, 0))
    assert model.n_features_in_ == 5
    for name, array in before.items():
        np.testing.assert_array_equal(model._state[name][: array.shape[0]], array, err_msg=name)


@each
def test_features_too_large_for_a_score_say_so_or_do_no_harm(estimator):
    model, stream, y = prepared(estimator)
    X = stream.X.copy()
    X[7] = 1e308
    model.partial_fit(stream.X, y)
    refused = ""
    try:
        model.partial_fit(X, y)
    except ValueError as error:
        refused = str(error)
    assert not refused or ("not finite although" in refused and "up to 1e+308 in row 7, column 0" in refused)
    assert all(np.isfinite(array).all() for array in parameters_of(model).values())


@each
def test_wrong_input_is_refused_before_anything_changes(estimator):
    model, stream, y = prepared(estimator)
    model.partial_fit(stream.X, y)
    before = parameters_of(model)
    cases = [
        (dict(X=stream.X, y=y[:-1]), "X has 150 rows, y has 149 labels"),
        (dict(X=stream.X[:, :4], y=y), "X has 4 features"),
        (dict(X=stream.X[:1], y=[9]), r"row 0: the label 9 is not one of the classes \[0, 1, 2, 3\]"),
        (dict(X=stream.X, y=y, sample_weight=np.full(150, -1.0)), "row 0: a weight must be a finite number >= 0"),
        (dict(X=stream.X, y=y, sample_weight=np.ones(3)), "expected \\(150,\\)"),
        (dict(X=stream.X, y=y, classes=[0, 1, 2]), r"classes=\[0, 1, 2\] is not the same as before"),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(**arguments)
    with pytest.raises(ValueError, match="a weight must be"):
        model.learn_one({0: 1.0}, 1, w=-1.0)
    with pytest.raises(ValueError, match="is not one of the classes"):
        model.learn_one({0: 1.0}, 77)
    with pytest.raises(ValueError, match=r"feature 0 must be a number\. Got 'red'"):
        model.learn_one({0: "red"}, 1)
    for name, array in before.items():
        np.testing.assert_array_equal(model._state[name], array, err_msg=name)


@each
def test_streams_need_their_classes(estimator):
    if isinstance(estimator, MulticlassPerceptron | ImportanceWeightedPerceptron):
        assert clone(estimator).partial_fit([[1.0]], [1]).classes_.tolist() == [1]  # chunks may bring new ones
        return
    with pytest.raises(ValueError, match=r"needs all classes, lowest first: partial_fit\(X, y, classes=\[...\]\)"):
        clone(estimator).partial_fit([[1.0]], [1])
    assert not hasattr(clone(estimator), "n_features_in_")


@each
def test_declared_classes_need_not_occur(estimator, rng):
    X = rng.standard_normal((40, 2))
    model = clone(estimator).set_params(classes=["low", "medium", "high", "top"])
    model.fit(X, np.where(X[:, 0] > 0, "medium", "low"))
    assert model.classes_.tolist() == ["low", "medium", "high", "top"]
    assert set(model.predict(X)) <= {"low", "medium", "high", "top"}


@each
def test_a_stream_of_dicts_may_bring_new_names_and_new_classes(estimator):
    stream = make_stream(3, n=120, n_classes=4, exact=1.0)
    model = clone(estimator)
    assert model.predict_one({"a": 1.0}) is None
    names = ["a", "b", "c", "d", "e"]
    for i in range(len(stream)):
        known = names if i > 60 else names[:3]
        x = {n: v for n, v in zip(names, stream.X[i], strict=True) if n in known}
        model.learn_one(x, int(stream.lower[i]) + 10)
    assert model.classes_.tolist() == [10, 11, 12, 13]
    assert model.n_features_in_ == 5
    assert model.feature_names_in_.tolist() == names
    assert model.predict_one({"e": 2.0, "unheard of": 3.0}) in [10, 11, 12, 13]
    frame = pd.DataFrame(stream.X, columns=names)
    one_by_one = [model.predict_one(row) for row in frame.to_dict("records")]
    np.testing.assert_array_equal(model.predict(frame), one_by_one)
    shuffled_keys = [model.predict_one(dict(reversed(row.items()))) for row in frame.to_dict("records")]
    assert shuffled_keys == one_by_one


@each
def test_an_example_that_is_refused_leaves_no_trace(estimator):
    fresh = clone(estimator)
    for x, y, w in (({"a": np.nan}, 1, 1.0), ({"a": "red"}, 1, 1.0), ({"a": 1.0}, 1, -1.0), ({"a": 1.0}, (2, 1), 1.0)):
        with pytest.raises(ValueError, match=r"."):
            fresh.learn_one(x, y, w)
        assert set(vars(fresh)) == set(vars(clone(estimator)))
    fresh.learn_one({"a": 1.0}, None)  # nothing is known yet, and this says nothing
    assert fresh.predict_one({"a": 1.0}) is None
    fresh.learn_one({"a": 1.0}, 1)
    fresh.learn_one({"a": -1.0}, 2)
    before = parameters_of(fresh)
    for x, y in (
        ({"b": np.nan}, 1),
        ({"b": "red"}, 1),
        ({"a": np.inf}, 7),
        ({"b": 1.0}, (7, 1)),
        ({"b": 1.0}, {1, "x"}),
    ):
        with pytest.raises(ValueError, match=r"."):
            fresh.learn_one(x, y)
        assert fresh.n_features_in_ == 1
        assert fresh.feature_names_in_.tolist() == ["a"]
        assert fresh.classes_.tolist() == [1, 2]
        for name, array in before.items():
            np.testing.assert_array_equal(fresh._state[name], array, err_msg=name)


@each
def test_names_learnt_late_equal_columns_that_were_zero(estimator):
    model, stream, y = prepared(estimator)
    X = stream.X.copy()
    X[:70, 2:] = 0.0
    if isinstance(estimator, KernelPRIL):
        model.set_params(gamma=0.2)
    model.partial_fit(X, y)
    late = clone(model)
    for i in range(len(stream)):
        columns = range(2 if i < 70 else 5)
        late.learn_one({j: X[i, j] for j in columns}, one_label(y, i))
    assert_same_model(model, late)


@each
def test_saving_and_loading_gives_the_same_model(estimator, tmp_path):
    model, stream, y = prepared(estimator)
    frame = pd.DataFrame(stream.X, columns=list("abcde"))
    model.partial_fit(frame, y)
    for copy in (pickle.loads(pickle.dumps(model)), _saved_and_loaded(model, tmp_path)):
        assert copy.get_params() == model.get_params()
        assert_same_model(model, copy)
        np.testing.assert_array_equal(copy.predict(frame), model.predict(frame))
        assert copy.feature_names_in_.tolist() == list("abcde")
        copy.partial_fit(frame, y)
        assert_same_model(copy, _learnt_more(model, frame, y))
        copy.learn_one({"b": 1.0, "f": 2.0}, 1)
        assert copy.n_features_in_ == 6


def test_a_fit_without_names_forgets_those_of_a_stream():
    model = PRIL(classes=[1, 2])
    model.learn_one({"a": 1.0, "b": 2.0}, 1)
    assert not hasattr(model.fit([[1.0], [2.0], [3.0]], [1, 1, 2]), "feature_names_in_")
    assert model.n_features_in_ == 1


def _saved_and_loaded(model, tmp_path):
    rw.save(model, tmp_path / "model.rankwise")
    return rw.load(tmp_path / "model.rankwise")


def _learnt_more(model, X, y):
    return pickle.loads(pickle.dumps(model)).partial_fit(X, y)


@each
def test_works_in_pipelines_and_searches(estimator):
    _, stream, y = prepared(estimator)
    pipeline = make_pipeline(StandardScaler(), clone(estimator).set_params(random_state=0))
    scores = cross_val_score(pipeline, stream.X, y, cv=3)
    assert scores.shape == (3,)
    if getattr(estimator, "learning_rate", 1.0) > 1e-3:  # a rate that small learns nothing from so few rows
        assert scores.mean() > best_constant_score(y, stream.classes, ordered=estimator.ordered)
    search = GridSearchCV(pipeline, {f"{pipeline.steps[-1][0]}__n_epochs": [1, 3]}, cv=KFold(3)).fit(stream.X, y)
    assert search.best_estimator_.predict(stream.X).shape == (150,)
    open_ended = np.column_stack([stream.lower, np.where(stream.upper == 3, np.nan, stream.upper)])
    if "interval" in estimator.label_kinds:
        assert np.isfinite(cross_val_score(pipeline, stream.X, open_ended, cv=KFold(3))).all()


@each
def test_frames_of_every_kind_give_the_same_model(estimator):
    model, stream, y = prepared(estimator)
    model.partial_fit(stream.X, y)
    columns = {name: stream.X[:, j] for j, name in enumerate("abcde")}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        other = clone(model).partial_fit(frame, y)
        assert_same_model(model, other)
        np.testing.assert_array_equal(other.predict(frame), model.predict(stream.X))
        assert other.feature_names_in_.tolist() == list("abcde")


@each
def test_decision_function_agrees_with_predictions(estimator):
    model, stream, y = prepared(estimator)
    model.partial_fit(stream.X, y)
    scores = model.decision_function(stream.X)
    assert scores.shape == (150, 4)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(stream.X))
    two = clone(estimator).set_params(classes=[0, 1])
    two.partial_fit(stream.X, stream.lower > 1)
    assert two.decision_function(stream.X).shape == (150,)
    np.testing.assert_array_equal(two.decision_function(stream.X) > 0, two.predict(stream.X) == 1)


@each
def test_shuffling_is_reproducible_and_depends_on_the_seed(estimator):
    _, stream, y = prepared(estimator)
    fits = [clone(estimator).set_params(random_state=seed).fit(stream.X, y) for seed in (0, 0, 1)]
    assert_same_model(fits[0], fits[1])
    assert not np.array_equal(fits[0].decision_function(stream.X), fits[2].decision_function(stream.X))


def test_text_columns_and_examples_that_are_no_dicts_are_named():
    frame = pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]})
    for table in (frame, pl.DataFrame(frame.to_dict("list"))):
        with pytest.raises(ValueError, match=r"column 'colour' of X holds text, 'red': encode it as numbers first"):
            PRIL().fit(table, [1, 2])
    with pytest.raises(TypeError, match=r"an example must be a dict, feature name -> number\. Got a list"):
        PRIL().learn_one([1.0, 2.0], 3)


def test_prank_refuses_intervals_and_names_who_can():
    with pytest.raises(
        ValueError,
        match=r"row 1: the label is the interval \[1, 2\]; PRank does not learn from interval labels\. .*PRIL",
    ):
        PRank(classes=[1, 2, 3]).fit([[1.0], [2.0]], [(1, 1), (1, 2)])


def test_candidate_sets_with_gaps_are_refused_by_threshold_models_and_used_by_others():
    X, y = [[1.0], [2.0], [-1.0]], [{1, 3}, {2}, {1}]
    with pytest.raises(ValueError, match=r"row 0: the candidate set \[1, 3\] has gaps; PRIL .* MulticlassPerceptron"):
        PRIL().fit(X, y)
    assert MulticlassPerceptron().fit(X, y).classes_.tolist() == [1, 2, 3]
    assert PRIL().fit(X, [{1, 2}, {2, 3}, {1}]).classes_.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (PRIL(step="newton"), "'step' parameter of PRIL must be a str among"),
        (PRIL(C=0), "'C' parameter of PRIL must be a float in the range \\(0"),
        (PRIL(n_epochs=0), "'n_epochs' parameter of PRIL must be an int in the range \\[1"),
        (PRIL(average="yes"), "'average' parameter of PRIL must be an instance of 'bool'"),
        (MultiplicativePRIL(eta=-1), "'eta' parameter of MultiplicativePRIL"),
        (KernelPRIL(kernel="spline"), "'kernel' parameter of KernelPRIL"),
        (KernelPRIL(budget=0), "'budget' parameter of KernelPRIL must be an int in the range \\[1"),
        (KernelCuSumRank(budget=0), "'budget' parameter of KernelCuSumRank must be an int in the range \\[1"),
        (KernelCuSumRank(margin="wide"), "'margin' parameter of KernelCuSumRank must be a str among"),
        (WidrowHoff(learning_rate=0), "'learning_rate' parameter of WidrowHoff"),
        (
            ImportanceWeightedPerceptron("pairs"),
            "'scheme' parameter of ImportanceWeightedPerceptron must be a str among",
        ),
        (ImportanceWeightedPerceptron(scoring="votes"), "'scoring' parameter of ImportanceWeightedPerceptron"),
        (
            ImportanceWeightedPerceptron(scoring="max-win"),
            "scoring='max-win' .* needs scheme='all-pairs'. Got scheme='multi-vector'",
        ),
        (PRIL(classes=[1, 1]), "classes must be distinct. Got 1 more than once"),
        (PRIL(classes=[]), "classes must be a non-empty list"),
    ],
)
def test_bad_parameters_are_named(estimator, message):
    for learn in (
        lambda m: m.fit([[1.0]], [1]),
        lambda m: m.partial_fit([[1.0]], [1]),
        lambda m: m.learn_one({0: 1}, 1),
    ):
        with pytest.raises(ValueError, match=message):
            learn(clone(estimator))


def test_every_epoch_sees_every_row_once():
    """A weightless check: with constant rows the thresholds only depend on how often rows were seen."""
    model = PRIL(n_epochs=7, average=False).fit(np.zeros((3, 1)), [1, 2, 3])
    assert model._state["counts"][0] == 21
    assert model.n_iter_ == 7


def test_encoded_labels_tell_a_stream_its_classes():
    X, y = np.array([[0.0], [1.0]]), encode([(1, 2), 3], classes=[1, 2, 3])
    assert PRIL().partial_fit(X, y).classes_.tolist() == [1, 2, 3]


@each
def test_declared_classes_are_read_once(estimator, monkeypatch):
    model, stream, y = prepared(estimator)
    model.set_params(classes=[0, 1, 2, 3]).partial_fit(stream.X[:10], y[:10])
    with monkeypatch.context() as patch:
        patch.setattr("rankwise.online.array_learner.declared_order", None)
        model.partial_fit(stream.X[10:20], y[10:20])
    with pytest.raises(ValueError, match="is not the same as before"):
        model.set_params(classes=[0, 1, 2, 3, 4]).partial_fit(stream.X[:10], y[:10])
    model.fit(stream.X, y)
    with pytest.raises(ValueError, match="is not the same as before"):
        model.set_params(classes=[0, 1, 2, 3]).partial_fit(stream.X[:10], y[:10])
