"""Proof that what is served follows from the log: replay all of it, and compare bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rankwise.serve.replica import Replica, built
from rankwise.serve.store import Store, Version


@dataclass(frozen=True)
class Check:
    """One comparison: what was compared, and whether it was equal."""

    what: str
    is_equal: bool


def verify(store: Store) -> Iterator[Check]:
    """Compare all snapshots and the served model with a replay of the whole log; meanwhile nobody may write."""
    (integrity,) = store.connection.execute("PRAGMA quick_check(1)").fetchone()
    yield Check("the file is sound", integrity == "ok")
    store.current()  # there is nothing to verify in a store without a model
    versions = store.versions()
    ends = [version.began for version in versions[1:]] + [store.last]
    for version, end in zip(versions, ends, strict=True):
        yield from _verify_version(store, version, end)


def _verify_version(store: Store, version: Version, end: int) -> Iterator[Check]:
    replayed = Replica.from_snapshot(store, version, None)
    for snapshot in reversed(store.snapshots(version.version)):
        if store.is_valid(snapshot, version):
            replayed.replay(store, snapshot.seq, store.last)
            what = f"version {version.version}: the snapshot after event {snapshot.seq}"
            yield Check(what, replayed.digest() == snapshot.model)
    replayed.replay(store, end, store.last)
    what = f"version {version.version}: the model that is served after event {end}"
    yield Check(what, built(store, version, end).digest() == replayed.digest())
