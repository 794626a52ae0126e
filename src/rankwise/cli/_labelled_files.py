"""Rows of files for a model: what is read, where the labels are, and what happens to bad rows.

A pass reads the files once, and reads and encodes the labels of a batch once; code that looks at the first rows of a
pass keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from rankwise.cli._exit import complain, suggestion
from rankwise.cli._options import LabelOptions, RowOptions
from rankwise.cli._quarantine import Quarantine
from rankwise.features import RowError
from rankwise.io import Batch, Table, TableError, open_table
from rankwise.io.label_columns import BatchLabels, GoodLabels, find_classes
from rankwise.io.row_batch import forget
from rankwise.labels import ClassOrder, Labels, declared_order
from rankwise.table_model import table_encoder


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with their labels, in memory or a batch of a stream."""

    X: Any  # pyarrow.Table or CSR matrix
    y: Any  # Labels; None where only features are asked for
    weight: NDArray[np.float64] | None
    origin: Callable[[int], tuple[Batch, int]]  # row -> its batch, and its row there

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, chosen: NDArray[np.intp]) -> Rows:
        X = self.X.take(pa.array(chosen)) if isinstance(self.X, pa.Table) else self.X[chosen]
        weight = None if self.weight is None else self.weight[chosen]
        y = None if self.y is None else self.y.take(chosen)
        return Rows(X, y, weight, lambda i: self.origin(int(chosen[i])))

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let errors about one of the rows name its file and its number there."""
        try:
            yield
        except ValueError as error:
            raise located(error, self) from None

    def good(self, problems: Sequence[RowError], quarantine: Callable[..., None]) -> NDArray[np.intp]:
        """Numbers of the rows without a problem; the others go to the quarantine with the first reason."""
        good = np.ones(len(self), dtype=bool)
        for problem in problems:
            if good[problem.row]:
                good[problem.row] = False
                batch, i = self.origin(problem.row)
                reason = f"column {problem.column!r}: {problem.reason}"
                quarantine(batch.file, batch.row_number(i), batch.as_json(i), reason)
        return np.flatnonzero(good)

    def without(self, problems: Sequence[RowError], quarantine: Callable[..., None]) -> Rows:
        """The rows without a problem; the others go to the quarantine."""
        return self.take(self.good(problems, quarantine)) if problems else self


class LabelledFiles:
    """Files with labels as the options of a command describe them; without ``labels``, files need no labels.

    ``features`` are the columns to learn from, by default all that are neither labels nor ignored. The columns
    ``texts`` are read as text, whatever they look like.
    """

    def __init__(
        self, files: Sequence[Path], rows: RowOptions, labels: LabelOptions | None = None, *,
        features: Sequence[str] | None = None, texts: Sequence[str] = (), classes: Sequence[Any] | None = None,
    ) -> None:  # fmt: skip
        self.opened = table = rows.look_at(files)
        self.files = list(files)
        self.paths = list(table.files)  # with the files in directories
        self.on_error, self.skips = rows.on_error, rows.skips
        self.quarantine = Quarantine(rows.quarantine, strict=rows.strict)
        self.reading = rows.reading
        self.format = table.format
        self.is_svmlight = table.format == "svmlight"
        self.n_bytes = table.n_bytes
        names = [] if self.is_svmlight else table.schema.names
        others: list[str] = []
        if labels is not None:
            self.labels = labels.columns_of(table)
            others = [*self.labels.names, *labels.ignored_of(table)]
        if features is None or self.is_svmlight:
            self.features = [name for name in names if name not in others]
        else:
            self.features = list(features)
            require_features(self.features, table)
        if not (self.features or self.is_svmlight):
            raise TableError(f"file {table.files[0]}: no column is left to learn from.")
        require_ungrouped([name for name in self.features if name not in texts], table)
        self.types = {name: "string" for name in texts if name in names}
        if labels is not None:
            self.types |= self.labels.types_in(table)
        if classes is not None:
            self.order = declared_order(classes)

    def file(self, path: str) -> LabelledFiles:
        """One of the files alone, to be opened by another process."""
        alone = copy(self)
        alone.files, alone.paths = [Path(path)], [path]
        del alone.opened
        if self.is_svmlight:  # one file alone may not show where indices begin
            alone.reading = {**self.reading, "index_base": self.index_base}
        return alone

    @cached_property
    def opened(self) -> Table:
        """The files as a table."""
        return open_table(self.files, format=self.format, on_error=self.on_error.value, **self.reading)

    def table(self, columns: Sequence[str] | None = None, *, counts: bool = False) -> Table:
        """The files for a pass; skipped rows go to the quarantine if it ``counts``, and are forgotten otherwise."""
        quarantine = self.quarantine if counts else None
        if self.is_svmlight:
            return self.opened.select(quarantine=quarantine)
        wanted = list(columns or [*self.features, *self.labels.names])
        types = {name: kind for name, kind in self.types.items() if name in wanted}
        return self.opened.select(wanted, types, quarantine)

    @property
    def index_base(self) -> int | None:
        """First index of svmlight files."""
        return self.table().index_base if self.is_svmlight else None

    def say_guess(self) -> None:
        """Tell users that indices of svmlight files are assumed to begin at 1, if nothing shows where they begin."""
        if "index_base" not in self.reading and self.index_base == 1:
            hint = "--index-base 0 says that they begin at 0, and --index-base 1 that this is right."
            complain(f"no row has the index 0, so indices are taken to begin at 1; {hint}", "note")

    @cached_property
    def order(self) -> ClassOrder:
        """Order of the classes: declared, or found in one pass over the labels."""
        table, ignoring = self.table(self.labels.names), self._aside(counts=False)
        return self._found(lambda: (self.labels.of(batch).good(None, ignoring) for batch in table.first_batches()))

    def _found(self, labels: Callable[[], Iterable[GoodLabels]]) -> ClassOrder:
        """Find the classes that the labels name."""
        try:
            order = find_classes(labels, self.labels)
        except TableError:
            raise
        except ValueError as error:
            raise TableError(f"file {self.paths[0]}: {error}") from None
        if len(order) < 2:
            raise TableError(
                f"the labels must name at least two classes. Got {order.values.tolist()}; --classes declares those "
                f"that do not occur."
            )
        return order

    def batches(self, start_row: int = 0, *, counts: bool = True) -> Iterator[tuple[Batch, Rows]]:
        """One pass, in constant memory; bad rows are an error, or skipped, and quarantined if it ``counts``."""
        return map(partial(self.good_rows, counts=counts), self.labels_read(start_row, counts=counts))

    def labels_read(self, start_row: int = 0, *, counts: bool = True) -> Iterator[BatchLabels]:
        """One pass over the labels and their rows, before they are interpreted."""
        return (self.labels.of(batch) for batch in self.table(counts=counts).batches(start_row))

    def good_rows(self, labels: BatchLabels, *, counts: bool = True) -> tuple[Batch, Rows]:
        """A batch and its rows with good labels."""
        good = labels.good(self.order, self._aside(counts=counts))
        return good.batch, self._rows(good)

    def unlabelled(self, labels: BatchLabels) -> Rows:
        """Rows of a batch whose labels are valid for some classes, without the labels."""
        return self.rows_of(labels.good(None, forget).batch if self.skips else labels.batch)

    def rows_of(self, batch: Batch) -> Rows:
        return Rows(self.features_of(batch), None, None, lambda i: (batch, i))

    def load(self, encoder: Any = None) -> Rows:
        """All rows in memory, in one pass; bad rows and those that the encoder refuses are skipped or an error."""
        table = self.table(counts=True)
        labels: Iterator[BatchLabels] = (self.labels.of(batch) for batch in table.first_batches())
        if "order" not in vars(self):  # neither declared nor found yet: this pass finds the classes too
            read: list[BatchLabels] = []
            ignoring = self._aside(counts=False)
            self.order = self._found(lambda: (each.good(None, ignoring) for each in _kept(labels, read)))
            labels = iter(read)
        good = [each.good(self.order, self._aside(counts=True)) for each in labels]
        rows = self.encodable(self.joined([self._rows(each, table.settled(each.batch)) for each in good]), encoder)
        self.require_rows(len(rows))
        return rows

    def encodable(self, rows: Rows, encoder: Any) -> Rows:
        """The rows that the encoder accepts, if bad rows are skipped; the others go to the quarantine."""
        reads = table_encoder(encoder)
        return rows.without(reads.problems(rows.X), self.quarantine) if self.skips and reads is not None else rows

    def joined(self, batches: list[Rows]) -> Rows:
        """The rows of several batches."""
        batches = [rows for rows in batches if len(rows)]
        self.require_rows(len(batches))
        starts = np.cumsum([0, *map(len, batches)])

        def origin(row: int) -> tuple[Batch, int]:
            which = int(np.searchsorted(starts, row, side="right")) - 1
            return batches[which].origin(row - int(starts[which]))

        if self.is_svmlight:
            X = sparse.vstack([rows.X for rows in batches], format="csr")
        else:
            X = pa.concat_tables([rows.X for rows in batches]).combine_chunks()
        weight = None if batches[0].weight is None else np.concatenate([rows.weight for rows in batches])
        y = None if batches[0].y is None else Labels.concatenate(rows.y for rows in batches)
        return Rows(X, y, weight, origin)

    def require_rows(self, n: int) -> None:
        """Raise an error if there are no rows."""
        if not n:
            raise TableError(f"file {self.files[0]}: it has no rows that can be used.")

    def features_of(self, batch: Batch) -> Any:
        """Rows of a batch without labels and ignored columns, as a model takes them."""
        return batch.data if self.is_svmlight else pa.Table.from_batches([batch.data.select(self.features)])

    def _rows(self, good: GoodLabels, batch: Batch | None = None) -> Rows:
        batch = batch or good.batch
        return Rows(self.features_of(batch), good.y, good.weight, lambda i: (batch, i))

    def _aside(self, *, counts: bool) -> Callable[..., None] | None:
        """Where bad rows go: to the quarantine in a pass that ``counts``, else they are forgotten; None: an error."""
        if not self.skips:
            return None
        return self.quarantine if counts else forget


def _kept(labels: Iterator[BatchLabels], read: list[BatchLabels]) -> Iterator[BatchLabels]:
    """The labels in ``read``, then the remaining ones, which are appended to it."""
    yield from list(read)
    for each in labels:
        read.append(each)
        yield each


def require_features(names: Sequence[str], table: Table) -> None:
    for name in names:
        if name not in table.schema.names:
            hint = suggestion(name, table.schema.names)
            raise TableError(f"file {table.files[0]}: the model needs the column {name!r}. {hint}")


def require_ungrouped(names: Sequence[str], table: Table) -> None:
    """Refuse numbers such as 1.234 where decimals have a comma: they would be read as a little more than one."""
    for name in names:
        example = table.grouped.get(name)
        if example:
            as_elsewhere = "" if table.decimal == "," else ", as it is in this file"
            raise TableError(
                f"file {table.files[0]}: column {name!r} holds texts such as {example!r}, where points stand between "
                f"thousands if the decimal mark is a comma{as_elsewhere}. Write thousands without a mark, or declare "
                f"--kind {name}=category."
            )


def fitted_width(X: Any, n_features: int) -> Any:
    """CSR rows with as many columns as a model knows: further columns are dropped, missing ones are zero."""
    if not sparse.issparse(X) or X.shape[1] == n_features:
        return X
    X = X.copy()
    X.resize((X.shape[0], n_features))
    return X


def located(error: ValueError, rows: Rows) -> TableError:
    """Error about one of the rows, as an error about a row of a file."""
    if isinstance(error, TableError):
        return error
    if not isinstance(error, RowError):
        return TableError(str(error))
    batch, i = rows.origin(error.row)
    return batch.error(i, error.reason, error.column, "" if error.column is None else f"column {error.column!r}")
