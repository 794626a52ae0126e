"""Cumulative links from a stream: class probabilities by recursive maximum likelihood, without a rate to tune.

The model is that of :mod:`rankwise.batch.cumulative_link`: ``P(y <= k | x) = F(t_k - <w, x>)``, and a label [lo, hi]
has the loss ``-log(F(t_hi - f) - F(t_{lo-1} - f))``, which depends on two numbers, ``u = (t_hi - f, t_{lo-1} - f)``.

What the rows so far say about the parameters is kept as a normal distribution with mean theta and covariance P, an
extended Kalman filter. The parameters are the weights, the lowest threshold and the logarithms of the gaps between
neighbouring thresholds, so the thresholds stay in order. A row with the weight c moves the mean to the mode of the
posterior, and its curvature there sharpens the distribution. With C the derivatives of u (parameters x 2),
``S = C'PC`` and ``l(u)`` the loss:

    u      = argmin_v  (v - u0)' S^-1 (v - u0) / 2 + c l(v)          two variables: Newton's method
    theta += P C g                     g = -c l'(u)
    P     -= P C M C' P                M = H (I + S H)^-1,  H = c l''(u)

The argmin never jumps, however uncertain the model is. A gap that shrinks is multiplied by exp(change), one that grows
by 1 + change.

Prior: weights are N(0, 1 / (alpha s_j)) with s_j the mean square of column j where it is not zero, so scaling a column
changes no prediction. As s_j becomes known, the prior is exchanged whenever s_j has doubled or halved. A column that
has had one value only is left to the thresholds: it tells nothing else, and its scale is not known.

Up to ``MAX_FULL`` features P is a full matrix, and a row costs O((d + K)^2). Beyond that weights are taken as
independent of each other and of the thresholds, and a row costs what it has entries, and O(K^2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise._kernels.compile import inlined
from rankwise._kernels.rows import column, dot, n_entries, value
from rankwise._sklearn import Interval, StrOptions
from rankwise.base.link_model import LinkModel
from rankwise.base.probabilities import DECISIONS
from rankwise.base.row_data import Rows, length
from rankwise.base.state import COUNTS, GIVEN_ORDER, NO_PREDICTIONS, State, StateArray, StateLayout
from rankwise.decisions.thresholds import rank
from rankwise.labels import ClassOrder
from rankwise.losses._links import LINKS, log_terms, quantile
from rankwise.online._loop import NOT_FINITE, UNCHANGED, make_pass
from rankwise.online._online_estimator import OnlineEstimator
from rankwise.online._threshold_models import scores_of_rows

Floats = NDArray[np.float64]

#: Most features with a full covariance.
MAX_FULL = 256
_LOGIT = LINKS["logit"]
_SMALLEST, _LARGEST = 1e-40, 1e40  # of values that are learnt from: their squares and the inverses are still numbers
_LEAST_GAP = 1e-12
_VARIANCE_OF_LEVEL, _VARIANCE_OF_LOG_GAP = 10.0, 1.0  # of the thresholds, before any row
_NEW_GAP = 0.05  # room of a class that joins between two others


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
    found = _loss(link, c, above, below)
    objective = found[0]
    for _ in range(50):
        _, d0, d1, h00, h01, h11 = found
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
        g0, g1, found, objective = t0, t1, trial, value
        if done:
            break
    return found


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
def _absorb_in_thresholds(room, g, m):
    """Add to the change of the thresholds, and take from their covariance."""
    _, t, tt, _, _, _, gains, change = room[:8]
    for k in range(t.size):
        change[k] += gains[0, k] * g[0] + gains[1, k] * g[1]
    _take_from(tt, gains, gains, *m)


# What is done with the covariance of the weights. ``room`` holds w, t, the covariance tt of the thresholds' parameters,
# that of the weights, the columns' scales, and ``gains = P C`` for weights and thresholds, one row for each end.

# -- a full covariance: ww of the weights, tw of thresholds and weights ------------------------------------------------


@register_jitable
def _begin(j, variance, room):
    room[3][0][j, j] = variance


@register_jitable
def _gains_of_row(X, i, room):
    """The part of row i, into the gains of the lower end."""
    (ww, tw), gains_w, gains_t = room[3], room[5], room[6]
    gains_w[1, :] = 0.0
    for p in range(n_entries(X, i)):
        j, x = column(X, i, p), np.float64(value(X, i, p))
        if x != 0.0:
            for r in range(gains_w.shape[1]):
                gains_w[1, r] -= x * ww[j, r]
    for k in range(gains_t.shape[1]):
        gains_t[1, k] = -dot(X, i, tw[k])


@register_jitable
def _gains_of_threshold(k, factor, end, room):
    tw, gains_w = room[3][1], room[5]
    for r in range(gains_w.shape[1]):
        gains_w[end, r] += factor * tw[k, r]


@register_jitable
def _variance_of_row(X, i, end, room):
    return -dot(X, i, room[5][end])


@register_jitable
def _absorb(X, i, g, m, curvature, room):
    w, _, _, (ww, tw), _, gains_w, gains_t = room[:7]
    for j in range(gains_w.shape[1]):
        w[j] += gains_w[0, j] * g[0] + gains_w[1, j] * g[1]
    _take_from(ww, gains_w, gains_w, *m)
    _take_from(tw, gains_t, gains_w, *m)


@register_jitable
def _exchange_prior(j, more, room):
    """Add to the precision of the prior of weight j, whose mean is zero; none of X is used.

    The thresholds follow when all columns are done: so the order of columns makes no difference.
    """
    w, t, _, (ww, tw), _, gains_w, gains_t = room[:7]
    gains_w[1, :] = 0.0
    gains_t[1, :] = 0.0
    for r in range(gains_w.shape[1]):
        gains_w[0, r] = ww[j, r]
    for k in range(t.size):
        gains_t[0, k] = tw[k, j]
    kept = 1.0 / (1.0 + more * ww[j, j])
    weight, part = w[j], more * kept
    g, m = (-part * weight, 0.0), (part, 0.0, 0.0)
    _absorb(ww, 0, g, m, 0.0, room)
    _absorb_in_thresholds(room, g, m)
    # What belongs to j is multiplied instead: taken from, nothing but rounding is left where ``kept`` is small.
    w[j] = weight * kept
    for r in range(gains_w.shape[1]):
        ww[j, r] = ww[r, j] = gains_w[0, r] * kept
    for k in range(t.size):
        tw[k, j] = gains_t[0, k] * kept


# -- a variance for each weight ----------------------------------------------------------------------------------------


@register_jitable
def _begin_alone(j, variance, room):
    room[3][j] = variance


@register_jitable
def _gains_of_row_alone(X, i, room):
    room[6][1, :] = 0.0


@register_jitable
def _gains_of_threshold_alone(k, factor, end, room):
    pass


@register_jitable
def _variance_of_row_alone(X, i, end, room):
    total = 0.0
    for p in range(n_entries(X, i)):
        x = np.float64(value(X, i, p))
        total += x * x * room[3][column(X, i, p)]
    return total


@register_jitable
def _absorb_alone(X, i, g, m, curvature, room):
    w, variance = room[0], room[3]
    for p in range(n_entries(X, i)):
        j, x = column(X, i, p), np.float64(value(X, i, p))
        w[j] -= variance[j] * x * (g[0] + g[1])
        variance[j] /= 1.0 + variance[j] * curvature * x * x


@register_jitable
def _exchange_prior_alone(j, more, room):
    w, variance = room[0], room[3]
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
def _score(X, i, room):
    return dot(X, i, room[0])


@inlined
def _predict(X, i, f, rounds, room):
    return rank(f + room[10], room[1]) if np.isfinite(f) else -1


def _make_pass(prepare, begin, gains_of_row, gains_of_threshold, variance_of_row, absorb, exchange):

    @register_jitable
    def know_columns(X, i, rounds, room):
        """Take row i into the scales of its columns."""
        prior, seen, square, first = room[4]
        for p in range(n_entries(X, i)):
            j, x = column(X, i, p), np.float64(value(X, i, p))
            if abs(x) < _SMALLEST:
                continue
            if seen[j] == 0.0:
                first[j] = x
            varied = seen[j] < rounds or x != first[j]
            seen[j] += 1.0
            square[j] += x * x
            known = seen[j] / (room[8] * square[j])
            if prior[j] == 0.0:
                if varied:
                    prior[j] = known
                    begin(j, known, room)
            elif known > 2.0 * prior[j] or 2.0 * known < prior[j]:
                exchange(j, 1.0 / known - 1.0 / prior[j], room)
                prior[j] = known
        _move_thresholds(room[1], room[7])

    @register_jitable
    def add_thresholds(first, last, end, room):
        """Add the part of the parameters first..last of the thresholds to the gains of an end."""
        _, t, tt, _, _, _, gains_t = room[:7]
        for k in range(first, last + 1):
            factor = t[k] - t[k - 1] if k > 0 else 1.0
            gains_of_threshold(k, factor, end, room)
            for r in range(t.size):
                gains_t[end, r] += factor * tt[k, r]

    @register_jitable
    def covariance(X, i, last, end, room):
        """<c, P c'> for c of the end at threshold ``last`` and the gains P c' of the other."""
        _, t, _, _, _, _, gains_t = room[:7]
        total = gains_t[end, 0]
        for k in range(1, last + 1):
            total += (t[k] - t[k - 1]) * gains_t[end, k]
        return total + variance_of_row(X, i, end, room)

    @inlined
    def step(X, i, f, lo, hi, c, past, room):
        _, t, _, _, _, gains_w, gains_t, _, _, link, shift = room
        if not np.isfinite(f):
            return NOT_FINITE
        if c == 0.0:
            return UNCHANGED
        for p in range(n_entries(X, i)):
            if not abs(value(X, i, p)) < _LARGEST:
                return NOT_FINITE
        answer = rank(f + shift, t)
        know_columns(X, i, past[0], room)
        f = dot(X, i, room[0])
        upper, lower = hi < t.size, lo > 0
        gains_of_row(X, i, room)
        add_thresholds(0, max(lo - 1, 0), 1, room)
        for j in range(gains_w.shape[1]):
            gains_w[0, j] = gains_w[1, j]
        for k in range(t.size):
            gains_t[0, k] = gains_t[1, k]
        add_thresholds(max(lo, 1), hi if upper else -1, 0, room)
        above, below, s00, s01, s11 = np.inf, -np.inf, 0.0, 0.0, 0.0
        if upper:
            above, s00 = t[hi] - f, max(0.0, covariance(X, i, hi, 0, room))
        else:
            gains_w[0, :] = 0.0
            gains_t[0, :] = 0.0
        if lower:
            below, s11 = t[lo - 1] - f, max(0.0, covariance(X, i, lo - 1, 1, room))
        else:
            gains_w[1, :] = 0.0
            gains_t[1, :] = 0.0
        if upper and lower:
            limit = math.sqrt(s00 * s11)  # but for rounding
            s01 = min(limit, max(-limit, covariance(X, i, hi, 1, room)))
        _, d0, d1, h00, h01, h11 = _mode(link, c, above, below, s00, s01, s11)
        a, b = 1.0 + s00 * h00 + s01 * h01, s00 * h01 + s01 * h11
        d, e = s01 * h00 + s11 * h01, 1.0 + s01 * h01 + s11 * h11
        determinant = a * e - b * d
        m = (h00 * e - h01 * d) / determinant, (h01 * a - h00 * b) / determinant, (h11 * a - h01 * b) / determinant
        absorb(X, i, (-d0, -d1), m, h00 + 2.0 * h01 + h11, room)
        _absorb_in_thresholds(room, (-d0, -d1), m)
        _move_thresholds(t, room[7])
        return max(lo - answer, answer - hi, 0)

    return make_pass(prepare, _score, _predict, step)


_FULL = _make_pass(
    _prepare_full, _begin, _gains_of_row, _gains_of_threshold, _variance_of_row, _absorb, _exchange_prior
)  # fmt: skip
_ALONE = _make_pass(
    _prepare_alone, _begin_alone, _gains_of_row_alone, _gains_of_threshold_alone, _variance_of_row_alone, _absorb_alone,
    _exchange_prior_alone,
)  # fmt: skip


_COMMON = {
    "t": StateArray(("threshold",)),
    "tt": StateArray(("threshold", "threshold")),
    "prior": StateArray(("feature",), mixes="largest"),  # so that no variance is above it
    "seen": StateArray(("feature",), mixes="adds"),
    "square": StateArray(("feature",), mixes="adds"),
    "first": StateArray(("feature",), mixes="largest"),
    "counts": COUNTS,
}
_FULL_ARRAYS = {
    **_COMMON,
    "w": StateArray(("feature",), local=False),
    "ww": StateArray(("feature", "feature"), local=False),
    "tw": StateArray(("threshold", "feature")),
}
_LAYOUT_OF_FULL = StateLayout(_FULL_ARRAYS)
_LAYOUT_ALONE = StateLayout({**_COMMON, "w": StateArray(("feature",)), "variance": StateArray(("feature",))})


def _layout_for(n_features: int) -> StateLayout:
    return _LAYOUT_OF_FULL if n_features <= MAX_FULL else _LAYOUT_ALONE


class OnlineCumulativeLink(LinkModel, OnlineEstimator):
    """Class probabilities on an ordered scale from a stream of exact, interval and missing labels, without a rate.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog", "loglog"}, default "logit"
        Distribution F in ``P(y <= k) = F(t_k - <w, x>)``, as in :class:`rankwise.CumulativeLink`.
    alpha : float, default 1.0
        Precision of the normal prior of each weight, in units of the mean square of its column. It counts once, not for
        every row: its influence fades as rows come.
    decision : {"median", "mode", "mean"} or array-like of shape (K, K), default "median"
        What ``predict`` answers: the class of least expected absolute error, 0/1 loss, squared error, or cost
        ``[true, answer]``. May be changed at any time.
    n_epochs : int, default 2
        Passes over the rows in ``fit``.
    shuffle : bool, default True
        New random order of the rows for every epoch of ``fit``.
    random_state : int, RandomState or None
        Seed of the shuffling.
    classes : array-like or None
        All classes, lowest first. ``fit`` can find them in ``y``; a stream needs them declared.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights of the score.
    thresholds_ : ndarray of shape (K-1,)
        Thresholds between neighbouring classes, ascending.
    classes_ : ndarray of shape (K,)
        The classes, lowest first.
    n_updates_, n_violations_ : int
        Rounds with information, and thresholds on the wrong side of the median before learning.
    n_iter_ : int
        Epochs of the last ``fit``.

    Notes
    -----
    The scale of a column does not matter; centre columns that are far from zero. Up to 256 features the model keeps
    their full covariance, which takes the square of their number for every row; a model with more keeps a variance for
    each. A class that no label names keeps a small probability.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import OnlineCumulativeLink
    >>> X = np.linspace(-1, 1, 60).reshape(-1, 1)
    >>> y = np.digitize(X[:, 0] + np.tile([0.4, -0.4, 0.0], 20), [-0.4, 0.4])
    >>> model = OnlineCumulativeLink(classes=[0, 1, 2], random_state=0).fit(X, y)
    >>> model.predict_proba([[-0.8], [0.0]]).round(1)
    array([[0.8, 0.2, 0. ],
           [0.2, 0.7, 0.2]])
    >>> model.learn_one({0: 0.9}, (1, 2))  # an interval
    >>> sorted(model.predict_proba_one({0: 0.9}))
    [0, 1, 2]
    """

    arrays = _FULL_ARRAYS
    average = False  # the mean of the posterior is one already

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: rule for name, rule in OnlineEstimator._parameter_constraints.items() if name != "average"},
        "link": [StrOptions(set(LINKS))],
        "alpha": [Interval(Real, 1e-10, None, closed="left")],
        "decision": [StrOptions(set(DECISIONS)), "array-like"],
    }

    def __init__(
        self, link: str = "logit", alpha: float = 1.0, decision: Any = "median", n_epochs: int = 2,
        shuffle: bool = True, random_state: Any = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self._set_parameters(locals())

    def _validate_params(self) -> None:
        self._refuse_cauchit()
        super()._validate_params()

    # -- the state -------------------------------------------------------------------------------------------------

    @property
    def _layout(self) -> StateLayout:
        return _layout_for(self.__dict__.get("n_features_in_", 0))

    def _begin(self, n_features: int, order: ClassOrder, *, growing: bool = False) -> None:
        super()._begin(n_features, order, growing=growing)
        t, tt = self._state["t"], self._state["tt"]
        t[:] = quantile(self.link, np.arange(1, len(order)) / len(order))
        np.fill_diagonal(tt, _VARIANCE_OF_LOG_GAP)
        tt[:1, :1] = _VARIANCE_OF_LEVEL

    def _set_order(self, order: ClassOrder) -> None:
        self._check_decision(len(order))
        super()._set_order(order)

    def _with_features(self, state: State, n_features: int) -> State:
        if self.n_features_in_ <= MAX_FULL < n_features:
            state = {**state, "variance": np.diagonal(state["ww"]).copy()}
            state = {name: array for name, array in state.items() if name not in ("ww", "tw")}
        return _layout_for(n_features).with_room(state, "feature", n_features)

    def _with_classes(self, state: State, order: ClassOrder) -> State:
        state = dict(state)
        known = set(self._order.index)
        for place, label in enumerate(order.values.tolist()):
            if label not in known:
                _insert_class(state, place)
        return state

    def _check_state(self, state: Mapping[str, NDArray[Any]], n_features: int, n_classes: int) -> None:
        _layout_for(n_features).check(state, n_features, n_classes)
        if (state["t"][1:] < state["t"][:-1]).any():
            raise ValueError("the thresholds must not descend")

    # -- learning --------------------------------------------------------------------------------------------------

    def _pass(self, state, rows, labels, weight, order, predictions):
        if predictions.size and not self._by_median:
            return self._pass_row_by_row(state, rows, labels, weight, predictions)
        options = False, self.n_features_in_, float(self.alpha), LINKS[self.link], self._median_shift
        columns = tuple(state[name] for name in ("prior", "seen", "square", "first"))
        if "ww" in state:
            model = columns, tuple(state[name].reshape(-1) for name in ("w", "t", "tt", "ww", "tw"))
            learn = _FULL
        else:
            model = (state["w"], state["variance"], *columns), (state["t"], state["tt"].reshape(-1))
            learn = _ALONE
        return learn(rows, labels, weight, order, model, state["counts"], options, predictions)

    def _pass_row_by_row(self, state, rows, labels, weight, predictions):
        """Decide by probabilities before every row."""
        lower, upper, mask = labels
        for i in range(length(rows)):
            here = slice(i, i + 1)
            row = (*rows[:2], rows[2][i : i + 2]) if isinstance(rows, tuple) else rows[here]
            if scores_of_rows(row, state["w"], state["w"], 0.0, np.empty(1)) >= 0:
                return i
            predictions[i] = self._codes(row)[0]
            label = lower[here], upper[here], mask
            if self._pass(state, row, label, weight[here], GIVEN_ORDER, NO_PREDICTIONS) >= 0:
                return i
        return -1

    # -- using -----------------------------------------------------------------------------------------------------

    @property
    def coef_(self) -> Floats:
        """Weights, shape (d,)."""
        return self._read_array("w")[: self.n_features_in_]

    @property
    def thresholds_(self) -> Floats:
        """Thresholds between neighbouring classes, ascending, shape (K-1,)."""
        return self._read_array("t")

    def _read_array(self, name: str) -> Floats:
        check_is_fitted(self)
        return self._undisturbed(lambda model: np.array(model._state[name]))

    def _project(self, rows: Rows) -> Floats:
        out, w = np.empty(length(rows)), self._state["w"]
        bad = scores_of_rows(rows, w, w, 0.0, out)
        if bad >= 0:
            self._refuse_row(rows, bad)
        return out

    def predict_proba_one(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:
        """Probability of every class for one example, a dict of features; empty while no class is known.

        Parameters
        ----------
        x : dict
            Feature name -> number. Names that are absent or unknown count as zero.
        """
        if not self.__sklearn_is_fitted__():
            return {}
        return self._undisturbed(OnlineCumulativeLink._probability_of_each, x)

    def _probability_of_each(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:
        found = self._probabilities(self._features.row(x, learning=False)[0])[0]
        return dict(zip(self._plain_classes, found.tolist(), strict=True))


def _insert_class(state: State, place: int) -> None:
    """Give a new class a small interval where the labels so far have a threshold, or one beyond the last."""
    t, tt = state["t"], state["tt"]
    n = t.size
    if n == 0:
        state["t"], state["tt"] = np.zeros(1), np.full((1, 1), _VARIANCE_OF_LEVEL)
        if "tw" in state:
            state["tw"] = np.zeros((1, state["w"].size))
        return
    # The threshold at the new class's place becomes two. In thresholds both move alike; then back to parameters.
    one = min(max(place - 1, 0), n - 1)
    to_thresholds = _derivatives(t)
    wider, moves = np.insert(t, one, t[one]), np.insert(to_thresholds, one, to_thresholds[one], axis=0)
    if place == 0:
        wider[0] -= 1.0
    else:
        wider[one + 1 :] += 1.0 if place > n else _NEW_GAP
    back = np.linalg.solve(_derivatives(wider), moves)
    state["t"], state["tt"] = wider, back @ tt @ back.T
    state["tt"][one + 1, one + 1] += _VARIANCE_OF_LOG_GAP
    if "tw" in state:
        state["tw"] = back @ state["tw"]


def _derivatives(t: Floats) -> Floats:
    """Derivatives of the thresholds by their parameters, the lowest one and the logarithms of the gaps."""
    return np.tril(np.broadcast_to(np.append(1.0, np.diff(t)), (t.size, t.size)))
