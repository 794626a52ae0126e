"""What every large-margin estimator shares: the doors in, the choice of a solver, its certificate, and saving.

An estimator's own file supplies the risk of its labels, an oracle for :mod:`rankwise.solvers`, and turns parameters
(w, offsets) into its attributes. The objective is

    alpha/2 Omega + weighted mean of psi,     Omega = |w|^2 ("weights"), |w|^2 + |offsets|^2 ("all"), or 0 ("none")

over the rows that say something: a row whose label is missing or whose weight is zero changes nothing.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise._errors import RowError
from rankwise._sklearn import Interval, StrOptions
from rankwise.base._classifier import OrdinalClassifier
from rankwise.base.rows import first_text_column, kernel_rows, row_entries
from rankwise.decisions import interval_scores, ranks
from rankwise.labels import ClassOrder, Labels, check_weights, decode, encode, require_support
from rankwise.solvers.cutting_plane import minimise_by_cutting_planes
from rankwise.solvers.design import Design
from rankwise.solvers.linear_program import affordable, minimise_exactly
from rankwise.solvers.smoothing import minimise_by_smoothing
from rankwise.solvers.solution import Solution

Floats = NDArray[np.float64]


class BatchEstimator(OrdinalClassifier, abstract=True):
    """Base of the large-margin estimators; see the module's docstring."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "regularize": [StrOptions({"weights", "all", "none"})],
        "solver": [StrOptions({"auto", "smoothing", "cutting-plane"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "classes": ["array-like", None],
    }

    alpha: float
    regularize: str
    solver: str
    tol: float
    max_iter: int
    classes: Any
    coef_: Floats

    # -- what an estimator supplies --------------------------------------------------------------------------------

    @abstractmethod
    def _risk(self, labels: Labels, weight: Floats) -> Any:
        """Oracle of the weighted mean of the losses; the weights add up to 1."""

    @abstractmethod
    def _n_parameters(self, n_features: int, n_classes: int) -> tuple[int, int]:
        """Number of weights and of offsets."""

    @abstractmethod
    def _set_parameters(self, weights: Floats, offsets: Floats) -> None:
        """Fitted attributes from the parameters; ``classes_`` and ``n_features_in_`` are set already."""

    @abstractmethod
    def _codes(self, design: Design) -> NDArray[Any]:
        """Predicted code of every row."""

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the objective until its certified relative gap is at most ``tol``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Features.
        y : array-like
            Labels of any form that :func:`rankwise.labels.encode` reads: exact, intervals, missing.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0. A row of weight 2 counts as two rows.
        """
        with self._all_or_nothing():
            self._validate_params()
            self._learn(*self._read(X, y, sample_weight), None)
        return self

    def path(self, X: Any, y: Any, alphas: Sequence[float], sample_weight: Any = None) -> list[Self]:
        """Fit one model for each of several alphas, each started from the last.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        alphas : sequence of float
            Strengths of the regulariser, descending.

        Returns
        -------
        list of fitted estimators
            In the order of ``alphas``; this one stays as it is.
        """
        if np.ndim(alphas) != 1 or len(alphas) == 0 or any(b >= a for a, b in pairwise(alphas)):
            raise ValueError(f"alphas must be numbers in descending order, at least one. Got {alphas!r} instead.")
        models = [clone(self).set_params(alpha=float(alpha)) for alpha in alphas]
        for model in models:
            model._validate_params()
        read = models[0]._read(X, y, sample_weight)
        start = None
        for model in models:
            for name in ("n_features_in_", "feature_names_in_", "classes_"):
                if hasattr(models[0], name):
                    setattr(model, name, getattr(models[0], name))
            start = model._learn(*read, start)
        return models

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, Labels, Floats]:
        design = self._design(X, reset=True)
        labels = encode(y, self.classes, n_rows=design.n_rows)
        require_support(labels, type(self).__name__, self.label_kinds)
        weight = check_weights(sample_weight, design.n_rows)
        weight = np.ones(design.n_rows) if weight.size == 0 and design.n_rows else weight
        if not weight.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
        weight = np.where(labels.is_missing, 0.0, weight)
        if len(labels.order) > 1 and not weight.any():
            raise ValueError("every label is missing, or its weight is zero: there is nothing to learn from.")
        self.classes_ = labels.order.values
        return design, labels, weight / weight.sum()

    def _learn(self, design: Design, labels: Labels, weight: Floats, start: Floats | None) -> Floats:
        n_weights, n_offsets = self._n_parameters(design.n_features, len(labels.order))
        if len(labels.order) == 1:
            solution = Solution(np.zeros(n_weights + n_offsets), 0.0, 0.0, 0, True)
        else:
            solution = self._solve(design, self._risk(labels, weight), n_weights, n_offsets, start)
        self._accept(solution.theta[:n_weights], solution.theta[n_weights:], solution)
        return solution.theta

    def _accept(self, weights: Floats, offsets: Floats, solution: Solution) -> None:
        self._parameters = weights, offsets
        self._set_parameters(weights, offsets)
        self.objective_ = solution.objective
        self.lower_bound_ = solution.lower_bound
        self.gap_ = solution.gap
        self.n_iter_ = solution.n_iter

    def _solve(self, design: Design, risk: Any, n_weights: int, n_offsets: int, start: Floats | None) -> Solution:
        if self.regularize == "none" and affordable(risk, design):
            return minimise_exactly(design, risk, tol=self.tol, max_iter=self.max_iter, start=start)
        penalty = np.ones(n_weights + n_offsets)
        if self.regularize != "all":
            penalty[n_weights:] = 0.0
        alpha = 0.0 if self.regularize == "none" else float(self.alpha)
        by_planes = self.solver == "cutting-plane" and alpha > 0.0
        minimise = minimise_by_cutting_planes if by_planes else minimise_by_smoothing
        solution = minimise(design, risk, alpha, penalty, tol=self.tol, max_iter=self.max_iter, start=start)
        if alpha == 0.0:
            warnings.warn(
                f"{type(self).__name__} without a regulariser is a linear programme, too large here to be solved "
                f"exactly: the result has no certificate, lower_bound_ is -inf.",
                ConvergenceWarning,
                stacklevel=5,
            )
        elif not solution.converged:
            warnings.warn(
                f"{type(self).__name__} stopped at a relative gap of {solution.gap:.2g}, above tol={self.tol:g}, after "
                f"{solution.n_iter} iterations: raise max_iter (now {self.max_iter}) or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return solution

    # -- using ------------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every row."""
        check_is_fitted(self)
        return decode(self._codes(self._design(X, reset=False)), self.classes_)

    def __sklearn_is_fitted__(self) -> bool:
        return "_parameters" in self.__dict__

    # -- saving -----------------------------------------------------------------------------------------------------

    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return {
            "weights": self._parameters[0],
            "offsets": self._parameters[1],
            "certificate": [self.objective_, self.lower_bound_, self.n_iter_],
            "classes": self.classes_,
            "features": self.n_features_in_ if names is None else names.tolist(),
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        self._validate_params()
        features = plain["features"]
        named = not isinstance(features, int)
        self.n_features_in_ = len(features) if named else features
        if self.n_features_in_ < 1 or (named and len(set(features)) != len(features)):
            raise ValueError(f"features={features!r}: distinct names, or how many there are")
        if named:
            self.feature_names_in_ = np.array(features, dtype=object)
        self.classes_ = ClassOrder(plain["classes"]).values
        shapes = self._n_parameters(self.n_features_in_, len(self.classes_))
        for name, size in zip(("weights", "offsets"), shapes, strict=True):
            found = plain[name]
            if found.dtype != np.float64 or found.shape != (size,):
                raise ValueError(f"array {name!r} must be float64 of shape {(size,)}, not {found.dtype} {found.shape}")
        objective, lower_bound, n_iter = plain["certificate"]
        theta = np.concatenate([plain["weights"], plain["offsets"]])
        solution = Solution(theta, float(objective), float(lower_bound), int(n_iter), True)
        self._accept(plain["weights"], plain["offsets"], solution)

    # -- inputs -----------------------------------------------------------------------------------------------------

    def _design(self, X: Any, *, reset: bool) -> Design:
        try:
            checked = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                order="C",
                ensure_all_finite=False,
            )
        except ValueError as error:
            text = first_text_column(X) if "could not convert" in str(error) else None
            if text is None:
                raise
            raise ValueError(
                f"column {text[0]!r} of X holds text, {text[1]!r}: encode it as numbers first, for example with "
                f"scikit-learn's OneHotEncoder."
            ) from None
        rows = kernel_rows(checked)
        design = Design(rows, self.n_features_in_)
        self._refuse_non_finite(design)
        return design

    def _refuse_non_finite(self, design: Design) -> None:
        values = design.rows[0] if design.is_sparse else design.rows
        with np.errstate(over="ignore", invalid="ignore"):
            suspect = not np.isfinite(values.sum(dtype=np.float64))
        if not suspect:
            return
        for i in range(design.n_rows):
            columns, entries = row_entries(design.rows, i)
            bad = np.flatnonzero(~np.isfinite(entries))
            if bad.size:
                what = "NaN" if np.isnan(entries[bad[0]]) else "infinity"
                rule = f"{type(self).__name__} needs finite numbers: impute or drop them first."
                reason = f"X contains {what} in column {columns[bad[0]]}. {rule}"
                message = f"Input X contains {what}: row {i}, column {columns[bad[0]]}. {rule}"
                raise RowError(reason, i, message=message)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever goes wrong inside, the estimator's attributes are what they were."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise


class ThresholdBatchEstimator(BatchEstimator, abstract=True):
    """Base of the estimators with one score and ordered thresholds."""

    thresholds_: Floats

    def project(self, X: Any) -> Floats:
        """Score of every row on the axis of ``thresholds_``, shape (n,)."""
        check_is_fitted(self)
        return self._project(self._design(X, reset=False))

    def _project(self, design: Design) -> Floats:
        return design.times(self.coef_[None])[:, 0]

    def decision_function(self, X: Any) -> Floats:
        """Signed distance of each row's score to each class's interval, (n, K); (n,) for two classes.

        Positive inside the interval; the largest entry is the prediction. :meth:`project` gives the score itself.
        """
        return interval_scores(self.project(X), self.thresholds_)

    def _codes(self, design: Design) -> NDArray[Any]:
        return ranks(self._project(design), self.thresholds_)
