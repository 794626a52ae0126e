"""Decision rules and parameterisations as pure functions."""

from rankwise.models.mord import (
    beta_matrix,
    degenerate_classes,
    intercepts_from_thresholds,
    mord_ranks,
    ord_ranks,
    rounded_intercepts,
    thresholds_from_intercepts,
    unified_ranks,
    unified_scores,
)
from rankwise.models.thresholds import interval_scores, ranks

__all__ = [
    "beta_matrix",
    "degenerate_classes",
    "intercepts_from_thresholds",
    "interval_scores",
    "mord_ranks",
    "ord_ranks",
    "ranks",
    "rounded_intercepts",
    "thresholds_from_intercepts",
    "unified_ranks",
    "unified_scores",
]
