"""Conformal sets on a stream, whose rows need not be exchangeable: adaptive conformal inference.

Before a row is learnt it gets the set of all classes with ``s(x, y) <= q``, q the ``1 - eps_t`` quantile of the scores
of the last rows. Its label then says whether the set missed, and

    eps_(t+1) = eps_t + rate (eps - miss_t),      eps = 1 - level

After a miss sets grow, after hits they shrink a little. Whatever the stream does, the share of misses in T labelled
rows exceeds eps by at most ``(1 - eps + rate) / (rate T)``. An imprecise label misses if a class that it admits is not
in the set (``labels="guaranteed"``), or if none is (``labels="weak"``).

Source: Gibbs and Candes, "Adaptive conformal inference under distribution shift", 2021.
"""

import math
from collections.abc import Mapping
from copy import deepcopy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise._sklearn import COUNT, Interval, take_rows
from rankwise._types import Floats
from rankwise.base.state import require_array
from rankwise.base.transaction import reader
from rankwise.calibration import _nonconformity
from rankwise.calibration.inner_fits import SetModel, held, known_classes, rows_and_labels
from rankwise.labels import ClassOrder, check_weights


class OnlineConformalOrdinal(SetModel):
    """Sets of neighbouring classes around an online estimator that keep their promise on a stream that changes.

    Parameters
    ----------
    estimator : estimator
        An online estimator, or anything with ``partial_fit`` and ``predict``.
    level : float, default 0.9
        Share of the rows whose set is to hold the truth, in the long run.
    score : {"shortest", "median", "distance"}, default "distance"
        How sets grow, as in :class:`rankwise.ConformalOrdinal`.
    labels : {"guaranteed", "weak"}, default "guaranteed"
        What imprecise labels must find in a set: all classes that they admit, or one.
    rate : float, default 0.01
        How fast the sets adapt to a change.
    window : int, default 1000
        Number of latest rows whose scores are remembered.
    classes : array-like, optional
        All classes, lowest first; those of the estimator by default. A stream needs them declared.

    Attributes
    ----------
    estimator_ : estimator
        What predicts.
    miss_rate_ : float
        The present ``eps_t``.
    classes_ : ndarray of shape (K,)
        The classes, lowest first.
    n_labelled_, n_missed_ : int
        Labelled rows so far, and those whose set missed.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(1500, 3, 5, noise=0.5, random_state=0)
    >>> model = rw.OnlineConformalOrdinal(rw.PRIL(), level=0.9, classes=[1, 2, 3, 4, 5])
    >>> sets = model.progressive_predict_set(X, y)
    >>> bool(sets[range(1500), y - 1].mean() > 0.88)
    True
    """

    _learnt = "estimator_"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SetModel._parameter_constraints,
        "rate": [Interval(Real, 0, 1, closed="neither")],
        "window": [COUNT],
    }

    def __init__(
        self, estimator: Any, level: float = 0.9, score: str = "distance", labels: str = "guaranteed",
        rate: float = 0.01, window: int = 1000, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch, one pass in the order given; see :meth:`partial_fit`."""
        with self._afresh() as model:
            for name in ("estimator_", "classes_"):
                model.__dict__.pop(name, None)
            model._learn(X, y, None, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, in the order given. A chunk with a bad row leaves everything as it was.

        Parameters
        ----------
        X, y
            As in :meth:`ConformalOrdinal.fit`.
        classes : array-like, optional
            All classes, lowest first, for the first call.
        sample_weight : array-like of shape (n,), optional
            Importance of each row to the estimator, >= 0. A miss is a miss whatever its weight.
        """
        self.progressive_predict_set(X, y, classes, sample_weight)
        return self

    def progressive_predict_set(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> NDArray[np.bool_]:
        """Give each row its set, (n, K), then learn from it; arguments as in :meth:`partial_fit`."""
        with self._afresh() as model:
            if "estimator_" in vars(self):
                model.estimator_ = deepcopy(self.estimator_)
                model._recent = self._recent.copy()
            return model._learn(X, y, classes, sample_weight)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> NDArray[np.bool_]:
        self._validate_params()
        if "estimator_" not in vars(self):
            declared = [classes, self.classes, known_classes(self.estimator, prefit=False)]
            X, labels = rows_and_labels(X, y, next((given for given in declared if given is not None), None))
            self.classes_ = labels.classes
            self.estimator_ = clone(self.estimator)
            self._recent, self.miss_rate_ = np.empty(0), 1.0 - self.level
            self.n_labelled_ = self.n_missed_ = 0
        else:
            X, labels = rows_and_labels(X, y, self.classes_)
        weight = check_weights(sample_weight, len(labels))
        sets = np.ones((len(labels), self.classes_.size), dtype=bool)
        for i in range(len(labels)):
            row, label = take_rows(X, slice(i, i + 1)), labels.take(slice(i, i + 1))
            if self.n_labelled_:
                scores = self._scores(self.estimator_, row)
                sets[i] = held(self._ends_of(scores), self.classes_.size)[0]
                if not label.is_missing[0]:
                    self._judge(scores, sets[i], label.admissible())
            elif not label.is_missing[0]:
                self.n_labelled_ = 1  # a set of all classes misses nothing
            weights = {"sample_weight": weight[i : i + 1]} if weight.size else {}
            self.estimator_.partial_fit(row, label, classes=self.classes_, **weights)
        return sets

    def _judge(self, scores: Floats, inside: NDArray[np.bool_], admitted: NDArray[np.bool_]) -> None:
        """Remember how badly the label fits, and move the rate by whether the set missed it."""
        missed = (admitted[0] & ~inside).any() if self.labels == "guaranteed" else not (admitted[0] & inside).any()
        self.n_labelled_ += 1
        self.n_missed_ += int(missed)
        self.miss_rate_ += self.rate * (1.0 - self.level - float(missed))
        score = _nonconformity.label_scores(scores, admitted, self.labels)
        self._recent = np.append(self._recent[max(0, self._recent.size + 1 - self.window) :], score)

    def _ends(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._ends_of(self._scores(self.estimator_, X))

    def _ends_of(self, scores: Floats) -> tuple[NDArray[Any], NDArray[Any]]:
        count = math.ceil((self._recent.size + 1) * (1.0 - self.miss_rate_) - 1e-9)
        bound = math.inf if count > self._recent.size else -math.inf if count < 1 else np.sort(self._recent)[count - 1]
        return _nonconformity.ends(scores <= bound, scores)

    # -- the estimator inside, and files -------------------------------------------------------------------------------

    @reader
    def to_plain(self) -> dict[str, Any]:
        """The estimator and what its sets follow from: what a model file holds."""
        return {
            "estimator": self.estimator_,
            "classes": list(self.classes_),
            "recent": self._recent,
            "miss_rate": self.miss_rate_,
            "counts": np.array([self.n_labelled_, self.n_missed_]),
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        classes, recent, counts = ClassOrder(plain["classes"]).values, plain["recent"], plain["counts"]
        if type(plain["estimator"]) is not type(self.estimator):
            raise ValueError("the estimator is not the one that the parameters name")
        require_array("recent", recent, np.float64, (len(recent),))
        require_array("counts", counts, np.int64, (2,))
        if not 0 <= counts[1] <= counts[0] or not math.isfinite(plain["miss_rate"]):
            raise ValueError("the counts or the rate cannot be those of a stream")
        self.estimator_, self.classes_, self._recent = plain["estimator"], classes, recent
        self.miss_rate_ = float(plain["miss_rate"])
        self.n_labelled_, self.n_missed_ = (int(count) for count in counts)
