"""M-PRIL against its plain twin and its bound, and for a very long time."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankwise import MultiplicativePRIL, bounds
from rankwise.labels import encode
from tests.reference.pril import PlainMultiplicativePRIL
from tests.streams import make_separable, make_stream


@pytest.mark.parametrize("signed", [True, False])
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6))
def test_rounds_are_those_of_the_plain_twin(signed, seed, n_classes):
    stream = make_stream(seed, n=60, n_classes=n_classes)
    X = stream.X / np.abs(stream.X).max()
    twin = PlainMultiplicativePRIL(X.shape[1], n_classes, 0.2, signed)
    model = MultiplicativePRIL(eta=0.2, signed=signed, average=False, classes=stream.classes)
    violations = 0
    for x, ends in zip(X, stream.y, strict=True):
        model.partial_fit(x[None], ends[None])
        if not (ends[0] == 0 and ends[1] == n_classes - 1):
            violations += twin.learn(x, *ends)
    assume(twin.closest > 1e-12)
    assert model.n_violations_ == violations
    np.testing.assert_allclose(model.coef_, twin.v[: X.shape[1]], atol=1e-10)
    np.testing.assert_allclose(model.thresholds_, twin.v[X.shape[1] :], atol=1e-10)


@pytest.mark.parametrize("eta", ["auto", 0.3])
@pytest.mark.parametrize("signed", [True, False])
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 8), weighted=st.booleans())
def test_thresholds_stay_in_order(eta, signed, seed, n_classes, weighted):
    stream = make_stream(seed, n=60, n_classes=n_classes)
    model = MultiplicativePRIL(eta=eta, signed=signed, average=False, classes=stream.classes)
    for i in range(len(stream)):
        weight = stream.weight[i : i + 1] if weighted else None
        model.partial_fit(stream.X[i : i + 1], stream.y[i : i + 1], sample_weight=weight)
        assert np.all(np.diff(model._state["t"]) >= 0), i


@pytest.mark.parametrize("signed", [True, False])
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 5))
def test_theorem_4_on_separable_streams(signed, seed, n_classes):
    stream = make_separable(seed, n=300, d=4, n_classes=n_classes, gap=0.15)
    X, coef, thresholds = stream.X, stream.coef, stream.thresholds
    if not signed:
        # On the simplex weights and thresholds are positive: double the features and move the thresholds by a constant.
        X = np.hstack([X, -X, np.ones((len(X), 1))])
        lift = max(0.0, -thresholds.min()) + 0.1
        coef = np.concatenate([np.maximum(coef, 0), np.maximum(-coef, 0), [lift]])
        thresholds = thresholds + lift
    labels = encode(stream.y, stream.classes)
    margin = np.nanmin(bounds.margins(X, labels, coef, thresholds, norm=1))
    n_coordinates = (2 if signed else 1) * (X.shape[1] + n_classes - 1)
    width = bounds.smallest_width(labels)
    eta = bounds.multiplicative_pril_rate(margin, n_classes, width)
    model = MultiplicativePRIL(eta=eta, signed=signed, average=False, classes=stream.classes)
    for _ in range(5):
        model.partial_fit(X, stream.y)
    assert 0 < model.n_violations_ <= bounds.multiplicative_pril_mistakes(margin, n_classes, n_coordinates, width)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("eta", ["auto", 1.0])
def test_a_million_rounds_never_overflow(signed, eta, rng):
    """Labels that contradict each other push the exponents as far as they will go."""
    X = rng.uniform(-1, 1, (100_000, 3))
    y = rng.integers(0, 5, len(X))
    X[:, 0] = 1.0
    model = MultiplicativePRIL(eta=eta, signed=signed, classes=range(5))
    for _ in range(10):
        model.partial_fit(X, y)
    assert model._state["counts"][0] == 1_000_000
    for average in (True, False):
        model.set_params(average=average)
        assert np.all(np.isfinite(model.coef_))
        assert np.all(np.isfinite(model.thresholds_))
        assert np.all(np.diff(model.thresholds_) >= 0)


def test_exponents_far_beyond_overflow_are_kept_apart(rng):
    """exp overflows at 710; here one step moves an exponent by up to 5,000."""
    X = rng.uniform(-1000, 1000, (300, 3))
    y = rng.integers(0, 4, len(X))
    model = MultiplicativePRIL(eta=5.0, average=False, classes=range(4))
    for _ in range(5):
        model.partial_fit(X, y)
        assert 5.0 * np.abs(model._state["S"]).max() > 1000
        values = np.concatenate([model.coef_, model.thresholds_])
        assert np.all(np.isfinite(values))
        assert 0.5 < np.abs(values).sum() <= 1.0 + 1e-12


@pytest.mark.parametrize("signed", [True, False])
def test_norm_scales_the_weights_and_no_prediction(signed):
    stream = make_stream(0)
    one = MultiplicativePRIL(signed=signed, random_state=0).fit(stream.X, stream.y)
    ten = MultiplicativePRIL(signed=signed, norm=10.0, random_state=0).fit(stream.X, stream.y)
    np.testing.assert_allclose(ten.coef_, 10 * one.coef_)
    np.testing.assert_array_equal(ten.predict(stream.X), one.predict(stream.X))


def test_automatic_rate_falls_with_the_loss_and_rests_without_it(rng):
    X = rng.uniform(-1, 1, (20_000, 3))
    noise = MultiplicativePRIL(classes=range(4)).partial_fit(X, rng.integers(0, 4, len(X)))
    assert noise.eta_ < 0.02
    clear = make_separable(0, n=300, d=3, n_classes=4, gap=0.2)
    model = MultiplicativePRIL(classes=range(4))
    rates = [model.partial_fit(clear.X, clear.y).eta_ for _ in range(30)]
    assert rates[-1] == rates[-10]
