"""Widrow-Hoff: least mean squares on the rank as a number, rounded.

The baseline that treats ordered classes as numbers (Widrow and Hoff, 1960). The label is its rank 1..K, the prediction
``f = <w, x> + b`` rounded into 1..K, and every round moves against the squared error:

    error = clip(f, lo, hi) - f        (y - f for an exact label; nothing inside an interval)
    w += c rate error x,   b += c rate error

Plain least mean squares diverges when ``rate (|x|^2 + 1) > 2``; the normalised form divides the rate by ``|x|^2 + 1``
and is stable for any data while ``c rate < 2``, so it is the default, and c rate is never taken above 1 there. Without
an intercept there is no b, and no 1 in the norm.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise._kernels.compile import inlined, register_jitable
from rankwise._kernels.rows import axpy_lagged, dot, dot_lagged, squared_norm
from rankwise._sklearn import POSITIVE
from rankwise._types import Floats
from rankwise.base.row_data import Rows
from rankwise.base.state import COUNTS, StateArray, averaged
from rankwise.decisions.thresholds import rank
from rankwise.online._threshold_models import LinearScoreEstimator
from rankwise.online.learning_loop import NOT_FINITE, UNCHANGED, make_pass
from rankwise.online.online_estimator import OnlineEstimator


@register_jitable
def _prepare(model, mask, options, predicting):
    (w, w_lag), (b,), halves = model
    _, rate, normalized, intercept = options
    return halves.size, (w, w_lag, b, halves, rate, normalized, intercept)


@inlined
def _score(X, i, workspace):
    w, _, b = workspace[:3]
    return dot(X, i, w) + b[0]


@inlined
def _predict(X, i, f, rounds, workspace):
    w, w_lag, b, halves = workspace[:4]
    rate = 1.0 / rounds if rounds else 0.0
    return rank(dot_lagged(X, i, w, w_lag, rate) + (b[0] - b[1] * rate), halves)


@inlined
def _step(X, i, f, lo, hi, c, past, workspace):
    w, w_lag, b, _, rate, normalized, intercept = workspace
    if not np.isfinite(f):
        return NOT_FINITE
    error = min(max(f, lo + 1.0), hi + 1.0) - f
    if c == 0.0 or error == 0.0:
        return UNCHANGED
    step = c * rate
    if normalized:
        square = squared_norm(X, i) + (1.0 if intercept else 0.0)
        step = min(1.0, step) / square if square > 0.0 else 0.0
    change, rounds = step * error, past[0]
    axpy_lagged(X, i, change, rounds, w, w_lag)
    if intercept:
        b[0] += change
        b[1] += change * rounds
    return int(abs(error) >= 0.5)


_learn = make_pass(_prepare, _score, _predict, _step)


class WidrowHoff(LinearScoreEstimator):
    """Least mean squares on the rank as a number, predictions rounded: a baseline.

    Parameters
    ----------
    learning_rate : float, default 0.1
        Step size; an example's weight multiplies it.
    normalized : bool, default True
        Divide each step by ``|x|^2 + 1``, which keeps it stable for any scale of the features. False: the papers' form.
    fit_intercept : bool, default True
        Learn an intercept.
    n_epochs, shuffle, average, random_state, classes
        As in :class:`rankwise.PRIL`.

    Attributes
    ----------
    coef_, intercept_
        As in :class:`rankwise.RoundedRegression`.
    classes_, n_updates_, n_iter_
        As in :class:`rankwise.PRIL`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import WidrowHoff
    >>> X = np.linspace(-1, 1, 50).reshape(-1, 1)
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> WidrowHoff(n_epochs=50, random_state=0).fit(X, y).predict([[-0.9], [0.0], [0.9]])
    array([1, 3, 5])
    """

    arrays: ClassVar = {
        "w": averaged("feature", lag="w_lag"),
        "b": StateArray((2,), mixes="follows"),  # intercept and its lag
        "counts": COUNTS,
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineEstimator._parameter_constraints,
        "learning_rate": [POSITIVE],
        "normalized": ["boolean"],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self, learning_rate: float = 0.1, normalized: bool = True, fit_intercept: bool = True, n_epochs: int = 10,
        shuffle: bool = True, average: bool | str = "auto", random_state: Any = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def _compiled(self, state, average, plain):
        model = (state["w"], state["w_lag"]), (state["b"],), self.thresholds_
        options = average, float(self.learning_rate), self.normalized, self.fit_intercept
        return _learn, model, options

    @property
    def intercept_(self) -> float:
        """Intercept; averaged over the rounds if ``average``."""
        check_is_fitted(self)
        value, lag = self._state["b"]
        return float(value - lag * self._averaging_rate)

    def _project(self, rows: Rows) -> Floats:
        return np.asarray(super()._project(rows) + self.intercept_)

    @property
    def thresholds_(self) -> Floats:
        """Where rounding changes, between the ranks, shape (K-1,): 1.5, 2.5, ..."""
        return np.arange(1.5, len(self._order))
