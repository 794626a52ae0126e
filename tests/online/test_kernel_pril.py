"""Kernel PRIL against its plain twin, and with the linear kernel against PRIL."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from rankwise import PRIL, KernelCuSumRank, KernelPRIL
from rankwise.datasets import make_pril_synthetic
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
BUDGETS = [*((name, budget, 16) for name in KERNELS for budget in (None, 7)), ("rbf", 7, 0), ("rbf", 20, 4)]


@pytest.mark.parametrize(("name", "budget", "n_neighbors"), BUDGETS)
def test_rounds_are_those_of_the_plain_twin(name, budget, n_neighbors):
    parameters, kernel = KERNELS[name]
    stream = make_stream(1, n=300 if budget is None else 180, n_classes=5)  # more than one block
    for average in (False, True):
        twin = PlainKernelPRIL(kernel, 5, budget, n_neighbors)
        expected = []
        for x, (lo, hi) in zip(stream.X, stream.y, strict=True):
            expected.append(twin.predict_averaged(x) if average else twin.predict(x))
            twin.learn(x, lo, hi)
        model = KernelPRIL(
            **parameters, budget=budget, n_neighbors=n_neighbors, average=average, classes=stream.classes
        )
        predicted = model.progressive_predict(stream.X, stream.y)
        np.testing.assert_array_equal(predicted, expected)
        np.testing.assert_allclose(model.thresholds_, twin.sum_t / twin.rounds if average else twin.t, atol=1e-9)
        scores = [twin.score(x, average) for x in stream.X[:20]]
        np.testing.assert_allclose(model.project(stream.X[:20]), scores, rtol=1e-6, atol=1e-6)
        coefficients = [total / twin.rounds if average else a for _, a, total in twin.support]
        np.testing.assert_allclose(sorted(model.dual_coef_), sorted(coefficients), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("estimator", [KernelPRIL, KernelCuSumRank])
def test_a_budgeted_average_is_nearly_as_good_as_one_of_all_vectors(estimator):
    X, y = make_pril_synthetic(3000, random_state=0)
    free = estimator(random_state=0).fit(X[:2000], y[:2000])
    few = len(free.dual_coef_) // 10
    error = {m: -estimator(budget=few, n_neighbors=m, random_state=0).fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
             for m in (0, 32)}  # fmt: skip
    assert error[32] <= 1.15 * -free.score(X[2000:], y[2000:]) < error[0]


def test_a_vector_that_lies_among_the_others_is_handed_over_without_loss():
    """With the linear kernel in two dimensions three vectors say all that any number says."""
    stream = make_stream(3, n=200, d=2)
    free = KernelPRIL(kernel="linear", classes=stream.classes)
    few = KernelPRIL(kernel="linear", budget=5, classes=stream.classes)
    np.testing.assert_array_equal(
        few.progressive_predict(stream.X, stream.y), free.progressive_predict(stream.X, stream.y)
    )
    assert len(few.dual_coef_) == 5 < len(free.dual_coef_)
    np.testing.assert_allclose(few.project(stream.X), free.project(stream.X), rtol=1e-4, atol=1e-4)


def test_cosines_of_a_table_are_those_of_rows_as_they_came():
    """The table is computed anew after loading or a larger budget, with the bits of the rows that filled it."""
    stream = make_stream(3, n=300)
    model = KernelPRIL(gamma=0.3, budget=20, classes=stream.classes).partial_fit(stream.X, stream.y)
    state = {name: array for name, array in model._state.items() if name != "cosines"}
    again = model._cosines(state, 20)
    np.testing.assert_array_equal(again, model._state["cosines"])
    assert again.dtype == np.float32
    model.set_params(budget=400).partial_fit(stream.X[:5], stream.y[:5])
    assert "cosines" not in model._state


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


def test_files_do_not_hold_what_no_vector_uses():
    """An interrupted round leaves its row behind the entries in use."""
    model = KernelPRIL(kernel="rbf")
    for i in range(4):
        model.learn_one({"a": float(i), "b": 1.0 - i}, i % 3)
    used, pool = int(model._state["support_used"][0]), model._state["support_data"]
    assert pool.size > used
    pool[used:] = 7.0
    plain = model.to_plain()["state"]
    assert not plain["support_data"][used:].any()
    assert pool[used:].all()
    np.testing.assert_array_equal(plain["support_data"][:used], pool[:used])
