"""Bundle and concave-convex solvers on small problems whose answers are known otherwise."""

from types import SimpleNamespace

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from rankwise.solvers.concave_convex import Bundle, descend
from rankwise.solvers.planes import Planes, simplex_programme

SEEDS = st.integers(0, 10_000)


def largest_of_planes(seed, n=30, d=3):
    """A convex function, ``max_j <a_j, w> + b_j``, with its planes."""
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((n, d)), rng.standard_normal(n)

    def oracle(w):
        values = A @ w + b
        j = int(np.argmax(values))
        return float(values[j]), A[j]

    return oracle, A, b


def best_by_dual(A, b, linear, alpha):
    """Minimum of the regularised function from all its planes at once."""
    beta = simplex_programme(b, (A - linear) @ (A - linear).T / alpha)
    return float(beta @ b) - float(np.sum((beta @ A - linear) ** 2)) / (2 * alpha)


@given(seed=SEEDS, alpha=st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=6)
def test_reaches_the_minimum_for_one_linear_term_after_another(seed, alpha):
    oracle, A, b = largest_of_planes(seed)
    bundle = Bundle(oracle, alpha)
    for linear in (np.zeros(3), np.array([1.0, -1.0, 0.5])):
        found = bundle.minimise(linear, np.ones(3), tol=1e-4, max_iter=500)
        best = best_by_dual(A, b, linear, alpha)
        value = 0.5 * alpha * found.theta @ found.theta + oracle(found.theta)[0] - linear @ found.theta
        assert found.converged
        assert value == pytest.approx(found.objective)
        assert found.lower_bound <= best + 1e-6 * abs(best)
        assert found.objective >= best - 1e-6 * abs(best)
        assert found.gap <= 1e-4


def test_a_bound_holds_when_the_solver_is_stopped_early():
    oracle, A, b = largest_of_planes(0)
    found = Bundle(oracle, 0.1).minimise(np.zeros(3), np.ones(3), tol=1e-9, max_iter=4)
    assert (found.n_iter, found.converged) == (4, False)
    assert found.lower_bound <= best_by_dual(A, b, np.zeros(3), 0.1) <= found.objective


@given(seed=SEEDS, n=st.integers(1, 6))
@settings(max_examples=25)
def test_simplex_programme_against_a_general_solver(seed, n):
    rng = np.random.default_rng(seed)
    root, gain = rng.standard_normal((n, n)), rng.standard_normal(n)
    H = root @ root.T

    def cost(beta):
        return 0.5 * beta @ H @ beta - gain @ beta

    beta = simplex_programme(gain, H)
    assert beta.sum() == pytest.approx(1.0)
    assert (beta >= 0).all()
    assert cost(simplex_programme(gain, factor=root.T)) == pytest.approx(cost(beta), abs=1e-6)
    sums = {"type": "eq", "fun": lambda beta: beta.sum() - 1.0}
    other = minimize(cost, np.full(n, 1 / n), bounds=[(0, 1)] * n, constraints=[sums], method="SLSQP")
    assert cost(beta) <= other.fun + 1e-6


@given(seed=SEEDS, n=st.sampled_from([2, 8]), strength=st.sampled_from([0.0, 0.5, "axes"]))
@settings(max_examples=25)
def test_the_master_problem_near_a_point_against_a_general_solver(seed, n, strength):
    _, A, b = largest_of_planes(seed, n)
    centre, alpha = np.array([1.0, -2.0, 0.5]), 0.3
    if strength == "axes":
        strength = np.array([0.1, 2.0, 0.0])
    planes = Planes(alpha, patience=100)
    for normal, gain in zip(A, b, strict=True):
        planes.add(gain, normal)
    solution, value = planes.solve_near(centre, strength)

    def cost(v):  # w and the largest plane
        return 0.5 * alpha * v[:3] @ v[:3] + 0.5 * np.sum(strength * (v[:3] - centre) ** 2) + v[3]

    above = {"type": "ineq", "fun": lambda v: v[3] - A @ v[:3] - b}
    other = minimize(cost, np.append(centre, (A @ centre + b).max()), constraints=[above], method="SLSQP")
    assert value == pytest.approx(other.fun, abs=1e-5)
    assert cost(np.append(solution, (A @ solution + b).max())) == pytest.approx(value, abs=1e-5)
    assert planes.solve()[1] <= value + 1e-6


def test_without_an_answer_the_best_plane_is_taken(monkeypatch):
    nothing = SimpleNamespace(solve=lambda: SimpleNamespace(x=[np.nan, np.nan]))
    monkeypatch.setattr(clarabel, "DefaultSolver", lambda *problem: nothing)
    np.testing.assert_array_equal(simplex_programme(np.array([0.0, 1.0]), np.diag([1.0, 4.0])), [1.0, 0.0])


@given(seed=SEEDS)
@settings(max_examples=5)
def test_differences_of_convex_functions_never_rise_and_end_where_no_step_helps(seed):
    (convex, _, _), (reward, _, _) = largest_of_planes(seed), largest_of_planes(seed + 1)
    start = np.random.default_rng(seed).standard_normal(3)
    found = descend(convex, reward, 1.0, start, tol=1e-4, max_iter=2000, max_steps=50)

    def objective(w):
        return 0.5 * w @ w + convex(w)[0] - reward(w)[0]

    assert found.converged
    assert found.history[0] == pytest.approx(objective(start))
    assert found.objective == pytest.approx(objective(found.theta))
    assert np.all(np.diff(found.history) <= 1e-9)
    slope = reward(found.theta)[1]
    convexified = minimize(lambda w: 0.5 * w @ w + convex(w)[0] - slope @ w, found.theta, method="Nelder-Mead")
    here = 0.5 * found.theta @ found.theta + convex(found.theta)[0] - slope @ found.theta
    assert convexified.fun >= here - 1e-3 * max(1.0, abs(here))


def test_limits_are_kept():
    (convex, _, _), (reward, _, _) = largest_of_planes(4), largest_of_planes(5)
    found = descend(convex, reward, 0.01, np.ones(3), tol=1e-9, max_iter=5, max_steps=50)
    assert found.n_iter == 5
    assert not found.converged
    found = descend(convex, reward, 0.01, np.ones(3), tol=1e-9, max_iter=500, max_steps=1)
    assert len(found.history) == 2
