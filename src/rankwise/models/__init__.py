"""Decision rules and parameterisations as pure functions."""

from rankwise.models.thresholds import interval_scores, ranks

__all__ = ["interval_scores", "ranks"]
