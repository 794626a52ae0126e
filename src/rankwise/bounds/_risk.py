"""Guarantees for learning from partial labels: bounds on the true risk by the partial risk.

Source: the thesis on partial annotations, section 3.3.1. The *partial risk* R_I of a classifier is its expected
interval-insensitive loss, against the nearest admissible class, which
:func:`rankwise.metrics.mean_absolute_error` and :func:`rankwise.metrics.zero_one_loss` estimate. The risk R is the
expected loss against the true class. Both theorems hold for every classifier, for intervals and for candidate sets.
"""

import numpy as np
from scipy.special import betaincinv

from rankwise.annotation import Overlap
from rankwise.bounds.checks import non_negative, share


def interval_zero_one_risk(partial_risk: float, ambiguity: float) -> float:
    """Theorem 2: 0/1 risk by the partial one, ``R <= R_I / (1 - epsilon)``, and never more than 1.

    A wrong prediction is admissible with a probability of at most epsilon. The annotations need not be consistent.

    Parameters
    ----------
    partial_risk : float
        R_I for the 0/1 loss, in [0, 1].
    ambiguity : float
        epsilon in [0, 1], see :func:`ambiguity_degree`. An annotator who names the true class alone with a
        probability of at least alpha, whatever the row, has an epsilon of at most ``1 - alpha``.

    Examples
    --------
    >>> interval_zero_one_risk(0.1, ambiguity=0.75)
    0.4
    """
    share(partial_risk=partial_risk, ambiguity=ambiguity)
    return min(1.0, partial_risk / (1 - ambiguity)) if ambiguity < 1 else 1.0


def interval_mae_risk(partial_risk: float, alpha: float, beta: float) -> float:
    """Theorem 3: mean absolute error by the partial one, ``R <= R_I + (1 - alpha) beta``.

    The annotations must be consistent: the true class is admissible. Then a prediction's error against a label is too
    small by at most the label's width ``upper - lower``.

    Parameters
    ----------
    partial_risk : float
        R_I for the MAE, >= 0.
    alpha : float
        Share of the exact labels, in [0, 1]. (Definition 6 asks for a probability that holds at every row and class;
        the proof only needs the mean.)
    beta : float
        Largest width of a label. Two sharper choices, with ``alpha=0``: the mean width of all labels
        (:class:`rankwise.annotation.Precision`) and, from rows with known true classes, the mean distance from the true
        to the farthest admissible class (:class:`rankwise.annotation.Overlap`), which needs no consistency.

    Examples
    --------
    >>> interval_mae_risk(0.5, alpha=0.75, beta=4)
    1.5
    """
    non_negative(partial_risk=partial_risk, beta=beta)
    share(alpha=alpha)
    return partial_risk + (1 - alpha) * beta


def ambiguity_degree(overlap: Overlap, confidence: float | None = None) -> float:
    """Estimate epsilon of Theorem 2: the largest probability that a class z is admitted with the true class y != z.

    The thesis also takes the maximum over all x, which no data can show. This is the maximum over y and z, and equals
    epsilon if the annotation of a row depends on its class alone. (Without z != y, as in the second half of (3.32), the
    maximum would always be 1.)

    Parameters
    ----------
    overlap : Overlap
        Annotations compared with the true classes, from :func:`rankwise.annotation.overlap`.
    confidence : float, optional
        None gives the largest observed share, which is too low for classes with few rows and skips those without. A
        number in (0, 1) gives an upper limit with this confidence: that of Clopper and Pearson, for all pairs of
        classes at once (Bonferroni). With a class without rows it is 1.

    Examples
    --------
    >>> from rankwise.annotation import overlap
    >>> both = overlap([(1, 2), 1, 1, 1, 2, 2, 2, 2], [1, 1, 1, 1, 2, 2, 2, 2], classes=[1, 2, 3])
    >>> ambiguity_degree(both)
    0.25
    """
    k = overlap.classes.size
    pairs = ~np.eye(k, dtype=bool)
    if k == 1:
        return 0.0
    if confidence is None:
        return float(np.nanmax(overlap.rates[pairs]))
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, or be None. Got {confidence!r} instead.")
    seen = overlap.counts[pairs]
    rows = np.broadcast_to(overlap.n_rows[:, None], (k, k))[pairs]
    if (seen == rows).any():  # always together, or no rows at all
        return 1.0
    return float(betaincinv(seen + 1, rows - seen, 1 - (1 - confidence) / seen.size).max())
