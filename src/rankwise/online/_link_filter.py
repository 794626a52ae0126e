"""The filter of :class:`rankwise.OnlineCumulativeLink`: one row's label moves a normal distribution of the parameters.

It is an extended Kalman filter: after the rows so far, the parameters have a normal distribution with mean theta and
covariance P. The parameters are the weights, the lowest threshold and the logarithms of the gaps between neighbouring
thresholds, so the thresholds stay in order. A row with the weight c moves the mean to the mode of the posterior, and
its curvature there sharpens the distribution. With ``u = (t_hi - f, t_{lo-1} - f)``, C the derivatives of u
(parameters x 2), ``S = C'PC`` and ``l(u)`` the loss:

    u      = argmin_v  (v - u0)' S^-1 (v - u0) / 2 + c l(v)          two variables: Newton's method
    theta += P C g                     g = -c l'(u)
    P     -= P C M C' P                M = H (I + S H)^-1,  H = c l''(u)

The argmin never jumps, however uncertain the model is. A gap that shrinks is multiplied by exp(change), one that grows
by 1 + change.

Prior: weights are N(0, 1 / (alpha s_j)) with s_j the mean square of column j where it is not zero, so scaling a column
changes no prediction. As s_j becomes known, the prior is replaced whenever s_j has doubled or halved. A column with a
single value so far is left to the thresholds: it carries no other information, and its scale is unknown.

Either P is a full matrix, and a row costs O((d + K)^2); or the weights are treated as independent of each other and of
the thresholds, and the cost of a row is its number of entries plus O(K^2).
"""

import math

import numpy as np

from rankwise._kernels.compile import inlined, register_jitable
from rankwise._kernels.rows import column, dot, n_entries, value
from rankwise.decisions.thresholds import rank
from rankwise.online._threshold_models import score_row
from rankwise.online.learning_loop import NOT_FINITE, UNCHANGED, make_pass
from rankwise.risks.links import LINKS, log_terms

_LOGIT = LINKS["logit"]
_SMALLEST, _LARGEST = 1e-40, 1e40  # of values that are learnt from: their squares and the inverses are still numbers
_LEAST_GAP = 1e-12


@register_jitable
def _loss(link, c, above, below):
    """c times -log P, its derivatives by ``above`` and ``below``, and its three second derivatives."""
    if not above > below:
        return np.inf, 0.0, 0.0, 0.0, 0.0, 0.0
    if link == _LOGIT:
        x, y, apart = math.exp(-abs(above)), math.exp(-abs(below)), -math.expm1(below - above)
        a, g = (x if above > 0.0 else 1.0) / (1.0 + x), (y if below < 0.0 else 1.0) / (1.0 + y)
        loss = max(-above, 0.0) + math.log1p(x) + max(below, 0.0) + math.log1p(y) - math.log(apart)
        barrier = (1.0 - apart) / apart
        p, q, v = a * (1.0 - a), g * (1.0 - g), barrier * (1.0 + barrier)
        a, g = a + barrier, g + barrier
    else:
        loss, a, g, p, q = log_terms(link, above, below, above - below)
        v = a * g
    return c * loss, -c * a, c * g, c * (p + v), -c * v, c * (q + v)


@register_jitable
def _mode(link, c, above, below, s00, s01, s11):
    """Derivatives and second derivatives of the loss at the mode of the posterior of (above, below).

    Newton's method on the dual, ``u = u0 + S g``, with steps halved until the objective falls. Near the mode objectives
    differ by rounding only, which must not shorten a step.
    """
    g0, g1 = 0.0, 0.0
    loss = _loss(link, c, above, below)
    objective = loss[0]
    for _ in range(50):
        _, d0, d1, h00, h01, h11 = loss
        r0, r1 = g0 + d0, g1 + d1
        if abs(r0) + abs(r1) <= 1e-12 * (abs(d0) + abs(d1)):
            break
        # (I + H S) step = -r
        a, b = 1.0 + h00 * s00 + h01 * s01, h00 * s01 + h01 * s11
        d, e = h01 * s00 + h11 * s01, 1.0 + h01 * s01 + h11 * s11
        determinant = a * e - b * d
        step0, step1 = (b * r1 - e * r0) / determinant, (d * r0 - a * r1) / determinant
        size, better = 1.0, False
        for _ in range(60):
            t0, t1 = g0 + size * step0, g1 + size * step1
            trial = _loss(link, c, above + s00 * t0 + s01 * t1, below + s01 * t0 + s11 * t1)
            value = 0.5 * (t0 * t0 * s00 + 2.0 * t0 * t1 * s01 + t1 * t1 * s11) + trial[0]
            if value <= objective + 1e-13 * (1.0 + objective):
                better = True
                break
            size *= 0.5
        if not better:
            break
        done = value >= objective
        g0, g1, loss, objective = t0, t1, trial, value
        if done:
            break
    return loss


@register_jitable
def _move_thresholds(t, change):
    """Move the lowest threshold by change[0], and the logarithm of the gap below threshold k by change[k]."""
    before = t[0]
    t[0] += change[0]
    for k in range(1, t.size):
        gap = t[k] - before
        before = t[k]
        least = _LEAST_GAP * (1.0 + abs(t[k - 1]))  # more than rounding takes
        t[k] = t[k - 1] + max(least, gap * (1.0 + change[k] if change[k] > 0.0 else math.exp(change[k])))
    change[:] = 0.0


@register_jitable
def _take_from(matrix, left, right, m00, m01, m11):
    """matrix -= left' M right, for ``left`` and ``right`` of two rows each."""
    for r in range(left.shape[1]):
        a, b = m00 * left[0, r] + m01 * left[1, r], m01 * left[0, r] + m11 * left[1, r]
        for k in range(right.shape[1]):
            matrix[r, k] -= a * right[0, k] + b * right[1, k]


@register_jitable
def _absorb_in_thresholds(workspace, g, m):
    """Add to the change of the thresholds, and take from their covariance."""
    _, t, tt, _, _, _, gains, change = workspace[:8]
    for k in range(t.size):
        change[k] += gains[0, k] * g[0] + gains[1, k] * g[1]
    _take_from(tt, gains, gains, *m)


# What is done with the covariance of the weights. ``workspace`` holds w, t, the covariance tt of the thresholds'
# parameters, that of the weights, the columns' scales, and ``gains = P C`` for weights and thresholds, one row for each
# end.

# -- a full covariance: ww of the weights, tw of thresholds and weights ------------------------------------------------


@register_jitable
def _begin(j, variance, workspace):
    workspace[3][0][j, j] = variance


@register_jitable
def _gains_of_row(X, i, workspace):
    """Set the gains of the lower end to the contribution of row i."""
    (ww, tw), gains_w, gains_t = workspace[3], workspace[5], workspace[6]
    gains_w[1, :] = 0.0
    for p in range(n_entries(X, i)):
        j, x = column(X, i, p), np.float64(value(X, i, p))
        if x != 0.0:
            for r in range(gains_w.shape[1]):
                gains_w[1, r] -= x * ww[j, r]
    for k in range(gains_t.shape[1]):
        gains_t[1, k] = -dot(X, i, tw[k])


@register_jitable
def _gains_of_threshold(k, factor, end, workspace):
    tw, gains_w = workspace[3][1], workspace[5]
    for r in range(gains_w.shape[1]):
        gains_w[end, r] += factor * tw[k, r]


@register_jitable
def _variance_of_row(X, i, end, workspace):
    return -dot(X, i, workspace[5][end])


@register_jitable
def _absorb(X, i, g, m, curvature, workspace):
    w, _, _, (ww, tw), _, gains_w, gains_t = workspace[:7]
    for j in range(gains_w.shape[1]):
        w[j] += gains_w[0, j] * g[0] + gains_w[1, j] * g[1]
    _take_from(ww, gains_w, gains_w, *m)
    _take_from(tw, gains_t, gains_w, *m)


@register_jitable
def _exchange_prior(j, more, workspace):
    """Add to the precision of the prior of weight j, whose mean is zero; none of X is used.

    The thresholds follow after all columns, so the order of the columns makes no difference.
    """
    w, t, _, (ww, tw), _, gains_w, gains_t = workspace[:7]
    gains_w[1, :] = 0.0
    gains_t[1, :] = 0.0
    for r in range(gains_w.shape[1]):
        gains_w[0, r] = ww[j, r]
    for k in range(t.size):
        gains_t[0, k] = tw[k, j]
    kept = 1.0 / (1.0 + more * ww[j, j])
    weight, loss = w[j], more * kept
    g, m = (-loss * weight, 0.0), (loss, 0.0, 0.0)
    _absorb(ww, 0, g, m, 0.0, workspace)
    _absorb_in_thresholds(workspace, g, m)
    # Multiply the entries of j instead: if ``kept`` is small, a subtraction leaves nothing but rounding.
    w[j] = weight * kept
    for r in range(gains_w.shape[1]):
        ww[j, r] = ww[r, j] = gains_w[0, r] * kept
    for k in range(t.size):
        tw[k, j] = gains_t[0, k] * kept


# -- a variance for each weight ----------------------------------------------------------------------------------------


@register_jitable
def _begin_alone(j, variance, workspace):
    workspace[3][j] = variance


@register_jitable
def _gains_of_row_alone(X, i, workspace):
    workspace[6][1, :] = 0.0


@register_jitable
def _gains_of_threshold_alone(k, factor, end, workspace):
    pass


@register_jitable
def _variance_of_row_alone(X, i, end, workspace):
    total = 0.0
    for p in range(n_entries(X, i)):
        x = np.float64(value(X, i, p))
        total += x * x * workspace[3][column(X, i, p)]
    return total


@register_jitable
def _absorb_alone(X, i, g, m, curvature, workspace):
    w, variance = workspace[0], workspace[3]
    for p in range(n_entries(X, i)):
        j, x = column(X, i, p), np.float64(value(X, i, p))
        w[j] -= variance[j] * x * (g[0] + g[1])
        variance[j] /= 1.0 + variance[j] * curvature * x * x


@register_jitable
def _exchange_prior_alone(j, more, workspace):
    w, variance = workspace[0], workspace[3]
    kept = 1.0 / (1.0 + more * variance[j])
    w[j] *= kept
    variance[j] *= kept


# -- a pass ------------------------------------------------------------------------------------------------------------


@register_jitable
def _prepare_full(model, mask, options, predicting):
    columns, (w, t, tt, ww, tw) = model
    _, n, alpha, link, shift = options
    gains_w, gains_t, change = np.zeros((2, n)), np.zeros((2, t.size)), np.zeros(t.size)
    tt, of_weights = tt.reshape((t.size, t.size)), (ww.reshape((w.size, w.size)), tw.reshape((t.size, w.size)))
    return t.size, (w, t, tt, of_weights, columns, gains_w, gains_t, change, alpha, link, shift)


@register_jitable
def _prepare_alone(model, mask, options, predicting):
    (w, variance, prior, seen, square, first), (t, tt) = model
    _, _, alpha, link, shift = options
    gains_w, gains_t, change = np.zeros((2, 0)), np.zeros((2, t.size)), np.zeros(t.size)
    columns, tt = (prior, seen, square, first), tt.reshape((t.size, t.size))
    return t.size, (w, t, tt, variance, columns, gains_w, gains_t, change, alpha, link, shift)


@inlined
def _predict(X, i, f, rounds, workspace):
    return rank(f + workspace[10], workspace[1]) if np.isfinite(f) else -1


def _make_pass(prepare, begin, gains_of_row, gains_of_threshold, variance_of_row, absorb, exchange):

    @register_jitable
    def update_scales(X, i, rounds, workspace):
        """Update the scales of the columns of row i."""
        prior, seen, square, first = workspace[4]
        for p in range(n_entries(X, i)):
            j, x = column(X, i, p), np.float64(value(X, i, p))
            if abs(x) < _SMALLEST:
                continue
            if seen[j] == 0.0:
                first[j] = x
            varied = seen[j] < rounds or x != first[j]
            seen[j] += 1.0
            square[j] += x * x
            known = seen[j] / (workspace[8] * square[j])
            if prior[j] == 0.0:
                if varied:
                    prior[j] = known
                    begin(j, known, workspace)
            elif known > 2.0 * prior[j] or 2.0 * known < prior[j]:
                exchange(j, 1.0 / known - 1.0 / prior[j], workspace)
                prior[j] = known
        _move_thresholds(workspace[1], workspace[7])

    @register_jitable
    def add_thresholds(first, last, end, workspace):
        """Add the contribution of the parameters first..last of the thresholds to the gains of an end."""
        _, t, tt, _, _, _, gains_t = workspace[:7]
        for k in range(first, last + 1):
            factor = t[k] - t[k - 1] if k > 0 else 1.0
            gains_of_threshold(k, factor, end, workspace)
            for r in range(t.size):
                gains_t[end, r] += factor * tt[k, r]

    @register_jitable
    def covariance(X, i, last, end, workspace):
        """<c, P c'> for c of the end at threshold ``last`` and the gains P c' of the other."""
        _, t, _, _, _, _, gains_t = workspace[:7]
        total = gains_t[end, 0]
        for k in range(1, last + 1):
            total += (t[k] - t[k - 1]) * gains_t[end, k]
        return total + variance_of_row(X, i, end, workspace)

    @inlined
    def step(X, i, f, lo, hi, c, past, workspace):
        _, t, _, _, _, gains_w, gains_t, _, _, link, shift = workspace
        if not np.isfinite(f):
            return NOT_FINITE
        if c == 0.0:
            return UNCHANGED
        for p in range(n_entries(X, i)):
            if not abs(value(X, i, p)) < _LARGEST:
                return NOT_FINITE
        predicted = rank(f + shift, t)
        update_scales(X, i, past[0], workspace)
        f = dot(X, i, workspace[0])
        upper, lower = hi < t.size, lo > 0
        gains_of_row(X, i, workspace)
        add_thresholds(0, max(lo - 1, 0), 1, workspace)
        for j in range(gains_w.shape[1]):
            gains_w[0, j] = gains_w[1, j]
        for k in range(t.size):
            gains_t[0, k] = gains_t[1, k]
        add_thresholds(max(lo, 1), hi if upper else -1, 0, workspace)
        above, below, s00, s01, s11 = np.inf, -np.inf, 0.0, 0.0, 0.0
        if upper:
            above, s00 = t[hi] - f, max(0.0, covariance(X, i, hi, 0, workspace))
        else:
            gains_w[0, :] = 0.0
            gains_t[0, :] = 0.0
        if lower:
            below, s11 = t[lo - 1] - f, max(0.0, covariance(X, i, lo - 1, 1, workspace))
        else:
            gains_w[1, :] = 0.0
            gains_t[1, :] = 0.0
        if upper and lower:
            limit = math.sqrt(s00 * s11)  # but for rounding
            s01 = min(limit, max(-limit, covariance(X, i, hi, 1, workspace)))
        _, d0, d1, h00, h01, h11 = _mode(link, c, above, below, s00, s01, s11)
        a, b = 1.0 + s00 * h00 + s01 * h01, s00 * h01 + s01 * h11
        d, e = s01 * h00 + s11 * h01, 1.0 + s01 * h01 + s11 * h11
        determinant = a * e - b * d
        m = (h00 * e - h01 * d) / determinant, (h01 * a - h00 * b) / determinant, (h11 * a - h01 * b) / determinant
        absorb(X, i, (-d0, -d1), m, h00 + 2.0 * h01 + h11, workspace)
        _absorb_in_thresholds(workspace, (-d0, -d1), m)
        _move_thresholds(t, workspace[7])
        return max(lo - predicted, predicted - hi, 0)

    return make_pass(prepare, score_row, _predict, step)


#: A pass with a full covariance: ``model`` is the columns' scales, and w, t, tt, ww, tw, each as one row of numbers.
LEARN_FULL = _make_pass(
    _prepare_full, _begin, _gains_of_row, _gains_of_threshold, _variance_of_row, _absorb, _exchange_prior
)  # fmt: skip
#: A pass with a variance for each weight: ``model`` is w, the variances and the columns' scales; and t, tt.
LEARN_ALONE = _make_pass(
    _prepare_alone, _begin_alone, _gains_of_row_alone, _gains_of_threshold_alone, _variance_of_row_alone, _absorb_alone,
    _exchange_prior_alone,
)  # fmt: skip
