"""Decision rules of section 5 of the mathematics as they are written, in exact arithmetic; classes are codes 0..K-1."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise


def ord_rule(f, thresholds):
    """``#{k : f > t_k}``."""
    return sum(f > t for t in thresholds)


def mord_rule(f, intercepts):
    """``argmax_y f y + b_y``, the smallest of several."""
    return unified_rule([f], intercepts, [[y] for y in range(len(intercepts))])


def unified_rule(scores, intercepts, beta):
    """``argmax_y sum_z beta[y][z] f_z + b_y``, the smallest of several."""
    values = [
        sum(Fraction(m) * Fraction(f) for m, f in zip(mix, scores, strict=True)) + Fraction(b)
        for mix, b in zip(beta, intercepts, strict=True)
    ]
    return values.index(max(values))


def predictable(intercepts):
    """Classes that MORD predicts for some score: tried at every crossing of two lines, and on both sides of it."""
    b = [Fraction(value) for value in intercepts]
    crossings = sorted({(b[i] - b[j]) / (j - i) for j in range(len(b)) for i in range(j)}) or [Fraction(0)]
    between = [(low + high) / 2 for low, high in pairwise(crossings)]
    tried = [crossings[0] - 1, *crossings, *between, crossings[-1] + 1]
    return {mord_rule(f, intercepts) for f in tried}


def piecewise_mix(cuts, n_classes):
    """Mix of the scores of every class by (3.10): ``1 - alpha`` of the cut below it, ``alpha`` of the cut above."""
    beta = [[Fraction(0)] * len(cuts) for _ in range(n_classes)]
    for z, (low, high) in enumerate(pairwise(cuts)):
        for y in range(low, high + 1):
            alpha = Fraction(y - low, high - low)
            beta[y] = [Fraction(0)] * len(cuts)
            beta[y][z], beta[y][z + 1] = 1 - alpha, alpha
    return beta
