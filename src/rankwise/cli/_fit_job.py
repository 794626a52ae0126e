"""Fitting a model to files: in memory, as a stream, on a cluster or as the best of several; and what is printed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankwise.cli import _cluster
from rankwise.cli._exit import complain
from rankwise.cli._labelled_files import LabelledFiles, Rows
from rankwise.cli._learner import Checkpoint, Learner, Stopped, begin, digest_of
from rankwise.cli._learnt_rows import LearntRows
from rankwise.cli._print import certificate, print_facts, print_json, progress_bars, some, with_skipped
from rankwise.cli._training_options import TrainingOptions
from rankwise.evaluation import format_table
from rankwise.features import TableEncoder
from rankwise.features.date_texts import ORDER_NOTES
from rankwise.labels import ClassOrder
from rankwise.persistence import save
from rankwise.table_model import TableModel, table_encoder

if TYPE_CHECKING:
    from rankwise.cli.commands.fit import RunOptions

_BENT = {
    "spline": "as curves (splines); --numbers linear leaves them as they are",
    "spline+products": "as curves (splines) and products of pairs; --numbers linear leaves them as they are",
}


@dataclass(frozen=True)
class FitJob:
    """Rows to learn from, how their columns become features, and where the model is written."""

    source: LabelledFiles
    encoder: TableEncoder | str
    output: Path

    def in_memory(self, template: Any) -> dict[str, Any]:
        """Fit one estimator to all rows at once."""
        with self.source.quarantine:
            rows = self.source.load(self.encoder)
            model = TableModel(template.set_params(classes=self.source.order.values.tolist()), self.encoder)
            with rows.named():
                model.fit(rows.X, rows.y, rows.weight)
        return {**self._saved(model, len(rows), 1, self._learnt(model, rows)), **_certificate(model)}

    def chosen(self, **parameters: Any) -> dict[str, Any]:
        """Fit the best of several candidates; parameters are those of the search."""
        from rankwise.auto import AutoOrdinal

        with self.source.quarantine, progress_bars() as show:
            rows = self.source.load(self.encoder)
            search = AutoOrdinal(**parameters, encoder=self.encoder, classes=self.source.order.values.tolist())
            search.__dict__["_show"] = lambda what, spent, total: show("choosing", round(100 * spent / total), 100)
            with rows.named():
                search.fit(rows.X, rows.y, rows.weight)
        model = search.best_estimator_
        choice = {"name": search.best_name_, "metric": search.metric, "folds": search.cv}
        choice["leaderboard"] = search.leaderboard_
        saved = self._saved(model, len(rows), 1, self._learnt(model, rows))
        return {**saved, **_certificate(model), "choice": choice}

    def on_cluster(self, name: str, run: RunOptions) -> dict[str, Any]:
        """Fit one estimator on a Dask cluster."""
        estimator = _cluster.make(name, run.parameters, run.epochs)
        model, _ = begin(self.source, estimator._as_local(), self.encoder)
        n_rows = _cluster.fit_on_cluster(model, estimator, self.source, run.dask, run.workers)
        return {**self._saved(model, n_rows, getattr(estimator, "n_epochs", 1)), **_certificate(model)}

    def streamed(self, template: Any, run: RunOptions, training: TrainingOptions) -> dict[str, Any]:
        """Fit an online estimator in constant memory."""
        source, epochs, checkpoint = self.source, run.epochs or 1, None
        if run.checkpoint is not None:
            checkpoint = Checkpoint(run.checkpoint, run.checkpoint_rows, _described(source, template, epochs, training))
        restored = None if checkpoint is None else checkpoint.restore()
        try:
            if restored is None:
                source.quarantine.open()
                model, first = begin(source, template, self.encoder)
                learner = Learner(model, source, epochs, checkpoint, first, LearntRows.of(model, self._key))
            else:
                model, state = restored
                source.order = ClassOrder(model.classes_)
                learnt = LearntRows.of(model, self._key) if "digests" in state else None
                learner = Learner(model, source, epochs, checkpoint, learnt=learnt)
                learner.restore(state)
                complain(f"resuming from {run.checkpoint}, {learner.n_learnt:,} rows learnt", "note")
            learner.run()
        except Stopped as stopped:
            how = "nothing was kept; --checkpoint FILE makes a run that can go on."
            if checkpoint is not None:
                how = f"the same command goes on from {checkpoint.path}."
            complain(f"stopped after {learner.n_learnt:,} rows; {how}", "note")
            raise typer.Exit(128 + stopped.args[0]) from None
        except Exception:
            source.quarantine.close(refused=True)
            raise
        finally:
            source.quarantine.close()
        saved = self._saved(model, learner.n_learnt, epochs, learner.learnt)
        if run.checkpoint is not None:
            run.checkpoint.unlink(missing_ok=True)
        return {**saved, "progressive": learner.loss.results()}

    @cached_property
    def _files(self) -> list[dict[str, Any]]:
        """Names and digests of the files that are learnt from."""
        return self.source.opened.digests()

    @property
    def _key(self) -> str:
        return hashlib.sha256("".join(file["sha256"] for file in self._files).encode()).hexdigest()

    def _learnt(self, model: TableModel, rows: Rows) -> LearntRows:
        learnt = LearntRows.of(model, self._key)
        learnt.add(rows.X)
        return learnt

    def _saved(self, model: TableModel, n_rows: int, epochs: int, learnt: LearntRows | None = None) -> dict[str, Any]:
        """Write the model with notes about its origin, and describe it."""
        source, skipped = self.source, self.source.quarantine.count
        # The same whether a run was interrupted or not.
        notes = {
            "files": [str(path) for path in source.files],
            "labels": {name: getattr(source.labels, name) for name in ("label", "lower", "upper", "weight")},
            "rows": n_rows,
            "epochs": epochs,
            "skipped": skipped,
        }
        if learnt is not None:
            notes |= {"learnt_from": self._files, "learnt_rows": learnt.to_plain()}
        if source.is_svmlight:
            notes["index_base"] = source.index_base
        if "decimal" in source.reading:
            notes["decimal"] = source.reading["decimal"]
        if source.labels.language != "en":
            notes["language"] = source.labels.language
        save(model, self.output, notes=notes)
        return {
            "model": str(self.output),
            "estimator": type(model.estimator_).__name__,
            "classes": model.classes_.tolist(),
            "columns": model.n_features_in_,
            "read_as": _read_as(table_encoder(model.encoder_)),
            "numbers": getattr(model.encoder_, "numbers_", None),
            "index_base": source.index_base,
            "features": int(model.estimator_.n_features_in_),
            "rows": n_rows,
            "skipped": skipped,
        }


def _described(source: LabelledFiles, template: Any, epochs: int, training: TrainingOptions) -> dict[str, Any]:
    """All that the result of a run depends on: a checkpoint fits no other run."""
    return {
        "files": [f"{path} with sha256 {digest_of(Path(path))}" for path in source.paths],
        "labels": source.labels.names,
        "features": source.features,
        "classes": training.labels.declared,
        "estimator": type(template).__name__,
        "parameters": {k: v for k, v in template.get_params().items() if k != "classes"},
        "kinds": training.encoding.kinds,
        "encoding": training.encoding.parameters,
        "epochs": epochs,
        "on-error": source.on_error.value,
        "reading": source.reading,
    }


def _certificate(model: TableModel) -> dict[str, Any]:
    return {name: getattr(model.estimator_, f"{name}_", None) for name in ("objective", "gap")}


def print_results(results: dict[str, Any], as_json: bool) -> None:
    """Print the model, the columns it uses, and how it was chosen."""
    if as_json:
        print_json(results)
        return
    facts = {
        "estimator": results["estimator"],
        "classes": f"{len(results['classes'])}: {some(results['classes'])}",
        "columns": f"{results['columns']:,}, as {results['features']:,} feature{'s' * (results['features'] != 1)}",
        **_by_reading(results["read_as"], results["index_base"]),
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
    """Print which candidates were compared, and why one of them was chosen."""
    board = choice["leaderboard"]
    first, judged = board[0], [entry for entry in board if entry["rows"] == board[0]["rows"]]
    partial = any(entry["farthest"] > entry["nearest"] for entry in judged)
    lines = []
    for entry in board:
        known = entry["rows"] > 0
        error = f"{entry['error']:.4f} ± {entry['error_se']:.4f}" if known else "-"
        line = {"candidate": entry["model"], f"error ({choice['metric']})": error}
        if partial:
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


def _read_as(encoder: TableEncoder | None) -> dict[str, str]:
    """How each column was read, in words."""
    if encoder is None:
        return {}
    words: dict[str, str] = {}
    features: dict[str, list[str]] = {}
    for column in encoder.to_plain()["columns"]:
        features.setdefault(column["name"], []).append(column.get("part", ""))
        words[column["name"]] = _in_words(column, features[column["name"]])
    left_out = [name for name, kind in encoder.kinds_.items() if kind == "ignore"]
    return words | {name: f"left out, {encoder.notes_.get(name, 'as declared')}" for name in left_out}


def _in_words(column: Mapping[str, Any], features: list[str]) -> str:
    kind: str = column["kind"]
    if kind == "number" and column["decimal"] == ",":
        return "number with decimal comma"
    if kind == "date":
        how = ORDER_NOTES.get(column["order"])
        return f"date{f' {how}' if how else ''} ({', '.join(features)})"
    if kind == "duration":
        return "duration in days"
    if kind == "text":
        return "text of hashed words" if column["weighting"] == "hash" else f"text of {len(column['words']):,} words"
    if kind == "ordered":
        return f"ordered category ({' < '.join(column['levels'])})"
    if kind == "category":
        return "hashed category" if column["hashed"] else "category" + ", rare ones together" * column["rare"]
    return kind


def _by_reading(words: Mapping[str, str], index_base: int | None) -> dict[str, str]:
    """Columns by the way they were read, as lines for people; for svmlight the first index."""
    if index_base is not None:
        return {"first index": str(index_base)}
    readings = dict.fromkeys(words.values())
    return {f"  {how}": some([name for name in words if words[name] == how]) for how in readings}
