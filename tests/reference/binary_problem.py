"""One label's problem in plain numpy, and general solvers for it that know nothing of its structure."""

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import brentq, minimize


def objective(w, b, X, sign, cost, loss, alpha):
    """alpha/2 |w|^2 + sum_i c_i phi(y_i (<w, x_i> + b)) / sum_i c_i."""
    margin = sign * (X @ w + b)
    phi = np.maximum(0.0, 1.0 - margin) if loss == "hinge" else np.logaddexp(0.0, -margin)
    return 0.5 * alpha * w @ w + cost @ phi / cost.sum()


def optimum(X, sign, cost, loss, alpha, fit_intercept):
    """Smallest objective: hinge as a quadratic program by an interior-point method, logistic by a quasi-Newton one."""
    n, d = X.shape
    if loss == "logistic":

        def value_and_slope(v):
            w, b = v[:d], v[d] if fit_intercept else 0.0
            margin = sign * (X @ w + b)
            pull = -sign * cost / cost.sum() / (1.0 + np.exp(margin))
            slope = np.append(alpha * w + X.T @ pull, pull.sum() if fit_intercept else [])
            return objective(w, b, X, sign, cost, loss, alpha), slope

        start = np.zeros(d + fit_intercept)
        found = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-10, "ftol": 1e-16})
        return found.fun
    # min alpha/2 |w|^2 + c.xi  subject to  xi_i >= 1 - y_i (<w, x_i> + b),  xi_i >= 0
    ones = sign[:, None] if fit_intercept else np.empty((n, 0))
    k = ones.shape[1]
    quadratic = sparse.diags(np.r_[np.full(d, alpha), np.zeros(k + n)]).tocsc()
    linear = np.r_[np.zeros(d + k), cost / cost.sum()]
    left = sparse.bmat(
        [[-sign[:, None] * X, -ones if k else None, -sparse.eye(n)], [None, None, -sparse.eye(n)]]
        if k
        else [[-sign[:, None] * X, -sparse.eye(n)], [None, -sparse.eye(n)]]
    ).tocsc()
    right = np.r_[-np.ones(n), np.zeros(n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(quadratic, linear, left, right, [clarabel.NonnegativeConeT(2 * n)], settings)
    return solver.solve().obj_val


def ascend_once(X, sign, cost, alpha, kappa, u, b, order, loss):
    """One pass of dual ascent, every coordinate by a search for the zero of the slope; return u and the intercept."""
    w = (u * sign) @ X / alpha
    for k in order:
        curvature = X[k] @ X[k] / alpha + kappa
        margin = sign[k] * (w @ X[k] + b)

        def slope(new, k=k, margin=margin, curvature=curvature):
            gain = 1.0 if loss == "hinge" else np.log((cost[k] - new) / new)
            return gain - margin - curvature * (new - u[k])

        edge = 0.0 if loss == "hinge" else 1e-300
        ends = edge, cost[k] * (1 - (0.0 if loss == "hinge" else 1e-16))
        if slope(ends[0]) <= 0:
            new = ends[0]
        elif slope(ends[1]) >= 0:
            new = ends[1]
        else:
            new = brentq(slope, *ends, xtol=1e-16, rtol=1e-14)
        w = w + (new - u[k]) * sign[k] * X[k] / alpha
        b += kappa * (new - u[k]) * sign[k]
        u[k] = new
    return u, b + kappa * (u @ sign)
