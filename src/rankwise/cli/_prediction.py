"""Rows of files with the class that a model gives them, as they are to be written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from rankwise.cli._judge import predict_batch
from rankwise.cli._labelled_files import LabelledFiles, require_features
from rankwise.cli._model_files import for_columns, known_columns, load_model, text_columns
from rankwise.cli._options import RowOptions
from rankwise.cli._print import stream_bar
from rankwise.io import TableError, append_column
from rankwise.io._convert import passing_on
from rankwise.io._input_files import split_suffix
from rankwise.io._write import appended_lines
from rankwise.persistence import read_notes

COLUMN = "prediction"


class Prediction:
    """Rows with predictions; between text files of one format, lines are copied byte for byte.

    Parameters
    ----------
    path : Path
        The model.
    files, rows
        What to predict.
    output : Path or None
        Where the rows go; without it to the standard output, as CSV or JSON lines.
    only : bool
        Whether only the predictions are wanted.
    as_json : bool
        Whether the standard output gets JSON lines.
    """

    def __init__(
        self, path: Path, files: list[Path], rows: RowOptions, output: Path | None, *, only: bool, as_json: bool
    ) -> None:
        loaded = load_model(path)
        rows = rows.as_learnt(loaded, read_notes(path))
        table = rows.look_at(files)
        is_svmlight = table.format == "svmlight"
        columns = ["label"] if is_svmlight else list(table.schema.names)
        if COLUMN in columns and not only:
            raise TableError(f"file {table.files[0]}: there is a column {COLUMN!r} already; --only leaves it out.")
        needed = known_columns(loaded) or columns
        if not is_svmlight:
            require_features(needed, table)
        self.only = only
        self.model = for_columns(loaded, needed, is_svmlight=is_svmlight)
        self.source = LabelledFiles(table, files, None, needed, text_columns(loaded), rows)
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
        self.names = [] if self.copies else [COLUMN] if only else [*columns, COLUMN]
        self.schema = None
        if not (self.copies or is_svmlight) or only:
            kept = [] if only else list(self.table.schema)
            self.schema = pa.schema([*kept, pa.field(COLUMN, pa.array(self.model.classes_).type)])

    def batches(self) -> Iterator[Any]:
        """Rows with their predictions, as record batches or lines."""
        done, header = 0, [appended_lines(self.table, COLUMN)] if self.copies else []
        with stream_bar("predicting", self.table.n_bytes) as show:
            for batch in self.table.batches():
                kept, predicted = predict_batch(self.model, self.source, batch)
                while header:  # not before the first rows are good
                    yield header.pop()
                if self.only:
                    yield pa.record_batch({COLUMN: pa.array(predicted)})
                elif self.copies:
                    yield appended_lines(self.table, COLUMN, batch.take(kept), predicted)
                else:
                    yield append_column(batch.take(kept), COLUMN, predicted)
                done += len(kept)
                show(batch.bytes_read, done, None)
        yield from header
