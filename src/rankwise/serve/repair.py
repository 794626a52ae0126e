"""What can be read of a damaged store, in a new file; and a list of what cannot.

The damaged file is only read. Its tables are read in ranges, which are halved around what is unreadable; events are
compared with their digests, models with theirs. If events are lost, those that are left get a chain of their own, and
a version of the model begins with the newest snapshot, which has learnt from what is lost: the new store is whole, and
its model follows from it. The same happens if the model that the served version began with is lost.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from rankwise._files import replacing
from rankwise.serve import schema
from rankwise.serve._opening import Acknowledged, connect, n_pages, readable_copy
from rankwise.serve._pages import leaf_rows
from rankwise.serve.log_chain import GENESIS, Walk, fingerprint, link
from rankwise.serve.store import StoreError

_CHUNK = 2000  # lines that are read at a time
_SMALLEST = 20  # bytes that an event takes at least: a place that the file has no room for is a damaged number
_PLAIN = {"remembered": ("number", "id", "features"), "requests": ("key", "digest", "at"),
          "challengers": ("number", "at", "root", "trained_to", "report", "state")}  # fmt: skip
#: What is JSON in a line that has no digest.
_JSON: dict[str, Callable[[list[Any]], tuple[Any, ...]]] = {
    "versions": lambda line: (line[4], line[6]),
    "snapshots": lambda line: (line[5],),
}
_OF_THE_FILE = ("name", "opened", "probe", "accepted", schema.CHAIN_BEGINS)
_INSERT = f"INSERT OR IGNORE INTO log ({schema.EVENT}, digest) VALUES ({'?, ' * 10}?)"


@dataclass
class RepairReport:
    """What was saved, and what was not."""

    events: int = 0  # saved
    lost: list[tuple[int, str]] = field(default_factory=list)  # place and id of events that cannot be read
    changed: list[tuple[int, str]] = field(default_factory=list)  # events that do not match their digests
    #: Saved; each follows a lost one, which its digest covers.
    unproven: list[tuple[int, str]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # lines of other tables
    version: int | None = None  # that begins with the repair
    has_model: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether everything was saved."""
        return not (self.lost or self.changed or self.others)

    def to_plain(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        return {**asdict(self), "whole": self.is_whole}


def repair(path: Path, output: Path) -> RepairReport:
    """Save what can be read of a store in a new file, which must not be there; return what was saved and what not."""
    if output.exists():
        raise StoreError(f"{output} is there already: a store is repaired into a new file.")
    if not path.is_file():
        raise StoreError(f"no store at {path}.")
    with ExitStack() as opened:
        source = _opened(path, opened)
        report = source.compared()
        with replacing(output) as temporary:
            while refused := _Copy(source, report).write(temporary):  # two events with one id, for example
                report.changed += refused
                temporary.unlink()
    return report


def _opened(path: Path, opened: ExitStack) -> _Source:
    """A store to read; if its tail is gone, without it; if its first page is damaged, with that of a new store."""
    found, reason = None, ""
    try:
        found = _Source(path, path, opened)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        reason = str(error)
        has, had = n_pages(path)
        if 0 < has < had:
            with suppress(sqlite3.DatabaseError, UnicodeDecodeError):
                rest = _Source(path, readable_copy(path, opened, new_first_page=False), opened)
                rest.unreadable.append(f"what was behind page {has} of {had}, where the file ends")
                found = rest if rest.n_sound else None
    if found is not None and found.has_end:
        return found
    with suppress(sqlite3.DatabaseError, UnicodeDecodeError, StoreError):
        mended = _Source(path, readable_copy(path, opened, new_first_page=True), opened)
        least = 0 if found is None or not found.has_chain else found.n_sound
        if mended.n_sound > least and len(mended.compared().changed) < mended.last / 2:
            mended.unreadable.append("the first page, which was replaced by that of a new store")
            return mended
    if found is None:
        raise StoreError(f"{path}: nothing can be read: {reason}. Restore a backup.")
    return found


class _Source:
    """A damaged store, line by line; ``file`` is the file that is read, the store itself or a mended copy."""

    def __init__(self, path: Path, file: Path, opened: ExitStack) -> None:
        self._file, self._scanned = file, dict[int, tuple[Any, ...]]()
        self._is_torn = False  # whether a part of the log cannot be reached
        self.connection = connect(file, False, opened)
        opened.callback(self.connection.close)
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        (format,) = self.connection.execute("PRAGMA user_version").fetchone()
        columns = {name for _, name, *_ in self.connection.execute("PRAGMA table_info(log)")}
        is_store = application == schema.APPLICATION or columns >= {"seq", "target", "features", "context"}
        if not is_store or format > schema.FORMAT:
            raise StoreError(f"{path} is no store, or one of a newer version of rankwise.")
        self.has_chain = "digest" in columns
        self.unreadable: list[str] = []
        self._room = sum(file.stat().st_size for file in (path, Path(f"{path}-wal")) if file.is_file()) // _SMALLEST
        self.notes = {str(key): str(value) for _, key, value in self.lines("meta", ("key", "value"))}
        known = Acknowledged.beside(path)
        self.is_open = False  # whether nothing says where the log ends
        self.last = self._last("log")
        self.has_end = not self.is_open
        if known is not None and known.name == self.notes.get("name", known.name) and known.seq > self.last:
            if known.seq > self._room:  # the file was cut: too many to be listed one by one
                self.unreadable.append(f"log, events {self.last + 1} to {known.seq}")
            else:
                self.last, self.is_open = known.seq, False
        found = {event[0] for _, *event in self.events()}
        if self._is_torn or self.is_open:
            self._scan(set(range(1, (self._room if self.is_open else self.last) + 1)) - found)
        if self.is_open:
            self.last = max((self.last, *self._scanned))
            self.unreadable.append(f"log, events after {self.last}" if self.last else "log, all lines")
        self.begins, self.digest = self._chain_begins()
        self.is_prefix_sound = True

    def _last(self, table: str) -> int:
        found = []
        for query in ("SELECT max(rowid) FROM {0}", "SELECT max(rowid) FROM {0} INDEXED BY sqlite_autoindex_{0}_1"):
            with suppress(sqlite3.DatabaseError):
                found.append(self.connection.execute(query.format(table)).fetchone()[0] or 0)
        last = max(found, default=0)
        if not found:  # the end cannot be reached: what is before the first damaged page
            with suppress(sqlite3.DatabaseError):
                for (rowid,) in self.connection.execute(f"SELECT rowid FROM {table} ORDER BY rowid"):
                    last = rowid
            if table == "log":
                self.is_open = True
            else:
                self.unreadable.append(f"{table}, " + (f"lines after {last}" if last else "all lines"))
        if table != "log" or last <= self._room:
            return last
        self.unreadable.append(f"log, events after {self._room}")
        return self._room

    def _chain_begins(self) -> tuple[int, bytes]:
        """Where the chain begins, from its note; without a sound one, after the last event without a digest."""
        with suppress(msgspec.DecodeError):
            begins = schema.chain_begins(self.notes.get(schema.CHAIN_BEGINS, ""))
            if begins[0] <= self.last:
                return begins
        self.unreadable.append(f"meta, {schema.CHAIN_BEGINS!r}")
        seq = 0
        for digest, *event in self.events():
            if digest is not None:
                break
            seq = event[0]
        return seq, GENESIS

    def lines(self, table: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
        """Number and columns of all lines that can be read; what cannot is noted."""
        query = (f"SELECT rowid, {', '.join(columns)} FROM {table} WHERE rowid BETWEEN ? AND ? ORDER BY rowid "
                 f"LIMIT {_CHUNK}")  # fmt: skip
        last = self.last if table == "log" else self._last(table)
        ranges = [(1, last)] if last else []
        while ranges:
            low, high = ranges.pop()
            try:
                found = self.connection.execute(query, (low, high)).fetchall()
                numbers = [low - 1, *(line[0] for line in found), high + 1]
                if any(number >= after for number, after in pairwise(numbers)):
                    raise sqlite3.DatabaseError("a damaged page gives the same lines again")
            except (sqlite3.DatabaseError, UnicodeDecodeError):
                middle = (low + high) // 2
                if low < high:
                    ranges += [(middle + 1, high), (low, middle)]
                elif table != "log":
                    self.unreadable.append(f"{table}, line {low}")
                else:
                    self._is_torn = True
                continue
            yield from found
            if len(found) == _CHUNK:
                ranges.append((found[-1][0] + 1, high))

    def events(self) -> Iterator[tuple[Any, ...]]:
        """Digest and fields of all events that can be read."""
        columns = schema.EVENT if self.has_chain else schema.EVENT.replace("actor", "NULL")
        rest = sorted(self._scanned, reverse=True)
        for seq, digest, *event in self.lines("log", (schema.DIGEST if self.has_chain else "NULL", columns)):
            while rest and rest[-1] < seq:
                yield self._scanned[rest.pop()]
            yield digest, *event
        while rest:
            yield self._scanned[rest.pop()]

    def _scan(self, wanted: set[int]) -> None:
        """Look for events in all pages of the file, where no tree leads to them any more."""
        for seq, values in leaf_rows(self._file, range(9, 12)):
            _, id, at, kind, target, label, weight, features, context, actor, digest = (*values, None, None)[:11]
            if seq in wanted and values[0] is None and isinstance(kind, str) and isinstance(at, (int, float)):
                weight = float(weight) if isinstance(weight, int) else weight  # whole numbers are kept as such
                event = (seq, id, float(at), kind, target, label, weight, features, context, actor)
                self._scanned.setdefault(seq, (digest, *event))

    def compared(self) -> RepairReport:
        """What is lost or changed among the events."""
        report = RepairReport()
        walk, before = Walk(GENESIS), 0
        lost: list[int] = []
        for digest, *event in self.events():
            seq = event[0]
            if before <= self.begins < seq:
                self._end_of_prefix(walk, lost)
                walk = Walk(self.digest)
            has_digest = digest is not None
            is_foreign = seq > self.begins and self.has_chain  # an event without a digest that came from outside
            if not has_digest and (is_foreign or not _can_be_learnt(event)):
                report.changed.append((seq, event[1]))
                lost += range(before + 1, seq)
                before = seq
                continue
            is_right = walk.meets(event, digest) is None
            if seq > before + 1 and not (is_right and seq > self.begins and has_digest):
                lost += range(before + 1, seq)
                report.unproven.append((seq, event[1]))
                walk = Walk(digest if has_digest else walk.head)
            elif not is_right:
                report.changed.append((seq, event[1]))
            before = seq
        if 0 < before <= self.begins:
            self._end_of_prefix(walk, lost)
        lost += range(before + 1, self.last + 1)
        ids = self._ids(set(lost)) if lost else {}
        report.lost = [(seq, ids.get(seq, "?")) for seq in lost]
        return report

    @property
    def n_sound(self) -> int:
        """Number of events that can be read and match their digests."""
        report = self.compared()
        return self.last - len(report.lost) - len(report.changed)

    def _end_of_prefix(self, walk: Walk, lost: list[int]) -> None:
        """Compare the events before the chain with the one digest of all of them."""
        if walk.head != self.digest and not lost and self.has_chain:
            self.is_prefix_sound = False
            self.unreadable.append(f"one of the events 1 to {self.begins} was changed")

    def _ids(self, wanted: set[int]) -> dict[int, str]:
        """Ids of events, from the index, which lies in pages of its own."""
        found: dict[int, str] = {}
        with suppress(sqlite3.DatabaseError, UnicodeDecodeError):
            for seq, id in self.connection.execute("SELECT seq, id FROM log INDEXED BY sqlite_autoindex_log_1"):
                if seq in wanted:
                    found[seq] = str(id)
        return found

    def sealed(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Lines that match their digests."""
        columns = schema.SEALED[table]
        for rowid, *line, digest in self.lines(table, (*columns, "digest" if self.has_chain else "NULL")):
            is_right = digest == fingerprint(*line) if self.has_chain else all(map(_is_json, _JSON[table](line)))
            if not is_right:
                self.unreadable.append(f"{table}, line {rowid}")
            else:
                yield tuple(line)

    def models(self) -> Iterator[tuple[str, bytes]]:
        """Models that match their checksums."""
        for rowid, digest, content in self.lines("models", ("digest", "CAST(content AS BLOB)")):
            if content is not None and sha256(content).hexdigest() == digest:
                yield digest, content
            else:
                self.unreadable.append(f"models, line {rowid}")


def _can_be_learnt(event: list[Any]) -> bool:
    """Whether an event without a digest is what a store writes, as far as that can be said."""
    _, id, at, kind, target, label, weight, features, context, _ = event
    if kind == "feedback" and not (isinstance(label, str) and isinstance(weight, float) and _is_json(features)):
        return False
    if kind == "correction" and not (isinstance(label, str) and isinstance(target, int)):
        return False
    return isinstance(id, str) and isinstance(at, float) and (context is None or _is_json(context))


def _is_json(text: Any) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError):
        return False
    return True


class _Copy:
    """The new store, as it is written."""

    def __init__(self, source: _Source, report: RepairReport) -> None:
        self.source, self.report = source, report
        self.gone = {seq for seq, _ in (*report.lost, *report.changed)}
        self.keeps_chain = not self.gone and source.is_prefix_sound and source.has_chain
        self.refused: list[tuple[int, str]] = []
        self.seq, self.head = 0, GENESIS

    def write(self, path: Path) -> list[tuple[int, str]]:
        """Write all that is sound; return events that a store cannot hold, of which nothing is written then."""
        source, report = self.source, self.report
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            cursor = connection.cursor()
            cursor.execute("PRAGMA synchronous=OFF")  # the file is flushed before it gets its name
            cursor.execute("BEGIN")
            schema.create(cursor, source.notes.get("name"))
            notes = {key: value for key, value in source.notes.items() if key not in _OF_THE_FILE}
            if self.keeps_chain:
                notes[schema.CHAIN_BEGINS] = json.dumps({"seq": source.begins, "digest": source.digest.hex()})
            cursor.executemany("INSERT INTO meta VALUES (?, ?)", notes.items())
            self._copy_events(cursor)
            if self.refused:
                return self.refused
            self._copy_models(cursor)
            report.others = list(dict.fromkeys(source.unreadable))
            cursor.execute("COMMIT")
        finally:
            connection.close()
        return []

    def _copy_events(self, cursor: sqlite3.Cursor) -> None:
        """Copy events with their digests, or with digests anew if some are gone."""
        self.report.events = 0
        if self.keeps_chain:
            self.seq, self.head = self.source.begins, self.source.digest
        for digest, *event in self.source.events():
            if event[0] in self.gone:
                continue
            if not self.keeps_chain:
                digest = link(self.head, event)
            cursor.execute(_INSERT, (*event, digest))
            if not cursor.rowcount:
                self.refused.append((event[0], str(event[1])))
                continue
            self.report.events += 1
            self.seq = event[0]
            if digest is not None:
                self.head = digest

    def _copy_models(self, cursor: sqlite3.Cursor) -> None:
        """Copy models, versions that began with one of them, snapshots, and the rest."""
        source = self.source
        models: set[str] = set()
        for digest, content in source.models():
            cursor.execute("INSERT OR IGNORE INTO models VALUES (?, ?)", (digest, content))
            models.add(digest)
        newest = list(source.sealed("versions"))
        versions = [line for line in newest if line[3] in models]
        for line in newest:
            if line in versions:
                schema.insert_sealed(cursor, "versions", line)
            else:
                source.unreadable.append(f"version {line[0]}: the model that it began with")
        snapshots = [line for line in source.sealed("snapshots") if line[4] in models]
        kept = {line[0] for line in versions}
        for line in snapshots:
            if line[0] in kept and (not self.gone or line[2] < min(self.gone)):  # later ones have learnt what is gone
                schema.insert_sealed(cursor, "snapshots", line)
        for table, columns in _PLAIN.items():
            if source.has_chain or table != "requests":
                marks = ", ".join("?" * len(columns))
                insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"
                for _, *values in source.lines(table, columns):
                    if table != "challengers" or values[2] in models:
                        cursor.execute(insert, values)
        self._begin(cursor, newest[-1:], kept, snapshots)

    def _begin(
        self, cursor: sqlite3.Cursor, newest: list[tuple[Any, ...]], kept: set[int], snapshots: list[tuple[Any, ...]]
    ) -> None:
        """Begin a version with the newest snapshot, if the served one cannot go on as it is.

        That is so if the snapshot has learnt from events that are gone, or the model that the version began with is.
        """
        report, source = self.report, self.source
        number, ranges = (newest[0][0], json.loads(newest[0][4])) if newest else (0, [])
        is_whole = number in kept
        if is_whole and not any(after < seq and (upto is None or seq <= upto)
                                for seq in self.gone for after, upto in ranges):  # fmt: skip
            return
        number = number or max((line[0] for line in snapshots), default=0)
        for of, seq, as_of, _, model, _ in sorted(snapshots, key=lambda line: line[1:3], reverse=True):
            if of != number or (is_whole and as_of < min(self.gone)):
                continue
            changes = "SELECT 1 FROM log WHERE seq > ? AND target <= ? LIMIT 1"
            if cursor.execute(changes, (as_of, seq)).fetchone():
                if is_whole:
                    continue
                source.unreadable.append(f"corrections after event {as_of} of events up to {seq}, in the model")
            last, now = max(self.seq, source.last) + 1, time.time()
            facts = json.dumps({"lost": len(report.lost), "changed": len(report.changed), "from_seq": seq})
            event = (last, f"repair-{last}", now, "repair", None, None, None, None, facts, None)
            cursor.execute(_INSERT, (*event, link(self.head, event)))
            schema.insert_sealed(
                cursor, "versions", (number + 1, now, "repair", model, json.dumps([(seq, None)]), last, facts)
            )
            report.version = number + 1
            return
        if not kept and report.events:
            report.has_model = False
            source.unreadable.append("versions: no model could be saved")
