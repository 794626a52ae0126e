"""Warnings that point to the user's line, however deep in the package they are raised."""

from __future__ import annotations

import sys
import warnings

_NOT_THE_USER = ("rankwise", "sklearn", "joblib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the place of the innermost caller outside this package and the libraries that call it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_USER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
