"""Features learnt from labels: transformers to put before an estimator."""

from rankwise.features.hidden import HiddenFeatures

__all__ = ["HiddenFeatures"]
