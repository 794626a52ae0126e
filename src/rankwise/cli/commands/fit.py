"""The command ``fit``: a model from files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli import _estimators
from rankwise.cli._encoding import EncodingOptions, by_reading, read_as
from rankwise.cli._exit import complain, plain_errors
from rankwise.cli._options import AsJSON, Files, LearningOptions, ModelOutput, RowOptions, grouped, option
from rankwise.cli._outputs import NEW_CHECKPOINT
from rankwise.cli._print import certificate, print_facts, print_json, progress_bars, some, with_skipped

if TYPE_CHECKING:
    from rankwise.cli._labelled_files import LabelledFiles
    from rankwise.features import TableEncoder
    from rankwise.table_model import TableModel

LARGEST_IN_MEMORY = 100_000_000  # bytes of files up to which the default reads all rows at once
STREAM, IN_MEMORY = "PRIL", "CumulativeLink"  # the table behind the second: rankwise reproduce choosing
_BENT = {
    "spline": "as curves (splines); --numbers linear leaves them as they are",
    "spline+products": "as curves (splines) and products of pairs; --numbers linear leaves them as they are",
}
_FOLDS, _MOST_ROWS, _ALL = 3, 5_000, 10_000  # of the choice that is made where no estimator is named


def _learning(help: str, metavar: str | None = None, *names: str, **settings: Any) -> Any:
    return option(help, "Learning", metavar, *names, **settings)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What learns, for how long, and where."""

    estimator: Annotated[
        str | None,
        _learning(
            f"Estimator to fit. By default a few are compared in folds, for files up to {LARGEST_IN_MEMORY // 10**6} "
            f"MB; {STREAM} for larger ones, with --epochs, and with --checkpoint. {_estimators.LISTED}", "NAME",
            autocompletion=_estimators.complete,
        ),
    ] = None  # fmt: skip
    set_: Annotated[
        list[str] | None, _learning("A parameter of the estimator; may be repeated.", "PARAM=VALUE", "--set")
    ] = None
    epochs: Annotated[
        int | None,
        _learning("Passes of an online estimator over the files, in the order of the rows; one by default.", min=1),
    ] = None
    checkpoint: Annotated[
        Path | None,
        _learning("Save an online model from time to time; the same command resumes from there, also after a crash.",
                  "FILE"), NEW_CHECKPOINT,
    ] = None  # fmt: skip
    checkpoint_rows: Annotated[int, _learning("Rows between two checkpoints.", min=1)] = 5_000_000
    dask: Annotated[
        str | None,
        _learning(
            "Learn on the Dask cluster whose scheduler is at this address, tcp://...; each file is a partition, "
            "and the workers must see the files.", "ADDRESS",
        ),
    ] = None  # fmt: skip
    workers: Annotated[int | None, _learning("Learn on a Dask cluster of N processes on this machine.", min=1)] = None

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

    def name_for(self, source: LabelledFiles) -> str | None:
        """The estimator that was named, one for those who name none, or None if one is to be chosen."""
        large = self.streams or source.n_bytes > LARGEST_IN_MEMORY
        if self.estimator is None and not (large or self.on_cluster or self.set_):
            return None
        name = self.estimator or (STREAM if large else IN_MEMORY)
        if self.streams and not _estimators.is_online(name):
            raise typer.BadParameter(
                f"--epochs and --checkpoint need an online estimator; {name} is a batch estimator."
            )
        return name


@grouped
def fit(
    files: Files,
    output: ModelOutput,
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

    Without --estimator, linear models and boosted trees are compared in folds, and the best one is fitted to all rows;
    'rankwise tune' takes more time for it.
    """
    declared = labels.declared
    run.check(skips=rows.skips)
    with plain_errors():
        from rankwise.cli._labelled_files import open_files

        source = open_files(files, labels, rows, texts=encoding.text_columns)
        name = run.name_for(source)
        job = Job(source, encoding.encoder_for(source, name or ""), declared, output, run)
        if name is None:
            results = job.chosen(estimators="quick", n_fits=_ALL, cv=_FOLDS, most_rows=_MOST_ROWS)
        elif run.on_cluster:
            results = job.on_cluster(name)
        elif _estimators.is_online(name):
            results = job.streamed(_estimators.make(name, run.parameters), encoding)
        else:
            results = job.in_memory(_estimators.make(name, run.parameters))
    print_results(results, json)
    rows.judge_skipped(source.quarantine, results["rows"])


@dataclass(frozen=True)
class Job:
    """Rows to learn from, how their columns become features, declared classes if any, and where the model goes."""

    source: LabelledFiles
    encoder: TableEncoder | str
    declared: list[Any] | None
    output: Path
    run: RunOptions

    def in_memory(self, template: Any) -> dict[str, Any]:
        """One estimator, fitted to all rows at once."""
        from rankwise.table_model import TableModel

        with self.source.quarantine:
            rows, order = self.source.load(self.declared, self.encoder)
            model = TableModel(template.set_params(classes=order.values.tolist()), self.encoder)
            with rows.named():
                model.fit(rows.X, rows.y, rows.weight)
        return {**self._saved(model, len(rows), 1), **_certificate(model)}

    def chosen(self, **parameters: Any) -> dict[str, Any]:
        """The best of several candidates; parameters are those of the search."""
        from rankwise.auto import AutoOrdinal

        with self.source.quarantine, progress_bars() as show:
            rows, order = self.source.load(self.declared, self.encoder)
            search = AutoOrdinal(**parameters, encoder=self.encoder, classes=order.values.tolist())
            search.__dict__["_show"] = lambda what, spent, total: show("choosing", round(100 * spent / total), 100)
            with rows.named():
                search.fit(rows.X, rows.y, rows.weight)
        model = search.best_estimator_
        choice = {"name": search.best_name_, "metric": search.metric, "folds": search.cv}
        choice["leaderboard"] = search.leaderboard_
        return {**self._saved(model, len(rows), 1), **_certificate(model), "choice": choice}

    def on_cluster(self, name: str) -> dict[str, Any]:
        """One estimator, fitted on a Dask cluster."""
        from rankwise.cli._cluster import fit_on_cluster, make
        from rankwise.cli._learner import begin

        estimator = make(name, self.run.parameters, self.run.epochs)
        order = self.source.order(self.declared)
        model, _ = begin(self.source, estimator._as_local(), self.encoder, order)
        n_rows = fit_on_cluster(model, estimator, self.source, order, self.run.dask, self.run.workers)
        return {**self._saved(model, n_rows, getattr(estimator, "n_epochs", 1)), **_certificate(model)}

    def streamed(self, template: Any, encoding: EncodingOptions) -> dict[str, Any]:
        """An online estimator, in constant memory."""
        from rankwise.cli._learner import Checkpoint, Learner, Stopped, begin
        from rankwise.labels import ClassOrder

        run, source, epochs = self.run, self.source, self.run.epochs or 1
        checkpoint = None
        if run.checkpoint is not None:
            checkpoint = Checkpoint(run.checkpoint, run.checkpoint_rows, self._described(template, encoding))
        begun = None if checkpoint is None else checkpoint.restore()
        try:
            if begun is None:
                order = source.order(self.declared)
                source.quarantine.open()
                model, first = begin(source, template, self.encoder, order)
                learner = Learner(model, source, order, epochs, checkpoint, first)
            else:
                model, state = begun
                learner = Learner(model, source, ClassOrder(model.classes_), epochs, checkpoint)
                learner.restore(state)
                complain(f"resuming from {run.checkpoint}, {learner.n_learnt:,} rows learnt", "note")
            learner.run()
        except Stopped as stopped:
            how = "nothing was kept; --checkpoint FILE makes a run that can go on."
            if checkpoint is not None:
                how = f"the same command goes on from {run.checkpoint}."
            complain(f"stopped after {learner.n_learnt:,} rows; {how}", "note")
            raise typer.Exit(128 + stopped.args[0]) from None
        finally:
            source.quarantine.close()
        saved = self._saved(model, learner.n_learnt, epochs)
        if run.checkpoint is not None:
            run.checkpoint.unlink(missing_ok=True)
        return {**saved, "progressive": learner.loss.results()}

    def _described(self, template: Any, encoding: EncodingOptions) -> dict[str, Any]:
        """All that the result of a run depends on: its checkpoint serves no other."""
        from rankwise.cli._learner import digest_of

        source = self.source
        return {
            "files": [f"{path} with sha256 {digest_of(Path(path))}" for path in source.paths],
            "labels": source.labels.names,
            "features": source.features,
            "classes": self.declared,
            "estimator": type(template).__name__,
            "parameters": {k: v for k, v in template.get_params().items() if k != "classes"},
            "kinds": encoding.kinds,
            "encoding": encoding.parameters,
            "epochs": self.run.epochs or 1,
            "on-error": source.on_error.value,
            "reading": source.reading,
        }

    def _saved(self, model: TableModel, n_rows: int, epochs: int) -> dict[str, Any]:
        """Write the model, with notes of where it comes from, and say what it is."""
        from rankwise.persistence import save
        from rankwise.table_model import table_encoder

        source, skipped = self.source, self.source.quarantine.count
        # Nothing that differs between a run that was stopped and one that was not.
        notes = {
            "files": [str(path) for path in source.files],
            "labels": {name: getattr(source.labels, name) for name in ("label", "lower", "upper", "weight")},
            "rows": n_rows,
            "epochs": epochs,
            "skipped": skipped,
        }
        if source.is_svmlight:
            notes["index_base"] = source.index_base
        save(model, self.output, notes=notes)
        return {
            "model": str(self.output),
            "estimator": type(model.estimator_).__name__,
            "classes": model.classes_.tolist(),
            "columns": model.n_features_in_,
            "read_as": read_as(table_encoder(model.encoder_)),
            "numbers": getattr(model.encoder_, "numbers_", None),
            "index_base": source.index_base,
            "features": int(model.estimator_.n_features_in_),
            "rows": n_rows,
            "skipped": skipped,
        }


def _certificate(model: TableModel) -> dict[str, Any]:
    return {name: getattr(model.estimator_, f"{name}_", None) for name in ("objective", "gap")}


def print_results(results: dict[str, Any], as_json: bool) -> None:
    """What was learnt, from which columns, and how it was chosen."""
    if as_json:
        print_json(results)
        return
    facts = {
        "estimator": results["estimator"],
        "classes": f"{len(results['classes'])}: {some(results['classes'])}",
        "columns": f"{results['columns']:,}, as {results['features']:,} feature{'s' * (results['features'] != 1)}",
        **by_reading(results["read_as"], results["index_base"]),
        **({"numbers": _BENT[results["numbers"]]} if results["numbers"] in _BENT else {}),
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
    if "choice" in results:
        _print_choice(results["choice"])


def _print_choice(choice: dict[str, Any]) -> None:
    """Which candidates were compared, and why one of them was chosen."""
    from rankwise.evaluation import format_table

    board = choice["leaderboard"]
    first, judged = board[0], [entry for entry in board if entry["rows"] == board[0]["rows"]]
    lines = []
    for entry in board:
        known = entry["rows"] > 0
        line = {"candidate": entry["model"], f"error ({choice['metric']})": "-"}
        if known:
            line[f"error ({choice['metric']})"] = f"{entry['error']:.4f} ± {entry['error_se']:.4f}"
        if any(other["farthest"] > other["nearest"] for other in judged):
            line["nearest to farthest"] = f"{entry['nearest']:.4f} to {entry['farthest']:.4f}" if known else "-"
        line |= {"rows": f"{entry['rows']:,}", "seconds to fit": f"{entry['fit_seconds']:.3g}" if known else "-"}
        lines.append({**line, "remark": entry["remark"]})
    typer.echo(f"\n{format_table(lines)}")
    why = f"{first['model']} ({first['what']}) was chosen: it has the least error in {choice['folds']} folds of "
    why += f"{first['rows']:,} rows"
    if len(judged) > 1:
        apart = judged[1]["error"] - first["error"]
        near = apart <= max(first["error_se"], judged[1]["error_se"])
        why += f", {apart:.4f} less than {judged[1]['model']}" + (", which is within the noise" if near else "")
    typer.echo(f"\n{why}.")
