"""Multi-label classification with missing entries: the additive surrogate of the partial loss.

Each row has L yes-or-no labels, of which only some are annotated. The partial loss of a prediction counts the mistakes
on the annotated ones (Antoniuk, thesis, Definition 7); the additive surrogate (4.10) replaces each by a convex loss
phi of the label's margin, hinge or logistic. It is classification calibrated (Theorem 12): if whether an entry is
annotated does not depend on its label given x, and every entry has a chance to be annotated
(:func:`rankwise.annotation.check_plan`), then its minimiser goes to the best classifier for *complete* labels. Rows are
neither dropped nor are missing entries guessed.

With linear scores the labels separate. For label l, over the rows ``i`` in which it is annotated, with weights c_i:

    minimise over w_l, b_l    alpha/2 |w_l|^2 + sum_i c_i phi(y_il (<w_l, x_i> + b_l)) / sum_i c_i

Each label's loss is a mean over its own annotated rows, so that ``alpha`` keeps its meaning whatever is missing; the
sum over all rows of (4.10) would divide by the number of rows instead. With a complete Y these are L ordinary binary
problems. Each is solved with a certificate (:mod:`rankwise.multilabel.binary_ascent`); all of them read the same X, and
threads share them out.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise._sklearn import Interval, StrOptions
from rankwise.base.rows import kernel_rows
from rankwise.labels import MultiLabels, check_weights, encode_multilabel
from rankwise.multilabel.binary_ascent import LOSSES, Solution, solve_binary, squared_norms

Floats = NDArray[np.float64]

#: What a model file holds, and of which type.
_STATE = {
    **dict.fromkeys(("coef_", "intercept_", "objectives_", "lower_bounds_"), "float64"),
    "n_annotated_": "int64",
}


def _has_probabilities(model: MissingLabelClassifier) -> bool:
    if model.loss != "logistic":
        raise AttributeError(f"probabilities need loss='logistic'. This model has loss={model.loss!r}.")
    return True


class MissingLabelClassifier(ClassifierMixin, BaseEstimator):
    """Linear multi-label classifier that learns from whatever entries of Y are annotated.

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
        A label is solved when its objective is proven to be within this share of the optimum.
    max_iter : int, default 10000
        Most passes over the annotated rows of a label; a label that needs more warns.
    n_jobs : int, default -1
        Threads that share out the labels; -1 takes all cores. They share X, and the result does not depend on them.
    random_state : int, RandomState or None
        Makes the order of the rows in the solver repeatable.

    Attributes
    ----------
    coef_ : ndarray of shape (L, d)
        Weights of every label.
    intercept_ : ndarray of shape (L,)
        Intercept of every label.
    classes_ : ndarray of shape (2,)
        The negative and the positive class of all labels: 0 and 1 unless Y had others.
    objectives_, lower_bounds_, gaps_ : ndarrays of shape (L,)
        Each label's objective, what no weights can fall below, and the difference.
    objective_, lower_bound_, gap_ : float
        Their sums over the labels.
    n_annotated_ : ndarray of shape (L,)
        Rows from which each label was learnt.
    n_iter_ : int
        Most passes that a label took.

    Notes
    -----
    A label that is nowhere annotated is an error. One whose annotated entries are all of the same class has, with an
    intercept, no finite optimum under the logistic loss: it gets zero weights and the intercept at which its loss is
    ``tol`` (hinge: ±1, loss zero), and a warning.

    ``score`` is one minus the Hamming loss over the annotated entries, not scikit-learn's share of wholly right rows:
    with missing entries no row need be complete. For cross-validation give ``cv=KFold(...)``: with a number,
    scikit-learn itself looks into y and refuses NaN.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES))],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        loss: str = "logistic",
        alpha: float = 0.01,
        fit_intercept: bool = True,
        tol: float = 0.001,
        max_iter: int = 10_000,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the annotated entries.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Features.
        y : array-like of shape (n, L)
            0 and 1 (or two values of your own), NaN, None or NA where an entry is missing; or a sparse indicator matrix
            without missing entries. See :func:`rankwise.labels.encode_multilabel`.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0. A zero leaves the row out.
        """
        self._validate_params()
        checked = self._check(X, reset=True)
        n, d = checked.shape
        labels = encode_multilabel(y, n_rows=n)
        weight = check_weights(sample_weight, n)
        rows = kernel_rows(checked)
        squares = squared_norms(rows)
        codes = labels.codes if weight.size == 0 else np.where(weight[:, None] > 0, labels.codes, np.int8(-1))
        n_annotated, n_positive = np.count_nonzero(codes >= 0, axis=0), np.count_nonzero(codes == 1, axis=0)
        if not n_annotated.all():
            empty = int(np.argmin(n_annotated))
            why = "no annotated entry" if weight.size == 0 else "no annotated entry with a weight above zero"
            raise ValueError(f"{labels.label(empty)} has {why} and cannot be learnt. Leave the column out of y.")
        constant = self.fit_intercept & ((n_positive == 0) | (n_positive == n_annotated))
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=codes.shape[1])

        def solve(column: int) -> Solution:
            code = codes[:, column]
            taken = np.flatnonzero(code >= 0).astype(np.int32)
            sign = np.where(code[taken] == 1, 1.0, -1.0)
            if constant[column]:
                return self._constant(d, sign[0])
            cost = np.ones(taken.size) if weight.size == 0 else weight[taken]
            return solve_binary(
                rows, d, taken, sign, cost / cost.sum(), squares, loss=self.loss, alpha=self.alpha,
                fit_intercept=self.fit_intercept, tol=self.tol, max_iter=self.max_iter, seed=int(seeds[column]),
            )  # fmt: skip

        try:
            found = Parallel(n_jobs=self.n_jobs, require="sharedmem")(delayed(solve)(j) for j in range(codes.shape[1]))
        except FloatingPointError:
            raise ValueError(
                f"the scores are not finite although X is: its features are too large for this model, up to "
                f"{np.sqrt(squares.max()):.3g} in norm. Scale them."
            ) from None
        self._keep(found)
        self.classes_ = labels.classes
        self.n_annotated_ = n_annotated
        self._warn(labels, constant)
        return self

    def _constant(self, n_features: int, sign: float) -> Solution:
        """A label with a single class: its loss alone goes to zero, so no weights are worth their penalty."""
        if self.loss == "hinge":
            return Solution(np.zeros(n_features), sign, 0.0, 0.0, 0)
        far = -float(np.log(np.expm1(self.tol)))  # where the loss is tol
        return Solution(np.zeros(n_features), sign * far, self.tol, 0.0, 0)

    def _keep(self, found: list[Solution]) -> None:
        self.coef_ = np.vstack([label.coef for label in found])
        self.intercept_ = np.array([label.intercept for label in found])
        self.objectives_ = np.array([label.objective for label in found])
        self.lower_bounds_ = np.array([label.lower_bound for label in found])
        self.n_iter_ = max(label.n_iter for label in found)

    def _warn(self, labels: MultiLabels, constant: NDArray[np.bool_]) -> None:
        if constant.any():
            some = ", ".join(labels.label(j) for j in np.flatnonzero(constant)[:5].tolist())
            warnings.warn(
                f"{some}{' and others' if constant.sum() > 5 else ''}: all "
                f"annotated entries are of one class, which is what will be predicted.",
                UserWarning,
                stacklevel=3,
            )
        loose = (self.gaps_ > self.tol * self.objectives_) & ~constant
        if loose.any():
            worst = int(np.argmax(np.where(loose, self.gaps_ / self.objectives_, 0.0)))
            warnings.warn(
                f"{loose.sum()} of {loose.size} labels did not converge in max_iter={self.max_iter} passes; the worst "
                f"is {labels.label(worst)}, whose objective is proven to be within "
                f"{self.gaps_[worst] / self.objectives_[worst]:.2g} of the optimum (relative), not tol={self.tol:g}. "
                f"Scale X, or raise max_iter, alpha or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # -- predicting ----------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Score of every label, (n, L); above zero the positive class is predicted."""
        check_is_fitted(self)
        scores = safe_sparse_dot(self._check(X, reset=False), self.coef_.T, dense_output=True)
        return np.asarray(scores + self.intercept_, dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every label, (n, L)."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Probability of the positive class of every label, (n, L); only with the logistic loss."""
        return np.asarray(expit(self.decision_function(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """One minus the Hamming loss over the annotated entries of y; NaN if there is none."""
        scores = self.decision_function(X)
        codes = encode_multilabel(y, classes=self.classes_, n_rows=len(scores)).codes
        if codes.shape[1] != scores.shape[1]:
            raise ValueError(f"y must have {scores.shape[1]} labels, as in fit. Got {codes.shape[1]} instead.")
        weight = check_weights(sample_weight, len(scores))
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
        """Sum of the labels' lower bounds: no weights have a smaller objective."""
        return float(self.lower_bounds_.sum())

    @property
    def gap_(self) -> float:
        """Objective minus lower bound."""
        return float(self.gaps_.sum())

    def _check(self, X: Any, *, reset: bool) -> Any:
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32), order="C"
        )  # fmt: skip

    def __sklearn_is_fitted__(self) -> bool:
        return "coef_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.target_tags.two_d_labels = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags

    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        state = {name: getattr(self, name).copy() for name in _STATE}
        return {
            "state": state,
            "classes": self.classes_,
            "features": self.n_features_in_ if names is None else names.tolist(),
            "n_iter": self.n_iter_,
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        self._validate_params()
        state, features = plain["state"], plain["features"]
        d = features if isinstance(features, int) else len(features)
        n_labels = len(state["intercept_"])
        if set(state) != set(_STATE):
            raise ValueError(f"expected the arrays {sorted(_STATE)}, found {sorted(state)}")
        for name, dtype in _STATE.items():
            shape = (n_labels, d) if name == "coef_" else (n_labels,)
            if state[name].shape != shape or state[name].dtype != dtype:
                raise ValueError(
                    f"array {name!r} must be {dtype} of shape {shape}, not {state[name].dtype} {state[name].shape}"
                )
        if n_labels == 0 or len(plain["classes"]) != 2:
            raise ValueError("at least one label and two classes are needed")
        for name in _STATE:
            setattr(self, name, state[name])
        self.classes_ = plain["classes"]
        self.n_features_in_, self.n_iter_ = d, plain["n_iter"]
        if not isinstance(features, int):
            self.feature_names_in_ = np.array(features, dtype=object)
