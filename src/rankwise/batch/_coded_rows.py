"""Rows of ordinal labels as the risks of the batch estimators know them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.solvers.row_sums import RowsHere

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CodedRows(RowsHere):
    """Rows with the lowest and the highest admissible code of each."""

    lower: Codes
    upper: Codes
