"""Importance weights of examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Stands for "all weights are one" and costs no memory.
UNIT_WEIGHTS: NDArray[np.float64] = np.empty(0)


def check_weights(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """Weights as float64, or :data:`UNIT_WEIGHTS` when none are given.

    A zero weight makes its row a no-op. Negative, NaN and infinite weights are errors that name the row.
    """
    if sample_weight is None:
        return UNIT_WEIGHTS
    if getattr(getattr(sample_weight, "dtype", None), "kind", None) == "c":
        raise ValueError("sample_weight must be real numbers. Got complex ones instead.")
    try:
        weight = np.ma.asarray(sample_weight, dtype=np.float64).filled(np.nan)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must be numbers: {str(error).rstrip('.')}.") from None
    weight = np.full(n, weight) if weight.ndim == 0 else np.ascontiguousarray(weight)
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar: sample_weight has shape {weight.shape}.")
    if weight.size != n:
        raise ValueError(f"X has {n} rows but sample_weight.shape == {weight.shape}, expected {(n,)}!")
    good = (weight >= 0) & (weight < np.inf)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(f"row {row}: a weight must be a finite number >= 0. Got {weight[row]} instead.")
    return weight
