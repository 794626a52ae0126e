"""Kernel CuSum Rank: a cumulative-sum structured perceptron with nonlinear answers.

CuSum Rank (:mod:`rankwise.online.cusum`) only ever adds multiples of examples to the vectors w_k of the ranks, so
with a kernel it keeps, for every support vector s and rank k, the multiple a_{s,k} (Milidiu and Rocha, "Cumulative Sum
Ranking", Figure 5: count the atoms of a structure, here the ranks up to k, and not the structures):

    <w_k, x> = sum_s a_{s,k} k(x_s, x),   s(k) = sum_{j <= k} (<w_j, x> + b_j),   yhat = the smallest maximiser of s

On a mistake, with c the weight of the example, its row of multiples and the intercepts move between label and
prediction, as does the paper's constant last attribute:

    a_{s,k} += c sign(y - yhat),   b_k += c sign(y - yhat)   for k = min(y, yhat) + 1 .. max(y, yhat)

Margins, passive-aggressive steps (|x|^2 is then ``k(x, x)``, and one more with an intercept) and imprecise labels are
those of CuSum Rank; with the linear kernel it is CuSum Rank. A prediction costs one kernel value and K - 1 products per
support vector.

Figure 5 as printed has one count per atom, which all examples would share, and subtracts the counts of the predicted
atoms, which its update has already made negative: here each multiple belongs to one example and is only added.

Kernels, support vectors and their budget: :mod:`rankwise.online._kernel_models`. The influence of a support
vector is ``|a_s| sqrt(k(x_s, x_s))`` with ``|a_s|`` the Euclidean length of its row of multiples: how far its removal
would move (w_1, ..., w_K).
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from rankwise._kernels.compile import inlined, register_jitable
from rankwise._types import Floats
from rankwise.base.row_data import Rows, length
from rankwise.base.state import GIVEN_ORDER, averaged
from rankwise.online._kernel_models import SLOTS, KernelEstimator
from rankwise.online._support_budget import admit, scratch
from rankwise.online.cusum import (
    CumulativeEstimator,
    predict_row,
    score_row,
    scores_of_ranks,
    signed_step,
    winner_and_target,
)
from rankwise.online.learning_loop import NOT_FINITE, UNCHANGED, make_pass


@register_jitable
def _prepare(model, mask, options, predicting):
    dual, dual_lag, b, b_lag, block, vectors = model
    _, intercept, rule, limits = options
    scores, averaged = np.zeros(dual.shape[1]), np.zeros(dual.shape[1])
    away = np.zeros(b.size, dtype=np.int64)
    slots = block, vectors, limits[0], scratch(dual.shape[0], dual.shape[1], limits)
    return b.size - 1, (dual, dual_lag, b, b_lag, scores, averaged, away, mask, slots, intercept, rule)


@inlined
def _step(values, i, finite, lo, hi, c, past, workspace):
    dual, dual_lag, b, b_lag, scores, _, away, mask, (block, vectors, budget, memory), intercept, rule = workspace
    if not finite:
        return NOT_FINITE
    if c == 0.0:
        return UNCHANGED
    winner, target = winner_and_target(scores, np.int64(lo), np.int64(hi), mask, i, away, rule)
    if winner == target:
        return UNCHANGED
    within, slots = block[1], block[2]
    rounds, updates, _ = past
    a = signed_step(scores, winner, target, within[i, i] + (1.0 if intercept else 0.0), c, rule)
    slot = slots[i]
    if a != 0.0:
        slot = admit(i, block, dual, dual_lag, rounds, vectors, budget, updates + 1, memory)
    if slot >= 0:
        for k in range(min(winner, target) + 1, max(winner, target) + 1):
            dual[slot, k] += a
            dual_lag[slot, k] += a * rounds
            if intercept:
                b[k] += a
                b_lag[k] += a * rounds
    return abs(target - winner)


_learn_block = make_pass(_prepare, score_row, predict_row, _step, in_place=False)


class KernelCuSumRank(KernelEstimator, CumulativeEstimator):
    """Cumulative-sum structured perceptron with a kernel, from labels of every kind, online, on a budget if wanted.

    Parameters
    ----------
    kernel, degree, coef0, gamma
        As in :class:`rankwise.KernelPRIL`.
    budget : int or None, default None
        Largest number of support vectors. When it is reached, the one with the smallest influence
        ``|a_s| sqrt(k(x_s, x_s))``, with ``|a_s|`` the Euclidean length of its coefficients, is evicted; of equals the
        oldest. May be changed at any time, as in :class:`rankwise.KernelPRIL`.
    n_neighbors : int, default 32
        Number of support vectors that take over the share of an evicted one, as in :class:`rankwise.KernelPRIL`.
    step, margin, delta, C, fit_intercept
        As in :class:`rankwise.CuSumRank`.
    n_epochs : int, default 5
        Passes over the rows in ``fit``.
    shuffle, average, random_state, classes
        As in :class:`rankwise.PRIL`.

    Attributes
    ----------
    support_vectors_ : ndarray or CSR matrix of shape (s, d)
        Examples with an update, sparse or dense as in :class:`rankwise.KernelPRIL`.
    dual_coef_ : ndarray of shape (s, K)
        Their coefficients for every rank; the first column is zero.
    intercept_, classes_, n_updates_, n_violations_, n_iter_
        As in :class:`rankwise.CuSumRank`.

    Examples
    --------
    The lowest rank on one diagonal, the highest on the other: no linear score separates them.

    >>> import numpy as np
    >>> from rankwise import KernelCuSumRank
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    >>> y = [{"low"}, {"low"}, {"low", "high"}, {"high"}, {"high"}]  # anything but medium, in the middle
    >>> model = KernelCuSumRank(gamma=2.0, classes=["low", "medium", "high"], random_state=0).fit(X, y)
    >>> model.predict(X[[0, 1, 3, 4]])
    array(['low', 'low', 'high', 'high'], dtype='<U6')
    >>> str(model.predict(X[[2]])[0]) in ("low", "high")
    True
    """

    arrays: ClassVar = {
        **SLOTS,
        "dual": averaged("slot", "padded class", lag="dual_lag"),
        "b": averaged("class", lag="b_lag"),
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **CumulativeEstimator._parameter_constraints,
    }

    def __init__(
        self, kernel: str | Callable[[Any, Any], Any] = "rbf", degree: int = 3, coef0: float = 1.0,
        gamma: float | None = None, budget: int | None = None, n_neighbors: int = 32, step: str = "perceptron",
        margin: str = "loss", delta: float = 1.0, C: float = 1.0, fit_intercept: bool = True, n_epochs: int = 5,
        shuffle: bool = True, average: bool | str = "auto", random_state: Any = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def _block_pass(self, state, block, labels, weight, limits, average, predictions):
        vectors = state["influence"], state["born"], state["size"]
        model = (*(state[name] for name in ("dual", "dual_lag", "b", "b_lag")), block, vectors)
        options = average, self.fit_intercept, self._step_options(), limits
        return _learn_block(block[0], labels, weight, GIVEN_ORDER, model, state["counts"], options, predictions)

    @property
    def dual_coef_(self) -> Floats:
        """Coefficients of the support vectors for every rank, (s, K); averaged over the rounds if ``average``."""
        return super().dual_coef_[:, : len(self.classes_)]

    def _scores(self, rows: Rows) -> Floats:
        dual, b = self._averaged("dual"), self.intercept_
        return self._filled(np.empty((length(rows), b.size)), scores_of_ranks, rows, dual, dual, b, b, 0.0)
