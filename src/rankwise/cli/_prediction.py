"""Rows of files with the class that a model gives them, as they are to be written."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from rankwise.cli._exit import suggestion
from rankwise.cli._judge import predict_batch
from rankwise.cli._labelled_files import fitted_width
from rankwise.cli._model_files import open_with_model
from rankwise.cli._options import RowOptions
from rankwise.cli._print import stream_bar
from rankwise.decisions import check_cost
from rankwise.io import Batch, TableError
from rankwise.io._convert import passing_on
from rankwise.io._input_files import split_suffix
from rankwise.io._write import append_columns, appended_lines
from rankwise.labels import estimators_with
from rankwise.table_model import TableModel

if TYPE_CHECKING:
    from rankwise.cli.commands.predict import PredictionOptions

COLUMN = "prediction"


class Prediction:
    """Rows with predictions; between text files of one format, lines are copied byte for byte.

    Without ``output`` they go to the standard output, as CSV or JSON lines; with ``only``, what is added is all there
    is.
    """

    def __init__(
        self, path: Path, files: list[Path], rows: RowOptions, answers: PredictionOptions, output: Path | None, *,
        only: bool, as_json: bool,
    ) -> None:  # fmt: skip
        self.model, self.source = open_with_model(path, files, rows)
        needed, is_svmlight, table = self.source.features, self.source.is_svmlight, self.source.opened
        columns = ["label"] if is_svmlight else list(table.schema.names)
        self.only, self.answers = only, answers
        _require(answers, self.model)
        self.added = _added(answers, self.model)
        for name in self.added:
            if name in columns and not only:
                raise TableError(f"file {table.files[0]}: there is a column {name!r} already; --only leaves it out.")
        format = ("jsonl" if as_json else "csv") if output is None else split_suffix(output)[0] or ""
        self.copies = not only and table.format == format and table.header is not None
        self.table = self.source.table(needed, counts=True)
        if not (only or self.copies or is_svmlight):
            features = set(needed)
            passed_on = [name for name in columns if name not in features]
            selected = {"types": self.source.types, "quarantine": self.source.quarantine}
            self.table = passing_on(table, passed_on, format, **selected)
        #: Columns of record batches; none where lines are copied.
        self.names = [] if self.copies else [*([] if only else columns), *self.added]
        self.schema = None
        if not (self.copies or is_svmlight) or only:
            kept = [] if only else list(self.table.schema)
            self.schema = pa.schema([*kept, *map(pa.field, self.added, self.added.values())])

    def batches(self) -> Iterator[Any]:
        """Rows with their predictions, as record batches or lines."""
        done, header = 0, [appended_lines(self.table, self._nothing())] if self.copies else []
        with stream_bar("predicting", self.table.n_bytes) as show:
            for batch in self.table.batches():
                kept, predicted = predict_batch(self.model, self.source, batch)
                good = batch if len(kept) == len(batch) else batch.take(kept)
                found = self._found(good, predicted) if len(good) else self._nothing()
                while header:  # not before the first rows are good
                    yield header.pop()
                if self.only:
                    yield found
                elif self.copies:
                    yield appended_lines(self.table, found, good)
                else:
                    yield append_columns(good, found)
                done += len(kept)
                show(batch.bytes_read, done, None)
        yield from header

    def _found(self, batch: Batch, predicted: NDArray[Any]) -> Any:
        """The new columns, as a record batch."""
        values = [predicted]
        if len(self.added) > 1:
            X = fitted_width(self.source.features_of(batch), int(self.model.estimator_.n_features_in_))
            values += _values(self.answers, self.model, X)
        return pa.RecordBatch.from_arrays([pa.array(column) for column in values], names=list(self.added))

    def _nothing(self) -> Any:
        columns = [pa.array([], kind) for kind in self.added.values()]
        return pa.RecordBatch.from_arrays(columns, names=list(self.added))


def _require(answers: PredictionOptions, model: TableModel) -> None:
    """Refuse a model without probabilities, and one whose classes have other costs; set the decision."""
    for wanted in ("proba", "interval", "decision"):
        if getattr(answers, wanted) not in (None, False) and not hasattr(model, "predict_proba"):
            able = ", ".join(estimators_with("predict_proba"))
            name = type(model.estimator_).__name__
            raise typer.BadParameter(f"--{wanted} needs a model with probabilities. {name} has none: fit {able}.")
    if answers.decision is not None:
        model.estimator_.decision = _read_costs(answers.decision, model.classes_)


def _added(answers: PredictionOptions, model: TableModel) -> dict[str, Any]:
    """Names of the columns that are added, and the type of their values."""
    kind, classes = pa.array(model.classes_).type, model.classes_.tolist()
    added = {COLUMN: kind}
    if answers.scores:
        one = hasattr(model, "project") or len(classes) == 2
        added |= dict.fromkeys(["score"] if one else [f"score {name}" for name in classes], pa.float64())
    if answers.proba:
        added |= dict.fromkeys([f"P({name})" for name in classes], pa.float64())
    if answers.interval is not None:
        added |= dict.fromkeys(["prediction_lower", "prediction_upper"], kind)
    return added


def _values(answers: PredictionOptions, model: TableModel, X: Any) -> Iterator[NDArray[Any]]:
    """Values of these columns, but for the prediction."""
    if answers.scores:
        scores = model.project(X) if hasattr(model, "project") else model.decision_function(X)
        yield from scores.reshape(X.shape[0], -1).T
    if answers.proba:
        yield from model.predict_proba(X).T
    if answers.interval is not None:
        yield from model.predict_interval(X, answers.interval).T


def _read_costs(path: Path, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Cost matrix from a CSV file whose header and first column are the classes, in the order of the model's."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [line for line in csv.reader(file) if line]
    names = [str(name) for name in classes.tolist()]
    header, first = lines[0][1:] if lines else [], [line[0].strip() for line in lines[1:]]
    for what, found in (("header", [name.strip() for name in header]), ("first column", first)):
        if sorted(found) != sorted(names):
            other = next((name for name in found if name not in names), None)
            hint = f" {suggestion(other, names)}" if other is not None else ""
            raise ValueError(
                f"file {path}: its {what} must name the classes {', '.join(names)}. Got {', '.join(found)}.{hint}"
            )
    try:
        table = np.array([[float(cell) for cell in line[1:]] for line in lines[1:]])
    except ValueError as error:
        raise ValueError(f"file {path}: a cost must be a number: {error}.") from None
    columns = [name.strip() for name in header]
    in_order = table[np.ix_([first.index(name) for name in names], [columns.index(name) for name in names])]
    try:
        return check_cost(in_order, len(names))
    except ValueError as error:
        raise ValueError(f"file {path}: {error}") from None
