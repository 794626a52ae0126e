"""What the linear threshold perceptrons share: weights w, ordered thresholds t, their lazy averages, and predictions.

Averages are lazy, see :mod:`rankwise.base.state`; whether predictions use them is decided when predicting.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.compile import inlined, kernel, register_jitable
from rankwise._kernels.rows import dot, dot_lagged, n_rows
from rankwise._types import Floats
from rankwise.base.row_data import Rows, length
from rankwise.base.state import LINEAR_THRESHOLDS, ROUNDS
from rankwise.base.threshold_model import ThresholdModel
from rankwise.decisions.thresholds import rank_lagged
from rankwise.online.learning_loop import NOT_FINITE, UNCHANGED, write_back
from rankwise.online.online_estimator import OnlineEstimator


@register_jitable
def with_sentinels(t):
    """Thresholds between -inf and +inf: every label then has one below and one above it, and every walk ends."""
    ends = np.empty(t.size + 2)
    ends[0] = -np.inf
    write_back(t, ends[1:-1])
    ends[-1] = np.inf
    return ends


@register_jitable
def move(ends, lag, k, amount, rounds):
    """Move threshold k, counted with the sentinel below it, and its lazy average."""
    ends[k] += amount
    lag[k - 1] += amount * rounds


@register_jitable
def restore_order(ends, lag, rounds):
    """Sort the thresholds after a weighted update: never further from any ordered vector, so the bounds still hold.

    ``ends`` has its sentinels, which stay where they are.
    """
    for k in range(2, ends.size - 1):
        j = k
        while ends[j] < ends[j - 1]:
            gap = ends[j - 1] - ends[j]
            move(ends, lag, j - 1, -gap, rounds)
            move(ends, lag, j, gap, rounds)
            j -= 1


@register_jitable(forceinline=True)
def move_violated(f, lo, hi, c, ends, sums, lag, rounds):
    """PRIL's step on the thresholds: move the violated ones by c; return c * (sum of tau) and how many there were.

    ``ends`` are the thresholds with their sentinels, which the score is compared with; ``sums``, with sentinels too, is
    what moves: for an additive algorithm the same array. They are in order, so the violated ones are those next to the
    label, and the walk is as long as the loss. Codes start at 0: z = +1 for ends up to lo, -1 from hi + 1 on.
    """
    a = 0.0
    violated = 0
    below = lo
    while f <= ends[below]:
        move(sums, lag, below, -c, rounds)
        a += c
        violated += 1
        below -= 1
    above = hi + 1
    while f >= ends[above]:
        move(sums, lag, above, c, rounds)
        a -= c
        violated += 1
        above += 1
    # The order can be lost only next to thresholds that stayed, and only with weights.
    if (sums[below] > sums[below + 1]) | (sums[above - 1] > sums[above]):
        restore_order(sums, lag, rounds)
    return a, violated


@inlined
def reason_to_stay(f, lo, hi, c, ends):
    """Result of a step that changes nothing: the constraints hold, the score is not finite or c is zero; else 0."""
    if f > ends[lo] and f < ends[hi + 1]:
        return UNCHANGED
    if not np.isfinite(f):
        return NOT_FINITE
    return UNCHANGED if c == 0.0 else 0


@inlined
def score_row(X, i, workspace):
    """Score ``<w, x_i>``, for a ``workspace`` that begins with w."""
    return dot(X, i, workspace[0])


@inlined
def predict_row(X, i, f, rounds, workspace):
    """Code by averaged weights and thresholds; ``workspace`` begins with w, its lag, ends, thresholds and their lag."""
    w, w_lag, _, t, t_lag = workspace[:5]
    if rounds == 0.0:
        return rank_lagged(f, t, t_lag, 0.0)
    rate = 1.0 / rounds
    return rank_lagged(dot_lagged(X, i, w, w_lag, rate), t, t_lag, rate)


@inlined
def both_right(X, i, f, lo, hi, rounds, workspace):
    """Whether the last and the averaged model put row i between lo and hi, for a ``workspace`` as above."""
    w, w_lag, ends, _, t_lag = workspace[:5]
    if t_lag.size == 0:  # one class
        return True
    rate = 1.0 / rounds
    mean = dot_lagged(X, i, w, w_lag, rate)
    # Two comparisons for each model instead of a walk along its thresholds. The ends of the scale are infinite.
    least = ends[lo] - t_lag[max(lo - 1, 0)] * rate
    limit = ends[hi + 1] - t_lag[min(hi, t_lag.size - 1)] * rate
    return (f >= ends[lo]) & (f < ends[hi + 1]) & (mean >= least) & (mean < limit)


@kernel
def scores_of_rows(X, w, lag, rate, out):
    """out[i] = <w - rate * lag, x_i>; returns the first row with a non-finite score, or -1."""
    for i in range(n_rows(X)):
        out[i] = dot_lagged(X, i, w, lag, rate)
        if not np.isfinite(out[i]):
            return i
    return -1


@kernel
def codes_of_rows(X, w, w_lag, t, t_lag, rate, out):
    """out[i] = code of row i; returns the first row with a non-finite score, or -1."""
    for i in range(n_rows(X)):
        score = dot_lagged(X, i, w, w_lag, rate)
        if not np.isfinite(score):
            return i
        out[i] = rank_lagged(score, t, t_lag, rate)
    return -1


@kernel
def code_of_row(X, w, w_lag, t, t_lag, counts, average):
    """Code of a single row; -1 if its score is not finite."""
    rate = 1.0 / counts[ROUNDS] if average and counts[ROUNDS] else 0.0
    score = dot_lagged(X, 0, w, w_lag, rate)
    return rank_lagged(score, t, t_lag, rate) if np.isfinite(score) else -1


class ThresholdEstimator(ThresholdModel, OnlineEstimator):
    """Base of the online estimators with one score and ordered thresholds."""

    @property
    def thresholds_(self) -> Floats:
        """Thresholds between neighbouring classes, ascending, shape (K-1,); averaged if ``average``."""
        averaged = self._averaged("t")
        return np.asarray(np.maximum.accumulate(averaged)) if averaged.size else averaged


class LinearScoreEstimator(ThresholdEstimator):
    """Threshold estimator whose score is linear."""

    @property
    def coef_(self) -> Floats:
        """Weights, shape (d,); averaged over the rounds if ``average``."""
        return self._averaged("w")[: self.n_features_in_]

    def _project(self, rows: Rows) -> Floats:
        w = self._state["w"]
        arguments = w, self._state.get("w_lag", w), self._averaging_rate
        return self._filled(np.empty(length(rows)), scores_of_rows, rows, *arguments)


class LinearThresholdEstimator(LinearScoreEstimator):
    """Threshold estimator whose score is linear, with additive updates."""

    arrays = LINEAR_THRESHOLDS

    def _codes(self, rows: Rows) -> NDArray[Any]:
        model = (self._state[name] for name in ("w", "w_lag", "t", "t_lag"))
        out = np.empty(length(rows), dtype=np.int32)
        return self._filled(out, codes_of_rows, rows, *model, self._averaging_rate)

    def _code(self, row: Rows) -> int:
        state = self._state
        code: int = code_of_row(
            row, state["w"], state["w_lag"], state["t"], state["t_lag"], state["counts"], self._averages
        )  # fmt: skip
        if code < 0:
            self._refuse_row(row, 0)
        return code
