"""How a command ends: exit codes 0 good, 1 bad data or model, 2 wrong usage, 130 stopped; an error is one line."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

import typer

BAD_DATA, WRONG_USAGE, STOPPED = 1, 2, 130


def complain(message: str, kind: str = "error") -> None:
    """One line on stderr."""
    typer.echo(f"rankwise: {kind}: {' '.join(message.split())}", err=True)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Errors that are the data's, the disk's or the installation's: one line and an exit code, no traceback."""
    from rankwise.datasets import DatasetDamagedError

    try:
        with plain_warnings():
            yield
    except BrokenPipeError:  # whoever reads our output has seen enough; typer ends quietly
        raise
    except (OSError, DatasetDamagedError, ValueError, TypeError) as error:
        complain(str(error) or type(error).__name__)
        raise typer.Exit(BAD_DATA) from None
    except MemoryError:
        complain("there is not enough memory. An online estimator (PRIL, say) reads files of any size.")
        raise typer.Exit(BAD_DATA) from None
    except ImportError as error:  # an extra that is not installed; our own messages name it
        complain('reading files needs pyarrow: pip install "rankwise[io]"' if error.name == "pyarrow" else str(error))
        raise typer.Exit(WRONG_USAGE) from None


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Warnings meant for users are one line each, once; those meant for programmers are not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        shown: set[str] = set()

        def show(message: Warning | str, *_: object, **__: object) -> None:
            if str(message) not in shown:
                shown.add(str(message))
                complain(str(message), "warning")

        warnings.showwarning = show
        yield


def suggestion(name: str, known: Iterable[str], most: int = 20) -> str:
    """The name that was probably meant, or the names there are."""
    known = list(known)
    close = get_close_matches(name, known, n=1) or [k for k in known if k.lower() == name.lower()]
    if close:
        return f"Did you mean {close[0]!r}?"
    more = ", ..." if len(known) > most else "."
    return f"Known: {', '.join(known[:most])}{more}"
