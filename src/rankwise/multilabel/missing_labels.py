"""Multi-label classification with missing entries: the additive surrogate of the partial loss.

Each row has L binary labels, some of them annotated. The partial loss of a prediction counts the mistakes on the
annotated ones (Antoniuk, thesis, Definition 7); the additive surrogate (4.10) replaces each by a convex loss phi of the
label's margin, hinge or logistic. It is classification calibrated (Theorem 12): if annotation does not depend on the
label given x, and every entry may be annotated (:func:`rankwise.annotation.check_plan`), then its minimiser converges
to the best classifier for *complete* labels. No rows are dropped and no missing entries are guessed.

With linear scores the labels separate. For label l, over the rows ``i`` in which it is annotated, with weights c_i:

    minimise over w_l, b_l    alpha/2 |w_l|^2 + sum_i c_i phi(y_il (<w_l, x_i> + b_l)) / sum_i c_i

Each label's loss is a mean over its own annotated rows, so that ``alpha`` keeps its meaning whatever is missing; (4.10)
would divide by the number of all rows instead. With a complete Y these are L ordinary binary problems. Each is solved
with a certificate (:mod:`rankwise.multilabel.binary_ascent`), in parallel threads that share X.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed  # scikit-learn's own change the filters of warnings in every thread
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from rankwise._sklearn import COUNT, POSITIVE, Classifier, Interval, StrOptions
from rankwise._threads import at_most_cores
from rankwise._types import Floats
from rankwise._warn import warn_user
from rankwise.base.estimator import TableEstimator
from rankwise.base.row_data import Rows, length
from rankwise.base.state import require_array, require_arrays, require_classes, require_number
from rankwise.base.transaction import reader
from rankwise.labels import MultiLabels, encode_multilabel
from rankwise.multilabel.binary_ascent import LOSSES, BinarySolution, solve_binary
from rankwise.solvers.design import squared_norms
from rankwise.solvers.row_sums import near_one

_STATE = ("coef_", "intercept_", "objectives_", "lower_bounds_", "n_annotated_")  # what a model file holds


def has_probabilities(model: MissingLabelClassifier) -> bool:
    if model.loss != "logistic":
        raise AttributeError(f"probabilities need loss='logistic'. This model has loss={model.loss!r}.")
    return True


class MissingLabelClassifier(Classifier, TableEstimator):
    """Linear multi-label classifier that learns from the annotated entries of Y.

    Parameters
    ----------
    loss : {"logistic", "hinge"}, default "logistic"
        Loss of a label's margin. "logistic" gives probabilities and converges in fewer passes; "hinge" is the linear
        support vector machine.
    alpha : float, default 0.01
        Weight of the penalty alpha/2 |w|^2 beside the mean loss of a label's annotated entries.
    fit_intercept : bool, default True
        Whether labels have intercepts. They are not penalised.
    tol : float, default 0.001
        Relative gap at which a label is solved: its objective is proven to be within this share of the optimum.
    max_iter : int, default 10000
        Maximum number of passes over the annotated rows of a label; warns if a label needs more.
    n_jobs : int, default -1
        Number of threads, at most one a core, which work on different labels and share X; -1 uses all cores. Does not
        change the result.
    random_state : int, RandomState or None
        Seed of the order of the rows in the solver.

    Attributes
    ----------
    coef_ : ndarray of shape (L, d)
        Weights of every label.
    intercept_ : ndarray of shape (L,)
        Intercept of every label.
    classes_ : ndarray of shape (2,)
        The negative and the positive class of all labels: 0 and 1 unless Y had others.
    objectives_, lower_bounds_, gaps_ : ndarrays of shape (L,)
        Each label's objective, a proven lower bound on it, and their difference.
    objective_, lower_bound_, gap_ : float
        Their sums over the labels.
    n_annotated_ : ndarray of shape (L,)
        Number of annotated rows of each label.
    n_iter_ : int
        Largest number of passes for a label.

    Notes
    -----
    A label without any annotated entry is an error. If all annotated entries of a label are of the same class, the
    logistic loss with an intercept has no finite optimum: the label gets zero weights and the intercept at which its
    loss is ``tol`` (hinge: ±1, loss zero), with a warning.

    ``score`` is one minus the Hamming loss over the annotated entries, not scikit-learn's share of entirely correct
    rows, since no row needs to be complete. For cross-validation use ``cv=KFold(...)``: with a number, scikit-learn
    itself inspects y and rejects NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import MissingLabelClassifier
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> Y = np.array([[0, 0], [np.nan, 1], [1, 0], [1, np.nan]])
    >>> model = MissingLabelClassifier(random_state=0).fit(X, Y)
    >>> model.predict(X)
    array([[0, 0],
           [0, 1],
           [1, 0],
           [1, 1]])
    >>> bool(model.gap_ <= 1e-3 * model.objective_)
    True
    """

    _learnt = "coef_"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES))],
        "alpha": [POSITIVE],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [COUNT],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self, loss: str = "logistic", alpha: float = 0.01, fit_intercept: bool = True, tol: float = 0.001,
        max_iter: int = 10_000, n_jobs: int | None = -1, random_state: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the annotated entries.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Features.
        y : array-like of shape (n, L)
            0 and 1 (or any two values), and NaN, None or NA for missing entries; or a sparse indicator matrix without
            missing entries. See :func:`rankwise.labels.encode_multilabel`.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0. A zero leaves the row out.
        """
        with self._afresh() as model:
            model._validate_params()
            rows = model._rows(X, reset=True)
            labels = encode_multilabel(y, n_rows=length(rows))
            model._learn(rows, labels, model._weights(sample_weight, rows))
        return self

    def _learn(self, rows: Rows, labels: MultiLabels, weight: Floats) -> None:
        squares = squared_norms(rows)
        codes = labels.codes if weight.size == 0 else np.where(weight[:, None] > 0, labels.codes, np.int8(-1))
        n_annotated, n_positive = np.count_nonzero(codes >= 0, axis=0), np.count_nonzero(codes == 1, axis=0)
        constant = self._constant_labels(labels, n_annotated, n_positive, weighted=weight.size > 0)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=codes.shape[1])

        def solve(column: int) -> BinarySolution:
            code = codes[:, column]
            taken = np.flatnonzero(code >= 0).astype(np.int32)
            sign = np.where(code[taken] == 1, 1.0, -1.0)
            if constant[column]:
                return self._constant(sign[0])
            cost = np.ones(taken.size) if weight.size == 0 else near_one(weight[taken])
            return solve_binary(
                rows, self.n_features_in_, taken, sign, cost / cost.sum(), squares, loss=self.loss, alpha=self.alpha,
                fit_intercept=self.fit_intercept, tol=self.tol, max_iter=self.max_iter, seed=int(seeds[column]),
            )  # fmt: skip

        try:
            solved = Parallel(n_jobs=at_most_cores(self.n_jobs), require="sharedmem")(
                delayed(solve)(j) for j in range(codes.shape[1])
            )
        except FloatingPointError:
            raise ValueError(
                f"the scores are not finite although X is: its features are too large for this model, up to "
                f"{np.sqrt(squares.max()):.3g} in norm. Scale them."
            ) from None
        self._accept(solved, labels, n_annotated, constant)

    def _constant_labels(
        self, labels: MultiLabels, n_annotated: NDArray[Any], n_positive: NDArray[Any], *, weighted: bool
    ) -> NDArray[np.bool_]:
        """Labels whose annotated entries are of one class and need no weights. A label without entries is an error."""
        if not n_annotated.all():
            empty = int(np.argmin(n_annotated))
            why = "no annotated entry with a weight above zero" if weighted else "no annotated entry"
            raise ValueError(f"{labels.label(empty)} has {why} and cannot be learnt. Leave the column out of y.")
        return np.asarray(self.fit_intercept & ((n_positive == 0) | (n_positive == n_annotated)))

    def _constant(self, sign: float) -> BinarySolution:
        """Solution for a label with a single class: the intercept alone makes the loss small, without weights."""
        far, loss = 1.0, 0.0
        if self.loss == "logistic":  # where the loss is tol
            far, loss = -float(np.log(np.expm1(self.tol))), self.tol
        return BinarySolution(np.zeros(self.n_features_in_), sign * far, loss, 0.0, 0)

    def _accept(
        self, solved: list[BinarySolution], labels: MultiLabels, n_annotated: NDArray[Any], constant: NDArray[np.bool_]
    ) -> None:
        """Set the fitted attributes; warn of labels that are constant or did not converge."""
        self.coef_ = np.vstack([label.coef for label in solved])
        self.intercept_ = np.array([label.intercept for label in solved])
        self.objectives_ = np.array([label.objective for label in solved])
        self.lower_bounds_ = np.array([label.lower_bound for label in solved])
        self.n_iter_ = max(label.n_iter for label in solved)
        self.classes_, self.n_annotated_ = labels.classes, n_annotated
        if constant.any():
            some = ", ".join(labels.label(j) for j in np.flatnonzero(constant)[:5].tolist())
            some += " and others" if constant.sum() > 5 else ""
            warn_user(f"{some}: all annotated entries are of one class, which is what will be predicted.")
        loose = (self.gaps_ > self.tol * self.objectives_) & ~constant
        if loose.any():
            worst = int(np.argmax(np.where(loose, self.gaps_ / self.objectives_, 0.0)))
            gap = self.gaps_[worst] / self.objectives_[worst]
            warn_user(
                f"{loose.sum()} of {loose.size} labels did not converge in max_iter={self.max_iter} passes; the worst "
                f"is {labels.label(worst)}, whose objective is proven to be within {gap:.2g} of the optimum "
                f"(relative), not tol={self.tol:g}. Scale X, or raise max_iter, alpha or tol.",
                ConvergenceWarning,
            )

    # -- predicting ----------------------------------------------------------------------------------------------------

    @reader
    def decision_function(self, X: Any) -> Floats:
        """Score of every label, (n, L); a positive score predicts the positive class."""
        rows = self._rows(X, reset=False)
        if isinstance(rows, tuple):
            rows = sparse.csr_matrix(rows, shape=(length(rows), self.n_features_in_))
        return np.asarray(rows @ self.coef_.T + self.intercept_, dtype=np.float64)

    @reader
    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every label, (n, L)."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(np.intp)])

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Probability of the positive class of every label, (n, L); only with the logistic loss."""
        return np.asarray(expit(self.decision_function(X)))

    @reader
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """One minus the Hamming loss over the annotated entries of y; NaN if there is none."""
        scores = self.decision_function(X)
        codes = encode_multilabel(y, classes=self.classes_, n_rows=len(scores)).codes
        if codes.shape[1] != scores.shape[1]:
            raise ValueError(f"y must have {scores.shape[1]} labels, as in fit. Got {codes.shape[1]} instead.")
        weight = self._weights(sample_weight, scores)
        counted = (codes >= 0) * (weight[:, None] if weight.size else 1.0)
        total = float(counted.sum())
        return float((counted * ((scores > 0) == (codes == 1))).sum()) / total if total else float("nan")

    # -- state ---------------------------------------------------------------------------------------------------------

    @property
    def gaps_(self) -> Floats:
        """Objective minus lower bound of every label."""
        return np.asarray(self.objectives_ - self.lower_bounds_)

    @property
    def objective_(self) -> float:
        """Sum of the labels' objectives."""
        return float(self.objectives_.sum())

    @property
    def lower_bound_(self) -> float:
        """Sum of the labels' lower bounds."""
        return float(self.lower_bounds_.sum())

    @property
    def gap_(self) -> float:
        """Objective minus lower bound."""
        return float(self.gaps_.sum())

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        return self._finite(super()._rows(X, reset=reset))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.target_tags.two_d_labels = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags

    @reader
    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""
        return {
            "state": {name: getattr(self, name).copy() for name in _STATE},
            "classes": self.classes_,
            "features": self._plain_features(),
            "n_iter": self.n_iter_,
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        self._validate_params()
        self._take_features(plain["features"])
        state, classes = plain["state"], require_classes(plain["classes"]).values
        require_array("intercept_", state["intercept_"])
        n_labels = state["intercept_"].size
        like: dict[str, Any] = dict.fromkeys(_STATE, (np.float64, (n_labels,)))
        like |= {"coef_": (np.float64, (n_labels, self.n_features_in_)), "n_annotated_": (np.int64, (n_labels,))}
        require_arrays(state, like)
        if n_labels == 0 or len(classes) != 2:
            raise ValueError("at least one label and two classes are needed")
        for name in _STATE:
            setattr(self, name, state[name])
        self.classes_, self.n_iter_ = classes, require_number("n_iter", plain["n_iter"])
