"""Decision rules and parameterisations as pure functions."""

from rankwise.decisions.expected_cost import (
    check_cost,
    expected_costs,
    least_cost,
    median,
    mode,
    quantiles,
    rounded_mean,
)
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
    "beta_matrix", "check_cost", "degenerate_classes", "expected_costs", "intercepts_from_thresholds",
    "interval_scores", "least_cost", "median", "mode", "mord_ranks", "ord_ranks", "quantiles", "ranks",
    "rounded_intercepts", "rounded_mean", "thresholds_from_intercepts", "unified_ranks", "unified_scores",
]  # fmt: skip
