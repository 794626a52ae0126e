"""A model at a place of the log, and how it gets there: from a snapshot, by learning the rows that follow."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Sequence
from copy import deepcopy
from hashlib import sha256
from threading import Lock
from typing import Any

import msgspec
import numpy as np

from rankwise._errors import RowError
from rankwise._types import Floats
from rankwise.labels import Labels
from rankwise.persistence import ModelFileError, from_bytes, to_bytes
from rankwise.serve.progress import ErrorProgress
from rankwise.serve.row_model import RowModel, take
from rankwise.serve.store import Row, Snapshot, Store, StoreError, Version

log = logging.getLogger("rankwise.serve")

_decode = msgspec.json.decode
_LONGEST = 0.002  # seconds that predictions wait while rows are learnt


class Replica:
    """A model that has learnt the effective rows of a version up to the place ``seq`` of the log.

    It has all corrections up to the event ``as_of``; the last of them is at ``revision``, 0 without one. While it lacks
    a correction, it is ``stale`` and ``as_of`` stays where it is. The lock is held while it learns, and by readers who
    ask it more than once.
    """

    def __init__(self, version: Version, content: bytes, seq: int = 0, as_of: int = 0, revision: int = 0) -> None:
        self.version = version
        self.rows = RowModel(from_bytes(content))
        self.seq, self.as_of, self.revision = seq, as_of, revision
        self.stale = False
        self.progress = ErrorProgress(self.rows.order)
        self.lock = Lock()
        self._piece = 64  # rows that are learnt at a time

    @classmethod
    def from_snapshot(cls, store: Store, version: Version, snapshot: Snapshot | None) -> Replica:
        """The model of a snapshot, or of the root if there is none."""
        if snapshot is None:
            return cls(version, store.model(version.root))
        if snapshot.damage:
            raise StoreError(f"{store.path} is damaged: {snapshot.damage}.")
        revision = snapshot.progress.get("revision", 0)
        replica = cls(version, store.model(snapshot.model), snapshot.seq, snapshot.as_of, revision)
        replica.progress.restore(snapshot.progress)
        return replica

    @property
    def name(self) -> str:
        """Version, place in the log and last correction, which identify the bits of a model."""
        return f"{self.version.version}.{self.seq}" + (f"+{self.revision}" if self.revision else "")

    # -- learning ----------------------------------------------------------------------------------------------------

    def learn(self, encoded: Any, labels: Labels, weight: Floats, seq: int, *, counts: bool = True) -> None:
        """Learn encoded rows in their order; the model is then at the place ``seq`` of the log.

        A row that the model refuses, because numbers would grow beyond all bounds, is skipped, now and in replays.
        """
        start = 0
        while start < len(labels):
            piece = slice(start, start + self._piece)
            began = time.perf_counter()
            self._learn_piece(take(encoded, piece), labels[piece], weight[piece], seq, counts)
            start += piece.stop - piece.start
            seconds = time.perf_counter() - began
            if seconds > _LONGEST:
                self._piece = max(16, self._piece // 2)
            elif seconds < _LONGEST / 4:
                self._piece = min(4096, self._piece * 2)
        self.move(seq, seq)

    def move(self, seq: int, as_of: int) -> None:
        """Go to another place of the log, without a row to learn on the way."""
        with self.lock:
            self.seq = seq
            if not self.stale:
                self.as_of = as_of

    def _learn_piece(self, encoded: Any, labels: Labels, weight: Floats, seq: int, counts: bool) -> None:
        start, n = 0, len(labels)
        while start < n:
            rest = slice(start, n)
            rows, y, w = take(encoded, rest), labels[rest], weight[rest]
            try:
                with self.lock:
                    intervals = self.rows.intervals(rows) if counts else None
                    predicted = self.rows.learn(rows, y, w)
            except RowError as error:
                good = slice(start, start + error.row)
                self._learn_piece(take(encoded, good), labels[good], weight[good], seq, counts)
                start += error.row + 1
                self.progress.refused += 1
                continue
            if counts:
                self.progress.add(seq, y, predicted, w, intervals)
            return

    def learn_rows(self, rows: Sequence[Row]) -> None:
        """Learn rows of the log; what was learnt before the version began is not judged again."""
        n_early = sum(row.seq <= self.version.began for row in rows)
        for kept, counts in ((list(rows[:n_early]), False), (list(rows[n_early:]), True)):
            decoded = [_decode(row.features) for row in kept]
            while kept:
                try:
                    labels = self.rows.labels([row.label for row in kept])
                    encoded = self.rows.encode(decoded)
                except RowError as error:  # a row for another model, before this one was promoted
                    self.progress.refused += 1
                    del kept[error.row], decoded[error.row]
                else:
                    weight = np.array([row.weight for row in kept])
                    self.learn(encoded, labels, weight, kept[-1].seq, counts=counts)
                    break

    def replay(self, store: Store, upto: int, as_of: int | None = None) -> None:
        """Learn everything up to a place of the log, with the corrections up to an event."""
        as_of = upto if as_of is None else as_of
        for rows in store.rows(self.version.upto(upto), after=self.seq, as_of=as_of):
            self.learn_rows(rows)
        self.move(upto, as_of)
        if not self.stale:
            self.revision = store.last_change(as_of)

    # -- files -------------------------------------------------------------------------------------------------------

    def copied(self) -> tuple[Any, Snapshot]:
        """Copy of the model, to be written by another thread, and the snapshot that it will be."""
        with self.lock:
            progress = {**self.progress.to_plain(), "revision": self.revision}
            return deepcopy(self.rows.model), Snapshot(self.version.version, self.seq, self.as_of, "", progress)

    def digest(self) -> str:
        """SHA-256 of the model's file: equal exactly if the models are, to the bit."""
        with self.lock:
            return sha256(to_bytes(self.rows.model)).hexdigest()


def latest(store: Store, version: Version, upto: int | None = None) -> Replica:
    """The model of the newest snapshot that no correction has changed, at or before a place of the log."""
    for snapshot in store.snapshots(version.version):
        if (upto is not None and snapshot.seq > upto) or not store.is_valid(snapshot, version):
            continue
        try:
            return Replica.from_snapshot(store, version, snapshot)
        except (StoreError, ModelFileError, sqlite3.DatabaseError) as error:  # an older one and the log are enough
            log.warning("the snapshot after event %d cannot be used, an older one is: %s", snapshot.seq, error)
    return Replica.from_snapshot(store, version, None)


def built(store: Store, version: Version, place: int | None = None) -> Replica:
    """The model of a version at a place of the log, the last one by default, while a writer goes on.

    The end of the log is looked up first: the model lacks any later correction, and ``as_of`` says so.
    """
    as_of = store.newest()
    place = as_of if place is None else place
    replica = latest(store, version, place)
    replica.replay(store, place, as_of)
    return replica
