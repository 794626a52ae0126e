"""Multi-class perceptrons: one weight vector per class, no order among the classes, examples of unequal importance.

Prediction: the first class with the largest score ``<w_r, x>``. On a mistake, with c the weight of the example, y the
label and yhat the prediction (Crammer and Singer, "Ultraconservative online algorithms for multiclass problems", 2001;
with weights: Supeesun and Fakcharoenphol, "A better analysis of a Perceptron-based algorithm for multiclass importance
weighted online learning"):

    w_y    += c x
    w_yhat -= c x                                                                              (multi-vector)

With two classes this is the binary ``w += c y x``, y = +-1, where w_2 = w = -w_1.

**All pairs.** The same paper keeps a vector for every pair of classes, w_ij = -w_ji, and on a mistake does

    w_yr    += c x  for every r != y,     then     w_yhat,r -= c x  for every r != yhat           (all-pairs)

From zero, w_ij = w_i - w_j holds before and after every such update: w_yr and w_r,yhat gain c x for the other classes
r, w_y,yhat gains 2 c x, and the other pairs do not change. Also sum_r w_r = 0. Therefore

- linear scoring, ``sum_j <w_rj, x>``, is K <w_r, x>: it predicts as multi-vector does in every round (the paper's
  section 4.2);
- max-win scoring, the number of pairs that r wins (``<w_rj, x> > 0``; a tie is won by neither), is the number of
  classes with a smaller <w_j, x>: the class with the largest linear score wins most pairs, and equals equally many.

So **both scorings predict and learn exactly as multi-vector does**, and all of them are computed from K vectors; the
pair vectors are their differences. The paper leaves max-win open ("empirically, roughly the same").

**Labels.** When the label is a set of candidates (an interval is one), there is no update while yhat is among them, and
otherwise y is the best-scored candidate. A class that is new in a stream joins with a zero vector, its pairs with
w_rj = -w_j: as if it had always been there without being a label or a prediction. The round that brings it is learnt
from but is not counted as a mistake, since the class could not have been predicted.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from rankwise import metrics
from rankwise._errors import RowError
from rankwise._kernels.compile import inlined, kernel, register_jitable
from rankwise._kernels.rows import axpy_two, dots_lagged, n_rows
from rankwise._sklearn import StrOptions, take_rows
from rankwise._types import Floats
from rankwise.base.row_data import Rows, indexable, length, row_count
from rankwise.base.state import COUNTS, StateArray, averaged
from rankwise.base.transaction import reader
from rankwise.labels import ClassOrder, encode, is_missing
from rankwise.online.array_learner import names_all_classes
from rankwise.online.learning_loop import NOT_FINITE, UNCHANGED, make_pass
from rankwise.online.online_estimator import OnlineEstimator


@register_jitable(forceinline=True)
def _winner(scores, b, b_lag, rate):
    """Add the intercepts, in place; the first class with the largest score, or -1 if a score is not finite."""
    best, top, zero = 0, -np.inf, 0.0
    for k in range(scores.size):
        score = scores[k] + (b[k] - b_lag[k] * rate)
        scores[k] = score
        zero += score * 0.0  # NaN if the score is NaN or infinite
        if score > top:
            best, top = k, score
    return best if zero == 0.0 else -1


@register_jitable
def _prepare(model, mask, options, predicting):
    (W, W_lag), (b, b_lag, cost), known = model
    scores, averaged = np.empty(b.size), np.empty(b.size)
    return b.size - 1, (W, W_lag, b, b_lag, scores, averaged, cost, known, mask, options[1])


@inlined
def _score(X, i, workspace):
    """Best class of row i, by the scores that are filled in."""
    W, W_lag, b, b_lag, scores = workspace[:5]
    dots_lagged(X, i, W, W_lag, 0.0, scores)
    return _winner(scores, b, b_lag, 0.0)


@inlined
def _predict(X, i, best, rounds, workspace):
    W, W_lag, b, b_lag, _, averaged = workspace[:6]
    if best < 0 or rounds == 0.0:
        return best
    dots_lagged(X, i, W, W_lag, 1.0 / rounds, averaged)
    return _winner(averaged, b, b_lag, 1.0 / rounds)


@inlined
def _step(X, i, best, lo, hi, c, past, workspace):
    W, W_lag, b, b_lag, scores, _, cost, known, mask, intercept = workspace
    if best < 0:
        return NOT_FINITE
    if c == 0.0 or (lo <= best <= hi and (mask.size == 0 or mask[i, best])):
        return UNCHANGED
    # The best-scored class that the label admits, and whether the learner could have predicted any of them.
    target, predictable = -1, False
    for k in range(lo, hi + 1):
        if mask.size == 0 or mask[i, k]:
            predictable |= known[k]
            if target < 0 or scores[k] > scores[target]:
                target = k
    rounds = past[0]
    axpy_two(X, i, c, rounds, W, W_lag, target, best)
    b[target] += c * intercept
    b[best] -= c * intercept
    b_lag[target] += c * rounds * intercept
    b_lag[best] -= c * rounds * intercept
    cost[0] += c * predictable
    return int(predictable)


@register_jitable
def _finish(model, workspace):
    model[2][:] = True


_learn = make_pass(_prepare, _score, _predict, _step, _finish, ordered=False)


@kernel
def _scores(X, W, W_lag, b, b_lag, rate, out, codes):
    for i in range(n_rows(X)):
        dots_lagged(X, i, W, W_lag, rate, out[i])
        codes[i] = _winner(out[i], b, b_lag, rate)
        if codes[i] < 0:
            return i
    return -1


class ImportanceWeightedPerceptron(OnlineEstimator):
    """Multi-class perceptron for classes without an order and examples of unequal importance, online.

    Parameters
    ----------
    scheme : {"multi-vector", "all-pairs"}, default "multi-vector"
        A vector for every class, or for every pair of classes. Both predict the same in every round and are computed
        from the vectors of the classes; "all-pairs" gives ``pair_coef_`` and ``pair_intercept_`` too.
    scoring : {"linear", "max-win"}, default "linear"
        What ``decision_function`` returns: scores, or how many pairs a class wins (for "all-pairs" only). The
        predictions are the same.
    fit_intercept : bool, default True
        Learn an intercept for every class. The paper has none.
    n_epochs, shuffle, average, random_state, classes
        As in :class:`rankwise.PRIL`. The order of the classes only decides ties and what an interval admits.
        Unless they are declared, new classes may appear at any time, in chunks and in single rows.

    Attributes
    ----------
    coef_, intercept_ : ndarrays of shape (K, d) and (K,)
        Vector and intercept of every class.
    pair_coef_ : ndarray of shape (K, K, d)
        Vector of every pair of classes, ``w_ij = -w_ji``; with "all-pairs" only.
    pair_intercept_ : ndarray of shape (K, K)
        Intercept of every pair of classes; with "all-pairs" only.
    classes_, n_updates_, n_iter_
        As in :class:`rankwise.PRIL`; ``classes_`` grows where a stream brings new ones.
    n_mistakes_ : int
        Rounds in which the learner's own prediction (of the last weights, not of averaged ones) was not admissible;
        not rounds that introduced the class in question.
    cost_ : float
        Sum of the weights of those rounds: what Theorem 3 bounds, see
        :func:`rankwise.bounds.importance_weighted_cost`.

    Notes
    -----
    The paper's algorithm is ``ImportanceWeightedPerceptron(fit_intercept=False, n_epochs=1, shuffle=False,
    average=False)``; without weights it is its "MV-Perceptron". Costs of predictions, averaged or not:
    :func:`rankwise.metrics.weighted_cost` and :func:`rankwise.evaluation.progressive`.

    Examples
    --------
    A model that knows what a mistake costs:

    >>> from rankwise import ImportanceWeightedPerceptron
    >>> model = ImportanceWeightedPerceptron()
    >>> mail = [("cheap pills", "spam", 1), ("server down", "urgent", 9), ("lunch", "later", 1)]
    >>> for words, folder, cost in mail * 9:
    ...     model.learn_one({word: 1.0 for word in words.split()}, folder, w=cost)
    >>> model.predict_one({"server": 1.0, "lunch": 1.0})
    'urgent'
    >>> model.classes_.tolist()
    ['later', 'spam', 'urgent']
    """

    label_kinds = frozenset({"exact", "interval", "candidates"})
    ordered = False
    _meets_new_classes = True
    arrays: ClassVar = {
        "W": averaged("feature", "class", lag="W_lag"),
        "b": averaged("class", lag="b_lag"),
        "counts": COUNTS,
        "cost": StateArray((1,), mixes="adds"),
        "known": StateArray(("class",), bool, start=True, mixes="largest"),  # classes that it can predict
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineEstimator._parameter_constraints,
        "scheme": [StrOptions({"multi-vector", "all-pairs"})],
        "scoring": [StrOptions({"linear", "max-win"})],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self, scheme: str = "multi-vector", scoring: str = "linear", fit_intercept: bool = True, n_epochs: int = 10,
        shuffle: bool = True, average: bool | str = "auto", random_state: Any = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.scoring == "max-win" and self.scheme != "all-pairs":
            raise ValueError(
                f"scoring='max-win' of {type(self).__name__} counts the pairs that a class wins: it needs "
                f"scheme='all-pairs'. Got scheme={self.scheme!r} instead."
            )

    def _compiled(self, state, average, plain):
        model = (state["W"], state["W_lag"]), (state["b"], state["b_lag"], state["cost"]), state["known"]
        options = average, 1.0 if self.fit_intercept else 0.0
        return _learn, model, options

    # -- classes that are new in a stream ---------------------------------------------------------------------------

    def _known_order(self, classes: Any, y: Any, first: bool) -> ClassOrder | None:
        nothing_declared = first and classes is None and self.classes is None
        return None if nothing_declared and not names_all_classes(y) else super()._known_order(classes, y, first)

    def _chunk_labels(self, y: Any, order: ClassOrder | None, rows: Rows) -> Any:
        if order is not None and "_state" in self.__dict__ and self._growing and not names_all_classes(y):
            order = next((later for _, later in _new_classes(y, order)), order)
        if order is None:  # no warning about a single class, as others may follow
            y = encode(y, n_rows=length(rows), ordered=self.ordered)
        return super()._chunk_labels(y, order, rows)

    def _learn_chunk(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, predict: bool, top: int | None = None
    ) -> NDArray[np.int32]:
        """Split a chunk where a class first appears: it cannot be predicted before, in chunks as in single rows."""
        first, declared = not self.__sklearn_is_fitted__(), classes is not None or self.classes is not None
        may_grow = not declared and not names_all_classes(y) and (first or self._growing)
        places = [row for row, _ in _new_classes(y, None if first else self._order)] if may_grow else []
        n = len(y)
        new = set(places[first:])  # rows before the very first class have no information
        starts = sorted({0, *new, *(row + 1 for row in new if row + 1 < n)})  # a class is known after its first row
        if places:
            X = indexable(X)
        if not places or starts == [0] or row_count(X) != n:
            return super()._learn_chunk(X, y, classes, sample_weight, predict=predict, top=top)
        predictions = []
        with self._afresh() as model:
            if not first:  # a bad segment must also undo the earlier ones
                model._state = {name: array.copy() for name, array in self._state.items()}
            learn = super(ImportanceWeightedPerceptron, model)._learn_chunk
            for start, stop in zip(starts, [*starts[1:], n], strict=True):
                segment = np.arange(start, stop)
                inputs = take_rows(X, segment)
                weight = None if sample_weight is None else take_rows(sample_weight, segment)
                before = model.predict(take_rows(inputs, [0])) if predict and start in new else None
                try:
                    codes = learn(inputs, take_rows(y, segment), None, weight, predict=predict, top=top)
                except RowError as error:
                    raise RowError(error.reason, error.row + start, error.column) from None
                # The row that brings a class was predicted without it.
                predictions.append(model.classes_[codes] if before is None else before)
        return self._order.codes(np.concatenate(predictions)) if predict else np.concatenate(predictions)

    @property
    def coef_(self) -> Floats:
        """Vector of every class, shape (K, d); averaged over the rounds if ``average``."""
        return np.ascontiguousarray(self._averaged("W")[: self.n_features_in_].T)

    @property
    def intercept_(self) -> Floats:
        """Intercept of every class, shape (K,); averaged over the rounds if ``average``."""
        return self._averaged("b")

    @property
    def pair_coef_(self) -> Floats:
        """Vector of every pair of classes, shape (K, K, d); only with ``scheme="all-pairs"``."""
        return self._of_pairs(self.coef_)

    @property
    def pair_intercept_(self) -> Floats:
        """Intercept of every pair of classes, shape (K, K); only with ``scheme="all-pairs"``."""
        return self._of_pairs(self.intercept_)

    def _of_pairs(self, of_classes: Floats) -> Floats:
        if self.scheme != "all-pairs":
            raise AttributeError
        return np.asarray(of_classes[:, None] - of_classes)

    @property
    def n_mistakes_(self) -> int:
        """Rounds in which the prediction of the last weights was not admissible, though it could have been."""
        return self.n_violations_

    @property
    def cost_(self) -> float:
        """Sum of the weights of the rounds that ``n_mistakes_`` counts."""
        return float(self._number("cost", 0))

    @reader
    def decision_function(self, X: Any) -> Floats:
        """Score of every class, or the pairs it wins, (n, K); for two classes the difference of both, (n,).

        With ``scheme="all-pairs"`` and ``scoring="linear"`` the paper's score, the sum over the pairs, is K times this.
        """
        scores, _ = self._scores(self._rows(X, reset=False))
        if self.scoring == "max-win":
            scores = rankdata(scores, method="min", axis=1) - 1.0  # as many wins as there are smaller scores
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the fraction of rows whose prediction the label admits."""
        return 1.0 - metrics.zero_one_loss(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    def _codes(self, rows: Rows) -> NDArray[Any]:
        return self._scores(rows)[1]

    def _scores(self, rows: Rows) -> tuple[Floats, NDArray[np.int64]]:
        """Linear score of every class, and the code of the best one, for every row."""
        state = self._state
        out, codes = np.empty((length(rows), state["b"].size)), np.empty(length(rows), dtype=np.int64)
        bad = _scores(
            rows, state["W"], state["W_lag"], state["b"], state["b_lag"], self._averaging_rate, out, codes
        )  # fmt: skip
        if bad >= 0:
            self._refuse_row(rows, bad)
        return out, codes


def _new_classes(y: Any, known: ClassOrder | None) -> Iterator[tuple[int, ClassOrder]]:
    """Rows whose labels bring new classes, in turn, and the order of the classes from each row on."""
    labels = encode(y, ordered=False)
    values = labels.order.values.tolist()
    unseen = {value for value in values if known is None or value not in known.index}
    if not unseen:
        return
    codes = [code for code, value in enumerate(values) if value in unseen]
    missing = labels.is_missing & (len(values) > 1)
    for row in np.flatnonzero(labels.admissible()[:, codes].any(axis=1)).tolist():
        one = take_rows(y, [row])
        if missing[row] and is_missing(one[0] if isinstance(one, list) else np.asarray(one).ravel()[0]):
            continue
        new = [value for value in encode(one, ordered=False).order.values.tolist() if value in unseen]
        if new:
            first, *others = new
            known = ClassOrder([first]) if known is None else known.inserted(first)
            for value in others:
                known = known.inserted(value)
            unseen -= set(new)
            yield row, known
        if not unseen:
            return


class MulticlassPerceptron(ImportanceWeightedPerceptron):
    """Multi-class perceptron without intercepts: the papers' baseline that ignores the order of the classes.

    It is ``ImportanceWeightedPerceptron(scheme="multi-vector", fit_intercept=False)`` under its usual name.

    Parameters
    ----------
    n_epochs, shuffle, average, random_state, classes
        As in :class:`rankwise.PRIL`.

    Attributes
    ----------
    coef_, classes_, n_updates_, n_iter_
        As in :class:`rankwise.ImportanceWeightedPerceptron`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import MulticlassPerceptron
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> MulticlassPerceptron(random_state=0).fit(X, [1, 2, 3]).predict(X)
    array([1, 2, 3])
    """

    scheme, scoring, fit_intercept = "multi-vector", "linear", False

    def __init__(
        self, n_epochs: int = 10, shuffle: bool = True, average: bool | str = "auto", random_state: Any = None,
        classes: Any = None,
    ) -> None:  # fmt: skip
        OnlineEstimator.__init__(self, n_epochs, shuffle, average, random_state, classes)  # no other parameters
