"""Every large-margin estimator finds the optimum that a general solver finds, and its certificate is true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise import MORD, SVOR, VILMA, PiecewiseMORD, RoundedRegression
from rankwise.decisions import beta_matrix
from rankwise.losses import loss_matrix
from tests.reference.large_margin import ThresholdProblem, UnifiedProblem, objective, optimum
from tests.streams import make_stream

K = 4
CODES = np.arange(K, dtype=float)[:, None]
RANKS = np.arange(1, K + 1, dtype=float)
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


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["exact", "interval"])
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
