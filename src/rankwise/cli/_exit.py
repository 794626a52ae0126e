"""How a command ends: exit codes 0 good, 1 bad data or model, 2 wrong usage, 3 many rows skipped, 128 + n signal n."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from types import FrameType
from typing import NoReturn

import typer

BAD_DATA, WRONG_USAGE, MANY_SKIPPED, STOPPED = 1, 2, 3, 130
TERMINATING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # not on Windows


def complain(message: str, kind: str = "error") -> None:
    with suppress(OSError):  # without stderr, the exit code remains
        typer.echo(f"rankwise: {kind}: {' '.join(message.split())}", err=True)


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP end the command like an error, so that it removes unfinished files."""

    def end(number: int, _: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    for number in TERMINATING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it
            signal.signal(number, end)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Report errors of the data, the disk or the installation in one line, with an exit code and no traceback."""
    from rankwise.datasets import DatasetDamagedError

    try:
        with plain_warnings():
            yield
    except BrokenPipeError:  # the reader of our output has closed it; typer ends quietly
        raise
    except (OSError, DatasetDamagedError, ValueError, TypeError) as error:
        complain(in_words(error))
        raise typer.Exit(BAD_DATA) from None
    except MemoryError:
        complain("there is not enough memory. An online estimator (PRIL, say) reads files of any size.")
        raise typer.Exit(BAD_DATA) from None
    except ImportError as error:  # an extra that is not installed; our own messages name it
        complain('reading files needs pyarrow: pip install "rankwise[io]"' if error.name == "pyarrow" else str(error))
        raise typer.Exit(WRONG_USAGE) from None


def in_words(error: Exception) -> str:
    """Message of an error; for errors of the system the file and the reason."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}."
    return str(error) or type(error).__name__


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings meant for users once, in one line each, and hide those meant for programmers."""
    from rankwise.labels import OrderNote

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        shown: set[str] = set()

        def show(message: Warning | str, *_: object, **__: object) -> None:
            if str(message) not in shown:
                shown.add(str(message))
                complain(str(message), "note" if isinstance(message, OrderNote) else "warning")

        warnings.showwarning = show
        yield


def suggestion(name: str, known: Iterable[str], most: int = 20) -> str:
    """The name that was probably meant, or the known names."""
    known = list(known)
    close = get_close_matches(name, known, n=1) or [k for k in known if k.lower() == name.lower()]
    if close:
        return f"Did you mean {close[0]!r}?"
    more = ", ..." if len(known) > most else "."
    return f"Known: {', '.join(known[:most])}{more}"
