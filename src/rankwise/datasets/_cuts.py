"""From a number to an ordered grade 1..K."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.datasets._check import at_least


def cut_equal_frequency(values: ArrayLike, n_classes: int) -> NDArray[np.int64]:
    """Cut numbers into grades 1..n_classes that are as equally frequent as ties allow.

    Equal numbers always share a grade: a tie at a cut goes to the upper grade. Without ties the sizes of two grades
    differ by one at most.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Finite numbers.
    n_classes : int
        Number of grades, at least 2.

    Returns
    -------
    ndarray of shape (n_samples,), int64
        The grades; each of 1..n_classes occurs.

    Raises
    ------
    ValueError
        If ties (or too few numbers) leave a grade empty.

    Examples
    --------
    >>> from rankwise.datasets import cut_equal_frequency
    >>> cut_equal_frequency([10, 3, 500, 7, 8, 9], 3)
    array([3, 1, 3, 1, 2, 2])
    """
    owner = "cut_equal_frequency"
    n_classes = at_least(owner, "n_classes", n_classes, 2)
    numbers = _finite(owner, values)
    first = np.arange(1, n_classes) * numbers.size // n_classes  # rank of the first number in the grades 2..K
    cuts = np.partition(numbers, first)[first]
    grades = (np.searchsorted(cuts, numbers, side="right") + 1).astype(np.int64)
    empty = np.flatnonzero(np.bincount(grades, minlength=n_classes + 1)[1:] == 0)
    if empty.size:
        raise ValueError(
            f"{numbers.size} numbers with {np.unique(numbers).size} different values cannot be cut into {n_classes} "
            f"equally frequent grades: grade {empty[0] + 1} would be empty."
        )
    return grades


def cut_equal_width(values: ArrayLike, n_classes: int) -> NDArray[np.int64]:
    """Cut numbers into grades 1..n_classes by dividing their range into bins of equal width.

    The bins include their upper end, the first one also its lower end: this reproduces the labels of Chu and
    Ghahramani's benchmark of ordinal regression for most of its sets. Grades may be empty.

    Parameters
    ----------
    values, n_classes
        As in :func:`cut_equal_frequency`, like the result; the values must not be all equal.

    Examples
    --------
    >>> from rankwise.datasets import cut_equal_width
    >>> cut_equal_width([0, 1, 2, 3, 10], 5)
    array([1, 1, 1, 2, 5])
    """
    owner = "cut_equal_width"
    n_classes = at_least(owner, "n_classes", n_classes, 2)
    numbers = _finite(owner, values)
    if numbers.min() == numbers.max():
        raise ValueError(f"The 'values' parameter of {owner} must not be all equal. Got {numbers[0]} only.")
    cuts = np.linspace(numbers.min(), numbers.max(), n_classes + 1)[1:-1]
    return (np.searchsorted(cuts, numbers, side="left") + 1).astype(np.int64)


def _finite(owner: str, values: ArrayLike) -> NDArray[np.float64]:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(f"The 'values' parameter of {owner} must be 1-D and not empty. Got shape {numbers.shape}.")
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise ValueError(f"The 'values' parameter of {owner} must be finite. Got {numbers[bad[0]]} in row {bad[0]}.")
    return numbers
