"""The likelihood of cumulative links as its formula has it, row by row, and general solvers for its optimum."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize
from scipy.special import log_expit, log_ndtr


def _log_gumbel(z):
    """log(1 - exp(-exp(z)))."""
    return np.log(-np.expm1(-np.exp(z)))


#: log F(z) and log(1 - F(z)) of every link.
LOG_TAILS = {
    "logit": (log_expit, lambda z: log_expit(-z)),
    "probit": (log_ndtr, lambda z: log_ndtr(-z)),
    "cloglog": (_log_gumbel, lambda z: -np.exp(z)),
    "loglog": (lambda z: -np.exp(-z), lambda z: _log_gumbel(-z)),
}


def log_probability(link, t_high, t_low, scores):
    """log(F(t_high - f) - F(t_low - f)), from the tail in which both are smaller; for arrays."""
    log_cdf, log_sf = LOG_TAILS[link]
    high, low = t_high - scores, t_low - scores
    with np.errstate(all="ignore"):
        in_lower_tail = log_cdf(high) < log_sf(low)
        larger = np.where(in_lower_tail, log_cdf(high), log_sf(low))
        smaller = np.where(in_lower_tail, log_cdf(low), log_sf(high))
        return larger + np.log(-np.expm1(smaller - larger))


def objective(link, w, t, X, lower, upper, weight, alpha):
    """alpha/2 |w|^2 + weighted mean of -log P over the rows that say something, for all K - 1 thresholds."""
    padded = np.concatenate([[-np.inf], t, [np.inf]])
    told = (weight > 0) & ((lower > 0) | (upper < len(t)))
    losses = -log_probability(link, padded[upper + 1], padded[lower], X @ w)[told]
    return alpha / 2 * w @ w + weight[told] @ losses / weight[told].sum()


def optimum(link, X, lower, upper, weight, n_classes, alpha):
    """Smallest objective, by cvxpy for the logit; other links have no form there: BFGS in (w, t_1, log differences)."""
    if link == "logit":
        return _by_cvxpy(X, lower, upper, weight, n_classes, alpha)
    d = X.shape[1]

    def value(theta):
        return objective(link, theta[:d], _thresholds(theta[d:]), X, lower, upper, weight, alpha)

    start = np.concatenate([np.zeros(d), [-1.0], np.full(n_classes - 2, np.log(2.0 / n_classes))])
    for _ in range(3):
        start = minimize(value, start, method="BFGS", options={"gtol": 1e-9}).x
    return value(start)


def _thresholds(u):
    return u[0] + np.concatenate([[0.0], np.cumsum(np.exp(u[1:]))])


def _by_cvxpy(X, lower, upper, weight, n_classes, alpha):
    told = (lower > 0) | (upper < n_classes - 1)
    X, lower, upper, weight = X[told], lower[told], upper[told], weight[told] / weight[told].sum()
    w, t = cp.Variable(X.shape[1]), cp.Variable(n_classes - 1)
    s = cp.Variable(len(X))  # -log(1 - exp(-D)) <= s where exp(-s) + exp(-D) <= 1
    total, constraints = alpha / 2 * cp.sum_squares(w), [t[:-1] <= t[1:]]
    for i, (x, lo, hi, c) in enumerate(zip(X, lower, upper, weight, strict=True)):
        if hi < n_classes - 1:
            total += c * cp.logistic(x @ w - t[hi])
        if lo > 0:
            total += c * cp.logistic(t[lo - 1] - x @ w)
        if lo > 0 and hi < n_classes - 1:
            total += c * s[i]
            constraints.append(cp.exp(-s[i]) + cp.exp(t[lo - 1] - t[hi]) <= 1)
        else:
            constraints.append(s[i] == 0)
    problem = cp.Problem(cp.Minimize(total), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.value
