"""Columns of labels written as text. Every distinct text is parsed once, however many rows repeat it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise.labels.class_order import ClassOrder
from rankwise.labels.encoding import declared_order
from rankwise.labels.grammar import LabelReader
from rankwise.labels.label_values import as_object_array, is_missing, numbered, one_line
from rankwise.labels.unreadable import date_cell, is_date_cell, map_distinct
from rankwise.labels.whole_columns import ReadTexts, read_texts


def parse_labels(texts: Any, classes: Any = None, *, language: str = "en") -> Any:
    """Read labels written as text.

    ``3`` is exact, ``3-5`` an interval with both ends included, ``>=4``, ``<=2``, ``>4`` and ``<2`` are open on one
    side, ``2|3|7`` lists candidates, ``?``, blanks and None are missing labels. The page on labels lists other ways of
    writing them, such as ``3 to 5``, ``4+`` and ``n/a``. ``fit`` reads texts the same way, in English.

    Parameters
    ----------
    texts : sequence of str or None
        A list, a NumPy array, a column of pandas or polars, or a (dictionary) array of pyarrow.
    classes : sequence or ClassOrder, optional
        The classes, lowest first. With them, names of classes may replace numbers, and may hold ``-`` and ``|``
        themselves; ``>4`` begins at the next class, and every text must mean at least one class. Without them, a text
        is a range only if both ends are numbers, any other text is a name, and ``>`` and ``<`` need whole numbers.
    language : {"en", "de", "fr", "es"}, default "en"
        Language of words such as "at least 4" and "unknown".

    Returns
    -------
    y
        Labels in a form that :func:`encode` and every ``fit`` reads: a 1-D array of exact labels, an (n, 2) array of
        interval ends, a boolean (n, K) mask of the declared classes, or a list of labels, tuples and sets.

    Examples
    --------
    >>> from rankwise.labels import parse_labels
    >>> parse_labels(["3", "1-2", ">=2", "?"])
    array([[ 3.,  3.],
           [ 1.,  2.],
           [ 2., nan],
           [nan, nan]])
    >>> parse_labels(["low-high", "low|high", ">low"], classes=["low", "medium", "high"])
    array([[ True,  True,  True],
           [ True, False,  True],
           [False,  True,  True]])
    """
    return parse_column(texts, None if classes is None else declared_order(classes), language)[0]


def parse_column(texts: Any, order: ClassOrder | None, language: str) -> tuple[Any, ReadTexts]:
    """The same, and the distinct labels with what they say of the classes."""
    codes, distinct = distinct_texts(texts)
    map_distinct(distinct, codes, lambda text: text is None or _checked(text))
    reader = LabelReader(order, language)
    read = read_texts(distinct, codes, order, language)
    return _collected(read.labels, codes) if order is None else _rows_of(read.labels, codes, reader, order), read


def parse_ends(texts: Any, classes: ClassOrder | None, language: str = "en") -> NDArray[Any]:
    """Interval ends written as text, one per row: numbers or names of classes, None for a missing one."""
    codes, distinct = distinct_texts(texts)
    reader = LabelReader(classes, language)
    ends = map_distinct(distinct, codes, lambda text: None if text is None else reader.end(_checked(text)))
    return as_object_array(ends)[codes]


def _checked(text: Any) -> str:
    if not isinstance(text, str):
        if is_date_cell(text):
            raise ValueError(date_cell(text))
        raise ValueError(f"a label in a text column must be text. Got {one_line(text)} instead.")
    return text


def distinct_texts(texts: Any) -> tuple[NDArray[np.intp], list[Any]]:
    """Index of each row's text among the distinct ones, and these; missing ones are None."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(texts, pyarrow.ChunkedArray):
        texts = texts.unify_dictionaries().combine_chunks()
    if pyarrow is not None and isinstance(texts, pyarrow.Array):
        coded = texts if isinstance(texts, pyarrow.DictionaryArray) else texts.dictionary_encode()
        known = [*coded.dictionary.to_pylist(), None]
        codes = coded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False).astype(np.intp)
        used = np.bincount(codes, minlength=len(known)) > 0  # a dictionary may hold more than occurs
        return (np.cumsum(used) - 1)[codes], [text for text, occurs in zip(known, used, strict=True) if occurs]
    if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
        raise ValueError(f"labels in text must be a sequence of texts. Got {one_line(texts)} instead.")
    items = texts.tolist() if isinstance(texts, np.ndarray) else list(texts)
    try:
        return numbered(None if is_missing(item) else item for item in items)
    except TypeError:
        row = next(row for row, item in enumerate(items) if not isinstance(item, str) and not is_missing(item))
        raise RowError(f"a label in a text column must be text. Got {one_line(items[row])}.", row) from None


def _collected(parsed: list[Any], codes: NDArray[np.intp]) -> Any:
    """The simplest container that holds labels without declared classes."""
    if all(map(is_number_or_none, parsed)):
        return _numbers(parsed)[codes]
    if not any(isinstance(label, frozenset) for label in parsed):
        ends = [end for label in parsed for end in (label if isinstance(label, tuple) else (label, label))]
        if all(map(is_number_or_none, ends)):
            return _numbers(ends).reshape(-1, 2)[codes]
    return as_object_array(parsed)[codes].tolist()


def is_number_or_none(value: Any) -> bool:
    return value is None or isinstance(value, (int, float))


def _numbers(values: list[Any]) -> NDArray[Any]:
    """Whole numbers if all are, otherwise float64 with NaN for None."""
    if values and all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _rows_of(parsed: list[Any], codes: NDArray[np.intp], reader: LabelReader, order: ClassOrder) -> Any:
    """Exact labels as classes, anything else as a mask of the declared classes."""
    if not any(label is None or isinstance(label, (tuple, frozenset)) for label in parsed):
        return order.values[[order.code(label) for label in parsed]][codes]
    mask = np.zeros((len(parsed), len(order)), dtype=bool)
    for k, label in enumerate(parsed):
        mask[k, slice(None) if label is None else reader.codes(label)] = True
    return mask[codes]
