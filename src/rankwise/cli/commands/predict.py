"""The command ``predict``: the predictions of a model for rows of files."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise._files import naming
from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, Model, RowOptions, grouped, option
from rankwise.cli._outputs import COSTS, NEW_TABLE
from rankwise.cli._print import print_written

if TYPE_CHECKING:
    from rankwise.cli._prediction import Prediction

_PANEL = "Probabilities"
_OUTPUT = "File to write; its name says the format. By default, or with -, CSV on the standard output."
_SCORES = "Add the scores behind the predictions: a column 'score', or 'score CLASS' for each class."
_PROBA = "Add the probability of every class: columns 'P(CLASS)'."
_INTERVAL = "Add the central interval with this probability: columns 'prediction_lower' and 'prediction_upper'."
_DECISION = (
    "Predict the class of least expected cost: a table with a row for every true class and a column for every answer; "
    "its first column and its header name them."
)


def _file(path: Path | None) -> Path | None:
    return None if path == Path("-") else path


@dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    """Columns of scores, probabilities and intervals, and the decision."""

    scores: Annotated[bool, typer.Option("--scores", help=_SCORES)] = False
    proba: Annotated[bool, typer.Option("--proba", help=_PROBA, rich_help_panel=_PANEL)] = False
    interval: Annotated[float | None, option(_INTERVAL, _PANEL, "LEVEL")] = None
    decision: Annotated[Path | None, option(_DECISION, _PANEL, "CSV"), COSTS] = None

    def __post_init__(self) -> None:
        if self.interval is not None and not 0.0 < self.interval < 1.0:
            raise typer.BadParameter(f"--interval must be between 0 and 1, both excluded. Got {self.interval:g}.")


@grouped
def predict(
    model: Model,
    files: Files,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help=_OUTPUT, callback=_file), NEW_TABLE
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Write the predictions alone, without the input columns.")
    ] = False,
    answers: PredictionOptions,
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
                n = write_table(output, prediction.batches(), schema=prediction.schema, **prediction.style)
    if output is not None:
        print_written(output, n, prediction.source.quarantine.count, json)
    prediction.source.quarantine.judge(n)


def _to_stdout(prediction: Prediction, as_json: bool) -> int:
    from rankwise.io.text_files import TextStyle
    from rankwise.io.writing import TextBody

    style = TextStyle(**prediction.style)
    n, body = 0, TextBody(sys.stdout.buffer, "jsonl" if as_json else "csv", prediction.names, style)
    for rows in prediction.batches():
        n += rows.num_rows
        with naming("the standard output"):
            body.write(rows)
    with naming("the standard output"):
        body.close()
    return n
