"""Metrics of predictions against true labels of any form.

Ordinal metrics take ``(y_true, y_pred, *, classes=None, sample_weight=None)``. A row of ``y_true`` may be exact, an
interval or a candidate set; the distance is then that to the nearest admissible class. **Rows without a label, and
those whose label admits every class, are left out**: any prediction would be right for them, and counting them would
flatter. Distances are in ranks: declare ``classes`` when some class occurs neither in ``y_true`` nor in ``y_pred``, or
its neighbours look adjacent.

Probability scores take ``(y_true, probabilities, *, against="label", classes=None, sample_weight=None)``; with
``against="nearest"`` and ``"farthest"`` they give the range that imprecise labels allow. :func:`set_coverage` and
:func:`set_width` judge sets of classes.

Ranking metrics take ``(relevant, scores, *, classes=None, sample_weight=None)``; :func:`rank_correlation` compares with
a true order of the labels instead.
"""

from rankwise.metrics._calibration import (
    Reliability,
    cumulative_brier_score,
    cumulative_brier_scores,
    cumulative_calibration_error,
    neg_set_width_scorer,
    reliability,
    set_coverage,
    set_coverage_scorer,
    set_width,
)
from rankwise.metrics._probability import log_score, ranked_probability_score
from rankwise.metrics._ranking import average_precision, coverage_error, one_error, rank_correlation, ranking_loss
from rankwise.metrics.ordinal_metrics import (
    accuracy_within,
    confusion_matrix,
    interval_coverage,
    kendall_tau,
    macro_mean_absolute_error,
    mean_absolute_error,
    mean_squared_error,
    quadratic_weighted_kappa,
    weighted_cost,
    zero_one_loss,
)
from rankwise.metrics.scorers import (
    accuracy_within_one_scorer,
    kendall_tau_scorer,
    neg_cumulative_brier_score_scorer,
    neg_cumulative_calibration_error_scorer,
    neg_log_score_scorer,
    neg_macro_mean_absolute_error_scorer,
    neg_mean_absolute_error_scorer,
    neg_mean_squared_error_scorer,
    neg_ranked_probability_score_scorer,
    quadratic_weighted_kappa_scorer,
)

__all__ = [
    "Reliability",
    "accuracy_within",
    "accuracy_within_one_scorer",
    "average_precision",
    "confusion_matrix",
    "coverage_error",
    "cumulative_brier_score",
    "cumulative_brier_scores",
    "cumulative_calibration_error",
    "interval_coverage",
    "kendall_tau",
    "kendall_tau_scorer",
    "log_score",
    "macro_mean_absolute_error",
    "mean_absolute_error",
    "mean_squared_error",
    "neg_cumulative_brier_score_scorer",
    "neg_cumulative_calibration_error_scorer",
    "neg_log_score_scorer",
    "neg_macro_mean_absolute_error_scorer",
    "neg_mean_absolute_error_scorer",
    "neg_mean_squared_error_scorer",
    "neg_ranked_probability_score_scorer",
    "neg_set_width_scorer",
    "one_error",
    "quadratic_weighted_kappa",
    "quadratic_weighted_kappa_scorer",
    "rank_correlation",
    "ranked_probability_score",
    "ranking_loss",
    "reliability",
    "set_coverage",
    "set_coverage_scorer",
    "set_width",
    "weighted_cost",
    "zero_one_loss",
]
