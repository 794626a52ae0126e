"""The label ranker: dual ascent by three updates for two complexity functions.

The competitor of the online learner minimises ``P(omega) = sum_y F(omega_y) + C sum_t loss_t(omega)`` with the hinge
loss of the most violating pair, ``max(0, margin - (rho_r - rho_s))``. The learner holds a feasible point of the dual,

    D = margin * sum(tau) - sum_y G(theta_y),     omega_y = grad G(theta_y),

and after every example changes only the dual variables tau of that example. By weak duality D never exceeds P. A best
step never lowers D. On a mistake a fixed step adds at least ``margin C - C^2 <x, H x>``, with H the Hessian of G; for
features scaled to <x, H x> <= 1/2 that is at least ``margin C - C^2 / 2``, which bounds the number of mistakes
(:func:`rankwise.bounds.label_ranking_mistakes`). Intercepts are the weights of a constant feature 1, which x then
includes. :mod:`rankwise.label_ranking.euclidean` and :mod:`rankwise.label_ranking.entropic` describe the updates.

Source: Shalev-Shwartz and Singer, "A unified algorithmic approach for efficient online label ranking", 2007.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rankwise import metrics
from rankwise._sklearn import POSITIVE, StrOptions
from rankwise._types import Codes, Floats
from rankwise._warn import warn_user
from rankwise.base.row_data import Rows, length
from rankwise.base.state import ROUNDS, State, StateLayout
from rankwise.base.transaction import reader
from rankwise.bounds.checks import integer
from rankwise.label_ranking import rounds
from rankwise.label_ranking._complexity import COMPLEXITIES, Complexity
from rankwise.labels import ClassOrder, Preferences, RankingLabels, decode, encode_rankings, is_missing
from rankwise.online.array_learner import KernelLabels
from rankwise.online.online_estimator import OnlineEstimator

_NO_RANKINGS: Codes = np.empty((0, 0), dtype=np.int32)


class LabelRanker(OnlineEstimator):
    """Rank labels by their relevance to an example, online, from relevant labels or from preferences.

    Parameters
    ----------
    update : {"fixed", "optimal", "joint"}, default "optimal"
        What a round changes. "fixed": on a mistake, the most violating pair of labels, by C. "optimal": whenever that
        pair violates the margin, by the best step up to C. "joint": all labels at once, by the best steps; it needs
        relevant labels, not preferences.
    complexity : {"euclidean", "entropic"}, default "euclidean"
        Squared norm, whose updates are additive, or relative entropy to uniform weights, whose updates are
        multiplicative and whose weights are positive and sum to one for every label.
    C : float, default 0.1
        Largest step of a round; a row's weight multiplies it.
    margin : float, default 1.0
        By how much a relevant label should lead.
    fit_intercept : bool, default True
        Learn an intercept for every label, as the weight of a constant feature 1. The paper has none.
    n_epochs, shuffle, random_state
        As in :class:`rankwise.PRIL`.
    average : bool, default True
        Rank by the average of the weights over all rounds, which doubles the memory. Learning, ``dual_value_`` and
        ``n_mistakes_`` use the last weights. The entropic ranker ignores it: every update changes all weights of a
        label, so averaging would cost a pass over all features.
    classes : array-like, optional
        All labels. Without it :meth:`fit` takes those that occur, and a stream may bring new labels at any time.

    Attributes
    ----------
    coef_ : ndarray of shape (k, d)
        Weights of every label.
    intercept_ : ndarray of shape (k,)
        Intercept of every label; zero without ``fit_intercept``.
    dual_value_ : float
        D, a lower bound of the competitor's objective. With several epochs every round counts as a separate example.
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

    label_kinds = frozenset()  # sets and pairs of labels, not grades
    _meets_new_classes = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineEstimator._parameter_constraints,
        "average": ["boolean"],
        "update": [StrOptions(set(rounds.UPDATES_BY_NAME))],
        "complexity": [StrOptions(set(COMPLEXITIES))],
        "C": [POSITIVE],
        "margin": [POSITIVE],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self, update: str = "optimal", complexity: str = "euclidean", C: float = 0.1, margin: float = 1.0,
        n_epochs: int = 10, shuffle: bool = True, average: bool = True, random_state: Any = None, classes: Any = None,
        fit_intercept: bool = True,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    # -- what was learnt ------------------------------------------------------------------------------------------

    @property
    def coef_(self) -> Floats:
        """Weights of every label, shape (k, d)."""
        check_is_fitted(self)
        return np.ascontiguousarray(self._complexity.weights(self._trimmed_state())[: self.n_features_in_].T)

    @property
    def intercept_(self) -> Floats:
        """Intercept of every label, shape (k,); zero without ``fit_intercept``."""
        check_is_fitted(self)
        known = self._trimmed_state()
        return np.array(self._complexity.weights(known)[-1]) if "b" in known else np.zeros(len(self._order))

    @property
    def dual_value_(self) -> float:
        """Value of the dual objective after all rounds so far."""
        gained = float(self._number("sums", rounds.GAINED))
        return gained - self._complexity.conjugates(self._trimmed_state(), self.n_features_in_)

    @property
    def n_mistakes_(self) -> int:
        """Number of rounds in which some pair of labels was in the wrong order, or tied."""
        return self.n_violations_

    @property
    def max_solver_iter_(self) -> int:
        """Most iterations of the interior point in a round; 0 if no round needed it."""
        return int(self._number("counts", rounds.MOST_ITERATIONS))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def _complexity(self) -> Complexity:
        return COMPLEXITIES[self.complexity]

    @property
    def _layout(self) -> StateLayout:
        if "_state" in self.__dict__:  # the parameters may have changed since
            return self._layout_of(self._state)
        return self._complexity.layout(bool(self.average), bool(self.fit_intercept))

    def _layout_of(self, state: Mapping[str, Any]) -> StateLayout:
        return self._complexity.layout("lag" in state, "b" in state)

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that ``to_plain`` described, after checking that it can be one."""
        if "b" not in plain["state"]:  # older files, without intercepts, do not name the parameter
            self.fit_intercept = False
        super().from_plain(plain)

    def _check_state(self, state: Mapping[str, Any], n_features: int, n_classes: int) -> None:
        self._layout_of(state).check(state, n_features, n_classes)
        if not 0 <= state["counts"][rounds.KNOWN] <= n_classes:
            raise ValueError(f"{state['counts'][rounds.KNOWN]} of {n_classes} labels cannot be known")

    def _trimmed_state(self) -> State:
        """The state without spare capacity for features and labels."""
        return self._layout.trimmed(self._state, self.n_features_in_, len(self._order))

    # -- rankings -------------------------------------------------------------------------------------------------

    @reader
    def decision_function(self, X: Any) -> Floats:
        """Score of every label, (n, k); for two labels the lead of the second over the first, (n,)."""
        scores = self._scores(self._rows(X, reset=False))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @reader
    def predict_ranking(self, X: Any) -> Codes:
        """Places of the labels in ``classes_``, (n, k), best first; ties keep the order of ``classes_``."""
        scores = self._scores(self._rows(X, reset=False))
        return np.argsort(-scores, axis=1, kind="stable").astype(np.int32)

    def predict_top(self, X: Any, n: int) -> NDArray[Any]:
        """The n best labels of every row, best first, (rows, n); all labels if there are fewer."""
        integer(1, n=n)
        return decode(self.predict_ranking(X)[:, :n], self.classes_)

    @reader
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """One minus the ranking loss: share of label pairs in the right order. Higher is better."""
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
            How many labels of each ranking to return; all by default, at 4 k bytes per row.

        Returns
        -------
        ndarray of shape (n, k) or (n, top)
            Places of the labels in ``classes_``, best first. Labels that were not known then come last.
        """
        if top is not None:
            integer(1, top=top)
        return self._learn_chunk(X, y, classes, sample_weight, predict=True, top=top)

    def rank_one(self, x: Mapping[Hashable, Any]) -> list[Any]:
        """All labels for one example, a dict of features, best first; empty while no label is known."""
        return self._undisturbed(LabelRanker._ranked, x)

    def _ranked(self, x: Mapping[Hashable, Any]) -> list[Any]:
        if "_state" not in self.__dict__:
            return []
        scores = self._scores(self._features.row(x, learning=False)[0])[0]
        return [self._plain_classes[code] for code in np.argsort(-scores, kind="stable")]

    # -- learning -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch, as :meth:`rankwise.PRIL.fit` does.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Features.
        y : indicator matrix, label lists, labels or Preferences
            What should be ranked high for each row, see :func:`rankwise.labels.encode_rankings`. Rows where no label
            or every label is relevant are skipped.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0; it multiplies C. A zero makes its row a no-op.
        """
        return super().fit(X, y, sample_weight)

    def _learn_epochs(self, X: Any, y: Any, sample_weight: Any) -> None:
        super()._learn_epochs(X, y, sample_weight)
        self._refuse_no_rounds()

    def _refuse_no_rounds(self) -> None:
        if len(self._order) > 1 and not self._state["counts"][ROUNDS]:
            raise ValueError(
                "no row says which label should be ranked above another: every row names no label, or all of them. "
                "(An indicator matrix must be an array, not a list.)"
            )

    def learn_one(self, x: Mapping[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one example, a dict of features; names and, if none were declared, labels may be new.

        Parameters
        ----------
        x : dict
            Feature name -> number. Absent names count as zero.
        y : label, set, list, tuple or Preferences
            The relevant labels, a single relevant label, the preferences of one example, or None.
        w : float, default 1.0
            Importance of the example, >= 0.
        """
        super().learn_one(x, y, w)

    # -- hooks of the online estimators ----------------------------------------------------------------------------

    def _pass(
        self, state: State, rows: Rows, labels: Any, weight: Floats, order: NDArray[np.int64], predictions: Codes
    ) -> int:
        counts, update = state["counts"], rounds.UPDATES_BY_NAME[self.update]
        unsolved = counts[rounds.UNSOLVED]
        rankings = predictions if predictions.ndim == 2 else _NO_RANKINGS
        firsts = np.empty(len(rankings), dtype=np.int32)  # the loop asks only for the label ranked first
        options = "lag" in state, update, float(self.C), float(self.margin), 1.0 if "b" in state else 0.0
        model = self._complexity.parameters(state, self.n_features_in_), counts, state["sums"], rankings
        bad = self._complexity.learner(update)(rows, labels, weight, order, model, counts, options, firsts)
        if counts[rounds.UNSOLVED] > unsolved:
            warn_user(
                f"the joint problem of {counts[rounds.UNSOLVED] - unsolved} rounds was not solved: they moved the "
                f"most violating pair of labels alone. Scale the features, or choose a smaller C.",
                ConvergenceWarning,
            )
        return int(bad)

    _looks_first = True

    def _begin(self, n_features: int, order: ClassOrder, *, growing: bool = False) -> None:
        super()._begin(n_features, order, growing=growing)
        self._state["counts"][rounds.KNOWN] = 0 if growing else len(order)

    def _rows_to_learn(self, rows: Rows) -> Rows:
        # Every other storage or type of numbers would compile all kernels of learning once more.
        return _csr(rows)

    def _labels(self, y: Any, classes: Any, rows: Rows) -> Any:
        return self._rankings(y, classes, length(rows), growing=False)

    def _chunk_labels(self, y: Any, order: ClassOrder | None, rows: Rows) -> Any:
        growing = order is None or ("_state" in self.__dict__ and self._growing)
        return self._rankings(y, order, length(rows), growing=growing)

    def _rankings(self, y: Any, classes: Any, n_rows: int | None, *, growing: bool) -> RankingLabels:
        labels = encode_rankings(y, classes, n_rows=n_rows, growing=growing)
        if self.update == "joint" and labels.has_preferences:
            raise ValueError(
                "update='joint' moves all relevant labels against all others, and preferences do not say which are "
                "relevant: use update='fixed' or 'optimal', or give the relevant labels."
            )
        return labels

    def _kernel_labels(self, labels: Any) -> KernelLabels:
        return labels.indptr[:-1], labels.indptr[1:], (labels.indptr, labels.above, labels.below)

    def _informative(self, labels: Any, weight: Floats) -> Floats:
        return weight

    def _read_example(self, y: Any) -> tuple[KernelLabels, ClassOrder]:
        labels = self._rankings(_one_example(y), self._order, None, growing=self._growing)
        return self._kernel_labels(labels), labels.order

    def _first_order(self, y: Any) -> ClassOrder | None:
        if self.classes is None and _names_no_label(y):
            return None
        return encode_rankings(_one_example(y), self.classes, growing=self.classes is None).order

    def _known_order(self, classes: Any, y: Any, first: bool) -> ClassOrder | None:
        nothing_declared = first and classes is None and self.classes is None
        return None if nothing_declared else super()._known_order(classes, y, first)

    def _room_for_predictions(self, n_rows: int, top: int | None) -> Codes:
        n_labels = len(self._order)
        return np.empty((n_rows, min(top or n_labels, n_labels)), dtype=np.int32)

    def _with_classes(self, state: State, order: ClassOrder) -> State:
        """State with more labels, at the end, with theta = 0."""
        return self._complexity.widened(self._layout, state, self.n_features_in_, len(order))

    def _settle(self, state: State, known: int, n_features: int) -> None:
        self._complexity.join(state, known, n_features)

    def _to_mix(self, state: State) -> State:
        return self._complexity.to_mix(state)

    def _from_mix(self, state: State, moved: State) -> None:
        self._complexity.from_mix(state, moved)

    def _codes(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(self._scores(rows).argmax(axis=1))

    def _scores(self, rows: Rows) -> Floats:
        out = np.empty((length(rows), len(self._order)))
        bad = self._complexity.scores(self._state, rows, out)
        if bad >= 0:
            self._refuse_row(rows, bad)
        return out


def _csr(rows: Rows) -> Rows:
    """The rows as a CSR matrix of doubles that stores all entries of a dense array."""
    if not isinstance(rows, tuple):
        n, d = rows.shape
        rows = rows.ravel(), np.tile(np.arange(d, dtype=np.int32), n), np.arange(n + 1) * d
    data, indices, indptr = rows
    index_type = np.int32 if data.size <= np.iinfo(np.int32).max else np.int64
    return data.astype(np.float64, copy=False), *(a.astype(index_type, copy=False) for a in (indices, indptr))


def _one_example(y: Any) -> Any:
    if not isinstance(y, Preferences):
        return [y]
    if len(y) != 1:
        raise ValueError(f"y must be the preferences of one example. Got {len(y)} instead.")
    return y


def _names_no_label(y: Any) -> bool:
    return is_missing(y) or (isinstance(y, (list, tuple, set, frozenset)) and not y)
