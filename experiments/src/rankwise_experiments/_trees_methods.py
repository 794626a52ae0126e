"""Boosted trees of several libraries, and linear models, behind one interface: intervals in, classes and P out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from rankwise import SVOR, BoostedThresholds, CumulativeLink

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

#: Leaves of a tree and rounds, for every boosted method; strengths of the ridge for the linear ones.
TREES = ((6, 150), (31, 60))
ALPHAS = (1e-4, 1e-2)
_RATE = 0.1
_LOGISTIC_SCALE = 1.0


@dataclass(frozen=True, eq=False)
class Task:
    """Training rows with intervals of codes 0..K-1, and rows to predict."""

    X: Floats
    lower: Codes
    upper: Codes
    X_new: Floats
    n_classes: int
    seed: int

    @property
    def middle(self) -> Floats:
        """Midpoints of the labels."""
        return np.asarray((self.lower + self.upper) / 2.0)

    @property
    def middle_class(self) -> Codes:
        """Class nearest to the midpoint."""
        return np.floor(self.middle + 0.5).astype(np.int64)

    def take(self, rows: Any, X_new: Floats) -> Task:
        """Some of the training rows, and other rows to predict."""
        return Task(self.X[rows], self.lower[rows], self.upper[rows], X_new, self.n_classes, self.seed)

    def exact(self) -> Task:
        """Rows whose label is one class; all rows if there is none."""
        rows = np.flatnonzero(self.lower == self.upper)
        return self.take(rows if rows.size else slice(None), self.X_new)


Answer = tuple[Codes, Floats | None]


def _rounded(values: Any, task: Task) -> Answer:
    return np.clip(np.floor(np.asarray(values) + 0.5), 0, task.n_classes - 1).astype(np.int64), None


def _all_classes(found: Floats, classes: Any, task: Task) -> Floats:
    """Probabilities of all classes, of which a classifier has met some."""
    whole = np.zeros((len(found), task.n_classes))
    whole[:, np.asarray(classes, dtype=int)] = found
    return whole


def _median(probabilities: Floats) -> Answer:
    return (probabilities.cumsum(axis=1)[:, :-1] <= 0.5).sum(axis=1), probabilities


def ours(task: Task, setting: Any, **options: Any) -> Answer:
    """BoostedThresholds."""
    leaves, rounds = setting
    model = BoostedThresholds(
        max_leaf_nodes=leaves, max_iter=rounds, learning_rate=_RATE, early_stopping=False, n_jobs=1,
        random_state=task.seed, classes=np.arange(task.n_classes), **options,
    )  # fmt: skip
    model.fit(task.X, np.column_stack([task.lower, task.upper]))
    likely = model.predict_proba(task.X_new) if hasattr(model, "predict_proba") else None
    return model.predict(task.X_new), likely


def lightgbm_regression(task: Task, setting: Any) -> Answer:
    """LightGBM's L2 regression of midpoints, rounded."""
    from lightgbm import LGBMRegressor

    leaves, rounds = setting
    model = LGBMRegressor(num_leaves=leaves, n_estimators=rounds, learning_rate=_RATE, n_jobs=1, verbosity=-1)
    return _rounded(model.fit(task.X, task.middle).predict(task.X_new), task)


def lightgbm_classifier(task: Task, setting: Any) -> Answer:
    """Median of the probabilities of LightGBM's classifier of midpoints."""
    from lightgbm import LGBMClassifier

    leaves, rounds = setting
    model = LGBMClassifier(num_leaves=leaves, n_estimators=rounds, learning_rate=_RATE, n_jobs=1, verbosity=-1)
    model.fit(task.X, task.middle_class)
    return _median(_all_classes(model.predict_proba(task.X_new), model.classes_, task))


def xgboost_aft(task: Task, setting: Any) -> Answer:
    """xgboost's accelerated failure time, on intervals: the logarithm of time is the scale of the classes."""
    import xgboost

    leaves, rounds = setting
    low = np.where(task.lower == 0, 0.0, np.exp(task.lower - 0.5))
    high = np.where(task.upper == task.n_classes - 1, np.inf, np.exp(task.upper + 0.5))
    rows = xgboost.DMatrix(task.X, label_lower_bound=low, label_upper_bound=high, nthread=1)
    params = {
        "objective": "survival:aft", "aft_loss_distribution": "normal", "aft_loss_distribution_scale": _LOGISTIC_SCALE,
        "tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0, "max_leaves": leaves, "eta": _RATE,
        "nthread": 1, "seed": task.seed, "base_score": float(np.exp(task.middle.mean())),
    }  # fmt: skip
    model = xgboost.train(params, rows, rounds)
    with np.errstate(divide="ignore"):
        return _rounded(np.log(model.predict(xgboost.DMatrix(task.X_new, nthread=1))), task)


def sklearn_regression(task: Task, setting: Any) -> Answer:
    """scikit-learn's HistGradientBoosting of midpoints with its absolute error, rounded."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    leaves, rounds = setting
    model = HistGradientBoostingRegressor(
        loss="absolute_error", max_leaf_nodes=leaves, max_iter=rounds, learning_rate=_RATE, early_stopping=False
    )
    return _rounded(model.fit(task.X, task.middle).predict(task.X_new), task)


def sklearn_classifier(task: Task, setting: Any) -> Answer:
    """Median of the probabilities of scikit-learn's HistGradientBoosting classifier of midpoints."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    leaves, rounds = setting
    model = HistGradientBoostingClassifier(
        max_leaf_nodes=leaves, max_iter=rounds, learning_rate=_RATE, early_stopping=False
    )
    model.fit(task.X, task.middle_class)
    return _median(_all_classes(model.predict_proba(task.X_new), model.classes_, task))


def ogboost(task: Task, setting: Any) -> Answer:
    """Median of ogboost's probabilities, from midpoints."""
    from ogboost import GradientBoostingOrdinal

    leaves, rounds = setting
    known, codes = np.unique(task.middle_class, return_inverse=True)
    imputer = SimpleImputer().fit(task.X)
    tree = DecisionTreeRegressor(max_leaf_nodes=leaves, min_samples_leaf=20)
    model = GradientBoostingOrdinal(tree, n_estimators=rounds, learning_rate=_RATE, random_state=task.seed)
    model.fit(imputer.transform(task.X), codes)
    return _median(_all_classes(model.predict_proba(imputer.transform(task.X_new)), known, task))


def cumulative_link(task: Task, setting: Any) -> Answer:
    """CumulativeLink on standardised features."""
    model = make_pipeline(
        SimpleImputer(), StandardScaler(), CumulativeLink(alpha=setting, classes=np.arange(task.n_classes))
    )
    model.fit(task.X, np.column_stack([task.lower, task.upper]))
    return model.predict(task.X_new), model.predict_proba(task.X_new)


def svor(task: Task, setting: Any) -> Answer:
    """SVOR on standardised features."""
    model = make_pipeline(SimpleImputer(), StandardScaler(), SVOR(alpha=setting, classes=np.arange(task.n_classes)))
    return model.fit(task.X, np.column_stack([task.lower, task.upper])).predict(task.X_new), None


@dataclass(frozen=True)
class Method:
    """A way to learn, its two settings, the package it needs, if it learns from exact rows alone, and if it is slow."""

    learn: Callable[..., Answer]
    settings: tuple[Any, ...] = TREES
    package: str = ""
    exact_only: bool = False
    slow: bool = False

    @property
    def available(self) -> bool:
        """Whether its package is installed."""
        return not self.package or find_spec(self.package) is not None

    def __call__(self, task: Task, setting: Any) -> Answer:
        """Classes and, if it knows them, probabilities of the new rows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.learn(task.exact() if self.exact_only else task, setting)


METHODS = {
    "BoostedThresholds": Method(ours, package="lightgbm"),
    "BoostedThresholds, exact rows only": Method(ours, package="lightgbm", exact_only=True),
    "LightGBM regression, midpoints": Method(lightgbm_regression, package="lightgbm"),
    "LightGBM regression, exact rows only": Method(lightgbm_regression, package="lightgbm", exact_only=True),
    "LightGBM classifier, midpoints": Method(lightgbm_classifier, package="lightgbm"),
    "xgboost survival:aft": Method(xgboost_aft, package="xgboost"),
    "HistGradientBoosting regression, midpoints": Method(sklearn_regression),
    "HistGradientBoosting classifier, midpoints": Method(sklearn_classifier, slow=True),
    "ogboost, midpoints": Method(ogboost, package="ogboost", slow=True),
    "CumulativeLink (linear)": Method(cumulative_link, ALPHAS),
    "SVOR (linear)": Method(svor, ALPHAS),
}
