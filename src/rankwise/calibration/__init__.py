"""Probabilities for any score, and sets of classes with a promise."""

from rankwise.calibration.calibrated import CalibratedOrdinal
from rankwise.calibration.conformal import ConformalOrdinal
from rankwise.calibration.online_conformal import OnlineConformalOrdinal

__all__ = ["CalibratedOrdinal", "ConformalOrdinal", "OnlineConformalOrdinal"]
