"""Every large-margin estimator finds the optimum that a general solver finds, and its certificate is true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise import MORD, SVOR, VILMA, PiecewiseMORD, RoundedRegression, UnifiedClassifier
from rankwise.decisions import beta_matrix
from rankwise.losses import loss_matrix
from tests.reference.large_margin import ThresholdProblem, UnifiedProblem, objective, optimum
from tests.streams import make_stream

K = 4
CODES = np.arange(K, dtype=float)[:, None]
RANKS = np.arange(1, K + 1, dtype=float)
ANY_BETA = np.array([[1, -2], [0, 0.5], [0, 0], [3, 1.0]])
LOPSIDED = np.array([[0, 1, 5, 6], [3, 0, 1, 1], [4, 2, 0, 2.5], [9, 9, 1, 0]], dtype=float)

CASES = {
    "SVOR-IMC": (SVOR(), ThresholdProblem(K)),
    "SVOR-EXP": (SVOR(constraints="explicit"), ThresholdProblem(K, explicit=True)),
    "VILMA-mae": (VILMA(), UnifiedProblem(CODES, loss_matrix("mae", K), joint=False)),
    "VILMA-zero_one": (VILMA(loss="zero_one"), UnifiedProblem(CODES, loss_matrix("zero_one", K), joint=False)),
    "VILMA-squared": (VILMA(loss="squared"), UnifiedProblem(CODES, loss_matrix("squared", K), joint=False)),
    "VILMA-matrix": (VILMA(loss=LOPSIDED), UnifiedProblem(CODES, LOPSIDED, joint=False)),
    "MORD": (MORD(), UnifiedProblem(CODES, loss_matrix("mae", K), joint=True)),
    "PW-MORD": (PiecewiseMORD(cuts=[0, 1, 3]), UnifiedProblem(beta_matrix([0, 1, 3], K), loss_matrix("mae", K), True)),
    "multi-class": (
        PiecewiseMORD(cuts=K, loss="zero_one"),
        UnifiedProblem(np.eye(K), loss_matrix("zero_one", K), joint=True),
    ),
    "any beta": (
        UnifiedClassifier(ANY_BETA, loss="squared"),
        UnifiedProblem(ANY_BETA, loss_matrix("squared", K), joint=True),
    ),
    "rounded": (
        RoundedRegression(),
        UnifiedProblem(2 * RANKS[:, None], loss_matrix("mae", K), True, basis=2 * RANKS[:, None], fixed=-(RANKS**2)),
    ),
}


def _data(kind, weighted, seed=3):
    stream = make_stream(seed, n=40, d=3, n_classes=K, noise=0.5, exact=1.0 if kind == "exact" else 0.3)
    weight = stream.weight if weighted else np.ones(len(stream))
    return stream.X, stream.lower, stream.upper, weight


def _parameters(model):
    weights, offsets = model._parameters
    return weights.reshape(-1, model.n_features_in_), offsets


@pytest.fixture(scope="module")
def optima():
    """Optima by the general solver, each computed once."""
    found = {}

    def of(name, regularize, kind, weighted):
        key = name, regularize, kind, weighted
        if key not in found:
            X, lower, upper, weight = _data(kind, weighted)
            found[key] = optimum(CASES[name][1], X, lower, upper, weight, K, 0.05, regularize)
        return found[key]

    return of


@pytest.mark.parametrize(
    ("kind", "weighted"),
    [
        ("interval", True),
        ("exact", False),
        *(pytest.param(*both, marks=pytest.mark.slow) for both in [("interval", False), ("exact", True)]),
    ],
)
@pytest.mark.parametrize("regularize", ["weights", "all", "none"])
@pytest.mark.parametrize("name", CASES)
def test_the_optimum_of_a_general_solver_and_a_true_certificate(name, regularize, kind, weighted, optima):
    X, lower, upper, weight = _data(kind, weighted)
    y = np.column_stack([lower, upper])
    best = optima(name, regularize, kind, weighted)
    estimator, problem = CASES[name]
    solvers = {"auto": 1e-6, "cutting-plane": 8e-6} if regularize != "none" else {"auto": 1e-6}
    for solver, tol in solvers.items():
        model = type(estimator)(**estimator.get_params())
        model.set_params(alpha=0.05, regularize=regularize, solver=solver, tol=tol, classes=range(K))
        model.fit(X, y, sample_weight=weight)
        assert model.objective_ == pytest.approx(best, rel=1e-5, abs=1e-7)
        assert model.lower_bound_ <= best + 1e-7 * max(best, 1.0)
        assert 0.0 <= model.gap_ <= tol
        if name != "VILMA-mae" or regularize == "all":  # else the parameters are thresholds
            W, offsets = _parameters(model)
            direct = objective(problem, W, offsets, X, lower, upper, weight, K, 0.05, regularize)
            assert model.objective_ == pytest.approx(direct, rel=1e-9, abs=1e-12)


#: Not V-shaped: to confuse the first class with the last is cheap.
CYCLIC = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [0.5, 2, 1, 0]], dtype=float)


@pytest.mark.parametrize(
    ("estimator", "problem"),
    [
        (MORD(CYCLIC), UnifiedProblem(CODES, CYCLIC, joint=True)),
        (PiecewiseMORD(3, CYCLIC), UnifiedProblem(beta_matrix(3, K), CYCLIC, joint=True)),
        (
            RoundedRegression(CYCLIC),
            UnifiedProblem(2 * RANKS[:, None], CYCLIC, True, basis=2 * RANKS[:, None], fixed=-(RANKS**2)),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_exact_labels_take_any_loss_and_intervals_a_v_shaped_one(estimator, problem):
    X, lower, upper, weight = _data("exact", True)
    estimator.set_params(alpha=0.05, tol=1e-6, classes=range(K)).fit(X, lower, sample_weight=weight)
    best = optimum(problem, X, lower, upper, weight, K, 0.05, "weights")
    assert estimator.objective_ == pytest.approx(best, rel=1e-5)
    unlabelled = np.column_stack([lower, lower]).astype(float)
    unlabelled[0] = np.nan
    estimator.fit(X, unlabelled)
    with pytest.raises(ValueError, match=r"needs a V-shaped loss for interval labels: .* loss\[0, 3\] = 1\.0 is below"):
        estimator.fit(X, np.column_stack([np.maximum(lower - 1, 0), lower]))
    for wrong, rule in ((CYCLIC - 1, "must be 0 for the right"), (-CYCLIC, "must not be negative")):
        with pytest.raises(ValueError, match=f"a loss {rule}"):
            estimator.set_params(loss=wrong).fit(X, lower)


@pytest.mark.parametrize(
    ("beta", "same"),
    [
        ("ordinal", MORD()),
        (CODES, MORD()),
        ("multiclass", PiecewiseMORD(K)),
        (beta_matrix([0, 1, 3], K), PiecewiseMORD([0, 1, 3])),
    ],
    ids=str,
)
def test_the_named_models_are_choices_of_beta(beta, same):
    X, lower, upper, weight = _data("interval", True)
    y = np.column_stack([lower, upper])
    found = UnifiedClassifier(beta, alpha=0.05, classes=range(K)).fit(X, y, sample_weight=weight)
    same.set_params(alpha=0.05, classes=range(K)).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(found.decision_function(X), same.decision_function(X))
    assert (found.objective_, found.lower_bound_) == (same.objective_, same.lower_bound_)


def test_the_cumulative_beta_scores_as_cusum_rank_does():
    X, lower, _, _ = _data("exact", False)
    model = UnifiedClassifier(classes=range(K)).fit(X, lower)
    answers = X @ model.coef_.T
    scores = np.column_stack([np.zeros(len(X)), answers.cumsum(axis=1)]) + model.intercepts_
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)


BAD_BETAS = [[[1.0]], [1.0, 2.0, 3.0], np.zeros((3, 0)), [[1.0], [np.nan], [2.0]], [[1], [2, 3], [4]]]


@pytest.mark.parametrize("beta", BAD_BETAS, ids=str)
def test_a_beta_that_does_not_fit_the_classes_is_refused(beta):
    with pytest.raises(ValueError, match="beta must be finite numbers with a row for each of the 3 classes"):
        UnifiedClassifier(beta).fit([[0.0], [1.0], [2.0]], [1, 2, 3])


@pytest.mark.parametrize("name", ["SVOR-IMC", "SVOR-EXP", "VILMA-squared", "PW-MORD", "rounded"])
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), exponent=st.integers(-3, 0), tol=st.sampled_from([0.3, 1e-2, 1e-4]))
def test_objective_and_lower_bound_bracket_the_optimum(name, seed, exponent, tol):
    X, lower, upper, weight = _data("interval", True, seed)
    alpha = 10.0**exponent
    best = optimum(CASES[name][1], X, lower, upper, weight, K, alpha, "weights")
    model = type(CASES[name][0])(**CASES[name][0].get_params()).set_params(alpha=alpha, tol=tol, classes=range(K))
    model.fit(X, np.column_stack([lower, upper]), sample_weight=weight)
    slack = 1e-7 * max(best, 1.0)
    assert model.lower_bound_ - slack <= best <= model.objective_ + slack
    assert model.gap_ == pytest.approx((model.objective_ - model.lower_bound_) / max(model.objective_, 1e-6), abs=1e-12)
    assert model.gap_ <= tol
