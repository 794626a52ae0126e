"""Brant's test row by row: a logistic regression for every threshold, and a Wald test that their weights are the same.

A row of weight c is c rows.
"""

import numpy as np
from scipy import stats
from scipy.special import expit


def logistic(X, answer, weight):
    """Weights with the intercept last, by Newton's steps; and what every row adds to them, without its own pull."""
    with_one = np.column_stack([X, np.ones(len(X))])
    theta = np.zeros(with_one.shape[1])
    for _ in range(50):
        p = expit(with_one @ theta)
        information = sum(c * q * (1 - q) * np.outer(x, x) for c, q, x in zip(weight, p, with_one, strict=True))
        theta = theta + np.linalg.solve(information, with_one.T @ (weight * (answer - p)))
    p = expit(with_one @ theta)
    leverage = np.array([q * (1 - q) * x @ np.linalg.solve(information, x) for q, x in zip(p, with_one, strict=True)])
    slopes = with_one * ((answer - p) / np.sqrt(1 - leverage))[:, None]
    return theta, np.linalg.solve(information, slopes.T).T


def brant(X, lower, upper, weight, n_classes):
    """Weights (K - 1, d), the statistic of all features, its degrees of freedom and p; p of every feature."""
    n, d = X.shape
    coef, influence = [], []
    for k in range(n_classes - 1):
        known = (lower > k) | (upper <= k)
        theta, rows = logistic(X[known], (lower > k)[known].astype(float), weight[known])
        coef.append(theta[:d])
        influence.append(np.zeros((n, d)))
        influence[-1][known] = rows[:, :d]
    influence = np.hstack(influence)
    covariance = sum(c * np.outer(row, row) for c, row in zip(weight, influence, strict=True))
    coef = np.array(coef)

    def wald(features):
        m = n_classes - 1
        picked = np.array([k * d + j for k in range(m) for j in features])
        contrast = np.kron(np.column_stack([-np.ones(m - 1), np.eye(m - 1)]), np.eye(len(features)))
        differences = contrast @ coef.ravel()[picked]
        spread = contrast @ covariance[np.ix_(picked, picked)] @ contrast.T
        statistic = differences @ np.linalg.solve(spread, differences)
        return statistic, differences.size, stats.chi2.sf(statistic, differences.size)

    return coef, wald(range(d)), np.array([wald([j])[2] for j in range(d)])
