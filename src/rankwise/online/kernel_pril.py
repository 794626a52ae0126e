"""Kernel PRIL: the threshold perceptron with a score that need not be linear.

PRIL (:mod:`rankwise.online.pril`) only ever adds multiples of examples to w, so with a kernel k its score is

    f(x) = sum_s a_s k(x_s, x),   a_s = c * (sum of the tau of round s)

over the rounds s with an update (Manwani, Algorithm 2); thresholds move as before. Kernels: linear ``<x, z>``,
polynomial ``(gamma <x, z> + coef0)^degree``, RBF ``exp(-gamma |x - z|^2)``, or a function of two matrices.

Support vectors, their budget and the blocks in which rows are taken: :mod:`rankwise.online._kernel_models`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.compile import kernel
from rankwise._kernels.rows import dot, dot_lagged
from rankwise.base.rows import Rows, length
from rankwise.base.state import ROUNDS, UPDATES, VIOLATIONS, averaged
from rankwise.decisions.thresholds import rank_lagged
from rankwise.online._kernel_models import SLOTS, KernelEstimator, admit
from rankwise.online._threshold_models import ThresholdEstimator, move_violated, scores_of_rows, with_sentinels

Floats = NDArray[np.float64]


@kernel
def _learn_block(block, labels, vectors, thresholds, counts, budget, average, predictions):
    """Run the rounds of a block."""
    values, _within, slots, _taken = block
    lower, upper, _mask, weight = labels
    dual, dual_lag, influence, born, size = vectors
    final_t, t_lag = thresholds
    ends = with_sentinels(final_t)
    t = ends[1:-1]
    for b in range(slots.size):
        rounds = float(counts[ROUNDS])
        f = dot(values, b, dual)
        if not np.isfinite(f):
            return b
        if predictions.size:
            rate = 1.0 / rounds if average and rounds else 0.0
            score = dot_lagged(values, b, dual, dual_lag, rate) if rate else f
            predictions[b] = rank_lagged(score, t, t_lag, rate)
        c = weight[b] if weight.size else 1.0
        lo, hi = lower[b], upper[b]
        if c == 0.0 or (lo == 0 and hi == t.size):
            continue
        if f <= ends[lo] or f >= ends[hi + 1]:
            a, violated = move_violated(f, lo, hi, c, ends, ends, t_lag, rounds)
            counts[UPDATES] += 1
            counts[VIOLATIONS] += violated
            slot = slots[b]
            if slot < 0 and a != 0.0:
                slot = admit(b, block, dual, influence, born, size, budget, counts[UPDATES])
                dual[slot] = 0.0
                dual_lag[slot] = 0.0
            if slot >= 0:
                dual[slot] += a
                dual_lag[slot] += a * rounds
        counts[ROUNDS] += 1
    final_t[:] = t
    return -1


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
        ``|a_s| sqrt(k(x_s, x_s))`` makes room, of equals the oldest.
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
    >>> from rankwise import KernelPRIL
    >>> from rankwise.datasets import make_pril_synthetic
    >>> X, y = make_pril_synthetic(2000, random_state=0)
    >>> model = KernelPRIL(kernel="polynomial", degree=2, random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > -0.4)
    True
    """

    arrays: ClassVar = {
        **SLOTS,
        "dual": averaged("slot", lag="dual_lag"),
        "t": averaged("threshold", lag="t_lag"),
    }

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        gamma: float | None = None,
        budget: int | None = None,
        n_epochs: int = 5,
        shuffle: bool = True,
        average: bool = True,
        random_state: Any = None,
        classes: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.budget = budget
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.random_state = random_state
        self.classes = classes

    def _block_pass(self, state, block, labels, budget, predictions):
        vectors = tuple(state[name] for name in ("dual", "dual_lag", "influence", "born", "size"))
        thresholds = state["t"], state["t_lag"]
        return _learn_block(block, labels, vectors, thresholds, state["counts"], budget, self.average, predictions)

    def _project(self, rows: Rows) -> Floats:
        state = self._state
        out = np.zeros(length(rows))
        for start, values in self._kernel_blocks(rows):
            bad = scores_of_rows(values, state["dual"], state["dual_lag"], self._averaging_rate, out[start:])
            if bad >= 0:
                self._refuse_row(rows, start + bad)
        return out
