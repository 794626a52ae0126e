"""Importance weights of examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError

#: Stands for "all weights are one" and costs no memory.
UNIT_WEIGHTS: NDArray[np.float64] = np.empty(0)


def check_weights(sample_weight: Any, n: int, unit: str = "row") -> NDArray[np.float64]:
    """Weights as float64, or :data:`UNIT_WEIGHTS` when none are given.

    A zero weight makes its row a no-op. Negative, NaN and infinite weights are errors that name the row.

    Parameters
    ----------
    sample_weight : array-like of shape (n,), a number or None
        The weights as the caller gave them.
    n : int
        Number of weights that there must be.
    unit : str, default "row"
        What one weight belongs to, for messages.
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
        raise ValueError(f"X has {n} {unit}s but sample_weight.shape == {weight.shape}, expected {(n,)}!")
    good = (weight >= 0) & (weight < np.inf)
    if not good.all():
        row = int(np.argmin(good))
        reason = f"a weight must be a finite number >= 0. Got {weight[row]} instead."
        raise RowError(reason, row, message=f"{unit} {row}: {reason}")
    return weight
