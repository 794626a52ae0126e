"""One served model: its predictions, its feedback, and facts about it."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from typing import Any

import numpy as np
from msgspec.json import decode

from rankwise._errors import RowError
from rankwise.explanations import explain
from rankwise.features.arrow_columns import load_pyarrow
from rankwise.serve.engine import Engine
from rankwise.serve.events import EventHub
from rankwise.serve.log_chain import fingerprint
from rankwise.serve.messages import FeedbackRow, features_text, label_text
from rankwise.serve.problems import Problem
from rankwise.serve.progress import ErrorProgress
from rankwise.serve.replica import Replica
from rankwise.serve.row_model import RowAnswers, warm_up
from rankwise.serve.store import Store
from rankwise.serve.watch import Watch
from rankwise.serve.writer import FeedbackRequest, Outcome, RememberRequest, Settings, settle

_AT_ONCE = 300  # rows that are predicted in the event loop; more in a thread
_PIECE = 8192  # rows that are predicted while learning waits
_LOOK_EVERY = 2.0  # seconds
_NEWEST = 200  # rows of feedback whose explanations show what matters to the model

log = logging.getLogger("rankwise.serve")


class Service:
    """A model under a name; a new store begins with the model file ``content``."""

    def __init__(self, name: str, store: Store, content: bytes | None, settings: Settings | None = None) -> None:
        self.name = name
        self.engine = Engine(store, content, settings, self._deliver)
        self.engine.listeners.append(self._happened)
        self.reader = store.reader()  # of the event loop
        self.watch = self._new_watch()
        self.hub = EventHub(self.state)
        self.loop: asyncio.AbstractEventLoop | None = None
        self._pool = ThreadPoolExecutor(1, "rankwise-bulk")
        self._waiting: list[tuple[Sequence[Any], float, asyncio.Future[Any]]] = []
        self._prefix, self._numbers = secrets.token_hex(8), count(1)  # taken by the event loop and by a thread
        self._task: asyncio.Task[None] | None = None
        self._refit_at = self.engine.replica.version.began

    def start(self) -> None:
        """Begin to write; called in the event loop."""
        warm_up(self.engine.replica.rows.model)
        self.loop = asyncio.get_running_loop()
        self.engine.start()
        self._task = asyncio.create_task(self._look_for_challengers())

    def stop(self) -> None:
        """Write what waits, and close everything."""
        if self.loop is not None and self._task is not None:
            self.loop.call_soon_threadsafe(self._task.cancel)
        self._pool.shutdown()
        self.engine.stop()
        self.reader.close()
        self.engine.store.close()

    def _new_watch(self) -> Watch:
        model = self.engine.replica.rows
        numbers = [name for name in model.columns if model.kinds[name] in ("number", "boolean")]
        standard = getattr(model._encoder, "scaling", "none") == "standard"
        return Watch(len(model.classes), numbers, standard=standard and "boolean" not in model.kinds.values())

    def _deliver(self, done: list[Outcome]) -> None:
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._resolve, done)

    def _resolve(self, done: list[Outcome]) -> None:
        settle(done)
        self.hub.changed()

    def _happened(self, what: str, facts: dict[str, Any]) -> None:
        if what == "version":
            self.watch = self._new_watch()
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.hub.changed)

    def future(self) -> asyncio.Future[Any]:
        """A future of the event loop, which the writer fills."""
        assert self.loop is not None
        return self.loop.create_future()

    def new_id(self, kind: str) -> str:
        """An id that nobody has had."""
        return f"{kind}{self._prefix}{next(self._numbers):x}"

    # -- predictions -------------------------------------------------------------------------------------------------

    async def predict(
        self, rows: Sequence[Any], ids: list[str] | None, level: float, remember: bool
    ) -> list[dict[str, Any]]:
        """Answers for rows of plain values; requests that come together are answered together."""
        if ids is None:
            ids = [self.new_id("p") for _ in rows]
        elif len(ids) != len(rows):
            raise Problem(422, f"{len(ids)} ids for {len(rows)} rows.")
        assert self.loop is not None
        if not rows:
            return []
        answers: list[dict[str, Any]]
        if len(rows) <= _AT_ONCE:
            future = self.future()
            if not self._waiting:
                self.loop.call_soon(self._flush)
            self._waiting.append((rows, level, future))
            answers = await future
        else:
            answers = await self.in_thread(self._answers, rows, level)
        for answer, id in zip(answers, ids, strict=True):
            answer["id"] = id
        if remember:
            texts = [(id, features_text(row)) for id, row in zip(ids, rows, strict=True)]
            await self.engine.submit(RememberRequest(texts, future=self.future()))
        for answer, row in zip(answers[-3:], rows[-3:], strict=True):
            self.watch.predictions.append({"answer": answer, "row": row, "at": time.time()})
        if self.hub.n_listeners:
            self.hub.changed()
        return answers

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for level in {level for _, level, _ in waiting}:
            group = [(rows, future) for rows, wanted, future in waiting if wanted == level]
            try:
                answers = iter(self._answers([row for rows, _ in group for row in rows], level))
                settle((future, list(islice(answers, len(rows))), None) for rows, future in group)
            except Exception:  # most likely because of one request: answer each by itself
                settle(self._answered(rows, level, future) for rows, future in group)

    def _answered(self, rows: Sequence[Any], level: float, future: asyncio.Future[Any]) -> Outcome:
        try:
            return future, self._answers(rows, level), None
        except Exception as error:
            return future, None, error

    def _answers(self, rows: Sequence[Any], level: float) -> list[dict[str, Any]]:
        replica = self.engine.replica
        replica.rows.require_numbers(rows)
        name, predicted = self._ask(replica, replica.rows.encode(rows), level)
        answers: list[dict[str, Any]] = [{"id": "", "class": c, "version": name} for c in predicted.classes.tolist()]
        if predicted.probabilities is not None:
            for answer, p in zip(answers, predicted.probabilities.tolist(), strict=True):
                answer["probabilities"] = p
        if predicted.intervals is not None:
            for answer, ends in zip(answers, predicted.intervals.tolist(), strict=True):
                answer["interval"] = ends
        return answers

    def _ask(self, replica: Replica, encoded: Any, level: float) -> tuple[str, RowAnswers]:
        """Name of the model's bits, and answers that all come from these bits."""
        with replica.lock:
            name = replica.name
            answers = replica.rows.answers(encoded, level)
        self.watch.predicted(replica.rows.order.codes(answers.classes), encoded)
        return name, answers

    def predict_table(self, table: Any, level: float) -> Iterator[Any]:
        """Answers for a pyarrow table, as one table after the other; called in a thread."""
        pa = load_pyarrow()
        if not table.num_rows:
            yield pa.table({"id": pa.array([], pa.string())})
        for start in range(0, table.num_rows, _PIECE):
            piece = table.slice(start, _PIECE)
            replica = self.engine.replica
            try:
                ids = self._ids(pa, piece)
                name, predicted = self._ask(replica, replica.rows.encode_table(piece), level)
            except RowError as error:
                raise RowError(error.reason, error.row + start, error.column) from None
            except (ValueError, TypeError, pa.ArrowException) as error:  # a column of another type than the model knows
                raise Problem(422, str(error)[:500]) from None
            n = piece.num_rows
            columns = {"id": ids, "class": pa.array(predicted.classes)}
            if predicted.probabilities is not None:
                for k, c in enumerate(replica.rows.classes):
                    columns[f"P({c})"] = pa.array(np.ascontiguousarray(predicted.probabilities[:, k]))
            if predicted.intervals is not None:
                columns["lower"], columns["upper"] = (pa.array(ends) for ends in predicted.intervals.T)
            columns["version"] = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([name]))
            yield pa.table(columns)

    def _ids(self, pa: Any, table: Any) -> Any:
        if "id" in table.column_names and "id" not in self.engine.replica.rows.columns:
            return table.column("id").cast(pa.string()).combine_chunks()
        numbers = pa.array(np.arange(table.num_rows)).cast(pa.string())
        return pa.compute.binary_join_element_wise(self.new_id("p"), numbers, ".")

    async def in_thread(self, function: Any, *arguments: Any) -> Any:
        """Do long work beside the event loop."""
        assert self.loop is not None
        return await self.loop.run_in_executor(self._pool, function, *arguments)

    # -- feedback ----------------------------------------------------------------------------------------------------

    async def learn(
        self, rows: Sequence[FeedbackRow], key: str | None, actor: str | None = None
    ) -> list[dict[str, Any]]:
        """Log and learn rows of feedback, sent by an actor; return their ids and places in the log."""
        if not rows:
            return []
        if len(rows) <= _AT_ONCE:
            request = self._request(rows, key, actor)
        else:
            request = await self.in_thread(self._request, rows, key, actor)
        places = await self.engine.submit(request)
        for id, row, place in list(zip(request.ids, rows, places, strict=True))[-3:]:
            entry = {"id": id, "label": row.label, "weight": row.weight, "seq": place, "at": time.time()}
            self.watch.feedback.append(entry)
        return [{"id": id, "seq": place} for id, place in zip(request.ids, places, strict=True)]

    def _request(self, rows: Sequence[FeedbackRow], key: str | None, actor: str | None) -> FeedbackRequest:
        """Rows of feedback, checked: they can be logged and learnt."""
        replica = self.engine.replica
        made = [row.id is None for row in rows]
        ids = [row.id or (self.new_id("f") if key is None else f"{key}/{i}") for i, row in enumerate(rows)]
        if len(set(ids)) < len(ids):
            raise Problem(422, "an id occurs twice in one request.")
        absent = {i: row.prediction_id or ids[i] for i, row in enumerate(rows) if row.features is None}
        remembered = self._recall(absent)
        texts = [remembered[i] if row.features is None else features_text(row.features) for i, row in enumerate(rows)]
        features = [decode(remembered[i]) if row.features is None else row.features for i, row in enumerate(rows)]
        replica.rows.require_numbers(features)
        labels = [label_text(row.label, i) for i, row in enumerate(rows)]
        coded = replica.rows.labels(labels)
        contexts = [None if row.context is None else features_text(row.context) for row in rows]
        weights = [row.weight + 0.0 for row in rows]  # there is no -0.0 in a database
        return FeedbackRequest(
            ids=ids, labels=labels, weights=weights, features=texts,
            encoded=replica.rows.encode(features), coded=coded, version=replica.version.version, future=self.future(),
            contexts=contexts, made_ids=key is None and all(made), actor=actor, key=key,
            digest=b"" if key is None else _digest_of(rows, labels, weights, texts, contexts),
        )  # fmt: skip

    def _recall(self, wanted: dict[int, str]) -> dict[int, str]:
        """Features of rows that came without any, remembered under the ids of their predictions."""
        remembered = self.reader.recall(list(wanted.values()))
        for i, id in wanted.items():
            if id not in remembered:
                raise RowError(
                    f'no prediction {id!r} is remembered. Send the features, or predict with "remember": true.', i, "id"
                )
        return {i: remembered[id] for i, id in wanted.items()}

    def explain(self, rows: Sequence[Any] | None) -> dict[str, Any]:
        """What moves the score of each row and how far; without rows, what matters most for the newest feedback."""
        replica = self.engine.replica
        is_global = rows is None
        if rows is None:
            newest = self.reader.rows([(max(0, replica.seq - _NEWEST), replica.seq)])
            rows = [decode(row.features) for row in next(newest, [])]
            if not rows:
                raise Problem(409, "no feedback came yet: POST rows to explain.")
        if not rows:
            return {"version": replica.name, "rows": []}
        if not is_global:
            replica.rows.require_numbers(rows)
        explanation = explain(replica.rows.model, replica.rows.raw(rows))
        values, columns = np.asarray(explanation.values), [str(name) for name in explanation.columns]
        if is_global:
            shares = np.abs(values).mean(axis=0)
            order = np.argsort(-shares)
            importance = [{"column": columns[j], "importance": float(shares[j])} for j in order]
            return {"version": replica.name, "rows": len(rows), "importance": importance}
        base = np.broadcast_to(np.asarray(explanation.base, dtype=float), len(rows)).tolist()
        each = [dict(zip(columns, line, strict=True)) for line in values.tolist()]
        return {"version": replica.name,
                "rows": [{"base": b, "contributions": c} for b, c in zip(base, each, strict=True)]}  # fmt: skip

    # -- challengers -------------------------------------------------------------------------------------------------

    async def _look_for_challengers(self) -> None:
        """Serve challengers that another process has judged better; start that process when it is time."""
        refit: asyncio.Task[None] | None = None
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            try:
                proposed = self.reader.connection.execute("SELECT number FROM challengers WHERE state = 'proposed'")
                for (number,) in proposed.fetchall():
                    await self.engine.promote(number, self.future(), "refit")
            except Exception:
                log.exception("a challenger could not be promoted")
            after = self.engine.settings.refit_after
            if after and self.engine.store.last - self._refit_at >= after and (refit is None or refit.done()):
                self._refit_at = self.engine.store.last
                refit = asyncio.create_task(self._refit())

    async def _refit(self) -> None:
        command = [sys.executable, "-m", "rankwise", "refit", str(self.engine.store.path), "--json"]
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            output, errors = await process.communicate()
        except asyncio.CancelledError:
            process.terminate()
            raise
        facts = {"code": process.returncode, "said": (output or errors).decode(errors="replace")[-2000:]}
        log.info("refit", extra={"facts": facts})

    # -- facts -------------------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """What is served."""
        replica = self.engine.replica
        model = replica.rows
        with replica.lock:
            progress = replica.progress.facts()
            thresholds = model.opened.learnt("thresholds_")
        return {
            "name": self.name,
            "estimator": model.estimator_name,
            "version": replica.name,
            "classes": model.classes,
            "columns": model.kinds,
            "learns": model.learns,
            "probabilities": model.opened.can("predict_proba"),
            "thresholds": None if thresholds is None else np.asarray(thresholds).tolist(),
            "progress": progress,
            "correcting": replica.stale,
            "log": self.engine.store.last,
        }

    def versions(self) -> list[dict[str, Any]]:
        """All versions, newest first, with their error and its change from the version before."""
        current = self.engine.replica
        lines: list[dict[str, Any]] = []
        before: float | None = None
        for version in self.reader.versions():
            is_current = version.version == current.version.version
            snapshots = self.reader.snapshots(version.version)
            facts: dict[str, Any] = {}
            if is_current:
                facts = current.progress.facts()
            elif snapshots:  # the last one has the error of a version that is not served any more
                progress = ErrorProgress(current.rows.order)
                progress.restore(snapshots[0].progress)
                facts = progress.facts()
            error = facts.get("error")
            lines.append({
                "version": version.version, "at": version.at, "reason": version.reason, "began": version.began,
                "current": is_current, "progress": facts, "report": version.report,
                "snapshots": [{"seq": snapshot.seq} for snapshot in snapshots],
                "change": None if error is None or before is None else error - before,
            })  # fmt: skip
            before = before if error is None else error
        return lines[::-1]

    def state(self) -> dict[str, Any]:
        """What the page shows."""
        progress = self.engine.replica.progress
        return {
            "model": self.describe(),
            "curve": progress.curve,
            "predicted": self.watch.class_counts.tolist(),
            "labels": progress.label_counts.tolist(),
            "predictions": list(self.watch.predictions)[::-1],
            "feedback": list(self.watch.feedback)[::-1],
            "versions": self.versions(),
            "waiting": self.engine.n_waiting,
            "trouble": self.engine.broken,
        }


def _digest_of(
    rows: Sequence[FeedbackRow], labels: Sequence[str], weights: Sequence[float], texts: Sequence[str],
    contexts: Sequence[str | None],
) -> bytes:  # fmt: skip
    """Digest of what a client sent: the same for the same rows, however their JSON was written."""
    sent = [(row.id, row.prediction_id, None if row.features is None else text)
            for row, text in zip(rows, texts, strict=True)]  # fmt: skip
    return fingerprint(sent, labels, weights, contexts)
