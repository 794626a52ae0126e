"""The two solvers of the joint update against each other, and both against a general QP solver."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import sparse
from scipy.special import expit, logit

from rankwise import LabelRanker
from rankwise._kernels.compile import register_jitable
from rankwise.label_ranking.interior_point import WORK_ROWS, interior_workspace, make_interior_point, make_joint_solver
from rankwise.label_ranking.levels import lead_of_log_odds, lead_of_scores, make_levels


@register_jitable
def quadratic(problem, a, first, second):
    """f_r(a) = linear_r a + curvature_r a^2 / 2."""
    linear, curvature = problem
    first[:] = linear + curvature * a
    second[:] = curvature


@register_jitable
def logistic(problem, a, first, second):
    """f_y(a) = log(1 - q_y + q_y exp(a)) - margin a on the relevant labels: relative entropy and binary x."""
    odds, lead = problem
    share = 1.0 / (1.0 + odds * np.exp(-a[:-1]))
    first[:-1] = share - lead
    second[:-1] = share * (1.0 - share)
    first[-1] = second[-1] = 0.0


levels = {"scores": njit(make_levels(lead_of_scores)), "log-odds": njit(make_levels(lead_of_log_odds))}
interior = {"scores": make_joint_solver(quadratic), "log-odds": make_joint_solver(logistic)}


def by_levels(kind, heights, relevant, rate, margin, cap):
    moved, steps = np.empty(heights.size, dtype=np.int64), np.empty(heights.size)
    above = np.flatnonzero(relevant).astype(np.int32)
    n, mass = levels[kind](heights, above, 0, above.size, rate, margin, cap, moved, steps)
    a = np.zeros(heights.size)
    a[moved[:n]] = steps[:n]
    assert len(set(moved[:n].tolist())) == n
    return a, mass


def by_interior_point(kind, problem, relevant, cap, scale):
    workspace = interior_workspace(relevant.size + 3)
    mass, iterations = interior[kind](problem, relevant, cap, scale, workspace)
    assert mass > 0
    return workspace[3][: relevant.size].copy(), mass, iterations


def by_general_solver(scores, relevant, square, margin, cap):
    k = scores.size
    side = np.where(relevant, -1.0, 1.0)
    constraints = np.vstack([np.ones(k), relevant.astype(float), np.diag(side)])
    solver_settings = clarabel.DefaultSettings()
    solver_settings.verbose = False
    solver_settings.tol_gap_abs = solver_settings.tol_gap_rel = solver_settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(square * np.eye(k)), scores - margin * relevant, sparse.csc_matrix(constraints),
        np.concatenate([[0.0, cap], np.zeros(k)]), [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(k + 1)],
        solver_settings,
    )  # fmt: skip
    return np.array(solver.solve().x)


def assert_feasible(a, mass, relevant, cap):
    assert np.all(a[relevant] >= 0)
    assert np.all(a[~relevant] <= 0)
    assert a[relevant].sum() == pytest.approx(mass, rel=1e-12)
    assert -a[~relevant].sum() == pytest.approx(mass, rel=1e-12)
    assert mass <= cap * (1 + 1e-12)


@st.composite
def examples(draw):
    """Scores, relevant labels, and the rest of a joint update in which some pair is not apart by the margin."""
    k = draw(st.sampled_from([2, 3, 8, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    spread = draw(st.sampled_from([0.0, 0.1, 1.0, 5.0]))
    scores = np.round(spread * rng.standard_normal(k), draw(st.sampled_from([1, 12])))  # with ties, without
    relevant = np.zeros(k, dtype=bool)
    relevant[rng.choice(k, rng.integers(1, k), replace=False)] = True
    return scores, relevant, draw(st.sampled_from([0.05, 0.6])), draw(st.sampled_from([0.05, 1.0, 20.0]))


@settings(max_examples=60)
@given(example=examples(), square=st.sampled_from([0.3, 1.0, 100.0]))
def test_squared_norm(example, square):
    scores, relevant, margin, cap = example
    if scores[relevant].min() - scores[~relevant].max() >= margin:
        return
    direct, mass = by_levels("scores", scores, relevant, square, margin, cap)
    assert_feasible(direct, mass, relevant, cap)

    def cost(a):
        return (scores - margin * relevant) @ a + 0.5 * square * a @ a

    linear = np.append(scores - margin * relevant, 0.0)
    problem = linear, np.append(np.full(scores.size, square), 0.0)
    scale = margin + np.abs(scores).max() + square * cap
    inside, inside_mass, _ = by_interior_point("scores", problem, relevant, cap, scale)
    assert_feasible(inside, inside_mass, relevant, cap)
    general = by_general_solver(scores, relevant, square, margin, cap)
    assert cost(direct) <= cost(general) + 1e-8 * cap * scale
    assert cost(direct) <= cost(inside) + 1e-12 * cap * scale
    assert cost(inside) <= cost(direct) + 1e-9 * cap * scale
    np.testing.assert_allclose(direct, general, atol=1e-4 * np.sqrt(cap * scale / square))
    np.testing.assert_allclose(direct, inside, atol=1e-4 * np.sqrt(cap * scale / square))


@settings(max_examples=60)
@given(example=examples(), common=st.sampled_from([0.2, 0.5]), deep=st.sampled_from([0.0, 6.0]))
def test_relative_entropy_with_binary_rows(example, common, deep):
    heights, relevant, margin, cap = example
    heights = heights - deep
    shares = expit(heights)
    if shares[relevant].min() - shares[~relevant].max() >= margin / common:
        return
    direct, mass = by_levels("log-odds", heights, relevant, common, margin / common, cap)
    assert_feasible(direct, mass, relevant, cap)

    def cost(a):
        return np.sum(np.log(1 - shares + shares * np.exp(common * a)) - margin * relevant * a)

    # The interior point in units of the heights: steps times the common value.
    problem = np.exp(-heights), relevant * margin / common
    scaled, _, iterations = by_interior_point("log-odds", problem, relevant, common * cap, 1 + margin / common)
    assert_feasible(scaled / common, scaled[relevant].sum() / common, relevant, cap)
    assert cost(direct) <= cost(scaled / common) + 1e-12 * cap * (common + margin)
    assert cost(scaled / common) <= cost(direct) + 1e-9 * cap * (common + margin)
    assert iterations <= 30


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), d=st.sampled_from([4, 10, 60]))
def test_any_problem_with_two_equalities_and_a_bound_on_every_variable(seed, d):
    rng = np.random.default_rng(seed)
    linear, curvature = rng.standard_normal(d), rng.choice([0.0, 0.5, 3.0], d)
    A, p = rng.standard_normal((2, d)), rng.choice([-2.0, -1.0, 0.5, 1.0], d)
    A[1] = np.abs(A[1]) * -p  # with the bounds this makes the feasible set bounded
    a = rng.standard_normal(d)
    q = p * a + rng.uniform(0.1, 1.0, d)
    start, b = a.copy(), A @ a
    nu, work = np.zeros(2), np.empty((WORK_ROWS, d))
    minimise = make_interior_point(quadratic)
    width = 1e3
    iterations, gap = minimise((linear, curvature), A, p, q, a, nu, width, 1e-8, 100, work)
    assert gap <= 1e-8
    assert iterations < 60
    np.testing.assert_allclose(A @ a, b, atol=1e-8)
    assert np.all(p * a <= q)
    solver_settings = clarabel.DefaultSettings()
    solver_settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(curvature)), linear, sparse.csc_matrix(np.vstack([A, np.diag(p)])),
        np.concatenate([b, q]), [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(d)], solver_settings,
    )  # fmt: skip
    best = np.array(solver.solve().x)

    def cost(a):
        return linear @ a + 0.5 * curvature @ a**2

    assert np.abs(a - best).sum() <= width
    rounding = 1e-6 * (1 + abs(cost(best)))
    assert cost(best) - rounding <= cost(a) <= cost(best) + gap + rounding
    assert cost(a) <= cost(start)


def test_an_iteration_looks_at_every_function_once_and_more_labels_do_not_need_more_iterations():
    calls = []

    def counted(problem, a, first, second):
        calls.append(a.size)
        logistic(problem, a, first, second)

    rng = np.random.default_rng(0)
    found = {}
    for k in (10, 100, 1000):
        heights = rng.standard_normal(k) - 4.0
        relevant = np.arange(k) < max(1, k // 50)
        calls.clear()
        workspace = interior_workspace(k)
        mass, iterations = make_joint_solver(counted)((np.exp(-heights), 0.1 * relevant), relevant, 1.0, 1.1, workspace)
        assert mass > 0
        assert set(calls) == {k + 1}
        assert len(calls) <= 2 * iterations + 2
        found[k] = iterations
    assert found[1000] <= found[10] + 10


def test_an_unsolved_problem_moves_nothing():
    """Derivatives that are noise beside the scale that they are said to have: the gap is never closed."""
    relevant = np.array([True, False, False])
    rng = np.random.default_rng(0)

    def noise(problem, a, first, second):
        first[:], second[:] = rng.standard_normal(a.size), 1.0

    mass, iterations = make_joint_solver(noise)(None, relevant, 1.0, 1.0, interior_workspace(3))
    assert mass == 0.0
    assert iterations == 100


@given(seed=st.integers(0, 10_000))
def test_mass_at_which_log_odds_are_apart_by_the_margin(seed):
    rng = np.random.default_rng(seed)
    rising, sinking = np.sort(rng.normal(0, 3, 2))
    lift, drop, margin = rng.uniform(0.01, 1, 3)
    most = rng.choice([0.1, 10.0, 1000.0])
    mass = lead_of_log_odds(rising, sinking, lift, drop, margin, most)

    def lead(mass):
        return expit(rising + mass * lift) - expit(sinking - mass * drop)

    if lead(most) < margin:
        assert mass == np.inf
    else:
        assert 0 <= mass <= most
        assert lead(mass) == pytest.approx(margin, abs=1e-12)
    assert logit(expit(rising)) == pytest.approx(rising)


def test_mass_that_reaches_its_cap_but_for_rounding_ends_the_walk():
    """Found on mail: past the cap there is no label left to take from the heap."""
    X = [[1, 0, 1, 1, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]]
    ranker = LabelRanker(update="joint", C=0.01, average=False, classes=[0, 1, 2]).partial_fit(X, [2, 0, 1])
    np.testing.assert_allclose(ranker.coef_.sum(axis=0), 0.0, atol=1e-15)
    assert np.abs(ranker.coef_).max() == pytest.approx(0.01)
