"""The command ``predict``: rows of files with the class that a model gives them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._answers import AnswerOptions
from rankwise.cli._exit import plain_errors, require_writable
from rankwise.cli._options import AsJSON, Files, Model, RowOptions, grouped
from rankwise.cli._print import print_json, print_written, stream_bar

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMN = "prediction"


@grouped
def predict(
    model: Model,
    files: Files,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write; its name says the format. By default CSV on the standard output.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[bool, typer.Option("--only", help=f"Write the column {COLUMN!r} alone.")] = False,
    answers: AnswerOptions,
    rows: RowOptions,
    json: AsJSON = False,
) -> None:
    """Give every row of the files its class, in a column 'prediction' behind the columns it has.

    rankwise predict model.rankwise new.csv --output graded.parquet

    Labels need not be there. A model with probabilities also gives them (--proba), an interval (--interval 0.9), or the
    class of least expected cost (--decision costs.csv). With --json and no --output, rows are printed as JSON lines.
    """
    if output is not None:
        require_writable(output, "--output")
    rows.check()
    answers.check()
    with plain_errors():
        prediction = _Prediction(model, files, rows, only, answers)
        with prediction.source.quarantine:
            n = _to_stdout(prediction, json) if output is None else _to_file(prediction, output)
    if output is not None:
        print_written(output, n, prediction.source.quarantine.count, json)


class _Prediction:
    """Record batches with predictions, and their schema."""

    def __init__(self, path: Path, files: list[Path], rows: RowOptions, only: bool, answers: AnswerOptions) -> None:
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
        answers.require(self.model)
        self.answers, self.added = answers, answers.names(self.model.classes_)
        for name in (COLUMN, *self.added):
            if name in names and not only:
                raise TableError(f"file {table.files[0]}: there is a column {name!r} already; --only leaves it out.")
        label = read_notes(path).get("labels", {}).get("label")  # such a column is text where it was learnt from, too
        texts = [*text_columns(loaded), *([label] if label is not None and table.format in ("csv", "tsv") else [])]
        self.source = LabelledFiles(table, files, None, needed, texts, rows)
        self.table = self.source.table(needed if only else names, counts=True)
        of_class = pa.array(self.model.classes_).type
        types = {name: pa.float64() if name.startswith("P(") else of_class for name in self.added}
        kept = [] if only or is_svmlight else list(self.table.schema)
        fields = [pa.field(name, kind) for name, kind in {COLUMN: of_class, **types}.items()]
        self.schema = None if is_svmlight and not only else pa.schema([*kept, *fields])

    def batches(self) -> Iterator[Any]:
        """Rows with their predictions, as record batches."""
        import pyarrow as pa

        from rankwise.cli._judge import predict_batch
        from rankwise.cli._labelled_files import fitted_width
        from rankwise.io import append_column

        done = 0
        with stream_bar("predicting", self.table.n_bytes) as show:
            for batch in self.table.batches():
                kept, predicted = predict_batch(self.model, self.source, batch)
                good = batch if len(kept) == len(batch) else batch.take(kept)
                if self.only:
                    rows = pa.record_batch({COLUMN: pa.array(predicted)})
                else:
                    rows = append_column(good, COLUMN, predicted)
                if self.added:
                    X = fitted_width(self.source.features_of(good), int(self.model.estimator_.n_features_in_))
                    for name, values in zip(self.added, self.answers.columns(self.model, X), strict=True):
                        rows = rows.append_column(name, pa.array(values))
                yield rows
                done += len(kept)
                show(batch.bytes_read, done, None)


def _to_file(prediction: _Prediction, output: Path) -> int:
    from rankwise.io import write_table

    return write_table(output, prediction.batches(), schema=prediction.schema)


def _to_stdout(prediction: _Prediction, as_json: bool) -> int:
    import pyarrow.csv as arrow_csv

    stream = sys.stdout.buffer
    n = 0
    header = not as_json
    for batch in prediction.batches():
        n += batch.num_rows
        if as_json:
            for row in batch.to_pylist():
                print_json(row)
        else:
            arrow_csv.write_csv(batch, stream, arrow_csv.WriteOptions(include_header=header))
            header = False
    if header and prediction.schema is not None:
        arrow_csv.write_csv(prediction.schema.empty_table(), stream)
    stream.flush()
    return n
