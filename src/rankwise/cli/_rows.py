"""Rows of files on their way to a model: what is read, where the labels are, and what becomes of bad rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray
from scipy import sparse

from rankwise.cli._errors import suggestion
from rankwise.cli._options import Format, OnError, label_columns, parse_columns, require_label_columns
from rankwise.features import RowError
from rankwise.io import Batch, LabelColumns, Table, TableError, open_table
from rankwise.labels import ClassOrder, declared_order

_ROW = re.compile(r"\brow (\d+)\b")


class Quarantine:
    """Counts rows that were skipped, and writes them to a file of JSON lines if there is one.

    A reader may find bad rows ahead of the batch that it hands out. A run that goes on from a checkpoint finds them
    again: it knows which, and takes no row twice.

    Parameters
    ----------
    path : Path or None
        The file.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.count = 0
        self._file: Any = None
        self._silent = False
        self._ahead: set[tuple[str, int]] = set()  # rows behind those that were learnt, taken already
        self._known: set[tuple[str, int]] = set()  # the same, taken before the run went on

    def __call__(self, file: str, row: int, text: str, reason: str) -> None:
        """Take one row, as the functions of rankwise.io hand it over."""
        if self._silent:
            return
        self._ahead.add((file, row))
        if (file, row) in self._known:
            return
        self.count += 1
        if self._file is not None:
            entry = {"file": file, "row": row, "reason": reason, "text": text}
            self._file.write(json.dumps(entry, ensure_ascii=False).encode("utf-8", errors="replace") + b"\n")

    def open(self, state: Mapping[str, Any] | None = None) -> None:
        """Begin, or go on from what :meth:`state` said; what was written behind that is dropped."""
        size = 0
        if state is not None:
            self.count, size = state["count"], state["size"]
            self._known = {(file, row) for file, row in state["ahead"]}
        if self.path is not None:
            self._file = open(self.path, "ab")  # noqa: SIM115 - closed by close()
            self._file.truncate(size)

    def passed(self, file: str, row: int) -> None:
        """All rows of a file up to this one are done: forget those among them."""
        if self._ahead:
            self._ahead = {(f, r) for f, r in self._ahead if f == file and r > row}

    def state(self) -> dict[str, Any]:
        """All that is needed to go on, as plain values."""
        size = 0
        if self._file is not None:
            self._file.flush()
            size = self._file.tell()
        return {"count": self.count, "size": size, "ahead": sorted(self._ahead)}

    def silence(self) -> None:
        """Take no more rows: those to come have been taken before."""
        self.close()
        self._silent = True

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with their labels, in memory or a batch of a stream.

    Attributes
    ----------
    X : pyarrow.Table or CSR matrix
        Features.
    y, weight
        Labels and weights, as every ``fit`` takes them.
    place : callable
        Number of a row -> file and row.
    """

    X: Any
    y: Any
    weight: NDArray[np.float64] | None
    place: Callable[[int], str]

    def __len__(self) -> int:
        return int(self.X.shape[0])


class Source:
    """Files with labels, as the options of a command describe them.

    Parameters
    ----------
    probe : Table
        The files, opened once to see what is in them.
    files : sequence of Path
        Their names.
    labels : LabelColumns or None
        Where the labels are; None where there need not be any.
    features : sequence of str
        Columns that are features.
    texts : sequence of str
        Columns that must be read as text, whatever they look like.
    on_error : OnError
        What a bad row does.
    quarantine : Quarantine
        Where skipped rows go.
    """

    def __init__(
        self,
        probe: Table,
        files: Sequence[Path],
        labels: LabelColumns | None,
        features: Sequence[str],
        texts: Sequence[str],
        on_error: OnError,
        quarantine: Quarantine,
    ) -> None:
        self.files = list(files)
        self.found = list(probe.files)  # the same with what is in directories
        self._labels = labels
        self.features = list(features)
        self.on_error = on_error
        self.quarantine = quarantine
        self.format = probe.format
        self.is_svmlight = probe.format == "svmlight"
        self.n_features = probe.n_features
        self.n_bytes = probe.n_bytes
        self.types = {name: "string" for name in texts if name in probe.schema.names}
        if probe.format in ("csv", "tsv") and labels is not None:
            self.types |= labels.csv_types

    @property
    def labels(self) -> LabelColumns:
        """Where the labels are."""
        assert self._labels is not None
        return self._labels

    @property
    def skips(self) -> bool:
        """Whether bad rows are skipped."""
        return self.on_error is OnError.skip

    def table(self, columns: Sequence[str] | None = None, quarantine: Quarantine | None = None) -> Table:
        """Open the files; without a quarantine skipped rows are forgotten, for a pass that only looks."""
        if self.is_svmlight:
            wanted, types = None, {}
        else:
            wanted = list(columns or [*self.features, *self.labels.names])
            types = {name: kind for name, kind in self.types.items() if name in wanted}
        return open_table(
            self.files,
            format=self.format,
            columns=wanted,
            types=types,
            on_error=self.on_error.value,
            quarantine=quarantine if self.skips else None,
        )

    def order(self, classes: Sequence[Any] | None) -> ClassOrder:
        """Order of the classes: declared, or found in one pass over the labels."""
        if classes is not None:
            return declared_order(classes)
        table = self.table(self.labels.names)
        good: Any = _WithGoodLabels(table, self.labels) if self.skips else table
        try:
            order = self.labels.find_classes(good)
        except TableError:
            raise
        except ValueError as error:
            raise TableError(f"file {table.files[0]}: {error}") from None
        if len(order) < 2:
            raise TableError(
                f"the labels must name at least two classes. Got {order.values.tolist()}; --classes declares those "
                f"that do not occur."
            )
        return order

    def batches(
        self, table: Table, order: ClassOrder, start_row: int = 0, *, counts: bool = True
    ) -> Iterator[tuple[Batch, Rows]]:
        """Batches with their labels; rows with bad labels are an error, or skipped, and counted if ``counts``."""
        for batch in table.batches(start_row):
            if self.skips:
                batch = self.labels.without_bad_rows(batch, order, self.quarantine if counts else forget)
            y, weight = self.labels.read(batch, order)
            yield batch, Rows(self.features_of(batch), y, weight, batch.place)

    def head(self, n_rows: int) -> Rows:
        """First rows whose labels are good, however the files are cut into batches; without their labels."""
        batches, found = [], 0
        for batch in self.table().batches():
            if self.skips:
                batch = self.labels.without_bad_rows(batch, None, forget)
            batches.append(batch)
            found += len(batch)
            if found >= n_rows:
                break
        whole = self._joined(batches)
        return Rows(self.features_of(whole).slice(0, n_rows), None, None, _places(batches))

    def load(self, order: ClassOrder, encoder: Any = None) -> Rows:
        """All rows, in memory; where bad rows are skipped, so are those that the encoder refuses."""
        batches = []
        for batch in self.table(quarantine=self.quarantine).batches():
            if self.skips:
                batch = self.labels.without_bad_rows(batch, order, self.quarantine)
            else:
                self.labels.read(batch, order)  # names the file and row of a bad label
            batches.append(batch)
        if self.skips and encoder is not None:
            batches = self._without_problems(batches, encoder)
        whole = self._joined(batches)
        y, weight = self.labels.read(whole, order)
        return Rows(self.features_of(whole), y, weight, _places(batches))

    def features_of(self, batch: Batch) -> Any:
        """Rows of a batch as a model takes them: without labels and ignored columns."""
        return batch.data if self.is_svmlight else pa.Table.from_batches([batch.data.select(self.features)])

    def _without_problems(self, batches: list[Batch], encoder: Any) -> list[Batch]:
        problems = encoder.problems(self.features_of(self._joined(batches)))
        if not problems:
            return batches
        parts: list[list[RowError]] = [[] for _ in batches]
        starts = np.cumsum([0, *map(len, batches)])
        for problem in problems:
            which = int(np.searchsorted(starts, problem.row, side="right")) - 1
            parts[which].append(RowError(problem.column, problem.row - int(starts[which]), problem.reason))
        return [without(batch, part, self.quarantine) for batch, part in zip(batches, parts, strict=True)]

    def _joined(self, batches: list[Batch]) -> Batch:
        batches = [batch for batch in batches if len(batch)]
        if not batches:
            raise TableError(f"file {self.files[0]}: there are no rows to learn from.")
        return _joined(batches)


def open_source(
    files: Sequence[Path],
    *,
    format: Format | None,
    label: str | None,
    lower: str | None,
    upper: str | None,
    weight: str | None,
    ignore: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    texts: Sequence[str] = (),
    on_error: OnError = OnError.stop,
    quarantine: Path | None = None,
) -> Source:
    """Look at the files, and check that they have the columns that the options name."""
    if quarantine is not None and on_error is OnError.stop:
        raise typer.BadParameter("--quarantine needs --on-error skip.")
    probe = open_table(list(files), format=None if format is None else format.value, on_error=on_error.value)
    labels = label_columns(label, lower, upper, weight, is_svmlight=probe.format == "svmlight")
    require_label_columns(labels, probe)
    present = [name for name in probe.schema.names if name not in labels.names]
    if probe.format == "svmlight":
        if ignore:
            raise typer.BadParameter("an svmlight file has no named columns: --ignore cannot be used.")
        present = []
    ignored = parse_columns(ignore, probe.schema.names, "--ignore") if ignore else []
    kept = [name for name in present if name not in ignored]
    if features is not None and probe.format != "svmlight":
        require_features(features, probe)
        kept = list(features)
    if probe.format != "svmlight" and not kept:
        raise TableError(f"file {probe.files[0]}: no column is left to learn from.")
    return Source(probe, files, labels, kept, texts, on_error, Quarantine(quarantine))


def require_features(names: Sequence[str], table: Table) -> None:
    """Refuse files that lack a column which a model needs."""
    for name in names:
        if name not in table.schema.names:
            meant = suggestion(name, table.schema.names)
            raise TableError(f"file {table.files[0]}: the model needs the column {name!r}. {meant}")


def fitted_width(X: Any, n_features: int) -> Any:
    """CSR rows with as many columns as a model knows: further ones have no weight, absent ones are zero."""
    if not sparse.issparse(X) or X.shape[1] == n_features:
        return X
    X = X.copy()
    X.resize((X.shape[0], n_features))
    return X


def located(error: ValueError, place: Callable[[int], str]) -> TableError:
    """Error about a row of a batch, as one about a row of a file."""
    if isinstance(error, RowError):
        return TableError(f"{place(error.row)}: column {error.column!r}: {error.reason}")
    row = _ROW.search(str(error))
    if row is None:
        return TableError(str(error))
    return TableError(f"{place(int(row[1]))}: {error}")


def without(batch: Batch, problems: Sequence[RowError], quarantine: Callable[..., None]) -> Batch:
    """The rows of a batch that have no problem; the others go to the quarantine with the first reason."""
    mask = np.ones(len(batch), dtype=bool)
    for problem in problems:
        if mask[problem.row]:
            mask[problem.row] = False
            text = json.dumps(batch.data.slice(problem.row, 1).to_pylist()[0], default=str, ensure_ascii=False)
            reason = f"column {problem.column!r}: {problem.reason}"
            quarantine(batch.file, batch.row_number(problem.row), text, reason)
    return batch.keep(mask)


@dataclass(frozen=True)
class _WithGoodLabels:
    """A table without the rows whose labels cannot be read."""

    table: Table
    labels: LabelColumns

    def batches(self) -> Iterator[Batch]:
        for batch in self.table.batches():
            yield self.labels.without_bad_rows(batch, None, forget)


def _places(batches: Sequence[Batch]) -> Callable[[int], str]:
    """Where each row of several batches stands."""
    starts = np.cumsum([0, *map(len, batches)])

    def place(row: int) -> str:
        which = int(np.searchsorted(starts, row, side="right")) - 1
        return batches[which].place(row - int(starts[which]))

    return place


def _joined(batches: Sequence[Batch]) -> Batch:
    first = batches[0]
    if isinstance(first.data, pa.RecordBatch):
        table = pa.Table.from_batches([batch.data for batch in batches]).combine_chunks()
        return Batch(table.to_batches()[0], first.file, 1)
    labels: Any = [batch.labels for batch in batches]
    if all(isinstance(part, np.ndarray) for part in labels):
        labels = np.concatenate(labels)
    else:
        labels = [label for part in labels for label in part]
    return Batch(sparse.vstack([batch.data for batch in batches], format="csr"), first.file, 1, labels=labels)


def forget(file: str, row: int, text: str, reason: str) -> None:
    """Quarantine of a pass that only looks."""
