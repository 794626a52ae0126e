"""The error about a row of data: what is wrong and where, as attributes and not only as text."""

from __future__ import annotations

from typing import Any


def refuse_many_classes(what: str, n_classes: int, most: int, instead: str = "") -> None:
    """Raise if what grows with the square of the number of classes would take too much memory or time."""
    if n_classes > most:
        other = f", or take {instead}" if instead else ""
        raise ValueError(f"{what} takes up to {most:,} classes. Got {n_classes:,}: join neighbouring classes{other}.")


class RowError(ValueError):
    """A row that breaks a rule.

    Parameters
    ----------
    reason : str
        What is wrong, without the place: it follows "row 3: " in the message.
    row : int
        The row, counted from 0.
    column : optional
        Name or number of the column, if one is to blame.
    axis : str, default "column"
        Word for ``column`` in the message: "label" in a table of labels.
    message : str, optional
        The whole message; by default place and reason.

    Attributes
    ----------
    reason, row, column
        As given.

    Examples
    --------
    >>> from rankwise import PRIL, RowError
    >>> try:
    ...     PRIL().fit([[1.0], [2.0]], [(1, 2), (3, 2)])
    ... except RowError as error:
    ...     error.row
    1
    """

    __module__ = "rankwise"  # the public name, in tracebacks and pickles

    def __init__(
        self, reason: str, row: int, column: Any = None, *, axis: str = "column", message: str | None = None
    ) -> None:
        where = f"row {row}" if column is None else f"row {row}, {axis} {column!r}"
        super().__init__(f"{where}: {reason}" if message is None else message)
        self.reason, self.row, self.column = reason, row, column

    def __reduce__(self) -> tuple[Any, ...]:
        # By default the class would be called with self.args, which are not the parameters of __init__.
        return type(self).__new__, (type(self), *self.args), self.__dict__

    def at(self, place: str) -> ValueError:
        """The same error with another name of the place: a line of a file, a position of a sequence."""
        return ValueError(f"{place}: {self.reason}")
