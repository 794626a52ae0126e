"""Probabilities of several models, blended: stacking by the log score of imprecise labels.

    P(k | x) = sum_m v_m P_m(k | x),      v >= 0,  sum_m v_m = 1

The weights v maximise the mean of ``log sum_m v_m P_m(label_i | x_i)`` over rows that the models have not seen, where
the probability of a label is that of all classes it admits. The problem is concave and solved by EM: each row is shared
among the models in proportion to ``v_m P_m(label_i | x_i)``, and the mean shares are the next weights.

Sources: Wolpert, "Stacked generalization", 1992; Smyth and Wolpert, "Linearly combining density estimators via
stacking", 1999.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from rankwise._sklearn import Interval, StrOptions
from rankwise._types import Floats
from rankwise.base.model import Enclosing, Layer
from rankwise.base.probabilities import DECISIONS, ProbabilityModel
from rankwise.base.row_data import indexable
from rankwise.base.state import require_array
from rankwise.base.transaction import reader
from rankwise.calibration.inner_fits import declared_classes, fitted_to, rows_and_labels
from rankwise.evaluation import StratifiedIntervalKFold, cross_val_predict
from rankwise.labels import Labels, check_weights
from rankwise.labels.label_values import show

_ROUNDS = 2000
_TOLERANCE = 1e-7  # change of a weight at which EM stops


def stacking_weights(by_model: Floats, weight: Floats | None = None) -> Floats:
    """Weights (M,) of models with the best mean log score of their mixture, from probabilities of labels (n, M).

    Examples
    --------
    >>> stacking_weights(np.array([[0.9, 0.1], [0.8, 0.3], [0.7, 0.2]])).round(3)
    array([1., 0.])
    """
    by_model = np.maximum(by_model, np.finfo(np.float64).tiny)
    share = np.full(len(by_model), 1.0 / len(by_model)) if weight is None else weight / weight.sum()
    v = np.full(by_model.shape[1], 1.0 / by_model.shape[1])
    for _ in range(_ROUNDS):
        before, mixed = v, by_model @ v
        v = v * (share @ (by_model / mixed[:, None]))
        if np.abs(v - before).max() <= _TOLERANCE:
            break
    return np.asarray(v / v.sum())


def of_labels(labels: Labels, probabilities: Floats) -> Floats:
    """Probability of every row's label: of all classes that it admits."""
    return np.asarray(np.where(labels.admissible(), probabilities, 0.0).sum(axis=1))


class BlendedOrdinal(Enclosing, ProbabilityModel):  # type: ignore[override]
    """A mixture of models with class probabilities, weighted by how well they predict rows they have not seen.

    Parameters
    ----------
    estimators : list of estimators
        Models with ``predict_proba``; others can be put into :class:`rankwise.CalibratedOrdinal`.
    cv : int, default 5
        Number of folds; each is predicted by models that have not seen its rows.
    decision : {"median", "mode", "mean"} or array-like of shape (K, K), default "median"
        How ``predict`` decides, as in :class:`rankwise.CumulativeLink`.
    random_state : int, RandomState or None, default 0
        Seed of the folds.
    classes : array-like, optional
        The classes, lowest first; by default those that an estimator declares, or else those of the labels.

    Attributes
    ----------
    estimators_ : list
        The models, fitted to all rows.
    weights_ : ndarray of shape (M,)
        Their weights.
    classes_ : ndarray of shape (K,)
        The classes, lowest first.

    Examples
    --------
    >>> from rankwise import BlendedOrdinal, CumulativeLink
    >>> from rankwise.datasets import make_ordinal
    >>> X, y = make_ordinal(300, 3, 4, noise=0.5, random_state=0)
    >>> model = BlendedOrdinal([CumulativeLink(alpha=10.0), CumulativeLink(alpha=1e-3)]).fit(X, y)
    >>> bool(model.weights_[1] > model.weights_[0])
    True
    """

    _learnt = "weights_"
    label_kinds: ClassVar[frozenset[str]] = frozenset({"exact", "interval", "candidates"})

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimators": [list, tuple],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "decision": [StrOptions(set(DECISIONS)), "array-like"],
        "random_state": ["random_state"],
        "classes": ["array-like", None],
    }

    def __init__(
        self, estimators: Sequence[Any], cv: int = 5, decision: Any = "median", random_state: Any = 0,
        classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the models, and the weights of their mixture to rows that they have not seen.

        Parameters
        ----------
        X : table or matrix
            Rows, in a form that the models take.
        y : array-like
            Labels of any form that :func:`rankwise.labels.encode` reads and the models support.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0.
        """
        with self._afresh() as model:
            model._check_estimators()
            X, labels = rows_and_labels(X, y, declared_classes(model))
            weight = check_weights(sample_weight, len(labels))
            model._check_decision(labels.classes.size)
            rows = np.arange(len(labels))
            fitted = [fitted_to(one, X, labels, weight, rows) for one in model.estimators]
            for one in fitted:  # an estimator may declare classes of its own, or take no order from the labels
                if not np.array_equal(one.classes_, labels.classes):
                    raise ValueError(
                        f"estimators: {type(one).__name__} has other classes, {show(np.asarray(one.classes_))}, than "
                        f"the mixture, {show(labels.classes)}."
                    )
            folds = StratifiedIntervalKFold(model.cv, shuffle=True, random_state=model.random_state)
            weights = weight if weight.size else None
            options: dict[str, Any] = {"cv": folds, "method": "predict_proba", "sample_weight": weights}
            unseen = [of_labels(labels, cross_val_predict(one, X, labels, **options)) for one in model.estimators]
            counts = np.where(labels.is_missing, 0.0, 1.0 if weights is None else weights)
            model._become_mixture(fitted, stacking_weights(np.column_stack(unseen), counts), labels.classes)
        return self

    def _become_mixture(self, estimators: list[Any], weights: Floats, classes: NDArray[Any]) -> None:
        self.estimators_, self.weights_, self.classes_ = estimators, weights, classes

    def _rows(self, X: Any, *, reset: bool) -> Any:
        return indexable(X)  # the models inside read them

    def _probabilities(self, rows: Any) -> Floats:
        pairs = zip(self.weights_, self.estimators_, strict=True)
        return np.asarray(sum(v * one.predict_proba(rows) for v, one in pairs if v > 0.0))

    @reader
    def decision_function(self, X: Any) -> Floats:
        """Minus the expected cost of every answer, (n, K); their difference, (n,), for two classes."""
        return self._answer_scores(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimators:
            tags.input_tags = get_tags(self.estimators[0]).input_tags
        return tags

    def _layer(self) -> Layer:
        return Layer(self.estimators_[0], adjusts=True)  # the columns of all are the same

    @reader
    def to_plain(self) -> dict[str, Any]:
        """The models and their weights: what a model file holds."""
        return {"estimators": self.estimators_, "weights": self.weights_, "classes": self.classes_}

    def _check_estimators(self) -> None:
        self._validate_params()
        if not self.estimators:
            raise ValueError("estimators must hold at least one estimator. Got none.")
        for estimator in self.estimators:
            if not hasattr(estimator, "predict_proba"):
                raise ValueError(
                    f"estimators must have predict_proba. {type(estimator).__name__} has none: put it into "
                    f"CalibratedOrdinal."
                )

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        self._check_estimators()
        estimators, weights = plain["estimators"], plain["weights"]
        order = self._take_classes(plain["classes"])
        self._check_decision(len(order))
        if not isinstance(estimators, list) or not estimators:
            raise ValueError("a mixture needs models")
        require_array("weights", weights, np.float64, (len(estimators),))
        if (weights < 0).any() or abs(weights.sum() - 1.0) > 1e-6:
            raise ValueError("the weights must not be negative and add up to one")
        for one in estimators:
            if not hasattr(one, "predict_proba") or not np.array_equal(one.classes_, order.values):
                raise ValueError("a model of the mixture has no probabilities, or other classes")
        self._become_mixture(estimators, weights, order.values)
