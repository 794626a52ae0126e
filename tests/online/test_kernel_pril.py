"""Kernel PRIL against its plain twin, and with the linear kernel against PRIL."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from rankwise import PRIL, KernelCuSumRank, KernelPRIL
from tests.reference.pril import PlainKernelPRIL
from tests.streams import make_stream

KERNELS = {
    "linear": (dict(kernel="linear"), lambda a, b: a @ b),
    "polynomial": (dict(kernel="polynomial", degree=2), lambda a, b: (a @ b + 1.0) ** 2),
    "poly": (dict(kernel="poly", degree=3, gamma=0.5, coef0=2.0), lambda a, b: (0.5 * a @ b + 2.0) ** 3),
    "rbf": (dict(kernel="rbf", gamma=0.3), lambda a, b: np.exp(-0.3 * np.sum((a - b) ** 2))),
    "callable": (
        dict(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.3)),
        lambda a, b: np.exp(-0.3 * np.sum((a - b) ** 2)),
    ),
}


@pytest.mark.parametrize("budget", [None, 7])
@pytest.mark.parametrize("name", KERNELS)
def test_rounds_are_those_of_the_plain_twin(name, budget):
    parameters, kernel = KERNELS[name]
    stream = make_stream(1, n=300, n_classes=5)  # more than two blocks
    twin = PlainKernelPRIL(kernel, 5, budget)
    expected = []
    for x, (lo, hi) in zip(stream.X, stream.y, strict=True):
        expected.append(twin.predict(x))
        twin.learn(x, lo, hi)
    model = KernelPRIL(**parameters, budget=budget, average=False, classes=stream.classes)
    predicted = model.progressive_predict(stream.X, stream.y)
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_array_equal(model.thresholds_, twin.t)
    np.testing.assert_allclose(
        model.project(stream.X[:20]), [twin.score(x) for x in stream.X[:20]], rtol=1e-9, atol=1e-9
    )
    assert sorted(model.dual_coef_) == sorted(a for _, a in twin.support)


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6), weighted=st.booleans())
def test_linear_kernel_is_pril(seed, n_classes, weighted):
    stream = make_stream(seed, n=150, n_classes=n_classes)
    weight = stream.weight if weighted else None
    linear = PRIL(classes=stream.classes).partial_fit(stream.X, stream.y, sample_weight=weight)
    kernel = KernelPRIL(kernel="linear", classes=stream.classes).partial_fit(stream.X, stream.y, sample_weight=weight)
    assert kernel.n_violations_ == linear.n_violations_
    np.testing.assert_allclose(kernel.thresholds_, linear.thresholds_, atol=1e-10)
    np.testing.assert_allclose(kernel.dual_coef_ @ kernel.support_vectors_, linear.coef_, atol=1e-10)


def test_epochs_add_to_coefficients_instead_of_repeating_vectors():
    stream = make_stream(5, n=200)
    model = KernelPRIL(n_epochs=8, random_state=0).fit(stream.X, stream.y)
    vectors = model.support_vectors_
    assert len(np.unique(vectors, axis=0)) == len(vectors) <= 200
    assert model.n_updates_ > len(vectors)
    linear = PRIL(n_epochs=8, random_state=0).fit(stream.X, stream.y)
    kernel = KernelPRIL(kernel="linear", n_epochs=8, random_state=0).fit(stream.X, stream.y)
    np.testing.assert_allclose(kernel.dual_coef_ @ kernel.support_vectors_, linear.coef_, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_budget_is_never_exceeded(make):
    stream = make_stream(2, n=400)
    model = KernelPRIL(budget=13, n_epochs=3, random_state=0).fit(make(stream.X), stream.y)
    assert model.support_vectors_.shape == (13, 5)
    assert model.dual_coef_.shape == (13,)
    model.partial_fit(make(stream.X), stream.y)
    assert model.support_vectors_.shape == (13, 5)
    # The pool of a sparse model holds no more than a few times what the slots refer to.
    if "support_used" in model._state:
        alive = (model._state["support_stop"] - model._state["support_start"]).sum()
        assert model._state["support_used"][0] <= max(64, 2 * alive)


def test_kernel_names_agree_with_scikit_learn():
    stream = make_stream(7, n=150)
    built_in = KernelPRIL(kernel="poly", degree=3, gamma=0.7, coef0=1.5, random_state=0).fit(stream.X, stream.y)
    theirs = KernelPRIL(
        kernel=lambda A, B: polynomial_kernel(A, B, degree=3, gamma=0.7, coef0=1.5), random_state=0
    ).fit(stream.X, stream.y)
    np.testing.assert_allclose(built_in.project(stream.X), theirs.project(stream.X), rtol=1e-8)


def test_kernel_that_returns_a_wrong_shape_is_refused():
    stream = make_stream(7, n=20)
    with pytest.raises(ValueError, match=r"kernel must return an array of shape \(20, 20\)"):
        KernelPRIL(kernel=lambda A, B: np.ones(3)).fit(stream.X, stream.y)


@pytest.mark.parametrize("estimator", [KernelPRIL, KernelCuSumRank])
def test_kernel_that_fails_half_way_leaves_the_model_as_it_was(estimator):
    stream = make_stream(7, n=300)
    calls = []

    def kernel(A, B):
        calls.append(1)
        if len(calls) == 6:  # two per block
            raise RuntimeError("the network is down")
        return rbf_kernel(A, B)

    model = estimator(kernel=kernel, classes=stream.classes).partial_fit(stream.X[:20], stream.y[:20])
    before = {name: array.copy() for name, array in model._state.items()}
    with pytest.raises(RuntimeError, match="the network is down"):
        model.partial_fit(stream.X, stream.y)
    for name, array in before.items():
        np.testing.assert_array_equal(model._state[name], array, err_msg=name)
    assert model.partial_fit(stream.X, stream.y).n_updates_ > before["counts"][1]


@pytest.mark.parametrize("estimator", [KernelPRIL, KernelCuSumRank])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_rows_too_large_for_the_kernel_do_not_become_support_vectors(estimator, kernel):
    model = estimator(kernel=kernel, classes=[1, 2, 3])
    problem = "the score, or the model .* is not finite although its features are"
    for form in (np.asarray, sparse.csr_matrix):
        with pytest.raises(ValueError, match=rf"row 1: {problem}: .* 1e\+200"):
            model.fit(form([[1.0], [1e200]]), [2, 3])
    model.learn_one({0: 1.0}, 1)
    with pytest.raises(ValueError, match=f"row 0: {problem}"):
        model.learn_one({0: 1e200}, 3)
    assert len(model.dual_coef_) == 1
    assert model.predict_one({0: 1.0}) == 1
