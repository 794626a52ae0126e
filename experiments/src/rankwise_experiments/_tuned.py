"""Models whose parameters are chosen on the training part of one partition, and judged on the test parts of all.

A method is a front, which makes features, and a back, which predicts ranks from them, each in several versions. The
choice is the pair with the smallest mean absolute error in repeated 5-fold cross-validation; of equals the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import RepeatedKFold
from sklearn.pipeline import make_pipeline

from rankwise_experiments._journal import watched

Floats = NDArray[Any]
Codes = NDArray[np.int64]
Partition = tuple[Floats, Codes, Floats, Codes]
"""Rows and ranks to learn from, rows and ranks to be judged on."""

FOLDS = 5
MOST_REPEATS = 10


@dataclass(frozen=True, eq=False)
class Method:
    """A model with parameters to choose.

    Attributes
    ----------
    name : str
        What it is called in the tables.
    fronts, backs : mappings of str to estimators
        Transformers and predictors to choose from, by the words that describe them.
    versions : mapping of str to str
        Versions of the packages that its results depend on.
    dtype : type
        Precision of the rows it is given.
    ours : bool
        Whether it is this library's: a failure of another's is a result, one of ours an error.
    """

    name: str
    fronts: Mapping[str, Any]
    backs: Mapping[str, Any]
    versions: Mapping[str, str]
    dtype: type[np.floating[Any]] = np.float64
    ours: bool = False

    def settings(self) -> dict[str, Any]:
        """Everything but data and seeds that its results depend on, as plain values."""
        parts = {**self.fronts, **self.backs}
        return {
            "method": self.name,
            "versions": dict(self.versions),
            "dtype": self.dtype.__name__,
            "models": {words: _plain_parameters(model) for words, model in parts.items()},
        }


def choose(method: Method, X: Floats, y: Codes, *, predictions: int, seed: int) -> dict[str, Any]:
    """Choose front and back by cross-validation.

    Parameters
    ----------
    method : Method
        What to choose from.
    X, y : arrays
        Rows and ranks: the training part of one partition.
    predictions : int
        Judge at least so many predictions: repeat the cross-validation as often as that takes, ten times at most.
    seed : int
        Seed of the folds and of the models.

    Returns
    -------
    dict
        ``front``, ``back``, their cross-validated ``mae``, ``seconds`` and ``unconverged`` networks.
    """
    X = X.astype(method.dtype)
    repeats = min(MOST_REPEATS, ceil(predictions / len(y)))
    folds = RepeatedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=seed)
    errors = dict.fromkeys([(front, back) for front in method.fronts for back in method.backs], 0.0)
    with watched() as facts:
        for seen, unseen in folds.split(X):
            for front, features in method.fronts.items():
                made = _seeded(features, seed).fit(X[seen], y[seen])
                Z, Z_unseen = made.transform(X[seen]), made.transform(X[unseen])
                for back, model in method.backs.items():
                    predicted = _seeded(model, seed).fit(Z, y[seen]).predict(Z_unseen)
                    errors[front, back] += float(np.abs(predicted - y[unseen]).sum())
    front, back = min(errors, key=lambda pair: errors[pair])
    return {"front": front, "back": back, "mae": errors[front, back] / (repeats * len(y)), **facts}


def judge(method: Method, front: str, back: str, partition: Partition, *, seed: int) -> dict[str, Any]:
    """Learn the training part of a partition, and judge on its test part.

    Returns
    -------
    dict
        ``mae``, ``seconds`` and ``unconverged`` networks.
    """
    X, y, X_test, y_test = partition
    model = _seeded(make_pipeline(method.fronts[front], method.backs[back]), seed)
    with watched() as facts:
        predicted = model.fit(X.astype(method.dtype), y).predict(X_test.astype(method.dtype))
    return {"mae": float(np.abs(predicted - y_test).mean()), **facts}


class Consecutive(BaseEstimator):
    """Classifier that shows another one the ranks that occur as 0, 1, 2, ...: some cannot do with gaps.

    Parameters
    ----------
    classifier : estimator
        What learns.
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Floats, y: Codes) -> Consecutive:
        """Learn from rows X with ranks y."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.classifier_ = clone(self.classifier).fit(X, codes)
        return self

    def predict(self, X: Floats) -> Codes:
        """Rank of every row."""
        return np.asarray(self.classes_[np.asarray(self.classifier_.predict(X), dtype=np.int64)])


def _seeded(model: Any, seed: int) -> Any:
    model = clone(model)
    seeds = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(seeds, seed))


def _plain_parameters(model: Any) -> dict[str, str]:
    """Parameters of a model and of the models in it, as text; in the place of a model its type."""
    parameters = {name: value for name, value in model.get_params().items() if name != "steps"}
    texts = {n: type(v).__name__ if hasattr(v, "get_params") else repr(v) for n, v in parameters.items()}
    return {"": type(model).__name__, **texts}
