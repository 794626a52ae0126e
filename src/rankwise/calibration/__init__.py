"""Sets of classes with a promise, for any estimator."""

from rankwise.calibration.conformal import ConformalOrdinal

__all__ = ["ConformalOrdinal"]
