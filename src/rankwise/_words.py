"""Words of messages that differ between Python, the command line and a service: parameters, options, neither."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

# Global, so that threads of a command use the same words.
_is_command = _is_service = False
_options: Collection[str] = ()


@contextmanager
def words_of_the_command(options: Collection[str] = ()) -> Iterator[None]:
    """Let messages name options; ``options`` are those of the command that runs, such as ``--classes``."""
    global _is_command, _options
    before, _is_command, _options = (_is_command, _options), True, options
    try:
        yield
    finally:
        _is_command, _options = before


@contextmanager
def words_of_the_service() -> Iterator[None]:
    """Let messages go to clients of a service, who can change their rows and neither parameters nor options."""
    global _is_service
    before, _is_service = _is_service, True
    try:
        yield
    finally:
        _is_service = before


def remedy(words: str) -> str:
    """What to do by a parameter or an option; nothing for the clients of a service."""
    return "" if _is_service else words


def either(python: str, command: str) -> str:
    """The words for users of Python, or for users of the command line."""
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


def when_fitting(option: str) -> str:
    """Prefix of an option of ``fit`` in messages of a command without this option, such as ``predict``."""
    return either("", "" if option in _options else "rankwise fit ")


def the_classes() -> str:
    """How to declare classes."""
    return either("classes=[...]", "--classes A,B,C")
