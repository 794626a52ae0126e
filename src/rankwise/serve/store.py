"""The store: one SQLite file with the log of all feedback, the versions of the model, and snapshots of it.

The log is written first and never changed. Each event has a number, ``seq``, its place in the log:

- *feedback*: features, label and weight of a row;
- *correction* and *retraction* of an earlier feedback, ``target``: another label and weight, or none;
- *rollback* and *promotion*: a new version of the model;
- *note*: a fact that an application keeps in this order, which no model learns from.

**Effective rows.** A feedback counts with the label and weight of its last correction, at its own place in the order;
after a retraction it counts no more. ``rows`` gives effective rows, as of any event.

**Versions.** A version is a root, the content of a model file, and the places of the log that were learnt from on top
of it: ranges ``(after, upto]``, the last of which is open. A rollback begins a version with the same root and with
ranges that end at the place it goes back to.

**Durable.** WAL mode with ``synchronous=FULL``: when a commit returns, it is on the disk. One process writes and holds
a lock; others may read. The lock file, beside the store, notes how far feedback was acknowledged, which reveals a log
that was cut from outside.
"""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from rankwise.serve._lock import FileLock

FORMAT = 1
_APPLICATION = 0x72616E6B  # "rank", so that other databases are recognised
_CHUNK = 5000  # rows that are read at a time
_CACHE = 8000  # kB of pages that the writer keeps; the system's cache has the others
_MOST_VARIABLES = 500  # of one statement

_SCHEMA = """
CREATE TABLE log (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at REAL NOT NULL, kind TEXT NOT NULL, target INTEGER,
  label TEXT, weight REAL, features TEXT, context TEXT);
CREATE INDEX log_target ON log (target) WHERE target IS NOT NULL;
CREATE TABLE models (digest TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE versions (
  version INTEGER PRIMARY KEY, at REAL NOT NULL, reason TEXT NOT NULL, root TEXT NOT NULL, ranges TEXT NOT NULL,
  began INTEGER NOT NULL, report TEXT NOT NULL);
CREATE TABLE snapshots (
  version INTEGER NOT NULL, seq INTEGER NOT NULL, as_of INTEGER NOT NULL, at REAL NOT NULL, model TEXT NOT NULL,
  progress TEXT NOT NULL, PRIMARY KEY (version, seq, as_of));
CREATE TABLE remembered (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, features TEXT NOT NULL);
CREATE TABLE challengers (
  number INTEGER PRIMARY KEY, at REAL NOT NULL, root TEXT NOT NULL, trained_to INTEGER NOT NULL, report TEXT NOT NULL,
  state TEXT NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""

#: Ranges of places in the log, ``(after, upto]``; None is open.
Ranges = list[tuple[int, int | None]]


class StoreError(ValueError):
    """A store that cannot be opened or trusted, with the reason."""


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


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    """One transaction of a connection; an error inside undoes all of it."""
    cursor = connection.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    try:
        yield cursor
        cursor.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            cursor.execute("ROLLBACK")
        raise


class Store:
    """An open store; with ``write`` it is locked, and created if it does not exist.

    With ``accept_loss`` the log may end before the last acknowledged event, as in a restored backup.
    """

    def __init__(self, path: Path | str, *, write: bool = False, accept_loss: bool = False) -> None:
        self.path = Path(path)
        self.lock: FileLock | None = None
        if write:
            if not self.path.parent.is_dir():
                raise StoreError(f"{self.path}: there is no directory {self.path.parent}.")
            try:
                self.lock = FileLock(Path(f"{self.path}.lock"))
            except BlockingIOError:
                raise StoreError(f"another process writes to {self.path}: one store has one server.") from None
            except OSError as error:
                raise StoreError(f"{self.path} cannot be written: {error.strerror}.") from None
        elif not self.path.is_file():
            raise StoreError(f"no store at {self.path}.")
        with ExitStack() as opened:
            if self.lock is not None:
                opened.callback(self.lock.release)
            try:
                uri = f"{self.path.resolve().as_uri()}?mode={'rwc' if write else 'ro'}"
                self.connection = sqlite3.connect(
                    uri, uri=True, isolation_level=None, timeout=30, check_same_thread=False
                )
                opened.callback(self.connection.close)
                self._prepare(write)
                self.name = self.note("name")
                self.last = self.newest()
                if self.lock is not None:
                    self._compare_with_mark(self.lock, accept_loss)
            except sqlite3.DatabaseError as error:
                raise StoreError(f"{self.path} cannot be opened as a store: {error}.") from None
            opened.pop_all()  # it stays open

    def close(self) -> None:
        """Close the file and give back the lock."""
        self.connection.close()
        if self.lock is not None:
            self.lock.release()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reader(self) -> Store:
        """The same store, open for reading, such as by another thread."""
        return Store(self.path)

    # -- opening -----------------------------------------------------------------------------------------------------

    def _prepare(self, write: bool) -> None:
        """Set up the connection; the file of another application is refused before anything in it changes."""
        execute = self.connection.execute
        execute("PRAGMA trusted_schema=OFF")
        execute(f"PRAGMA cache_size={-_CACHE if write else -_CACHE // 4}")
        (application,) = execute("PRAGMA application_id").fetchone()
        (format,) = execute("PRAGMA user_version").fetchone()
        (n_tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
        is_new = write and not n_tables and not application
        if application != _APPLICATION and not is_new:
            raise StoreError(f"{self.path} is a database of something else.")
        if format > FORMAT and not is_new:
            raise StoreError(f"{self.path} has format {format}; this version reads up to {FORMAT}. Upgrade rankwise.")
        if write:
            execute("PRAGMA journal_mode=WAL")
            execute("PRAGMA synchronous=FULL")
            execute("PRAGMA wal_autocheckpoint=2000")
        if is_new:
            self._create()
        elif write:  # refuse a file that cannot be written now, not at the first feedback
            self.write_note("opened", str(time.time()))

    def _create(self) -> None:
        with self.transaction() as cursor:
            for statement in _SCHEMA.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)
            cursor.execute(f"PRAGMA application_id={_APPLICATION}")
            cursor.execute(f"PRAGMA user_version={FORMAT}")
            cursor.execute("INSERT INTO meta VALUES ('name', ?)", (uuid.uuid4().hex,))

    def _compare_with_mark(self, lock: FileLock, accept_loss: bool) -> None:
        name, _, seq = lock.read().partition(" ")
        if name == self.name and seq.isdigit() and int(seq) > self.last and not accept_loss:
            raise StoreError(
                f"{self.path} ends at event {self.last}, but event {int(seq)} was acknowledged: the file or its -wal "
                f"was cut or replaced. Restore both, or accept the loss with --accept-loss."
            )
        self.mark(self.last)

    def mark(self, seq: int) -> None:
        """Note that everything up to here was committed, without waiting for the disk."""
        self.last = seq
        if self.lock is not None:
            self.lock.write(f"{self.name} {seq}")

    def note(self, key: str) -> str:
        """A fact about the store as a whole, empty if there is none."""
        line = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return "" if line is None else str(line[0])

    def newest(self) -> int:
        """Place of the last event that is in the log now, whoever wrote it."""
        return int(self.connection.execute("SELECT coalesce(max(seq), 0) FROM log").fetchone()[0])

    # -- writing -----------------------------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[sqlite3.Cursor]:
        """One transaction, durable when it ends; an error inside undoes all of it."""
        return transaction(self.connection)

    def write_note(self, key: str, value: str) -> None:
        """Keep a fact about the store as a whole."""
        with self.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def event(
        self, cursor: sqlite3.Cursor, kind: str, *, target: int | None = None, label: str | None = None,
        weight: float | None = None, context: str | None = None,
    ) -> int:  # fmt: skip
        """Append one event inside a transaction; return its place, which :meth:`mark` takes after the commit."""
        seq = self.last + 1
        id = f"{kind}-{seq}"
        while self.find([id]):  # a client has given it to a feedback
            id += "'"
        cursor.execute(
            "INSERT INTO log (seq, id, at, kind, target, label, weight, context) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (seq, id, time.time(), kind, target, label, weight, context),
        )
        return seq

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
        cursor.execute(
            "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, at, reason, root, json.dumps(ranges), began, json.dumps(report)),
        )
        return Version(number, at, reason, root, ranges, began, report)

    def add_snapshot(self, cursor: sqlite3.Cursor, snapshot: Snapshot, content: bytes) -> None:
        """Keep a snapshot and the content of its model file."""
        digest, progress = self.add_model(cursor, content), json.dumps(snapshot.progress)
        cursor.execute(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?)",
            (snapshot.version, snapshot.seq, snapshot.as_of, time.time(), digest, progress),
        )

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

    def _with_ids(self, query: str, ids: Sequence[str]) -> Iterator[Any]:
        for start in range(0, len(ids), _MOST_VARIABLES):
            some = ids[start : start + _MOST_VARIABLES]
            marks = ",".join("?" * len(some))
            yield from self.connection.execute(f"{query} WHERE id IN ({marks})", some)

    def versions(self) -> list[Version]:
        """All versions, oldest first; the last one is current."""
        lines = self.connection.execute(
            "SELECT version, at, reason, root, ranges, began, report FROM versions ORDER BY version"
        )
        return [
            Version(v, at, reason, root, [(a, b) for a, b in json.loads(ranges)], began, json.loads(report))
            for v, at, reason, root, ranges, began, report in lines
        ]

    def current(self) -> Version:
        """The version that is served."""
        versions = self.versions()
        if not versions:
            raise StoreError(f"{self.path} holds no model yet.")
        return versions[-1]

    def model(self, digest: str) -> bytes:
        """Content of a model file."""
        line = self.connection.execute("SELECT content FROM models WHERE digest = ?", (digest,)).fetchone()
        if line is None:
            raise StoreError(f"{self.path} holds no model {digest[:12]}.")
        content = bytes(line[0])
        if sha256(content).hexdigest() != digest:
            raise StoreError(f"{self.path} is damaged: model {digest[:12]} does not match its checksum.")
        return content

    def snapshots(self, version: int) -> list[Snapshot]:
        """Snapshots of a version, newest first."""
        lines = self.connection.execute(
            "SELECT version, seq, as_of, model, progress FROM snapshots WHERE version = ? "
            "ORDER BY seq DESC, as_of DESC",
            (version,),
        )
        return [Snapshot(v, seq, as_of, model, json.loads(progress)) for v, seq, as_of, model, progress in lines]

    def is_valid(self, snapshot: Snapshot, version: Version) -> bool:
        """Whether no later correction changes what a snapshot has learnt."""
        return not any(version.holds(seq) for seq in self.changed_since(snapshot.as_of, snapshot.seq))

    def counts(self) -> dict[str, int]:
        """Number of events of each kind, and of remembered predictions."""
        counts = dict(self.connection.execute("SELECT kind, count(*) FROM log GROUP BY kind").fetchall())
        (counts["remembered"],) = self.connection.execute("SELECT count(*) FROM remembered").fetchone()
        return counts
