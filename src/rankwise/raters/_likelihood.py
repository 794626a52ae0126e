"""Sums over answers in the model of raters (:mod:`rankwise.raters.rater_model`).

Equal answers of one rater are one *pair* u of rater and label, on which all sums depend. A label admits one *run* of
classes ``low .. high``, a candidate set with gaps several; runs v of a pair are contiguous,
``first_run[u] .. first_run[u + 1] - 1``. For a rater with ``theta = (shift b, log precision, log spread)``,
``p = exp(log precision)``, ``c = exp(log spread)``,

    ``P(run | true class z) = F(above) - F(below)``,   ``above = p (c t_high + b - m_z)``,
    ``below = p (c t_{low-1} + b - m_z)``,

F the logistic function and ``t_{-1}``, ``t_{K-1}`` infinite. ``log P`` is the sum of ``log F(above)``,
``log F(-below)`` and ``log(1 - exp(below - above))``, so nothing cancels. It is concave in (above, below), so that
``J' H J``, with H its negative Hessian there and J the Jacobian of the parameters, is never indefinite.
"""

from __future__ import annotations

import math

import numpy as np

from rankwise._kernels.compile import inlined, kernel

N_OF_RATER = 3  # shift, log precision, log spread


@inlined
def _logistic(x):
    e = math.exp(-abs(x))
    return (1.0 if x >= 0.0 else e) / (1.0 + e)


@inlined
def _log_logistic(x):
    return min(x, 0.0) - math.log1p(math.exp(-abs(x)))


@inlined
def _log_run(above, below):
    value = 0.0
    if above < np.inf:
        value += _log_logistic(above)
    if below > -np.inf:
        value += _log_logistic(-below)
        if above < np.inf:
            value += math.log(-math.expm1(below - above))
    return value


@inlined
def _slopes(above, below):
    """Derivatives of log P in above and below, and the negative second ones: above, below, mixed."""
    a, g, v = 0.0, 0.0, 0.0
    if above < np.inf:
        a = _logistic(-above)
    if below > -np.inf:
        g = _logistic(below)
        if above < np.inf:
            v = math.exp(below - above) / -math.expm1(below - above)
    curvature = v * (1.0 + v)
    return a + v, -g - v, a * (1.0 - a) + curvature, g * (1.0 - g) + curvature, -curvature


@kernel
def likelihoods(low, high, first_run, rater, theta, slips, slip_share, t, m, log_p, inside, slipped):
    """Per pair u and true class: log P of the label, the share of slips in it, and per run its share.

    ``t`` (K+1,) has infinite ends; ``slip_share[u]`` is the probability that a slip lands in the label.
    """
    for u in range(rater.size):
        r = rater[u]
        shift, precision, spread = theta[r, 0], math.exp(theta[r, 1]), math.exp(theta[r, 2])
        slip = slips[r] * slip_share[u]
        for z in range(m.size):
            total = slip
            for v in range(first_run[u], first_run[u + 1]):
                above = precision * (spread * t[high[v] + 1] + shift - m[z])
                below = precision * (spread * t[low[v]] + shift - m[z])
                inside[v, z] = (1.0 - slips[r]) * math.exp(_log_run(above, below))
                total += inside[v, z]
            for v in range(first_run[u], first_run[u + 1]):
                inside[v, z] /= total
            slipped[u, z] = slip / total
            log_p[u, z] = math.log(total)


@kernel
def posteriors(first_answer, pair, log_p, log_prior, posterior, counts):
    """Posterior of every item's true class; ``counts[u, z]`` sums those of the answers of pair u. Log-likelihood.

    Answers are sorted by item: ``pair[first_answer[i] .. first_answer[i + 1] - 1]``.
    """
    n_classes = log_p.shape[1]
    counts[:] = 0.0
    total = 0.0
    for i in range(first_answer.size - 1):
        largest = -np.inf
        for z in range(n_classes):
            value = log_prior[i, z]
            for j in range(first_answer[i], first_answer[i + 1]):
                value += log_p[pair[j], z]
            posterior[i, z] = value
            largest = max(largest, value)
        mass = 0.0
        for z in range(n_classes):
            posterior[i, z] = math.exp(posterior[i, z] - largest)
            mass += posterior[i, z]
        total += largest + math.log(mass)
        for z in range(n_classes):
            posterior[i, z] /= mass
            for j in range(first_answer[i], first_answer[i + 1]):
                counts[pair[j], z] += posterior[i, z]
    return total


@kernel
def rater_values(weight, low, high, rater, theta, t, m, value):
    """Adds to ``value[r]`` the weighted log P of the rater's runs."""
    for v in range(low.size):
        r = rater[v]
        shift, precision, spread = theta[r, 0], math.exp(theta[r, 1]), math.exp(theta[r, 2])
        for z in range(m.size):
            if weight[v, z] > 0.0:
                above = precision * (spread * t[high[v] + 1] + shift - m[z])
                below = precision * (spread * t[low[v]] + shift - m[z])
                value[r] += weight[v, z] * _log_run(above, below)


@kernel
def rater_slopes(weight, low, high, rater, theta, t, m, slope, curvature):
    """Adds the derivatives of :func:`rater_values` in theta, (R, 3), and ``J' H J``, (R, 3, 3)."""
    up, down = np.zeros(N_OF_RATER), np.zeros(N_OF_RATER)
    for v in range(low.size):
        r = rater[v]
        shift, precision, spread = theta[r, 0], math.exp(theta[r, 1]), math.exp(theta[r, 2])
        has_up, has_down = high[v] + 2 < t.size, low[v] > 0
        for z in range(m.size):
            w = weight[v, z]
            if w <= 0.0:
                continue
            above = precision * (spread * t[high[v] + 1] + shift - m[z])
            below = precision * (spread * t[low[v]] + shift - m[z])
            a, g, aa, gg, ag = _slopes(above, below)
            up[0], up[1], up[2] = precision, above, precision * spread * t[high[v] + 1]
            down[0], down[1], down[2] = precision, below, precision * spread * t[low[v]]
            if not has_up:
                up[:] = 0.0
            if not has_down:
                down[:] = 0.0
            for i in range(N_OF_RATER):
                slope[r, i] += w * (a * up[i] + g * down[i])
                for j in range(N_OF_RATER):
                    curvature[r, i, j] += w * (aa * up[i] * up[j] + gg * down[i] * down[j])
                    curvature[r, i, j] += w * ag * (up[i] * down[j] + down[i] * up[j])


@kernel
def scale_slopes(weight, low, high, rater, theta, t, m, slope, curvature):
    """Adds the same for the K-1 thresholds and, behind them, the K positions."""
    n_thresholds = m.size - 1
    place, by = np.zeros(3, dtype=np.int64), np.zeros((3, 2))
    for v in range(low.size):
        r = rater[v]
        shift, precision, spread = theta[r, 0], math.exp(theta[r, 1]), math.exp(theta[r, 2])
        for z in range(m.size):
            w = weight[v, z]
            if w <= 0.0:
                continue
            above = precision * (spread * t[high[v] + 1] + shift - m[z])
            below = precision * (spread * t[low[v]] + shift - m[z])
            a, g, aa, gg, ag = _slopes(above, below)
            # Parameters that move (above, below): the position, and each threshold that exists.
            has_up, has_down = high[v] < n_thresholds, low[v] > 0
            place[0], place[1], place[2] = n_thresholds + z, min(high[v], n_thresholds - 1), max(low[v] - 1, 0)
            by[0, 0], by[0, 1] = -precision * has_up, -precision * has_down
            by[1, 0], by[2, 1] = precision * spread * has_up, precision * spread * has_down
            for i in range(3):
                slope[place[i]] += w * (a * by[i, 0] + g * by[i, 1])
                for j in range(3):
                    curved = aa * by[i, 0] * by[j, 0] + gg * by[i, 1] * by[j, 1]
                    curvature[place[i], place[j]] += w * (curved + ag * (by[i, 0] * by[j, 1] + by[i, 1] * by[j, 0]))
