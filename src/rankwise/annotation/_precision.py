"""How precise annotations are: counts by kind and width, and the terms of the risk bounds, alpha and beta.

Estimated from annotations alone (:func:`summary`, :func:`precision`), or from rows annotated twice, once exactly
(:func:`overlap`). :func:`precision` and :func:`overlap` leave out rows whose label is missing or admits every class, as
:mod:`rankwise.metrics` does: bounds and partial risks then speak of the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from rankwise.labels import encode
from rankwise.labels.encoding import encode_ordered
from rankwise.losses import interval_pessimistic
from rankwise.metrics.comparison import encode_both


@dataclass(frozen=True)
class Summary:
    """What kinds of label there are, and how wide.

    Attributes
    ----------
    n_exact, n_interval, n_candidates, n_missing : int
        Rows of each kind. A candidate set without gaps is an interval, one of all classes is missing.
    widths : tuple of int
        ``widths[k]`` rows have ``upper - lower = k``; K entries, missing rows are in the last.
    """

    n_exact: int
    n_interval: int
    n_candidates: int
    n_missing: int
    widths: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.widths)

    @property
    def mean_width(self) -> float:
        """Mean of ``upper - lower``: 0 if all labels are exact; NaN without rows."""
        return sum(k * count for k, count in enumerate(self.widths)) / self.n_rows if self.n_rows else float("nan")


@dataclass(frozen=True)
class Precision:
    """How precise a set of annotations is.

    Attributes
    ----------
    n_rows : int
        Labelled rows.
    n_exact : int
        Rows whose label is a single class.
    beta : int
        Largest ``upper - lower``.
    mean_width : float
        Mean of ``upper - lower``, at most ``(1 - alpha) * beta``.
    """

    n_rows: int
    n_exact: int
    beta: int
    mean_width: float

    @property
    def alpha(self) -> float:
        """Share of the exact labels.

        Definition 6 asks for a probability that holds for every row and class; the bound only needs the share.
        """
        return self.n_exact / self.n_rows

    def alpha_limit(self, confidence: float = 0.95) -> float:
        """Lower limit of the probability of an exact label (Clopper and Pearson), for independent rows.

        >>> round(precision([1, (1, 2), (2, 3), 3], classes=[1, 2, 3, 4]).alpha_limit(), 3)
        0.098
        """
        _check_confidence(confidence)
        if self.n_exact == 0:
            return 0.0
        return float(betaincinv(self.n_exact, self.n_rows - self.n_exact + 1, 1 - confidence))

    def wider_limit(self, confidence: float = 0.95) -> float:
        """Upper limit of the probability of a label wider than ``beta``, after none was seen, for independent rows.

        >>> round(precision([(1, 2)] * 100, classes=[1, 2, 3]).wider_limit(), 3)  # about 3 in 100
        0.03
        """
        _check_confidence(confidence)
        return float(1 - (1 - confidence) ** (1 / self.n_rows))


@dataclass(frozen=True, eq=False)
class Overlap:
    """Annotations beside the truth.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The classes, lowest first.
    counts : int ndarray of shape (K, K)
        ``counts[y, z]`` rows of the true class y have an annotation that admits z.
    n_rows : int ndarray of shape (K,)
        Rows of each true class.
    mean_reach : float
        Mean distance in ranks from the truth to the farthest class that its annotation admits. The mean absolute error
        exceeds the partial one by at most this, whether or not the annotations hold the truth; for those that do it
        is at most :attr:`Precision.mean_width`.
    """

    classes: NDArray[Any]
    counts: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    mean_reach: float

    @property
    def rates(self) -> NDArray[np.float64]:
        """Share of the rows of class y whose annotation admits z, (K, K); NaN for classes without rows."""
        rows = np.where(self.n_rows > 0, self.n_rows, np.nan)[:, None]
        return np.asarray(self.counts / rows)

    @property
    def consistency(self) -> float:
        """Share of the annotations that admit the truth; 1 for a consistent process (Definition 5)."""
        return float(np.trace(self.counts) / self.n_rows.sum())


def summary(labels: Any, classes: Any = None) -> Summary:
    """Count the labels of each kind and of each width.

    Parameters
    ----------
    labels : Labels or labels of any form
        See :func:`rankwise.labels.encode`.
    classes : sequence, optional
        The classes, lowest first, unless ``labels`` are encoded.

    Examples
    --------
    >>> summary([1, (1, 2), {1, 3}, None], classes=[1, 2, 3, 4])
    Summary(n_exact=1, n_interval=1, n_candidates=1, n_missing=1, widths=(1, 1, 1, 1))
    """
    encoded = encode(labels, classes)
    widths = np.bincount(encoded.upper - encoded.lower, minlength=len(encoded.order))
    return Summary(*encoded.counts(), widths=tuple(widths.tolist()))


def precision(labels: Any, classes: Any = None) -> Precision:
    """Estimate alpha and beta of a set of annotations.

    Parameters
    ----------
    labels, classes
        As in :func:`summary`. A candidate set counts as the interval from its lowest to its highest class.

    Examples
    --------
    >>> estimate = precision([1, (1, 2), (2, 4), None], classes=[1, 2, 3, 4])
    >>> estimate
    Precision(n_rows=3, n_exact=1, beta=2, mean_width=1.0)
    >>> from rankwise.bounds import interval_mae_risk
    >>> round(interval_mae_risk(0.5, estimate.alpha, estimate.beta), 3)
    1.833
    """
    encoded = encode_ordered(labels, classes, "precision", counts_ranks=True)
    width = (encoded.upper - encoded.lower)[~encoded.is_missing]
    if not width.size:
        raise ValueError(f"labels must hold at least one label. Got {len(encoded)} rows, none of them labelled.")
    return Precision(width.size, int((width == 0).sum()), int(width.max()), float(width.mean()))


def overlap(annotations: Any, truth: Any, classes: Any = None) -> Overlap:
    """Compare annotations with the true classes of the same rows.

    The rows must be typical, and the truth must come from another source, such as exact labels by another annotator:
    not from the rows that the same annotator found easy.

    Parameters
    ----------
    annotations : labels of any form
        The annotators' labels, see :func:`rankwise.labels.encode`.
    truth : labels of any form
        Exact labels of the same rows. Rows where it is missing, or no single class, are left out.
    classes : sequence, optional
        The classes, lowest first; by default those that occur in either.

    Examples
    --------
    >>> comparison = overlap([(1, 2), (1, 2), 2, (2, 3)], [1, 2, 2, None])
    >>> comparison.rates
    array([[1. , 1. , 0. ],
           [0.5, 1. , 0. ],
           [nan, nan, nan]])
    >>> from rankwise.bounds import ambiguity_degree
    >>> ambiguity_degree(comparison)
    1.0
    """
    labels, true = encode_both(annotations, truth, classes, "overlap")
    if len(true) != len(labels):
        raise ValueError(f"annotations and truth must have the same number of rows. Got {len(labels)} and {len(true)}.")
    rows = true.is_exact & ~labels.is_missing
    if not rows.any():
        raise ValueError(
            f"at least one row must carry both an annotation and an exact truth. Got none of {len(labels)}."
        )
    labels, y = labels[rows], true.lower[rows]
    admissible = labels.admissible()
    counts = np.array([admissible[y == code].sum(axis=0) for code in range(len(labels.order))], dtype=np.int64)
    n_rows = np.bincount(y, minlength=len(labels.order))
    return Overlap(labels.classes, counts, n_rows, float(interval_pessimistic(labels, y, "mae").mean()))


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1. Got {confidence!r} instead.")
