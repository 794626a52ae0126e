"""Boosted trees for ordered classes, on LightGBM (extra ``trees``)."""

from rankwise.trees.boosted_thresholds import BoostedThresholds

__all__ = ["BoostedThresholds"]
