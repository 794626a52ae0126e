"""Rounded regression, learnt as a structured-output support vector machine: the baseline with equally wide classes.

The rank, counted from 1, is a number ``g = <w, x> + b``, rounded into 1..K. As a member of the unified family
(eq. 3.13) class y has the score ``F_y = 2 y g - y^2``, largest for the y nearest to g, and the losses are MORD's:

    psi = max_y [l[lo, y] + (g - lo)^2 - (g - y)^2]            for an exact label,

and VILMA's two maxima for an interval.

Source: Antoniuk's thesis on partial annotations, section 3.1.3, "LinReg" of its experiments.
"""

import numpy as np

from rankwise._types import Floats
from rankwise.base.row_data import Rows
from rankwise.batch.batch_estimator import LossEstimator, ThresholdBatchEstimator
from rankwise.labels import ClassOrder
from rankwise.risks.maxima_risk import MaximaRisk, margin_loss
from rankwise.solvers.row_sums import RowSums


class RoundedRegression(ThresholdBatchEstimator, LossEstimator):
    """Linear regression on the rank, rounded, with a large-margin loss: a baseline.

    Parameters
    ----------
    loss, alpha, regularize, solver, tol, max_iter, classes
        As in :class:`rankwise.MORD`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights.
    intercept_ : float
        Intercept: ``X @ coef_ + intercept_`` is the rank as a number, counted from 1.
    thresholds_ : ndarray of shape (K-1,)
        Boundaries of rounding: 1.5, 2.5, ...
    objective_, lower_bound_, gap_, n_iter_, classes_
        As in :class:`rankwise.SVOR`.

    Examples
    --------
    >>> from rankwise import RoundedRegression
    >>> model = RoundedRegression(alpha=1e-4).fit([[-0.9], [0.0], [0.1], [0.9]], [1, 2, 2, 3])
    >>> model.thresholds_, model.predict([[-0.8], [0.2], [0.8]])
    (array([1.5, 2.5]), array([1, 2, 3]))
    """

    def _risk(self, order: ClassOrder, rows: RowSums) -> MaximaRisk:
        rank = np.arange(1.0, len(order) + 1.0)
        slope = 2.0 * rank[:, None]
        loss = margin_loss(self.loss, len(order), rows, type(self).__name__)
        return MaximaRisk(rows, slope, loss, joint=True, basis=slope, fixed=-rank * rank)

    def _n_parameters(self, n_features: int, n_classes: int) -> tuple[int, int]:
        return n_features, 1

    def _set_parameters(self, weights: Floats, offsets: Floats) -> None:
        self.coef_ = weights
        self.intercept_ = float(offsets[0])
        self.thresholds_ = np.arange(1.5, len(self.classes_))

    def _project(self, rows: Rows) -> Floats:
        return np.asarray(super()._project(rows) + self.intercept_)
