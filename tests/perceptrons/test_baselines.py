"""The papers' baselines against their plain twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import MulticlassPerceptron, WidrowHoff
from tests.reference.pril import PlainMulticlass, PlainWidrowHoff
from tests.streams import make_stream


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6), kind=st.sampled_from(["interval", "candidates"]))
def test_multiclass_rounds_are_those_of_the_plain_twin(seed, n_classes, kind):
    stream = make_stream(seed, n=80, n_classes=n_classes)
    rng = np.random.default_rng(seed)
    codes = np.arange(n_classes)
    admissible = (stream.lower[:, None] <= codes) & (codes <= stream.upper[:, None])
    if kind == "candidates":
        admissible |= rng.random(admissible.shape) < 0.2
    twin = PlainMulticlass(stream.X.shape[1], n_classes)
    expected = []
    for x, row, c in zip(stream.X, admissible, stream.weight, strict=True):
        expected.append(twin.predict(x))
        twin.learn(x, set(np.flatnonzero(row)), c)
    model = MulticlassPerceptron(average=False, classes=stream.classes)
    predicted = model.progressive_predict(stream.X, admissible, sample_weight=stream.weight)
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_allclose(model.coef_, twin.W, atol=1e-12)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6))
def test_widrow_hoff_rounds_are_those_of_the_plain_twin(normalized, intercept, seed, n_classes):
    stream = make_stream(seed, n=80, n_classes=n_classes)
    twin = PlainWidrowHoff(stream.X.shape[1], n_classes, 0.05, normalized, intercept)
    expected = []
    for x, (lo, hi), c in zip(stream.X, stream.y, stream.weight, strict=True):
        expected.append(twin.predict(x))
        twin.learn(x, lo, hi, c)
    model = WidrowHoff(0.05, normalized, intercept, average=False, classes=stream.classes)
    predicted = model.progressive_predict(stream.X, stream.y, sample_weight=stream.weight)
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_allclose(model.coef_, twin.w, atol=1e-12)
    assert model.intercept_ == pytest.approx(twin.b)
