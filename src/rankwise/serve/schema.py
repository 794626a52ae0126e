"""The tables of a store, and how a store of an older format gets them."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import uuid
from typing import Annotated, Any

import msgspec

from rankwise.serve.log_chain import FIELDS, GENESIS, Walk, fingerprint

FORMAT = 2
APPLICATION = 0x72616E6B  # "rank", so that other databases are recognised
EVENT = ", ".join(FIELDS)
DIGEST = "CAST(digest AS BLOB)"  # of an event; what is of another type was not written by a store

_SCHEMA = """
CREATE TABLE log (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at REAL NOT NULL, kind TEXT NOT NULL, target INTEGER,
  label TEXT, weight REAL, features TEXT, context TEXT, actor TEXT, digest BLOB);
CREATE INDEX log_target ON log (target) WHERE target IS NOT NULL;
CREATE TABLE requests (key TEXT PRIMARY KEY, digest BLOB NOT NULL, at REAL NOT NULL);
CREATE TABLE models (digest TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE versions (
  version INTEGER PRIMARY KEY, at REAL NOT NULL, reason TEXT NOT NULL, root TEXT NOT NULL, ranges TEXT NOT NULL,
  began INTEGER NOT NULL, report TEXT NOT NULL, digest BLOB);
CREATE TABLE snapshots (
  version INTEGER NOT NULL, seq INTEGER NOT NULL, as_of INTEGER NOT NULL, at REAL NOT NULL, model TEXT NOT NULL,
  progress TEXT NOT NULL, digest BLOB, PRIMARY KEY (version, seq, as_of));
CREATE TABLE remembered (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, features TEXT NOT NULL);
CREATE TABLE challengers (
  number INTEGER PRIMARY KEY, at REAL NOT NULL, root TEXT NOT NULL, trained_to INTEGER NOT NULL, report TEXT NOT NULL,
  state TEXT NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
#: Names of the tables.
TABLES = frozenset(re.findall(r"CREATE TABLE (\w+)", _SCHEMA))
#: Columns that the digest of a line covers.
SEALED = {
    "versions": ("version", "at", "reason", "root", "ranges", "began", "report"),
    "snapshots": ("version", "seq", "as_of", "at", "model", "progress"),
}
#: Key of the note with the place and the digest from which on events have digests of their own.
CHAIN_BEGINS = "chain begins"

log = logging.getLogger("rankwise.serve")


class _ChainBegins(msgspec.Struct):
    seq: Annotated[int, msgspec.Meta(ge=0)]
    digest: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")]


def chain_begins(note: str) -> tuple[int, bytes]:
    """Place and digest from a note, which is empty in stores that always had a chain."""
    if not note:
        return 0, GENESIS
    begins = msgspec.json.decode(note, type=_ChainBegins)
    return begins.seq, bytes.fromhex(begins.digest) or GENESIS


def create(cursor: sqlite3.Cursor, name: str | None = None) -> None:
    """Make all tables, inside a transaction."""
    for statement in _SCHEMA.split(";\n"):
        if statement.strip():
            cursor.execute(statement)
    cursor.execute(f"PRAGMA application_id={APPLICATION}")
    cursor.execute(f"PRAGMA user_version={FORMAT}")
    cursor.execute("INSERT INTO meta VALUES ('name', ?)", (name or uuid.uuid4().hex,))


def insert_sealed(cursor: sqlite3.Cursor, table: str, values: tuple[Any, ...]) -> None:
    """Write a line whose last column is the digest of the others."""
    marks = ", ".join("?" * (len(values) + 1))
    cursor.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (*values, fingerprint(*values)))


def upgrade(cursor: sqlite3.Cursor) -> None:
    """Bring a store of format 1 to format 2, inside a transaction.

    The events that are there keep no digests of their own, which would write the whole file anew: one note holds the
    digest of all of them.
    """
    log.info("the store gets a chain of digests, once")
    for table, column in (("log", "actor TEXT"), ("log", "digest BLOB"), ("versions", "digest BLOB"),
                          ("snapshots", "digest BLOB")):  # fmt: skip
        cursor.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    cursor.execute("CREATE TABLE requests (key TEXT PRIMARY KEY, digest BLOB NOT NULL, at REAL NOT NULL)")
    for table, columns in SEALED.items():
        lines = cursor.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}").fetchall()
        digests = [(fingerprint(*values), rowid) for rowid, *values in lines]
        cursor.executemany(f"UPDATE {table} SET digest = ? WHERE rowid = ?", digests)
    walk, seq = Walk(GENESIS), 0
    for event in cursor.execute(f"SELECT {EVENT} FROM log ORDER BY seq"):
        walk.meets(event, None)
        seq = event[0]
    begins = json.dumps({"seq": seq, "digest": walk.head.hex()})
    cursor.execute("INSERT INTO meta VALUES (?, ?)", (CHAIN_BEGINS, begins))
    cursor.execute(f"PRAGMA user_version={FORMAT}")
