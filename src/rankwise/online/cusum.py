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

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.compile import inlined, register_jitable
from rankwise._kernels.rows import axpy_columns, squared_norm
from rankwise.base.row_data import Rows, length
from rankwise.base.state import COUNTS, averaged
from rankwise.online._cumulative_models import (
    CumulativeEstimator,
    predict_row,
    score_row,
    scores_of_ranks,
    signed_step,
    winner_and_target,
)
from rankwise.online._loop import NOT_FINITE, UNCHANGED, make_pass

Floats = NDArray[np.float64]


@register_jitable
def _prepare(model, mask, options, predicting):
    (W, W_lag), (b, b_lag) = model
    _, intercept, rule = options
    scores, averaged, factors = np.zeros(W.shape[1]), np.zeros(W.shape[1]), np.zeros(W.shape[1])
    away = np.zeros(b.size, dtype=np.int64)
    return b.size - 1, (W, W_lag, b, b_lag, scores, averaged, factors, away, mask, intercept, rule)


@inlined
def _step(X, i, finite, lo, hi, c, past, room):
    W, W_lag, b, b_lag, scores, _, factors, away, mask, intercept, rule = room
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
        self._set_parameters(locals())

    def _pass(self, state, rows, labels, weight, order, predictions):
        model = (state["W"], state["W_lag"]), (state["b"], state["b_lag"])
        options = self._averaging(state, order), self.fit_intercept, self._step_options()
        return _learn(rows, labels, weight, order, model, state["counts"], options, predictions)

    @property
    def coef_(self) -> Floats:
        """Vector of every rank, shape (K, d); averaged over the rounds if ``average``."""
        return np.ascontiguousarray(self._averaged("W")[: self.n_features_in_, : len(self.classes_)].T)

    def _scores(self, rows: Rows) -> Floats:
        state = self._state
        out = np.empty((length(rows), state["b"].size))
        bad = scores_of_ranks(rows, state["W"], state["W_lag"], state["b"], state["b_lag"], self._averaging_rate, out)
        if bad >= 0:
            self._refuse_row(rows, bad)
        return out
