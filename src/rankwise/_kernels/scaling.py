"""Columns of numbers into rows of a matrix, scaled and filled on the way."""

import numpy as np

from rankwise._kernels.compile import kernel

FINITE, MISSING, INFINITE = 0, 1, 2


@kernel
def put_column(column, shift, factor, fill, out, j, start, stop):
    """Write ``(value - shift) * factor`` into column j of some rows; say the worst that was met."""
    worst = FINITE
    for i in range(start, stop):
        value = column[i]
        if not np.isfinite(value):
            if np.isnan(value):
                worst = max(worst, MISSING)
                value = fill
            else:
                worst = INFINITE
        out[i, j] = (value - shift) * factor
    return worst


#: (column, shift, factor, fill, out, j, start, stop) -> FINITE, MISSING or INFINITE
