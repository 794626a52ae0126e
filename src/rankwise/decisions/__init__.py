"""Decision rules and parameterisations as pure functions."""

from rankwise.decisions.thresholds import interval_scores, ranks
from rankwise.decisions.unified import (
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

__all__ = [
    "beta_matrix", "degenerate_classes", "intercepts_from_thresholds", "interval_scores", "mord_ranks", "ord_ranks",
    "ranks", "rounded_intercepts", "thresholds_from_intercepts", "unified_ranks", "unified_scores",
]  # fmt: skip
