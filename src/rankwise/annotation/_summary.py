"""Labels as they came: how many of each kind, how wide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.labels import Labels, encode


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
    said = labels if isinstance(labels, Labels) else encode(labels, classes)
    width = said.upper - said.lower
    exact = said.is_exact
    missing = said.is_missing & ~exact
    gaps = np.zeros_like(exact) if said.mask is None else said.mask.sum(axis=1) <= width
    return Summary(
        n_exact=int(exact.sum()),
        n_interval=int((~exact & ~missing & ~gaps).sum()),
        n_candidates=int(gaps.sum()),
        n_missing=int(missing.sum()),
        widths=tuple(np.bincount(width, minlength=len(said.order)).tolist()),
    )
