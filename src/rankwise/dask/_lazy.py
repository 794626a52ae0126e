"""What every estimator on Dask shares: the way back to one machine, lazy predictions, and scores by partition."""

from collections.abc import Callable
from functools import wraps
from inspect import isabstract
from typing import Any, ClassVar

import dask.array
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.dask._blocks import tree_sum
from rankwise.dask.parts import TaskEngine, aligned_blocks, is_partitioned, naming_partition
from rankwise.labels import check_weights, encode, encode_multilabel

#: Methods with one result a row; each estimator has some of them.
_ROW_BY_ROW = (
    *("predict", "decision_function", "project", "predict_ranking", "predict_top"),
    *("predict_proba", "predict_quantile", "predict_interval"),
)


class OnDask:
    """Base of the estimators on Dask.

    ``fit`` takes a Dask array, a Dask dataframe or a list of delayed blocks; predictions for them are lazy Dask arrays.
    Everything else works as without Dask, and data in memory goes to the plain estimator.
    """

    #: The estimator for one machine: the base that is neither abstract nor on Dask.
    plain: ClassVar[type[Any]]

    n_features_in_: int
    get_params: Callable[..., dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in cls.__bases__:
            if not issubclass(base, OnDask) and not isabstract(base):
                cls.plain = base
                for name in _ROW_BY_ROW:
                    if hasattr(base, name) and name not in cls.__dict__:
                        setattr(cls, name, lazily(base, name))

    def _as_local(self) -> Any:
        """The plain estimator with the same parameters, not fitted."""
        params = self.get_params(deep=False)
        return self.plain(**{name: params[name] for name in self.plain._get_param_names()})

    def to_local(self) -> Any:
        """The fitted estimator of the same name for one machine, such as :class:`rankwise.SVOR`: no Dask in it."""
        check_is_fitted(self)
        local = self._as_local()
        params = self.get_params(deep=False)
        local.__dict__.update({name: value for name, value in self.__dict__.items() if name not in params})
        return local

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score as without Dask, each partition where it is."""
        if not is_partitioned(X):
            return float(self.plain.score(self, X, y, sample_weight))
        model, task = delayed(self.to_local(), traverse=False), delayed(_score, pure=False)
        partitions = enumerate(aligned_blocks(X, y, sample_weight))
        total, weight = TaskEngine().computed([tree_sum([task(model, p, *blocks) for p, blocks in partitions])])[0]
        return float(total / weight) if weight else float("nan")

    def _set_features(self, features: dict[int, tuple[int, NDArray[Any] | None]]) -> None:
        """Take number and names of the features from the first partition and refuse one that has others."""
        first, (n_features, names) = next(iter(features.items()))
        for number, (n, other) in features.items():
            if n != n_features:
                raise ValueError(
                    f"partition {number} has {n} features, partition {first} has {n_features}: all must have the same."
                )
            mine, theirs = (None if array is None else array.tolist() for array in (other, names))
            if mine != theirs:
                raise ValueError(
                    f"partition {number} has the features {mine}, partition {first} has {theirs}: all must have the "
                    f"same in the same order."
                )
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names


def lazily(plain: type[Any], name: str) -> Callable[..., Any]:
    """Method of the plain estimator that gives a lazy Dask array where X is partitioned."""
    eager = getattr(plain, name)

    @wraps(eager)
    def method(self: OnDask, X: Any, *arguments: Any, **options: Any) -> Any:
        if not is_partitioned(X):
            return eager(self, X, *arguments, **options)
        model = self.to_local()
        example = np.asarray(getattr(model, name)(_one_row(model), *arguments, **options))
        shape, like = example.shape[1:], example[:0]
        call, shared = delayed(_predict, pure=True), delayed(model, traverse=False)
        partitions = aligned_blocks(X)
        lengths = X.chunks[0] if isinstance(X, dask.array.Array) else [np.nan] * len(partitions)
        blocks = []
        for p, ((block,), n) in enumerate(zip(partitions, lengths, strict=True)):
            task = call(shared, name, p, block, shape, like.dtype, arguments, options)
            blocks.append(dask.array.from_delayed(task, (n, *shape), meta=like))
        return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)

    return method


def _one_row(model: Any) -> Any:
    """A row of zeros, with names if the model knows any."""
    zeros = np.zeros((1, model.n_features_in_))
    if not hasattr(model, "feature_names_in_"):
        return zeros
    import pandas

    return pandas.DataFrame(zeros, columns=model.feature_names_in_)


def _predict(
    model: Any, name: str, number: int, X: Any, shape: tuple[int, ...], dtype: Any, arguments: Any, options: Any
) -> NDArray[Any]:
    if X.shape[0] == 0:
        return np.empty((0, *shape), dtype=dtype)
    with naming_partition(number):
        return np.asarray(getattr(model, name)(X, *arguments, **options), dtype=dtype)


def _score(model: Any, number: int, X: Any, y: Any, sample_weight: Any) -> tuple[float, float]:
    """Score of one partition times its weight, and that weight."""
    if X.shape[0] == 0:
        return 0.0, 0.0
    with naming_partition(number):
        weight = _counted(model, X.shape[0], y, sample_weight)
        return (weight * model.score(X, y, sample_weight), weight) if weight else (0.0, 0.0)


def _counted(model: Any, n: int, y: Any, sample_weight: Any) -> float:
    """Weight of the rows that the score is a mean over: those whose label is not missing."""
    weight = check_weights(sample_weight, n)
    weight = weight if weight.size else np.ones(n)
    if hasattr(model, "predict_ranking"):
        return float(weight.sum())
    if hasattr(model, "n_annotated_"):
        return float(weight @ (encode_multilabel(y, classes=model.classes_, n_rows=n).codes >= 0).sum(axis=1))
    labels = encode(y, model.classes_, n_rows=n)
    return float(weight[~labels.is_missing].sum())
