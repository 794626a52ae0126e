"""Labels as they stand in the columns of a batch, read when the classes are known or found."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise.features.arrow_columns import is_text
from rankwise.io.table_errors import shown
from rankwise.labels import ClassOrder, encode
from rankwise.labels.grammar import LabelReader
from rankwise.labels.raw_labels import Texts
from rankwise.labels.reading import candidate_sets
from rankwise.labels.text_labels import distinct_texts, parse_column, parse_ends
from rankwise.labels.whole_columns import ReadTexts

_DECIMAL_COMMA = re.compile(r"(?<![\w.,])([+-]?[0-9]*),([0-9]+)(?![\w.,])")


@dataclass(frozen=True, eq=False)
class ColumnLabels:
    """Labels as in their columns."""

    content: Any  #: labels, a tuple of two columns of texts of ends, or the index of each row's text in ``texts``
    texts: list[Any] | None = None  #: the distinct texts of a column of text
    language: str = "en"  #: of their words
    decimal: str = "."  #: of their numbers

    def parsed(self, order: ClassOrder | None) -> tuple[Any, ReadTexts | None]:
        """Labels in a form that every ``fit`` reads, and what was read; with ``order`` texts may name its classes."""
        if self.texts is not None:
            known = pa.array(self._pointed(self.texts, order), pa.large_string())
            texts = pa.DictionaryArray.from_arrays(pa.array(self.content), known)
            return parse_column(texts, order, self.language)
        if isinstance(self.content, tuple):
            ends = self.content
            if self.decimal == ",":
                ends = tuple(pa.array(self._pointed(c.to_pylist(), order), pa.large_string()) for c in ends)
            return np.column_stack([parse_ends(column, order, self.language) for column in ends]), None
        return self.content, None

    def _pointed(self, texts: list[Any], order: ClassOrder | None) -> list[Any]:
        """The texts with decimal points instead of the declared commas."""
        if self.decimal != ",":
            return texts
        reader = LabelReader(order, self.language)
        return [None if text is None else _with_points(text, reader) for text in texts]

    def read(self, order: ClassOrder | None) -> tuple[Any, ReadTexts | None]:
        """The same, checked, and encoded if the classes are known."""
        if order is None:
            y, scale = self.parsed(None)
            return checked(y, None), scale
        if self.texts is not None:
            return encode(Texts(None, self._pointed(self.texts, order), self.content, self.language), order), None
        return encode(self.parsed(order)[0], order), None

    def take(self, rows: NDArray[np.intp]) -> ColumnLabels:
        if self.texts is not None:
            used, codes = np.unique(self.content[rows], return_inverse=True)
            return replace(self, content=codes, texts=[self.texts[k] for k in used])
        if isinstance(self.content, tuple):
            return replace(self, content=tuple(column.take(pa.array(rows)) for column in self.content))
        return ColumnLabels(
            self.content[rows] if isinstance(self.content, np.ndarray) else [self.content[i] for i in rows]
        )

    def distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """A row of every distinct label, and the index of every row's label among these."""
        if isinstance(self.content, list):
            each = np.arange(len(self.content))
            return each, each
        are_texts = isinstance(self.content, tuple)
        table = np.column_stack([distinct_texts(c)[0] for c in self.content]) if are_texts else self.content
        _, rows, groups = np.unique(table, axis=0, return_index=True, return_inverse=True)
        return rows, groups.ravel()


def _with_points(text: str, reader: LabelReader) -> str:
    """The text with decimal points instead of commas, unless it is a name that holds a comma."""
    changed = _DECIMAL_COMMA.sub(r"\1.\2", text)
    if changed == text or text.strip() in reader.texts:
        return text
    with suppress(ValueError):  # the error is raised where the row is known
        if reader.order is None and isinstance(reader.parse(changed), str):
            return text
    return changed


def checked(y: Any, order: ClassOrder | None) -> Any:
    """Return labels that can be encoded unchanged, else raise; without classes only crossed ends are detected."""
    if order is not None:
        encode(y, order)
    elif isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "if":
        crossed = y[:, 0] > y[:, 1]
        if crossed.any():
            row = int(np.argmax(crossed))
            ends = f"[{shown(y[row, 0])}, {shown(y[row, 1])}]"
            raise RowError(f"the lower end of an interval must not be above its upper end. Got {ends}.", row)
    return y


def holds_text(kind: Any) -> bool:
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def exact_labels(column: Any) -> Any:
    """Labels of a column that is not text: numbers, dates, or lists of candidates."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column.to_numpy(zero_copy_only=False)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return candidate_sets(column.to_pylist())
    return column.to_pylist()
