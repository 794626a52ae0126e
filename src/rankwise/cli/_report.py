"""The command ``report``: a page about a model and the rows it is judged on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._errors import plain_errors, require_writable
from rankwise.cli._options import (
    AsJSON,
    FileFormat,
    Files,
    Label,
    Lower,
    Model,
    OnError,
    QuarantineFile,
    Seed,
    Upper,
    Weight,
    WhenBad,
)
from rankwise.cli._print import print_facts, print_json, stream_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankwise.cli._rows import Source
    from rankwise.labels import ClassOrder
    from rankwise.table_model import TableModel


def report(
    model: Model,
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PAGE.html", help="The page to write.")],
    label: Label = None,
    lower: Lower = None,
    upper: Upper = None,
    weight: Weight = None,
    title: Annotated[str | None, typer.Option(help="By default the estimator's name.", show_default=False)] = None,
    confidence: Annotated[float, typer.Option(min=0.01, max=0.9999, help="Of all limits.")] = 0.95,
    seed: Seed = 0,
    format: FileFormat = None,
    on_error: WhenBad = OnError.stop,
    quarantine: QuarantineFile = None,
    json: AsJSON = False,
) -> None:
    """Write one self-contained page about a model: labels, quality with limits, what may be claimed, pictures, card.

    rankwise report model.rankwise test.csv --label stars --output page.html

    The rows should be such that the model has not seen. Files may be larger than memory.
    """
    for path, option in ((output, "--output"), (quarantine, "--quarantine")):
        if path is not None:
            require_writable(path, option)
    command = _command(
        model, files, output, label=label, lower=lower, upper=upper, weight=weight, title=title, format=format,
        confidence=None if confidence == 0.95 else confidence, seed=seed or None, quarantine=quarantine,
        on_error=None if on_error is OnError.stop else on_error,
    )  # fmt: skip
    with plain_errors():
        from rankwise.cli._models import for_columns, known_columns, load_model, text_columns
        from rankwise.cli._rows import open_source
        from rankwise.labels import ClassOrder

        loaded = load_model(model)
        source = open_source(
            files,
            format=format,
            label=label,
            lower=lower,
            upper=upper,
            weight=weight,
            features=known_columns(loaded),
            texts=text_columns(loaded),
            on_error=on_error,
            quarantine=quarantine,
        )
        ready = for_columns(loaded, source.features, is_svmlight=source.is_svmlight)
        source.quarantine.open()
        try:
            made = _make(
                ready, source, ClassOrder(ready.classes_), output, title=title, data=_named(files), command=command,
                confidence=confidence, random_state=seed,
            )  # fmt: skip
        finally:
            source.quarantine.close()
    if json:
        print_json({"output": str(output), "skipped": source.quarantine.count, **made.facts})
        return
    rows = f"{made.facts['rows']['judged']:,} with labels of {made.facts['rows']['all']:,}"
    if source.quarantine.count:
        rows += f", {source.quarantine.count:,} skipped"
    first = made.facts["quality"][0]
    value = f"{first['best']['value']:.4f}" + (f" to {first['worst']['value']:.4f}" if first["worst"] else "")
    print_facts({"rows": rows, first["name"]: value, "page": str(output)})


def _make(model: TableModel, source: Source, order: ClassOrder, output: Path, **options: Any) -> Any:
    from rankwise.cli._rows import located
    from rankwise.report import write

    place: list[Callable[[int], str]] = []  # of the rows of the batch that is being judged
    try:
        return write(model, _batches(model, source, order, place), None, output, **options)
    except ValueError as error:
        if not place or error.__cause__ is None:  # the reader has named the row already, or there is none to name
            raise
        raise located(error.__cause__, place[0]) from None  # type: ignore[arg-type]


def _batches(
    model: TableModel, source: Source, order: ClassOrder, place: list[Callable[[int], str]]
) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, labels and weights, a batch at a time; rows that cannot be encoded are left out where bad ones are."""
    from rankwise.cli._judge import predict_rows
    from rankwise.cli._rows import fitted_width

    table = source.table(quarantine=source.quarantine)
    done = 0
    with stream_bar("judging", table.n_bytes) as show:
        for batch, _ in source.batches(table, order):
            kept = predict_rows(model, source, batch)[0] if source.skips else batch
            y, weight = source.labels.read(kept, order)
            place[:] = [kept.place]
            yield fitted_width(source.features_of(kept), int(model.estimator_.n_features_in_)), y, weight
            done += len(kept)
            show(batch.bytes_read, done, None)


def _named(files: list[Path], most: int = 3) -> str:
    names = ", ".join(file.name or str(file) for file in files[:most])
    return names if len(files) <= most else f"{names} and {len(files) - most} more"


def _command(model: Path, files: list[Path], output: Path, **options: Any) -> str:
    """The command line that was given, without the options that are as by default."""
    words = ["rankwise", "report", str(model), *map(str, files)]
    for name, value in options.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--output", str(output)])
