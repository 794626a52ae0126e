"""Sets of neighbouring classes that hold the truth with a promised probability (conformal prediction).

Each row of a calibration part gets a score ``s(x, y)`` that says how badly its label fits it
(:mod:`rankwise.calibration._nonconformity`). The bound q is the ``ceil((n + 1) level)``-th smallest of the n scores.
If calibration rows and new rows are exchangeable, the set of all classes with ``s(x, y) <= q`` holds the class of a
new row with probability at least ``level``, however good the estimator is.

A label may admit several classes. The largest score among them stands for the worst of them, so the promise holds
whatever the truth is (``labels="guaranteed"``). The smallest promises only that the set holds *some* class which the
annotator would have admitted (``labels="weak"``); its sets are shorter. Rows without a label say nothing and are left
out, as if labels were missing by chance.

``per_class``: a bound for each class, so that the promise holds within every class. Whether a row with an imprecise
label belongs to a class is not known; the guaranteed bound is the largest over all ways in which it may (a row counts
if its score is above the bound and does not if it is below).

``cv="cross"``: no row is lost for learning. Each of k models is judged on the fold that it did not see, and a class
is in the set of a new row unless it fits worse, in the model of their fold, than nearly all calibration rows (CV+;
Barber and others, "Predictive inference with the jackknife+", 2021). The promise is then ``1 - 2 (1 - level)``, less
a little; in practice coverage is near ``level``.

Sources: Vovk and others, "Algorithmic learning in a random world", 2005; Cauchois and others, "Predictive inference
with weak supervision", 2024; Romano and others, "Classification with valid and adaptive coverage", 2020.
"""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from rankwise._sklearn import Interval, StrOptions
from rankwise._types import Floats
from rankwise._warn import warn_user
from rankwise.base.row_data import indexable, rows_at
from rankwise.base.state import require_array
from rankwise.base.transaction import reader
from rankwise.calibration import _nonconformity
from rankwise.calibration.inner_fits import SetModel, fitted_to, folds, known_classes, rows_and_labels, weights_of
from rankwise.labels import ClassOrder, Labels, check_weights
from rankwise.labels.label_values import show

_FOLDS = 5


class ConformalOrdinal(SetModel):
    """Sets of neighbouring classes that hold the truth with a promised probability.

    Parameters
    ----------
    estimator : estimator
        Any classifier of ordered classes: an estimator of rankwise, a :class:`rankwise.TableModel`, a pipeline.
    level : float, default 0.9
        Promised probability that a set holds the class of a new row.
    score : {"shortest", "median", "distance"}, default "shortest"
        How sets grow: the shortest window of a given probability; from the median to the more probable side; by ranks
        around the predicted class. The first two need ``predict_proba``.
    labels : {"guaranteed", "weak"}, default "guaranteed"
        What imprecise calibration labels promise: that the set holds the truth, or a class that the label admits.
    cv : {"split", "cross", "prefit"} or int, default "split"
        Where calibration rows come from: a part of the rows that the estimator does not learn from; folds (five, or
        this many), each judged by a model that has not seen it; all rows, as ``estimator`` is fitted already.
    per_class : bool, default False
        Keep the promise within each class, with a bound for each.
    calibration_fraction : float, default 0.25
        Share of the rows that ``cv="split"`` keeps for calibration.
    random_state : int, RandomState or None, default None
        Seed of the split.

    Attributes
    ----------
    estimator_ : estimator
        What predicts; learnt from all rows if ``cv="cross"``.
    bounds_ : ndarray of shape (K,)
        Largest score in a set, for each class; NaN if ``cv="cross"``, where bounds depend on the row.
    n_calibration_ : int
        Labelled rows that calibrated the sets.
    classes_
        As in :class:`rankwise.CalibratedOrdinal`.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(2000, 3, 5, noise=0.5, random_state=0)
    >>> model = rw.ConformalOrdinal(rw.CumulativeLink(), level=0.9, random_state=0).fit(X[:1000], y[:1000])
    >>> model.predict_interval(X[1000:1002]).shape
    (2, 2)
    >>> sets = model.predict_set(X[1000:])
    >>> bool(sets[range(1000), y[1000:] - 1].mean() > 0.87)
    True
    """

    _learnt = "bounds_"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SetModel._parameter_constraints,
        "cv": [StrOptions({"split", "cross", "prefit"}), Interval(Integral, 2, None, closed="left")],
        "per_class": ["boolean"],
        "calibration_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, estimator: Any, level: float = 0.9, score: str = "shortest", labels: str = "guaranteed",
        cv: str | int = "split", per_class: bool = False, calibration_fraction: float = 0.25, random_state: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator and calibrate its sets.

        Parameters
        ----------
        X, y
            Rows in a form that the estimator takes, and labels of any form that it supports.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0, for learning and for calibration. The new row that a promise is about counts
            as much as the heaviest calibration row.
        """
        with self._afresh() as model:
            model._validate_params()
            if model.per_class and model._has_folds:
                raise ValueError(f"per_class needs cv='split' or 'prefit': folds share one bound. Got cv={model.cv!r}.")
            X, labels = rows_and_labels(X, y, known_classes(model.estimator, model.cv == "prefit"))
            weight = check_weights(sample_weight, len(labels))
            model.classes_ = labels.classes
            model._fit(X, labels, weight)
        return self

    def _fit(self, X: Any, labels: Labels, weight: Floats) -> None:
        rows = np.arange(len(labels))
        labelled = rows[~labels.is_missing]
        if self.cv == "prefit":
            self.estimator_ = self.estimator
            self._calibrate(self._scores(self.estimator, rows_at(X, labelled)), labels, weight, labelled)
        elif self.cv == "split":
            held_out = self._held_out(labelled)
            self.estimator_ = fitted_to(self.estimator, X, labels, weight, np.setdiff1d(rows, held_out))
            self._calibrate(self._scores(self.estimator_, rows_at(X, held_out)), labels, weight, held_out)
        else:
            self._cross(X, labels, weight, rows, labelled)

    def _held_out(self, labelled: NDArray[Any]) -> NDArray[Any]:
        """Labelled rows to calibrate with."""
        count = int(self.calibration_fraction * labelled.size)
        self._require_enough(count)
        return np.sort(check_random_state(self.random_state).permutation(labelled)[:count])

    def _calibrate(self, scores: Floats, labels: Labels, weight: Floats, rows: NDArray[Any]) -> None:
        """Bounds from the scores (m, K) of rows that the model has not seen."""
        self._require_enough(rows.size)
        self.n_calibration_ = int(rows.size)
        w = weights_of(weight, rows)
        admitted = labels.take(rows).admissible()
        if not self.per_class:
            bound = _bound(_nonconformity.label_scores(scores, admitted, self.labels), w, self.level)
            self.bounds_ = np.full(scores.shape[1], bound)
            return
        if self.labels == "weak":  # the row is taken for one of the class that fits it best
            best = np.where(admitted, scores, np.inf).argmin(axis=1)
            admitted = np.arange(scores.shape[1]) == best[:, None]
        certain = admitted & (admitted.sum(axis=1) == 1)[:, None]
        self.bounds_ = np.array(
            [
                _worst_bound(scores[:, k], certain[:, k], admitted[:, k] & ~certain[:, k], w, self.level)
                for k in range(scores.shape[1])
            ]
        )
        unbounded = self.classes_[np.isinf(self.bounds_)]
        if unbounded.size:
            warn_user(
                f"too few calibration rows have the classes {show(unbounded)} for a level of {self.level:g}, which "
                f"takes {_least_rows(self.level)} each: every set holds them.",
                UserWarning,
            )

    def _cross(self, X: Any, labels: Labels, weight: Floats, rows: NDArray[Any], labelled: NDArray[Any]) -> None:
        """Models that have not seen their fold, and the scores of the folds."""
        self._require_enough(labelled.size)
        n_folds = _FOLDS if self.cv == "cross" else int(self.cv)
        self.models_, self._fold_scores, self._fold_weights = [], [], []
        for fold in folds(labelled, n_folds, self.random_state):
            model = fitted_to(self.estimator, X, labels, weight, np.setdiff1d(rows, fold))
            admitted = labels.take(fold).admissible()
            scores = _nonconformity.label_scores(self._scores(model, rows_at(X, fold)), admitted, self.labels)
            places = np.argsort(scores, kind="stable")
            self.models_.append(model)
            self._fold_scores.append(scores[places])
            self._fold_weights.append(weights_of(weight, fold)[places])
        self.estimator_ = fitted_to(self.estimator, X, labels, weight, rows)
        self.n_calibration_ = int(labelled.size)
        self.bounds_ = np.full(labels.classes.size, np.nan)

    # -- sets --------------------------------------------------------------------------------------------------------

    def _ends(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        if not self._has_folds:
            scores = self._scores(self.estimator_, X)
            return _nonconformity.ends(scores <= self.bounds_, scores)
        total: Any = 0.0
        below: Any = 0.0
        for model, fold_scores, weight in zip(self.models_, self._fold_scores, self._fold_weights, strict=True):
            scores = self._scores(model, X)
            worse = np.concatenate([[0.0], np.cumsum(weight)])
            below = below + worse[np.searchsorted(fold_scores, scores, side="left")]
            total = total + scores
        weights = np.concatenate(self._fold_weights)
        inside = np.asarray(below < _needed(float(weights.sum()), float(weights.max()), self.level))
        return _nonconformity.ends(inside, total)

    # -- the estimator inside ----------------------------------------------------------------------------------------

    @available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), "predict_proba"))
    @reader
    def predict_proba(self, X: Any) -> Floats:
        """Probability of every class, (n, K), as the estimator has it."""
        return np.asarray(self.estimator_.predict_proba(indexable(X)))

    # -- checks and files ----------------------------------------------------------------------------------------------

    @property
    def _has_folds(self) -> bool:
        """Whether each fold of the calibration rows has a model of its own."""
        return self.cv not in ("split", "prefit")

    def _require_enough(self, n_rows: int) -> None:
        if n_rows < _least_rows(self.level):
            raise ValueError(
                f"a level of {self.level:g} takes at least {_least_rows(self.level)} labelled calibration rows. "
                f"Got {n_rows}: give more rows, a lower level, or cv='cross'."
            )

    @reader
    def to_plain(self) -> dict[str, Any]:
        """The fitted estimators and what calibrated them: what a model file holds."""
        plain = {
            "estimator": self.estimator_,
            "classes": list(self.classes_),
            "bounds": self.bounds_,
            "n_calibration": self.n_calibration_,
        }
        if self._has_folds:
            plain |= {"models": self.models_, "scores": self._fold_scores, "weights": self._fold_weights}
        return plain

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        classes = ClassOrder(plain["classes"]).values
        models = list(plain.get("models", []))
        for model in (plain["estimator"], *models):
            if type(model) is not type(self.estimator):
                raise ValueError("the estimator is not the one that the parameters name")
        bounds = plain["bounds"]
        require_array("bounds", np.where(np.isnan(bounds), 0.0, bounds), np.float64, classes.shape, finite=False)
        calibrated = list(zip(plain.get("scores", []), plain.get("weights", []), strict=True))
        if bool(models) != self._has_folds or len(calibrated) != len(models):
            raise ValueError(f"{len(models)} models and {len(calibrated)} folds do not go with cv={self.cv!r}")
        for scores, weights in calibrated:
            require_array("scores", scores, np.float64, (len(scores),))
            require_array("weights", weights, np.float64, scores.shape)
        self.estimator_, self.classes_, self.bounds_ = plain["estimator"], classes, bounds
        self.n_calibration_ = int(plain["n_calibration"])
        if models:
            self.models_, self._fold_scores, self._fold_weights = models, *map(list, zip(*calibrated, strict=True))


def _least_rows(level: float) -> int:
    """How many rows with equal weights a level takes: n with ``ceil((n + 1) level) <= n``."""
    return math.ceil(level / (1.0 - level) - 1e-9)


def _needed(total: float, heaviest: float, level: float) -> float:
    """Weight of the calibration rows that must not fit worse; all rows and the new one have a part ``level`` of it."""
    return level * (total + heaviest) * (1.0 - 1e-12)  # 0.7 * 10 is above 7


def _bound(scores: Floats, weight: Floats, level: float) -> float:
    """Smallest score that enough of the rows do not exceed; infinite if there is none."""
    certain = np.ones(scores.size, dtype=bool)
    return _worst_bound(scores, certain, ~certain, weight, level)


def _worst_bound(
    scores: Floats, certain: NDArray[np.bool_], possible: NDArray[np.bool_], weight: Floats, level: float
) -> float:
    """Smallest bound that holds whichever of the possible rows belong to the class, besides the certain ones."""
    if not weight[certain].sum() > 0.0:
        return math.inf
    counts = certain | possible
    order = np.argsort(scores[counts], kind="stable")
    values = scores[counts][order]
    sure = np.cumsum(np.where(certain, weight, 0.0)[counts][order])
    maybe = np.cumsum(np.where(possible, weight, 0.0)[counts][order])
    last = np.searchsorted(values, values, side="right") - 1  # equal scores count together
    above = maybe[-1] - maybe[last]
    enough = sure[last] >= _needed(sure[-1] + above, float(weight[counts].max()), level)
    return float(values[np.argmax(enough)]) if enough.any() else math.inf
