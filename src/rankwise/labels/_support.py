"""Which estimator learns from which kind of label, so that an error can name suitable ones."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from inspect import getattr_static

import numpy as np

from rankwise._errors import RowError
from rankwise.labels._encoded import Labels

#: From the most to the least precise. A missing label is the full interval and every estimator takes it as a no-op.
KINDS = ("exact", "interval", "candidates")


def estimators_for(kind: str) -> list[str]:
    """Names of the estimators ``rankwise.Name`` that learn from labels of this kind, whatever has been imported."""
    return sorted(name for name, public in _public_classes().items() if kind in getattr(public, "label_kinds", ()))


def estimators_with(method: str) -> list[str]:
    """Names of the estimators ``rankwise.Name`` that have a method."""
    return sorted(name for name, public in _public_classes().items() if callable(getattr_static(public, method, None)))


def _public_classes() -> dict[str, type]:
    # This layer imports no estimator except here, for a message: a registry that estimators enter on import would hold
    # only those imported so far, and the user's own.
    rankwise = import_module("rankwise")
    return {name: getattr(rankwise, name) for name in rankwise.__all__ if name[0].isupper()}


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
