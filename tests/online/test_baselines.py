"""The regression baseline against its plain twin; the multi-class one is in test_multiclass.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import WidrowHoff
from tests.reference.pril import PlainWidrowHoff
from tests.streams import make_stream


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
