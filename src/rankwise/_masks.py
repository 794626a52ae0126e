"""Masked arrays as what they mean: missing values."""

from typing import Any

import numpy as np


def unmasked(X: Any) -> Any:
    """X without a mask: masked entries are missing, NaN among numbers and None among objects; others as they are.

    NumPy and scikit-learn drop masks in silence and read the values behind them.
    """
    if isinstance(X, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.array(X)
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    if X.dtype.kind in "biuf":
        return np.ma.filled(X.astype(X.dtype if X.dtype.kind == "f" else np.float64), np.nan)
    objects = X.data.astype(object)
    objects[np.ma.getmaskarray(X)] = None
    return objects
