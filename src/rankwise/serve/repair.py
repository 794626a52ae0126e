"""What can be read of a damaged store, in a new file; and a list of what cannot.

The damaged file is only read. Its tables are read in ranges, which are halved around what is unreadable; events are
compared with their digests, models with theirs. If events are lost, those that are left get a chain of their own, and
a version of the model begins with the newest snapshot, which has learnt from what is lost: the new store is whole, and
its model follows from it.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from rankwise._files import replacing
from rankwise.serve import schema
from rankwise.serve._opening import Acknowledged, connect
from rankwise.serve.log_chain import GENESIS, Walk, fingerprint, link
from rankwise.serve.store import StoreError

_CHUNK = 2000  # lines that are read at a time
_PLAIN = {"remembered": ("number", "id", "features"), "requests": ("key", "digest", "at"),
          "challengers": ("number", "at", "root", "trained_to", "report", "state")}  # fmt: skip
_OF_THE_FILE = ("name", "opened", "probe", "accepted", schema.CHAIN_BEGINS)


@dataclass
class RepairReport:
    """What was saved, and what was not."""

    events: int = 0  # saved
    lost: list[tuple[int, str]] = field(default_factory=list)  # place and id of events that cannot be read
    changed: list[tuple[int, str]] = field(default_factory=list)  # events that do not match their digests
    others: list[str] = field(default_factory=list)  # lines of other tables
    version: int | None = None  # that begins with the repair

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
        try:
            source = _Source(path, opened)
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{path}: nothing can be read: {error}. Restore a backup.") from None
        report = source.compared()
        with replacing(output) as temporary:
            _copy(source, report, temporary)
    return report


class _Source:
    """A damaged store, line by line."""

    def __init__(self, path: Path, opened: ExitStack) -> None:
        self.connection = connect(path, False, opened)
        opened.callback(self.connection.close)
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        (self.format,) = self.connection.execute("PRAGMA user_version").fetchone()
        if application != schema.APPLICATION or self.format > schema.FORMAT:
            raise StoreError(f"{path} is no store, or one of a newer version of rankwise.")
        self.unreadable: list[str] = []
        self.notes = {key: value for _, key, value in self.lines("meta", ("key", "value"))}
        begins = json.loads(self.notes.get(schema.CHAIN_BEGINS, '{"seq": 0, "digest": ""}'))
        self.begins, self.digest = int(begins["seq"]), bytes.fromhex(begins["digest"]) or GENESIS
        note = Path(f"{path}.lock")
        known = Acknowledged.read(note.read_text(errors="replace").strip()) if note.is_file() else None
        self.last = self._last("log")
        if known is not None and known.name == self.notes.get("name", known.name):
            self.last = max(self.last, known.seq)

    def _last(self, table: str) -> int:
        last = 0
        for query in ("SELECT max(rowid) FROM {0}", "SELECT max(rowid) FROM {0} INDEXED BY sqlite_autoindex_{0}_1"):
            with suppress(sqlite3.DatabaseError):
                last = max(last, self.connection.execute(query.format(table)).fetchone()[0] or 0)
        return last

    def lines(self, table: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
        """Number and columns of all lines that can be read; what cannot is noted."""
        query = f"SELECT rowid, {', '.join(columns)} FROM {table} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        last = self.last if table == "log" else self._last(table)
        ranges = [(low, min(low + _CHUNK - 1, last)) for low in range(1, last + 1, _CHUNK)][::-1]
        before = 0
        while ranges:
            low, high = ranges.pop()
            try:
                found = self.connection.execute(query, (low, high)).fetchall()
            except (sqlite3.DatabaseError, UnicodeDecodeError):
                middle = (low + high) // 2
                if low < high:
                    ranges += [(middle + 1, high), (low, middle)]
                elif table != "log":
                    self.unreadable.append(f"{table}, line {low}")
                continue
            for line in found:
                if before < line[0] <= high:  # a damaged page may give the same lines again
                    before = line[0]
                    yield line

    def events(self) -> Iterator[tuple[Any, ...]]:
        """Digest and fields of all events that can be read."""
        has_chain = self.format >= 2
        columns = schema.EVENT if has_chain else schema.EVENT.replace("actor", "NULL")
        for _, digest, *event in self.lines("log", ("digest" if has_chain else "NULL", columns)):
            yield digest, *event

    def compared(self) -> RepairReport:
        """What is lost or changed among the events."""
        report = RepairReport()
        walk, before = Walk(GENESIS), 0
        lost: list[int] = []
        for digest, *event in self.events():
            seq = event[0]
            if before <= self.begins < seq:
                if walk.head != self.digest and not lost:
                    self.unreadable.append(f"one of the events 1 to {self.begins} was changed")
                walk = Walk(self.digest)
            is_right = walk.meets(event, digest) is None
            if seq > before + 1 and not (is_right and seq > self.begins and digest is not None):
                lost += range(before + 1, seq)
                walk = Walk(walk.head if digest is None else digest)
            elif not is_right:
                report.changed.append((seq, event[1]))
            before = seq
        lost += range(before + 1, self.last + 1)
        ids = self._ids(set(lost)) if lost else {}
        report.lost = [(seq, ids.get(seq, "?")) for seq in lost]
        return report

    def _ids(self, wanted: set[int]) -> dict[int, str]:
        """Ids of events, from the index, which lies in pages of its own."""
        found: dict[int, str] = {}
        with suppress(sqlite3.DatabaseError, UnicodeDecodeError):
            for seq, id in self.connection.execute("SELECT seq, id FROM log INDEXED BY sqlite_autoindex_log_1"):
                if seq in wanted:
                    found[seq] = id
        return found

    def sealed(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Lines that match their digests."""
        columns = schema.SEALED[table]
        for rowid, *line, digest in self.lines(table, (*columns, "digest" if self.format >= 2 else "NULL")):
            if self.format >= 2 and digest != fingerprint(*line):
                self.unreadable.append(f"{table}, line {rowid}")
            else:
                yield tuple(line)


def _copy(source: _Source, report: RepairReport, path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous=OFF")  # the file is flushed before it gets its name
        cursor.execute("BEGIN")
        schema.create(cursor, source.notes.get("name"))
        notes = {key: value for key, value in source.notes.items() if key not in _OF_THE_FILE}
        gone = {seq for seq, _ in (*report.lost, *report.changed)}
        if not gone:
            begins = {"seq": source.begins, "digest": source.digest.hex()}
            notes[schema.CHAIN_BEGINS] = json.dumps(begins)
        cursor.executemany("INSERT INTO meta VALUES (?, ?)", notes.items())
        seq, head = _copy_events(source, report, cursor, gone)
        models = set()
        for _, digest, content in source.lines("models", ("digest", "content")):
            if sha256(content).hexdigest() == digest:
                cursor.execute("INSERT INTO models VALUES (?, ?)", (digest, content))
                models.add(digest)
            else:
                source.unreadable.append(f"models, {digest[:12]}")
        versions = list(source.sealed("versions"))
        for line in versions:
            schema.insert_sealed(cursor, "versions", line)
        snapshots = [line for line in source.sealed("snapshots") if line[4] in models]
        for line in snapshots:
            if not gone or line[2] < min(gone):  # later ones have learnt from what is gone
                schema.insert_sealed(cursor, "snapshots", line)
        for table, columns in _PLAIN.items():
            if source.format >= 2 or table != "requests":
                marks = ", ".join("?" * len(columns))
                lines = (line for _, *line in source.lines(table, columns))
                cursor.executemany(f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})", lines)
        report.others = list(dict.fromkeys(source.unreadable))
        if gone and versions:
            _begin_anew(cursor, report, versions[-1], snapshots, max(seq, source.last), head, gone)
        cursor.execute("COMMIT")
    finally:
        connection.close()


def _copy_events(source: _Source, report: RepairReport, cursor: sqlite3.Cursor, gone: set[int]) -> tuple[int, bytes]:
    """Copy events with their digests, or with digests anew if some are gone; return the last place and digest."""
    insert = f"INSERT OR IGNORE INTO log ({schema.EVENT}, digest) VALUES ({'?, ' * 10}?)"
    seq, head = 0, GENESIS
    for digest, *event in source.events():
        if event[0] in gone:
            continue
        seq = event[0]
        if gone:
            head = digest = link(head, event)
        cursor.execute(insert, (*event, digest))
        report.events += cursor.rowcount
    return seq, head


def _begin_anew(
    cursor: sqlite3.Cursor, report: RepairReport, version: tuple[Any, ...], snapshots: list[tuple[Any, ...]], last: int,
    head: bytes, gone: set[int],
) -> None:  # fmt: skip
    """Begin a version with the newest snapshot, if that has learnt from what is gone and no correction came later."""
    number, ranges = version[0], json.loads(version[4])
    if not any(after < seq and (upto is None or seq <= upto) for seq in gone for after, upto in ranges):
        return
    for of, seq, as_of, _, model, _ in sorted(snapshots, key=lambda line: line[1:3], reverse=True):
        changes = "SELECT 1 FROM log WHERE seq > ? AND target <= ? LIMIT 1"
        if of != number or as_of < min(gone) or cursor.execute(changes, (as_of, seq)).fetchone():
            continue
        now, facts = time.time(), {"lost": len(report.lost), "changed": len(report.changed), "from_seq": seq}
        event = (last + 1, f"repair-{last + 1}", now, "repair", None, None, None, None, json.dumps(facts), None)
        cursor.execute(f"INSERT INTO log ({schema.EVENT}, digest) VALUES ({'?, ' * 10}?)", (*event, link(head, event)))
        begun = (number + 1, now, "repair", model, json.dumps([(seq, None)]), last + 1, json.dumps(facts))
        schema.insert_sealed(cursor, "versions", begun)
        report.version = number + 1
        return
