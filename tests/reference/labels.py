"""The label formats as their description says them: one row at a time, one class at a time, no look-up table."""

import math

import numpy as np

MISSING, UNKNOWN = -1, -2


class RefusedError(Exception):
    """The row breaks a rule."""


def says_nothing(said):
    if said is None or type(said).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(said, (float, np.floating)) and math.isnan(said)


def code_of(said, classes):
    """Number of the class that a label equals."""
    for code, name in enumerate(classes):
        if said == name:
            return code
    raise RefusedError(f"{said!r} is no class")


def codes_of(values, classes):
    """Code of every value, MISSING and UNKNOWN among them."""
    out = []
    for said in values:
        try:
            out.append(MISSING if says_nothing(said) else code_of(said, classes))
        except RefusedError:
            out.append(UNKNOWN)
    return out


def admitted(said, classes):
    """Codes that one row of ``y`` admits, ascending."""
    if says_nothing(said):
        return list(range(len(classes)))
    if isinstance(said, tuple):
        return between(*said, classes)
    if isinstance(said, (list, set, frozenset, np.ndarray)):
        if len(said) == 1 and says_nothing(next(iter(said))):
            return list(range(len(classes)))
        if len(said) == 0:
            raise RefusedError("no candidates")
        return sorted({code_of(one, classes) for one in said})
    return [code_of(said, classes)]


def between(lower, upper, classes):
    """Codes of the interval [lower, upper], open where an end says nothing or is the infinity on its side."""
    low = 0 if says_nothing(lower) or lower == -math.inf else code_of(lower, classes)
    high = len(classes) - 1 if says_nothing(upper) or upper == math.inf else code_of(upper, classes)
    if low > high:
        raise RefusedError(f"{lower!r} is above {upper!r}")
    return list(range(low, high + 1))


def inside(left, right, closed, classes):
    """Codes of the numbers in a mathematical interval; ``closed`` as pandas names it."""
    if says_nothing(left) or says_nothing(right):
        return list(range(len(classes)))
    codes = []
    for code, number in enumerate(classes):
        above = number >= left if closed in ("left", "both") else number > left
        below = number <= right if closed in ("right", "both") else number < right
        if above and below:
            codes.append(code)
    if not codes:
        raise RefusedError(f"no class between {left!r} and {right!r}")
    return codes


def encode(y, classes):
    """Lower code, upper code and (n, K) mask of rows of ``y``."""
    rows = [admitted(said, classes) for said in y]
    mask = np.zeros((len(rows), len(classes)), dtype=bool)
    for row, codes in enumerate(rows):
        mask[row, codes] = True
    return [codes[0] for codes in rows], [codes[-1] for codes in rows], mask
