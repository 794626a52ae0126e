"""Optional packages: one way to ask for them, and to say which extra installs a missing one."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(package: str, message: str) -> Any:
    """Import an optional package; where it is missing, the message says how to get it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:  # it is there, but something that it needs is not: its own message says what
            raise
        raise ImportError(message) from None
