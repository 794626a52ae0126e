"""Large-margin and likelihood estimators: one method, one file."""

from rankwise.batch.cumulative_link import CumulativeLink
from rankwise.batch.mord import MORD, PiecewiseMORD, UnifiedClassifier
from rankwise.batch.rounded_regression import RoundedRegression
from rankwise.batch.svor import SVOR
from rankwise.batch.vilma import VILMA

__all__ = ["MORD", "SVOR", "VILMA", "CumulativeLink", "PiecewiseMORD", "RoundedRegression", "UnifiedClassifier"]
