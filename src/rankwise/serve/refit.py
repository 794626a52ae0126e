"""Challengers: a model trained anew on the log, which takes the place of the one that is served if it is better.

Both are judged on the newest feedback, which neither was trained on: the champion as it was before, learning on as it
does when it serves. The challenger is better if its mean error is lower by more than some standard errors of the
difference, row by row.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.json import decode
from sklearn.base import clone

from rankwise._types import Floats
from rankwise.features import TableEncoder
from rankwise.labels import Labels
from rankwise.persistence import to_bytes
from rankwise.serve.engine import Engine
from rankwise.serve.replica import Replica, built
from rankwise.serve.row_model import RowModel
from rankwise.serve.store import Row, Store, StoreError, StoreInUseError, Version, transaction
from rankwise.table_model import TableModel, table_encoder


def refit(path: Path | str, *, test_share: float = 0.2, least: int = 50, margin: float = 1.0) -> dict[str, Any]:
    """Train a challenger on the log of a store, compare it with what is served, and promote it if it is better.

    The store may be served meanwhile: the server then promotes the challenger. Both are compared on the newest
    ``test_share`` of the feedback, with at least ``least`` rows to train on and to compare on; the challenger must be
    better by ``margin`` standard errors. Returns the comparison, the challenger's number, and its version if it is
    served now.
    """
    with Store(path) as reader:
        version = reader.current()
        train, test, cut = _split(reader, version, test_share, least)
        champion = built(reader, version, cut)
        model = train_anew(champion.rows, train)
        content = to_bytes(model)
    root = Version(0, 0.0, "refit", "", [(0, None)], 0, {})
    comparison = _compare(champion, Replica(root, content), train, test, cut, margin)
    better = comparison["better"]
    number = propose(path, content, cut, comparison, "proposed" if better else "worse")
    return {**comparison, "challenger": number, "version": _promote(path, number) if better else None}


def _split(reader: Store, version: Version, test_share: float, least: int) -> tuple[list[Row], list[Row], int]:
    """Rows to train on and to compare on, and the place of the log between them."""
    rows = [row for chunk in reader.rows([(0, None)]) for row in chunk]
    new = sum(row.seq > version.began for row in rows)
    n_test = min(new, max(least, round(test_share * len(rows))))
    if n_test < least or len(rows) - n_test < least:
        raise StoreError(
            f"{reader.path}: {len(rows)} feedbacks, {new} of them since version {version.version} began. A refit needs "
            f"{least} new ones to compare on and {least} older ones to train on."
        )
    train, test = rows[:-n_test], rows[-n_test:]
    return train, test, max(train[-1].seq, version.began)


def train_anew(served: RowModel, rows: Sequence[Row]) -> Any:
    """A model of the same kind and parameters, fitted to rows of the log alone."""
    decoded = [decode(row.features) for row in rows]
    labels = served.labels([row.label for row in rows])
    weight = np.array([row.weight for row in rows])
    model = clone(served.model)
    if isinstance(model, TableModel):
        encoder = TableEncoder() if model.encoder is None else model.encoder
        if not isinstance(encoder, str):
            encoder = clone(encoder)
            if (reads := table_encoder(encoder)) is not None:
                reads.set_params(kinds=dict(served.kinds))
            model.set_params(encoder=encoder)
            return model.fit(served.table(decoded), labels, sample_weight=weight)
    return model.fit(served.encode(decoded), labels, sample_weight=weight)


def _losses(replica: Replica, rows: Sequence[Row]) -> tuple[Floats, Labels]:
    """Distance of each prediction to the nearest class of the label, each made before the row is learnt."""
    model = replica.rows
    labels = model.labels([row.label for row in rows])
    encoded = model.encode([decode(row.features) for row in rows])
    predicted = model.learn(encoded, labels, np.array([row.weight for row in rows]))
    return labels.distance(model.order.codes(predicted).astype(np.int64)).astype(np.float64), labels


def _compare(
    champion: Replica, challenger: Replica, train: Sequence[Row], test: Sequence[Row], cut: int, margin: float
) -> dict[str, Any]:
    """Errors of a challenger and of the champion on the same rows."""
    theirs, labels = _losses(champion, test)
    ours, _ = _losses(challenger, test)
    weight = np.array([row.weight for row in test]) * ~labels.is_missing
    total = weight.sum()
    if not total:
        raise StoreError("no row to compare on has a label and a weight.")
    error, champion_error = float(ours @ weight / total), float(theirs @ weight / total)
    difference = error - champion_error
    spread = float(np.sqrt(np.sum(weight**2 * (ours - theirs - difference) ** 2)) / total)
    return {
        "learns": challenger.rows.learns, "trained_to": cut, "rows": len(train), "test_rows": len(test),
        "error": error, "champion_error": champion_error, "difference": difference, "difference_se": spread,
        "better": difference < 0 and difference < -margin * spread,
    }  # fmt: skip


def _promote(path: Path | str, number: int) -> int | None:
    """Serve a challenger from now on; None if a server writes to the store, which then promotes it."""
    try:
        store = Store(path, write=True)
    except StoreInUseError:
        return None
    with store, Engine(store) as engine:
        return int(engine.promote(number, actor="refit").result())


def propose(path: Path | str, content: bytes, trained_to: int, report: dict[str, Any], state: str) -> int:
    """Add a challenger to a store that another process may write to; return its number."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    try:
        connection.execute("PRAGMA synchronous=FULL")
        with transaction(connection) as cursor:
            cursor.execute(
                "INSERT INTO challengers (at, root, trained_to, report, state) VALUES (?, ?, ?, ?, ?)",
                (time.time(), Store.add_model(cursor, content), trained_to, json.dumps(report), state),
            )
            return int(cursor.lastrowid or 0)
    finally:
        connection.close()
