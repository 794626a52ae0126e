"""Running mean and variance of every feature, for rows that come one by one.

Welford's (1962) recursion: with n rows so far, mean m and sum of squared deviations s,

    n <- n + 1,   delta = x - m,   m <- m + delta / n,   s <- s + delta (x - m),

one row after the other, so that chunks of any size give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from rankwise._kernels.scaling import count_rows
from rankwise._sklearn import COUNT
from rankwise._types import Floats
from rankwise.base.estimator import TableEstimator
from rankwise.base.state import require_array
from rankwise.base.transaction import reader

_NOTHING = np.empty((0, 0))
_NEVER = int(np.iinfo(np.int64).max)


class OnlineScaler(OneToOneFeatureMixin, TransformerMixin, TableEstimator):
    """Scale features to mean 0 and standard deviation 1, by the rows seen so far.

    Chunks of any size give the same scales, to the bit. A feature that has not varied yet is only shifted.
    ``TableModel(PRIL(), OnlineScaler())`` is a pipeline with ``partial_fit``: each row is scaled by the rows up to it.

    Parameters
    ----------
    frozen_after : int, optional
        Number of rows after which the scales stay as they are. Scales that move change the meaning of the weights
        learnt before; after some thousand rows they hardly move.

    Attributes
    ----------
    mean_, var_, scale_ : ndarray of shape (d,)
        Mean, variance and standard deviation; the last is 1 where the variance is 0.
    n_samples_seen_ : ndarray of shape (d,)
        Rows in which each feature was counted.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from rankwise import OnlineScaler, PRIL, TableModel
    >>> scaler = OnlineScaler().partial_fit([[1.0, 100.0], [3.0, 300.0]])
    >>> scaler.transform([[2.0, 400.0]])
    array([[0., 2.]])

    With an online estimator, and with rows as dicts:

    >>> model = TableModel(PRIL(classes=[1, 2]), OnlineScaler())
    >>> for X, y in [([[0.0, 100.0], [1.0, 900.0]], [1, 2]), ([[1.0, 800.0]], [2])]:
    ...     model = model.partial_fit(X, y)
    >>> model.predict([[1.0, 900.0]])
    array([2])
    >>> OnlineScaler().learn_one({"a": 1.0, "b": 10.0}).learn_one({"a": 3.0}).transform_one({"a": 4.0})
    {'a': 2.0}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"frozen_after": [COUNT, None]}

    mean_: Floats
    n_samples_seen_: NDArray[np.int64]
    _squares: Floats

    def __init__(self, *, frozen_after: int | None = None) -> None:
        self.frozen_after = frozen_after

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget earlier rows and count these.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : None
            Ignored.
        """
        with self._afresh() as model:
            model._count(X, reset=True, scaled=False)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Count some more rows.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        """
        with self._afresh() as model:
            model._count(X, reset=not model.__sklearn_is_fitted__(), scaled=False)
        return self

    def partial_fit_transform(self, X: Any) -> Floats:
        """Count some more rows; return each of them, scaled by the rows up to it."""
        with self._afresh() as model:
            scaled = model._count(X, reset=not model.__sklearn_is_fitted__(), scaled=True)
        return scaled

    @reader
    def transform(self, X: Any) -> Floats:
        """Rows scaled by the rows seen so far."""
        return np.asarray((self._finite(self._rows(X, reset=False)) - self.mean_) / self.scale_)

    def learn_one(self, x: Mapping[str, Any]) -> Self:
        """Count one row, a dict of named features. Features may be new or absent."""
        x = {str(name): value for name, value in x.items()}
        values = np.array([[float(value) for value in x.values()]])
        if not np.isfinite(values).all():
            raise ValueError(f"features must be finite numbers. Got {dict(x)!r} instead.")
        with self._afresh() as model:
            names = model._names() if model.__sklearn_is_fitted__() else []
            place = {name: j for j, name in enumerate(names)}
            for name in x:
                place.setdefault(name, len(place))
            model._begin(len(place) - len(names), extend=bool(names))
            model._take_features(list(place))
            chosen = np.array([place[name] for name in x], dtype=np.intp)
            state = [array[chosen] for array in model._state()]
            count_rows(values, *state, model._most, _NOTHING)
            for array, counted in zip(model._state(), state, strict=True):
                array[chosen] = counted
        return self

    @reader
    def transform_one(self, x: Mapping[str, Any]) -> dict[str, float]:
        """One row, a dict of named features, scaled; a feature that was never seen is 0."""
        place, scale = {name: j for j, name in enumerate(self._names())}, self.scale_

        def scaled(name: str, value: Any) -> float:
            j = place.get(str(name))
            return 0.0 if j is None else float((float(value) - self.mean_[j]) / scale[j])

        return {name: scaled(name, value) for name, value in x.items()}

    @property
    def var_(self) -> Floats:
        """Variance of every feature."""
        return np.asarray(self._squares / np.maximum(self.n_samples_seen_, 1))

    @property
    def scale_(self) -> Floats:
        """Standard deviation of every feature; 1 where the variance is 0."""
        variance = self.var_
        return np.asarray(np.where(variance > 0.0, np.sqrt(variance), 1.0))

    # -- the model ---------------------------------------------------------------------------------------------------

    def _count(self, X: Any, *, reset: bool, scaled: bool) -> Floats:
        self._validate_params()
        rows = self._finite(self._rows(X, reset=reset)).astype(np.float64)
        self._begin(self.n_features_in_ if reset else 0, extend=not reset)
        out = np.empty(rows.shape) if scaled else _NOTHING
        count_rows(rows, *self._state(), self._most, out)
        return out

    def _begin(self, n_new: int, *, extend: bool) -> None:
        """Copy the arrays, with room for new features; the former ones stay as they were."""
        before = self._state() if extend else (np.empty(0, np.int64), np.empty(0), np.empty(0))
        grown = (np.concatenate([array, np.zeros(n_new, array.dtype)]) for array in before)
        self.n_samples_seen_, self.mean_, self._squares = grown

    def _state(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        return self.n_samples_seen_, self.mean_, self._squares

    def _names(self) -> list[str]:
        if not hasattr(self, "feature_names_in_"):
            raise ValueError(
                "this OnlineScaler has counted rows without names of features, so it cannot tell which feature a name "
                "means: count dicts or tables with names from the start."
            )
        return [str(name) for name in self.feature_names_in_]

    @property
    def _most(self) -> int:
        return _NEVER if self.frozen_after is None else min(int(self.frozen_after), _NEVER)

    def __sklearn_is_fitted__(self) -> bool:
        return "mean_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _rows(self, X: Any, *, reset: bool) -> Any:
        rows = super()._rows(X, reset=reset)
        if isinstance(rows, tuple):
            raise TypeError(
                "A sparse matrix was passed, but OnlineScaler needs dense rows: shifting them would fill in all zeros. "
                "Use X.toarray(), or scikit-learn's MaxAbsScaler."
            )
        return rows

    @reader
    def to_plain(self) -> dict[str, Any]:
        """What it has counted: what a model file holds."""
        counts, mean, squares = self._state()
        return {"features": self._plain_features(), "counts": counts, "mean": mean, "squares": squares}

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the scaler that :meth:`to_plain` described, after checking that it can be one."""
        self._validate_params()
        self._take_features(plain["features"])
        shape = (self.n_features_in_,)
        require_array("counts", plain["counts"], np.int64, shape)
        for name in ("mean", "squares"):
            require_array(name, plain[name], np.float64, shape)
        if (plain["counts"] < 0).any() or (plain["squares"] < 0).any():
            raise ValueError("counts and squares must not be negative")
        self.n_samples_seen_, self.mean_, self._squares = plain["counts"], plain["mean"], plain["squares"]
