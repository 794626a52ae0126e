"""What a round of CuSum Rank does once the answers ``<w_k, x>`` are known, whatever gave them: vectors or a kernel.

The mathematics is in :mod:`rankwise.online.cusum`. A margin is a pair of numbers: a wrong rank at distance m from
the nearest admissible one is asked ``flat + slope * m``.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.compile import inlined, kernel, register_jitable
from rankwise._kernels.rows import dots_lagged, n_rows
from rankwise._sklearn import Interval, StrOptions
from rankwise.base.row_data import Rows
from rankwise.base.transaction import reader
from rankwise.online._online_estimator import OnlineEstimator

Floats = NDArray[np.float64]


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
    best = 0
    for k in range(1, n_classes):
        best = k if scores[k] > scores[best] else best
    return best


@inlined
def score_row(X, i, room):
    """Fill in the scores s(k) of row i, for a ``room`` that begins with W, W_lag, b, b_lag and room for scores."""
    W, W_lag, b, b_lag, scores = room[:5]
    dots_lagged(X, i, W, W_lag, 0.0, scores)
    return accumulate(scores, b, b_lag, 0.0)


@inlined
def predict_row(X, i, finite, rounds, room):
    """Rank by averaged weights, for a ``room`` as above with as much room behind it."""
    W, W_lag, b, b_lag, scores, averaged = room[:6]
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
    """Fill in the ranks from each rank to the nearest admissible one; all of those lie between lo and hi."""
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
    one number a rank. No branch depends on a label or a score: nobody could predict it. Passive-aggressive steps look
    at the plain prediction and put the margin into the size of the step.
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
        "delta": [Interval(Real, 0, None, closed="neither")],
        "C": [Interval(Real, 0, None, closed="neither")],
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
