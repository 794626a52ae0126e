"""The label ranker: dual ascent by three updates for two complexity functions.

The competitor of the online learner minimises ``P(omega) = sum_y F(omega_y) + C sum_t loss_t(omega)`` with the hinge
loss of the most violating pair, ``max(0, margin - (rho_r - rho_s))``. The learner holds a feasible point of the dual,

    D = margin * sum(tau) - sum_y G(theta_y),     omega_y = grad G(theta_y),

and after every example changes only the dual variables tau of that example, so that D grows. By weak duality D never
exceeds P, and a mistake adds at least ``margin C - C^2 / 2`` to D if <x, H x> <= 1/2 for the Hessian H of G: that
bounds the number of mistakes (:func:`rankwise.bounds.label_ranking_mistakes`). The updates are described in
:mod:`rankwise.label_ranking.euclidean` and :mod:`rankwise.label_ranking.entropic`.

Source: Shalev-Shwartz and Singer, online label ranking by dual ascent.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise import metrics
from rankwise._sklearn import Interval, StrOptions
from rankwise.label_ranking import _state
from rankwise.label_ranking.euclidean import learn_euclidean, scores_of_rows
from rankwise.labels import ClassOrder, Preferences, RankingLabels, declared_order, decode, encode_rankings, is_missing
from rankwise.perceptrons._online import OnlineEstimator
from rankwise.perceptrons._rows import Rows, length
from rankwise.perceptrons._state import GIVEN_ORDER, State

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

NO_RANKINGS: Codes = np.empty((0, 0), dtype=np.int32)  # nobody asked


class LabelRanker(OnlineEstimator, abstract=True):  # its labels are sets and pairs of labels, not grades
    """Rank labels by their relevance to an example, online, from relevant labels or from preferences.

    Parameters
    ----------
    update : {"fixed", "optimal", "joint"}, default "optimal"
        What a round changes. "fixed": on a mistake, the most violating pair of labels, by C. "optimal": whenever that
        pair is not apart by the margin, by the best step up to C. "joint": all labels at once, by the best steps; it
        needs relevant labels, not preferences.
    complexity : {"euclidean", "entropic"}, default "euclidean"
        Squared norm, whose updates are additive, or relative entropy to uniform weights, whose updates are
        multiplicative and whose weights are positive and sum to one for every label.
    C : float, default 1.0
        Largest step of a round; a row's weight multiplies it.
    margin : float, default 1.0
        By how much a relevant label should lead.
    n_epochs, shuffle, random_state
        As in :class:`rankwise.PRIL`.
    classes : array-like, optional
        All labels. Without it :meth:`fit` takes those that occur, and in a stream new labels may appear at any time.

    Attributes
    ----------
    coef_ : ndarray of shape (k, d)
        Weights of every label.
    dual_value_ : float
        D, which is a lower bound of the competitor's objective. Every round is an example of its own: with several
        epochs D belongs to the sequence of all rounds.
    n_mistakes_ : int
        Rounds in which some pair of labels was in the wrong order, or tied.
    classes_ : ndarray of shape (k,)
        The labels.
    n_updates_, n_iter_
        As in :class:`rankwise.PRIL`.

    Examples
    --------
    >>> from rankwise import LabelRanker
    >>> X = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    >>> y = [["work", "travel"], ["family"], ["work", "family"]]
    >>> model = LabelRanker(random_state=0).fit(X, y)
    >>> model.predict_top([[1.0, 0.0, 1.0]], 2)
    array([['work', 'travel']], dtype='<U6')
    """

    feature_arrays = ("theta", "weights")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "update": [StrOptions(set(_state.UPDATES_BY_NAME))],
        "complexity": [StrOptions({"euclidean"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "classes": ["array-like", None],
    }

    def __init__(
        self,
        update: str = "optimal",
        complexity: str = "euclidean",
        C: float = 1.0,
        margin: float = 1.0,
        n_epochs: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
        classes: Any = None,
    ) -> None:
        self.update = update
        self.complexity = complexity
        self.C = C
        self.margin = margin
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.classes = classes

    # -- what was learnt ------------------------------------------------------------------------------------------

    @property
    def coef_(self) -> Floats:
        """Weights of every label, shape (k, d)."""
        check_is_fitted(self)
        return np.ascontiguousarray(self._weights_in_use()[: self.n_features_in_, : len(self._order)].T)

    @property
    def dual_value_(self) -> float:
        """Value of the dual objective after all rounds so far."""
        check_is_fitted(self)
        theta = self._state["theta"][: self.n_features_in_]
        return float(self._state["sums"][_state.GAINED] - 0.5 * np.einsum("jy,jy->", theta, theta))

    @property
    def n_mistakes_(self) -> int:
        """Number of rounds in which some pair of labels was in the wrong order, or tied."""
        return self.n_violations_

    def _weights_in_use(self) -> Floats:
        return self._state["theta"]

    # -- rankings -------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Score of every label, (n, k); for two labels the lead of the second over the first, (n,)."""
        check_is_fitted(self)
        scores = self._scores(self._rows(X, reset=False))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_ranking(self, X: Any) -> Codes:
        """Places of the labels in ``classes_``, (n, k), best first; of equal ones the first in ``classes_``."""
        check_is_fitted(self)
        scores = self._scores(self._rows(X, reset=False))
        return np.argsort(-scores, axis=1, kind="stable").astype(np.int32)

    def predict_top(self, X: Any, n: int) -> NDArray[Any]:
        """The n best labels of every row, best first, (rows, n); all labels if there are fewer."""
        return decode(self.predict_ranking(X)[:, : _count("n", n)], self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """One minus the ranking loss: the share of pairs of labels in the right order. Higher is better."""
        check_is_fitted(self)
        scores = self._scores(self._rows(X, reset=False))
        labels = encode_rankings(y, self._order, n_rows=scores.shape[0])
        return 1.0 - metrics.ranking_loss(labels, scores, sample_weight=sample_weight)

    def progressive_predict(
        self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None, top: int | None = None
    ) -> Codes:
        """Rank the labels for each row, then learn from it, in one pass; return the rankings made before learning.

        Parameters
        ----------
        X, y, sample_weight, classes
            As in :meth:`partial_fit`.
        top : int, optional
            How many labels of each ranking to return; all by default, which takes 4 k bytes a row.

        Returns
        -------
        ndarray of shape (n, k) or (n, top)
            Places of the labels in ``classes_``, best first. Labels that were not known yet come last.
        """
        most = None if top is None else _count("top", top)
        return self._learn_chunk(X, y, classes, sample_weight, predict=True, top=most)

    def rank_one(self, x: Mapping[Hashable, Any]) -> list[Any]:
        """All labels for one example, a dict of features, best first; empty while no label is known."""
        if not self.__sklearn_is_fitted__():
            return []
        scores = self._scores(self._features.row(x, learn_names=False))[0]
        return [self._plain_classes[code] for code in np.argsort(-scores, kind="stable")]

    # -- learning -------------------------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one example, a dict of features; names and, if none were declared, labels may be new.

        Parameters
        ----------
        x : dict
            Feature name -> number. Names that are absent count as zero.
        y : label, set, list, tuple or Preferences
            The relevant labels, one of them alone, preferences of one example, or None.
        w : float, default 1.0
            Importance of the example, >= 0.
        """
        if "_state" in self.__dict__:
            self._learn_example(x, y, w)
        elif self.classes is not None or not _names_no_label(y):
            with self._all_or_nothing():
                self._validate_params()
                labels = encode_rankings(_one_example(y), self.classes, growing=self.classes is None)
                self._begin(0, labels.order, growing=self.classes is None)
                self._learn_example(x, y, w)

    def _learn_example(self, x: Mapping[Hashable, Any], y: Any, w: float) -> None:
        if not 0.0 <= w < np.inf:
            raise ValueError(f"a weight must be a finite number >= 0. Got {w!r} instead.")
        labels = self._labels(_one_example(y), self._order, None)
        row = self._features.row(x, learn_names=True)
        if labels.order is not self._order or len(self._features.column) > self.n_features_in_:
            self._welcome(row, labels.order)
        self._one_weight[0] = w
        bad = self._pass_over(row, labels, self._one_weight, GIVEN_ORDER, NO_RANKINGS)
        if bad >= 0:
            self._refuse_row(row, 0)

    def _learn_chunk(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, predict: bool, top: int | None = None
    ) -> Codes:
        with self._all_or_nothing():
            first = not self.__sklearn_is_fitted__()
            if first:
                self._validate_params()
            rows = self._rows(X, reset=first)
            labels = self._labels(y, self._declared_order(classes, y, first), rows)
            weight = self._weights(sample_weight, rows)
            if first:
                growing = classes is None and self.classes is None and not labels.names_all
                self._begin(self.n_features_in_, labels.order, growing=growing)
            elif labels.order is not self._order:
                self._state = self._with_labels(self._state, len(labels.order))
                self._set_order(labels.order)
            shape = (len(labels), min(top or len(labels.order), len(labels.order)))
            rankings = np.empty(shape, dtype=np.int32) if predict else NO_RANKINGS
            self._learn(rows, labels, weight, GIVEN_ORDER, rankings)
        return rankings

    def _learn(  # type: ignore[override] # labels of another kind, throughout
        self, rows: Rows, labels: RankingLabels, weight: Floats, order: NDArray[np.int64], predictions: Codes
    ) -> None:
        # A pass looks at all rows before it changes anything, so no copy of the weights is needed to undo it.
        bad = self._pass_over(rows, labels, weight, order, predictions if predictions.ndim == 2 else NO_RANKINGS)
        if bad >= 0:
            self._refuse_row(rows, bad)

    def _pass_over(
        self, rows: Rows, labels: RankingLabels, weight: Floats, order: NDArray[np.int64], rankings: Codes
    ) -> int:
        state = self._state
        options = _state.UPDATES_BY_NAME[self.update], float(self.C), float(self.margin)
        said = labels.indptr, labels.above, labels.below
        return int(
            learn_euclidean(
                rows, *said, weight, order, state["theta"], state["counts"], state["sums"], options, rankings
            )
        )

    # -- what the online estimators' base asks for ---------------------------------------------------------------

    def _new_state(self, n_features: int, n_classes: int) -> State:
        return {
            "theta": np.zeros((n_features, n_classes)),
            "counts": _state.fresh_counts(0 if self._growing else n_classes),
            "sums": _state.fresh_sums(),
        }

    def _labels(self, y: Any, classes: Any, rows: Rows | None) -> RankingLabels:  # type: ignore[override]
        n_rows = None if rows is None else length(rows)
        growing = classes is None if not self.__sklearn_is_fitted__() else self._growing
        labels = encode_rankings(y, classes, n_rows=n_rows, growing=growing)
        if self.update == "joint" and labels.has_preferences:
            raise ValueError(
                "update='joint' moves all relevant labels against all others, and preferences do not say which are "
                "relevant: use update='fixed' or 'optimal', or give the relevant labels."
            )
        return labels

    def _declared_order(self, classes: Any, y: Any, first: bool) -> ClassOrder | None:  # type: ignore[override]
        declared = [declared_order(c) for c in (classes, self.classes) if c is not None]
        if first and not declared:
            return None
        known = declared[0] if first else self._order
        for other in declared:
            if other != known:
                raise ValueError(f"classes={other.values.tolist()} is not the same as before: {known.values.tolist()}.")
        return known

    def _with_labels(self, state: State, n_labels: int) -> State:
        """State with room for more labels, whose weights start at zero; capacity doubles so that growing is cheap."""
        theta = state["theta"]
        if theta.shape[1] >= n_labels:
            return state
        grown = np.zeros((theta.shape[0], max(8, 2 * n_labels)))
        grown[:, : theta.shape[1]] = theta
        return {**state, "theta": grown}

    def _welcome(self, row: Rows, order: ClassOrder) -> None:
        if not np.isfinite(row[0]).all():
            try:
                self._refuse_row(row, 0)
            finally:
                self._features.forget_after(self.n_features_in_)
        state = self._with_features(self._state, len(self._features))
        self._state = self._with_labels(state, len(order))
        self._set_order(order)

    def _codes(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(self._scores(rows).argmax(axis=1))

    def _scores(self, rows: Rows) -> Floats:
        out = np.empty((length(rows), len(self._order)))
        bad = scores_of_rows(rows, self._weights_in_use(), out)
        if bad >= 0:
            self._refuse_row(rows, bad)
        return out


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise ValueError(f"{name} must be an integer >= 1. Got {value!r} instead.")
    return int(value)


def _one_example(y: Any) -> Any:
    return y if isinstance(y, Preferences) else [y]


def _names_no_label(y: Any) -> bool:
    return is_missing(y) or (isinstance(y, (list, tuple, set, frozenset)) and not y)
