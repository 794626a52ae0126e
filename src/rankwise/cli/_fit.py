"""The command ``fit``: a model from files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from rankwise.cli import _estimators
from rankwise.cli._encoding import (
    CategoriesOption,
    Indicate,
    Kind,
    MissingOption,
    ScalingOption,
    UnknownOption,
    encoder_options,
    make_encoder,
    parse_kinds,
    text_kinds,
)
from rankwise.cli._errors import STOPPED, complain, plain_errors, require_writable
from rankwise.cli._options import (
    AsJSON,
    Classes,
    FileFormat,
    Files,
    Ignore,
    Label,
    Lower,
    OnError,
    QuarantineFile,
    Upper,
    Weight,
    WhenBad,
    parse_classes,
)
from rankwise.cli._print import certificate, print_facts, print_json, some

if TYPE_CHECKING:
    from rankwise.cli._rows import Source
    from rankwise.features import TableEncoder
    from rankwise.labels import ClassOrder
    from rankwise.table_model import TableModel

LARGEST_IN_MEMORY = 100_000_000  # bytes of files up to which the default estimator reads all rows at once
STREAM, IN_MEMORY = "PRIL", "SVOR"

_LEARNING = "Learning"


Estimator = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"What learns. Online estimators read files of any size; batch estimators hold all rows in memory. By "
        f"default {IN_MEMORY} for files up to {LARGEST_IN_MEMORY // 10**6} MB, and {STREAM} for larger ones, with "
        f"--epochs, and with --checkpoint.",
        autocompletion=_estimators.complete,
        show_default=False,
        rich_help_panel=_LEARNING,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PARAM=VALUE",
        help="A parameter of the estimator; may be repeated.",
        show_default=False,
        rich_help_panel=_LEARNING,
    ),
]


def fit(
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")],
    label: Label = None,
    lower: Lower = None,
    upper: Upper = None,
    weight: Weight = None,
    classes: Classes = None,
    ignore: Ignore = None,
    estimator: Estimator = None,
    set_: Set = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Passes of an online estimator over the files, in the order of the rows; one by default.",
            show_default=False,
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Put an online model away now and then; the same command goes on from there, after a crash too.",
            show_default=False,
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    checkpoint_rows: Annotated[
        int, typer.Option(min=1, help="Rows between two savings of the checkpoint.", rich_help_panel=_LEARNING)
    ] = 5_000_000,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Learn on the Dask cluster whose scheduler is at this address, tcp://...; each file is a partition, "
            "and the workers must see the files.",
            show_default=False,
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Learn on a Dask cluster of so many processes on this machine.",
            show_default=False,
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    kind: Kind = None,
    scaling: ScalingOption = None,
    missing: MissingOption = None,
    indicate_missing: Indicate = False,
    categories: CategoriesOption = None,
    unknown: UnknownOption = None,
    format: FileFormat = None,
    on_error: WhenBad = OnError.stop,
    quarantine: QuarantineFile = None,
    json: AsJSON = False,
) -> None:
    """Learn a model from files of rows with labels, exact or not, and write it to one file.

    rankwise fit ratings.csv --label stars --output model.rankwise

    rankwise fit day-*.parquet --lower at_least --upper at_most --classes 1..5 --estimator PRIL --output model.rankwise

    How columns become features is part of the model: predict takes raw rows.

    It is learnt from all rows by batch estimators, from the first 50,000 by online ones and on a cluster.
    """
    require_writable(output, "--output")
    for path, option in ((checkpoint, "--checkpoint"), (quarantine, "--quarantine")):
        if path is not None:
            require_writable(path, option)
    declared = parse_classes(classes)
    parameters = _estimators.parse_assignments(set_)
    on_cluster = dask is not None or workers is not None
    if dask is not None and workers is not None:
        raise typer.BadParameter("a cluster is either at --dask ADDRESS or of --workers N, not both.")
    if on_cluster and (checkpoint is not None or on_error is OnError.skip):
        raise typer.BadParameter("on a cluster there is neither --checkpoint nor --on-error skip.")
    if estimator is not None and not on_cluster:
        _estimators.make(estimator, parameters)
    kinds = parse_kinds(kind)
    encoding = encoder_options(scaling, missing, indicate_missing, categories, unknown)
    with plain_errors():
        from rankwise.cli._rows import open_source

        source = open_source(
            files,
            format=format,
            label=label,
            lower=lower,
            upper=upper,
            weight=weight,
            ignore=ignore,
            texts=text_kinds(kinds),
            on_error=on_error,
            quarantine=quarantine,
        )
        encoder = make_encoder(source, kinds, encoding)
        streams = epochs is not None or checkpoint is not None
        name = estimator or default_estimator(source, streams=streams)
        if streams and not _estimators.is_online(name):
            raise typer.BadParameter(f"--epochs and --checkpoint are for online estimators, and {name} is none.")
        if on_cluster:
            from rankwise.cli import _cluster

            estimator_there = _cluster.make(name, parameters, epochs)
            results = _fit_there(source, estimator_there, encoder, declared, output, dask, workers)
            _report(results, json)
            return
        template = _estimators.make(name, parameters)
        if _estimators.is_online(name):
            run = {
                "files": [f"{path} of {Path(path).stat().st_size} bytes" for path in source.found],
                "labels": source.labels.names,
                "features": source.features,
                "classes": declared,
                "estimator": name,
                "parameters": {k: v for k, v in template.get_params().items() if k != "classes"},
                "kinds": kinds,
                "encoding": encoding,
                "epochs": epochs or 1,
                "on-error": on_error.value,
            }
            results = _fit_stream(source, template, encoder, declared, run, output, checkpoint, checkpoint_rows)
        else:
            results = _fit_in_memory(source, template, encoder, declared, output)
    _report(results, json)


def default_estimator(source: Source, *, streams: bool) -> str:
    """Estimator for those who name none."""
    return STREAM if streams or source.n_bytes > LARGEST_IN_MEMORY else IN_MEMORY


def _fit_in_memory(
    source: Source, template: Any, encoder: TableEncoder | str, declared: list[Any] | None, output: Path
) -> dict[str, Any]:
    from rankwise.cli._rows import located
    from rankwise.persistence import save
    from rankwise.table_model import TableModel

    order = source.order(declared)
    source.quarantine.open()
    rows = source.load(order, None if isinstance(encoder, str) else encoder)
    model = TableModel(template.set_params(classes=order.values.tolist()), encoder)
    try:
        model.fit(rows.X, rows.y, rows.weight)
    except ValueError as error:
        raise located(error, rows.place) from None
    source.quarantine.close()
    save(model, output, notes=_notes(source, len(rows), 1))
    return {
        **_summary(model, source, len(rows), output),
        "objective": getattr(model.estimator_, "objective_", None),
        "gap": getattr(model.estimator_, "gap_", None),
    }


def _fit_there(
    source: Source,
    estimator: Any,
    encoder: TableEncoder | str,
    declared: list[Any] | None,
    output: Path,
    address: str | None,
    n_workers: int | None,
) -> dict[str, Any]:
    from rankwise.cli._cluster import fit_on_cluster
    from rankwise.persistence import save

    order = source.order(declared)
    model = begin(source, estimator._as_local(), encoder, order)
    n_rows = fit_on_cluster(model, estimator, source, order, address, n_workers)
    save(model, output, notes=_notes(source, n_rows, getattr(estimator, "n_epochs", 1)))
    return {
        **_summary(model, source, n_rows, output),
        "objective": getattr(model.estimator_, "objective_", None),
        "gap": getattr(model.estimator_, "gap_", None),
    }


def _fit_stream(
    source: Source,
    template: Any,
    encoder: TableEncoder | str,
    declared: list[Any] | None,
    run: Mapping[str, Any],
    output: Path,
    checkpoint_path: Path | None,
    every: int,
) -> dict[str, Any]:
    from rankwise.cli._stream import Checkpoint, Learner, Stopped
    from rankwise.labels import ClassOrder
    from rankwise.persistence import save

    checkpoint = None if checkpoint_path is None else Checkpoint(checkpoint_path, every, run)
    begun = None if checkpoint is None else checkpoint.restore()
    if begun is None:
        order = source.order(declared)
        model = begin(source, template, encoder, order)
        learner = Learner(model, source, order, run["epochs"], checkpoint)
        source.quarantine.open()
    else:
        model, state = begun
        learner = Learner(model, source, ClassOrder(model.classes_), run["epochs"], checkpoint)
        learner.restore(state)
        complain(f"going on at {checkpoint_path}, {learner.n_learnt:,} rows learnt", "note")
    try:
        learner.run()
    except Stopped:
        how = (
            f"the same command goes on from {checkpoint_path}."
            if checkpoint is not None
            else "nothing was kept; --checkpoint FILE makes a run that can go on."
        )
        complain(f"stopped after {learner.n_learnt:,} rows; {how}", "note")
        raise typer.Exit(STOPPED) from None
    finally:
        source.quarantine.close()
    save(model, output, notes=_notes(source, learner.n_learnt, run["epochs"]))
    if checkpoint_path is not None:
        checkpoint_path.unlink(missing_ok=True)
    return {**_summary(model, source, learner.n_learnt, output), "progressive": learner.loss.results()}


def begin(source: Source, template: Any, encoder: TableEncoder | str | None, order: ClassOrder) -> TableModel:
    """Model for a stream, whose encoder has learnt from the first rows."""
    from rankwise.cli._rows import located
    from rankwise.cli._stream import HEAD_ROWS
    from rankwise.table_model import TableModel

    model = TableModel(template.set_params(classes=order.values.tolist()), encoder)
    if encoder is None or isinstance(encoder, str):
        return model.fit_encoder(None if source.is_svmlight else source.head(HEAD_ROWS).X)
    head = source.head(HEAD_ROWS)
    try:
        bad = [error.row for error in encoder.problems(head.X)] if source.skips else []
        good = np.setdiff1d(np.arange(len(head)), bad)
        return model.fit_encoder(head.X.take(good) if bad else head.X)
    except ValueError as error:
        raise located(error, head.place) from None


def _notes(source: Source, n_rows: int, epochs: int) -> dict[str, Any]:
    """Where a model comes from; nothing that differs between a run that was stopped and one that was not."""
    return {
        "files": [str(path) for path in source.files],
        "labels": {name: getattr(source.labels, name) for name in ("label", "lower", "upper", "weight")},
        "rows": n_rows,
        "epochs": epochs,
        "skipped": source.quarantine.count,
    }


def _summary(model: TableModel, source: Source, n_rows: int, output: Path) -> dict[str, Any]:
    return {
        "model": str(output),
        "estimator": type(model.estimator_).__name__,
        "classes": model.classes_.tolist(),
        "columns": model.n_features_in_,
        "features": int(model.estimator_.n_features_in_),
        "rows": n_rows,
        "skipped": source.quarantine.count,
    }


def _report(results: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(results)
        return
    facts = {
        "estimator": results["estimator"],
        "classes": f"{len(results['classes'])}: {some(results['classes'])}",
        "columns": f"{results['columns']:,}, as {results['features']:,} features",
        "rows": f"{results['rows']:,}" + (f", {results['skipped']:,} skipped" if results["skipped"] else ""),
    }
    progressive = results.get("progressive", {})
    if "mae" in progressive:
        facts["progressive error"] = (
            f"{progressive['mae']:.4f} ranks, of predictions made before each row was learnt (first pass)"
        )
    if results.get("gap") is not None:
        facts["objective"] = certificate(results["objective"], results["gap"])
    facts["model"] = results["model"]
    print_facts(facts)
