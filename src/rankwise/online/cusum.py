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

What a round does once the answers ``<w_k, x>`` are known also serves :mod:`rankwise.online.kernel_cusum`. A margin is a
pair of numbers: a wrong rank at distance m from the nearest admissible one gets the margin ``flat + slope * m``.
"""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.compile import inlined, kernel, register_jitable
from rankwise._kernels.rows import axpy_columns, dots_lagged, n_rows, squared_norm
from rankwise._sklearn import POSITIVE, StrOptions
from rankwise._types import Floats
from rankwise.base.row_data import Rows, length
from rankwise.base.state import COUNTS, averaged
from rankwise.base.transaction import reader
from rankwise.online.learning_loop import NOT_FINITE, UNCHANGED, make_pass
from rankwise.online.online_estimator import OnlineEstimator


class StepOptions(NamedTuple):
    """How a round learns: the kind of step, its limits, and the margin that it asks for."""

    passive: bool  #: passive-aggressive instead of perceptron steps
    cap: float  #: largest step of a row of weight 1
    softness: float  #: 1 / (2C) for "pa2", else zero
    flat: float
    slope: float


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
    best, top = 0, scores[0]  # with scores[best] every comparison would wait for a look-up
    for k in range(1, n_classes):
        best, top = (k, scores[k]) if scores[k] > top else (best, top)
    return best


@inlined
def score_row(X, i, workspace):
    """Fill in the scores s(k) of row i; ``workspace`` begins with W, W_lag, b, b_lag and an array of scores."""
    W, W_lag, b, b_lag, scores = workspace[:5]
    dots_lagged(X, i, W, W_lag, 0.0, scores)
    return accumulate(scores, b, b_lag, 0.0)


@inlined
def predict_row(X, i, finite, rounds, workspace):
    """Rank by averaged weights, for a ``workspace`` as above with a second array of scores."""
    W, W_lag, b, b_lag, scores, averaged = workspace[:6]
    if rounds == 0.0:
        return best_rank(scores, b.size)
    dots_lagged(X, i, W, W_lag, 1.0 / rounds, averaged)
    accumulate(averaged, b, b_lag, 1.0 / rounds)
    return best_rank(averaged, b.size)


@kernel
def scores_of_ranks(X, W, W_lag, b, b_lag, rate, out):
    """out[i, k] = s(k) of row i; returns the first row with a score that is not finite, or -1."""
    scores = np.zeros(W.shape[1])
    for i in range(n_rows(X)):
        dots_lagged(X, i, W, W_lag, rate, scores)
        if not accumulate(scores, b, b_lag, rate):
            return i
        out[i] = scores[: b.size]
    return -1


@register_jitable
def distances(lo, hi, mask, i, away):
    """Fill in the distance of each rank to the nearest admissible one, all of which lie between lo and hi."""
    for k in range(away.size):
        away[k] = max(lo - k, k - hi)
    nearest = lo
    for k in range(lo, hi + 1):
        nearest = k if mask[i, k] else nearest
        away[k] = k - nearest
    nearest = hi
    for k in range(hi, lo - 1, -1):
        nearest = k if mask[i, k] else nearest
        away[k] = min(away[k], nearest - k)


@register_jitable(forceinline=True)
def winner_and_target(scores, lo, hi, mask, i, away, options):
    """The rank that wins when wrong ranks get the margin on top of their score, and the best-scored admissible rank.

    They are the same if and only if the winner is admissible; of equals the smallest rank wins. ``away`` is memory for
    one number per rank. No branch depends on a label or a score, as processors cannot predict it. Passive-aggressive
    steps use the plain prediction and put the margin into the size of the step.
    """
    flat, slope = (0.0, 0.0) if options.passive else (options.flat, options.slope)
    if mask.size:
        distances(lo, hi, mask, i, away)
    winner, target = 0, 0
    top, good = -np.inf, -np.inf
    for k in range(away.size):
        apart = away[k] if mask.size else max(0, max(lo - k, k - hi))
        score = scores[k] + (flat * (apart > 0) + slope * apart)
        wins = score > top
        winner, top = (k, score) if wins else (winner, top)
        fits = (apart == 0) & (scores[k] > good)
        target, good = (k, scores[k]) if fits else (target, good)
    return winner, target


@register_jitable
def signed_step(scores, winner, target, square, c, options):
    """Multiple of x that the vectors between a wrong winner and the target get; ``square`` is |x|^2."""
    apart = target - winner
    step = c
    if options.passive:
        loss = options.flat + options.slope * abs(apart) - (scores[target] - scores[winner])
        hardness = abs(apart) * square
        step = min(options.cap * c, loss / (hardness + options.softness / c)) if hardness > 0.0 else 0.0
    return step if apart > 0 else -step


class CumulativeEstimator(OnlineEstimator):
    """Base of the estimators whose score of a rank is a cumulative sum."""

    label_kinds = frozenset({"exact", "interval", "candidates"})

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineEstimator._parameter_constraints,
        "step": [StrOptions({"perceptron", "pa", "pa1", "pa2"})],
        "margin": [StrOptions({"none", "constant", "loss"})],
        "delta": [POSITIVE],
        "C": [POSITIVE],
        "fit_intercept": ["boolean"],
    }

    step: str
    margin: str
    delta: float
    C: float
    fit_intercept: bool

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.step != "perceptron" and self.margin == "none":
            raise ValueError(
                f"step={self.step!r} needs a margin: with margin='none' no step would ever leave zero. "
                f"Use margin='loss' or 'constant', or step='perceptron'."
            )

    def _step_options(self) -> StepOptions:
        return StepOptions(
            passive=self.step != "perceptron",
            cap=float(self.C) if self.step == "pa1" else np.inf,
            softness=0.5 / self.C if self.step == "pa2" else 0.0,
            flat=float(self.delta) if self.margin == "constant" else 0.0,
            slope=float(self.delta) if self.margin == "loss" else 0.0,
        )

    @property
    def intercept_(self) -> Floats:
        """Intercept of every rank, shape (K,); averaged over the rounds if ``average``."""
        return self._averaged("b")

    @reader
    def decision_function(self, X: Any) -> Floats:
        """Score s(k) of every rank, (n, K); for two classes the difference of the scores, (n,)."""
        scores = self._scores(self._rows(X, reset=False))
        return scores[:, 1] if scores.shape[1] == 2 else scores

    def _codes(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(self._scores(rows).argmax(axis=1))

    @abstractmethod
    def _scores(self, rows: Rows) -> Floats:
        """Scores s(k) of all rows, (n, K)."""


@register_jitable
def _prepare(model, mask, options, predicting):
    (W, W_lag), (b, b_lag) = model
    _, intercept, rule = options
    scores, averaged, factors = np.zeros(W.shape[1]), np.zeros(W.shape[1]), np.zeros(W.shape[1])
    away = np.zeros(b.size, dtype=np.int64)
    return b.size - 1, (W, W_lag, b, b_lag, scores, averaged, factors, away, mask, intercept, rule)


@inlined
def _step(X, i, finite, lo, hi, c, past, workspace):
    W, W_lag, b, b_lag, scores, _, factors, away, mask, intercept, rule = workspace
    if not finite:
        return NOT_FINITE
    if c == 0.0:
        return UNCHANGED
    winner, target = winner_and_target(scores, np.int64(lo), np.int64(hi), mask, i, away, rule)
    if winner == target:
        return UNCHANGED
    square = squared_norm(X, i) + (1.0 if intercept else 0.0) if rule.passive else 0.0
    a, rounds = signed_step(scores, winner, target, square, c, rule), past[0]
    first, last = min(winner, target) + 1, max(winner, target) + 1
    for k in range(first, last):
        factors[k] = a
        if intercept:
            b[k] += a
            b_lag[k] += a * rounds
    axpy_columns(X, i, factors, rounds, W, W_lag, first, last)
    for k in range(first, last):
        factors[k] = 0.0
    return last - first


_learn = make_pass(_prepare, score_row, predict_row, _step)


class CuSumRank(CumulativeEstimator):
    """Cumulative-sum structured perceptron for ordered classes, from labels of every kind, online.

    Parameters
    ----------
    step : {"perceptron", "pa", "pa1", "pa2"}, default "perceptron"
        Update rule: perceptron, or passive-aggressive (hard, capped at C, quadratically softened by C).
    margin : {"none", "constant", "loss"}, default "loss"
        By how much the label must win: not at all, by ``delta``, or by ``delta`` for every rank of distance.
        Passive-aggressive steps need one: without, they would never leave zero.
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

    arrays: ClassVar = {
        "W": averaged("feature", "padded class", lag="W_lag"),
        "b": averaged("class", lag="b_lag"),
        "counts": COUNTS,
    }

    def __init__(
        self, step: str = "perceptron", margin: str = "loss", delta: float = 1.0, C: float = 1.0,
        fit_intercept: bool = True, n_epochs: int = 10, shuffle: bool = True, average: bool | str = "auto",
        random_state: Any = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def _compiled(self, state, average, plain):
        model = (state["W"], state["W_lag"]), (state["b"], state["b_lag"])
        options = average, self.fit_intercept, self._step_options()
        return _learn, model, options

    @property
    def coef_(self) -> Floats:
        """Vector of every rank, shape (K, d); averaged over the rounds if ``average``."""
        return np.ascontiguousarray(self._averaged("W")[: self.n_features_in_, : len(self.classes_)].T)

    def _scores(self, rows: Rows) -> Floats:
        W, W_lag, b, b_lag = (self._state[name] for name in ("W", "W_lag", "b", "b_lag"))
        out = np.empty((length(rows), b.size))
        return self._filled(out, scores_of_ranks, rows, W, W_lag, b, b_lag, self._averaging_rate)
