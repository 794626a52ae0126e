"""Words of messages that differ between Python and the command: a parameter in one is an option in the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_is_command = False  # of the process: threads of a command speak as it does


@contextmanager
def words_of_the_command() -> Iterator[None]:
    """Let messages name options."""
    global _is_command
    before, _is_command = _is_command, True
    try:
        yield
    finally:
        _is_command = before


def either(python: str, command: str) -> str:
    """What to say to those who write Python, or to those who type a command."""
    return command if _is_command else python


def setting(name: str, value: object) -> str:
    """A parameter with its value, or the option of the same name.

    Examples
    --------
    >>> setting("slips", "missing")
    "slips='missing'"
    """
    return either(f"{name}={value!r}", f"{option(name)} {value}")


def option(name: str) -> str:
    """A parameter, or the option of the same name."""
    return either(name, f"--{name.replace('_', '-')}")


def the_classes() -> str:
    """How classes are declared."""
    return either("classes=[...]", "--classes A,B,C")
