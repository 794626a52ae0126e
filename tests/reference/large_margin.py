"""Large-margin objectives as their formulas have them: loops over rows and classes, and a general solver."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def hinges(score, lo, hi, t, explicit):
    """The terms of SVOR's loss before max(0, .)."""
    below = [k for k in range(len(t)) if k < lo and (not explicit or k == lo - 1)]
    above = [k for k in range(len(t)) if k >= hi and (not explicit or k == hi)]
    return [1 - score + t[k] for k in below] + [1 + score - t[k] for k in above]


def maxima(F, lo, hi, loss, joint):
    """The lists whose maxima add up to the loss of VILMA (two), or of SO-SVM for exact labels (one)."""
    K = len(loss)
    if joint and lo == hi:
        return [[loss[lo, y] + F[y] - F[lo] for y in range(K)]]
    return [
        [loss[lo, y] + F[y] - F[lo] for y in range(lo + 1)],
        [loss[hi, y] + F[y] - F[hi] for y in range(hi, K)],
    ]


class ThresholdProblem:
    """SVOR: parameters w and t."""

    def __init__(self, n_classes, explicit=False):
        self.n_offsets = n_classes - 1
        self.n_vectors = 1
        self.explicit = explicit

    def losses(self, scores, t, lo, hi):
        return [[0.0, term] for term in hinges(scores[0], lo, hi, t, self.explicit)]

    def constraints(self, t):
        return [t[k] <= t[k + 1] for k in range(self.n_offsets - 1)] if self.explicit else []


class UnifiedProblem:
    """The unified model: parameters W and c, with intercepts ``basis c + fixed``."""

    def __init__(self, beta, loss, joint, basis=None, fixed=None):
        self.beta, self.loss, self.joint = beta, loss, joint
        self.basis = np.eye(len(loss)) if basis is None else basis
        self.fixed = np.zeros(len(loss)) if fixed is None else fixed
        self.n_vectors, self.n_offsets = beta.shape[1], self.basis.shape[1]

    def losses(self, scores, c, lo, hi):
        K = len(self.loss)
        F = [
            sum(self.beta[y, z] * scores[z] for z in range(self.n_vectors))
            + sum(self.basis[y, m] * c[m] for m in range(self.n_offsets))
            + self.fixed[y]
            for y in range(K)
        ]
        return maxima(F, lo, hi, self.loss, self.joint)

    def constraints(self, c):
        return []


def objective(problem, W, offsets, X, lower, upper, weight, n_classes, alpha, regularize):
    """alpha/2 Omega + weighted mean of psi over the rows that say something."""
    total = mass = 0.0
    for x, lo, hi, c in zip(X, lower, upper, weight, strict=True):
        if lo == 0 and hi == n_classes - 1:
            continue
        mass += c
        total += c * sum(max(terms) for terms in problem.losses(W @ x, offsets, lo, hi))
    omega = {"none": 0.0, "weights": (W**2).sum(), "all": (W**2).sum() + (offsets**2).sum()}[regularize]
    return alpha / 2 * omega + total / mass


def optimum(problem, X, lower, upper, weight, n_classes, alpha, regularize):
    """Smallest objective, by cvxpy and Clarabel: every maximum a slack variable above its terms."""
    n_weights = problem.n_vectors * X.shape[1]
    size = n_weights + problem.n_offsets

    def terms_of(theta, x, lo, hi):
        W = theta[:n_weights].reshape(problem.n_vectors, -1)
        return [np.array(terms, dtype=float) for terms in problem.losses(W @ x, theta[n_weights:], lo, hi)]

    rows, constants, slacks, prices = [], [], [], []
    for x, lo, hi, c in zip(X, lower, upper, weight, strict=True):
        if (lo == 0 and hi == n_classes - 1) or c == 0:
            continue
        at_zero = terms_of(np.zeros(size), x, lo, hi)
        at_units = [terms_of(unit, x, lo, hi) for unit in np.eye(size)]  # the terms are affine in the parameters
        for part, constant in enumerate(at_zero):
            rows.append(np.column_stack([unit[part] - constant for unit in at_units]))
            constants.append(constant)
            slacks += [len(prices)] * constant.size
            prices.append(c)
    mass = sum(c for lo, hi, c in zip(lower, upper, weight, strict=True) if not (lo == 0 and hi == n_classes - 1))
    theta, xi = cp.Variable(size), cp.Variable(len(prices))
    of_slack = np.eye(len(prices))[slacks]
    constraints = [np.vstack(rows) @ theta + np.concatenate(constants) <= of_slack @ xi]
    regularised = {"none": 0, "weights": n_weights, "all": size}[regularize]
    omega = cp.sum_squares(theta[:regularised]) if regularised else 0.0
    goal = cp.Minimize(alpha / 2 * omega + (np.array(prices) / mass) @ xi)
    program = cp.Problem(goal, constraints + problem.constraints(theta[n_weights:]))
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return float(program.value)
