"""Parameters of the encoder that columns use, entries of sparse rows, and errors about missing values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise._types import Floats
from rankwise._words import remedy, setting, when_fitting

#: Rows, columns counted from the first of their block, and values.
Entries = tuple[NDArray[np.int64], NDArray[np.int64], Floats]


@dataclass(frozen=True)
class Rules:
    """Parameters of the encoder that columns use."""

    missing: str = "mean"
    scaling: str = "standard"
    slips: str = "refuse"
    dates: str = "numbers"
    categories: str = "onehot"
    unknown: str = "ignore"
    max_categories: int = 100
    min_category_rows: int = 1
    indicate_missing: bool = False
    texts: str = "auto"
    ngrams: int = 1
    max_words: int = 5000
    n_hashed: int = 16384
    stream: bool = False
    drop_first: bool | str = False
    ordered: str = "cumulative"

    @property
    def has_reference(self) -> bool:
        """Whether the features of a column are differences from one of its levels, which has none."""
        return bool(self.drop_first) and self.drop_first != "auto"


def scale(values: Floats, scaling: str) -> tuple[float, float]:
    """Shift and factor; a constant column is only shifted."""
    if scaling == "none":
        return 0.0, 1.0
    with np.errstate(over="ignore", invalid="ignore"):  # the spread of numbers up to 1e308 may overflow
        if scaling == "standard":
            shift, spread = float(values.mean()), float(values.std())
        elif scaling == "minmax":
            shift, spread = float(values.min()), float(values.max() - values.min())
        else:
            low, shift, high = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
            spread = high - low
        factor = 1.0 / spread if spread > 0 and np.isfinite(spread) else 1.0
    if not np.isfinite(shift) or not np.isfinite(factor):
        return 0.0, 1.0
    return shift, factor


def joined(entries: Iterable[Entries]) -> Entries:
    """Entries of several columns as one."""
    nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    rows, places, values = zip(nothing, *entries, strict=True)
    return np.concatenate(rows), np.concatenate(places), np.concatenate(values)


def refuse_missing(name: str, missing: NDArray[np.bool_]) -> Iterator[RowError]:
    """An error for every row without a value."""
    for row in np.flatnonzero(missing).tolist():
        yield RowError(
            remedy(
                f"a value is missing (NaN), and {setting('missing', 'refuse')}. Give {when_fitting('--missing')}"
                f"{setting('missing', 'mean')} or 'median', or drop it."
            )
            or "a value is missing, and the model was fitted to take none.",
            row,
            name,
        )
