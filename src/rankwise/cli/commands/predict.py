"""The command ``predict``: rows of files with the class that a model gives them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise._files import naming
from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, Model, RowOptions, grouped
from rankwise.cli._outputs import NEW_TABLE
from rankwise.cli._print import print_json, print_written, stream_bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankwise.io import Batch

COLUMN = "prediction"
_SCORES = "Add the scores behind the predictions: a column 'score', or 'score CLASS' for each class."
_OUTPUT = "File to write; its name says the format. By default CSV on the standard output."


@grouped
def predict(
    model: Model,
    files: Files,
    *,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help=_OUTPUT), NEW_TABLE] = None,
    only: Annotated[bool, typer.Option("--only", help=f"Write the column {COLUMN!r} alone.")] = False,
    scores: Annotated[bool, typer.Option("--scores", help=_SCORES)] = False,
    rows: RowOptions,
    json: AsJSON = False,
) -> None:
    """Give every row of the files its class, in a column 'prediction' behind the columns it has.

    rankwise predict model.rankwise new.csv --output graded.parquet

    Labels need not be there. With --json and no --output, rows are printed as JSON lines.
    """
    rows.check()
    with plain_errors():
        prediction = _Prediction(model, files, rows, only, scores)
        with prediction.source.quarantine:
            n = _to_stdout(prediction, json) if output is None else _to_file(prediction, output)
    if output is not None:
        print_written(output, n, prediction.source.quarantine.count, json)
    rows.judge_skipped(prediction.source.quarantine, n)


class _Prediction:
    """Record batches with predictions, and their schema."""

    def __init__(self, path: Path, files: list[Path], rows: RowOptions, only: bool, scores: bool) -> None:
        import pyarrow as pa

        from rankwise.cli._labelled_files import LabelledFiles, require_features
        from rankwise.cli._model_files import for_columns, known_columns, load_model, text_columns
        from rankwise.io import TableError
        from rankwise.persistence import read_notes

        loaded = load_model(path)
        table = rows.look_at(files)
        is_svmlight = table.format == "svmlight"
        names = [] if is_svmlight else list(table.schema.names)
        needed = known_columns(loaded) or names
        if not is_svmlight:
            require_features(needed, table)
        self.only = only
        self.model = for_columns(loaded, needed, is_svmlight=is_svmlight)
        self.scores = self._score_columns() if scores else []
        for name in {COLUMN, *self.scores} & set(names):
            if not only:
                raise TableError(f"file {table.files[0]}: there is a column {name!r} already; --only leaves it out.")
        label = read_notes(path).get("labels", {}).get("label")  # such a column is text where it was learnt from, too
        texts = [*text_columns(loaded), *([label] if label is not None and table.format in ("csv", "tsv") else [])]
        self.source = LabelledFiles(table, files, None, needed, texts, rows)
        self.table = self.source.table(needed if only else names, counts=True)
        added = {COLUMN: pa.array(self.model.classes_).type} | dict.fromkeys(self.scores, pa.float64())
        kept = [] if only or is_svmlight else list(self.table.schema)
        self.schema = None if is_svmlight and not only else pa.schema([*kept, *map(pa.field, added, added.values())])

    def _score_columns(self) -> list[str]:
        """One score on the axis of the thresholds, or one for each class."""
        if hasattr(self.model, "project"):
            return ["score"]
        classes = self.model.classes_.tolist()
        return ["score"] if len(classes) == 2 else [f"score {name}" for name in classes]

    def _scored(self, rows: Any, batch: Batch) -> Any:
        """Rows with the scores behind their predictions."""
        import numpy as np
        import pyarrow as pa

        from rankwise.cli._labelled_files import fitted_width

        X = fitted_width(self.source.features_of(batch), int(self.model.estimator_.n_features_in_))
        scores = np.empty((0, len(self.scores)))
        if len(batch):
            scores = self.model.project(X) if hasattr(self.model, "project") else self.model.decision_function(X)
        columns = [pa.array(column) for column in scores.reshape(len(batch), -1).T]
        return pa.RecordBatch.from_arrays([*rows.columns, *columns], names=[*rows.schema.names, *self.scores])

    def batches(self) -> Iterator[Any]:
        import pyarrow as pa

        from rankwise.cli._judge import predict_batch
        from rankwise.io import append_column

        done = 0
        with stream_bar("predicting", self.table.n_bytes) as show:
            for batch in self.table.batches():
                kept, predicted = predict_batch(self.model, self.source, batch)
                good = batch.take(kept)
                if self.only:
                    rows = pa.record_batch({COLUMN: pa.array(predicted)})
                else:
                    rows = append_column(good, COLUMN, predicted)
                yield self._scored(rows, good) if self.scores else rows
                done += len(kept)
                show(batch.bytes_read, done, None)


def _to_file(prediction: _Prediction, output: Path) -> int:
    from rankwise.io import write_table

    return write_table(output, prediction.batches(), schema=prediction.schema)


def _to_stdout(prediction: _Prediction, as_json: bool) -> int:
    import pyarrow.csv as arrow_csv

    stream, n, header = sys.stdout.buffer, 0, not as_json
    for batch in prediction.batches():
        n += batch.num_rows
        with naming("the standard output"):
            if as_json:
                for row in batch.to_pylist():
                    print_json(row)
            else:
                arrow_csv.write_csv(batch, stream, arrow_csv.WriteOptions(include_header=header))
                header = False
    with naming("the standard output"):
        if header and prediction.schema is not None:
            arrow_csv.write_csv(prediction.schema.empty_table(), stream)
        stream.flush()
    return n
