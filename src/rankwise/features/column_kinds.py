"""The kind of a column, by its type and values; and which columns are uninformative."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rankwise.features._ordered import is_ordered
from rankwise.features._texts import mean_words
from rankwise.features.arrow_columns import (
    NEARLY_ALL,
    coded_texts,
    decimal_mark,
    is_numeric,
    is_text,
    load_pyarrow,
    numbers,
    unreadable,
)
from rankwise.features.date_texts import ORDER_NOTES, date_order

NO_VALUE = "no value"
DECIMAL_COMMA = "with decimal comma"  # note on such numbers
_WORDS_OF_A_TEXT = 3.0  # a column whose values have more words on average is text
_FEWEST_ROWS = 50  # from which on a column may be left out because of its values
_IS_KEY = re.compile(r"(?i:(^|[^a-z])(id|key|uuid|guid|index|unnamed: \d+)$)|[a-z]I[dD]$")
_IS_ID = re.compile(r"(?i:(^|[^a-z])(id|uuid|guid)$)|[a-z]I[dD]$")
_FEWEST_OF_A_CATEGORY = 5  # rows of each value on average, from which on the values of an identifier are categories
_OF_AN_IDENTIFIER = "values of an identifier: categories, not numbers"


class ColumnWarning(UserWarning):
    """Columns of a table were left out because nothing can be learnt from them."""

    __module__ = "rankwise.features"  # the public name, in tracebacks and pickles


def kind_of(name: str, column: Any, *, stream: bool = False) -> tuple[str, str]:
    """Kind of a column, and a note if it is left out or read in a way that may surprise.

    The first rows of a stream do not show that a column is constant or that its values are all different.
    """
    types = load_pyarrow().types
    kind = column.type
    if types.is_null(kind) or column.null_count == len(column) or _are_nan(column):
        return "ignore", NO_VALUE
    if not stream and len(column) >= _FEWEST_ROWS:
        note = _says_nothing(name, column)
        if note:
            return "ignore", note
        if _is_identifier(name, column):
            return "category", _OF_AN_IDENTIFIER
    if types.is_boolean(kind):
        return "boolean", ""
    if is_numeric(kind):
        return "number", ""
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date", ""
    if types.is_duration(kind) or types.is_time(kind):
        return "duration", "in days"
    if is_ordered(kind):
        return "ordered", ""
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
    order = date_order(name, column)
    if order is not None:
        return "date", ORDER_NOTES.get(order, "")
    return ("text" if mean_words(column) > _WORDS_OF_A_TEXT else "category"), ""


def _is_identifier(name: str, column: Any) -> bool:
    """Whether a column holds whole numbers and is called an id: then they are names, also where some occur twice."""
    pa = load_pyarrow()
    if not _IS_ID.search(name):
        return False
    if pa.types.is_floating(column.type):  # as pandas holds whole numbers of which some are missing
        values = numbers(column.drop_null())
        known = values[~np.isnan(values)]
        return bool(known.size) and bool((known == np.floor(known)).all())
    return bool(pa.types.is_integer(column.type))


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
    if _is_identifier(name, column):
        n_values = len(coded_texts(column)[0])
        if n < _FEWEST_OF_A_CATEGORY * n_values:
            return f"identifier: {n_values:,} different values in {n:,} rows"
    if is_text(kind):
        n_texts = len(coded_texts(column)[0])
        if n_texts >= NEARLY_ALL * n and _kind_of_texts(name, column)[0] == "category":
            return f"identifier: {n_texts:,} different values in {n:,} rows"
    return ""
