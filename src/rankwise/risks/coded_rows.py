"""Rows of ordinal labels as the risks see them."""

from dataclasses import dataclass

import numpy as np

from rankwise._types import Codes, Floats, Places
from rankwise.labels import Labels
from rankwise.solvers.row_sums import RowsHere


@dataclass(frozen=True, eq=False)
class CodedRows(RowsHere):
    """Rows with the lowest and the highest admissible code of each."""

    lower: Codes
    upper: Codes


@dataclass(frozen=True, eq=False)
class RunRows(CodedRows):
    """Rows that may be runs of a candidate set: ``owner`` is the number of the label that each belongs to."""

    owner: Places


def runs_of(labels: Labels, weight: Floats) -> tuple[Places, tuple[Floats, Codes, Codes]]:
    """Label of every run of admissible classes; and each run's equal share of the weight, first and last class."""
    admitted = np.pad(labels.admissible(), ((0, 0), (1, 1)))
    owner, lower = np.nonzero(admitted[:, 1:-1] & ~admitted[:, :-2])
    _, upper = np.nonzero(admitted[:, 1:-1] & ~admitted[:, 2:])
    shared = weight[owner] / np.bincount(owner)[owner]
    return owner, (shared, lower.astype(np.int32), upper.astype(np.int32))
