"""Exported graphs, computed by onnxruntime, against the estimators they come from."""

import json
import os
import re
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler

from rankwise import (
    MORD,
    PRIL,
    SVOR,
    VILMA,
    BoostedThresholds,
    CumulativeLink,
    CuSumRank,
    ImportanceWeightedPerceptron,
    KernelCuSumRank,
    KernelPRIL,
    LabelRanker,
    MulticlassPerceptron,
    MultiplicativePRIL,
    OnlineCumulativeLink,
    PiecewiseMORD,
    PRank,
    RoundedRegression,
    UnifiedClassifier,
    WidrowHoff,
)
from rankwise.onnx import to_onnx
from rankwise.onnx._decision_graphs import RULES
from rankwise.onnx._export import _SCALERS

ESTIMATORS = [
    PRIL(random_state=0),
    PRIL(step="pa1", average=False, random_state=0),
    PRank(random_state=0),
    MultiplicativePRIL(random_state=0),
    MultiplicativePRIL(signed=False, eta=0.1, random_state=0),
    WidrowHoff(random_state=0),
    CumulativeLink(),
    OnlineCumulativeLink(random_state=0),
    CumulativeLink("cloglog", decision="mode"),
    SVOR(alpha=1e-2),
    SVOR(constraints="explicit", alpha=1e-2),
    VILMA(alpha=1e-2),
    VILMA(loss="zero_one", alpha=1e-2),
    RoundedRegression(alpha=1e-2),
    CuSumRank(random_state=0),
    CuSumRank(fit_intercept=False, average=False, random_state=0),
    ImportanceWeightedPerceptron(random_state=0),
    ImportanceWeightedPerceptron(scheme="all-pairs", scoring="max-win", random_state=0),
    MulticlassPerceptron(random_state=0),
    LabelRanker(random_state=0),
    LabelRanker(complexity="entropic", random_state=0),
    MORD(alpha=1e-2),
    PiecewiseMORD(alpha=1e-2),
    PiecewiseMORD(cuts=5, alpha=1e-2),
    UnifiedClassifier(alpha=1e-2),
]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


def data(n_classes, n=400, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    score = X @ rng.normal(size=6) + 0.3 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def run(graph, X):
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], {"X": X})


def test_every_estimator_that_can_be_exported_is_tested():
    trees = {BoostedThresholds}  # in test_trees.py
    assert {type(estimator) for estimator in ESTIMATORS} | trees == set(RULES)


def test_the_page_names_what_can_be_exported():
    page = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text()
    named = page.split("**Supported estimators**")[1].split("\n- **")[0].split("Kernel models")[0]
    assert set(re.findall(r"`(\w+)`", named)) == {kind.__name__ for kind in [*RULES, *_SCALERS]}


@each
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_labels_are_those_of_predict_and_scores_those_of_decision_function(estimator, n_classes, dtype):
    if n_classes < 5 and getattr(estimator, "cuts", 3) == 5:
        estimator = PiecewiseMORD(cuts=2, alpha=1e-2)
    X, y = data(n_classes)
    model = estimator.fit(X[:200], y[:200])
    rows = X.astype(dtype)
    label, scores = run(to_onnx(model, dtype=dtype), rows)
    np.testing.assert_array_equal(label, model.predict(rows))
    expected = model.decision_function(rows)
    assert scores.shape == expected.shape
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


@each
def test_ties_are_decided_as_by_predict(estimator):
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [-1.0, 1.0]])
    model = estimator.fit(X[1:], [1, 2, 0])
    zero = X[:1]  # every linear answer is zero there
    label, _ = run(to_onnx(model), zero)
    np.testing.assert_array_equal(label, model.predict(zero))


def test_a_score_on_a_threshold_belongs_to_the_class_above_in_label_and_scores():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [1, 1, 2, 3]
    model = PRIL(n_epochs=3, shuffle=False, average=False).fit(X, y)
    on_thresholds = (model.thresholds_ / model.coef_[0]).reshape(-1, 1)
    assert (model.project(on_thresholds) == model.thresholds_).all()
    label, scores = run(to_onnx(model), on_thresholds)
    assert label.tolist() == model.predict(on_thresholds).tolist()
    np.testing.assert_array_equal(scores, model.decision_function(on_thresholds))
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], label)


@pytest.mark.parametrize(
    "classes",
    [[10, 20, 30], ["low", "mid", "high"], [0.5, 1.5, 2.5], np.array(["niedrig", "mäßig", "hoch"], dtype=object)],
    ids=["int", "str", "float", "object"],
)
def test_labels_have_the_type_of_the_classes(classes):
    X, y = data(3)
    model = PRIL(classes=classes, random_state=0).fit(X, np.asarray(classes)[y])
    label, _ = run(to_onnx(model), X)
    assert label.tolist() == model.predict(X).tolist()


def test_truth_values_as_classes():
    X, y = data(2)
    model = PRIL(random_state=0).fit(X, y.astype(bool))
    label, _ = run(to_onnx(model), X)
    assert label.dtype == bool
    np.testing.assert_array_equal(label, model.predict(X))


@pytest.mark.parametrize("n", [0, 1, 7])
def test_any_number_of_rows(n):
    X, y = data(4)
    model = CuSumRank(random_state=0).fit(X, y)
    label, scores = run(to_onnx(model), X[:n])
    assert label.shape == (n,)
    assert scores.shape == (n, 4)


@pytest.mark.parametrize(
    "scalers",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [MinMaxScaler()],
        [MinMaxScaler(feature_range=(-1, 2), clip=True)],
        [MaxAbsScaler()],
        [MinMaxScaler(), "passthrough", StandardScaler()],
    ],
    ids=str,
)
def test_pipelines_of_scalers(scalers):
    X, y = data(4)
    X = X * [1, 10, 100, 1e3, 1e-3, 0] + 5  # the last one is constant
    model = make_pipeline(*scalers, PRIL(random_state=0)).fit(X[:200], y[:200])
    label, scores = run(to_onnx(model), 1.5 * X)
    np.testing.assert_array_equal(label, model.predict(1.5 * X))
    np.testing.assert_allclose(scores, model.decision_function(1.5 * X), rtol=1e-9, atol=1e-9)


def test_metadata_names_features_classes_and_maker():
    X, y = data(3)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    classes = ["low", "mid", "high"]
    model = make_pipeline(StandardScaler(), SVOR(classes=classes)).fit(frame, np.array(classes)[y])
    graph = to_onnx(model)
    found = {entry.key: entry.value for entry in graph.metadata_props}
    assert json.loads(found["feature_names"]) == list("abcdef")
    assert json.loads(found["classes"]) == classes
    assert found["estimator"] == "SVOR"
    assert graph.producer_name == "rankwise"


def test_a_model_learnt_from_dicts_says_in_which_order_its_columns_come():
    model = PRIL()
    for stars, words in [(3, "great fun"), (1, "broken"), (2, "fun")] * 20:
        model.learn_one(dict.fromkeys(words.split(), 1.0), stars)
    graph = to_onnx(model)
    names = json.loads({entry.key: entry.value for entry in graph.metadata_props}["feature_names"])
    row = np.array([[float(name in ("great", "fun")) for name in names]])
    assert run(graph, row)[0].tolist() == [model.predict_one({"great": 1.0, "fun": 1.0})]


def test_without_names_there_are_none_in_the_metadata():
    X, y = data(3)
    assert "feature_names" not in {entry.key for entry in to_onnx(PRIL(random_state=0).fit(X, y)).metadata_props}


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    X, y = data(3)
    path = tmp_path / "model.onnx"
    graph = to_onnx(PRIL(random_state=0).fit(X, y), path)
    before = path.read_bytes()
    assert before == graph.SerializeToString()

    def fails(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="no space left"):
        to_onnx(PRank(random_state=0).fit(X, y), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("estimator", [KernelPRIL(), KernelCuSumRank(), LogisticRegression()], ids=str)
def test_what_cannot_be_exported_is_told_what_can(estimator):
    X, y = data(3, n=60)
    with pytest.raises(TypeError, match=rf"cannot export a {type(estimator).__name__} to ONNX.*CuSumRank.*VILMA"):
        to_onnx(estimator.fit(X, y))


def test_a_step_that_cannot_be_exported_is_named():
    X, y = data(3)
    model = make_pipeline(PolynomialFeatures(2), PRIL(random_state=0)).fit(X, y)
    with pytest.raises(TypeError, match=r"cannot export a PolynomialFeatures in front .*MaxAbsScaler, MinMaxScaler"):
        to_onnx(model)


def test_a_model_that_has_not_learnt_is_refused():
    with pytest.raises(NotFittedError):
        to_onnx(PRIL())


def test_classes_of_several_types_are_refused():
    X, y = data(3)
    classes = np.array([1, "two", 3], dtype=object)
    model = PRIL(classes=classes).fit(X, classes[y])
    with pytest.raises(TypeError, match="cannot export classes of type object to ONNX"):
        to_onnx(model)


def test_the_type_of_the_input_is_checked():
    with pytest.raises(ValueError, match=r"dtype must be 'float64' or 'float32'.* Got 'float16'"):
        to_onnx(PRIL(), dtype="float16")


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "loglog"])
@pytest.mark.parametrize("decision", ["median", "mode", "mean", "cost"])
def test_probabilities_of_cumulative_links(link, decision):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.digitize(X[:, 0] + rng.logistic(size=400), [-1.0, 0.0, 1.5])
    cost = np.abs(np.subtract.outer(range(5), range(5))) ** 1.5
    model = CumulativeLink(link, decision=cost if decision == "cost" else decision, classes=range(5))
    with pytest.warns(UserWarning, match="no label needs these classes, their probability is zero: 4"):
        model.fit(X, y)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    far = np.vstack([X, 1e4 * np.eye(3), -1e4 * np.eye(3)])
    label, scores, P = session.run(None, {"X": far})
    np.testing.assert_array_equal(label, model.predict(far))
    expected = model.decision_function(far)
    rounding = 1e-6 if link == "probit" else 1e-12
    np.testing.assert_allclose(scores[:, :4], expected[:, :4], rtol=1e-9, atol=10 * rounding)
    np.testing.assert_allclose(P, model.predict_proba(far), atol=rounding)
