"""The file of a store: opened, locked, compared with what was acknowledged; its chain of events, and transactions."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from rankwise.serve import schema
from rankwise.serve._lock import FileLock
from rankwise.serve._opening import Acknowledged, connect, fits_on_no_disk
from rankwise.serve.log_chain import GENESIS, Event, Walk, link

_CHUNK = 5000  # events that are read at a time
_CACHE = 8000  # kB of pages that the writer keeps; the system's cache has the others
_CHECKED_AT_START = 200_000  # newest events whose digests are compared when a store is opened for writing

log = logging.getLogger("rankwise.serve")
_T = TypeVar("_T")


class StoreError(ValueError):
    """A store that cannot be opened or trusted, with the reason."""


class StoreInUseError(StoreError):
    """Another process writes to the store."""


@dataclass(frozen=True)
class Break:
    """An event that does not match its digest; ``found`` is the digest that it should have, in hexadecimal digits."""

    seq: int
    id: str
    found: str


def is_damaged(error: sqlite3.Error) -> bool:
    """Whether an error is that of a damaged file."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    said = ("UTF-8", "no such table", "no such column", "duplicate column")
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or any(part in str(error) for part in said)


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


class StoreFile:
    """An open file; with ``write`` it is locked, and created if it does not exist.

    With ``accept_loss`` it is opened although acknowledged events are missing or were changed, as in a restored backup.
    """

    def __init__(self, path: Path | str, *, write: bool = False, accept_loss: bool = False) -> None:
        self.path = Path(path)
        self.accept_loss = accept_loss
        self.trouble: str | None = None  # why nothing can be written now
        self.lock: FileLock | None = None
        acknowledged: Acknowledged | None = None
        if write:
            if not self.path.parent.is_dir():
                raise StoreError(f"{self.path}: there is no directory {self.path.parent}.")
            try:
                self.lock = FileLock(Path(f"{self.path}.lock"))
            except BlockingIOError:
                raise StoreInUseError(f"another process writes to {self.path}: one store has one server.") from None
            except OSError as error:
                raise StoreError(f"{self.path} cannot be written: {error.strerror}.") from None
        elif not self.path.is_file():
            raise StoreError(f"no store at {self.path}.")
        with ExitStack() as opened, ExitStack() as refused:
            if self.lock is not None:
                opened.callback(self.lock.release)
                acknowledged = Acknowledged.read(self.lock.read())
                if acknowledged is None:
                    refused.callback(self.lock.remove)  # it says nothing
                if not self.path.exists() or not self.path.stat().st_size:
                    self._require_new(acknowledged)
            try:
                self.connection = connect(self.path, write, opened)
                opened.callback(self.connection.close)
                self._prepare(write, acknowledged)
                self.name = self.note("name")
                #: Place after which events have digests of their own, and the digest there.
                self.chain_begins = self._decoded(schema.CHAIN_BEGINS, schema.chain_begins)
                self.last = self.newest()
                self.head = self._head_at(self.last)
                if write:
                    self._compare_with(acknowledged)
                    self._check_newest()
                    self._mark(self.last, self.head)
            except sqlite3.DatabaseError as error:
                raise self.damage(error, "cannot be opened as a store") from None
            refused.pop_all()
            self._opened = opened.pop_all()  # it stays open

    def close(self) -> None:
        """Close the file and give back the lock."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.close()
        if isinstance(error, sqlite3.DatabaseError):
            raise self.damage(error) from None

    def damage(self, error: sqlite3.DatabaseError, what: str = "cannot be read") -> StoreError:
        """What an error of the database says about the file, and what to do."""
        remedy = ""
        if is_damaged(error):
            remedy = " Restore a backup, or save what can be read with 'rankwise store repair'."
        said = str(error).partition(" with text")[0]  # behind it stands what the file holds
        return StoreError(f"{self.path} {what}: {said}.{remedy}")

    def _lacks(self, what: str) -> StoreError:
        return StoreError(
            f"{self.path} is damaged: {what}. Restore a backup, or save what is sound with 'rankwise store repair'."
        )

    # -- opening -----------------------------------------------------------------------------------------------------

    def _prepare(self, write: bool, acknowledged: Acknowledged | None) -> None:
        """Set up the connection; the file of another application is refused before anything in it changes."""
        execute = self.connection.execute
        execute("PRAGMA trusted_schema=OFF")
        execute(f"PRAGMA cache_size={-_CACHE if write else -_CACHE // 4}")
        (application,) = execute("PRAGMA application_id").fetchone()
        (self.format,) = execute("PRAGMA user_version").fetchone()
        tables = {name for (name,) in execute("SELECT name FROM sqlite_master")}
        is_new = write and not tables and not application
        if is_new:
            self._require_new(acknowledged)
        elif application != schema.APPLICATION:
            raise StoreError(f"{self.path} is a database of something else.")
        elif self.format > schema.FORMAT:
            raise StoreError(
                f"{self.path} has format {self.format}; this version reads up to {schema.FORMAT}. Upgrade rankwise."
            )
        elif absent := schema.TABLES - tables - ({"requests"} if self.format < 2 else set()):
            raise self._lacks(f"the table {min(absent)!r} is gone")
        if not write:
            return
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=FULL")
        execute("PRAGMA wal_autocheckpoint=2000")
        if is_new:
            with transaction(self.connection) as cursor:
                schema.create(cursor)
        elif self.format < schema.FORMAT:
            with transaction(self.connection) as cursor:
                schema.upgrade(cursor)
        else:  # refuse a file that cannot be written at all now, not at the first feedback
            try:
                self._note("opened", str(time.time()))
            except sqlite3.OperationalError as error:
                if not fits_on_no_disk(error):
                    raise
                self.trouble = str(error)  # it can serve, and write once there is room
                log.error("nothing can be written: %s", error)
        self.format = schema.FORMAT

    def _require_new(self, acknowledged: Acknowledged | None) -> None:
        """Refuse to begin a store where one was."""
        if acknowledged is not None and acknowledged.seq and not self.accept_loss:
            what = "is empty" if self.path.exists() else "is not there"
            raise StoreError(
                f"{self.path} {what}, but event {acknowledged.seq} was acknowledged: the file was deleted or emptied. "
                f"Restore it and its -wal from a backup, or begin anew and accept the loss with --accept-loss."
            )

    def lacks(self, acknowledged: Acknowledged | None) -> str | None:
        """Why the store does not hold what was acknowledged; None if it does."""
        if acknowledged is None or not acknowledged.seq:
            return None
        seq, reason = acknowledged.seq, None
        if acknowledged.name != self.name:
            reason = "is another store than the one that was served here"
        elif seq > (newest := self.newest()):  # read after the note, to which a server may have written
            reason = f"ends at event {newest}"
        elif acknowledged.digest is not None and self._head_at(seq) != acknowledged.digest:
            reason = f"has another history up to event {seq}"
        return None if reason is None else f"{reason}, but event {seq} was acknowledged"

    def _compare_with(self, acknowledged: Acknowledged | None) -> None:
        """Refuse a store that does not hold what was acknowledged."""
        reason = self.lacks(acknowledged)
        if reason is None:
            return
        if not self.accept_loss:
            raise StoreError(
                f"{self.path} {reason}: the file or its -wal was cut or replaced. "
                f"Restore both, or accept the loss with --accept-loss."
            )
        log.warning("%s %s; the loss is accepted", self.path, reason)

    def _check_newest(self) -> None:
        """Refuse a store whose newest events were changed, among them all that the served model learns now."""
        for found in self.breaks(min(self._learnt(), self.last - _CHECKED_AT_START)):
            if not self.accept_loss:
                raise StoreError(
                    f"{self.path}: event {found.seq} ({found.id[:100]!r}) does not match its digest: it was changed, "
                    f"or an event before it removed, after it was written. Restore a backup, save what is sound with "
                    f"'rankwise store repair', or accept the log as it is with --accept-loss."
                )
            log.warning("event %d does not match its digest; this is accepted", found.seq)
            self._note("accepted", json.dumps([*self._accepted(), (found.seq, found.found)]))

    def _learnt(self) -> int:
        """Place of the log after which the served model learns when the store is opened."""
        raise NotImplementedError

    def _accepted(self) -> list[tuple[int, str]]:
        def decode(note: str) -> list[tuple[int, str]]:
            return msgspec.json.decode(note or "[]", type=list[tuple[int, str]])

        return self._decoded("accepted", decode)

    def _decoded(self, key: str, decode: Callable[[str], _T]) -> _T:
        try:
            return decode(self.note(key))
        except msgspec.DecodeError:
            raise self._lacks(f"its note {key!r} cannot be read") from None

    def _mark(self, seq: int, head: bytes) -> None:
        """Note that everything up to here was committed, without waiting for the disk."""
        self.last, self.head = seq, head
        if self.lock is not None:
            try:
                self.lock.write(f"{self.name} {seq} {head.hex()}")
            except OSError as error:  # what is committed is committed: the note is only behind
                log.warning("the lock file cannot be written: %s", error)

    def note(self, key: str) -> str:
        """A fact about the store as a whole, empty if there is none."""
        line = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return "" if line is None else str(line[0])

    def newest(self) -> int:
        """Place of the last event that is in the log now, whoever wrote it."""
        return int(self.connection.execute("SELECT coalesce(max(seq), 0) FROM log").fetchone()[0])

    # -- the chain ---------------------------------------------------------------------------------------------------

    @property
    def has_chain(self) -> bool:
        """Whether events have digests; a store of an older version gets them when it is opened for writing."""
        return bool(self.format >= 2)

    def _head_at(self, seq: int) -> bytes:
        """Digest of the last event up to a place; empty if it has none of its own."""
        begins, digest = self.chain_begins
        if seq <= begins:
            return digest if seq == begins else b""
        if not self.has_chain:
            return b""
        line = self.connection.execute(
            f"SELECT {schema.DIGEST} FROM log WHERE seq <= ? AND seq > ? ORDER BY seq DESC LIMIT 1", (seq, begins)
        ).fetchone()
        return digest if line is None else line[0] or b""

    def breaks(self, after: int = 0) -> Iterator[Break]:
        """Events that do not match their digests, among those after a place; those that were accepted are left out.

        Events that were there before the store had a chain are covered together, if the walk begins at the first one.
        """
        if not self.has_chain:
            return
        begins, digest = self.chain_begins
        accepted = set(self._accepted())
        (start,) = self.connection.execute("SELECT max(seq) FROM log WHERE seq <= ?", (max(after, 0),)).fetchone()
        start = 0 if start is None else start
        if 0 < start < begins:
            start = begins
        walk, seq = Walk(self._head_at(start) if start >= begins else GENESIS), start
        if start < begins:
            for _, *event in self._events(0, begins):
                walk.meets(event, None)
            if walk.head != digest and (begins, walk.head.hex()) not in accepted:
                yield Break(begins, "an event before the chain began", walk.head.hex())
            walk, seq = Walk(digest), begins
        for own, *event in self._events(seq):
            found = walk.meets(event, own)
            if own is None:
                found = walk.head
            if found is not None and (event[0], found.hex()) not in accepted:
                yield Break(event[0], event[1], found.hex())

    def _events(self, after: int, upto: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Digest and fields of events in a range of places."""
        query = f"SELECT {schema.DIGEST}, {schema.EVENT} FROM log WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        stop = self.newest() if upto is None else upto
        while lines := self.connection.execute(query, (after, stop, _CHUNK)).fetchall():
            yield from lines
            after = lines[-1][1]

    # -- writing ---------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Cursor]:
        """One transaction, durable when it ends; an error inside undoes all of it."""
        self._end = self.last, self.head
        with transaction(self.connection) as cursor:
            yield cursor
        if self._end[0] != self.last:
            self._mark(*self._end)

    def write_note(self, key: str, value: str) -> None:
        """Keep a fact about the store as a whole."""
        self._note(key, value)

    def _note(self, key: str, value: str) -> None:
        with transaction(self.connection) as cursor:
            cursor.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def append(self, cursor: sqlite3.Cursor, events: Iterable[Event]) -> None:
        """Append events, whose places follow each other, inside a transaction."""
        seq, head = self._end
        lines = []
        for event in events:
            seq, head = event[0], link(head, event)
            lines.append((*event, head))
        cursor.executemany(f"INSERT INTO log ({schema.EVENT}, digest) VALUES ({'?, ' * 10}?)", lines)
        self._end = seq, head
