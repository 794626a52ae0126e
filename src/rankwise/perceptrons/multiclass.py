"""The multi-class perceptron: one weight vector per class, no order among the classes.

The baseline that the ordinal algorithms are compared with (Crammer and Singer, "Ultraconservative online algorithms for
multiclass problems", 2001). Prediction: the first class with the largest ``<w_k, x>``. On a mistake, with c the weight
of the example, y the label and yhat the prediction:

    w_y    += c x
    w_yhat -= c x

When the label is a set of candidates (an interval is one), there is no update while yhat is among them, and otherwise y
is the best-scored candidate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise import metrics
from rankwise._kernels.compile import SOURCES, kernel
from rankwise._kernels.rows import all_finite, axpy_column, dots_lagged, n_rows
from rankwise.perceptrons._online import OnlineEstimator
from rankwise.perceptrons._rows import Rows, length
from rankwise.perceptrons._state import ROUNDS, UPDATES, VIOLATIONS, State, counts_of_nothing

Floats = NDArray[np.float64]


def _make_pass():
    sources = SOURCES

    @kernel
    def learn(X, lower, upper, mask, weight, order, W, W_lag, counts, average, predictions):
        _ = sources
        scores = np.empty(W.shape[1])
        rounds = float(counts[ROUNDS])
        for r in range(n_rows(X)):
            i = order[r] if order.size else r
            dots_lagged(X, i, W, W_lag, 0.0, scores)
            if not all_finite(scores):
                return i
            best = np.argmax(scores)
            # The best-scored class that the label admits.
            target = -1
            for k in range(lower[i], upper[i] + 1):
                if (mask.size == 0 or mask[i, k]) and (target < 0 or scores[k] > scores[target]):
                    target = k
            if predictions.size:
                predictions[i] = best
                if average and rounds:
                    dots_lagged(X, i, W, W_lag, 1.0 / rounds, scores)
                    predictions[i] = np.argmax(scores)
            c = weight[i] if weight.size else 1.0
            if c == 0.0 or (lower[i] == 0 and upper[i] == W.shape[1] - 1 and mask.size == 0):
                continue
            admissible = lower[i] <= best <= upper[i] and (mask.size == 0 or mask[i, best])
            if not admissible:
                axpy_column(X, i, c, W, target)
                axpy_column(X, i, -c, W, best)
                axpy_column(X, i, c * rounds, W_lag, target)
                axpy_column(X, i, -c * rounds, W_lag, best)
                counts[UPDATES] += 1
                counts[VIOLATIONS] += 1
            rounds += 1.0
            counts[ROUNDS] += 1
        return -1

    return learn


def _make_scores():
    sources = SOURCES

    @kernel
    def scores_of_rows(X, W, W_lag, rate, out):
        _ = sources
        for i in range(n_rows(X)):
            dots_lagged(X, i, W, W_lag, rate, out[i])
            if not all_finite(out[i]):
                return i
        return -1

    return scores_of_rows


_LEARN = _make_pass()
_SCORES = _make_scores()


class MulticlassPerceptron(OnlineEstimator):
    """Multi-class perceptron: a baseline that knows no order of the classes.

    Parameters
    ----------
    n_epochs, shuffle, average, random_state, classes
        As in :class:`rankwise.PRIL`.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        Weights of every class.
    classes_, n_updates_, n_iter_
        As in :class:`rankwise.PRIL`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import MulticlassPerceptron
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> MulticlassPerceptron(random_state=0).fit(X, [1, 2, 3]).predict(X)
    array([1, 2, 3])
    """

    label_kinds = frozenset({"exact", "interval", "candidates"})
    feature_arrays = ("W", "W_lag")

    def __init__(
        self,
        n_epochs: int = 10,
        shuffle: bool = True,
        average: bool = True,
        random_state: Any = None,
        classes: Any = None,
    ) -> None:
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.random_state = random_state
        self.classes = classes

    def _new_state(self, n_features: int, n_classes: int) -> State:
        shape = (n_features, n_classes)
        return {"W": np.zeros(shape), "W_lag": np.zeros(shape), "counts": counts_of_nothing()}

    def _pass(self, state, rows, lower, upper, mask, weight, order, predictions):
        return _LEARN(
            rows, lower, upper, mask, weight, order, state["W"], state["W_lag"], state["counts"], self.average,
            predictions,
        )  # fmt: skip

    def _insert_class(self, state: State, place: int) -> State:
        return {**state, **{name: np.insert(state[name], place, 0.0, axis=1) for name in ("W", "W_lag")}}

    @property
    def coef_(self) -> Floats:
        """Weights of every class, shape (K, d); averaged over the rounds if ``average``."""
        return np.ascontiguousarray(self._averaged("W")[: self.n_features_in_].T)

    def decision_function(self, X: Any) -> Floats:
        """Score of every class, (n, K); for two classes the difference of the scores, (n,)."""
        check_is_fitted(self)
        scores = self._scores(self._rows(X, reset=False))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the fraction of rows whose prediction the label admits."""
        return 1.0 - metrics.zero_one_loss(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    def _codes(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(self._scores(rows).argmax(axis=1))

    def _scores(self, rows: Rows) -> Floats:
        state = self._state
        out = np.empty((length(rows), state["W"].shape[1]))
        bad = _SCORES(rows, state["W"], state["W_lag"], self._averaging_rate, out)
        if bad >= 0:
            self._refuse_row(rows, bad)
        return out
