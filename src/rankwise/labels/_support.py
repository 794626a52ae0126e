"""Which estimator learns from which kind of label, so that an error can name suitable ones."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rankwise._errors import RowError
from rankwise._registry import ESTIMATORS
from rankwise.labels.encoded_labels import Labels

#: From the most to the least precise. A missing label is the full interval and every estimator takes it as a no-op.
KINDS = ("exact", "interval", "candidates")


def estimators_for(kind: str) -> list[str]:
    """Names of the estimators ``rankwise.Name`` that learn from labels of this kind."""
    return sorted(name for name, entry in ESTIMATORS.items() if kind in entry.label_kinds)


def estimators_with(method: str) -> list[str]:
    """Names of the estimators ``rankwise.Name`` that have a method that takes probabilities."""
    return sorted(name for name, entry in ESTIMATORS.items() if method in entry.probable)


def require_support(labels: Labels, estimator: str, kinds: Iterable[str]) -> None:
    """Raise unless every row is of a kind the estimator learns from; name kind, row, value and suitable estimators."""
    kinds = frozenset(kinds)
    if "candidates" not in kinds and labels.has_gaps.any():
        row = int(np.argmax(labels.has_gaps))
        what = f"{labels.describe(row)} has gaps; {estimator} does not learn from candidate sets with gaps."
        hint = "(An interval is a tuple (lower, upper), or a row of an (n, 2) table.)"
        raise RowError(" ".join([what, hint, *_able("candidates")]), row)
    if "interval" not in kinds:
        width = labels.upper - labels.lower
        partial = (width > 0) & (width < len(labels.order) - 1)
        if partial.any():
            row = int(np.argmax(partial))
            what = f"the label is {labels.describe(row)}; {estimator} does not learn from interval labels."
            raise RowError(" ".join([what, *_able("interval")]), row)


def _able(kind: str) -> list[str]:
    able = estimators_for(kind)
    return [f"These can: {', '.join(able)}."] if able else []
