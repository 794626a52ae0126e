"""Rows of ordinal labels as the risks know them."""

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


def runs_of(labels: Labels, weight: Floats) -> tuple[Places, tuple[Floats, Codes, Codes]]:
    """Row of every run of classes that a label admits; and its equal part of the weight, its first and last class."""
    admitted = np.pad(labels.admissible(), ((0, 0), (1, 1)))
    owner, lower = np.nonzero(admitted[:, 1:-1] & ~admitted[:, :-2])
    _, upper = np.nonzero(admitted[:, 1:-1] & ~admitted[:, 2:])
    shared = weight[owner] / np.bincount(owner)[owner]
    return owner, (shared, lower.astype(np.int32), upper.astype(np.int32))
