"""Boosted trees and thresholds, learnt together from imprecise labels.

    minimise   weighted mean of -log P(lo <= y <= hi | x),        P(y <= k | x) = F(t_k - f(x)),

where f is a sum of trees that LightGBM grows, one a round, from the first and second derivatives of the loss by f, and
the thresholds t take a step of Newton's every round (:mod:`rankwise.trees._objective`). When the rounds are over, the
thresholds are solved for exactly, given the trees that are kept. The smoothed hinges of SVOR can take the place of the
likelihood (:mod:`rankwise.trees._hinge_objective`).

Source: none; cumulative links are McCullagh's (1980), the trees those of Friedman (2001) as LightGBM has them.
"""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from rankwise._sklearn import COUNT, NOT_NEGATIVE, POSITIVE, Interval, StrOptions
from rankwise._threads import n_threads
from rankwise._types import Floats
from rankwise._warn import warn_user
from rankwise.base.probabilities import DECISIONS
from rankwise.base.row_data import Rows
from rankwise.labels import Labels, require_support
from rankwise.risks.innermost_intervals import InnermostIntervals
from rankwise.risks.links import LINKS
from rankwise.trees.arrays import DEEPEST, Trees
from rankwise.trees.fitting import FEW, Fit, TreeSettings, check_engine_params, fit_trees
from rankwise.trees.label_reading import constraints_of, make_objective, row_weights
from rankwise.trees.tree_model import TreeModel
from rankwise.trees.tree_rows import ALONE, Team

_NARROW = 64  # columns up to which LightGBM counts row by row, which is faster
BINNED = 50_000  # rows that bins are made from: 200 for each of 255, in half the time of LightGBM's 200,000


class BoostedThresholds(TreeModel):
    """Ordered classes from boosted trees, with probabilities, learnt from exact and imprecise labels.

    The score of a row is a sum of trees, grown by LightGBM; thresholds on its axis separate the classes. Both are
    learnt together. Missing values, categories and features on any scale need no preparation.

    Parameters
    ----------
    link, decision
        As in :class:`rankwise.CumulativeLink`. With hinges ``decision`` must be "median".
    loss : {"likelihood", "implicit", "explicit"}, default "likelihood"
        What to minimise: ``-log P`` of the labels, or the smoothed hinges of :class:`SVOR` with implicit or explicit
        constraints, which give no probabilities.
    max_iter : int, default 300
        Maximum number of rounds; each grows one tree.
    learning_rate : float, default 0.1
        Factor of every tree.
    max_leaf_nodes : int or "auto", default "auto"
        Maximum number of leaves of a tree. "auto" grows with the square root of the number of rows, from 4 to 31.
        No tree is deeper than 1024 splits.
    min_samples_leaf : int or "auto", default "auto"
        Minimum number of rows in a leaf. "auto" is 1 % of the rows, from 3 to 20.
    l2_regularization : float, default 1.0
        Penalty on the values of the leaves.
    max_bins : int, default 255
        Maximum number of bins of a feature.
    subsample : float, default 1.0
        Share of the rows used for each tree.
    colsample : float, default 1.0
        Share of the columns used for each tree.
    early_stopping : {"auto", "cv"} or bool, default "auto"
        How many rounds are kept. True: the number with the least loss on held-out rows. "cv": the number that is best
        for five folds, and all rows then grow trees; takes six times as long. "auto" is "cv" up to 5000 rows,
        True above, and False with ``warm_start``. False keeps all.
    validation_fraction : float, default 0.1
        Share of the rows held out for ``early_stopping=True``.
    n_iter_no_change : int, default 20
        Rounds without a lower loss after which to stop early.
    monotonic_cst : dict or array-like of int, optional
        1 for a column that must not lower the score as it grows, -1 for one that must not raise it, 0 for any other;
        by name or position.
    categorical_features : "from_dtype", array-like or None, default "from_dtype"
        Columns that hold categories: those of such a type (and columns of texts) in a pandas, polars or pyarrow table,
        or the ones that are named, by name, position or mask. None: none, and every column must hold numbers.
    class_weight : dict, "balanced" or None, default None
        Weight of each class. A label of several classes has the mean of their weights.
    warm_start : bool, default False
        Keep the trees of the last fit and grow more, up to ``max_iter`` in all. No early stopping.
    importance_type : {"gain", "split"}, default "gain"
        What ``feature_importances_`` adds up: how much splits lower the loss, or how many there are.
    n_jobs : int, optional
        Threads; by default all cores that the process may use, which are also the most.
    random_state : int, RandomState or None, default None
        Seed of the rows held out and of samples of rows and columns.
    verbose : bool or "auto", default "auto"
        Whether to show progress; "auto" does on a terminal.
    engine_params : dict, optional
        Other parameters of LightGBM, by LightGBM's names.
    classes : array-like, optional
        The classes, lowest first; those of the labels by default.

    Attributes
    ----------
    thresholds_ : ndarray of shape (K-1,)
        Thresholds between neighbouring classes, ascending: the best ones for the trees that were kept. Those that the
        labels do not determine are placed as in :class:`CumulativeLink`.
    trees_ : Trees
        The trees, as arrays.
    booster_ : lightgbm.Booster
        The trees for LightGBM's own tools; made when it is asked for, which needs LightGBM.
    n_iter_ : int
        Rounds that were kept.
    stage_thresholds_ : ndarray of shape (n_iter_, K-1)
        Thresholds after every round.
    validation_loss_ : ndarray
        Mean loss of the validation rows for 0, 1, 2, ... trees; empty without early stopping.
    feature_importances_ : ndarray of shape (d,)
        Importance of each column; they add up to 1.
    classes_ : ndarray of shape (K,)
        The classes, lowest first, as declared.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import BoostedThresholds
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(400, 3))
    >>> y = np.searchsorted([0.5, 1.0, 2.0], X[:, 0] ** 2 + 0.1 * rng.normal(size=400))
    >>> intervals = np.column_stack([y, np.minimum(y + rng.integers(0, 2, size=400), 3)])  # "this, or one more"
    >>> model = BoostedThresholds(random_state=0, n_jobs=1).fit(X, intervals)
    >>> model.predict([[0.0, 0.0, 0.0], [1.9, 0.0, 0.0], [-1.9, 0.0, 0.0]])
    array([0, 3, 3])
    >>> model.predict_proba([[0.0, 0.0, 0.0]]).shape
    (1, 4)
    """

    label_kinds: ClassVar[frozenset[str]] = frozenset({"exact", "interval", "candidates"})

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "link": [StrOptions(set(LINKS))],
        "loss": [StrOptions({"likelihood", "implicit", "explicit"})],
        "decision": [StrOptions(set(DECISIONS)), "array-like"],
        "max_iter": [COUNT],
        "learning_rate": [POSITIVE],
        "max_leaf_nodes": [StrOptions({"auto"}), Interval(Integral, 2, 131072, closed="both")],
        "min_samples_leaf": [StrOptions({"auto"}), COUNT],
        "l2_regularization": [NOT_NEGATIVE],
        "max_bins": [Interval(Integral, 2, 65535, closed="both")],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "colsample": [Interval(Real, 0, 1, closed="right")],
        "early_stopping": [StrOptions({"auto", "cv"}), "boolean"],
        "validation_fraction": [Interval(Real, 0, 0.5, closed="right")],
        "n_iter_no_change": [COUNT],
        "monotonic_cst": [dict, "array-like", None],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "warm_start": ["boolean"],
        "importance_type": [StrOptions({"gain", "split"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": [StrOptions({"auto"}), "boolean"],
        "engine_params": [dict, None],
        "classes": ["array-like", None],
    }

    def __init__(
        self, link: str = "logit", loss: str = "likelihood", decision: Any = "median", *, max_iter: int = 300,
        learning_rate: float = 0.1, max_leaf_nodes: int | str = "auto", min_samples_leaf: int | str = "auto",
        l2_regularization: float = 1.0, max_bins: int = 255, subsample: float = 1.0, colsample: float = 1.0,
        early_stopping: bool | str = "auto", validation_fraction: float = 0.1, n_iter_no_change: int = 20,
        monotonic_cst: Any = None, categorical_features: Any = "from_dtype", class_weight: Any = None,
        warm_start: bool = False, importance_type: str = "gain", n_jobs: int | None = None, random_state: Any = None,
        verbose: bool | str = "auto", engine_params: dict[str, Any] | None = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow trees and thresholds.

        Parameters
        ----------
        X : array-like, CSR matrix, or pandas, polars or pyarrow table of shape (n, d)
            Features; NaN is a missing value.
        y : array-like
            Labels of any form that :func:`rankwise.labels.encode` reads: exact, intervals, candidate sets, missing.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0.
        """
        with self._afresh() as model:
            model._validate_params()
            model._learn(X, y, sample_weight)
        return self

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.n_jobs == 0:
            raise ValueError(f"The 'n_jobs' parameter of {type(self).__name__} must not be 0.")
        if self.loss != "likelihood" and not self._by_median:
            raise ValueError(f"loss={self.loss!r} has no probabilities: decision must be 'median'.")
        if self.warm_start and self.early_stopping not in ("auto", False):
            raise ValueError("warm_start goes with early_stopping=False only: the rounds that were kept are the start.")

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        before = self.__dict__.copy() if self.warm_start and self.__sklearn_is_fitted__() else None
        if self.engine_params:
            check_engine_params(self.engine_params)
        rows = self._rows(X, reset=before is None)  # to continue trees, categories must keep their numbers
        labels = self._labels(y, self.classes, rows)
        for remark in self._grow(rows, labels, self._weights(sample_weight, rows), before, ALONE):
            warn_user(f"{type(self).__name__}: {remark}")

    def _labels(self, y: Any, classes: Any, rows: Rows) -> Labels:
        labels = super()._labels(y, classes, rows)
        if self.loss != "likelihood":
            require_support(labels, f"{type(self).__name__}(loss={self.loss!r})", {"exact", "interval"})
        return labels

    def _grow(
        self, rows: Rows, labels: Labels, sample_weight: Floats, before: Mapping[str, Any] | None, team: Team
    ) -> list[str]:
        """Learn from validated rows, together with the rows of a team; return warnings for the user."""
        self._check_decision(len(labels.order))
        weight = row_weights(sample_weight, self.class_weight, labels, team)
        self.classes_ = labels.order.values
        if before is not None:
            self._require_same(before)
        if len(labels.order) == 1:
            self._accept(Fit(Trees.of_one_leaf(), [np.empty(0)], [], 0.0), None, None)
            return []
        keep = np.flatnonzero(weight)
        matrix, labels, weight = self._matrix(rows), labels.take(keep), weight[keep]
        matrix = matrix if keep.size == matrix.shape[0] else matrix[keep]
        objective = make_objective(labels, weight, self.loss, self.link, n_threads(self.n_jobs), team)
        remarks = [objective.innermost.describe(self.classes_)] if self.loss == "likelihood" else []
        generator = check_random_state(self.random_state)
        settings = self._settings(objective.n_of_team, generator)
        trees = thresholds = None
        if before is not None:
            if settings.max_iter < 0:
                raise ValueError(
                    f"max_iter={self.max_iter} must be larger than or equal to the {before['n_iter_']} rounds that "
                    f"were fitted already, as warm_start=True."
                )
            if settings.max_iter == 0:
                self.__dict__.update(before)
                return []
            trees, thresholds = before["trees_"], objective.innermost.determined_of(before["thresholds_"])
        order_by = labels.lower + labels.upper
        fit = fit_trees(matrix, self._categorical(), objective, settings, order_by, generator, trees, thresholds)
        self._accept(fit, objective.innermost, None if before is None else before["stage_thresholds_"])
        if fit.interrupted:
            remarks.append(
                f"the fit was interrupted; it keeps the {self.n_iter_} rounds that were finished of {self.max_iter}."
            )
        return [remark for remark in remarks if remark]

    def _settings(self, n_rows: int, generator: np.random.RandomState) -> TreeSettings:
        leaves = self.max_leaf_nodes if self.max_leaf_nodes != "auto" else int(np.clip(n_rows**0.5 / 3.0, 4, 31))
        least = self.min_samples_leaf if self.min_samples_leaf != "auto" else int(np.clip(n_rows // 100, 3, 20))
        params: dict[str, Any] = {
            "metric": "none",
            "verbosity": -1,
            "num_threads": n_threads(self.n_jobs),
            "seed": int(generator.randint(2**31 - 1)),
            "deterministic": True,
            "force_row_wise" if self.n_features_in_ <= _NARROW else "force_col_wise": True,
            "feature_pre_filter": False,
            "learning_rate": float(self.learning_rate),
            "num_leaves": int(leaves),
            "min_data_in_leaf": int(least),
            "lambda_l2": float(self.l2_regularization),
            "max_bin": int(self.max_bins),
            "bin_construct_sample_cnt": BINNED,
            "min_data_in_bin": min(3, max(1, n_rows // 50)),
            # LightGBM's defaults are for large data: it would ignore categories with few rows.
            "min_data_per_group": min(100, max(int(least), n_rows // 50)),
            "cat_smooth": float(np.clip(n_rows / 200.0, 1.0, 10.0)),
            "feature_fraction": float(self.colsample),
            "bagging_fraction": float(self.subsample),
            "bagging_freq": int(self.subsample < 1.0),
        }
        names = getattr(self, "feature_names_in_", None)
        signs = constraints_of(self.monotonic_cst, None if names is None else list(names), self.n_features_in_)
        if signs is not None:
            if any(signs[j] for j in self._categorical()):
                raise ValueError("monotonic_cst constrains a column of categories, which have no order.")
            params["monotone_constraints"] = signs
        stopping = {True: "held out", False: "none", "cv": "folds"}.get(self.early_stopping)
        if stopping is None:
            stopping = "none" if self.warm_start else "folds" if n_rows <= FEW else "held out"
        done = self.n_iter_ if self.warm_start and self.__sklearn_is_fitted__() else 0
        params |= self.engine_params or {}
        params["max_depth"] = min(params["max_depth"], DEEPEST) if params.get("max_depth", 0) > 0 else DEEPEST
        return TreeSettings(
            type(self).__name__, int(self.max_iter) - done, int(self.n_iter_no_change), stopping if n_rows > 1 else
            "none", float(self.validation_fraction), params, self.verbose,
        )  # fmt: skip

    def _require_same(self, before: Mapping[str, Any]) -> None:
        """Refuse to continue trees of other columns or classes."""
        if before["n_features_in_"] != self.n_features_in_ or not np.array_equal(before["classes_"], self.classes_):
            raise ValueError("warm_start needs the columns and classes of the last fit; set classes= to name them all.")
        if before["_raw"] is not None:  # categories keep their numbers
            self._raw = before["_raw"]
        self._values = before["_values"]

    def _accept(self, fit: Fit, innermost: InnermostIntervals | None, earlier: Floats | None) -> None:
        link = self.link if self.loss == "likelihood" else "logit"
        stages = [t if innermost is None else innermost.all_thresholds(t, link, fit.mean_score) for t in fit.stages]
        new = np.array(stages, dtype=np.float64).reshape(len(stages), len(self.classes_) - 1)
        self.stage_thresholds_ = new if earlier is None else np.concatenate([earlier, new])
        self.thresholds_ = self.stage_thresholds_[-1].copy()
        self.n_iter_ = len(self.stage_thresholds_)
        self.validation_loss_ = np.array(fit.losses, dtype=np.float64)
        self.trees_ = fit.trees
