"""Guarantees of the papers as functions: mistakes and regret of online learners, risk under partial labels."""

from rankwise.bounds._importance_weighted import (
    importance_weighted_cost,
    importance_weighted_cost_at_margin,
    importance_weighted_hinge,
)
from rankwise.bounds._label_ranking import label_ranking_curvature, label_ranking_mistakes, label_ranking_objective
from rankwise.bounds._mistakes import (
    cusum_loss,
    cusum_passive_aggressive_loss,
    data_radius,
    deviation,
    margins,
    multiplicative_pril_mistakes,
    multiplicative_pril_rate,
    pril_mistakes,
    pril_mistakes_noisy,
    pril_regret,
    smallest_width,
    structured_loss,
)
from rankwise.bounds._risk import ambiguity_degree, interval_mae_risk, interval_zero_one_risk

__all__ = [
    "ambiguity_degree", "cusum_loss", "cusum_passive_aggressive_loss", "data_radius", "deviation",
    "importance_weighted_cost", "importance_weighted_cost_at_margin", "importance_weighted_hinge", "interval_mae_risk",
    "interval_zero_one_risk", "label_ranking_curvature", "label_ranking_mistakes", "label_ranking_objective", "margins",
    "multiplicative_pril_mistakes", "multiplicative_pril_rate", "pril_mistakes", "pril_mistakes_noisy", "pril_regret",
    "smallest_width", "structured_loss",
]  # fmt: skip
