"""Proof that what is served follows from the log: replay all of it, and compare bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rankwise.serve.replica import Replica, built
from rankwise.serve.store import Row, Snapshot, Store, Version


@dataclass(frozen=True)
class Check:
    """One comparison: what was compared, and whether it was equal."""

    what: str
    is_equal: bool


def verify(store: Store) -> Iterator[Check]:
    """Compare everything that was kept, while nobody writes, with a replay of the whole log from the roots."""
    (found,) = store.connection.execute("PRAGMA quick_check(1)").fetchone()
    yield Check("the file is sound", found == "ok")
    store.current()  # there is nothing to verify in a store without a model
    versions = store.versions()
    ends = [version.began for version in versions[1:]] + [store.last]
    for version, end in zip(versions, ends, strict=True):
        yield from _verify_version(store, version, end)


def _verify_version(store: Store, version: Version, end: int) -> Iterator[Check]:
    snapshots = [s for s in reversed(store.snapshots(version.version)) if store.is_valid(s, version)]
    whole = Replica.from_snapshot(store, version, None)
    for rows in store.rows(version.upto(end), as_of=store.last):
        while snapshots and snapshots[0].seq < rows[-1].seq:
            rows = _learn_upto(whole, rows, snapshots[0].seq)
            yield _compared(whole, snapshots.pop(0))
        whole.learn_rows(rows)
    for snapshot in snapshots:
        yield _compared(whole, snapshot)
    restored = built(store, version, end)
    what = f"version {version.version}: the model that is served after event {end}"
    yield Check(what, restored.digest() == whole.digest())


def _learn_upto(replica: Replica, rows: list[Row], seq: int) -> list[Row]:
    """Learn the rows up to a place; return the others."""
    early = [row for row in rows if row.seq <= seq]
    if early:
        replica.learn_rows(early)
    return rows[len(early) :]


def _compared(replica: Replica, snapshot: Snapshot) -> Check:
    what = f"version {snapshot.version}: the snapshot after event {snapshot.seq}"
    return Check(what, replica.digest() == snapshot.model)
