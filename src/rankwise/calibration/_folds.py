"""Estimators of any kind, learnt from some of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise._sklearn import take_rows
from rankwise.labels import Labels

Floats = NDArray[np.float64]


def _declared_classes(estimator: Any) -> Any:
    """Classes that the estimator, or one inside it, was given."""
    parameters = estimator.get_params(deep=True)
    named = [value for name, value in parameters.items() if name.rpartition("__")[2] == "classes"]
    return next((value for value in named if value is not None), None)


def known_classes(estimator: Any, prefit: bool) -> Any:
    """Classes of a fitted estimator, or those that one to be fitted was given."""
    if not prefit:
        return _declared_classes(estimator)
    check_is_fitted(estimator)
    return getattr(estimator, "classes_", None)


def fitted(estimator: Any, X: Any, labels: Labels, weight: Floats, rows: NDArray[Any]) -> Any:
    """A fresh estimator, learnt from some rows."""
    weights = {"sample_weight": weight[rows]} if weight.size else {}
    return clone(estimator).fit(take_rows(X, rows), labels.take(rows), **weights)


def folds(rows: NDArray[Any], n_folds: int, random_state: Any) -> list[NDArray[Any]]:
    """The rows dealt out in random order, each fold ascending."""
    if rows.size < n_folds:
        raise ValueError(f"{n_folds} folds need as many labelled rows. Got {rows.size}.")
    order = check_random_state(random_state).permutation(rows)
    return [np.sort(order[k::n_folds]) for k in range(n_folds)]
