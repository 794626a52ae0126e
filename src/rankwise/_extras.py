"""Import optional packages, with a message that names the extra to install if one is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(package: str, message: str) -> Any:
    """Import an optional package; if it is missing, the message says how to install it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:  # the package is there but one of its dependencies is not: its own message says which
            raise
        raise ImportError(message) from None
