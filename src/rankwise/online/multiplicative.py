"""M-PRIL: the multiplicative threshold perceptron, for many features of which few matter.

PRIL's constraints and violations tau_i (see :mod:`rankwise.online.pril`) with exponentiated updates (Manwani,
Algorithm 3). As printed it starts at zero and never moves; correctly, all of (w, t) are positive, start equal and sum
to one, and a round with violations does, with c the weight of the example,

    w_j *= exp(eta c x_j sum_i tau_i),   t_i *= exp(-eta c tau_i),   then divides by the sum of all.

The two-sided form (``signed=True``) keeps a pair (u+, u-) for every coordinate of w and of t, multiplies them by
``exp(+eta g)`` and ``exp(-eta g)``, and uses ``u+ - u-``: then weights and thresholds may be negative.

Everything is kept as exponents. With the sums S_j = sum c x_j sum_i tau_i and S_i = -sum c tau_i over the rounds,

    one-sided: w_j = exp(eta S_j) / Z        two-sided: w_j = 2 sinh(eta S_j) / Z

and the prediction does not depend on Z, so a round costs one exponential per feature it touches, none of them can
overflow after a common shift, and Z is computed only when needed (``coef_``). Thresholds are a monotone function of
their integer sums, so Lemma 1 keeps them in order (in both forms; the paper's proof of its Lemma 2 has an inequality
reversed); with weights the sums are sorted after the update.

``eta="auto"``: the best fixed eta depends on the unknown margin (:func:`rankwise.bounds.multiplicative_pril_rate`). So
eta starts at 1/(K-1) and is halved whenever the number of violations has grown fourfold, counted from (K-1)^2: eta
then falls like one over the root of the loss, the rate of regret bounds for exponentiated updates, and a separable
stream stops the halving. Averages are taken of the exponents, which is a geometric mean of the weights.

The bound of Theorem 4 needs |x|_inf <= 1: scale the features (``MaxAbsScaler``).
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise._kernels.compile import inlined, kernel, register_jitable
from rankwise._kernels.rows import axpy_lagged, column, dot, n_entries
from rankwise._sklearn import POSITIVE, StrOptions
from rankwise._types import Floats
from rankwise.base.row_data import Rows, length
from rankwise.base.state import COUNTS, ROUNDS, VIOLATIONS, State, StateArray, averaged
from rankwise.decisions.thresholds import rank, ranks
from rankwise.labels import ClassOrder
from rankwise.online._contest import JUDGED, mode_of
from rankwise.online._threshold_models import (
    ThresholdEstimator,
    move_violated,
    reason_to_stay,
    score_row,
    scores_of_rows,
    with_sentinels,
)
from rankwise.online.learning_loop import make_pass, write_back

#: Places in ``state["scale"]``: the learning rate, and the exponent that counts as zero.
ETA, SHIFT = 0, 1
_ROOM = 300.0  # exponents this far from the shift are still far from overflow and underflow
_SUNK = np.exp(-_ROOM)


@register_jitable
def _weight(exponent, shift, signed):
    """exp(exponent), or 2 sinh(exponent), times exp(-shift), without overflow and with full precision near zero."""
    if not signed:
        return np.exp(min(exponent - shift, 2.0 * _ROOM))
    size = abs(exponent)
    if size < 20.0:
        return 2.0 * np.sinh(exponent) * np.exp(-shift)
    return np.copysign(np.exp(min(size - shift, 2.0 * _ROOM)), exponent)


@register_jitable
def _refresh_all(S, T, w, t, scale, signed):
    """Recompute every weight with the largest exponent as the new zero."""
    shift = 0.0
    for j in range(S.size):
        shift = max(shift, abs(scale[ETA] * S[j]))
    for k in range(T.size):
        shift = max(shift, abs(scale[ETA] * T[k]))
    scale[SHIFT] = shift
    for j in range(S.size):
        w[j] = _weight(scale[ETA] * S[j], shift, signed)
    for k in range(T.size):
        t[k] = _weight(scale[ETA] * T[k], shift, signed)


@register_jitable
def _adapted_rate(violations, n_thresholds):
    """1/(K-1), halved whenever the violations, counted from (K-1)^2, have grown fourfold."""
    rate = 1.0 / n_thresholds
    limit = 4.0 * n_thresholds * n_thresholds
    while violations >= limit:
        limit *= 4.0
        rate *= 0.5
    return rate


@register_jitable
def _prepare(model, mask, options, predicting):
    (S, S_lag, w), (T, T_lag, t, scale) = model
    average, adaptive, signed = options
    sums, ends = with_sentinels(T), with_sentinels(t)
    averaged = np.empty(S.size if predicting or mode_of(average) == JUDGED else 0), np.empty(t.size)
    return t.size, (w, S, S_lag, ends, ends[1:-1], sums, sums[1:-1], T_lag, scale, averaged, adaptive, signed)


@inlined
def _predict(X, i, f, rounds, workspace):
    _, S, S_lag, _, t, _, T, T_lag, scale, (averaged_w, averaged_t), _, signed = workspace
    if rounds == 0.0:
        return rank(f, t)
    for p in range(n_entries(X, i)):
        j = column(X, i, p)
        averaged_w[j] = _weight(scale[ETA] * (S[j] - S_lag[j] / rounds), scale[SHIFT], signed)
    for k in range(t.size):
        averaged_t[k] = _weight(scale[ETA] * (T[k] - T_lag[k] / rounds), scale[SHIFT], signed)
        if k > 0:
            averaged_t[k] = max(averaged_t[k], averaged_t[k - 1])
    return rank(dot(X, i, averaged_w), averaged_t)


@inlined
def _step(X, i, f, lo, hi, c, past, workspace):
    w, S, S_lag, ends, t, sums, T, T_lag, scale, _, adaptive, signed = workspace
    stays = reason_to_stay(f, lo, hi, c, ends)
    if stays < 0:
        return stays
    rounds, _, violations = past
    a, violated = move_violated(f, lo, hi, c, ends, sums, T_lag, rounds)
    axpy_lagged(X, i, a, rounds, S, S_lag)
    eta, top, sunk = scale[ETA], 0.0, False
    if adaptive:
        eta = _adapted_rate(violations + violated, t.size)
    if eta == scale[ETA]:
        for p in range(n_entries(X, i)):
            j = column(X, i, p)
            old, w[j] = w[j], _weight(eta * S[j], scale[SHIFT], signed)
            top = max(top, abs(eta * S[j]))
            sunk = sunk or abs(old) >= _SUNK > abs(w[j])
        for k in range(t.size):
            old, t[k] = t[k], _weight(eta * T[k], scale[SHIFT], signed)
            top = max(top, abs(eta * T[k]))
            sunk = sunk or abs(old) >= _SUNK > abs(t[k])
    # A new zero for the exponents when they have risen far above it, or may all have sunk far below.
    if eta != scale[ETA] or top > scale[SHIFT] + _ROOM or (sunk and scale[SHIFT] > _ROOM):
        scale[ETA] = eta
        _refresh_all(S, T, w, t, scale, signed)
    return violated


@register_jitable
def _finish(model, workspace):
    write_back(workspace[6], model[1][0])
    write_back(workspace[4], model[1][2])


@register_jitable
def _repair(model, options):
    """Recompute the weights of all features: a new zero for the exponents may have changed any."""
    (S, _, w), (_, _, _, scale) = model
    for j in range(S.size):
        w[j] = _weight(scale[ETA] * S[j], scale[SHIFT], options[2])


_learn = make_pass(_prepare, score_row, _predict, _step, _finish, repair=_repair)


@kernel
def _weights(exponents, shift, signed, out):
    for j in range(exponents.size):
        out[j] = _weight(exponents[j], shift, signed)


class MultiplicativePRIL(ThresholdEstimator):
    """Multiplicative threshold perceptron: its loss grows with the logarithm of the number of features.

    Parameters
    ----------
    eta : float or "auto", default "auto"
        Learning rate. "auto" starts at 1/(K-1) and falls with the loss; see the module's docstring.
    signed : bool, default True
        Allow negative weights and thresholds. False is the paper's form on the simplex.
    norm : float, default 1.0
        What the absolute values of ``coef_`` and ``thresholds_`` (before subtracting the two sides) sum to. It scales
        the scores and changes no prediction.
    n_epochs, shuffle, average, random_state, classes
        As in :class:`rankwise.PRIL`; the average is of the exponents, a geometric mean.

    Attributes
    ----------
    eta_ : float
        Learning rate now.
    coef_, thresholds_, classes_, n_updates_, n_violations_, n_iter_
        As in :class:`rankwise.PRIL`.

    Notes
    -----
    Features should lie in [-1, 1]: the mistake bound assumes it, and larger values make larger steps.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import MultiplicativePRIL
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 40))
    >>> y = np.digitize(X[:, 3], [-0.5, 0.5])  # one feature matters
    >>> model = MultiplicativePRIL(random_state=0).fit(X, y)
    >>> int(np.abs(model.coef_).argmax())
    3
    """

    arrays: ClassVar = {
        "S": averaged("feature", lag="S_lag"),
        "w": StateArray(("feature",), mixes="follows", local=False),  # all weights have one factor in common
        "T": averaged("threshold", lag="T_lag"),
        "t": StateArray(("threshold",), mixes="follows"),
        "counts": COUNTS,
        "scale": StateArray((2,), mixes="follows"),
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ThresholdEstimator._parameter_constraints,
        "eta": [POSITIVE, StrOptions({"auto"})],
        "signed": ["boolean"],
        "norm": [POSITIVE],
    }

    def __init__(
        self, eta: float | str = "auto", signed: bool = True, norm: float = 1.0, n_epochs: int = 10,
        shuffle: bool = True, average: bool | str = "auto", random_state: Any = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def _begin(self, n_features: int, order: ClassOrder, *, growing: bool = False) -> None:
        super()._begin(n_features, order, growing=growing)
        self._state["scale"][ETA] = 1.0 / max(1, len(order) - 1) if self.eta == "auto" else float(self.eta)
        if not self.signed:
            self._state["t"][:] = 1.0  # the weight of exponent 0

    def _compiled(self, state, average, plain):
        of_features, of_all = ("S", "S_lag", "w"), ("T", "T_lag", "t", "scale")
        model = tuple(state[name] for name in of_features), tuple(state[name] for name in of_all)
        options = average, self.eta == "auto", self.signed
        return _learn, model, options

    def _settle(self, state: State, known: int, n_features: int) -> None:
        if not self.signed:  # there an exponent of 0 is a positive weight
            state["w"][known:] = np.exp(-state["scale"][SHIFT])

    def _with_classes(self, state: State, order: ClassOrder) -> State:
        wider = super()._with_classes(state, order)
        if state["t"].size == 0 and not self.signed:
            wider["t"][:] = np.exp(-state["scale"][SHIFT])
        return wider

    def _from_mix(self, state: State, moved: State) -> None:
        super()._from_mix(state, moved)
        if self.eta == "auto":
            state["scale"][ETA] = _adapted_rate(state["counts"][VIOLATIONS], max(1, state["T"].size))
        _refresh_all(state["S"], state["T"], state["w"], state["t"], state["scale"], self.signed)

    @property
    def eta_(self) -> float:
        """Learning rate now."""
        return float(self._number("scale", ETA))

    @property
    def coef_(self) -> Floats:
        """Weights, shape (d,); of the averaged exponents if ``average``."""
        w, _, total = self._unscaled()
        return np.asarray(w[: self.n_features_in_] * (self.norm / total))

    @property
    def thresholds_(self) -> Floats:
        """Thresholds between neighbouring classes, ascending, shape (K-1,)."""
        _, t, total = self._unscaled()
        return np.asarray(t * (self.norm / total))

    def _unscaled(self) -> tuple[Floats, Floats, float]:
        """Weights and thresholds up to a common factor, and the inverse of that factor for ``norm=1``."""
        check_is_fitted(self)
        state = self._state
        rounds = float(state["counts"][ROUNDS])
        eta, shift = state["scale"]
        exponents, weights = [], []
        for sums, lag in (("S", "S_lag"), ("T", "T_lag")):
            exponent = eta * (state[sums] - state[lag] / rounds) if rounds and self._averages else eta * state[sums]
            out = np.empty(exponent.size)
            _weights(exponent, shift, self.signed, out)
            exponents.append(exponent)
            weights.append(out)
        w, t = weights
        known = np.concatenate([exponents[0][: self.n_features_in_], exponents[1]])
        total = np.exp(known - shift).sum()
        if self.signed:
            total += np.exp(-known - shift).sum()
        return w, np.maximum.accumulate(t) if t.size else t, float(total) if total > 0 else 1.0

    def _project(self, rows: Rows) -> Floats:
        w, _, total = self._unscaled()
        scores = self._filled(np.empty(length(rows)), scores_of_rows, rows, w, w, 0.0)
        return np.asarray(scores * (self.norm / total))

    def _codes(self, rows: Rows) -> NDArray[Any]:
        w, t, _ = self._unscaled()
        return ranks(self._filled(np.empty(length(rows)), scores_of_rows, rows, w, w, 0.0), t)
