"""CuSum Rank against its plain twin, on the paper's example, and within its bound."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankwise import CuSumRank, KernelCuSumRank, PRank, bounds
from tests.reference.cusum import PlainCuSum
from tests.streams import make_stream

D0 = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]), np.array([1, 2, 2, 3])


@pytest.mark.parametrize(
    ("step", "margin"),
    [("perceptron", "none"), *itertools.product(["perceptron", "pa", "pa1", "pa2"], ["constant", "loss"])],
)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6), gaps=st.booleans())
def test_rounds_are_those_of_the_plain_twin(step, margin, seed, n_classes, gaps):
    stream = make_stream(seed, n=60, n_classes=n_classes, zeros=0.0)
    rng = np.random.default_rng(seed)
    codes = np.arange(n_classes)
    admissible = (stream.lower[:, None] <= codes) & (codes <= stream.upper[:, None])
    if gaps:
        admissible |= rng.random(admissible.shape) < 0.2
    X = np.column_stack([stream.X, np.ones(len(stream))])  # the intercept as a feature
    twin = PlainCuSum(X.shape[1], n_classes, step, margin, delta=0.7, C=0.3)
    expected = []
    for x, row, c in zip(X, admissible, stream.weight, strict=True):
        if step != "perceptron" and np.any(twin.w):  # steps that are not whole: rounding decides close calls
            first, second = np.sort(twin.scores(x))[[-1, -2]]
            assume(first - second > 1e-9)
        expected.append(twin.predict(x))
        twin.learn(x, set(np.flatnonzero(row).tolist()), c)
    model = CuSumRank(step, margin, delta=0.7, C=0.3, average=False, classes=stream.classes)
    predicted = model.progressive_predict(stream.X, admissible, sample_weight=stream.weight)
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_allclose(np.column_stack([model.coef_, model.intercept_]), twin.w, atol=1e-9)
    assert model.n_violations_ == twin.loss


def test_the_papers_example_is_learnt_and_prank_cannot():
    X, y = D0
    plain = dict(n_epochs=100, shuffle=False, average=False)
    for step in ("perceptron", "pa"):
        model = CuSumRank(step=step, margin="none" if step == "perceptron" else "constant", **plain).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), y)
        updates = model.n_updates_
        assert model.partial_fit(X, y).n_updates_ == updates  # converged
    for epochs in (10, 100, 1000):
        prank = PRank(n_epochs=epochs, shuffle=False, average=False).fit(X, y)
        assert np.any(prank.predict(X) != y)


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 5))
def test_corollary_3_on_rank_separable_streams(seed, n_classes):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((n_classes, 3))
    w[0] = 0.0
    w /= np.linalg.norm(w)
    X = np.column_stack([rng.uniform(-1, 1, (5000, 2)), -np.ones(5000)])
    answers = X @ w[1:].T
    y = (answers > 0).sum(axis=1)
    # Rank separable: the answers agree with each other and keep a distance from zero.
    agree = np.all((answers > 0) == (np.arange(1, n_classes) <= y[:, None]), axis=1)
    clear = agree & (np.abs(answers).min(axis=1) > 0.05)
    X, y, answers = X[clear][:400], y[clear][:400], answers[clear][:400]
    assume(len(X) > 20)
    delta = np.abs(answers).min()
    model = CuSumRank(margin="none", average=False, fit_intercept=False, classes=range(n_classes))
    for _ in range(5):
        model.partial_fit(X, y)
    assert model.n_violations_ <= bounds.cusum_loss(bounds.data_radius(X), delta)


def test_first_rank_has_no_vector():
    stream = make_stream(0)
    model = CuSumRank(random_state=0).fit(stream.X, stream.y)
    assert model.coef_.shape == (4, 5)
    assert not model.coef_[0].any()
    assert model.intercept_[0] == 0.0
    np.testing.assert_allclose(
        model.decision_function(stream.X), np.cumsum(stream.X @ model.coef_.T + model.intercept_, axis=1)
    )


@pytest.mark.parametrize("estimator", [CuSumRank, KernelCuSumRank])
def test_passive_aggressive_steps_without_a_margin_are_refused(estimator):
    with pytest.raises(ValueError, match=r"step=.pa1. needs a margin: with margin=.none. no step would"):
        estimator(step="pa1", margin="none").fit(*D0)
