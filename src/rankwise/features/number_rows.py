"""Rows of numbers as an encoder gives them, without a table: for services, which encode one row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.scaling import INFINITE, put_matrix
from rankwise._types import Floats
from rankwise.features._splines import N_KNOTS, N_SPLINES, full_knots
from rankwise.features.encoded_columns import NumberColumn


class NumberRows:
    """Encoder of a matrix with one column for each of some columns of numbers; same bits as through a table."""

    def __init__(self, columns: Sequence[NumberColumn], dtype: Any) -> None:
        d = len(columns)
        self.dtype = dtype
        self.fill = np.array([c.fill for c in columns])
        self._bent = np.array([bool(c.knots) for c in columns])
        self._knots = np.zeros((d, N_KNOTS + 6))
        self._shift, self._factor = np.zeros((d, N_SPLINES)), np.zeros((d, N_SPLINES))
        for j, c in enumerate(columns):
            n_scales = N_SPLINES if c.knots else 1
            self._shift[j, :n_scales] = c.spline_shift if c.knots else c.shift
            self._factor[j, :n_scales] = c.spline_factor if c.knots else c.factor
            if c.knots:
                self._knots[j] = full_knots(c.knots)
        self._skip = np.array([c.skip for c in columns])
        ends = np.cumsum([c.width for c in columns])
        self._starts, self._width = ends - [c.width for c in columns], int(ends[-1])

    def __call__(self, X: Floats) -> tuple[NDArray[Any], bool]:
        """Features of rows in which NaN is a missing value, and whether all values were finite or missing."""
        out = np.empty((len(X), self._width), dtype=self.dtype)
        scales = self._knots, self._shift, self._factor, self.fill
        worst = put_matrix(X, self._bent, *scales, self._skip, self._starts, out)
        return out, worst != INFINITE
