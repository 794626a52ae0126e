"""Which estimator learns from which kind of label, so that a refusal can name the ones that would do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from rankwise.labels._order import show

if TYPE_CHECKING:
    from rankwise.labels._encode import Labels

#: From the most to the least precise. A missing label is the full interval and every estimator takes it as a no-op.
KINDS = ("exact", "interval", "candidates")

_SUPPORT: dict[str, frozenset[str]] = {}


def declare_support(estimator: str, kinds: Iterable[str]) -> None:
    """Record the kinds of label that a public estimator learns from."""
    _SUPPORT[estimator] = frozenset(kinds)


def estimators_for(kind: str) -> list[str]:
    """Names of the loaded estimators that learn from labels of this kind."""
    return sorted(name for name, kinds in _SUPPORT.items() if kind in kinds)


def require_support(labels: Labels, estimator: str, kinds: Iterable[str]) -> None:
    """Raise unless every row is of a kind the estimator learns from; name kind, row, value and who can."""
    kinds = frozenset(kinds)
    if "candidates" not in kinds and labels.mask is not None:
        holes = labels.mask.sum(axis=1) <= labels.upper - labels.lower
        if holes.any():
            row = int(np.argmax(holes))
            found = show(labels.classes[labels.mask[row]])
            _refuse(
                estimator,
                "candidates",
                f"row {row}: the candidate set {found} has gaps",
                "(An interval is a tuple (lower, upper), or a row of an (n, 2) table.) ",
            )
    if "interval" not in kinds:
        width = labels.upper - labels.lower
        partial = (width > 0) & (width < len(labels.classes) - 1)
        if partial.any():
            row = int(np.argmax(partial))
            ends = show(labels.classes[[labels.lower[row], labels.upper[row]]])
            _refuse(estimator, "interval", f"row {row}: the label is the interval {ends}", "")


def _refuse(estimator: str, kind: str, what: str, hint: str) -> None:
    able = estimators_for(kind)
    who = f"These can: {', '.join(able)}." if able else ""
    kind = {"candidates": "candidate sets with gaps", "interval": "interval labels"}[kind]
    raise ValueError(f"{what}; {estimator} does not learn from {kind}. {hint}{who}".rstrip())
