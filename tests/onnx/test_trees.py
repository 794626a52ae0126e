"""Boosted trees as graphs, computed by onnxruntime."""

import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from rankwise import BoostedThresholds
from rankwise.onnx import to_onnx


def data(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[:, 2] = rng.integers(3, 40, n) * 10
    X[::7, 0] = np.nan
    y = np.searchsorted([-0.5, 0.5, 1.5], X[:, 1] + X[:, 2] // 10 % 3 - 1 + np.nan_to_num(X[:, 0]) ** 2)
    return X, y


@pytest.mark.parametrize(
    "options", [{}, {"link": "cloglog", "decision": "mode"}, {"loss": "implicit"}], ids=lambda options: str(options)
)
def test_a_graph_says_what_the_model_says(options):
    X, y = data()
    model = BoostedThresholds(
        max_iter=20, early_stopping=False, categorical_features=[2], min_samples_leaf=5, n_jobs=1, **options
    ).fit(X, y)
    new = X[::-1].copy()
    new[5, 2], new[7, 2], new[3:9, 1] = np.nan, 7.0, np.nan  # missing, a category that was not met, missing only here
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    found = dict(zip([output.name for output in session.get_outputs()], session.run(None, {"X": new}), strict=True))
    assert (found["label"] == model.predict(new)).all()
    np.testing.assert_allclose(found["scores"], model.decision_function(new), atol=1e-10)
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(new), atol=1e-12)


CATEGORIES = {
    "whole": np.arange(12),
    "more than 32": np.arange(70),
    "halves": np.arange(12) + 0.5,
    "halves and whole": np.arange(14) / 2,
    "tenths": np.arange(12) / 10,
    "negative": np.arange(-8, 8),
    "negative halves": np.arange(-8, 8) + 0.5,
    "large": np.arange(12) * 1e10,
    "huge": np.arange(12) * 1e299,
    "tiny": np.arange(12) * 1e-310,
    "beyond 2**53": 2.0**53 + 2 * np.arange(12),
    "single precision": (np.arange(12) / 10).astype(np.float32),
}
UNSEEN = [np.nan, -0.0, 0.0, 0.5, -1.0, 1.5, 2.5, 7.0, 31.9, 1e10, -1e300, 1e300, 2.0000001, 1e-320, -5e-324, 2.0**31]


def with_categories(values, n=600):
    """A model with one column of these categories, and its rows with missing values."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(values), n)
    X = np.column_stack([rng.normal(size=n), np.asarray(values, dtype=float)[drawn], rng.normal(size=n)])
    y = np.searchsorted([1.5, 3.0, 4.5], drawn * 7 % 5 + X[:, 0])
    X[::9, 0] = X[::13, 1] = np.nan
    options = {"max_iter": 20, "early_stopping": False, "min_samples_leaf": 3, "n_jobs": 1}
    return BoostedThresholds(categorical_features=[1], **options).fit(X, y), X


def probabilities(graph, X):
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    return session.run(["probabilities"], {"X": X})[0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("what", CATEGORIES)
def test_any_number_may_stand_for_a_category(what, dtype):
    model, X = with_categories(CATEGORIES[what])
    unseen = np.column_stack([np.zeros(len(UNSEEN)), UNSEEN, np.ones(len(UNSEEN))])
    new = np.concatenate([X, unseen])
    with np.errstate(over="ignore"):
        new = new.astype(dtype)
    new[np.isinf(new)] = -3.0
    found = probabilities(to_onnx(model, dtype=dtype), new)
    np.testing.assert_allclose(found, model.predict_proba(new), atol=1e-12)


@pytest.mark.parametrize("step", [StandardScaler(), MinMaxScaler()], ids=str)
def test_categories_behind_a_scaler(step):
    model, X = with_categories(np.arange(12) + 0.5)
    X, y = X[~np.isnan(X).any(axis=1)], model.predict(X[~np.isnan(X).any(axis=1)])
    pipeline = make_pipeline(step, model).fit(X, y)
    np.testing.assert_allclose(probabilities(to_onnx(pipeline), X), pipeline.predict_proba(X), atol=1e-12)


def test_thresholds_are_not_rounded_to_single_precision():
    """Two numbers that single precision cannot tell apart, on both sides of a threshold."""
    X = np.repeat([1.0, 1.0 + 1e-12], 50)[:, None]
    model = BoostedThresholds(max_iter=5, early_stopping=False, n_jobs=1, engine_params={"min_data_in_bin": 1})
    model.fit(X, np.repeat([0, 1], 50))
    assert len(set(model.predict(X))) == 2
    np.testing.assert_allclose(probabilities(to_onnx(model), X), model.predict_proba(X), atol=1e-12)


def test_texts_are_given_by_their_positions_which_the_metadata_names():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", "grey"], 300)
    frame = pd.DataFrame({"size": rng.normal(size=300), "colour": colour})
    frame.loc[::11, "colour"] = None
    y = (frame["size"] + (frame["colour"] == "red") > 0.5).astype(int)
    model = BoostedThresholds(max_iter=20, early_stopping=False, min_samples_leaf=3, n_jobs=1).fit(frame, y)
    graph = to_onnx(model)
    metadata = {entry.key: entry.value for entry in graph.metadata_props}
    known = json.loads(metadata["categories"])
    assert known == {"colour": ["blue", "green", "grey", "red"]}
    position = {text: float(i) for i, text in enumerate(known["colour"])}
    new = pd.concat([frame, pd.DataFrame({"size": [0.0, 1.0], "colour": ["pink", "red"]})])
    X = np.column_stack([new["size"], [position.get(text, 4.0) for text in new["colour"]]])
    np.testing.assert_allclose(probabilities(graph, X), model.predict_proba(new), atol=1e-12)


def test_a_model_without_a_split():
    X, y = data(40)
    model = BoostedThresholds(n_jobs=1).fit(np.ones_like(X), y)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    (found,) = session.run(["probabilities"], {"X": np.ones((2, 4))})
    np.testing.assert_allclose(found, model.predict_proba(np.ones((2, 4))))


@pytest.mark.parametrize("loss", ["likelihood", "implicit"])
def test_a_single_class(loss):
    X, _ = data(40)
    model = BoostedThresholds(loss=loss, n_jobs=1).fit(X, np.ones(40, dtype=int))
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    labels, scores = session.run(["label", "scores"], {"X": X})
    assert (labels == 1).all()
    np.testing.assert_array_equal(scores, model.decision_function(X))
