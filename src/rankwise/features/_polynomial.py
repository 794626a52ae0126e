"""The polynomial kernel as an explicit feature map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import factorial, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._masks import unmasked


def polynomial_features(X: Any, degree: int) -> NDArray[np.float64]:
    """Map rows such that their inner products are the polynomial kernel: ``phi(x) . phi(z) = (x . z + 1)^degree``.

    With d features and a 1 appended, these are all monomials of the given degree, each times the square root of its
    multinomial coefficient: binomial(d + degree, degree) columns. A linear algorithm on them is the kernel algorithm,
    round by round, at a cost that does not grow with the number of support vectors.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    degree : int
        Degree of the kernel, at least 1.

    Returns
    -------
    ndarray of shape (n, binomial(d + degree, degree))

    Examples
    --------
    >>> from rankwise.features import polynomial_features
    >>> x, z = polynomial_features([[1.0, 2.0], [3.0, -1.0]], degree=2)
    >>> round(float(x @ z), 9), (1 * 3 - 2 * 1 + 1) ** 2
    (4.0, 4)
    """
    if degree < 1:
        raise ValueError(f"degree must be at least 1. Got {degree!r} instead.")
    X = np.asarray(unmasked(X), dtype=np.float64)
    with_one = np.column_stack([X, np.ones(X.shape[0])])
    monomials = list(combinations_with_replacement(range(with_one.shape[1]), degree))
    features = np.empty((X.shape[0], len(monomials)))
    for column, factors in enumerate(monomials):
        np.multiply(sqrt(_multinomial(factors)), with_one[:, factors].prod(axis=1), out=features[:, column])
    return features


def _multinomial(factors: Sequence[int]) -> int:
    """Return the number of orders in which the factors can be written."""
    return factorial(len(factors)) // prod(factorial(count) for count in Counter(factors).values())
