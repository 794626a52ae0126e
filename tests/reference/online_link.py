"""Recursive maximum likelihood of a cumulative link, slow and plain: matrices are inverted, minima searched for."""

import numpy as np
from scipy import optimize

from rankwise.risks.links import distribution, quantile


def _loss(link, c, above, below):
    inside = distribution(link, above) - distribution(link, below)
    return -c * np.log(inside) if above > below and inside > 0 else np.inf


def _hessian(link, c, u, step=1e-4):
    """By differences; an end that is infinite has none."""
    found, free = np.zeros((2, 2)), [k for k in (0, 1) if np.isfinite(u[k])]
    for i in free:
        for j in free:
            total = 0.0
            for p, q, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)):
                v = u.copy()
                v[i] += p * step
                v[j] += q * step
                total += sign * _loss(link, c, *v)
            found[i, j] = total / (4 * step * step)
    return found


def learn(X, lower, upper, weight, n_classes, link="logit", alpha=1.0):
    """Weights and thresholds after the rows."""
    d, n_t = X.shape[1], n_classes - 1
    w, t = np.zeros(d), np.asarray(quantile(link, np.arange(1, n_classes) / n_classes))
    P = np.diag(np.concatenate([np.zeros(d), [10.0], np.ones(n_t - 1)]))
    values, scale = [[] for _ in range(d)], np.zeros(d)

    def move(change):
        nonlocal w, t
        w = w + change[:d]
        gaps = np.diff(t)
        for k, z in enumerate(change[d + 1 :]):
            gaps[k] *= 1 + z if z > 0 else np.exp(z)
        t = np.concatenate([[t[0] + change[d]], t[0] + change[d] + np.cumsum(gaps)])

    for i, x in enumerate(X):
        if (lower[i] == 0 and upper[i] == n_t) or weight[i] == 0:
            continue
        for j in np.flatnonzero(x):
            values[j].append(x[j])
            square = np.mean(np.square(values[j]))
            if scale[j] == 0 and (len(values[j]) <= learn_rounds(i, lower, upper, weight, n_t) or x[j] != values[j][0]):
                scale[j] = square
                P[j, j] = 1 / (alpha * square)
            elif scale[j] and not 0.5 <= square / scale[j] <= 2.0:
                active = np.flatnonzero(np.diag(P) > 0)
                precision = np.linalg.inv(P[np.ix_(active, active)])
                place = list(active).index(j)
                precision[place, place] += alpha * (square - scale[j])
                change = alpha * (square - scale[j])
                P[np.ix_(active, active)] = np.linalg.inv(precision)
                move(-change * P[:, j] * w[j])
                scale[j] = square
        f, gaps = w @ x, np.diff(t)
        C, start = np.zeros((d + n_t, 2)), np.array([np.inf, -np.inf])
        for end, k in ((0, upper[i]), (1, lower[i] - 1)):
            if 0 <= k < n_t:
                start[end] = t[k] - f
                C[:, end] = np.concatenate([-x, [1.0], gaps[:k], np.zeros(n_t - 1 - k)])
        free = np.isfinite(start)
        S = C.T @ P @ C
        inverse = np.linalg.inv(S[np.ix_(free, free)])

        def objective(v, start=start, free=free, inverse=inverse, i=i):
            u = start.copy()
            u[free] = v
            return 0.5 * (v - start[free]) @ inverse @ (v - start[free]) + _loss(link, weight[i], *u)

        best = start.copy()
        options = {"xatol": 1e-11, "fatol": 1e-14, "maxiter": 4000}
        best[free] = optimize.minimize(objective, start[free], method="Nelder-Mead", options=options).x
        g = np.zeros(2)
        g[free] = inverse @ (best[free] - start[free])
        move(P @ C @ g)
        active = np.flatnonzero(np.diag(P) > 0)
        precision = np.linalg.inv(P[np.ix_(active, active)])
        sharper = precision + C[active] @ _hessian(link, weight[i], best) @ C[active].T
        P[np.ix_(active, active)] = np.linalg.inv(sharper)
    return w, t


def learn_rounds(i, lower, upper, weight, n_t):
    """How many rows before row i say something."""
    return int(sum((lower[r] > 0 or upper[r] < n_t) and weight[r] > 0 for r in range(i)))
