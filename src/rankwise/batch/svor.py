"""Support vector ordinal regression, with implicit or explicit constraints on the thresholds.

For labels ``[lo, hi]`` (codes, both included; exact: lo = hi), a score ``f = <w, x>`` and thresholds t,

    implicit (SVOR-IMC)   psi = sum_{k < lo} (1 - f + t_k)_+ + sum_{k >= hi} (1 + f - t_k)_+
    explicit (SVOR-EXP)   psi = (1 - f + t_{lo-1})_+ + (1 + f - t_hi)_+,   t_0 <= t_1 <= ...

are convex and bound the interval-insensitive absolute error and 0/1 loss. Implicit thresholds are ordered without
constraints, also with intervals and weights: fewer rows pull threshold k + 1 down than k, and more pull it up.

Sources: Chu and Keerthi, "New approaches to support vector ordinal regression", 2005; Antoniuk's thesis on partial
annotations, sections 3.2 and 3.3, for intervals.
"""

from typing import Any, ClassVar

from rankwise._sklearn import StrOptions
from rankwise.batch.batch_estimator import BatchEstimator, ThresholdBatchEstimator
from rankwise.labels import ClassOrder
from rankwise.risks.threshold_risk import ThresholdRisk
from rankwise.solvers.row_sums import RowSums


class SVOR(ThresholdBatchEstimator):
    """Large-margin threshold model: one direction, ordered thresholds, a certified optimum.

    Parameters
    ----------
    constraints : {"implicit", "explicit"}, default "implicit"
        Whether every threshold counts for every row (a surrogate of the absolute error), or only the two next to its
        label (a surrogate of the 0/1 loss).
    alpha : float or "auto", default 1e-3
        Strength of the regulariser; "auto" chooses it by a short path in interval-aware folds.
    regularize : {"weights", "all", "none"}, default "weights"
        What to regularise: the weights, weights and thresholds, or nothing.
    solver : {"auto", "smoothing", "cutting-plane"}, default "auto"
        Smoothed hinges with continuation, the fastest here, or the thesis' double loop of cutting planes.
    tol : float, default 1e-3
        Certified relative gap at which to stop.
    max_iter : int, default 1000
        Maximum number of iterations.
    classes : array-like, optional
        The classes, lowest first; by default they are inferred from the labels.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights.
    thresholds_ : ndarray of shape (K-1,)
        Thresholds between neighbouring classes, ascending.
    objective_, lower_bound_, gap_ : float
        The objective at the solution, a proven lower bound on it, and their relative difference. With
        ``regularize="none"`` the problem is a linear programme; if it is too large to be solved exactly, it has no
        bound.
    alpha_ : float
        Strength of the regulariser, given or chosen.
    n_iter_ : int
        Iterations over all rows.
    classes_ : ndarray of shape (K,)
        The classes, lowest first.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import SVOR
    >>> X, y = np.linspace(-1, 1, 50).reshape(-1, 1), np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = SVOR(alpha=1e-4).fit(X, y)
    >>> model.predict([[-0.9], [0.0], [0.9]])
    array([1, 3, 5])
    >>> bool(model.gap_ <= 1e-3)
    True

    Intervals, and labels open on one side:

    >>> intervals = np.column_stack([y, np.minimum(y + 1, 5)]).astype(float)
    >>> intervals[:5] = np.nan, 1
    >>> SVOR(alpha=1e-4).fit(X, intervals).predict([[-0.9], [0.9]])
    array([1., 5.])

    For kernels, use scikit-learn's approximate feature maps:

    >>> from sklearn.kernel_approximation import Nystroem
    >>> from sklearn.pipeline import make_pipeline
    >>> bent = np.repeat([1, 3, 2, 3, 1], 10)
    >>> kernel_svor = make_pipeline(Nystroem(gamma=5.0, n_components=20, random_state=0), SVOR(alpha=1e-4))
    >>> kernel_svor.fit(X, bent).predict([[-0.9], [-0.4], [0.0]])
    array([1, 3, 2])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BatchEstimator._parameter_constraints,
        "constraints": [StrOptions({"implicit", "explicit"})],
    }

    def __init__(
        self, constraints: str = "implicit", alpha: float | str = 1e-3, regularize: str = "weights",
        solver: str = "auto", tol: float = 1e-3, max_iter: int = 1000, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    @property
    def _most_classes(self) -> int:
        return ThresholdRisk.most_classes

    def _risk(self, order: ClassOrder, rows: RowSums) -> ThresholdRisk:
        return ThresholdRisk(rows, len(order), explicit=self.constraints == "explicit")
