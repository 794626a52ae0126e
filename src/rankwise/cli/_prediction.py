"""Rows of files with the class that a model gives them, as they are to be written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from rankwise.cli._answers import AnswerOptions
from rankwise.cli._judge import predict_batch
from rankwise.cli._labelled_files import fitted_width
from rankwise.cli._model_files import open_unlabelled
from rankwise.cli._options import RowOptions
from rankwise.cli._print import stream_bar
from rankwise.io import Batch, TableError
from rankwise.io._convert import passing_on
from rankwise.io._input_files import split_suffix
from rankwise.io._write import append_columns, appended_lines

COLUMN = "prediction"


class Prediction:
    """Rows with predictions; between text files of one format, lines are copied byte for byte.

    Without ``output`` they go to the standard output, as CSV or JSON lines; with ``only``, what is added is all there
    is.
    """

    def __init__(
        self, path: Path, files: list[Path], rows: RowOptions, answers: AnswerOptions, output: Path | None, *,
        only: bool, as_json: bool,
    ) -> None:  # fmt: skip
        self.model, self.source, table = open_unlabelled(path, files, rows)
        needed, is_svmlight = self.source.features, self.source.is_svmlight
        columns = ["label"] if is_svmlight else list(table.schema.names)
        self.only = only
        answers.require(self.model)
        self.answers = answers
        self.added = {COLUMN: pa.array(self.model.classes_).type, **answers.types(self.model)}
        for name in self.added:
            if name in columns and not only:
                raise TableError(f"file {table.files[0]}: there is a column {name!r} already; --only leaves it out.")
        self.source.say_guess()
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
            values += self.answers.columns(self.model, X)
        return pa.RecordBatch.from_arrays([pa.array(column) for column in values], names=list(self.added))

    def _nothing(self) -> Any:
        columns = [pa.array([], kind) for kind in self.added.values()]
        return pa.RecordBatch.from_arrays(columns, names=list(self.added))
