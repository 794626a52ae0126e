"""Large-margin batch estimators: one method, one file."""

from rankwise.large_margin.mord import MORD, PiecewiseMORD
from rankwise.large_margin.rounded_regression import RoundedRegression
from rankwise.large_margin.svor import SVOR
from rankwise.large_margin.vilma import VILMA

__all__ = ["MORD", "SVOR", "VILMA", "PiecewiseMORD", "RoundedRegression"]
