"""Proof that what is served follows from the log: replay all of it, and compare bits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from rankwise.persistence import ModelFileError, from_bytes, to_bytes
from rankwise.serve._opening import Acknowledged
from rankwise.serve.replica import Replica, built
from rankwise.serve.store import Store, StoreError, Version

_MOST_BREAKS = 20  # events that are named


@dataclass(frozen=True)
class Check:
    """One comparison: what was compared, and whether it was equal."""

    what: str
    is_equal: bool


def verify(store: Store, content: bytes | None = None) -> Iterator[Check]:
    """Compare all snapshots and the served model with a replay of the whole log; meanwhile nobody may write.

    With the ``content`` of a model file, a store that was begun with another model is refused.
    """
    try:
        (found,) = store.connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        found = str(error)
    yield Check(
        "the file is sound" if found == "ok" else f"the file is damaged: {' '.join(found.split())}", found == "ok"
    )
    if found != "ok":
        return
    store.current()  # there is nothing to verify in a store without a model
    if content is not None:
        store.require_begun_with(content)
    lacks = store.lacks(Acknowledged.beside(store.path))
    if lacks is not None:
        yield Check(f"the store {lacks}", False)
    if store.has_chain:
        yield from _verify_chain(store)
    for (digest,) in store.connection.execute("SELECT digest FROM models").fetchall():
        if _kept(store, digest) is None:
            yield Check(f"the model {str(digest)[:12]} matches its checksum", False)
    versions = store.versions()
    ends = [version.began for version in versions[1:]] + [store.last]
    for version, end in zip(versions, ends, strict=True):
        try:
            yield from _verify_version(store, version, end)
        except Exception as error:  # rows that were changed may be of any kind
            yield Check(f"version {version.version}: the log can be learnt again: {error}", False)


def _verify_chain(store: Store) -> Iterator[Check]:
    """Compare every event with its digest."""
    n = 0
    for n, found in enumerate(store.breaks(), 1):
        if n <= _MOST_BREAKS:
            yield Check(f"event {found.seq} ({found.id[:100]!r}) matches its digest", False)
    what = f"all {store.last} events are as they were written" if not n else f"{n} events are not as they were written"
    yield Check(f"{what}; the digest of the last one is {store.head.hex()[:16]}...", not n)


def _verify_version(store: Store, version: Version, end: int) -> Iterator[Check]:
    replayed = Replica.from_snapshot(store, version, None)
    for snapshot in reversed(store.snapshots(version.version)):
        if snapshot.damage:
            yield Check(f"version {version.version}: the snapshot after event {snapshot.seq} can be read", False)
        elif store.is_valid(snapshot, version):
            replayed.replay(store, snapshot.seq, store.last)
            what = f"version {version.version}: the snapshot after event {snapshot.seq}"
            yield Check(what, _kept(store, snapshot.model) == replayed.digest())
    replayed.replay(store, end, store.last)
    what = f"version {version.version}: the model that is served after event {end}"
    yield Check(what, built(store, version, end).digest() == replayed.digest())


def _kept(store: Store, digest: str) -> str | None:
    """Digest of a kept model as this version writes it, which may write more parameters than the one that kept it."""
    try:
        return sha256(to_bytes(from_bytes(store.model(digest)))).hexdigest()
    except (StoreError, ModelFileError, sqlite3.DatabaseError):
        return None
