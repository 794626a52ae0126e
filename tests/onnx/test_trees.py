"""Boosted trees as graphs, computed by onnxruntime."""

import numpy as np
import onnxruntime
import pytest

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
