"""The store: one SQLite file with the log of all feedback, the versions of the model, and snapshots of it.

The log is written first and never changed. Each event has a number, ``seq``, its place in the log:

- *feedback*: features, label and weight of a row;
- *correction* and *retraction* of an earlier feedback, ``target``: another label and weight, or none;
- *rollback*, *promotion* and *repair*: a new version of the model;
- *note*: a fact that an application keeps in this order, which no model learns from.

Each event also has an actor, who sent it, and a digest that covers all events up to it
(:mod:`rankwise.serve.log_chain`).

**Effective rows.** A feedback counts with the label and weight of its last correction, at its own place in the order;
after a retraction it counts no more. ``rows`` gives effective rows, as of any event.

**Versions.** A version is a root, the content of a model file, and the places of the log that were learnt from on top
of it: ranges ``(after, upto]``, the last of which is open. A rollback begins a version with the same root and with
ranges that end at the place it goes back to.

**Durable.** WAL mode with ``synchronous=FULL``: when a commit returns, it is on the disk. One process writes and holds
a lock; others may read. The lock file, beside the store, notes how far feedback was acknowledged and the digest there:
a log that was cut, emptied, replaced or deleted from outside does not go on as if nothing had happened.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from rankwise.serve import schema
from rankwise.serve.log_chain import fingerprint
from rankwise.serve.store_file import (
    StoreError as StoreError,
)
from rankwise.serve.store_file import (
    StoreFile,
)
from rankwise.serve.store_file import (
    StoreInUseError as StoreInUseError,
)
from rankwise.serve.store_file import (
    transaction as transaction,
)

_CHUNK = 5000  # rows that are read at a time
_MOST_VARIABLES = 500  # of one statement

#: Ranges of places in the log, ``(after, upto]``; None is open.
Ranges = list[tuple[int, int | None]]


@dataclass(frozen=True)
class Row:
    """An effective row of the log."""

    seq: int
    id: str
    label: str
    weight: float
    features: str


@dataclass(frozen=True)
class Version:
    """What a version of the model is made of."""

    version: int
    at: float
    reason: str
    root: str
    ranges: Ranges
    began: int
    report: dict[str, Any]

    def upto(self, seq: int) -> Ranges:
        """The ranges, cut after a place."""
        cut = [(after, seq if upto is None else min(upto, seq)) for after, upto in self.ranges]
        return [(after, upto) for after, upto in cut if upto > after]

    def holds(self, seq: int) -> bool:
        """Whether the version learns from a place of the log."""
        return any(after < seq and (upto is None or seq <= upto) for after, upto in self.ranges)


@dataclass(frozen=True)
class Snapshot:
    """A model at a place of the log, with all corrections up to ``as_of``."""

    version: int
    seq: int
    as_of: int
    model: str  # digest, empty until it is kept
    progress: dict[str, Any]
    damage: str = ""  # why it cannot be used


class Store(StoreFile):
    """An open store; with ``write`` it is locked, and created if it does not exist.

    With ``accept_loss`` it is opened although acknowledged events are missing or were changed, as in a restored backup.
    """

    def reader(self) -> Store:
        """The same store, open for reading, such as by another thread."""
        return Store(self.path)

    def _learnt(self) -> int:
        for version in self.versions()[-1:]:
            snapshots = self.snapshots(version.version)
            return snapshots[0].seq if snapshots else version.ranges[0][0]
        return 0

    # -- writing -----------------------------------------------------------------------------------------------------

    def event(
        self, cursor: sqlite3.Cursor, kind: str, *, target: int | None = None, label: str | None = None,
        weight: float | None = None, context: str | None = None, actor: str | None = None,
    ) -> int:  # fmt: skip
        """Append one event inside a transaction; return its place."""
        seq = self._end[0] + 1
        id = f"{kind}-{seq}"
        while self.find([id]):  # a client has given it to a feedback
            id += "'"
        self.append(cursor, [(seq, id, time.time(), kind, target, label, weight, None, context, actor)])
        return seq

    def add_requests(self, cursor: sqlite3.Cursor, digests: Mapping[str, bytes]) -> None:
        """Keep what was sent under the keys of requests, as digests."""
        now = time.time()
        cursor.executemany("INSERT INTO requests VALUES (?, ?, ?)", [(k, d, now) for k, d in digests.items()])

    @staticmethod
    def add_model(cursor: sqlite3.Cursor, content: bytes) -> str:
        """Keep the content of a model file; return its digest."""
        digest = sha256(content).hexdigest()
        cursor.execute("INSERT OR IGNORE INTO models VALUES (?, ?)", (digest, content))
        return digest

    def add_version(
        self, cursor: sqlite3.Cursor, reason: str, root: str, ranges: Ranges, began: int, report: dict[str, Any]
    ) -> Version:
        """Begin a version, which is the current one from now on."""
        (number,) = cursor.execute("SELECT coalesce(max(version), 0) + 1 FROM versions").fetchone()
        at = time.time()
        values = (number, at, reason, root, json.dumps(ranges), began, json.dumps(report))
        schema.insert_sealed(cursor, "versions", values)
        return Version(number, at, reason, root, ranges, began, report)

    def add_snapshot(self, cursor: sqlite3.Cursor, snapshot: Snapshot, content: bytes) -> None:
        """Keep a snapshot and the content of its model file."""
        digest, progress = self.add_model(cursor, content), json.dumps(snapshot.progress)
        values = (snapshot.version, snapshot.seq, snapshot.as_of, time.time(), digest, progress)
        schema.insert_sealed(cursor, "snapshots", values)

    def prune_snapshots(self, cursor: sqlite3.Cursor, version: int, keep: int) -> None:
        """Keep the newest snapshots of a version and the last one of every other, and the models they need."""
        cursor.execute(
            "DELETE FROM snapshots WHERE version = ?1 AND (seq, as_of) NOT IN "
            "(SELECT seq, as_of FROM snapshots WHERE version = ?1 ORDER BY seq DESC, as_of DESC LIMIT ?2)",
            (version, keep),
        )
        cursor.execute(
            "DELETE FROM snapshots AS s WHERE version <> ? AND EXISTS "
            "(SELECT 1 FROM snapshots AS n WHERE n.version = s.version AND (n.seq, n.as_of) > (s.seq, s.as_of))",
            (version,),
        )
        cursor.execute(
            "DELETE FROM models WHERE digest NOT IN (SELECT model FROM snapshots) "
            "AND digest NOT IN (SELECT root FROM versions) AND digest NOT IN (SELECT root FROM challengers)"
        )

    def remember(self, cursor: sqlite3.Cursor, rows: Sequence[tuple[str, str]], keep: int) -> None:
        """Keep the features of predictions under their ids, the newest ``keep`` of them."""
        cursor.executemany("INSERT OR REPLACE INTO remembered (id, features) VALUES (?, ?)", rows)
        cursor.execute("DELETE FROM remembered WHERE number <= (SELECT max(number) FROM remembered) - ?", (keep,))

    # -- reading -----------------------------------------------------------------------------------------------------

    def rows(self, ranges: Ranges, *, after: int = 0, as_of: int | None = None) -> Iterator[list[Row]]:
        """Effective rows in ranges of the log after a place, with all corrections up to ``as_of``, in chunks."""
        newest = self.newest() if as_of is None else as_of
        for start, upto in ranges:
            seq, stop = max(start, after), newest if upto is None else upto
            while seq < stop:
                lines = self.connection.execute(
                    "SELECT seq, id, label, weight, features FROM log WHERE seq > ? AND seq <= ? "
                    "AND kind = 'feedback' ORDER BY seq LIMIT ?",
                    (seq, stop, _CHUNK),
                ).fetchall()
                if not lines:
                    break
                changes = self.changes(lines[0][0], lines[-1][0], newest)
                rows = []
                for seq, id, label, weight, features in lines:
                    kind, label, weight = changes.get(seq, ("feedback", label, weight))
                    if kind != "retraction":
                        rows.append(Row(seq, id, label, weight, features))
                if rows:
                    yield rows

    def changes(self, first: int, last: int, as_of: int) -> dict[int, tuple[str, Any, Any]]:
        """The last correction or retraction of each feedback between two places: kind, label and weight."""
        lines = self.connection.execute(
            "SELECT target, kind, label, weight FROM log WHERE target BETWEEN ? AND ? AND seq <= ? ORDER BY seq",
            (first, last, as_of),
        )
        return {target: (kind, label, weight) for target, kind, label, weight in lines}

    def changed_since(self, as_of: int, upto: int) -> list[int]:
        """Places up to ``upto`` whose feedback was corrected or retracted after ``as_of``."""
        query = "SELECT DISTINCT target FROM log WHERE seq > ? AND target <= ?"
        return [int(target) for (target,) in self.connection.execute(query, (as_of, upto))]

    def last_change(self, as_of: int) -> int:
        """Place of the last correction or retraction up to an event; 0 without one."""
        query = "SELECT coalesce(max(seq), 0) FROM log WHERE target IS NOT NULL AND seq <= ?"
        return int(self.connection.execute(query, (as_of,)).fetchone()[0])

    def find(self, ids: Sequence[str]) -> dict[str, tuple[int, str, str, float, str]]:
        """Events with these ids: place, kind, label, weight and features."""
        lines = self._with_ids("SELECT id, seq, kind, label, weight, features FROM log", ids)
        return {line[0]: line[1:] for line in lines}

    def recall(self, ids: Sequence[str]) -> dict[str, str]:
        """Features that were remembered, or logged, under these ids."""
        logged = {id: features for id, (*_, features) in self.find(ids).items() if features is not None}
        return logged | dict(self._with_ids("SELECT id, features FROM remembered", ids))

    def requests(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Digests of what was sent under these keys."""
        return dict(self._with_ids("SELECT key, digest FROM requests", keys, "key"))

    def history(self, seq: int) -> list[dict[str, Any]]:
        """A feedback and what was done to it, in order: place, time, kind, label, weight, and who did it."""
        names = ("seq", "at", "kind", "label", "weight", "actor")
        query = f"SELECT {', '.join(names)} FROM log WHERE seq = ?1 OR target = ?1 ORDER BY seq"
        return [dict(zip(names, line, strict=True)) for line in self.connection.execute(query, (seq,))]

    def _with_ids(self, query: str, ids: Sequence[str], column: str = "id") -> Iterator[Any]:
        for start in range(0, len(ids), _MOST_VARIABLES):
            some = ids[start : start + _MOST_VARIABLES]
            marks = ",".join("?" * len(some))
            yield from self.connection.execute(f"{query} WHERE {column} IN ({marks})", some)

    def _sealed(self, table: str) -> str:
        return ", ".join((*schema.SEALED[table], "digest" if self.has_chain else "NULL"))

    def versions(self) -> list[Version]:
        """All versions, oldest first; the last one is current."""
        versions = []
        line: list[Any]
        for *line, digest in self.connection.execute(
            f"SELECT {self._sealed('versions')} FROM versions ORDER BY version"
        ):
            if self.has_chain and digest != fingerprint(*line):
                raise self._lacks(f"version {line[0]} was changed after it was written")
            number, at, reason, root, ranges, began, report = line
            ranges = [(after, upto) for after, upto in json.loads(ranges)]
            versions.append(Version(number, at, reason, root, ranges, began, json.loads(report)))
        return versions

    def current(self) -> Version:
        """The version that is served."""
        versions = self.versions()
        if not versions:
            raise StoreError(f"{self.path} holds no model yet.")
        return versions[-1]

    def require_begun_with(self, content: bytes) -> None:
        """Refuse a model file that the first version did not begin with."""
        if sha256(content).hexdigest() != self.versions()[0].root:
            raise StoreError(
                f"{self.path} was begun with another model. Serve that one, give the new one a store of its own "
                f"('rankwise store import' fills it from this one), or train a challenger with 'rankwise refit'."
            )

    def model(self, digest: str) -> bytes:
        """Content of a model file."""
        line = self.connection.execute(
            "SELECT CAST(content AS BLOB) FROM models WHERE digest = ?", (digest,)
        ).fetchone()
        if line is None:
            raise self._lacks(f"model {digest[:12]} is gone")
        content = bytes(line[0] or b"")
        if sha256(content).hexdigest() != digest:
            raise self._lacks(f"model {digest[:12]} does not match its checksum")
        return content

    def snapshots(self, version: int) -> list[Snapshot]:
        """Snapshots of a version, newest first; of those that were damaged, place and reason."""
        keys = self.connection.execute(
            "SELECT rowid, seq, as_of FROM snapshots WHERE version = ? ORDER BY seq DESC, as_of DESC", (version,)
        ).fetchall()
        return [self._snapshot(rowid, version, seq, as_of) for rowid, seq, as_of in keys]

    def _snapshot(self, rowid: int, version: int, seq: int, as_of: int) -> Snapshot:
        query = f"SELECT {self._sealed('snapshots')} FROM snapshots WHERE rowid = ?"
        try:
            *line, digest = self.connection.execute(query, (rowid,)).fetchone()
            if not self.has_chain or digest == fingerprint(*line):
                return Snapshot(version, seq, as_of, line[4], json.loads(line[5]))
            damage = "it was changed after it was written"
        except sqlite3.DatabaseError as error:
            damage = str(error)
        return Snapshot(version, seq, as_of, "", {}, damage)

    def is_valid(self, snapshot: Snapshot, version: Version) -> bool:
        """Whether no later correction changes what a snapshot has learnt."""
        return not any(version.holds(seq) for seq in self.changed_since(snapshot.as_of, snapshot.seq))

    def counts(self) -> dict[str, int]:
        """Number of events of each kind, and of remembered predictions."""
        counts = dict(self.connection.execute("SELECT kind, count(*) FROM log GROUP BY kind").fetchall())
        (counts["remembered"],) = self.connection.execute("SELECT count(*) FROM remembered").fetchone()
        return counts
