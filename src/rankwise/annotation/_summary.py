"""Labels as they came: how many of each kind, how wide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.labels import encode


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
    said = encode(labels, classes)
    widths = np.bincount(said.upper - said.lower, minlength=len(said.order))
    return Summary(*said.counts(), widths=tuple(widths.tolist()))
