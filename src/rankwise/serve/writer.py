"""One thread that writes the log, in groups, and teaches the model in the order of the log.

A request is answered when its rows are durable and learnt. All requests that wait when the thread is free share one
transaction, which waits for the disk once. Meanwhile predictions read the model.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec
import numpy as np

from rankwise.labels import Labels, check_weights
from rankwise.persistence import to_bytes
from rankwise.serve.log_chain import Event
from rankwise.serve.replica import latest
from rankwise.serve.row_model import stack, take
from rankwise.serve.store import Snapshot, Store, StoreError, Version
from rankwise.serve.store_file import is_damaged

Outcome = tuple[Any, Any, BaseException | None]  #: a future, its result, and its error if there is one

_MOST_ROWS = 20_000  # of one transaction
_PROBE, _PROBE_EVERY = 32_768, 2.0  # bytes and seconds of a try to write while the disk takes nothing

log = logging.getLogger("rankwise.serve")


class ConflictError(ValueError):
    """An id that was used for something else."""


class KeyReuseError(ValueError):
    """A key that came with another request."""


class BusyError(RuntimeError):
    """Too much waits to be written."""


@dataclass(kw_only=True)
class Job:
    """Something that the writer does; ``future`` gets the result."""

    future: Any
    since: float = field(default_factory=time.monotonic)

    @property
    def n_rows(self) -> int:
        """Rows that it counts for while it waits."""
        return 1


@dataclass(kw_only=True)
class FeedbackRequest(Job):
    """Rows of feedback that are to be logged together; ``future`` gets their places in the log.

    ``encoded`` and ``coded`` are what the model of version ``version`` learns from.
    """

    ids: list[str]
    labels: list[str]
    weights: list[float]
    features: list[str]
    encoded: Any
    coded: Labels
    version: int
    contexts: list[str | None] | None = None
    made_ids: bool = False  # the service made them: they are not in the log
    actor: str | None = None  # who sent it
    key: str | None = None  # under which the same request may come again, and the digest of what it holds
    digest: bytes = b""

    @property
    def n_rows(self) -> int:
        """Rows to write."""
        return len(self.ids)


@dataclass
class RememberRequest(Job):
    """Features to keep under the ids of predictions."""

    rows: list[tuple[str, str]]


@dataclass
class Call(Job):
    """A function that the writer runs between two groups; ``future`` gets its result."""

    action: Callable[[], Any]


@dataclass(frozen=True)
class Settings:
    """How a writer works."""

    snapshot_every: int = 10_000  # rows between two snapshots
    keep: int = 10  # snapshots
    remember: int = 1_000_000  # predictions
    most_waiting: int = 200_000  # rows that may wait; more are refused
    refit_after: int = 0  # feedbacks after which a challenger is trained in another process; 0: never


def settle(done: Iterable[Outcome]) -> None:
    """Give futures, of any kind, their results or errors; skip those of clients that went away."""
    for future, result, error in done:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


class Writer:
    """A store, open for writing, the model that follows its log, and the thread that writes both.

    A new store begins with the model file ``content``; of an old one it must be the first version. ``deliver`` gets
    lists of ``(future, result, error)``; by default the futures are those of ``concurrent.futures``.
    """

    def __init__(
        self, store: Store, content: bytes | None = None, settings: Settings | None = None,
        deliver: Callable[[list[Outcome]], None] = settle,
    ) -> None:  # fmt: skip
        self.store = store
        self.settings = settings or Settings()
        self.deliver = deliver
        self.broken: str | None = store.trouble  # why the last write failed
        self._is_damaged = False
        self.n_groups = self.n_rows = self.n_replays = 0
        self.listeners: list[Callable[[str, dict[str, Any]], None]] = []
        versions = store.versions()
        if not versions:
            if content is None and not store.last:
                raise StoreError(f"{store.path} is new: it needs a model to begin with.")
            if content is None or (store.last and not store.accept_loss):
                raise StoreError(
                    f"{store.path} holds {store.last} events and no version of a model: it was damaged. Restore a "
                    f"backup, or let this model learn all of them with --accept-loss."
                )
            versions = [self._begin(content)]
        elif content is not None:
            store.require_begun_with(content)
        self.replica = latest(store, versions[-1])
        self._snapshot_at = self.replica.seq
        self.replica.replay(store, store.last)
        self._jobs: deque[Any] = deque()
        self.n_waiting = 0  # rows that wait to be written
        self._wake = threading.Condition()
        self._stopping = False
        self._background: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._run, name="rankwise-writer", daemon=True)

    def _begin(self, content: bytes) -> Version:
        with self.store.transaction() as cursor:
            root = self.store.add_model(cursor, content)
            return self.store.add_version(cursor, "start", root, [(0, None)], 0, {})

    # -- from any thread ---------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start the writer."""
        self._thread.start()
        if self.replica.seq - self._snapshot_at >= self.settings.snapshot_every:
            self.call(self._snapshot)
        return self

    def stop(self) -> None:
        """Finish what waits, take a snapshot, and stop."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()
        for thread in self._background:
            thread.join(timeout=60)
        replica = self.replica
        if replica.seq > self._snapshot_at and not replica.stale:
            model, snapshot = replica.copied()
            self._write_snapshot(to_bytes(model), snapshot)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def submit(self, job: Job) -> Any:
        """Hand a job to the writer; return its future."""
        with self._wake:
            if self._stopping:
                raise BusyError("the service is stopping.")
            if self.n_waiting + job.n_rows > self.settings.most_waiting:
                raise BusyError(f"{self.n_waiting} rows wait to be written.")
            self.n_waiting += job.n_rows
            self._jobs.append(job)
            self._wake.notify()
        return job.future

    def call(self, action: Callable[[], Any], future: Any = None) -> Any:
        """Run a function in the writer between two groups; return its future."""
        return self.submit(Call(action, future=Future() if future is None else future))

    def feedback(
        self, rows: Sequence[dict[str, Any]], ids: list[str], labels: Iterable[Any], weights: Any = 1.0,
        contexts: list[str | None] | None = None, actor: str | None = None,
    ) -> list[int]:  # fmt: skip
        """Log and learn rows, and wait until that is done; return their places."""
        texts = [str(label) for label in labels]
        model = self.replica.rows
        request = FeedbackRequest(
            ids=ids, labels=texts, weights=(check_weights(weights, len(rows)) + 0.0).tolist(),
            features=[msgspec.json.encode(row).decode() for row in rows], encoded=model.encode(rows),
            coded=model.labels(texts), version=self.replica.version.version, future=Future(), contexts=contexts,
            actor=actor,
        )  # fmt: skip
        places: list[int] = self.submit(request).result()
        return places

    @property
    def queue_age(self) -> float:
        """Seconds that the oldest job has waited."""
        with self._wake:
            return time.monotonic() - self._jobs[0].since if self._jobs else 0.0

    # -- the writer --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._jobs and not self._stopping:
                    is_probing = self.broken is not None and not self._is_damaged
                    if not self._wake.wait(_PROBE_EVERY if is_probing else None) and is_probing:
                        break
                if not self._jobs and self._stopping:
                    return
                group = self._next_group() if self._jobs else []
            if not group:
                self._probe()
                continue
            done = self._do(group)
            with self._wake:
                self.n_waiting -= sum(job.n_rows for job in group)
            self.deliver(done)

    def _probe(self) -> None:
        """Try whether the disk takes a group again, after it did not."""
        try:
            for size in (_PROBE, 0):
                self.store.write_note("probe", "x" * size)
        except sqlite3.Error as error:
            self._cannot_write(error)
        else:
            self.broken = None
            self._tell("writable again")

    def _cannot_write(self, error: sqlite3.Error) -> None:
        """Note why nothing can be written, as on a full disk; a damaged file stays so until it is repaired."""
        if self.broken is None:
            log.error("nothing can be written: %s", error)
        self._is_damaged = is_damaged(error)
        self.broken = str(error)

    def _next_group(self) -> list[Any]:
        """The next call alone, or all requests before it that one transaction may hold."""
        jobs = self._jobs
        if isinstance(jobs[0], Call):
            return [jobs.popleft()]
        group, n = [], 0
        while jobs and not isinstance(jobs[0], Call) and n < _MOST_ROWS:
            group.append(jobs.popleft())
            n += len(group[-1].rows) if isinstance(group[-1], RememberRequest) else group[-1].n_rows
        return group

    def _do(self, group: list[Any]) -> list[Outcome]:
        if isinstance(group[0], Call):
            try:
                return [(group[0].future, group[0].action(), None)]
            except Exception as error:
                if isinstance(error, sqlite3.Error):
                    self._cannot_write(error)
                return [(group[0].future, None, error)]
        try:
            done, learnt, last = self._commit(group)
            if not self._is_damaged:
                self.broken = None
        except sqlite3.Error as error:  # such as a full disk: nothing of the group was written
            self._cannot_write(error)
            return [(job.future, None, error) for job in group]
        except Exception as error:
            log.exception("a group could not be written")
            return [(job.future, None, error) for job in group]
        try:
            self._learn(learnt, last)
        except Exception:  # the rows are in the log, from which the model is built again
            log.exception("the model could not learn, and is built again")
            self.rebuild()
        return done

    def rebuild(self) -> None:
        """Note that the model does not follow from the log and must be built again."""
        self.replica.stale = True

    def _commit(self, group: list[Any]) -> tuple[list[Outcome], list[Any], int]:
        """Write a group; return the outcomes of the requests, what to learn, and the last place of the log."""
        store, now, seq = self.store, time.time(), self.store.last
        given = [id for job in group if isinstance(job, FeedbackRequest) and not job.made_ids for id in job.ids]
        known = {id: (s, label, weight, features) for id, (s, _, label, weight, features) in store.find(given).items()}
        keys = [job.key for job in group if isinstance(job, FeedbackRequest) and job.key is not None]
        digests = store.requests(keys) if keys else {}
        new_keys: dict[str, bytes] = {}
        done: list[Outcome] = []
        events: list[Event] = []
        learnt: list[tuple[FeedbackRequest, list[int]]] = []
        remembered: list[tuple[str, str]] = []
        for job in group:
            if isinstance(job, RememberRequest):
                remembered += job.rows
                done.append((job.future, None, None))
                continue
            new, places = [], []
            added: dict[str, tuple[Any, ...]] = {}
            try:
                if job.key is not None and digests.get(job.key, job.digest) != job.digest:
                    raise KeyReuseError(
                        f"the Idempotency-Key {job.key!r} was used for another request. Give each request a key of its "
                        f"own, and the same one only to the same rows."
                    )
                for i, (id, *content) in enumerate(zip(job.ids, job.labels, job.weights, job.features, strict=True)):
                    earlier = known.get(id) or added.get(id)
                    if earlier is None:
                        earlier = added[id] = (seq + len(added) + 1, *content)
                        new.append(i)
                    elif earlier[1:] != tuple(content):
                        raise ConflictError(
                            f"row {i}: feedback {id!r} was given before, with another label, weight or features. "
                            f"Correct it with PUT /v1/feedback/ID."
                        )
                    places.append(earlier[0])
            except (ConflictError, KeyReuseError) as error:  # of this request nothing is written
                done.append((job.future, None, error))
                continue
            done.append((job.future, places, None))
            if job.key is not None and job.key not in digests:
                digests[job.key] = new_keys[job.key] = job.digest
            if new:
                known |= added
                seq += len(new)
                learnt.append((job, new))
                contexts = job.contexts or [None] * len(job.ids)
                events += [
                    (place, id, now, "feedback", None, *content, contexts[i], job.actor)
                    for i, (id, (place, *content)) in zip(new, added.items(), strict=True)
                ]
        if events or remembered or new_keys:
            with store.transaction() as cursor:
                if events:
                    store.append(cursor, events)
                if new_keys:
                    store.add_requests(cursor, new_keys)
                if remembered:
                    store.remember(cursor, remembered, self.settings.remember)
            self.n_groups += 1
            self.n_rows += len(events)
        return done, learnt, seq

    def _learn(self, learnt: list[tuple[FeedbackRequest, list[int]]], last: int) -> None:
        if not learnt:
            return
        replica = self.replica
        if any(job.version != replica.version.version for job, _ in learnt):
            replica.replay(self.store, last)  # encoded for a model that has been replaced meanwhile
        else:
            encoded, coded = [], []
            for job, new in learnt:
                is_whole = len(new) == len(job.ids)
                encoded.append(job.encoded if is_whole else take(job.encoded, new))
                coded.append(job.coded if is_whole else job.coded.take(np.array(new)))
            weight = np.array([job.weights[i] for job, new in learnt for i in new])
            replica.learn(stack(encoded), coded[0] if len(coded) == 1 else Labels.concatenate(coded), weight, last)
        if replica.seq - self._snapshot_at >= self.settings.snapshot_every and not replica.stale:
            self._snapshot()

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def _snapshot(self) -> None:
        model, snapshot = self.replica.copied()
        self._snapshot_at = snapshot.seq

        def write() -> None:
            content = to_bytes(model)
            self.call(lambda: self._write_snapshot(content, snapshot))

        self._in_background(write)

    def _write_snapshot(self, content: bytes, snapshot: Snapshot) -> None:
        try:
            with self.store.transaction() as cursor:
                self.store.add_snapshot(cursor, snapshot, content)
            with self.store.transaction() as cursor:
                self.store.prune_snapshots(cursor, self.replica.version.version, self.settings.keep)
        except sqlite3.Error as error:  # the log is complete without it
            log.warning("no snapshot, or no old one was removed: %s", error)
            return
        self._snapshot_at = max(self._snapshot_at, snapshot.seq)
        self._tell("snapshot", seq=snapshot.seq, version=snapshot.version)

    def _in_background(self, action: Callable[[], None]) -> None:
        def run() -> None:
            try:
                action()
            except BusyError:  # the service stops: it takes a snapshot of its own
                pass
            except Exception:
                log.exception("work in the background failed")

        self._background = [thread for thread in self._background if thread.is_alive()]
        thread = threading.Thread(target=run, name="rankwise-background", daemon=True)
        self._background.append(thread)
        thread.start()

    def _tell(self, what: str, **facts: Any) -> None:
        log.info(what, extra={"facts": facts})
        for listener in self.listeners:
            listener(what, facts)
