"""The kind of a column, by its type and values; and which columns are uninformative."""

from __future__ import annotations

import re
from typing import Any

from rankwise.features._arrow import (
    NEARLY_ALL,
    coded_texts,
    decimal_mark,
    is_numeric,
    is_text,
    load_pyarrow,
    unreadable,
)
from rankwise.features._dates import are_dates
from rankwise.features._texts import mean_words

DECIMAL_COMMA = "with decimal comma"  # note on such numbers
_WORDS_OF_A_TEXT = 3.0  # a column whose values have more words on average is text
_FEWEST_ROWS = 50  # from which on a column may be left out because of its values
_IS_KEY = re.compile(r"(^|[^a-z])(id|key|uuid|guid|index|unnamed: \d+)$", re.IGNORECASE)


def kind_of(name: str, column: Any, *, stream: bool = False) -> tuple[str, str]:
    """Kind of a column, and a note if it is left out or read in a way that may surprise.

    The first rows of a stream do not show that a column is constant or that its values are all different.
    """
    types = load_pyarrow().types
    kind = column.type
    if types.is_null(kind) or column.null_count == len(column) or _are_nan(column):
        return "ignore", "no value"
    if not stream and len(column) >= _FEWEST_ROWS:
        note = _says_nothing(name, column)
        if note:
            return "ignore", note
    if types.is_boolean(kind):
        return "boolean", ""
    if is_numeric(kind):
        return "number", ""
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date", ""
    if types.is_duration(kind) or types.is_time(kind):
        return "duration", "in days"
    if types.is_dictionary(kind):
        return "category", ""
    if is_text(kind):
        return _kind_of_texts(name, column)
    raise unreadable(name, kind)


def _are_nan(column: Any) -> bool:
    pa = load_pyarrow()
    return pa.types.is_floating(column.type) and bool(pa.compute.all(pa.compute.is_nan(column)).as_py())


def _kind_of_texts(name: str, column: Any) -> tuple[str, str]:
    decimal = decimal_mark(name, column)
    if decimal is not None:
        return "number", DECIMAL_COMMA if decimal == "," else ""
    if are_dates(column):
        return "date", ""
    return ("text" if mean_words(column) > _WORDS_OF_A_TEXT else "category"), ""


def _says_nothing(name: str, column: Any) -> str:
    """Why nothing can be learnt from a column; empty if something can."""
    pa = load_pyarrow()
    kind, n = column.type, len(column) - column.null_count
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return ""  # refused, or too slow to compare
    if isinstance(kind, pa.BaseExtensionType):  # refused; Arrow cannot compare periods, intervals or UUIDs
        return ""
    if column.null_count == 0:
        # Most columns differ in their first rows: then there is no need to look at the others.
        head = column.slice(0, 100)
        if len(pa.compute.unique(head)) == 1 and len(pa.compute.unique(column)) == 1:
            return f"constant: always {column[0].as_py()!r}"
    if pa.types.is_integer(kind) and _IS_KEY.search(name) and len(pa.compute.unique(column.drop_null())) == n:
        return "identifier: every row has its own"
    if is_text(kind):
        n_texts = len(coded_texts(column)[0])
        if n_texts >= NEARLY_ALL * n and _kind_of_texts(name, column)[0] == "category":
            return f"identifier: {n_texts:,} different values in {n:,} rows"
    return ""
