"""The command ``report``: a page about a model and the rows it is judged on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, LabelOptions, Model, RowOptions, Seed, as_words, grouped
from rankwise.cli._outputs import NEW_PAGE
from rankwise.cli._print import print_facts, print_json, stream_bar, with_skipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankwise.cli._labelled_files import LabelledFiles, Rows
    from rankwise.cli._learnt_rows import RowOverlap
    from rankwise.table_model import TableModel


@grouped
def report(
    model: Model,
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PAGE.html", help="The page to write."), NEW_PAGE],
    *,
    labels: LabelOptions,
    title: Annotated[str | None, typer.Option(help="Title of the page; by default the estimator's name.")] = None,
    confidence: Annotated[float, typer.Option(min=0.01, max=0.9999, help="Confidence level of all limits.")] = 0.95,
    seed: Seed = 0,
    rows: RowOptions,
    json: AsJSON = False,
) -> None:
    """Write one self-contained page about a model: labels, quality with limits, what may be claimed, pictures, card.

    rankwise report model.rankwise test.csv --label stars --output page.html

    Use rows that the model has not seen. Files may be larger than memory.
    """
    words = ["rankwise", "report", *map(str, [model, *files]), *as_words(labels), *as_words(rows)]
    words += [] if title is None else ["--title", title]
    words += [] if confidence == 0.95 else ["--confidence", str(confidence)]
    words += [] if seed == 0 else ["--seed", str(seed)]
    command = shlex.join([*words, "--output", str(output)])
    with plain_errors():
        from rankwise.cli._learnt_rows import RowOverlap
        from rankwise.cli._model_files import open_with_model
        from rankwise.persistence import read_notes

        ready, source = open_with_model(model, files, rows, labels)
        with source.quarantine:
            made = _make(
                ready, source, output, RowOverlap.of(read_notes(model), source.opened), title=title, data=_named(files),
                command=command, confidence=confidence, random_state=seed,
            )  # fmt: skip
    n_skipped = source.quarantine.count
    if json:
        print_json({"output": str(output), "skipped": n_skipped, **made.facts})
    else:
        judged = f"{made.facts['rows']['judged']:,} with labels of {made.facts['rows']['all']:,}"
        first = made.facts["quality"][0]
        value = f"{first['best']['value']:.4f}" + (f" to {first['worst']['value']:.4f}" if first["worst"] else "")
        remark = made.facts["remark"]
        learnt = {"remark": remark} if remark else {}
        print_facts({**learnt, "rows": with_skipped(judged, n_skipped), first["name"]: value, "page": str(output)})
    source.quarantine.judge(made.facts["rows"]["all"])


def _make(model: TableModel, source: LabelledFiles, output: Path, overlap: RowOverlap | None, **options: Any) -> Any:
    from rankwise.cli._labelled_files import located
    from rankwise.report import write

    judged: list[Rows] = []  # the rows that are being judged
    try:
        remark = "" if overlap is None else overlap.sentence
        options["learnt"] = None if overlap is None else overlap.tells
        return write(model, _batches(model, source, judged, overlap), None, output, remark=remark, **options)
    except ValueError as error:
        if not judged or error.__cause__ is None:  # the error names its row already, or is not about a row
            raise
        raise located(error.__cause__, judged[0]) from None  # type: ignore[arg-type]


def _batches(
    model: TableModel, source: LabelledFiles, judged: list[Rows], overlap: RowOverlap | None
) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, labels and weights, a batch at a time; with --on-error skip without the rows that cannot be encoded."""
    from rankwise.cli._labelled_files import fitted_width

    done = 0
    with stream_bar("judging", source.n_bytes) as show:
        for batch, rows in source.batches():
            rows = source.encodable(rows, model.encoder_)
            judged[:] = [rows]
            if overlap is not None:
                overlap.add(rows.X)
            yield fitted_width(rows.X, int(model.estimator_.n_features_in_)), rows.y, rows.weight
            done += len(rows)
            show(batch.bytes_read, done, None)


def _named(files: list[Path], most: int = 3) -> str:
    names = ", ".join(file.name or str(file) for file in files[:most])
    return names if len(files) <= most else f"{names} and {len(files) - most} more"
