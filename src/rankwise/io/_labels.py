"""Where the labels and weights of a table are, and how they become ``y``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankwise.io._batch import Batch, Quarantine
from rankwise.io._errors import TableError, shown
from rankwise.io._matrix import numeric_matrix
from rankwise.io._table import Table
from rankwise.labels import ClassOrder, check_weights, declared_order, encode, infer_order, parse_labels
from rankwise.labels._format import distinct_labels, said_by_row
from rankwise.labels._order import EXACT_IN_FLOAT, refuse_continuous
from rankwise.labels._read import read
from rankwise.labels._text import parse_ends

_ROW = re.compile(r"row (\d+): ")


@dataclass(frozen=True)
class LabelColumns:
    """Columns of a table that hold labels, and weights if there are any.

    Parameters
    ----------
    label : str, optional
        Column of labels: numbers, names, lists of candidates, or texts such as ``3-5``, ``>=4``, ``2|3|7`` and ``?``
        (see :func:`rankwise.labels.parse_labels`). Of an svmlight file the labels are taken, whatever this says.
    lower, upper : str, optional
        Columns of interval ends, both included, instead; a missing value, a blank or ``?`` is open on that side.
    weight : str, optional
        Column of weights, finite numbers >= 0.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rankwise.io import Batch, LabelColumns
    >>> batch = Batch(pa.record_batch({"grade": ["3-5", "4", "?"], "n": [1, 2, 1]}), "grades.csv", first_row=1)
    >>> y, weight = LabelColumns("grade", weight="n").read(batch)
    >>> y
    array([[ 3.,  5.],
           [ 4.,  4.],
           [nan, nan]])
    >>> weight
    array([1., 2., 1.])
    """

    label: str | None = None
    lower: str | None = None
    upper: str | None = None
    weight: str | None = None

    def __post_init__(self) -> None:
        ends = (self.lower is not None) + (self.upper is not None)
        if (self.label is None) != (ends == 2) or (self.label is not None and ends):
            raise ValueError(
                f"labels are in one column, label=..., or in two, lower=... and upper=.... "
                f"Got label={self.label!r}, lower={self.lower!r}, upper={self.upper!r}."
            )

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [name for name in (self.label, self.lower, self.upper, self.weight) if name is not None]

    @property
    def csv_types(self) -> dict[str, str]:
        """``types`` for :func:`open_table` on CSV, where labels such as ``3`` may be followed by ``3-5``."""
        return {} if self.label is None else {self.label: "string"}

    def read(self, batch: Batch, classes: Any = None) -> tuple[Any, NDArray[np.float64] | None]:
        """Labels and weights of a batch.

        Parameters
        ----------
        batch : Batch
            Some rows.
        classes : sequence or ClassOrder, optional
            The classes, lowest first. With them every label is checked to be one of them.

        Returns
        -------
        y
            Labels in a form that every ``fit`` reads.
        weight : float64 array or None

        Raises
        ------
        TableError
            When a label or weight breaks a rule; it names the file, the row and the value.
        """
        order = _as_order(classes)
        try:
            y = self._labels(batch, order)
        except TableError:
            raise
        except ValueError as error:
            raise self.located(batch, error) from None
        return y, self._weights(batch)

    def without_bad_rows(self, batch: Batch, classes: Any, quarantine: Quarantine) -> Batch:
        """The rows whose labels and weight :meth:`read` accepts; the others go to the quarantine with the reason."""
        try:
            self.read(batch, classes)
            return batch
        except TableError:
            pass
        order = _as_order(classes)
        rows, groups = self._distinct_labels(batch)
        reasons = np.full(len(rows), None, dtype=object)
        _halve(lambda part: self._labels(_taken(batch, rows[part]), order), np.arange(len(rows)), reasons)
        why = reasons[groups]
        if self.weight is not None:
            weights = self._raw_weights(batch)
            for i in np.flatnonzero(~((weights >= 0) & (weights < np.inf))):
                why[i] = why[i] or f"a weight must be a finite number >= 0. Got {weights[i]} in column {self.weight!r}."
        for i in np.flatnonzero(why != None):  # noqa: E711 - elementwise
            quarantine(batch.file, batch.row_number(int(i)), _as_json(batch, int(i)), why[i])
        return batch.keep(why == None)  # noqa: E711 - elementwise

    def find_classes(self, table: Table) -> ClassOrder:
        """Classes of a whole table in their order, in one pass: open it with ``columns=labels.names``.

        Numbers sort, whole interval ends bring the whole numbers between them, and names sort with an
        :class:`rankwise.labels.OrderWarning`.
        """
        found: set[Any] = set()
        n = 0
        for batch in table.batches():
            y, _ = self.read(batch)
            found.update(
                distinct_labels(np.unique(y, axis=0) if isinstance(y, np.ndarray) and y.dtype != object else y)
            )
            n += len(batch)
        # Only all labels together say which whole numbers lie between the ends of open intervals. An exact label beside
        # intervals is one, whether it was written as one number or as two.
        said = [label for label in found if label is not None]
        self._refuse_mixed_types(table, said)
        if any(isinstance(label, tuple) for label in said):
            said = [label if isinstance(label, frozenset) else _as_ends(label) for label in said]
        present = read(said).values_present()
        distinct = np.unique(present[np.isfinite(present)]) if present.dtype.kind == "f" else present
        if distinct.dtype.kind != "f":
            return infer_order(distinct)
        refuse_continuous(distinct, n)
        whole = np.all((distinct == np.floor(distinct)) & (np.abs(distinct) < EXACT_IN_FLOAT))
        return infer_order(distinct.astype(np.int64)) if whole else ClassOrder(distinct)

    def _refuse_mixed_types(self, table: Table, said: list[Any]) -> None:
        """Name the first label of the rarer type where some labels are numbers and others are names."""
        names = {label for label in said if _is_name(label)}
        others = set(said) - names
        if not (names and others):
            return
        odd, kind = (names, "numbers") if len(names) <= len(others) else (others, "names")
        for batch in table.batches():
            groups, distinct = said_by_row(self.read(batch)[0])
            is_odd = np.array([label in odd for label in distinct])[groups]
            if is_odd.any():
                i = int(np.argmax(is_odd))
                message = (
                    f"row {i}: a label is {shown(distinct[groups[i]])} where most are {kind}, and these have no "
                    f"common order. Correct it, or declare the classes."
                )
                raise self.located(batch, ValueError(message))

    @property
    def _label_columns(self) -> list[str]:
        return [name for name in (self.label, self.lower, self.upper) if name is not None]

    def _labels(self, batch: Batch, order: ClassOrder | None) -> Any:
        if batch.labels is not None:
            y = batch.labels
            if not isinstance(y, np.ndarray):
                y = [{label for label in candidates if label == label} or None for candidates in y]
        elif self.label is not None:
            column = _column(batch, self.label)
            if _is_text(column.type):
                return parse_labels(column, order)  # checks against the classes itself
            y = _exact(column)
        else:
            y = self._intervals(batch, order)
        if order is not None:
            encode(y, order)
        elif isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "if":
            crossed = y[:, 0] > y[:, 1]
            if crossed.any():
                row = int(np.argmax(crossed))
                ends = f"[{shown(y[row, 0])}, {shown(y[row, 1])}]"
                raise ValueError(
                    f"row {row}: the lower end of an interval must not be above its upper end. Got {ends}."
                )
        return y

    def _intervals(self, batch: Batch, order: ClassOrder | None) -> Any:
        assert self.lower is not None
        assert self.upper is not None
        columns = [_column(batch, name) for name in (self.lower, self.upper)]
        if not any(_is_text(column.type) for column in columns):
            whole = all(pa.types.is_integer(column.type) and not column.null_count for column in columns)
            return numeric_matrix(batch, [self.lower, self.upper], np.int64 if whole else np.float64)
        texts = [column if _is_text(column.type) else column.cast(pa.string()) for column in columns]
        return np.column_stack([parse_ends(text, order) for text in texts])

    def _weights(self, batch: Batch) -> NDArray[np.float64] | None:
        if self.weight is None:
            return None
        try:
            return check_weights(self._raw_weights(batch), len(batch))
        except TableError:
            raise
        except ValueError as error:
            raise _located(batch, error, [self.weight]) from None

    def _raw_weights(self, batch: Batch) -> NDArray[np.float64]:
        assert self.weight is not None
        if batch.labels is not None:
            raise TableError(f"file {batch.file}: an svmlight file has no column {self.weight!r} of weights.")
        return numeric_matrix(batch, [self.weight])[:, 0]

    def located(self, batch: Batch, error: ValueError) -> TableError:
        """The error of a label in a row of a batch, as one in a row of a file."""
        return _located(batch, error, self._label_columns)

    def _distinct_labels(self, batch: Batch) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """A row for every distinct label of a batch, and which of these every row has."""
        if batch.labels is not None:
            each = np.arange(len(batch))
            return each, each
        codes = np.zeros(len(batch), dtype=np.int64)
        for name in self._label_columns:
            column = _column(batch, name)
            if pa.types.is_nested(column.type):
                each = np.arange(len(batch))
                return each, each
            coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            indices = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
            codes = codes * (len(coded.dictionary) + 1) + indices
        _, rows, groups = np.unique(codes, return_index=True, return_inverse=True)
        return rows, groups


def _as_order(classes: Any) -> ClassOrder | None:
    return classes if classes is None or isinstance(classes, ClassOrder) else declared_order(classes)


def _located(batch: Batch, error: ValueError, columns: list[str]) -> TableError:
    names = " and ".join(map(repr, columns))
    row = _ROW.match(str(error))
    if row is None:
        return TableError(f"file {batch.file}: {names}: {error}")
    return TableError(f"{batch.place(int(row[1]))}: {names}: {str(error)[row.end() :]}")


def _is_name(label: Any) -> bool:
    """Whether a label, as it was said, has a name in it."""
    return any(isinstance(part, str) for part in (label if isinstance(label, (tuple, frozenset)) else (label,)))


def _as_ends(label: Any) -> tuple[Any, ...]:
    """A label as an interval, with numbers of one type."""
    ends = label if isinstance(label, tuple) else (label, label)
    numeric = all(end is None or isinstance(end, (int, float)) for end in ends)
    return tuple(np.nan if end is None else float(end) for end in ends) if numeric else ends


def _column(batch: Batch, name: str) -> Any:
    at = batch.data.schema.get_field_index(name)
    if at < 0:
        raise TableError(f"file {batch.file}: there is no column {name!r}. The columns are {batch.data.schema.names}.")
    return batch.data.column(at)


def _is_text(found: Any) -> bool:
    if pa.types.is_dictionary(found):
        found = found.value_type
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found))


def _exact(column: Any) -> Any:
    """Labels of a column that is no text: numbers, dates, or lists of candidates."""
    found = column.type
    if pa.types.is_null(found):
        return np.full(len(column), np.nan)
    if pa.types.is_integer(found) or pa.types.is_floating(found):
        return column.to_numpy(zero_copy_only=False)
    if pa.types.is_list(found) or pa.types.is_large_list(found):
        return [None if candidates is None else set(candidates) for candidates in column.to_pylist()]
    return column.to_pylist()


def _taken(batch: Batch, rows: NDArray[np.intp]) -> Batch:
    if batch.labels is None:
        return Batch(batch.data.take(pa.array(rows)), batch.file, 1)
    labels = batch.labels[rows] if isinstance(batch.labels, np.ndarray) else [batch.labels[i] for i in rows]
    return Batch(batch.data[rows], batch.file, 1, labels=labels)


def _halve(check: Callable[[NDArray[np.intp]], Any], part: NDArray[np.intp], reasons: NDArray[Any]) -> None:
    """Note in ``reasons`` why rows fail a check, by halving the part that does."""
    try:
        check(part)
    except ValueError as error:
        if len(part) == 1:
            reasons[part[0]] = _ROW.sub("", str(error), count=1)
            return
        middle = len(part) // 2
        _halve(check, part[:middle], reasons)
        _halve(check, part[middle:], reasons)


def _as_json(batch: Batch, i: int) -> str:
    """One row as text, for the quarantine."""
    if batch.labels is not None:
        return json.dumps({"label": batch.labels[i]}, default=str)
    return json.dumps(batch.data.slice(i, 1).to_pylist()[0], default=str, ensure_ascii=False)
