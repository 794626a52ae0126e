"""Kernel PRIL: the threshold perceptron with a nonlinear score.

PRIL (:mod:`rankwise.online.pril`) only ever adds multiples of examples to w, so with a kernel k its score is

    f(x) = sum_s a_s k(x_s, x),   a_s = c * (sum of the tau of round s)

over the rounds s with an update (Manwani, Algorithm 2); thresholds move as before. Kernels: linear ``<x, z>``,
polynomial ``(gamma <x, z> + coef0)^degree``, RBF ``exp(-gamma |x - z|^2)``, or a function of two matrices.

Support vectors, their budget and the blocks in which rows are taken: :mod:`rankwise.online._kernel_models`.
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
from rankwise.online._threshold_models import (
    ThresholdEstimator,
    move_violated,
    predict_row,
    reason_to_stay,
    score_row,
    scores_of_rows,
    with_sentinels,
)
from rankwise.online.learning_loop import make_pass, write_back


@register_jitable
def _prepare(model, mask, options, predicting):
    dual, dual_lag, t, t_lag, block, vectors = model
    ends = with_sentinels(t)
    memory = scratch(dual.size, 1, options[1])
    return t.size, (dual, dual_lag, ends, ends[1:-1], t_lag, block, vectors, options[1][0], memory)


@inlined
def _step(values, b, f, lo, hi, c, past, workspace):
    dual, dual_lag, ends, _, t_lag, block, vectors, budget, memory = workspace
    stays = reason_to_stay(f, lo, hi, c, ends)
    if stays < 0:
        return stays
    rounds, updates, _ = past
    a, violated = move_violated(f, lo, hi, c, ends, ends, t_lag, rounds)
    slot = block[2][b]
    if a != 0.0:
        of_slots = dual.reshape(-1, 1), dual_lag.reshape(-1, 1)
        slot = admit(b, block, *of_slots, rounds, vectors, budget, updates + 1, memory)
    if slot >= 0:
        dual[slot] += a
        dual_lag[slot] += a * rounds
    return violated


@register_jitable
def _finish(model, workspace):
    write_back(workspace[3], model[2])


_learn_block = make_pass(_prepare, score_row, predict_row, _step, _finish, in_place=False)


class KernelPRIL(KernelEstimator, ThresholdEstimator):
    """Threshold perceptron with a kernel, from exact, interval and missing labels, online, on a budget if wanted.

    Parameters
    ----------
    kernel : {"rbf", "polynomial", "poly", "linear"} or callable, default "rbf"
        A callable gets two matrices (n, d) and (m, d) and returns the (n, m) kernel values.
    degree : int, default 3
        Degree of the polynomial kernel.
    coef0 : float, default 1.0
        Constant of the polynomial kernel.
    gamma : float or None, default None
        Scale of the RBF and polynomial kernels. None: 1/d for RBF (d = number of features of the first rows seen),
        1 for polynomial.
    budget : int or None, default None
        Largest number of support vectors. When it is reached, the one with the smallest influence
        ``|a_s| sqrt(k(x_s, x_s))`` is evicted; of equals the oldest. May be changed at any time: after a smaller value,
        the surplus is evicted before the next rows are learnt; a larger value leaves room to grow.
    n_neighbors : int, default 32
        Number of support vectors that take over the share of an evicted one: it is projected on those nearest to it,
        which takes a table of ``4 budget^2`` bytes. 0 drops the share: faster, and for averaged predictions far worse.
    n_epochs : int, default 5
        Passes over the rows in ``fit``.
    shuffle, average, random_state, classes
        As in :class:`rankwise.PRIL`.

    Attributes
    ----------
    support_vectors_ : ndarray or CSR matrix of shape (s, d)
        Examples with an update.
    dual_coef_ : ndarray of shape (s,)
        Their coefficients.
    thresholds_ : ndarray of shape (K-1,)
        Thresholds between neighbouring classes, ascending.
    classes_, n_updates_, n_violations_, n_iter_
        As in :class:`rankwise.PRIL`.

    Notes
    -----
    A model that starts with sparse rows or dicts keeps its support vectors sparse, one that starts with dense rows
    dense; later rows may be either.

    Examples
    --------
    >>> import numpy as np
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_pril_synthetic(2000, random_state=0)
    >>> model = rw.KernelPRIL(kernel="polynomial", degree=2, random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > -0.4)
    True
    """

    arrays: ClassVar = {
        **SLOTS,
        "dual": averaged("slot", lag="dual_lag"),
        "t": averaged("threshold", lag="t_lag"),
    }

    def __init__(
        self, kernel: str | Callable[[Any, Any], Any] = "rbf", degree: int = 3, coef0: float = 1.0,
        gamma: float | None = None, budget: int | None = None, n_neighbors: int = 32, n_epochs: int = 5,
        shuffle: bool = True, average: bool | str = "auto", random_state: Any = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def _block_pass(self, state, block, labels, weight, limits, average, predictions):
        vectors = state["influence"], state["born"], state["size"]
        model = state["dual"], state["dual_lag"], state["t"], state["t_lag"], block, vectors
        options = average, limits
        return _learn_block(block[0], labels, weight, GIVEN_ORDER, model, state["counts"], options, predictions)

    def _project(self, rows: Rows) -> Floats:
        arguments = self._state["dual"], self._state["dual_lag"], self._averaging_rate
        return self._filled(np.zeros(length(rows)), scores_of_rows, rows, *arguments)
