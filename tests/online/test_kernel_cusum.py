"""Kernel CuSum Rank against its plain twin, with a linear kernel against CuSum Rank, and where a kernel is needed."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import rankwise as rw
from rankwise import CuSumRank, KernelCuSumRank
from rankwise.persistence import ModelFileError
from tests.reference.cusum import PlainKernelCuSum
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
LEARNING = [  # a passive-aggressive step without a margin never leaves zero
    ("perceptron", "none"),
    *((step, margin) for step in ("perceptron", "pa", "pa1", "pa2") for margin in ("constant", "loss")),
]
each_step = pytest.mark.parametrize(("step", "margin"), LEARNING)

D0 = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]), np.array([1, 2, 2, 3])
DIAGONALS = D0[0], np.array([1, 3, 1, 3])


def candidates(stream, gaps=0.2):
    """Boolean mask of the stream's intervals with some ranks more: sets with holes, and some that admit every rank."""
    codes = np.arange(stream.n_classes)
    admissible = (stream.lower[:, None] <= codes) & (codes <= stream.upper[:, None])
    return admissible | (np.random.default_rng(0).random(admissible.shape) < gaps)


def assert_rounds_equal(twin, model, stream):
    """Same predictions, last and averaged, in every round, and the same coefficients after the last."""
    admissible = candidates(stream)
    plain, averaged = [], []
    for x, row, c in zip(stream.X, admissible, stream.weight, strict=True):
        plain.append(twin.predict(x))
        averaged.append(twin.predict_averaged(x))
        twin.learn(x, set(np.flatnonzero(row).tolist()), c)
    model.set_params(classes=stream.classes)
    for average, expected in ((False, plain), (True, averaged)):
        learner = KernelCuSumRank(**{**model.get_params(), "average": average})
        predicted = learner.progressive_predict(stream.X, admissible, sample_weight=stream.weight)
        np.testing.assert_array_equal(predicted, expected)
        learnt = np.column_stack([learner.support_vectors_, learner.dual_coef_])
        counts = [total / twin.rounds if average else a for _, a, total in twin.support]
        by_twin = np.column_stack([[v for v, _, _ in twin.support], counts])
        np.testing.assert_allclose(learnt[np.lexsort(learnt.T)], by_twin[np.lexsort(by_twin.T)], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(learner.intercept_, twin.sum_b / twin.rounds if average else twin.b, atol=1e-9)
        assert learner.n_violations_ == twin.loss


@pytest.mark.parametrize(("name", "budget", "n_neighbors"), BUDGETS)
def test_rounds_are_those_of_the_plain_twin(name, budget, n_neighbors):
    parameters, kernel = KERNELS[name]
    twin = PlainKernelCuSum(kernel, 5, budget, n_neighbors=n_neighbors, margin="loss", delta=0.7)
    model = KernelCuSumRank(**parameters, budget=budget, n_neighbors=n_neighbors, margin="loss", delta=0.7)
    n = 300 if budget is None else 180  # more than one block
    assert_rounds_equal(twin, model, make_stream(1, n=n, n_classes=5))


@each_step
@pytest.mark.parametrize("intercept", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_every_step_and_margin_is_that_of_the_plain_twin(step, margin, intercept):
    parameters, kernel = KERNELS["rbf"]
    how = dict(step=step, margin=margin, delta=0.7, C=0.3)
    twin = PlainKernelCuSum(kernel, 4, 20, intercept, **how)
    model = KernelCuSumRank(**parameters, **how, budget=20, fit_intercept=intercept)
    assert_rounds_equal(twin, model, make_stream(3, n=100))


LABELS = {
    "exact": lambda stream: stream.lower,
    "interval": lambda stream: stream.y,
    "missing": lambda stream: np.where(np.arange(len(stream)) % 3 == 0, np.nan, stream.lower),
    "candidates": candidates,
}


@each_step
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_is_cusum_rank_in_every_round(step, margin, labels, intercept):
    stream = make_stream(5, n=200, n_classes=5)
    y = LABELS[labels](stream)
    how = dict(step=step, margin=margin, delta=0.75, C=0.3, fit_intercept=intercept, classes=stream.classes)
    whole = np.random.default_rng(5).integers(-4, 5, stream.X.shape).astype(float)
    # With whole numbers and perceptron steps all sums are exact; averages and passive-aggressive steps divide.
    for X, average in ((whole, False), (stream.X, False), (stream.X, True)):
        if X is whole and step != "perceptron":
            continue
        linear, kernel = CuSumRank(**how, average=average), KernelCuSumRank("linear", **how, average=average)
        expected = linear.progressive_predict(X, y, sample_weight=stream.weight)
        predicted = kernel.progressive_predict(X, y, sample_weight=stream.weight)
        np.testing.assert_array_equal(predicted, expected)
        assert (kernel.n_updates_, kernel.n_violations_) == (linear.n_updates_, linear.n_violations_)
        rtol, atol = (0, 0) if X is whole else (1e-7, 1e-9)
        w = kernel.dual_coef_.T @ kernel.support_vectors_
        np.testing.assert_allclose(w, linear.coef_, rtol=rtol, atol=atol)
        np.testing.assert_allclose(kernel.intercept_, linear.intercept_, rtol=rtol, atol=atol)
        assert len(kernel.support_vectors_) == kernel.n_updates_ > 20


@pytest.mark.parametrize("margin", ["none", "constant", "loss"])
def test_averages_of_whole_numbers_are_cusum_ranks_to_the_bit(margin):
    """After 1, 2, 4, ... rounds a mean of whole numbers is exact, whatever the order of the sum."""
    X = np.random.default_rng(2).integers(-4, 5, (256, 4)).astype(float)
    y = make_stream(2, n=256, n_classes=5, exact=1.0).lower
    linear = CuSumRank(margin=margin, classes=range(5))
    kernel = KernelCuSumRank("linear", margin=margin, classes=range(5))
    for start, stop in [(0, 1), *((n, 2 * n) for n in (1, 2, 4, 8, 16, 32, 64, 128))]:
        for model in (linear, kernel):
            model.partial_fit(X[start:stop], y[start:stop])
        np.testing.assert_array_equal(kernel.decision_function(X), linear.decision_function(X))


def test_polynomial_kernel_is_cusum_rank_on_monomials():
    stream = make_stream(6, n=250, d=2, zeros=0.0)
    a, b = stream.X.T
    monomials = np.column_stack([np.ones_like(a), *(np.sqrt(2) * m for m in (a, b, a * b)), a**2, b**2])
    kernel = KernelCuSumRank("polynomial", degree=2, classes=stream.classes)
    linear = CuSumRank(classes=stream.classes)
    np.testing.assert_array_equal(
        kernel.progressive_predict(stream.X, stream.y), linear.progressive_predict(monomials, stream.y)
    )


@pytest.mark.parametrize(
    "parameters", [dict(step="perceptron", margin="none"), dict(margin="loss"), dict(step="pa", margin="constant")]
)
@pytest.mark.parametrize("data", [D0, DIAGONALS], ids=["D0", "diagonals"])
def test_what_a_kernel_separates_is_learnt(data, parameters):
    X, y = data
    plain = dict(n_epochs=100, shuffle=False, average=False, classes=[1, 2, 3], **parameters)
    for kernel in (dict(kernel="poly", degree=2), dict(kernel="rbf", gamma=1.0)):
        model = KernelCuSumRank(**kernel, **plain).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), y)
        updates = model.n_updates_
        assert model.partial_fit(X, y).n_updates_ == updates  # converged
    linear = KernelCuSumRank("linear", **plain).fit(X, y).predict(X)
    assert np.array_equal(linear, y) == (data is D0)


def test_candidate_sets_with_gaps_keep_the_gap_empty():
    """Opposite corners are known to be extreme, not which extreme: the rank between is never the answer."""
    X, y = DIAGONALS
    X = np.vstack([X, [[0.5, 0.5]]])
    model = KernelCuSumRank(gamma=1.0, classes=[1, 2, 3], n_epochs=50, shuffle=False, average=False)
    model.fit(X, [{1}, {3}, {1}, {1, 3}, {1, 3}])
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted[:3], y[:3])
    assert not np.any(predicted[3:] == 2)
    told_an_interval = KernelCuSumRank(gamma=1.0, n_epochs=50, shuffle=False, average=False)
    told_an_interval.fit(X, [(1, 1), (3, 3), (1, 1), (2, 2), (2, 2)])
    np.testing.assert_array_equal(told_an_interval.predict(X[3:]), [2, 2])


def test_coefficients_and_scores_belong_together():
    stream = make_stream(0)
    model = KernelCuSumRank(gamma=0.3, random_state=0).fit(stream.X, stream.y)
    assert model.dual_coef_.shape == (len(model.support_vectors_), 4)
    assert not model.dual_coef_[:, 0].any()
    assert model.intercept_[0] == 0.0
    answers = rbf_kernel(stream.X, model.support_vectors_, gamma=0.3) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(model.decision_function(stream.X), np.cumsum(answers, axis=1), atol=1e-9)


def test_epochs_add_to_coefficients_instead_of_repeating_vectors():
    stream = make_stream(5, n=200)
    how = dict(n_epochs=8, random_state=0)
    kernel = KernelCuSumRank("linear", **how).fit(stream.X, stream.y)
    vectors = kernel.support_vectors_
    assert len(np.unique(vectors, axis=0)) == len(vectors) < kernel.n_updates_
    linear = CuSumRank(**how).fit(stream.X, stream.y)
    np.testing.assert_allclose(kernel.dual_coef_.T @ vectors, linear.coef_, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_budget_is_never_exceeded_and_survives_a_file(make, tmp_path):
    stream = make_stream(2, n=400)
    X, y = make(stream.X), candidates(stream)
    model = KernelCuSumRank(gamma=0.2, budget=13, n_epochs=3, random_state=0).fit(X, y)
    rw.save(model, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    for learner in (model, copy):
        learner.partial_fit(X, y)
        assert learner.support_vectors_.shape == (13, 5)
        assert learner.dual_coef_.shape == (13, 4)
    for name, array in model._state.items():
        np.testing.assert_array_equal(copy._state[name], array, err_msg=name)


def test_files_of_earlier_versions_hold_lengths_of_coefficients():
    stream = make_stream(2, n=80)
    model = KernelCuSumRank(gamma=0.2, budget=13, random_state=0).fit(stream.X, stream.y)
    plain = model.to_plain()
    plain["state"]["strength"] = np.ones(len(plain["state"]["born"]))
    old = KernelCuSumRank(gamma=0.2, budget=13, random_state=0)
    old.from_plain(plain)
    np.testing.assert_array_equal(old.partial_fit(stream.X, stream.y).dual_coef_,
                                  model.partial_fit(stream.X, stream.y).dual_coef_)  # fmt: skip


def test_files_whose_arrays_do_not_belong_together_are_refused(tmp_path):
    stream = make_stream(2, n=50)
    model = KernelCuSumRank(gamma=0.2, random_state=0).fit(stream.X, stream.y)
    for name, cut in (
        ("dual", lambda a: a[:, :-1]),
        ("dual", lambda a: a[:8]),
        ("influence", lambda a: a[:-1]),
        ("support", lambda a: a[:, :3].copy()),
        ("size", lambda a: a + 1000),
    ):
        whole = model._state[name]
        model._state[name] = cut(whole)
        rw.save(model, tmp_path / "m")
        model._state[name] = whole
        with pytest.raises(ModelFileError, match="does not describe a KernelCuSumRank that can exist"):
            rw.load(tmp_path / "m")


def test_a_new_class_in_a_stream_changes_no_prediction_until_it_is_learnt():
    stream = make_stream(4, n=100, n_classes=3, exact=1.0)
    model = KernelCuSumRank(gamma=0.3, average=False)
    for x, label in zip(stream.X, stream.lower, strict=True):
        model.learn_one(dict(enumerate(x)), 2 * int(label))
    before, scores = model.predict(stream.X), model.decision_function(stream.X)
    model.learn_one({0: 1.0}, 3, w=0.0)
    assert model.classes_.tolist() == [0, 2, 3, 4]
    assert not model.dual_coef_[:, 2].any()
    np.testing.assert_array_equal(model.predict(stream.X), before)
    np.testing.assert_array_equal(np.delete(model.decision_function(stream.X), 2, axis=1), scores)
    for _ in range(10):
        model.learn_one({0: 1.0}, 3)
    assert model.predict_one({0: 1.0}) == 3
