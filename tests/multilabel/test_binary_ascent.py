"""Dual ascent for one binary problem: rounds like the plain twin's, best intercepts, rows that say nothing."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from rankwise.multilabel.binary_ascent import LOSSES, solve_binary
from rankwise.solvers.design import squared_norms
from tests.reference.binary_problem import ascend_once, objective


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((40, 5))
    sign = np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 0.4, 1.0, -1.0)
    cost = rng.uniform(0.5, 2.0, 40)
    return X, sign, cost / cost.sum()


@pytest.mark.parametrize("kappa", [0.0, 3.0])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_passes_equal_the_plain_twin(problem, loss, kappa):
    X, sign, cost = problem
    alpha, part = 0.05, LOSSES[loss]
    rows, order, random = np.arange(40, dtype=np.int32), np.arange(40), np.array([7], dtype=np.uint64)
    state = np.full(40, part.start)
    u, b, plain_b = cost * part.share(state), 0.0, 0.0
    w = (u * sign) @ X / alpha
    for _ in range(4):
        b = part.ascend(X, rows, sign, cost, squared_norms(X), alpha, kappa, 1, state, w, b, order, random)
        u, plain_b = ascend_once(X, sign, cost, alpha, kappa, u, plain_b, order, loss)
        np.testing.assert_allclose(cost * part.share(state), u, atol=1e-10)
        np.testing.assert_allclose(w, (u * sign) @ X / alpha, atol=1e-8)
        assert b == pytest.approx(plain_b, abs=1e-8)
    assert sorted(order.tolist()) == list(range(40))


@pytest.mark.parametrize("guess", [-30.0, 0.0, 30.0])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_the_intercept_is_the_best_one(problem, rng, loss, guess):
    X, sign, cost = problem
    for scale in (0.1, 1.0, 20.0):
        w = rng.normal(scale=scale, size=5)
        b = LOSSES[loss].intercept(X @ w, sign, cost, guess)
        best = minimize_scalar(
            lambda b, w=w: objective(w, b, X, sign, cost, loss, 1.0), bounds=(-200, 200), options={"xatol": 1e-10}
        )
        assert objective(w, b, X, sign, cost, loss, 1.0) <= best.fun + 1e-12


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_rows_of_zeros_and_rows_that_do_not_take_part(problem, loss, fit_intercept):
    X, sign, cost = problem
    X = X.copy()
    X[3:6] = 0.0
    rows = np.arange(0, 40, 2, dtype=np.int32)
    share = cost[rows] / cost[rows].sum()
    options = dict(loss=loss, alpha=0.1, fit_intercept=fit_intercept, tol=1e-6, max_iter=10_000, seed=0)
    found = solve_binary(X, 5, rows, sign[rows], share, squared_norms(X), **options)
    assert found.objective - found.lower_bound <= 1e-6 * found.objective
    reached = objective(found.coef, found.intercept, X[rows], sign[rows], share, loss, 0.1)
    assert found.objective == pytest.approx(reached, rel=1e-12)
    nothing = solve_binary(np.zeros_like(X), 5, rows, sign[rows], share, np.zeros(40), **options)
    assert np.all(nothing.coef == 0.0)
    assert nothing.objective - nothing.lower_bound <= 1e-6 * nothing.objective
