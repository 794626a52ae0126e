"""Class probabilities for estimators that have none: a link, or monotone curves, from score to probability.

An estimator with thresholds has one score a row (``project``), one with a score for each class has K
(``decision_function``). Their scores on rows that the estimator has not seen, out of folds, are the features of a
calibrator:

``link``
    a :class:`rankwise.CumulativeLink` of the scores, ``P(y <= k) = F(t_k - a s)``; with two classes, Platt's scaling;
``isotonic``
    for each k the isotonic regression of ``y <= k`` on the score, falling. Curves of different k never cross, because
    isotonic regression preserves order. K scores are first combined into one by the link.

Imprecise labels go into the likelihood of the link as they are. For the curves they are shared among the classes that
they admit by the probabilities so far, and the curves fitted again, until they stay (EM). Between the rows' scores
curves are linear. A share ``1 / (n + 1)`` of the probability goes to the classes by their frequency, so that none is
impossible.

Sources: Platt, "Probabilistic outputs for support vector machines", 1999; Zadrozny and Elkan, "Transforming classifier
scores into accurate multiclass probability estimates", 2002.
"""

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import isotonic_regression
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from rankwise._errors import refuse_many_classes
from rankwise._sklearn import HasMethods, Interval, StrOptions
from rankwise._types import Floats, Places
from rankwise.base.probabilities import DECISIONS, ProbabilityModel
from rankwise.base.row_data import indexable, rows_at
from rankwise.base.state import require_array
from rankwise.base.transaction import reader
from rankwise.batch import CumulativeLink
from rankwise.calibration.inner_fits import (
    Adjusting,
    fitted_to,
    folds,
    given_splits,
    known_classes,
    rows_and_labels,
    weights_of,
)
from rankwise.labels import ClassOrder, Labels, check_weights

_MOST_CLASSES = 2_000  # with a curve between every two of them
_LIGHT = 1e-4  # ridge of the link on scores of unit variance: keeps separable scores finite
_ROUNDS = 100  # of sharing out imprecise labels
_STILL = 1e-6  # change of a probability at which the curves stay


class CalibratedOrdinal(Adjusting, ProbabilityModel):  # type: ignore[override]
    """Probabilities of ordered classes from the scores of any estimator.

    Parameters
    ----------
    estimator : estimator
        An estimator with ``project`` or ``decision_function``, alone, in a :class:`rankwise.TableModel` or a pipeline.
    method : {"link", "isotonic"}, default "link"
        How scores become probabilities: a cumulative link, or monotone curves, which need more rows.
    cv : int, splitter, iterable of (train, test) or "prefit", default 5
        Folds whose rows are scored by a model that has not seen them: their number, a splitter of scikit-learn, or the
        row numbers; or calibrate an estimator that is fitted already, with rows that it has not seen.
    decision : {"median", "mode", "mean"} or array-like of shape (K, K), default "median"
        What ``predict`` answers, as in :class:`rankwise.CumulativeLink`.
    random_state : int, RandomState or None, default None
        Seed of the folds.

    Attributes
    ----------
    estimator_ : estimator
        Source of the scores; fitted to all rows, unless ``cv="prefit"``.
    classes_ : ndarray of shape (K,)
        The classes, lowest first.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(500, 3, 4, noise=0.5, random_state=0)
    >>> model = rw.CalibratedOrdinal(rw.SVOR(), random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).sum(axis=1).round(9)
    array([1., 1.])
    """

    _learnt = "link_"
    label_kinds: ClassVar[frozenset[str]] = frozenset({"exact", "interval", "candidates"})

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "method": [StrOptions({"link", "isotonic"})],
        "cv": [StrOptions({"prefit"}), Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), Iterable],
        "decision": [StrOptions(set(DECISIONS)), "array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self, estimator: Any, method: str = "link", cv: Any = 5, decision: Any = "median",
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator, and a calibrator to scores of rows that it has not seen.

        Parameters
        ----------
        X, y, sample_weight
            Rows in a form that the estimator takes, labels of any form that it supports, and weights >= 0.
        """
        with self._afresh() as model:
            model._validate_params()
            X, labels = rows_and_labels(X, y, known_classes(model.estimator, model.cv == "prefit"))
            weight = check_weights(sample_weight, len(labels))
            model.classes_ = labels.classes
            model._check_decision(labels.classes.size)
            model._calibrate(*model._unseen(X, labels, weight))
        return self

    def _unseen(self, X: Any, labels: Labels, weight: Floats) -> tuple[Floats, Labels, Floats]:
        """Scores of labelled rows by models that have not seen them, with their labels and weights."""
        rows = np.arange(len(labels))
        labelled = rows[~labels.is_missing]
        if self.cv == "prefit":
            self.estimator_ = self.estimator
            scores = _scores(self.estimator, rows_at(X, labelled))
        else:
            by_fold, held_out = [], []
            for train, test in self._splits(X, labels, labelled):
                model = fitted_to(self.estimator, X, labels, weight, train)
                by_fold.append(_scores(model, rows_at(X, test)))
                held_out.append(test)
            labelled = np.concatenate(held_out)
            order = np.argsort(labelled, kind="stable")
            scores, labelled = np.concatenate(by_fold)[order], labelled[order]
            self.estimator_ = fitted_to(self.estimator, X, labels, weight, rows)
        return scores, labels.take(labelled), weights_of(weight, labelled)

    def _splits(self, X: Any, labels: Labels, labelled: Places) -> Iterator[tuple[Places, Places]]:
        """Rows to learn from and labelled rows to score, for each fold."""
        if isinstance(self.cv, Integral):
            for test in folds(labelled, int(self.cv), self.random_state):
                yield np.setdiff1d(np.arange(len(labels)), test), test
            return
        for number, (train, test) in enumerate(given_splits(self.cv, X, labels)):
            both = np.intersect1d(train, test)
            if both.size:
                raise ValueError(
                    f"split {number} of cv learns from rows that it tests on, such as {both[0]}: the scores to "
                    f"calibrate must come from rows that the model has not seen."
                )
            scored = test[~labels.is_missing[test]]
            if scored.size:
                yield train, scored

    def _calibrate(self, scores: Floats, labels: Labels, weight: Floats) -> None:
        self._centre = scores.mean(axis=0)
        self._scale = max(float(scores.std()), np.finfo(np.float64).tiny)
        link = CumulativeLink(alpha=_LIGHT, classes=self.classes_)
        features = self._standardised(scores)
        self.link_ = link.fit(features, labels, sample_weight=weight)
        if self.method == "isotonic":
            refuse_many_classes("method='isotonic'", len(self.classes_), _MOST_CLASSES, "method='link'")
            self._knots, self._curves = _monotone_curves(self.link_.project(features), labels, weight)
            self._frequencies = _shared(labels, self.link_.predict_proba(features)).T @ weight
            self._frequencies /= self._frequencies.sum()
            self._n_rows = int(scores.shape[0])

    def _standardised(self, scores: Floats) -> Floats:
        return np.asarray((scores - self._centre) / self._scale)

    # -- probabilities -----------------------------------------------------------------------------------------------

    def _rows(self, X: Any, *, reset: bool) -> Any:
        return indexable(X)  # the estimator inside reads them

    def _probabilities(self, rows: Any) -> Floats:
        scores = self._standardised(_scores(self.estimator_, rows))
        if self.method == "link":
            return self.link_.predict_proba(scores)
        by_curves = _on_curves(self._knots, self._curves, self.link_.project(scores))
        return np.asarray((self._n_rows * by_curves + self._frequencies) / (self._n_rows + 1.0))

    @reader
    def decision_function(self, X: Any) -> Floats:
        """Minus the expected cost of every answer, (n, K); their difference, (n,), for two classes."""
        return self._answer_scores(X)

    # -- the estimator inside, and files -------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def to_plain(self) -> dict[str, Any]:
        """The fitted estimator and the calibrator: what a model file holds."""
        plain = {
            "estimator": self.estimator_,
            "classes": list(self.classes_),
            "link": self.link_,
            "centre": np.atleast_1d(self._centre),
            "scale": self._scale,
        }
        if self.method == "isotonic":
            plain |= {
                "knots": self._knots,
                "curves": self._curves,
                "frequencies": self._frequencies,
                "n_rows": self._n_rows,
            }
        return plain

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        classes = ClassOrder(plain["classes"]).values
        estimator, link, centre = plain["estimator"], plain["link"], plain["centre"]
        if type(estimator) is not type(self.estimator) or not isinstance(link, CumulativeLink):
            raise ValueError("the parts are not those that the parameters name")
        require_array("centre", centre, np.float64, (link.n_features_in_,))
        if link.classes_.tolist() != classes.tolist() or not plain["scale"] > 0.0:
            raise ValueError("the link does not go with the classes, or the scale is not positive")
        if self.method == "isotonic":
            knots, curves = plain["knots"], plain["curves"]
            require_array("knots", knots, np.float64, (len(knots),))
            require_array("curves", curves, np.float64, (classes.size - 1, knots.size))
            require_array("frequencies", plain["frequencies"], np.float64, classes.shape)
            if not knots.size or (np.diff(knots) < 0).any() or (np.diff(curves, axis=0) < 0).any():
                raise ValueError("the curves are not those of probabilities")
            self._knots, self._curves, self._frequencies = knots, curves, plain["frequencies"]
            self._n_rows = int(plain["n_rows"])
        self.classes_, self.estimator_, self.link_ = classes, estimator, link
        self._centre, self._scale = centre, float(plain["scale"])


def _scores(model: Any, X: Any) -> Floats:
    """Scores of rows, (n, 1) on the axis of the thresholds, or (n, K) if every class has its own."""
    if isinstance(model, Pipeline):
        return _scores(model[-1], model[:-1].transform(X))
    if hasattr(model, "project"):
        return np.asarray(model.project(X))[:, None]
    if not hasattr(model, "decision_function"):
        raise ValueError(
            f"{type(model).__name__} has neither project nor decision_function: there is no score to calibrate."
        )
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    return scores[:, None] if scores.ndim == 1 else scores


def _shared(labels: Labels, probabilities: Floats) -> Floats:
    """Each label shared among the classes that it admits, by their probabilities, (n, K)."""
    shares = np.where(labels.admissible(), np.maximum(probabilities, np.finfo(np.float64).tiny), 0.0)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _monotone_curves(at: Floats, labels: Labels, weight: Floats) -> tuple[Floats, Floats]:
    """Scores in order, and at each of them ``P(y <= k)`` for all classes but the last, (K-1, m)."""
    knots, place = np.unique(at, return_inverse=True)
    total = np.bincount(place, weight)
    seen = total > 0.0
    K = labels.classes.size
    probabilities = np.full((len(at), K), 1.0 / K)
    for _ in range(_ROUNDS):
        shares = _shared(labels, probabilities)
        below = np.cumsum(shares, axis=1)[:, :-1]
        curves = np.empty((K - 1, int(seen.sum())))
        for k in range(K - 1):
            mean = np.bincount(place, weight * below[:, k])[seen] / total[seen]
            curves[k] = isotonic_regression(mean, weights=total[seen], increasing=False).x
        curves = np.maximum.accumulate(np.clip(curves, 0.0, 1.0), axis=0)  # in order but for rounding
        before, probabilities = probabilities, _on_curves(knots[seen], curves, at)
        if labels.is_exact.all() or np.abs(probabilities - before).max() <= _STILL:
            break
    return knots[seen], curves


def _on_curves(knots: Floats, curves: Floats, scores: Floats) -> Floats:
    """Probability of every class at some scores, (n, K), by the curves of ``P(y <= k)``, (K-1, m)."""
    cumulative = np.array([np.interp(scores, knots, curve) for curve in curves]).reshape(len(curves), scores.size).T
    return np.diff(cumulative, axis=1, prepend=0.0, append=1.0)
