"""VILMA: V-shaped interval-insensitive loss minimisation.

With ``F_y = f y + b_y``, ``f = <w, x>``, and any V-shaped target loss ``l[y, p]`` (p predicted where y is true), a
label [lo, hi] loses

    psi = max_{y <= lo} [l[lo, y] + F_y - F_lo] + max_{y >= hi} [l[hi, y] + F_y - F_hi]

which is convex and bounds the interval-insensitive form of l. With the absolute error it is SVOR-IMC in another
parameterisation, ``b_y = -(t_0 + ... + t_{y-1})`` (Proposition 2), and solved in that form unless the intercepts are
regularised.

Source: Antoniuk's thesis on partial annotations, section 3.3.
"""

import numpy as np

from rankwise._types import Floats
from rankwise.batch.batch_estimator import LossEstimator, ThresholdBatchEstimator
from rankwise.decisions import intercepts_from_thresholds, thresholds_from_intercepts
from rankwise.labels import ClassOrder
from rankwise.losses import loss_matrix
from rankwise.risks.maxima_risk import MaximaRisk
from rankwise.risks.threshold_risk import ThresholdRisk
from rankwise.solvers.row_sums import RowSums


class VILMA(ThresholdBatchEstimator, LossEstimator):
    """Large-margin threshold model for any V-shaped loss, from exact labels and intervals.

    Parameters
    ----------
    loss : {"mae", "zero_one", "squared"} or array-like of shape (K, K), default "mae"
        Target loss; see :func:`rankwise.losses.loss_matrix`.
    alpha, regularize, solver, tol, max_iter, classes
        As in :class:`rankwise.SVOR`; ``regularize="all"`` acts on weights and intercepts.

    Attributes
    ----------
    intercepts_ : ndarray of shape (K,)
        Intercept of every class; the first is 0 unless they are regularised.
    coef_, thresholds_, objective_, lower_bound_, gap_, n_iter_, classes_
        As in :class:`rankwise.SVOR`.

    Examples
    --------
    >>> from rankwise import VILMA
    >>> X, y = [[-0.9], [-0.8], [0.0], [0.1], [0.8], [0.9]], [1, (1, 2), 2, 2, (2, 3), 3]
    >>> VILMA(loss="squared", alpha=1e-3, classes=[1, 2, 3]).fit(X, y).predict([[-0.9], [0.0], [0.9]])
    array([1, 2, 3])
    """

    @property
    def _as_thresholds(self) -> bool:
        """Whether the parameters are SVOR's."""
        return isinstance(self.loss, str) and self.loss == "mae" and self.regularize != "all"

    @property
    def _most_classes(self) -> int:
        return ThresholdRisk.most_classes if self._as_thresholds else super()._most_classes

    def _risk(self, order: ClassOrder, rows: RowSums) -> ThresholdRisk | MaximaRisk:
        n_classes = len(order)
        if self._as_thresholds:
            return ThresholdRisk(rows, n_classes, explicit=False)
        beta = np.arange(n_classes, dtype=np.float64)[:, None]
        return MaximaRisk(rows, beta, loss_matrix(self.loss, n_classes), joint=False)

    def _n_parameters(self, n_features: int, n_classes: int) -> tuple[int, int]:
        return n_features, n_classes - 1 if self._as_thresholds else n_classes

    def _set_parameters(self, weights: Floats, offsets: Floats) -> None:
        self.coef_ = weights
        if self._as_thresholds:
            self.thresholds_ = offsets
            self.intercepts_ = intercepts_from_thresholds(offsets)
        else:
            self.thresholds_ = thresholds_from_intercepts(offsets)
            self.intercepts_ = offsets if self.regularize == "all" else offsets - offsets[0]
