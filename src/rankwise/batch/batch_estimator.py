"""What every batch estimator shares: parameters, reading, the choice of a solver, its certificate, and saving.

An estimator supplies the risk of its labels, a :class:`rankwise.solvers.risk.Risk`, and turns parameters (w, offsets)
into its attributes. The objective is

    alpha/2 Omega + weighted mean of psi,     Omega = |w|^2 ("weights"), |w|^2 + |offsets|^2 ("all"), or 0 ("none")

over the informative rows: a row with a missing label or weight zero changes nothing.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rankwise._errors import refuse_many_classes
from rankwise._sklearn import COUNT, POSITIVE, StrOptions
from rankwise._types import Floats
from rankwise._warn import warn_user
from rankwise.base.estimator import OrdinalEstimator
from rankwise.base.row_data import Rows, first_row
from rankwise.base.state import require_array, require_number
from rankwise.base.threshold_model import ThresholdModel
from rankwise.base.transaction import reader
from rankwise.batch.strength import choose_strength
from rankwise.labels import ClassOrder, Labels
from rankwise.losses import interval_insensitive
from rankwise.risks.coded_rows import CodedRows
from rankwise.solvers.cutting_plane import minimise_by_cutting_planes
from rankwise.solvers.design import Design
from rankwise.solvers.linear_program import affordable, minimise_exactly
from rankwise.solvers.risk import HasPieces, Risk
from rankwise.solvers.row_sums import RowSums, near_one
from rankwise.solvers.smoothing import minimise_by_smoothing
from rankwise.solvers.solution import CertificateError, Solution
from rankwise.solvers.threads import in_one_thread

_LARGEST = 1e150  # feature whose squares the solvers can add up


class BatchEstimator(OrdinalEstimator):
    """Base of the batch estimators; see the module's docstring."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [POSITIVE, StrOptions({"auto"})],
        "regularize": [StrOptions({"weights", "all", "none"})],
        "solver": [StrOptions({"auto", "smoothing", "cutting-plane"})],
        "tol": [POSITIVE],
        "max_iter": [COUNT],
        "classes": ["array-like", None],
    }

    _learnt = "_parameters"
    #: Arrays of a model file that must not hold infinity.
    _finite_arrays: ClassVar[tuple[str, ...]] = ("weights", "offsets")

    coef_: Floats
    alpha_: float
    #: Whether it is one of the models that choose ``alpha="auto"``, which do not warn.
    _is_probe = False
    #: Names of the columns for messages, where rows come from an encoder as a matrix without names.
    _name_columns: Callable[[], Sequence[Any]] | None = None

    def __init__(
        self, alpha: float | str = 1e-3, regularize: str = "weights", solver: str = "auto", tol: float = 1e-3,
        max_iter: int = 1000, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    @abstractmethod
    def _risk(self, order: ClassOrder, rows: RowSums) -> Risk:
        """Weighted mean of the losses of rows with codes of these classes: ``CodedRows`` or sums over them."""

    @abstractmethod
    def _n_parameters(self, n_features: int, n_classes: int) -> tuple[int, int]:
        """Number of weights and of offsets."""

    @abstractmethod
    def _set_parameters(self, weights: Floats, offsets: Floats) -> None:
        """Fitted attributes from the parameters; ``classes_`` and ``n_features_in_`` are set already."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the objective until its certified relative gap is at most ``tol``.

        Parameters
        ----------
        X, y
            Features, (n, d), dense or CSR; labels that :func:`rankwise.labels.encode` reads: exact, intervals, missing.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0. A row of weight 2 counts as two rows.
        """
        with self._afresh() as model:
            model._validate_params()
            read = model._read(X, y, sample_weight)
            model.alpha_ = model._strength(*read)
            model._learn(*read, None)
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
            In the order of ``alphas``; this estimator does not change.
        """
        if np.ndim(alphas) != 1 or len(alphas) == 0 or not all(a > b for a, b in pairwise(alphas)):
            raise ValueError(f"alphas must be numbers in descending order, at least one. Got {alphas!r} instead.")
        first = clone(self)
        for alpha in (alphas[-1], alphas[0]):  # all others lie between
            first.set_params(alpha=float(alpha))._validate_params()
        read = first._read(X, y, sample_weight)
        models: list[Self] = first._along(alphas, read)
        return models

    @in_one_thread
    def _along(self, alphas: Sequence[float], read: tuple[Design, ClassOrder, RowSums]) -> list[Self]:
        """Models of several strengths, each started from the last: copies of this one, which has read its rows."""
        models, start = [], None
        for alpha in alphas:
            model = self._twin()
            model.alpha = model.alpha_ = float(alpha)
            start = model._learn(*read, start)
            models.append(model)
        return models

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, ClassOrder, RowSums]:
        rows = self._rows(X, reset=True)
        design = self._design(rows)
        labels = self._labels(y, self.classes, rows)
        weight = self._weights(1.0 if sample_weight is None else sample_weight, rows)
        if not weight.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
        weight = near_one(np.where(labels.is_missing, 0.0, weight))
        if len(labels.order) > 1 and not weight.any():
            raise ValueError("every label is missing, or its weight is zero: there is nothing to learn from.")
        self.classes_ = labels.order.values
        self._refuse_large(rows)
        self._warn_of_scales(rows)
        design, coded = self._coded(design, labels, weight / weight.sum())
        self._look_at(labels.order, coded)
        return design, labels.order, coded

    @property
    def is_penalised(self) -> bool:
        """Whether the objective has a ridge; without one, collinear columns have no weights of their own."""
        return bool(self.alpha != 0.0 and getattr(self, "regularize", "weights") != "none")

    def _coded(self, design: Design, labels: Labels, weight: Floats) -> tuple[Design, RowSums]:
        """Rows and labels as the solvers need them."""
        return design, CodedRows(weight, labels.lower, labels.upper)

    def _look_at(self, order: ClassOrder, rows: RowSums) -> None:
        """Reject classes and labels, or warn of them, once before all fits to them."""
        refuse_many_classes(type(self).__name__, len(order), self._most_classes, "PRIL")

    @property
    def _most_classes(self) -> int:
        """Number of classes beyond which time or memory explode."""
        return 2_000

    def _strength(self, design: Design, order: ClassOrder, rows: RowSums) -> float:
        """Strength of the regulariser, given or chosen."""
        if self.alpha != "auto":
            return float(self.alpha)
        return choose_strength(self, design, order, rows) if len(order) > 1 else 1.0

    def _losses_on(self, X: Rows, labels: Labels) -> Floats:
        """Loss of every row's prediction, by which ``alpha="auto"`` is chosen."""
        return interval_insensitive(labels, self._codes(X), getattr(self, "loss", "mae"))

    def _learn(self, design: Design, order: ClassOrder, rows: RowSums, start: Floats | None) -> Floats:
        n_weights, n_offsets = self._n_parameters(design.n_features, len(order))
        if len(order) == 1:
            solution = Solution(np.zeros(n_weights + n_offsets), 0.0, 0.0, 0, True)
        else:
            solution = self._solve_narrow(design, self._risk(order, rows), n_weights, n_offsets, start)
        self._accept(solution, n_weights)
        return solution.theta

    def _solve_narrow(
        self, design: Design, risk: Risk, n_weights: int, n_offsets: int, start: Floats | None
    ) -> Solution:
        """Solve for the columns with entries; all other weights are 0. So wide rows cost only their entries."""
        used = design.used_columns() if isinstance(design, Design) else None
        if used is None:
            return self._solve(design, risk, n_weights, n_offsets, start)
        shape = n_weights // design.n_features, design.n_features
        if start is not None:
            start = np.append(start[:n_weights].reshape(shape)[:, used], start[n_weights:])
        n_used = shape[0] * used.size
        solution = self._solve(design.take_columns(used), risk, n_used, n_offsets, start)
        weights = np.zeros(shape)
        weights[:, used] = solution.theta[:n_used].reshape(shape[0], used.size)
        return replace(solution, theta=np.append(weights, solution.theta[n_used:]))

    def _accept(self, solution: Solution, n_weights: int) -> None:
        self._parameters = solution.theta[:n_weights], solution.theta[n_weights:]
        self._set_parameters(*self._parameters)
        self.objective_, self.lower_bound_ = solution.objective, solution.lower_bound
        self.gap_, self.n_iter_ = solution.gap, solution.n_iter

    def _solve(self, design: Design, risk: Risk, n_weights: int, n_offsets: int, start: Floats | None) -> Solution:
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "start": start}
        if self.regularize == "none" and affordable(risk, design):
            return minimise_exactly(design, risk, **options)
        penalty = np.repeat([1.0, float(self.regularize == "all")], [n_weights, n_offsets])
        alpha = 0.0 if self.regularize == "none" else self.alpha_
        by_planes = self.solver == "cutting-plane" and alpha > 0.0
        minimise = minimise_by_cutting_planes if by_planes else minimise_by_smoothing
        solution = minimise(design, risk, alpha, penalty, **options)
        if self._is_probe:
            return solution
        if alpha == 0.0:
            linear = " is a linear programme, too large here to be solved exactly: the result"
            warn_user(
                f"{type(self).__name__} without a regulariser{linear if isinstance(risk, HasPieces) else ''} "
                f"has no certificate, lower_bound_ is -inf.",
                ConvergenceWarning,
            )
        elif not solution.converged:
            self._warn_not_converged(solution)
        return solution

    def _warn_not_converged(self, solution: Solution) -> None:
        gap = f"at a relative gap of {solution.gap:.2g}, above tol={self.tol:g},"
        where = "while the likelihood still rose," if np.isnan(solution.gap) else gap
        warn_user(
            f"{type(self).__name__} stopped {where} after {solution.n_iter} iterations: "
            f"raise max_iter (now {self.max_iter}) or tol.",
            ConvergenceWarning,
        )

    @reader
    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""
        check_is_fitted(self)
        chosen = {"alpha": self.alpha_} if self.alpha == "auto" else {}
        return chosen | {
            "weights": self._parameters[0],
            "offsets": self._parameters[1],
            "certificate": [self.objective_, self.lower_bound_, self.n_iter_],
            "classes": self.classes_,
            "features": self._plain_features(),
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        self._validate_params()
        self._take_features(plain["features"])
        self._take_classes(plain["classes"])
        shapes = self._n_parameters(self.n_features_in_, len(self.classes_))
        for name, size in zip(("weights", "offsets"), shapes, strict=True):
            require_array(name, plain[name], np.float64, (size,), finite=name in self._finite_arrays)
        self.alpha_ = plain["alpha"] if self.alpha == "auto" else float(self.alpha)
        require_number("alpha", self.alpha_, float)
        objective, lower_bound, n_iter = plain["certificate"]
        is_unproven = type(lower_bound) is float and np.isnan(lower_bound)  # by maximum likelihood, and by EM
        for value in (objective,) if is_unproven else (objective, lower_bound):
            require_number("a value of the certificate", value, float)
        require_number("n_iter", n_iter)
        theta = np.concatenate([plain["weights"], plain["offsets"]])
        try:
            solution = Solution(theta, float(objective), float(lower_bound), n_iter, True)
        except CertificateError:
            raise ValueError(
                f"its lower bound {lower_bound!r} is above its objective {objective!r}; fit the model again"
            ) from None
        self._accept(solution, shapes[0])

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        return self._finite(super()._rows(X, reset=reset))

    def _refuse_large(self, rows: Rows) -> None:
        """Reject features whose squares are too large to add up."""
        values = rows[0] if isinstance(rows, tuple) else rows
        if values.size and max(float(values.max()), -float(values.min())) > _LARGEST:
            self._refuse_row(rows, first_row(rows, np.abs(values) > _LARGEST), "the squared norm of the row is")

    def _column_name(self, column: int) -> str | int:
        """Name of a column, or its number if it has none."""
        name = self._feature_name(column) if self._name_columns is None else self._name_columns()[column]
        return column if name is None else str(name)

    def _design(self, rows: Rows) -> Design:
        return Design(rows, self.n_features_in_)


class LossEstimator(BatchEstimator):
    """Base of the estimators with a choice of target loss."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BatchEstimator._parameter_constraints,
        "loss": [StrOptions({"mae", "zero_one", "squared"}), "array-like"],
    }

    def __init__(
        self, loss: Any = "mae", alpha: float | str = 1e-3, regularize: str = "weights", solver: str = "auto",
        tol: float = 1e-3, max_iter: int = 1000, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())


class ThresholdBatchEstimator(ThresholdModel, BatchEstimator):
    """Base of the batch estimators with one score and ordered thresholds; the offsets are the thresholds by default."""

    def _n_parameters(self, n_features: int, n_classes: int) -> tuple[int, int]:
        return n_features, n_classes - 1

    def _set_parameters(self, weights: Floats, offsets: Floats) -> None:
        self.coef_ = weights
        self.thresholds_ = offsets

    def _project(self, rows: Rows) -> Floats:
        return self._design(rows).times(self.coef_[None])[:, 0]
