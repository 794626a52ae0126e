"""How the file of a store is opened, and what the lock file beside it notes."""

from __future__ import annotations

import re
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from rankwise.serve import schema

_NOTE = re.compile(r"(\w{32}) ([0-9]{1,18})(?: ([0-9a-f]{64}))?")
_CANNOT_MAKE_FILES = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR)


@dataclass(frozen=True)
class Acknowledged:
    """What was acknowledged: in which store, up to which event, and the digest of that event if it is noted."""

    name: str
    seq: int
    digest: bytes | None

    @classmethod
    def read(cls, note: str) -> Acknowledged | None:
        """The note of a lock file; None if it says nothing."""
        match = _NOTE.fullmatch(note)
        return None if match is None else cls(match[1], int(match[2]), bytes.fromhex(match[3]) if match[3] else None)

    @classmethod
    def beside(cls, path: Path) -> Acknowledged | None:
        """The note beside a store that is only read; None if there is none."""
        try:
            return cls.read(Path(f"{path}.lock").read_text(errors="replace").strip())
        except OSError:
            return None


def connect(path: Path, write: bool, opened: ExitStack) -> sqlite3.Connection:
    """Connection to a file; one for reading also works where nothing can be written, as on a backup medium."""
    uri = path.resolve().as_uri()
    connection = _connect(f"{uri}?mode={'rwc' if write else 'ro'}")
    if write:
        return connection
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF not in _CANNOT_MAKE_FILES:
            raise
        recent = Path(f"{path}-wal")
        if recent.is_file() and recent.stat().st_size:  # SQLite reads it only beside a file that it can write
            folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="rankwise-store-"))
            copy = Path(folder) / "store.sqlite"
            shutil.copyfile(path, copy)
            shutil.copyfile(recent, f"{copy}-wal")
            return _connect(f"{copy.as_uri()}?mode=ro")
        return _connect(f"{uri}?immutable=1")
    return connection


def n_pages(path: Path) -> tuple[int, int]:
    """Whole pages that a file has, and those that its first page says it has."""
    with path.open("rb") as file:
        head = file.read(100)
    return path.stat().st_size // max(512, _page_size(head)), int.from_bytes(head[28:32], "big")


def _page_size(head: bytes) -> int:
    size = int.from_bytes(head[16:18], "big")
    return 65536 if size == 1 else size


def readable_copy(path: Path, opened: ExitStack, *, new_first_page: bool) -> Path:
    """Copy of a file whose tail is gone, or, with the first page of a new store, of one whose first page is damaged.

    The first page says that the file is a database, how long it is, and where its tables begin, which is the same in
    all stores that no other program has written anew. Tables that begin behind the end get empty pages there, which
    SQLite reads as damaged ones; without them it reads no table at all.
    """
    folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="rankwise-store-")))
    copy, new = folder / "store.sqlite", folder / "new.sqlite"
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        cursor = connection.execute("BEGIN")
        schema.create(cursor)
        cursor.execute("COMMIT")
    shutil.copyfile(path, copy)
    source = new if new_first_page else copy
    with source.open("rb") as file:
        size = _page_size(file.read(100))
        file.seek(0)
        page = bytearray(file.read(size))
    n = copy.stat().st_size // size
    with copy.open("r+b") as damaged:
        if n < n_pages(new)[0]:
            damaged.truncate(n * size)
            n = n_pages(new)[0]
            damaged.truncate(n * size)
        page[28:32] = n.to_bytes(4, "big")
        recent = Path(f"{path}-wal")
        if recent.is_file() and recent.stat().st_size:
            shutil.copyfile(recent, f"{copy}-wal")
            page[18:20] = b"\2\2"  # it is to be read
        damaged.write(page)
    return copy


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30, check_same_thread=False)


def fits_on_no_disk(error: sqlite3.Error) -> bool:
    """Whether an error is that of a disk that takes no more."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
