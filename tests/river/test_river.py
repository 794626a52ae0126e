"""The adapter under river's own checks, in river's pipelines and evaluation, and against the bare estimators."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

pytest.importorskip("river", reason="needs river: make test")

from river import checks, compose, drift, ensemble, evaluate, metrics, preprocessing

from rankwise import (
    PRIL,
    SVOR,
    CuSumRank,
    ImportanceWeightedPerceptron,
    KernelCuSumRank,
    KernelPRIL,
    LabelRanker,
    MulticlassPerceptron,
    MultiplicativePRIL,
    OnlineCumulativeLink,
    PRank,
    WidrowHoff,
)
from rankwise.river import OrdinalClassifier, OrdinalMAE
from tests.online.test_online import assert_same_model
from tests.streams import make_stream

ESTIMATORS = [
    PRIL(),
    PRank(step="pa1"),
    MultiplicativePRIL(),
    OnlineCumulativeLink(),
    KernelPRIL(gamma=0.2, budget=30),
    CuSumRank(),
    KernelCuSumRank(gamma=0.2, budget=30),
    ImportanceWeightedPerceptron(),
    MulticlassPerceptron(),
    WidrowHoff(),
]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
#: The first of each kind of model: sums of rows, products, probabilities, support vectors, a vector for each class.
KINDS = (0, 2, 3, 4, 5)


@pytest.mark.parametrize(
    "estimator",
    [pytest.param(e, marks=[] if i in KINDS else pytest.mark.slow) for i, e in enumerate(ESTIMATORS)],
    ids=str,
)
@pytest.mark.parametrize("on_all_sets", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")  # one of river's sets has texts as classes
def test_river_checks(estimator, on_all_sets):
    model = OrdinalClassifier(estimator)
    names = set()
    for check in checks.yield_checks(model):
        # River has every check once for each of its data sets; one estimator meets them all in every run.
        if on_all_sets or estimator is ESTIMATORS[0] or check.__name__ not in names:
            check(model.clone())
        names.add(check.__name__)
    assert not model._unit_test_skips()
    assert {"check_learn_many_matches_learn_one", "check_emerging_features", "check_bounded_memory_growth"} <= names


def table(stream):
    return pd.DataFrame(stream.X, columns=[f"x{j}" for j in range(stream.X.shape[1])])


def learnt_one_by_one(estimator, frame, labels, weight):
    model = OrdinalClassifier(estimator)
    for x, y, w in zip(frame.to_dict("records"), labels, weight, strict=True):
        model.learn_one(x, y, w=w)
    return model


@each
@pytest.mark.parametrize("classes", [None, [0, 1, 2, 3]], ids=["classes appear", "classes declared"])
def test_a_table_is_its_rows_one_by_one_to_the_bit(estimator, classes):
    stream = make_stream(5, n=120, n_classes=4, exact=0.5)
    labels = [int(lo) if lo == hi else (int(lo), int(hi)) for lo, hi in stream.y]
    if "interval" not in estimator.label_kinds:
        labels = [int(lo) for lo in stream.lower]
    labels[7], labels[60] = None, None
    estimator = type(estimator)(**{**estimator.get_params(), "classes": classes})
    frame = table(stream)
    single = learnt_one_by_one(estimator, frame, labels, stream.weight)
    many = OrdinalClassifier(estimator)
    for start, stop in ((0, 1), (1, 50), (50, 120)):
        part = slice(start, stop)
        many.learn_many(frame[part], pd.Series(labels[part]), w=stream.weight[part])
    assert_same_model(single.model, many.model)
    assert many.predict_many(frame).tolist() == [single.predict_one(x) for x in frame.to_dict("records")]


def test_columns_come_and_go():
    stream = make_stream(6, n=90, n_classes=3, exact=1.0)
    frame, labels = table(stream), [int(lo) for lo in stream.lower]
    parts = [
        (frame.iloc[:30, :2], labels[:30]),
        (frame.iloc[30:60], labels[30:60]),
        (frame.iloc[60:, ::-2], labels[60:]),
    ]
    single, many = OrdinalClassifier(PRIL()), OrdinalClassifier(PRIL())
    for X, y in parts:
        many.learn_many(X, y)
        for x, label in zip(X.to_dict("records"), y, strict=True):
            single.learn_one(x, label)
    assert_same_model(single.model, many.model)


@pytest.mark.parametrize("labels", [[2, 2, 1, np.nan, 3, 1], [True, True, False, True, False, False]], ids=str)
def test_numbers_and_truth_values_that_bring_classes_as_they_go(labels):
    frame = pd.DataFrame({"a": [0.5, 1.0, -1.0, 3.0, 2.0, -2.0]})
    many = OrdinalClassifier(PRIL())
    many.learn_many(frame, np.array(labels))
    single = learnt_one_by_one(PRIL(), frame, labels, np.ones(6))
    assert_same_model(single.model, many.model)
    assert many.model.classes_.tolist() == single.model.classes_.tolist() == sorted({v for v in labels if v == v})


@pytest.mark.parametrize(
    "convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_tables_of_any_kind(convert):
    stream = make_stream(7, n=40, n_classes=3, exact=1.0)
    frame = table(stream)
    model = OrdinalClassifier(PRank())
    model.learn_many(convert(frame), pd.Series(stream.lower))
    found = model.predict_many(convert(frame))
    assert type(found).__module__.partition(".")[0] == type(convert(frame)).__module__.partition(".")[0]
    assert list(np.asarray(found)) == [model.predict_one(x) for x in frame.to_dict("records")]


def test_the_index_of_a_frame_is_kept():
    frame = pd.DataFrame({"a": [0.0, 1.0]}, index=["first", "second"])
    model = OrdinalClassifier(PRIL())
    assert model.predict_many(frame).isna().all()
    model.learn_many(frame, [1, 2])
    assert model.predict_many(frame).index.tolist() == ["first", "second"]


def test_a_batch_with_a_bad_row_leaves_the_model_as_it_was():
    stream = make_stream(8, n=40, n_classes=3, exact=1.0)
    frame = table(stream)
    model = OrdinalClassifier(PRIL())
    model.learn_many(frame[:20], stream.lower[:20])
    before = pickle.dumps(model.model)
    bad = frame[20:].copy()
    bad.iloc[7, 1] = np.nan
    labels = [9, *stream.lower[21:].tolist()]  # a new class first, then the bad row
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.learn_many(bad, labels)
    assert pickle.dumps(model.model) == before
    with pytest.raises(ValueError, match="X has 20 rows and y 19 labels"):
        model.learn_many(frame[20:], labels[:-1])


def test_weights_reach_the_estimator_through_pipelines_and_evaluation():
    stream = make_stream(9, n=60, n_classes=3, exact=1.0)
    rows = table(stream).to_dict("records")
    labels = [int(lo) for lo in stream.lower]
    model = preprocessing.StandardScaler() | OrdinalClassifier(PRIL(classes=[0, 1, 2]))
    bare, scaler = PRIL(classes=[0, 1, 2]), preprocessing.StandardScaler()
    metric = OrdinalMAE([0, 1, 2])
    triples = [(x, y, {"w": float(w)}) for x, y, w in zip(rows, labels, stream.weight, strict=True)]
    evaluate.progressive_val_score(triples, model, metric)
    off = []
    for x, y, w in zip(rows, labels, stream.weight, strict=True):
        predicted = bare.predict_one(scaler.transform_one(x))
        off += [] if predicted is None else [abs(predicted - y)]
        scaler.learn_one(x)
        bare.learn_one(scaler.transform_one(x), y, float(w))
    assert_same_model(model["OrdinalClassifier"].model, bare)
    assert metric.get() == pytest.approx(np.mean(off))


def test_intervals_through_progressive_validation():
    stream = make_stream(10, n=200, n_classes=4, exact=0.3)
    labels = [(int(lo), int(hi)) for lo, hi in stream.y]
    model = OrdinalClassifier(PRIL(classes=[0, 1, 2, 3]))
    metric = evaluate.progressive_val_score(
        zip(table(stream).to_dict("records"), labels, strict=True), model, OrdinalMAE([0, 1, 2, 3])
    )
    bare = PRIL(classes=[0, 1, 2, 3])
    predicted = bare.progressive_predict(stream.X, stream.y)[1:]  # before the first round nothing is known
    lower, upper = stream.y[1:].T
    says = (lower > 0) | (upper < 3)  # intervals of all classes do not count, as in all metrics
    assert 0 < says.sum() < says.size
    expected = np.maximum(np.maximum(lower - predicted, predicted - upper), 0)[says].mean()
    assert metric.get() == pytest.approx(expected)


def test_with_rivers_ensembles_and_drift_detectors():
    stream = make_stream(11, n=200, n_classes=3, exact=1.0)
    rows, labels = table(stream).to_dict("records"), [int(lo) for lo in stream.lower]
    voters = [OrdinalClassifier(PRIL()), OrdinalClassifier(CuSumRank()), OrdinalClassifier(WidrowHoff())]
    voting = ensemble.VotingClassifier(voters, use_probabilities=False)
    detector = drift.ADWIN()
    model = compose.Pipeline(preprocessing.StandardScaler(), OrdinalClassifier(PRIL()))
    for x, y in zip(rows, labels, strict=True):
        detector.update(abs((model.predict_one(x) or 0) - y))
        model.learn_one(x, y)
        voting.learn_one(x, y)
    assert detector.width > 0
    assert voting.predict_one(rows[0]) in (0, 1, 2)
    fresh = model.clone()
    assert fresh.predict_one(rows[0]) is None


def test_metrics_that_need_probabilities_are_told_that_there_are_none():
    with pytest.raises(NotImplementedError):
        evaluate.progressive_val_score([({"a": 1.0}, True)], OrdinalClassifier(PRIL()), metrics.ROCAUC())


@pytest.mark.parametrize("wrong", [SVOR(), LabelRanker(), "PRIL", PRIL], ids=repr)
def test_only_online_estimators_can_be_wrapped(wrong):
    with pytest.raises(TypeError, match=r"OrdinalClassifier takes an online estimator, .*PRIL.* Got "):
        OrdinalClassifier(wrong)


def test_the_metric_counts_distances_to_what_the_label_admits():
    metric = OrdinalMAE([1, 2, 3, 4, 5])
    metric.update((2, 4), 5)
    metric.update((None, 2), 5)
    metric.update((4, None), 1)
    metric.update({1, 5}, 3, w=2.0)
    metric.update(None, 3)
    assert metric.get() == pytest.approx((1 + 3 + 3 + 2 * 2) / 5)
    metric.revert({1, 5}, 3, w=2.0)
    assert metric.get() == pytest.approx(7 / 3)
    assert not metric.bigger_is_better
    with pytest.raises(ValueError, match=r"must be one of the classes \[1, 2, 3, 4, 5\]. Got 9"):
        metric.update(9, 3)


def test_probabilities_where_the_estimator_has_them():
    model = OrdinalClassifier(OnlineCumulativeLink(classes=[0, 1, 2]))
    assert model.predict_proba_one({"a": 1.0}) == {}
    for a, y in ((-1.0, 0), (0.1, 1), (1.2, 2), (0.9, (1, 2))):
        model.learn_one({"a": a}, y)
    found = model.predict_proba_one({"a": 0.5})
    assert list(found) == [0, 1, 2]
    assert sum(found.values()) == pytest.approx(1.0)
    with pytest.raises(NotImplementedError, match="PRIL has no probabilities; OnlineCumulativeLink has"):
        OrdinalClassifier(PRIL()).predict_proba_one({"a": 1.0})


def test_a_metric_refuses_what_encode_refuses():
    metric = OrdinalMAE(classes=[1, 2, 3])
    with pytest.raises(ValueError, match="a candidate set must not be empty"):
        metric.update(set(), 2)
    with pytest.raises(ValueError, match=r"the lower end of an interval must not be above the upper one. Got \(3, 1\)"):
        metric.update((3, 1), 2)
    assert metric.get() == 0.0


def test_as_many_weights_as_rows():
    model = OrdinalClassifier(PRIL(classes=[1, 2, 3]))
    with pytest.raises(ValueError, match="X has 3 rows but sample_weight"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), [1, 2, 3], w=[1.0, 2.0])
