"""Rows of files with the predictions of a model, ready to be written."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from rankwise.base.model import Model
from rankwise.cli._exit import suggestion
from rankwise.cli._judge import predict_rows
from rankwise.cli._model_files import decimal_of, open_with_model
from rankwise.cli._options import RowOptions
from rankwise.cli._print import stream_bar
from rankwise.decisions import check_cost
from rankwise.io import TableError
from rankwise.io.conversion import passing_on
from rankwise.io.input_files import split_suffix
from rankwise.io.writing import append_columns, appended_lines
from rankwise.labels import estimators_with
from rankwise.table_model import TableModel

if TYPE_CHECKING:
    from rankwise.cli.commands.predict import PredictionOptions

COLUMN = "prediction"


class Prediction:
    """Rows with predictions; between text files of one format, lines are copied byte for byte.

    Without ``output`` they go to the standard output, as CSV or JSON lines; ``only`` leaves out the input columns.
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
        #: How text is written: such that what reads the input reads the output.
        self.style = table.written_alike(format, decimal_of(self.model))
        self.table = self.source.table(needed, counts=True)
        if not (only or self.copies or is_svmlight):
            features = set(needed)
            passed_on = [name for name in columns if name not in features]
            selected = {"types": self.source.types, "quarantine": self.source.quarantine}
            self.table = passing_on(table, passed_on, format, **selected)
        #: Names of the columns of record batches; empty where lines are copied.
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
                kept, columns = predict_rows(self.model, self.source, self.source.rows_of(batch), self._columns)
                good = batch.take(kept)
                added = self._nothing() if columns is None else self._batch(map(pa.array, columns))
                while header:  # not before the first rows are good
                    yield header.pop()
                if self.only:
                    yield added
                elif self.copies:
                    yield appended_lines(self.table, added, good, self.style.get("decimal", "."))
                else:
                    yield append_columns(good, added)
                done += len(kept)
                show(batch.bytes_read, done, None)
        yield from header

    def _columns(self, model: TableModel, X: Any) -> list[NDArray[Any]]:
        """Values of the new columns; rows are encoded once for all of them."""
        opened = Model.of(model)
        rows, final = opened.rows(X), opened.final
        columns = [np.asarray(final.predict(rows))]
        if self.answers.scores:
            scores = final.project(rows) if opened.can("project") else final.decision_function(rows)
            columns += [*np.asarray(scores).reshape(X.shape[0], -1).T]
        if self.answers.proba:
            columns += [*np.asarray(final.predict_proba(rows)).T]
        if self.answers.interval is not None:
            columns += [*opened.intervals(rows, self.answers.interval).T]
        return columns

    def _nothing(self) -> Any:
        return self._batch(pa.array([], kind) for kind in self.added.values())

    def _batch(self, columns: Iterable[Any]) -> Any:
        return pa.RecordBatch.from_arrays(list(columns), names=list(self.added))


def _require(answers: PredictionOptions, model: TableModel) -> None:
    """Raise an error if the model cannot give what is asked for; set the decision."""
    opened = Model.of(model)
    final, name = opened.final, opened.name
    for wanted in ("proba", "interval", "decision"):
        if getattr(answers, wanted) not in (None, False) and not opened.can("predict_proba"):
            able = ", ".join(estimators_with("predict_proba"))
            raise typer.BadParameter(f"--{wanted} needs a model with probabilities. {name} has none: fit {able}.")
    if answers.scores and not (opened.can("project") or opened.can("decision_function")):
        raise typer.BadParameter(f"--scores needs a model with scores, and {name} has none.")
    if answers.interval is not None and opened.can("predict_set") and answers.interval != final.level:
        raise typer.BadParameter(
            f"--interval {answers.interval:g}: the sets of this {name} have the level {final.level:g}, and no other."
        )
    if answers.decision is not None:
        if not opened.can("decision"):
            raise typer.BadParameter(f"--decision: the predictions of a {name} do not depend on costs.")
        final.decision = _read_costs(answers.decision, model.classes_)


def _added(answers: PredictionOptions, model: TableModel) -> dict[str, Any]:
    """Names of the columns that are added, and the type of their values."""
    kind, classes = pa.array(model.classes_).type, model.classes_.tolist()
    added = {COLUMN: kind}
    if answers.scores:
        one = Model.of(model).can("project") or len(classes) == 2
        added |= dict.fromkeys(["score"] if one else [f"score {name}" for name in classes], pa.float64())
    if answers.proba:
        added |= dict.fromkeys([f"P({name})" for name in classes], pa.float64())
    if answers.interval is not None:
        added |= dict.fromkeys(["prediction_lower", "prediction_upper"], kind)
    return added


def _read_costs(path: Path, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Cost matrix in the order of the classes from a CSV file whose header and first column name them."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
        return _cost_matrix(lines, [str(name) for name in classes.tolist()])
    except (ValueError, csv.Error) as error:
        raise ValueError(f"file {path}: {error}") from None


def _cost_matrix(lines: list[list[str]], names: list[str]) -> NDArray[np.float64]:
    header = [name.strip() for name in lines[0][1:]] if lines else []
    first = [line[0].strip() for line in lines[1:]]
    for what, given in (("header", header), ("first column", first)):
        if sorted(given) != sorted(names):
            other = next((name for name in given if name not in names), None)
            hint = f" {suggestion(other, names)}" if other is not None else ""
            raise ValueError(f"its {what} must name the classes {', '.join(names)}. Got {', '.join(given)}.{hint}")
    for line in lines[1:]:
        if len(line) != len(lines[0]):
            raise ValueError(f"class {line[0]} must have {len(names)} costs. Got {len(line) - 1}.")
    try:
        table = np.array([[float(cell) for cell in line[1:]] for line in lines[1:]])
    except ValueError as error:
        raise ValueError(f"a cost must be a number: {error}.") from None
    in_order = table[np.ix_([first.index(name) for name in names], [header.index(name) for name in names])]
    return check_cost(in_order, len(names))
