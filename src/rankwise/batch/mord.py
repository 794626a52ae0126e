"""MORD and PW-MORD: structured-output support vector machines for the unified ordinal model.

The score of class y is ``F_y = sum_z beta[y, z] <w_z, x> + b_y``. The prediction is the class with the largest score,
the lowest of several.

- **MORD**: one vector, ``beta[y] = y``; it predicts like a threshold model.
- **PW-MORD**: one vector for each cut label; classes between two cuts mix theirs. Two cuts are MORD's model, a cut at
  every class is a multi-class classifier.
- **Any beta** (eq. 3.12; eq. 4 of the CuSum paper), such as CuSum Rank's ``beta[y, z] = [z < y]``.

The loss of an exact label is margin rescaling, ``psi = max_y [l[lo, y] + F_y - F_lo]`` (eq. 3.26 without its stray
factor), with any loss l >= 0. The loss of an interval is VILMA's two maxima with this score (ours), and l is V-shaped,

    psi = max_{y <= lo} [l[lo, y] + F_y - F_lo] + max_{y >= hi} [l[hi, y] + F_y - F_hi]

which bounds the interval-insensitive loss for every model of the family: if y below lo is predicted then F_y >= F_lo,
and the first maximum is at least l[lo, y].

Source: Antoniuk's thesis on partial annotations, sections 3.1 and 3.2.3.
"""

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise._sklearn import Interval, StrOptions
from rankwise._types import Floats
from rankwise.base.row_data import Rows
from rankwise.base.transaction import reader
from rankwise.batch.batch_estimator import LossEstimator
from rankwise.decisions import beta_matrix
from rankwise.labels import ClassOrder
from rankwise.labels.label_values import show
from rankwise.risks.maxima_risk import MaximaRisk, margin_loss
from rankwise.solvers.row_sums import RowSums

_MOST_ENTRIES = 2**25  # of the model matrix, 256 MB


class _UnifiedEstimator(LossEstimator):
    """Base of the estimators with a score for every class."""

    intercepts_: Floats

    @abstractmethod
    def _beta(self, order: ClassOrder) -> Floats:
        """Model matrix (K, Z)."""

    def _risk(self, order: ClassOrder, rows: RowSums) -> MaximaRisk:
        loss = margin_loss(self.loss, len(order), rows, type(self).__name__)
        return MaximaRisk(rows, self._beta(order), loss, joint=True)

    def _n_parameters(self, n_features: int, n_classes: int) -> tuple[int, int]:
        return self._beta(ClassOrder(self.classes_)).shape[1] * n_features, n_classes

    def _set_parameters(self, weights: Floats, offsets: Floats) -> None:
        self.coef_ = weights.reshape(-1, self.n_features_in_)
        self.intercepts_ = offsets if self.regularize == "all" else offsets - offsets[0]

    def _class_scores(self, rows: Rows) -> Floats:
        beta = self._beta(ClassOrder(self.classes_))
        return np.asarray(self._design(rows).times(self.coef_) @ beta.T + self.intercepts_)

    @reader
    def decision_function(self, X: Any) -> Floats:
        """Score of every class, (n, K); for two classes the second's minus the first's, (n,)."""
        scores = self._class_scores(self._rows(X, reset=False))
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def _codes(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(self._class_scores(rows).argmax(axis=1))


class MORD(_UnifiedEstimator):
    """Threshold model, learnt as a structured-output support vector machine.

    Parameters
    ----------
    loss : {"mae", "zero_one", "squared"} or array-like of shape (K, K), default "mae"
        Target loss; see :func:`rankwise.losses.loss_matrix`. Exact labels take any matrix of costs >= 0 that are 0 for
        the right answer, intervals a V-shaped one.
    alpha, regularize, solver, tol, max_iter, classes
        As in :class:`rankwise.VILMA`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d)
        Weights.
    intercepts_ : ndarray of shape (K,)
        Intercept of every class: class y (counted from 0) scores ``y <w, x> + b_y``.
    objective_, lower_bound_, gap_, n_iter_, classes_
        As in :class:`rankwise.SVOR`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import MORD
    >>> X, y = np.linspace(-1, 1, 50).reshape(-1, 1), np.repeat([1, 2, 3, 4, 5], 10)
    >>> MORD(alpha=1e-4).fit(X, y).score(X, y)
    -0.0
    """

    def _beta(self, order: ClassOrder) -> Floats:
        return np.arange(len(order), dtype=np.float64)[:, None]


class PiecewiseMORD(_UnifiedEstimator):
    """Several ordinal models joined at cut labels: between a threshold model and a multi-class classifier.

    Parameters
    ----------
    cuts : int or array-like, default 3
        The cut labels, first and last class included, ascending; or their number, placed evenly. 2 is MORD's model,
        all classes a multi-class classifier. A number above that of the classes means all of them.
    loss, alpha, regularize, solver, tol, max_iter, classes
        As in :class:`rankwise.MORD`.

    Attributes
    ----------
    coef_ : ndarray of shape (Z, d)
        Weights at every cut label.
    intercepts_ : ndarray of shape (K,)
        Intercept of every class.
    objective_, lower_bound_, gap_, n_iter_, classes_
        As in :class:`rankwise.SVOR`.

    Examples
    --------
    Classes on an arc, which no single direction can order:

    >>> import numpy as np
    >>> from rankwise import PiecewiseMORD, SVOR
    >>> angle = np.linspace(0, 4, 100)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> y = np.repeat([1, 2, 3, 4, 5], 20)
    >>> PiecewiseMORD(cuts=[1, 3, 5], alpha=1e-4).fit(X, y).score(X, y) > SVOR(alpha=1e-4).fit(X, y).score(X, y)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_UnifiedEstimator._parameter_constraints,
        "cuts": [Interval(Integral, 2, None, closed="left"), "array-like"],
    }

    def __init__(
        self, cuts: Any = 3, loss: Any = "mae", alpha: float | str = 1e-3, regularize: str = "weights",
        solver: str = "auto", tol: float = 1e-3, max_iter: int = 1000, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def _beta(self, order: ClassOrder) -> Floats:
        if len(order) == 1:
            return np.ones((1, 1))
        n_cuts = min(int(self.cuts), len(order)) if isinstance(self.cuts, Integral) else len(self.cuts)
        if n_cuts * len(order) > _MOST_ENTRIES:
            raise ValueError(f"{n_cuts} cuts of {len(order)} classes are more than memory holds: take fewer cuts.")
        if isinstance(self.cuts, Integral):
            return beta_matrix(n_cuts, len(order))
        labels = np.asarray(self.cuts)
        codes = order.codes(labels)
        if (codes < 0).any():
            wrong = labels.tolist()[int(np.argmax(codes < 0))]
            raise ValueError(f"cuts must be classes. Got {wrong!r}, which is not among {show(order.values)}.")
        return beta_matrix(codes, len(order))


class UnifiedClassifier(_UnifiedEstimator):
    """Classifier with a score for every class from any fixed mixture of weight vectors.

    Class y scores ``sum_z beta[y, z] <w_z, x> + b_y``. :class:`rankwise.MORD`, :class:`rankwise.PiecewiseMORD` and
    multi-class classifiers are choices of beta.

    Parameters
    ----------
    beta : {"cumulative", "multiclass", "ordinal"} or array-like of shape (K, Z), default "cumulative"
        How the classes mix the Z vectors. "cumulative" is CuSum Rank's model, a vector for every class but the first
        that adds to the scores of this class and all above; "multiclass" a vector for every class; "ordinal" MORD's
        model.
    loss, alpha, regularize, solver, tol, max_iter, classes
        As in :class:`rankwise.MORD`.

    Attributes
    ----------
    coef_ : ndarray of shape (Z, d)
        The weight vectors.
    intercepts_, objective_, lower_bound_, gap_, n_iter_, classes_
        As in :class:`rankwise.PiecewiseMORD`.

    Examples
    --------
    Ratings from 1 to 5 with one direction for bad and one for good ratings; the neutral 3 has none:

    >>> import numpy as np
    >>> from rankwise import UnifiedClassifier
    >>> angle = np.linspace(0, 4, 100)
    >>> X, y = np.column_stack([np.cos(angle), np.sin(angle)]), np.repeat([1, 2, 3, 4, 5], 20)
    >>> beta = [[2, 0], [1, 0], [0, 0], [0, 1], [0, 2]]
    >>> UnifiedClassifier(beta, alpha=1e-4).fit(X, y).score(X, y)
    -0.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_UnifiedEstimator._parameter_constraints,
        "beta": [StrOptions({"cumulative", "multiclass", "ordinal"}), "array-like"],
    }

    def __init__(
        self, beta: Any = "cumulative", loss: Any = "mae", alpha: float | str = 1e-3, regularize: str = "weights",
        solver: str = "auto", tol: float = 1e-3, max_iter: int = 1000, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    @property
    def _most_classes(self) -> int:
        return 500  # of which sixty rows take half a minute

    def _beta(self, order: ClassOrder) -> Floats:
        codes = np.arange(len(order), dtype=np.float64)[:, None]
        if isinstance(self.beta, str):
            cumulative = (np.arange(max(codes.size - 1, 1)) < codes).astype(np.float64)  # row y has y ones
            return {"ordinal": codes, "multiclass": np.eye(codes.size), "cumulative": cumulative}[self.beta]
        try:
            beta = np.array(self.beta, dtype=np.float64)
        except (TypeError, ValueError):
            beta = np.empty(0)
        if beta.ndim != 2 or len(beta) != codes.size or beta.shape[1] == 0 or not np.isfinite(beta).all():
            raise ValueError(
                f"beta must be finite numbers with a row for each of the {codes.size} classes and a column for each "
                f"vector. Got {self.beta!r}."
            )
        return beta
