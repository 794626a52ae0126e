"""Compiled look-up of numeric labels: one pass over y, no temporary arrays."""

import numpy as np

from rankwise._kernels.compile import kernel, register_jitable

MISSING, UNKNOWN = -1, -2


@register_jitable
def _search(value, ascending, code_of):
    """Code of a number among the classes in ascending order, UNKNOWN if it is not a class, MISSING for NaN."""
    if np.isnan(value):
        return MISSING
    position = np.searchsorted(ascending, value)
    if position == ascending.size or ascending[position] != value:
        return UNKNOWN
    return code_of[position]


@register_jitable
def _guess(value, first, per_class, last):
    """Place of a value if the classes are evenly spaced, as they nearly always are; in the table for every value."""
    place = (value - first) * per_class + 0.5
    return int(place) if 0.0 <= place < last + 1.0 else 0


@kernel
def exact_codes(values, ascending, code_of, out):
    """Code of every value; MISSING for NaN, UNKNOWN for a value that is not a class."""
    first, last = float(ascending[0]), ascending.size - 1
    span = float(ascending[last]) - first
    per_class = last / span if span > 0.0 else 0.0
    for i in range(values.size):
        value = values[i]
        guess = _guess(value, first, per_class, last)
        out[i] = code_of[guess] if ascending[guess] == value else _search(value, ascending, code_of)


@kernel
def interval_codes(ends, ascending, code_of, lower, upper):
    """Codes of both ends of every row of ``ends``, open ends at the extremes. Returns whether all are good."""
    first, last = float(ascending[0]), ascending.size - 1
    span = float(ascending[last]) - first
    per_class = last / span if span > 0.0 else 0.0
    for i in range(ends.shape[0]):
        low, high = 0, last
        value = ends[i, 0]
        if not (np.isnan(value) or value == -np.inf):
            guess = _guess(value, first, per_class, last)
            low = code_of[guess] if ascending[guess] == value else _search(value, ascending, code_of)
        value = ends[i, 1]
        if not (np.isnan(value) or value == np.inf):
            guess = _guess(value, first, per_class, last)
            high = code_of[guess] if ascending[guess] == value else _search(value, ascending, code_of)
        lower[i] = low
        upper[i] = high
        if low < 0 or high < 0 or low > high:
            return False
    return True


@kernel
def consecutive_intervals(ends, first, last, lower, upper):
    """The same for the classes first, first + 1, ..., last: no table, no branch, several rows per instruction.

    The ends are compared as they are: the difference of two numbers may overflow.
    """
    bad = 0
    for i in range(ends.shape[0]):
        low, high = ends[i, 0], ends[i, 1]
        bad |= (low < first) | (high < low) | (high > last)
        lower[i] = low - first
        upper[i] = high - first
    return bad == 0
