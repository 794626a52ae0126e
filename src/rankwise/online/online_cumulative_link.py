"""Cumulative links from a stream: class probabilities by recursive maximum likelihood, without a rate to tune.

The model is that of :mod:`rankwise.batch.cumulative_link`: ``P(y <= k | x) = F(t_k - <w, x>)``, and a label [lo, hi]
has the loss ``-log(F(t_hi - f) - F(t_{lo-1} - f))``. The parameters have a normal distribution, which
:mod:`rankwise.online._link_filter` updates row by row; its docstring has the mathematics.

Up to ``MAX_FULL`` features the covariance is a full matrix; beyond that there is a variance for each weight, and one
matrix for the thresholds.
"""

from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import refuse_many_classes
from rankwise._sklearn import Interval, StrOptions
from rankwise._types import Floats
from rankwise.base.probabilities import DECISIONS
from rankwise.base.row_data import length
from rankwise.base.state import COUNTS, GIVEN_ORDER, NO_PREDICTIONS, State, StateArray, StateLayout
from rankwise.base.threshold_model import LinkModel
from rankwise.labels import ClassOrder
from rankwise.online._link_filter import LEARN_ALONE, LEARN_FULL
from rankwise.online._threshold_models import LinearScoreEstimator, scores_of_rows
from rankwise.online.online_estimator import OnlineEstimator
from rankwise.risks.links import LINKS, quantile

#: Most features with a full covariance.
MAX_FULL = 256
_MOST_CLASSES = 4_000  # a row takes time and memory for every pair of them
_VARIANCE_OF_LEVEL, _VARIANCE_OF_LOG_GAP = 10.0, 1.0  # of the thresholds, before any row
_NEW_GAP = 0.05  # width of a class that joins between two others

_COMMON = {
    "t": StateArray(("threshold",)),
    "tt": StateArray(("threshold", "threshold")),
    "prior": StateArray(("feature",), mixes="largest"),  # so that no variance is above it
    "seen": StateArray(("feature",), mixes="adds"),
    "square": StateArray(("feature",), mixes="adds"),
    "first": StateArray(("feature",), mixes="largest"),
    "counts": COUNTS,
}
_FULL_ARRAYS = {
    **_COMMON,
    "w": StateArray(("feature",), local=False),
    "ww": StateArray(("feature", "feature"), local=False),
    "tw": StateArray(("threshold", "feature")),
}
_LAYOUT_OF_FULL = StateLayout(_FULL_ARRAYS)
_LAYOUT_ALONE = StateLayout({**_COMMON, "w": StateArray(("feature",)), "variance": StateArray(("feature",))})


def _layout_for(n_features: int) -> StateLayout:
    return _LAYOUT_OF_FULL if n_features <= MAX_FULL else _LAYOUT_ALONE


class OnlineCumulativeLink(LinkModel, LinearScoreEstimator):
    """Class probabilities on an ordered scale from a stream of exact, interval and missing labels, without a rate.

    Parameters
    ----------
    link, decision
        As in :class:`rankwise.CumulativeLink`; the decision may be changed at any time.
    alpha : float, default 1.0
        Precision of the normal prior of each weight, in units of the mean square of its column. It counts once, not for
        every row: its influence fades as rows come.
    n_epochs : int, default 2
        Passes over the rows in ``fit``.
    shuffle, random_state, classes
        As in :class:`rankwise.PRIL`.

    Attributes
    ----------
    coef_, thresholds_, classes_
        As in :class:`rankwise.PRIL`.
    n_updates_, n_violations_ : int
        Rounds with information, and thresholds on the wrong side of the median before learning.
    n_iter_ : int
        Epochs of the last ``fit``.

    Notes
    -----
    The scale of a column does not matter; centre columns that are far from zero. Up to 256 features the model keeps
    their full covariance, which takes the square of their number for every row; a model with more keeps a variance for
    each. A class that no label names keeps a small probability.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import OnlineCumulativeLink
    >>> X = np.linspace(-1, 1, 60).reshape(-1, 1)
    >>> y = np.digitize(X[:, 0] + np.tile([0.4, -0.4, 0.0], 20), [-0.4, 0.4])
    >>> model = OnlineCumulativeLink(classes=[0, 1, 2], random_state=0).fit(X, y)
    >>> model.predict_proba([[-0.8], [0.0]]).round(1)
    array([[0.8, 0.2, 0. ],
           [0.2, 0.7, 0.2]])
    >>> model.learn_one({0: 0.9}, (1, 2))  # an interval
    >>> sorted(model.predict_proba_one({0: 0.9}))
    [0, 1, 2]
    """

    arrays = _FULL_ARRAYS
    average = False  # the mean of the posterior is one already

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: rule for name, rule in OnlineEstimator._parameter_constraints.items() if name != "average"},
        "link": [StrOptions(set(LINKS))],
        "alpha": [Interval(Real, 1e-10, None, closed="left")],
        "decision": [StrOptions(set(DECISIONS)), "array-like"],
    }

    def __init__(
        self, link: str = "logit", alpha: float = 1.0, decision: Any = "median", n_epochs: int = 2,
        shuffle: bool = True, random_state: Any = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    # -- the state -------------------------------------------------------------------------------------------------

    @property
    def _layout(self) -> StateLayout:
        return _layout_for(self.__dict__.get("n_features_in_", 0))

    def _begin(self, n_features: int, order: ClassOrder, *, growing: bool = False) -> None:
        super()._begin(n_features, order, growing=growing)
        t, tt = self._state["t"], self._state["tt"]
        t[:] = quantile(self.link, np.arange(1, len(order)) / len(order))
        np.fill_diagonal(tt, _VARIANCE_OF_LOG_GAP)
        tt[:1, :1] = _VARIANCE_OF_LEVEL

    def _set_order(self, order: ClassOrder) -> None:
        refuse_many_classes(type(self).__name__, len(order), _MOST_CLASSES, "PRIL")
        self._check_decision(len(order))
        super()._set_order(order)

    def _with_features(self, state: State, n_features: int) -> State:
        if self.n_features_in_ <= MAX_FULL < n_features:
            state = {**state, "variance": np.diagonal(state["ww"]).copy()}
            state = {name: array for name, array in state.items() if name not in ("ww", "tw")}
        return _layout_for(n_features).with_room(state, "feature", n_features)

    def _with_classes(self, state: State, order: ClassOrder) -> State:
        state = dict(state)
        known = set(self._order.index)
        for place, label in enumerate(order.values.tolist()):
            if label not in known:
                _insert_class(state, place)
        return state

    def _check_state(self, state: Mapping[str, NDArray[Any]], n_features: int, n_classes: int) -> None:
        _layout_for(n_features).check(state, n_features, n_classes)
        if (state["t"][1:] < state["t"][:-1]).any():
            raise ValueError("the thresholds must not descend")

    # -- learning --------------------------------------------------------------------------------------------------

    def _compiled(self, state, average, plain):
        options = average, self.n_features_in_, float(self.alpha), LINKS[self.link], self._median_shift
        columns = tuple(state[name] for name in ("prior", "seen", "square", "first"))
        if "ww" in state:
            model = columns, tuple(state[name].reshape(-1) for name in ("w", "t", "tt", "ww", "tw"))
            return LEARN_FULL, model, options
        model = (state["w"], state["variance"], *columns), (state["t"], state["tt"].reshape(-1))
        return LEARN_ALONE, model, options

    def _pass(self, state, rows, labels, weight, order, predictions):
        if not predictions.size or self._by_median:
            return super()._pass(state, rows, labels, weight, order, predictions)
        # Probabilities decide, so every row is predicted and learnt by itself.
        lower, upper, mask = labels
        for i in range(length(rows)):
            only = slice(i, i + 1)
            row = (*rows[:2], rows[2][i : i + 2]) if isinstance(rows, tuple) else rows[only]
            if scores_of_rows(row, state["w"], state["w"], 0.0, np.empty(1)) >= 0:
                return i
            predictions[i] = self._codes(row)[0]
            label = lower[only], upper[only], mask
            if self._pass(state, row, label, weight[only], GIVEN_ORDER, NO_PREDICTIONS) >= 0:
                return i
        return -1

    # -- using -----------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:
        """Probability of every class for one example, a dict of features; empty while no class is known.

        Parameters
        ----------
        x : dict
            Feature name -> number. Names that are absent or unknown count as zero.
        """
        if not self.__sklearn_is_fitted__():
            return {}
        return self._undisturbed(OnlineCumulativeLink._probability_of_each, x)

    def _probability_of_each(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:
        probabilities = self._probabilities(self._features.row(x, learning=False)[0])[0]
        return dict(zip(self._plain_classes, probabilities.tolist(), strict=True))


def _insert_class(state: State, place: int) -> None:
    """Give a new class a small interval where the labels so far have a threshold, or one beyond the last."""
    t, tt = state["t"], state["tt"]
    n = t.size
    if n == 0:
        state["t"], state["tt"] = np.zeros(1), np.full((1, 1), _VARIANCE_OF_LEVEL)
        if "tw" in state:
            state["tw"] = np.zeros((1, state["w"].size))
        return
    # The threshold at the new class's place becomes two. In thresholds both move alike; then back to parameters.
    one = min(max(place - 1, 0), n - 1)
    to_thresholds = _derivatives(t)
    wider, moves = np.insert(t, one, t[one]), np.insert(to_thresholds, one, to_thresholds[one], axis=0)
    if place == 0:
        wider[0] -= 1.0
    else:
        wider[one + 1 :] += 1.0 if place > n else _NEW_GAP
    back = np.linalg.solve(_derivatives(wider), moves)
    state["t"], state["tt"] = wider, back @ tt @ back.T
    state["tt"][one + 1, one + 1] += _VARIANCE_OF_LOG_GAP
    if "tw" in state:
        state["tw"] = back @ state["tw"]


def _derivatives(t: Floats) -> Floats:
    """Derivatives of the thresholds by their parameters, the lowest one and the logarithms of the gaps."""
    return np.tril(np.broadcast_to(np.append(1.0, np.diff(t)), (t.size, t.size)))
