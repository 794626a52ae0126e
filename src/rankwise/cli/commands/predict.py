"""The command ``predict``: rows of files with the class that a model gives them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise._files import naming
from rankwise.cli._answers import AnswerOptions
from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, Model, RowOptions, grouped
from rankwise.cli._outputs import NEW_TABLE
from rankwise.cli._print import print_written

if TYPE_CHECKING:
    from rankwise.cli._prediction import Prediction

_OUTPUT = "File to write; its name says the format. By default CSV on the standard output."


@grouped
def predict(
    model: Model,
    files: Files,
    *,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help=_OUTPUT), NEW_TABLE] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Write the predictions alone, without the input columns.")
    ] = False,
    answers: AnswerOptions,
    rows: RowOptions,
    json: AsJSON = False,
) -> None:
    """Predict the class of every row: a column 'prediction' after the columns of the file.

    rankwise predict model.rankwise new.csv --output graded.parquet

    Labels need not be there. Other columns stay as they are: from CSV to CSV, and from JSON lines to JSON lines, the
    lines are copied byte for byte. A model with probabilities also gives them (--proba), an interval (--interval 0.9),
    or the class of least expected cost (--decision costs.csv). With --json and no --output, rows are printed as JSON
    lines.
    """
    with plain_errors():
        from rankwise.cli._prediction import Prediction
        from rankwise.io import write_table

        prediction = Prediction(model, files, rows, answers, output, only=only, as_json=json)
        with prediction.source.quarantine:
            if output is None:
                n = _to_stdout(prediction, json)
            else:
                n = write_table(output, prediction.batches(), schema=prediction.schema)
    if output is not None:
        print_written(output, n, prediction.source.quarantine.count, json)
    rows.judge_skipped(prediction.source.quarantine, n)


def _to_stdout(prediction: Prediction, as_json: bool) -> int:
    from rankwise.io._write import TextBody

    n, body = 0, TextBody(sys.stdout.buffer, "jsonl" if as_json else "csv", prediction.names)
    for rows in prediction.batches():
        n += rows.num_rows
        with naming("the standard output"):
            body.write(rows)
    with naming("the standard output"):
        body.close()
    return n
