"""CuSum Rank: a structured perceptron whose score of a rank is a cumulative sum.

Every rank k has a vector w_k (w_1 = 0) that judges "is the rank at least k?", and the score of a rank adds up the
answers (Milidiu and Rocha, "Cumulative Sum Ranking", Figure 1):

    s(k) = sum_{j <= k} <w_j, x>,   yhat = the smallest maximiser of s

On a mistake the vectors between the label and the prediction move, with c the weight of the example:

    w_k += c sign(y - yhat) x   for k = min(y, yhat) + 1 .. max(y, yhat)

Ranks need not lie along one direction, as PRank's must. The paper's constant last attribute is the intercept.

- **Margin** (``margin``, ``delta``): while learning, yhat maximises ``s(k) + delta`` for wrong ranks (``"constant"``)
  or ``s(k) + delta |y - k|`` (``"loss"``, the paper's experiments), so that a rank must win by that much.
- **Passive-aggressive** (Figure 2): on a mistake of the plain prediction, the smallest step after which the label wins
  by the margin D = delta or delta |y - yhat|: with m = |y - yhat|, ``wbar`` the sum of the w_k in between and the loss
  ``L = D - sign(y - yhat) <wbar, x>``, the step is ``tau = L / (m |x|^2)``, capped at C ("pa1") or
  ``L / (m |x|^2 + 1/(2C))`` ("pa2"), and ``w_k += sign(y - yhat) tau x``. The weight of an example multiplies C.
- **Imprecise labels** (ours): no update when yhat is admissible; otherwise the target is the best-scored admissible
  rank, and |y - k| is the distance to the nearest admissible one. Candidate sets may have gaps.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise._kernels.compile import SOURCES, kernel
from rankwise._kernels.rows import axpy_columns, dots_lagged, n_rows, padded, squared_norm
from rankwise._sklearn import Interval, StrOptions
from rankwise.perceptrons._online import OnlineEstimator
from rankwise.perceptrons._rows import Rows, length
from rankwise.perceptrons._state import ROUNDS, UPDATES, VIOLATIONS, State, counts_of_nothing

Floats = NDArray[np.float64]


@register_jitable(forceinline=True)
def accumulate(scores, b, b_lag, rate):
    """Turn <w_k, x> into s(k), in place; return whether they are finite.

    The first rank has no vector: its score is zero, or NaN if x is not finite, and then so are all.
    """
    total = scores[0]
    for k in range(1, b.size):
        total += scores[k] + (b[k] - b_lag[k] * rate)
        scores[k] = total
    return np.isfinite(total)


@register_jitable(forceinline=True)
def best_rank(scores, n_classes):
    """Smallest maximiser."""
    best = 0
    for k in range(1, n_classes):
        best = k if scores[k] > scores[best] else best
    return best


@register_jitable(forceinline=True)
def distances(lo, hi, admissible, away):
    """Ranks from each rank to the nearest of the admissible ones, all of which lie between lo and hi."""
    for k in range(away.size):
        away[k] = max(0, lo - k, k - hi)
    nearest = lo
    for k in range(lo, hi + 1):
        nearest = k if admissible[k] else nearest
        away[k] = k - nearest
    nearest = hi
    for k in range(hi, lo - 1, -1):
        nearest = k if admissible[k] else nearest
        away[k] = min(away[k], nearest - k)


@register_jitable(forceinline=True)
def rival_and_target(scores, lo, hi, mask, i, away, jump, slope):
    """The winner when wrong ranks get ``jump + slope * distance`` extra; its distance; the best admissible rank.

    No branch depends on a label or a score: they cannot be predicted.
    """
    best, target, best_away = 0, 0, 0
    top, good = -np.inf, -np.inf
    if mask.size:
        distances(lo, hi, mask[i], away)
    for k in range(away.size):
        apart = away[k] if mask.size else max(0, max(lo - k, k - hi))
        score = scores[k] + (jump * (apart > 0) + slope * apart)
        wins = score > top
        best, best_away, top = (k, apart, score) if wins else (best, best_away, top)
        fits = (apart == 0) & (scores[k] > good)
        target, good = (k, scores[k]) if fits else (target, good)
    return best, best_away, target


def _make_pass():
    sources = SOURCES

    @kernel
    def learn(X, lower, upper, mask, weight, order, weights, counts, options, predictions):
        _ = sources
        W, W_lag, b, b_lag = weights
        passive, cap, softness, jump, slope, intercept, average = options
        n_classes = b.size
        scores, factors, away = np.zeros(W.shape[1]), np.zeros(W.shape[1]), np.zeros(n_classes, dtype=np.int64)
        # Passive-aggressive steps look at the plain prediction and put the margin into the size of the step.
        extra = (0.0, 0.0) if passive else (jump, slope)
        rounds = float(counts[ROUNDS])
        for r in range(n_rows(X)):
            i = order[r] if order.size else r
            lo, hi = np.int64(lower[i]), np.int64(upper[i])
            if predictions.size:
                rate = 1.0 / rounds if average and rounds else 0.0
                dots_lagged(X, i, W, W_lag, rate, scores)
                accumulate(scores, b, b_lag, rate)
                predictions[i] = best_rank(scores, n_classes)
            dots_lagged(X, i, W, W_lag, 0.0, scores)
            if not accumulate(scores, b, b_lag, 0.0):
                return i
            c = weight[i] if weight.size else 1.0
            if (c == 0.0) | ((lo == 0) & (hi == n_classes - 1) & (mask.size == 0)):
                continue
            best, best_away, target = rival_and_target(scores, lo, hi, mask, i, away, *extra)
            if best_away > 0:
                apart = target - best
                a = c if apart > 0 else -c
                if passive:
                    loss = (jump + slope * abs(apart)) - (scores[target] - scores[best])
                    square = abs(apart) * (squared_norm(X, i) + (1.0 if intercept else 0.0))
                    step = loss / (square + softness / c) if square > 0.0 else 0.0
                    a = np.copysign(min(cap * c, step), apart)
                first, last = min(best, target) + 1, max(best, target) + 1
                for k in range(first, last):
                    factors[k] = a
                    if intercept:
                        b[k] += a
                        b_lag[k] += a * rounds
                axpy_columns(X, i, factors, rounds, W, W_lag, first, last)
                for k in range(first, last):
                    factors[k] = 0.0
                counts[UPDATES] += 1
                counts[VIOLATIONS] += abs(apart)
            rounds += 1.0
            counts[ROUNDS] += 1
        return -1

    return learn


def _make_scores():
    sources = SOURCES

    @kernel
    def scores_of_rows(X, W, W_lag, b, b_lag, rate, out):
        _ = sources
        scores = np.zeros(W.shape[1])
        for i in range(n_rows(X)):
            dots_lagged(X, i, W, W_lag, rate, scores)
            if not accumulate(scores, b, b_lag, rate):
                return i
            out[i] = scores[: b.size]
        return -1

    return scores_of_rows


_LEARN = _make_pass()
_SCORES = _make_scores()


class CuSumRank(OnlineEstimator):
    """Cumulative-sum structured perceptron for ordered classes, from labels of every kind, online.

    Parameters
    ----------
    step : {"perceptron", "pa", "pa1", "pa2"}, default "perceptron"
        Update rule: perceptron, or passive-aggressive (hard, capped at C, quadratically softened by C).
    margin : {"none", "constant", "loss"}, default "loss"
        By how much the label must win: not at all, by ``delta``, or by ``delta`` for every rank of distance.
    delta : float, default 1.0
        Size of the margin.
    C : float, default 1.0
        Aggressiveness of "pa1" and "pa2"; an example's weight multiplies it. The other steps do not use it.
    fit_intercept : bool, default True
        Learn an intercept for every rank: the paper's constant attribute.
    n_epochs, shuffle, average, random_state, classes
        As in :class:`rankwise.PRIL`.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        Vector of every rank; the first is zero.
    intercept_ : ndarray of shape (K,)
        Intercept of every rank; the first is zero.
    classes_, n_updates_, n_iter_
        As in :class:`rankwise.PRIL`.
    n_violations_ : int
        Sum of the distances |y - yhat| over the updates: without a margin, the loss that the paper's bounds count.

    Notes
    -----
    The paper's Figure 1 is ``CuSumRank(margin="none", n_epochs=1, shuffle=False, average=False)``. In a stream without
    declared classes a new lowest class stands in for the lowest one before it until both have been learnt.

    Examples
    --------
    Ranks that do not lie along a line:

    >>> import numpy as np
    >>> from rankwise import CuSumRank
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> CuSumRank(n_epochs=50, random_state=0).fit(X, [1, 2, 2, 3]).predict(X)
    array([1, 2, 2, 3])
    """

    label_kinds = frozenset({"exact", "interval", "candidates"})
    feature_arrays = ("W", "W_lag")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineEstimator._parameter_constraints,
        "step": [StrOptions({"perceptron", "pa", "pa1", "pa2"})],
        "margin": [StrOptions({"none", "constant", "loss"})],
        "delta": [Interval(Real, 0, None, closed="neither")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        step: str = "perceptron",
        margin: str = "loss",
        delta: float = 1.0,
        C: float = 1.0,
        fit_intercept: bool = True,
        n_epochs: int = 10,
        shuffle: bool = True,
        average: bool = True,
        random_state: Any = None,
        classes: Any = None,
    ) -> None:
        self.step = step
        self.margin = margin
        self.delta = delta
        self.C = C
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.random_state = random_state
        self.classes = classes

    def _new_state(self, n_features: int, n_classes: int) -> State:
        return {
            "W": np.zeros((n_features, padded(n_classes))),
            "W_lag": np.zeros((n_features, padded(n_classes))),
            "b": np.zeros(n_classes),
            "b_lag": np.zeros(n_classes),
            "counts": counts_of_nothing(),
        }

    def _pass(self, state, rows, lower, upper, mask, weight, order, predictions):
        options = (
            self.step != "perceptron",
            float(self.C) if self.step == "pa1" else np.inf,
            0.5 / self.C if self.step == "pa2" else 0.0,
            float(self.delta) if self.margin == "constant" else 0.0,
            float(self.delta) if self.margin == "loss" else 0.0,
            self.fit_intercept,
            self.average,
        )
        weights = state["W"], state["W_lag"], state["b"], state["b_lag"]
        return _LEARN(rows, lower, upper, mask, weight, order, weights, state["counts"], options, predictions)

    def _insert_class(self, state: State, place: int) -> State:
        # A rank without a vector scores as the one below it, and the smaller of equals is predicted.
        n_classes = state["b"].size
        grown = {name: np.insert(state[name], place, 0.0) for name in ("b", "b_lag")}
        spare = ((0, 0), (0, padded(n_classes + 1) - n_classes - 1))
        for name in ("W", "W_lag"):
            grown[name] = np.pad(np.insert(state[name][:, :n_classes], place, 0.0, axis=1), spare)
        return {**state, **grown}

    @property
    def coef_(self) -> Floats:
        """Vector of every rank, shape (K, d); averaged over the rounds if ``average``."""
        return np.ascontiguousarray(self._averaged("W")[: self.n_features_in_, : len(self.classes_)].T)

    @property
    def intercept_(self) -> Floats:
        """Intercept of every rank, shape (K,); averaged over the rounds if ``average``."""
        return self._averaged("b")

    def decision_function(self, X: Any) -> Floats:
        """Score s(k) of every rank, (n, K); for two classes the difference of the scores, (n,)."""
        check_is_fitted(self)
        scores = self._scores(self._rows(X, reset=False))
        return scores[:, 1] if scores.shape[1] == 2 else scores

    def _codes(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(self._scores(rows).argmax(axis=1))

    def _scores(self, rows: Rows) -> Floats:
        state = self._state
        out = np.empty((length(rows), state["b"].size))
        bad = _SCORES(rows, state["W"], state["W_lag"], state["b"], state["b_lag"], self._averaging_rate, out)
        if bad >= 0:
            self._refuse_row(rows, bad)
        return out
