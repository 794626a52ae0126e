"""Wald's test that some differences or weights are all zero."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from rankwise._types import Floats

_ROUNDING = 1e-10  # eigenvalue of a correlation matrix, relative to the largest, that is rounding


class Wald(NamedTuple):
    """Result of a Wald test."""

    statistic: float
    df: int
    p: float


def wald(values: Floats, covariance: Floats) -> Wald:
    """Test whether all values are zero; the degrees of freedom are the rank of their covariance.

    >>> test = wald(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]]))
    >>> round(test.statistic, 6), test.df
    (5.0, 2)
    """
    scale = np.sqrt(np.diag(covariance))
    scale[scale == 0.0] = 1.0
    size, axes = np.linalg.eigh(covariance / np.outer(scale, scale))
    real = size > _ROUNDING * size.max(initial=0.0)
    statistic = float(((axes.T @ (values / scale))[real] ** 2 / size[real]).sum())
    df = int(real.sum())
    return Wald(statistic, df, float(stats.chi2.sf(statistic, df)))
