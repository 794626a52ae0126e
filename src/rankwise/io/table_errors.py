"""The error of files that cannot be read or written, and the translation of pyarrow's errors into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from rankwise._errors import RowError
from rankwise.labels.label_values import one_line

_LONGEST_MESSAGE = 200
shown = one_line  #: a wrong value, for an error message

#: Errors of pyarrow about a damaged or foreign file; a corrupt length asks for more memory than there is.
_PYARROW_ERRORS = (pa.ArrowException, OSError, EOFError, LookupError, ValueError, MemoryError, OverflowError, TypeError)


class TableError(ValueError):
    """A file that cannot be read or written, or a row in one that breaks a rule: one line that says which and why."""


class TableRowError(RowError, TableError):
    """A row of a file that breaks a rule.

    Attributes
    ----------
    file : str
        The file.
    row : int
        Data row in the file, from 1.
    line : int or None
        Line of a text file, from 1.
    column : str, tuple of str or None
        Column or columns to blame.
    reason : str
        What is wrong.
    """

    def __init__(
        self, file: str, row: int, line: int | None, reason: str, *, column: Any = None, what: str = ""
    ) -> None:
        about = f"{what}: " if what else ""
        super().__init__(reason, row, column, message=f"{place(file, row, line)}: {about}{reason}")
        self.file, self.line = file, line


def place(file: str, row: int | None = None, line: int | None = None) -> str:
    """A place for an error message: the file, the data row from 1, and the line of a text file."""
    where = f"file {file}"
    if row is not None:
        where += f", row {row}"
    if line is not None:
        where += f" (line {line})" if row is not None else f", line {line}"
    return where


@contextmanager
def translated(file: str, doing: str) -> Iterator[None]:
    """Convert errors of pyarrow and of the system inside to a :class:`TableError` that names the file."""
    try:
        yield
    except TableError:
        raise
    except pa.ArrowCancelled:
        raise KeyboardInterrupt from None
    except FileNotFoundError:
        raise TableError(f"{place(file)}: there is no such file or directory.") from None
    except PermissionError:
        raise TableError(f"{place(file)}: no permission to {doing.split()[0]} it.") from None
    except _PYARROW_ERRORS as error:
        raise TableError(f"{place(file)}: cannot {doing}: {tidy_message(error)}") from None


def tidy_message(error: BaseException) -> str:
    """An exception's message on one line, not too long, ending with a full stop."""
    if isinstance(error, OSError) and error.errno is not None and error.strerror:
        message = error.strerror
    else:
        message = str(error) or type(error).__name__
    message = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    if len(message) > _LONGEST_MESSAGE:
        message = message[: _LONGEST_MESSAGE - 3] + "..."
    return message if message.endswith(".") else message + "."
