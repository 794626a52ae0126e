"""The command ``fit``: a model from files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli import _estimators
from rankwise.cli._encoding import EncodingOptions, by_reading, read_as
from rankwise.cli._exit import STOPPED, complain, plain_errors, require_writable
from rankwise.cli._options import AsJSON, Files, LearningOptions, RowOptions, grouped
from rankwise.cli._print import certificate, print_facts, print_json, some, with_skipped

if TYPE_CHECKING:
    from rankwise.cli._labelled_files import LabelledFiles
    from rankwise.features import TableEncoder
    from rankwise.table_model import TableModel

LARGEST_IN_MEMORY = 100_000_000  # bytes of files up to which the default estimator reads all rows at once
STREAM, IN_MEMORY = "PRIL", "SVOR"

_LEARNING = "Learning"


def _learning(help: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, show_default=False, rich_help_panel=_LEARNING, **settings)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What learns, for how long, and where."""

    estimator: Annotated[
        str | None,
        _learning(
            f"What learns. Online estimators read files of any size; batch estimators hold all rows in memory. By "
            f"default {IN_MEMORY} for files up to {LARGEST_IN_MEMORY // 10**6} MB, and {STREAM} for larger ones, with "
            f"--epochs, and with --checkpoint.",
            metavar="NAME",
            autocompletion=_estimators.complete,
        ),
    ] = None
    set_: Annotated[
        list[str] | None,
        _learning("A parameter of the estimator; may be repeated.", "--set", metavar="PARAM=VALUE"),
    ] = None
    epochs: Annotated[
        int | None,
        _learning("Passes of an online estimator over the files, in the order of the rows; one by default.", min=1),
    ] = None
    checkpoint: Annotated[
        Path | None,
        _learning(
            "Put an online model away now and then; the same command goes on from there, after a crash too.",
            metavar="FILE",
        ),
    ] = None
    checkpoint_rows: Annotated[
        int, typer.Option(min=1, help="Rows between two savings of the checkpoint.", rich_help_panel=_LEARNING)
    ] = 5_000_000
    dask: Annotated[
        str | None,
        _learning(
            "Learn on the Dask cluster whose scheduler is at this address, tcp://...; each file is a partition, "
            "and the workers must see the files.",
            metavar="ADDRESS",
        ),
    ] = None
    workers: Annotated[
        int | None, _learning("Learn on a Dask cluster of so many processes on this machine.", min=1)
    ] = None

    @property
    def on_cluster(self) -> bool:
        """Whether it runs on a cluster."""
        return self.dask is not None or self.workers is not None

    @property
    def streams(self) -> bool:
        """Whether only an online estimator can do it."""
        return self.epochs is not None or self.checkpoint is not None

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        return _estimators.parse_assignments(self.set_)

    def check(self, *, skips: bool) -> None:
        """Refuse what contradicts itself before any file is opened."""
        if self.dask is not None and self.workers is not None:
            raise typer.BadParameter("a cluster is either at --dask ADDRESS or of --workers N, not both.")
        if self.on_cluster and (self.checkpoint is not None or skips):
            raise typer.BadParameter("on a cluster there is neither --checkpoint nor --on-error skip.")
        if self.estimator is not None and not self.on_cluster:
            _estimators.make(self.estimator, self.parameters)

    def name_for(self, source: LabelledFiles) -> str:
        """The estimator that was named, or one for those who name none."""
        large = self.streams or source.n_bytes > LARGEST_IN_MEMORY
        name = self.estimator or (STREAM if large else IN_MEMORY)
        if self.streams and not _estimators.is_online(name):
            raise typer.BadParameter(f"--epochs and --checkpoint are for online estimators, and {name} is none.")
        return name


@grouped
def fit(
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")],
    *,
    labels: LearningOptions,
    run: RunOptions,
    encoding: EncodingOptions,
    rows: RowOptions,
    json: AsJSON = False,
) -> None:
    """Learn a model from files of rows with labels, exact or not, and write it to one file.

    rankwise fit ratings.csv --label stars --output model.rankwise

    rankwise fit day-*.parquet --lower at_least --upper at_most --classes 1..5 --estimator PRIL --output model.rankwise

    How columns become features is part of the model: predict takes raw rows.

    It is learnt from all rows by batch estimators, from the first 50,000 by online ones and on a cluster.
    """
    require_writable(output, "--output")
    if run.checkpoint is not None:
        require_writable(run.checkpoint, "--checkpoint")
    rows.check()
    declared = labels.declared
    run.check(skips=rows.skips)
    texts = encoding.texts
    with plain_errors():
        from rankwise.cli._labelled_files import open_files

        source = open_files(files, labels, rows, texts=texts)
        encoder = encoding.encoder_for(source)
        name = run.name_for(source)
        if run.on_cluster:
            results = _fit_there(source, name, run, encoder, declared, output)
        elif _estimators.is_online(name):
            template = _estimators.make(name, run.parameters)
            described = {
                "files": [f"{path} of {Path(path).stat().st_size} bytes" for path in source.paths],
                "labels": source.labels.names,
                "features": source.features,
                "classes": declared,
                "estimator": name,
                "parameters": {k: v for k, v in template.get_params().items() if k != "classes"},
                "kinds": encoding.kinds,
                "encoding": encoding.parameters,
                "epochs": run.epochs or 1,
                "on-error": rows.on_error.value,
                "reading": rows.reading,
            }
            results = _fit_stream(source, template, encoder, declared, described, output, run)
        else:
            results = _fit_in_memory(source, _estimators.make(name, run.parameters), encoder, declared, output)
    _print_results(results, json)


def _fit_in_memory(
    source: LabelledFiles, template: Any, encoder: TableEncoder | str, declared: list[Any] | None, output: Path
) -> dict[str, Any]:
    from rankwise.table_model import TableModel

    with source.quarantine:
        rows, order = source.load(declared, None if isinstance(encoder, str) else encoder)
        model = TableModel(template.set_params(classes=order.values.tolist()), encoder)
        with rows.named():
            model.fit(rows.X, rows.y, rows.weight)
    return {**_saved(model, source, len(rows), 1, output), **_certificate(model)}


def _fit_there(
    source: LabelledFiles,
    name: str,
    run: RunOptions,
    encoder: TableEncoder | str,
    declared: list[Any] | None,
    output: Path,
) -> dict[str, Any]:
    from rankwise.cli._cluster import fit_on_cluster, make
    from rankwise.cli._learner import begin

    estimator = make(name, run.parameters, run.epochs)
    order = source.order(declared)
    model, _ = begin(source, estimator._as_local(), encoder, order)
    n_rows = fit_on_cluster(model, estimator, source, order, run.dask, run.workers)
    saved = _saved(model, source, n_rows, getattr(estimator, "n_epochs", 1), output)
    return {**saved, **_certificate(model)}


def _fit_stream(
    source: LabelledFiles,
    template: Any,
    encoder: TableEncoder | str,
    declared: list[Any] | None,
    described: Mapping[str, Any],
    output: Path,
    run: RunOptions,
) -> dict[str, Any]:
    from rankwise.cli._learner import Checkpoint, Learner, Stopped, begin
    from rankwise.labels import ClassOrder

    checkpoint = None if run.checkpoint is None else Checkpoint(run.checkpoint, run.checkpoint_rows, described)
    begun = None if checkpoint is None else checkpoint.restore()
    epochs = described["epochs"]
    try:
        if begun is None:
            order = source.order(declared)
            source.quarantine.open()
            model, first = begin(source, template, encoder, order)
            learner = Learner(model, source, order, epochs, checkpoint, first)
        else:
            model, state = begun
            learner = Learner(model, source, ClassOrder(model.classes_), epochs, checkpoint)
            learner.restore(state)
            complain(f"going on at {run.checkpoint}, {learner.n_learnt:,} rows learnt", "note")
        learner.run()
    except Stopped:
        how = (
            f"the same command goes on from {run.checkpoint}."
            if checkpoint is not None
            else "nothing was kept; --checkpoint FILE makes a run that can go on."
        )
        complain(f"stopped after {learner.n_learnt:,} rows; {how}", "note")
        raise typer.Exit(STOPPED) from None
    finally:
        source.quarantine.close()
    saved = _saved(model, source, learner.n_learnt, epochs, output)
    if run.checkpoint is not None:
        run.checkpoint.unlink(missing_ok=True)
    return {**saved, "progressive": learner.loss.results()}


def _saved(model: TableModel, source: LabelledFiles, n_rows: int, epochs: int, output: Path) -> dict[str, Any]:
    """Write the model, with notes of where it comes from, and say what it is."""
    from rankwise.persistence import save

    # Nothing that differs between a run that was stopped and one that was not.
    notes = {
        "files": [str(path) for path in source.files],
        "labels": {name: getattr(source.labels, name) for name in ("label", "lower", "upper", "weight")},
        "rows": n_rows,
        "epochs": epochs,
        "skipped": source.quarantine.count,
    }
    if source.is_svmlight:
        notes["index_base"] = source.index_base
    save(model, output, notes=notes)
    return {
        "model": str(output),
        "estimator": type(model.estimator_).__name__,
        "classes": model.classes_.tolist(),
        "columns": model.n_features_in_,
        "read_as": read_as(model.encoder_),
        "index_base": source.index_base,
        "features": int(model.estimator_.n_features_in_),
        "rows": n_rows,
        "skipped": source.quarantine.count,
    }


def _certificate(model: TableModel) -> dict[str, Any]:
    return {name: getattr(model.estimator_, f"{name}_", None) for name in ("objective", "gap")}


def _print_results(results: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(results)
        return
    facts = {
        "estimator": results["estimator"],
        "classes": f"{len(results['classes'])}: {some(results['classes'])}",
        "columns": f"{results['columns']:,}, as {results['features']:,} features",
        **by_reading(results["read_as"], results["index_base"]),
        "rows": with_skipped(f"{results['rows']:,}", results["skipped"]),
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
