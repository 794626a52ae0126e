"""Scorers for ``scoring=`` of scikit-learn's cross-validation that take labels of every form."""

from inspect import signature
from typing import Any, Literal, Self

import numpy as np
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRequest

from rankwise.losses import Loss, interval_insensitive, interval_pessimistic
from rankwise.metrics._calibration import cumulative_brier_score, cumulative_calibration_error
from rankwise.metrics._probability import log_score, ranked_probability_score
from rankwise.metrics.comparison import compare, mean, needs_order
from rankwise.metrics.ordinal_metrics import (
    accuracy_within,
    kendall_tau,
    macro_mean_absolute_error,
    quadratic_weighted_kappa,
)

_SCORES: dict[str, Any] = {
    "ranked": ranked_probability_score,
    "log": log_score,
    "brier": cumulative_brier_score,
    "calibration": cumulative_calibration_error,
}
_METRICS: dict[str, tuple[Any, float]] = {
    "quadratic_weighted_kappa": (quadratic_weighted_kappa, 1.0),
    "kendall_tau": (kendall_tau, 1.0),
    "macro_mean_absolute_error": (macro_mean_absolute_error, -1.0),
    "accuracy_within": (accuracy_within, 1.0),
}
_COSTS = {"nearest": interval_insensitive, "farthest": interval_pessimistic}


class _ClassScorer:
    """Base of the scorers that know the classes of the estimator and can request weights."""

    def __init__(self, classes: Any) -> None:
        self.classes = classes
        self._weight_request: bool | str | None = None

    def _classes_of(self, estimator: Any) -> Any:
        return getattr(estimator, "classes_", None) if self.classes is None else self.classes

    def __repr__(self) -> str:
        given = (f"{name}={getattr(self, name)!r}" for name in signature(type(self)).parameters)
        return f"{type(self).__name__}({', '.join(given)})"

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Set whether cross-validation and searches pass weights to this scorer, as with scikit-learn's scorers.

        Parameters
        ----------
        sample_weight : bool, str or None
            True: request weights; False: do not; None: passing weights is an error; a string: request them under this
            name. Needs ``sklearn.set_config(enable_metadata_routing=True)``.
        """
        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError("set_score_request needs sklearn.set_config(enable_metadata_routing=True) before it.")
        MetadataRequest(owner=self).score.add_request(param="sample_weight", alias=sample_weight)  # checks the alias
        self._weight_request = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """What this scorer requests, read by scikit-learn's metadata routing."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._weight_request)
        return request


class IntervalScorer(_ClassScorer):
    """Minus the mean loss of an estimator's predictions, in ranks of the estimator's own classes; higher is better.

    Unlike ``make_scorer(rankwise.metrics.mean_absolute_error, greater_is_better=False)`` it knows the classes that the
    estimator was fitted to, so distances are right in folds that lack a class. Rows without a label are left out.

    Parameters
    ----------
    loss : {"mae", "zero_one", "squared"} or array-like of shape (K, K), default="mae"
        Target loss, see :func:`rankwise.losses.loss_matrix`.
    against : {"nearest", "farthest"}, default="nearest"
        Which admissible class to compare with, where there are several: the one that fits best (the
        interval-insensitive loss, a lower bound) or worst (an upper bound).
    classes : sequence, optional
        The classes, lowest first; by default ``classes_`` of the estimator, or the labels that occur if it has none.

    Examples
    --------
    >>> from sklearn.model_selection import cross_validate
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(300, 3, 4, noise=0.1, random_state=0)
    >>> scores = cross_validate(
    ...     rw.PRIL(random_state=0),
    ...     X,
    ...     rw.annotation.type1_intervals(y, random_state=0),
    ...     cv=rw.evaluation.StratifiedIntervalKFold(3),
    ...     scoring={"at best": IntervalScorer(), "at worst": IntervalScorer(against="farthest")},
    ... )
    >>> bool((scores["test_at worst"] <= scores["test_at best"]).all())
    True
    """

    def __init__(
        self, loss: Loss = "mae", *, against: Literal["nearest", "farthest"] = "nearest", classes: Any = None
    ) -> None:
        if against not in _COSTS:
            raise ValueError(f"against must be 'nearest' or 'farthest'. Got {against!r} instead.")
        super().__init__(classes)
        self.loss = loss
        self.against = against

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the weighted mean loss of ``estimator.predict(X)``."""
        classes = self._classes_of(estimator)
        labels, codes, weight = compare(
            y, estimator.predict(X), classes, sample_weight, "IntervalScorer", ordered=needs_order(self.loss)
        )
        return -mean(_COSTS[self.against](labels, codes, self.loss), weight)


class MetricScorer(_ClassScorer):
    """A metric of an estimator's predictions, in the order of the estimator's own classes; higher is better.

    ``make_scorer(rankwise.metrics.quadratic_weighted_kappa)`` sees only the labels of a fold: it knows neither the
    order of names nor classes that do not occur there.

    Parameters
    ----------
    metric : {"quadratic_weighted_kappa", "kendall_tau", "macro_mean_absolute_error", "accuracy_within"}
        The function of this name in :mod:`rankwise.metrics`; minus its value where it is an error.
    classes : sequence, optional
        The classes, lowest first; by default ``classes_`` of the estimator.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(300, 3, 3, noise=0.5, random_state=0)
    >>> words = ["low", "medium", "high"]
    >>> model = rw.CumulativeLink(classes=words)
    >>> scorer = MetricScorer("quadratic_weighted_kappa")
    >>> cross_val_score(model, X, [words[code - 1] for code in y], scoring=scorer, cv=3).round(1)
    array([0.8, 0.8, 0.8])
    """

    def __init__(self, metric: str, *, classes: Any = None) -> None:
        if metric not in _METRICS:
            raise ValueError(f"metric must be one of {', '.join(map(repr, _METRICS))}. Got {metric!r} instead.")
        super().__init__(classes)
        self.metric = metric

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The metric of ``estimator.predict(X)``, or minus it."""
        metric, sign = _METRICS[self.metric]
        classes = self._classes_of(estimator)
        return sign * float(metric(y, estimator.predict(X), classes=classes, sample_weight=sample_weight))


class ProbabilityScorer(_ClassScorer):
    """Minus the score of an estimator's probabilities, with its own classes; higher is better.

    Parameters
    ----------
    score : {"ranked", "log", "brier", "calibration"}, default "ranked"
        :func:`rankwise.metrics.ranked_probability_score`, which knows the order of the classes,
        :func:`rankwise.metrics.log_score`, :func:`rankwise.metrics.cumulative_brier_score` or
        :func:`rankwise.metrics.cumulative_calibration_error`.
    against : {"label", "nearest", "farthest"}, default "label"
        What is scored where a label admits several classes; see these functions.
    classes : sequence, optional
        The classes, lowest first; by default ``classes_`` of the estimator.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(300, 3, 4, noise=0.5, random_state=0)
    >>> search = GridSearchCV(rw.CumulativeLink(), {"alpha": [0.001, 1000.0]}, scoring=ProbabilityScorer("ranked"))
    >>> search.fit(X, y).best_params_
    {'alpha': 0.001}
    """

    def __init__(self, score: str = "ranked", *, against: Any = "label", classes: Any = None) -> None:
        if score not in _SCORES:
            raise ValueError(f"score must be one of {', '.join(map(repr, _SCORES))}. Got {score!r} instead.")
        super().__init__(classes)
        self.score = score
        self.against = against

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the weighted mean score of ``estimator.predict_proba(X)``."""
        options = dict(against=self.against, classes=self._classes_of(estimator), sample_weight=sample_weight)
        return -float(_SCORES[self.score](y, estimator.predict_proba(X), **options))


class _PresentClassesScorer(IntervalScorer):
    """Numbers are classes if they are among the labels or the predictions; words are those of the estimator."""

    def _classes_of(self, estimator: Any) -> Any:
        classes = super()._classes_of(estimator)
        return None if classes is None or np.asarray(classes).dtype.kind in "biuf" else classes


#: For ``scoring=``. Where a fold may lack one of the numbers, take the estimator's own ``score`` or
#: :class:`rankwise.evaluation.IntervalScorer`, which know all classes.
neg_mean_absolute_error_scorer = _PresentClassesScorer()
neg_mean_squared_error_scorer = IntervalScorer("squared")
neg_macro_mean_absolute_error_scorer = MetricScorer("macro_mean_absolute_error")
quadratic_weighted_kappa_scorer = MetricScorer("quadratic_weighted_kappa")
kendall_tau_scorer = MetricScorer("kendall_tau")
accuracy_within_one_scorer = MetricScorer("accuracy_within")
neg_log_score_scorer = ProbabilityScorer("log")
neg_ranked_probability_score_scorer = ProbabilityScorer("ranked")
neg_cumulative_brier_score_scorer = ProbabilityScorer("brier")
neg_cumulative_calibration_error_scorer = ProbabilityScorer("calibration")
