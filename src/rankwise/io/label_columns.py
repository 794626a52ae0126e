"""Where the labels and weights of a table are, and how they become ``y``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise.features.arrow_columns import is_text
from rankwise.io._column_labels import ColumnLabels, checked, exact_labels, holds_text
from rankwise.io.row_batch import Batch, Quarantine, column_of, numeric_matrix
from rankwise.io.table_errors import TableError, TableRowError
from rankwise.io.table_reader import Table
from rankwise.labels import ClassOrder, check_weights, infer_order
from rankwise.labels.class_order import refuse_continuous, warn_of_classes
from rankwise.labels.formatting import as_order, distinct_labels
from rankwise.labels.raw_labels import as_ends, whole_if_possible
from rankwise.labels.reading import read
from rankwise.labels.text_labels import distinct_texts
from rankwise.labels.unreadable import UnreadableLabelsError, has_name, values_of
from rankwise.labels.whole_columns import ReadTexts, above_scale, odd_among, order_of_labels, other_scale


@dataclass(frozen=True)
class LabelColumns:
    """Columns of a table that hold labels, and weights if there are any.

    Parameters
    ----------
    label : str, optional
        Column of labels: numbers, names, lists of candidates, or texts such as ``3-5``, ``>=4``, ``2|3|7`` and ``?``
        (see :func:`rankwise.labels.parse_labels`). Ignored for svmlight files, which have labels of their own.
    lower, upper : str, optional
        Columns of interval ends, both included, instead; a missing value, a blank or ``?`` is open on that side.
    weight : str, optional
        Column of weights, finite numbers >= 0.
    language : {"en", "de", "fr", "es"}, default "en"
        Language of words in the labels, such as "at least 4".
    decimal : {".", ","}, default "."
        Decimal mark of numbers in labels that are texts: with a comma ``3,5`` is three and a half.

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
    language: str = "en"
    decimal: str = "."

    def __post_init__(self) -> None:
        ends = (self.lower is not None) + (self.upper is not None)
        if (self.label is None) != (ends == 2) or (self.label is not None and ends):
            raise ValueError(
                f"labels are in one column, label=..., or in two, lower=... and upper=.... "
                f"Got label={self.label!r}, lower={self.lower!r}, upper={self.upper!r}."
            )
        if self.label is None and self.lower == self.upper:
            raise ValueError(f"the ends of intervals must be in different columns. Got {self.lower!r} for both.")

        if self.decimal not in (".", ","):
            raise ValueError(f"decimal must be '.' or ','. Got {self.decimal!r} instead.")

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [name for name in (self.label, self.lower, self.upper, self.weight) if name is not None]

    @property
    def csv_types(self) -> dict[str, str]:
        """``types`` for :func:`open_table` on CSV: labels are unchanged text, in which ``NA`` may be a class."""
        return {} if self.label is None else {self.label: "large_string"}

    def types_in(self, table: Table) -> dict[str, str]:
        """The same for a table of any format: of CSV, and of Excel if the labels are texts there."""
        if table.format == "xlsx" and self.label in table.schema.names:
            return self.csv_types if is_text(table.schema.field(self.label).type) else {}
        return self.csv_types if table.format in ("csv", "tsv") else {}

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
        order = as_order(classes)
        labels = self.of(batch)
        with located(batch, self.label_names):
            y = checked(labels.values.parsed(order)[0], order)
        return y, labels.weights()

    def of(self, batch: Batch) -> BatchLabels:
        """The label columns of a batch, read once, to be interpreted when the classes are known."""
        with located(batch, self.label_names):
            return BatchLabels(self, batch, self._values(batch))

    def without_bad_rows(self, batch: Batch, classes: Any, quarantine: Quarantine) -> Batch:
        """The rows whose labels and weight :meth:`read` accepts; the others go to the quarantine with the reason."""
        return self.of(batch).good(as_order(classes), quarantine).batch

    def find_classes(self, table: Table) -> ClassOrder:
        """Classes of a whole table in their order, in one pass: open it with ``columns=labels.names``.

        Numbers sort, whole interval ends imply the whole numbers between them, and names sort with an
        :class:`rankwise.labels.OrderWarning`.
        """
        return find_classes(lambda: (self.of(batch).good(None) for batch in table.first_batches()), self)

    @property
    def label_names(self) -> list[str]:
        """Names of the columns of labels, without the weights."""
        return [name for name in (self.label, self.lower, self.upper) if name is not None]

    def _values(self, batch: Batch) -> ColumnLabels:
        """The labels of a batch, as in its columns."""
        if batch.labels is not None:
            y = batch.labels
            if not isinstance(y, np.ndarray):
                y = [{label for label in candidates if label == label} or None for candidates in y]
            return ColumnLabels(y)
        columns = [column_of(batch, name) for name in self.label_names]
        if any(holds_text(column.type) for column in columns):
            if self.label is not None:
                return ColumnLabels(*distinct_texts(columns[0]), self.language, self.decimal)
            ends = tuple(c if holds_text(c.type) else c.cast(pa.string()) for c in columns)
            return ColumnLabels(ends, language=self.language, decimal=self.decimal)
        if self.label is not None:
            return ColumnLabels(exact_labels(columns[0]))
        whole = all(pa.types.is_integer(column.type) and not column.null_count for column in columns)
        return ColumnLabels(numeric_matrix(batch, self.label_names, np.int64 if whole else np.float64))


@dataclass(frozen=True, eq=False)
class GoodLabels:
    """Rows whose labels can be read."""

    batch: Batch
    y: Any  #: their labels: encoded if the classes are known, otherwise as :meth:`LabelColumns.read` returns them
    weight: NDArray[np.float64] | None
    scale: ReadTexts | None = None  #: what their texts say of the classes, where these are not known


@dataclass(frozen=True, eq=False)
class BatchLabels:
    """The label columns of a batch, read from it once."""

    columns: LabelColumns
    batch: Batch
    values: ColumnLabels

    def good(self, order: ClassOrder | None, quarantine: Quarantine | None = None) -> GoodLabels:
        """Labels and weights, encoded if the classes are known.

        Bad rows go to the quarantine with the reason; without one the first of them is an error.
        """
        try:
            with located(self.batch, self.columns.label_names):
                y, scale = self.values.read(order)
            return GoodLabels(self.batch, y, self.weights(), scale)
        except TableError:
            if quarantine is None:
                raise
        rows, groups = self.values.distinct()
        distinct = self.values.take(rows)
        reasons = np.full(len(rows), None, dtype=object)
        _halve(lambda some: distinct.take(some).read(order), np.arange(len(rows)), reasons)
        why = reasons[groups]
        if self.columns.weight is not None:
            weights = self._raw_weights(self.columns.weight)
            for i in np.flatnonzero(~((weights >= 0) & (weights < np.inf))).tolist():
                why[i] = why[i] or (
                    f"a weight must be a finite number >= 0. Got {weights[i]} in column {self.columns.weight!r}."
                )
        bad = np.array([reason is not None for reason in why.tolist()], dtype=bool)
        for i in np.flatnonzero(bad).tolist():
            quarantine(self.batch.file, self.batch.row_number(i), self.batch.as_json(i), why[i])
        kept = replace(self, batch=self.batch.keep(~bad), values=self.values.take(np.flatnonzero(~bad)))
        y, scale = kept.values.read(order)
        return GoodLabels(kept.batch, y, kept.weights(), scale)

    def weights(self) -> NDArray[np.float64] | None:
        name = self.columns.weight
        if name is None:
            return None
        with located(self.batch, [name]):
            return check_weights(self._raw_weights(name), len(self.batch))

    def _raw_weights(self, name: str) -> NDArray[np.float64]:
        if self.batch.labels is not None:
            raise TableError(f"file {self.batch.file}: an svmlight file has no column {name!r} of weights.")
        return numeric_matrix(self.batch, [name])[:, 0]


@contextmanager
def located(batch: Batch, names: list[str]) -> Iterator[None]:
    """Errors about labels of a batch name the file, the row and the columns."""
    try:
        yield
    except TableError:
        raise
    except ValueError as error:
        if isinstance(error, UnreadableLabelsError):
            reason = error.told(lambda row: batch.place(row).removeprefix(f"file {batch.file}, "))
            raise label_error(batch, error.row, reason, names) from None
        if isinstance(error, RowError):
            raise label_error(batch, error.row, error.reason, names) from None
        raise TableError(f"file {batch.file}: {' and '.join(map(repr, names))}: {error}") from None


def label_error(batch: Batch, row: int, reason: str, names: list[str]) -> TableRowError:
    """Error about the label of a row, which is in columns of these names."""
    return batch.error(row, reason, names[0] if len(names) == 1 else tuple(names), " and ".join(map(repr, names)))


def _halve(check: Callable[[NDArray[np.intp]], Any], rows: NDArray[np.intp], reasons: NDArray[Any]) -> None:
    """Store in ``reasons`` why rows fail a check, by halving those that do."""
    try:
        check(rows)
    except ValueError as error:
        if len(rows) == 1:
            reasons[rows[0]] = error.reason if isinstance(error, RowError) else str(error)
            return
        middle = len(rows) // 2
        _halve(check, rows[:middle], reasons)
        _halve(check, rows[middle:], reasons)


def find_classes(labels: Callable[[], Iterable[GoodLabels]], columns: LabelColumns) -> ClassOrder:
    """Classes, in their order, of all labels that were read without classes.

    ``labels`` is called again only to name the row of a wrong label.
    """
    distinct: dict[Any, None] = {}  # in the order in which they are met
    n, scale = 0, None
    for good in labels():
        scale = _same_scale(scale, good.scale)
        is_table = isinstance(good.y, np.ndarray) and good.y.dtype != object
        distinct.update(dict.fromkeys(distinct_labels(np.unique(good.y, axis=0) if is_table else good.y)[1]))
        n += len(good.y)
    if not n:
        raise ValueError("it has no rows that can be used.")
    # Only all labels together tell which whole numbers lie between the ends of open intervals. An exact label beside
    # intervals is an interval, whether it was written as one number or as two.
    present = [label for label in distinct if label is not None]
    try:
        values = _values_told(present, scale, columns.language)
        if values is None:
            _refuse_mixed_types(present, columns, labels)
            if any(isinstance(label, tuple) for label in present):
                present = [label if isinstance(label, frozenset) else as_ends(label) for label in present]
            values = whole_if_possible(read(present).values_present())
    except UnreadableLabelsError as error:
        wrong = [label for label, _, _ in error.found]
        raise _located_error(error.first_reason, wrong, *_occurrences(labels()), columns) from None
    if scale is not None and scale.top is not None and values.dtype.kind in "iuf":
        if values.max() > scale.top:
            top = scale.top
            wrong = [label for label in distinct if any(_is_above(value, top) for value in values_of(label))]
            reason = above_scale(values.max(), scale.example)
            raise _located_error(reason, wrong, *_occurrences(labels()), columns)
        values = np.append(values, whole_if_possible(np.array([scale.top])))
    if values.dtype.kind == "f":
        values = np.unique(values)
        refuse_continuous(values, n)
    order = ClassOrder(values) if values.dtype.kind == "f" else infer_order(values)
    if len(order) > 1:  # with one class nothing is learnt at all
        warn_of_classes(order, n)
    return order


def _is_above(value: Any, top: float) -> bool:
    return isinstance(value, Real) and float(value) > top


def _values_told(labels: list[Any], scale: ReadTexts | None, language: str) -> NDArray[Any] | None:
    """The classes if names tell their order together, such as 1 - poor and 2 - good; None if they do not."""
    together = ReadTexts(labels, None if scale is None else scale.top)
    told = order_of_labels(together, np.arange(len(labels)), language)
    return None if told is None else np.array(told.classes)


def _same_scale(known: ReadTexts | None, other: ReadTexts | None) -> ReadTexts | None:
    """The scale of texts such as "3 out of 5", which must be the same in all batches; None if there is none."""
    if known is None or other is None or other.top is None:
        return known if other is None or other.top is None else other
    if known.top != other.top:
        raise ValueError(other_scale(known, other))
    return known


def _refuse_mixed_types(labels: list[Any], columns: LabelColumns, again: Callable[[], Iterable[GoodLabels]]) -> None:
    """Reject a mixture of numbers and names; the error lists the labels of the rarer type with their rows."""
    if len(set(map(has_name, labels))) < 2:
        return
    counts, first = _occurrences(again())
    met = [label for label in counts if label is not None]
    odd = odd_among(met, np.array([counts[label] for label in met]))
    raise _located_error(next(iter(odd.values())), [met[k] for k in odd], counts, first, columns)


def _occurrences(labels: Iterable[GoodLabels]) -> tuple[Counter[Any], dict[Any, tuple[Batch, int]]]:
    """Number of rows of each distinct label, and the first of them."""
    counts: Counter[Any] = Counter()
    first: dict[Any, tuple[Batch, int]] = {}
    for good in labels:
        groups, distinct = distinct_labels(good.y)
        for group, row, count in zip(*np.unique(groups, return_index=True, return_counts=True), strict=True):
            counts[distinct[group]] += int(count)
            first.setdefault(distinct[group], (good.batch, int(row)))
    return counts, first


def _located_error(
    reason: str, wrong: list[Any], counts: Mapping[Any, int], first: Mapping[Any, tuple[Batch, int]],
    columns: LabelColumns,
) -> TableRowError:  # fmt: skip
    """Error about wrong labels, the first of them for this reason, with the rows that hold them."""
    error = UnreadableLabelsError(reason, [(label, counts[label], k) for k, label in enumerate(wrong)])
    batch, row = first[wrong[0]]
    reason = error.told(lambda k: first[wrong[k]][0].place(first[wrong[k]][1]).removeprefix(f"file {batch.file}, "))
    return label_error(batch, row, reason, columns.label_names)
