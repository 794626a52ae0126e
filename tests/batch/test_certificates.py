"""No certificate claims more than is true: every lower bound against the objective that another solver reaches."""

import numpy as np
import pytest

from rankwise import MORD, SVOR, VILMA, PiecewiseMORD, RoundedRegression
from rankwise.decisions import beta_matrix
from rankwise.losses import loss_matrix
from rankwise.solvers.concave_convex import Bundle
from rankwise.solvers.solution import CertificateError, Solution, relative_gap
from tests.reference.large_margin import ThresholdProblem, UnifiedProblem, optimum

LOSSES = ("mae", "zero_one", "squared", "matrix")
CASES = ["SVOR implicit", "SVOR explicit"] + [
    f"{name} {loss}" for name in ("VILMA", "MORD", "PiecewiseMORD", "RoundedRegression") for loss in LOSSES
]
ROUNDS = [2, pytest.param(56, marks=pytest.mark.slow)]  # problems for each of 18 cases: 36, and 1,008


def _problem(case, seed):
    """A small problem: the estimator, what to give to ``fit``, and the same problem for the general solver."""
    rng = np.random.default_rng([CASES.index(case), seed])
    n, d, K = (int(rng.integers(*ends)) for ends in ((4, 20), (1, 4), (2, 7)))
    X = rng.standard_normal((n, d)).round(2)
    codes = np.clip(np.round(X @ rng.standard_normal(d) + (K - 1) / 2), 0, K - 1).astype(int)
    lower, upper = codes.copy(), codes.copy()
    if seed % 4 != 3:  # intervals, and every fourth time exact labels
        lower, upper = np.maximum(codes - rng.integers(0, 2, n), 0), np.minimum(codes + rng.integers(0, 2, n), K - 1)
    lower[0] = upper[0] = codes[0]  # one row at least that says something
    weight = rng.uniform(0.1, 2.0, n) if rng.random() < 0.5 else np.ones(n)
    name, kind = case.split()
    if name == "SVOR":
        estimator, problem = SVOR(constraints=kind), ThresholdProblem(K, explicit=kind == "explicit")
    else:
        far = np.abs(np.subtract.outer(np.arange(K), np.arange(K))) ** rng.choice([0.5, 1.5])
        loss = far * rng.uniform(0.5, 3.0, (K, 1)) if kind == "matrix" else kind
        matrix, ranks, cuts = loss_matrix(loss, K), np.arange(1.0, K + 1.0), min(3, K)
        estimator, problem = {
            "VILMA": (VILMA(loss), UnifiedProblem(ranks[:, None] - 1, matrix, joint=False)),
            "MORD": (MORD(loss), UnifiedProblem(ranks[:, None] - 1, matrix, joint=True)),
            "PiecewiseMORD": (PiecewiseMORD(cuts, loss), UnifiedProblem(beta_matrix(cuts, K), matrix, joint=True)),
            "RoundedRegression": (
                RoundedRegression(loss),
                UnifiedProblem(2 * ranks[:, None], matrix, True, basis=2 * ranks[:, None], fixed=-(ranks**2)),
            ),
        }[name]
    regularize = ("weights", "all", "weights", "none")[int(rng.integers(4))]
    alpha, tol = 10.0 ** rng.integers(-3, 1), 10.0 ** rng.integers(-5, -1)
    estimator.set_params(classes=range(K), regularize=regularize, alpha=alpha, tol=tol, max_iter=200)
    return estimator, (X, np.column_stack([lower, upper]), weight), (problem, X, lower, upper, weight, K, alpha)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("case", CASES)
def test_no_bound_is_above_what_another_solver_reaches(case, rounds):
    for seed in range(rounds):
        estimator, data, general = _problem(case, seed)
        if estimator.regularize == "none":
            fits = [estimator.fit(*data)]
            reached = [optimum(*general, "none")]
        else:
            fits = [
                type(estimator)(**estimator.get_params()).set_params(solver=s) for s in ("smoothing", "cutting-plane")
            ]
            reached = [model.fit(*data).objective_ for model in fits]
        best = min([*reached, *(model.objective_ for model in fits)])
        for model in fits:
            assert model.lower_bound_ <= best + 1e-7 * max(best, 1.0), (seed, model)
            if model.gap_ <= model.tol:  # what it says is near the optimum is
                assert model.objective_ <= best + model.tol * max(model.objective_, 1e-6) + 1e-7, (seed, model)


@pytest.mark.parametrize("solver", ["smoothing", "cutting-plane"])
def test_a_dual_point_with_a_negative_gain_bounds_nothing(solver):
    X, y = [[1.38], [0.24], [-1.52], [0.12]], [(4, 5), (3, 3), (1, 1), (3, 3)]
    model = RoundedRegression(classes=[1, 2, 3, 4, 5], solver=solver).fit(X, y)
    assert model.lower_bound_ <= model.objective_ == pytest.approx(0.0688, abs=1e-4)
    assert 0.0 < model.gap_ <= model.tol


def test_the_units_of_the_features_do_not_matter_to_an_exact_solution():
    """HiGHS drops coefficients below 1e-9, and the bound of what remained was above the objective."""
    rng = np.random.default_rng(4)
    n, d, K = 19, 3, 6
    X = rng.standard_normal((n, d)) * [0.1, 1.0, 10.0]
    lower = np.clip(np.round(X.sum(axis=1) / 3 + rng.standard_normal(n) + K / 2), 0, K - 1).astype(int)
    y = np.column_stack([lower, np.minimum(lower + rng.integers(0, 2, n), K - 1)])
    model = PiecewiseMORD(regularize="none", classes=range(K), tol=1e-9)
    usual = model.fit(X, y).objective_
    for factor in (2.0**-30, 2.0**-20, 2.0**17):
        model.fit(factor * X, y)
        assert model.objective_ == pytest.approx(usual, rel=1e-6)
        assert model.gap_ <= 1e-6


@pytest.mark.parametrize(("objective", "lower_bound"), [(0.237, 0.531), (0.0, 2e-6), (-3.0, -2.9), (1e9, 1e9 + 2e3)])
def test_a_bound_above_the_objective_is_an_error_and_no_gap_of_zero(objective, lower_bound):
    with pytest.raises(CertificateError, match=r"is above the objective .* please report it"):
        relative_gap(objective, lower_bound)
    with pytest.raises(CertificateError):
        Solution(np.zeros(1), objective, lower_bound, 1, True)


@pytest.mark.parametrize(("objective", "lower_bound"), [(0.3, 0.1 + 0.2), (0.0, 1e-12), (1e9, 1e9 + 1.0)])
def test_rounding_leaves_no_gap(objective, lower_bound):
    assert relative_gap(objective, lower_bound) == 0.0


def test_a_bundle_with_a_wrong_oracle_claims_nothing():
    bundle = Bundle(lambda w: (100.0 * float(w[0] > 1.9), np.zeros(1)), alpha=1.0)  # not convex: 100 is no bound
    with pytest.raises(CertificateError):
        bundle.minimise(np.zeros(1), np.full(1, 2.0), tol=1e-3, max_iter=50)


def test_a_saved_model_whose_certificate_cannot_be_true_is_refused():
    plain = SVOR().fit([[0.0], [1.0], [2.0]], [1, 2, 3]).to_plain()
    plain["certificate"] = [0.237, 0.531, 10]
    with pytest.raises(ValueError, match=r"lower bound 0\.531 is above its objective 0\.237"):
        SVOR().from_plain(plain)
