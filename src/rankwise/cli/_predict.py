"""The command ``predict``: rows of files with the class that a model gives them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._errors import plain_errors, require_writable
from rankwise.cli._options import AsJSON, FileFormat, Files, Model, OnError, QuarantineFile, WhenBad
from rankwise.cli._print import print_facts, print_json, stream_bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankwise.cli._rows import Quarantine

COLUMN = "prediction"


def predict(
    model: Model,
    files: Files,
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
    format: FileFormat = None,
    on_error: WhenBad = OnError.stop,
    quarantine: QuarantineFile = None,
    json: AsJSON = False,
) -> None:
    """Give every row of the files its class, in a column 'prediction' behind the columns it has.

    rankwise predict model.rankwise new.csv --output graded.parquet

    Labels need not be there. With --json and no --output, rows are printed as JSON lines.
    """
    for path, option in ((output, "--output"), (quarantine, "--quarantine")):
        if path is not None:
            require_writable(path, option)
    if quarantine is not None and on_error is OnError.stop:
        raise typer.BadParameter("--quarantine needs --on-error skip.")
    with plain_errors():
        from rankwise.cli._rows import Quarantine

        skipped = Quarantine(quarantine)
        prepared = _Prediction(model, files, format, on_error, skipped, only)
        skipped.open()
        try:
            n = _to_stdout(prepared, json) if output is None else _to_file(prepared, output)
        finally:
            skipped.close()
    if output is None:
        return
    if json:
        print_json({"output": str(output), "rows": n, "skipped": skipped.count})
    else:
        rows = f"{n:,}" + (f", {skipped.count:,} skipped" if skipped.count else "")
        print_facts({"rows": rows, "output": str(output)})


class _Prediction:
    """Record batches with predictions, and their schema."""

    def __init__(
        self, path: Path, files: list[Path], format: Any, on_error: OnError, skipped: Quarantine, only: bool
    ) -> None:
        import pyarrow as pa

        from rankwise.cli._models import for_columns, known_columns, load_model, text_columns
        from rankwise.cli._rows import Source, require_features
        from rankwise.io import TableError, open_table
        from rankwise.persistence import read_notes

        loaded = load_model(path)
        probe = open_table(list(files), format=None if format is None else format.value, on_error=on_error.value)
        is_svmlight = probe.format == "svmlight"
        names = [] if is_svmlight else list(probe.schema.names)
        if COLUMN in names and not only:
            raise TableError(f"file {probe.files[0]}: there is a column {COLUMN!r} already; --only leaves it out.")
        needed = known_columns(loaded) or names
        if not is_svmlight:
            require_features(needed, probe)
        self.only = only
        self.model = for_columns(loaded, needed, is_svmlight=is_svmlight)
        label = read_notes(path).get("labels", {}).get("label")  # such a column is text where it was learnt from, too
        texts = [*text_columns(loaded), *([label] if label is not None and probe.format in ("csv", "tsv") else [])]
        self.source = Source(probe, files, None, needed, texts, on_error, skipped)
        self.table = self.source.table(needed if only else names, skipped)
        field = pa.field(COLUMN, pa.array(self.model.classes_).type)
        kept = [] if only else list(self.table.schema)
        self.schema = None if is_svmlight and not only else pa.schema([*kept, field])

    def batches(self) -> Iterator[Any]:
        """Rows with their predictions, as record batches."""
        import pyarrow as pa

        from rankwise.cli._judge import predict_rows
        from rankwise.io import append_column

        done = 0
        with stream_bar("predicting", self.table.n_bytes) as show:
            for batch in self.table.batches():
                kept, predicted = predict_rows(self.model, self.source, batch)
                if self.only:
                    yield pa.record_batch({COLUMN: pa.array(predicted)})
                else:
                    yield append_column(kept, COLUMN, predicted)
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
