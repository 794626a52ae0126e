"""Items to annotate: rows of a table, how each is shown, and what the model learns from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rankwise.features.arrow_columns import text_of
from rankwise.io import TableError, open_table
from rankwise.io.table_reader import read_columns

_MOST_CHARACTERS = 100_000  # of one value on the page
_LONGEST_NAME = 200
_NAMES = ("id", "item")  # columns that name items by default
_PLAIN = (bool, int, float, str)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Columns that the page shows; without any of these, all are shown as a table."""

    text: str | None = None  # shown large
    image: str | None = None  # names of files
    audio: str | None = None  # names of files
    columns: Sequence[str] = ()  # shown as a table


class Items:
    """Items in the order of their file.

    ``rows`` hold what the model learns from, as plain values; ``features`` are their columns, none if there is nothing
    to learn from.
    """

    def __init__(
        self, columns: Mapping[str, list[Any]], shown: Shown, *, name: str | None = None, ignore: Sequence[str] = ()
    ) -> None:
        self.shown = shown
        wanted = [shown.text, shown.image, shown.audio, name, *shown.columns, *ignore]
        for column in wanted:
            if column is not None and column not in columns:
                raise TableError(f"there is no column {column!r}. {_meant(column, list(columns))}")
        n_rows = max(map(len, columns.values()), default=0)
        if not n_rows:
            raise TableError("there are no items: the table has no rows.")
        values = {column: [_plain(value) for value in given] for column, given in columns.items()}
        named = name or next((column for column in _NAMES if column in columns), None)
        self.names = _named(values[named], named) if named else [str(i + 1) for i in range(n_rows)]
        left_out = {named, shown.image, shown.audio, *ignore}
        self.features = [column for column in columns if column not in left_out]
        self.rows = [{column: values[column][i] for column in self.features} for i in range(n_rows)]
        alone = shown.text is None and shown.image is None and shown.audio is None and not shown.columns
        self._table = [c for c in columns if c != named] if alone else list(shown.columns)
        self._values = values

    def __len__(self) -> int:
        return len(self.names)

    def forget_features(self) -> None:
        """Make all rows the same to a model, as nothing can be learnt from the columns."""
        self.features, self.rows = [], [{"x0": 1.0}] * len(self)

    def file(self, item: int, kind: str) -> str | None:
        """Name of the file of an item: its image or its audio."""
        column = getattr(self.shown, kind)
        value = None if column is None else self._values[column][item]
        return None if value is None or value == "" else text_of(value)

    def describe(self, item: int) -> dict[str, Any]:
        """An item as the page shows it."""
        text = self.shown.text
        return {
            "item": self.names[item],
            "number": item,
            "text": None if text is None else _short(self._values[text][item]),
            "table": [[column, _short(self._values[column][item])] for column in self._table],
            "image": self.file(item, "image") is not None,
            "audio": self.file(item, "audio") is not None,
        }


def read_items(path: Path, shown: Shown, *, name: str | None = None, ignore: Sequence[str] = ()) -> Items:
    """Items of a file: CSV, Parquet, Arrow, JSON lines or Excel.

    The column ``name`` names items; by default ``id`` or ``item`` if there is one, otherwise the number of the row. The
    model does not learn from the columns ``ignore``.
    """
    texts = [c for c in (shown.text, shown.image, shown.audio, name, *_NAMES) if c is not None]
    table = open_table(path)
    known = {column: "string" for column in texts if column in table.schema.names}
    if known and table.format in ("csv", "tsv", "jsonl", "xlsx"):
        table = open_table(path, types=known)
    columns = read_columns(table, table.schema.names)
    try:
        return Items(columns, shown, name=name, ignore=ignore)
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def _meant(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"The columns are {', '.join(map(repr, known[:20]))}."


def _plain(value: Any) -> Any:
    """A value as JSON holds it; dates and the like as texts."""
    if value is None or value != value:
        return None
    return value if isinstance(value, _PLAIN) else str(value)


def _short(value: Any) -> str:
    text = "" if value is None else text_of(value) if isinstance(value, _PLAIN) else str(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} […]"


def _named(values: list[Any], column: str) -> list[str]:
    names = ["" if value is None else text_of(value) for value in values]
    for row, text in enumerate(names):
        if not 0 < len(text) <= _LONGEST_NAME:
            raise TableError(
                f"row {row + 1}, column {column!r}: a name of an item has 1 to {_LONGEST_NAME} characters."
            )
    twice = next((text for text, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise TableError(f"column {column!r} names items, and {twice!r} occurs twice.")
    return names
