"""Convert tables between ways of writing labels and between file formats, batch by batch."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from scipy import sparse

from rankwise._errors import RowError
from rankwise._words import the_classes
from rankwise.io.csv_files import NULLS
from rankwise.io.input_files import Paths, split_suffix
from rankwise.io.label_columns import GoodLabels, LabelColumns, located
from rankwise.io.row_batch import Batch, Quarantine, forget, numeric_matrix
from rankwise.io.table_errors import TableError, place, shown
from rankwise.io.table_reader import Table, open_table
from rankwise.io.writing import TableWriter
from rankwise.labels import ClassOrder
from rankwise.labels.formatting import as_order, candidates, format_labels, interval_ends

_MOST_COLUMNS = 10_000  # of an svmlight file written as columns
_OF_NUMBERS = re.compile(r"[-+.\de<>=|]*")  # a label without a name
_NOT_A_FLOAT = r"^[+-]?0\d|^[+-]?\d{16,}$|(?:\d\.?){18}"  # codes, and more digits than a float has


def convert(
    paths: Paths,
    output: str | os.PathLike[str],
    labels_from: LabelColumns | None = None,
    labels_to: LabelColumns | None = None,
    *,
    style: str = "shortest",
    classes: Any = None,
    format: str | None = None,
    output_format: str | None = None,
    types: Mapping[str, Any] | None = None,
    batch_rows: int = 65_536,
    on_error: str = "stop",
    quarantine: Quarantine | None = None,
    **reading: Any,
) -> int:
    r"""Copy a table with its labels written in another way, in another file format, or both.

    Parameters
    ----------
    paths, format, types, batch_rows, on_error, quarantine
        As in :func:`open_table`. Rows whose labels cannot be read also count as bad rows.
    **reading
        How the files are written, as in :func:`open_table`: ``separator``, ``decimal``, ``encoding``, ...
    output : path
        File to write, whole or not at all. Its suffix gives the format unless ``output_format`` does.
    labels_from : LabelColumns, optional
        Where the labels are. Without it, the columns are copied unchanged.
    labels_to : LabelColumns, optional
        Columns that replace them: one with texts, or a lower and an upper end. By default the same as
        ``labels_from``. An svmlight file has its own place for labels; its candidates are separated by commas.
    style : {"shortest", "candidates"}
        How texts are written: ``3-5``, or ``3|4|5``; see :func:`rankwise.labels.format_labels`.
    classes : sequence or ClassOrder, optional
        The classes, lowest first. Needed to list the candidates of open intervals or intervals of names.

    Returns
    -------
    n_rows : int
        Number of rows written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from rankwise.io import LabelColumns, convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, target = pathlib.Path(folder) / "ends.csv", pathlib.Path(folder) / "texts.csv"
    ...     _ = source.write_text("size,from,to\n1.5,3,5\n2.5,4,\n")
    ...     n = convert(source, target, LabelColumns(lower="from", upper="to"), LabelColumns("grade"))
    ...     print(target.read_text())
    size,grade
    1.5,3-5
    2.5,>=4
    """
    if labels_to is not None and labels_from is None:
        raise ValueError("labels_to says where labels go: labels_from must say where they come from.")
    if labels_from is not None and labels_to is not None and labels_to.weight not in (None, labels_from.weight):
        raise ValueError(f"weights stay in their column {labels_from.weight!r}. Got {labels_to.weight!r} in labels_to.")
    table = open_table(paths, format=format, types=types, batch_rows=batch_rows, on_error=on_error, **reading)
    skipped = (quarantine or forget) if on_error == "skip" else None
    return convert_table(
        table, output, labels_from, labels_to, style=style, classes=classes, output_format=output_format,
        types=types, quarantine=skipped,
    )  # fmt: skip


def convert_table(
    table: Table,
    output: str | os.PathLike[str],
    labels_from: LabelColumns | None,
    labels_to: LabelColumns | None,
    *,
    style: str,
    classes: Any,
    output_format: str | None,
    types: Mapping[str, Any] | None = None,
    quarantine: Quarantine | None = None,
) -> int:
    """:func:`convert` of an open table; without a quarantine a bad row is an error."""
    if labels_from is not None:
        types = {**labels_from.types_in(table), **(types or {})}
    n = 0
    written = table.written_alike(output_format or split_suffix(Path(output))[0])
    with TableWriter(output, format=output_format, **written) as writer:
        passed_on: list[str] = []
        if writer.format != "svmlight" and table.format != "svmlight":  # whose features are numbers
            read = [*(labels_from.names if labels_from else ()), *(types or ())]
            passed_on = [name for name in table.schema.names if name not in read]
        table = passing_on(table, passed_on, writer.format, types=types, quarantine=quarantine)
        decimal = written.get("decimal", ".")
        task = _Conversion(labels_from, labels_to or labels_from, style, as_order(classes), writer.format, decimal)
        for batch in table.batches():
            good = GoodLabels(batch, None, None)
            if labels_from is not None:
                good = labels_from.of(batch).good(task.order, quarantine)
            writer.write(task.rows(good))
            n += len(good.batch)
        if n == 0:
            raise TableError(f"{place(table.files[0])}: holds no rows to convert.")
    return n


def passing_on(table: Table, names: Sequence[str], format: str, **selected: Any) -> Table:
    """The table with some columns read such that they can be written in a given format without a change.

    In a text file they are text. Elsewhere a column of CSV has a type if that keeps the values of all its texts, which
    takes a pass over them: 123 and 1.50 are numbers, and 00123 and 12:30 are not.
    """
    if table.format not in ("csv", "tsv") or format in ("csv", "tsv"):
        return table.select(**selected, as_written=names)
    types = {name: table.schema.field(name).type for name in names}
    types = {name: kind for name, kind in types.items() if not pa.types.is_string(kind)}
    for batch in table.select(list(types), as_written=names).batches() if types else ():
        for name in list(types):
            texts = batch.data.column(name)
            types[name] = next((k for k in (types[name], pa.float64()) if _holds(k, texts, table.decimal)), None)
            if types[name] is None:
                del types[name]
    written = [name for name in names if name not in types]
    selected["types"] = {**types, **(selected.get("types") or {})}
    return table.select(**selected, as_written=written)


def _holds(kind: Any, texts: Any, decimal: str) -> bool:
    """Whether a type keeps the values of texts (1.50 is 1.5); marks of missing values are equal to a missing number."""
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    present = texts.filter(compute.invert(compute.is_in(texts, NULLS))) if is_number else texts.drop_null()
    if is_number and decimal != ".":
        present = compute.replace_substring(present, decimal, ".")
    try:
        values = present.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    if pa.types.is_floating(kind):
        return not compute.any(compute.match_substring_regex(present, _NOT_A_FLOAT)).as_py()
    if pa.types.is_boolean(kind):
        present = compute.utf8_lower(present)
    return bool(compute.all(compute.equal(values.cast(pa.string()), present)).as_py() in (True, None))


@dataclass
class _Conversion:
    """Conversion of every batch; the type of interval ends is that of the classes, or of the first batch."""

    source: LabelColumns | None
    target: LabelColumns | None
    style: str
    order: ClassOrder | None
    format: str
    decimal: str = "."
    end_type: Any = None

    def rows(self, good: GoodLabels) -> Any:
        """Good rows of a batch in the form to be written."""
        source = self.source
        if self.format == "svmlight":
            return self._matrix(good)
        batch = good.batch if good.batch.labels is None else _spread(good.batch, source)
        if source is None or self.target is None:
            return batch.data
        columns = dict(zip(batch.data.schema.names, batch.data.columns, strict=True))
        old, new = source.label_names, self._label_columns(good, source, self.target)
        relabelled: dict[str, Any] = {}
        for name, column in columns.items():
            if name == next(other for other in columns if other in old):
                relabelled.update(new)
            if name not in old:
                if name in new:
                    raise TableError(f"{place(batch.file)}: has a column {name!r} already.")
                relabelled[name] = column
        return pa.record_batch(relabelled)

    def _label_columns(self, good: GoodLabels, source: LabelColumns, target: LabelColumns) -> dict[str, Any]:
        if target.label is not None:
            with located(good.batch, source.label_names):
                texts = format_labels(good.y, self.order, style=self.style)
            written = map(_with_comma, texts) if self.decimal == "," else texts
            return {target.label: pa.array(written, type=pa.string())}
        with located(good.batch, source.label_names):
            ends = interval_ends(good.y, self.order)
        if self.end_type is None:
            self.end_type = _type_of(self.order.values if self.order is not None else ends.ravel())
        return {name: self._typed(good.batch, ends[:, j]) for j, name in enumerate(target.label_names)}

    def _typed(self, batch: Batch, ends: Any) -> Any:
        try:
            return pa.array(ends.tolist(), type=self.end_type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError):
            raise TableError(
                f"{batch.place(0)} and behind: the ends of intervals were {self.end_type} values before and are not "
                f"any more: declare the classes with {the_classes()}."
            ) from None

    def _matrix(self, good: GoodLabels) -> Batch:
        """Features and labels for an svmlight file."""
        batch, source = good.batch, self.source
        if source is None:
            if batch.labels is None:
                raise TableError(f"{place(batch.file)}: an svmlight file needs labels: say where they are.")
            return batch
        if source.weight is not None:
            raise TableError(f"{place(batch.file)}: an svmlight file has no place for the weights {source.weight!r}.")
        with located(batch, source.label_names):
            members = candidates(good.y, self.order).tolist()
            labels = [_svmlight_label(row, each) for row, each in enumerate(members)]
        matrix = batch.data
        if batch.labels is None:
            features = [name for name in batch.data.schema.names if name not in source.names]
            matrix = sparse.csr_matrix(numeric_matrix(batch, features))
        return Batch(matrix, batch.file, batch.first_row, labels=labels)


def _with_comma(text: str | None) -> str | None:
    """A label with decimal commas, if its classes are numbers."""
    return text.replace(".", ",") if text is not None and _OF_NUMBERS.fullmatch(text) else text


def _svmlight_label(row: int, members: tuple[Any, ...] | None) -> Any:
    if members is None:
        return None
    for member in members:
        if not isinstance(member, (int, float)):
            raise RowError(f"the labels of an svmlight file are numbers. Got {shown(member)}.", row)
    return members[0] if len(members) == 1 else members


def _spread(batch: Batch, source: LabelColumns | None) -> Batch:
    """An svmlight batch as columns: the labels, then x1, x2, ..."""
    n_columns = batch.data.shape[1]
    if n_columns > _MOST_COLUMNS:
        raise TableError(
            f"{place(batch.file)}: an svmlight file of at most {_MOST_COLUMNS} features can be written as columns. "
            f"This one has {n_columns}."
        )
    dense = batch.data.toarray()
    name = "label" if source is None or source.label is None else source.label
    labels = (
        batch.labels if isinstance(batch.labels, np.ndarray) else [list(members) or None for members in batch.labels]
    )
    columns = {name: pa.array(labels, from_pandas=True)}
    columns.update({f"x{j + 1}": pa.array(dense[:, j]) for j in range(n_columns)})
    return Batch(pa.record_batch(columns), batch.file, batch.first_row, rows=batch.rows)


def _type_of(values: Any) -> Any:
    """Type of a column of interval ends: whole numbers if all are, numbers, or text."""
    present = [value for value in values.tolist() if value is not None]
    if any(isinstance(value, str) for value in present):
        return pa.string()
    return pa.int64() if all(float(value).is_integer() for value in present) else pa.float64()
