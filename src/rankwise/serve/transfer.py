"""The log as a table: export and import, and what a store holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.json import decode

from rankwise._errors import RowError
from rankwise.features.arrow_columns import load_pyarrow, text_of
from rankwise.io import Batch, open_table, write_table
from rankwise.io.table_reader import warn_of_sheet
from rankwise.persistence import save
from rankwise.serve.engine import Engine
from rankwise.serve.replica import built, latest
from rankwise.serve.row_model import RowModel, model_content
from rankwise.serve.store import Store, StoreError

#: Columns of an exported log before the features.
OWN = ("id", "seq", "label", "weight")
#: Columns of exported events.
EVENTS = ("seq", "at", "kind", "id", "target", "label", "weight", "actor", "context")
_CHUNK = 5000  # events that are written at a time


def export_log(path: Path, output: Path) -> int:
    """Write the effective rows of a log, whose store may be served meanwhile, to a table; return their number."""
    pa = load_pyarrow()
    with Store(path) as store:
        model = latest(store, store.current()).rows
        keys = store.connection.execute("SELECT DISTINCT key FROM log, json_each(log.features) ORDER BY key").fetchall()
        others = [key for (key,) in keys if key not in model.columns]
        names = [*model.columns, *others]
        taken = {name: f"feature {name}" if name in OWN else name for name in names}
        kinds = [pa.float64() if model.kinds.get(name) in ("number", "boolean") else pa.string() for name in names]
        types = [pa.string(), pa.int64(), pa.string(), pa.float64(), *kinds]
        schema = pa.schema(list(zip([*OWN, *taken.values()], types, strict=True)))
        return int(write_table(output, _batches(pa, store, model, others, schema), schema=schema))


def _batches(pa: Any, store: Store, model: RowModel, others: Sequence[str], schema: Any) -> Iterator[Any]:
    for rows in store.rows([(0, None)]):
        decoded = [decode(row.features) for row in rows]
        known = model.table(decoded)
        columns = ([row.get(name) for row in decoded] for name in others)
        more = [pa.array([None if v is None else text_of(v) for v in column], pa.string()) for column in columns]
        own = [[row.id for row in rows], [row.seq for row in rows], [row.label for row in rows],
               [row.weight for row in rows]]  # fmt: skip
        arrays = [*map(pa.array, own), *(c.combine_chunks() for c in known.columns), *more]
        yield pa.record_batch([a.cast(field.type) for a, field in zip(arrays, schema, strict=True)], schema=schema)


def export_events(path: Path, output: Path) -> int:
    """Write all events of a log as they came, with who sent, corrected or retracted what; return their number."""
    pa = load_pyarrow()
    types = {"seq": pa.int64(), "at": pa.timestamp("us", "UTC"), "target": pa.int64(), "weight": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in EVENTS])
    with Store(path) as store:
        return int(write_table(output, _event_batches(pa, store, schema), schema=schema))


def _event_batches(pa: Any, store: Store, schema: Any) -> Iterator[Any]:
    columns = ", ".join(EVENTS) if store.has_chain else ", ".join(EVENTS).replace("actor", "NULL")
    cursor = store.connection.execute(f"SELECT {columns} FROM log ORDER BY seq")
    while lines := cursor.fetchmany(_CHUNK):
        places, moments, *others = zip(*lines, strict=True)
        moments = tuple(round(moment * 1e6) for moment in moments)
        arrays = [
            pa.array(values, field.type) for values, field in zip((places, moments, *others), schema, strict=True)
        ]
        yield pa.record_batch(arrays, schema=schema)


def import_log(table: Path, model: Path, path: Path, *, accept_loss: bool = False) -> int:
    """Learn the rows of a table as feedback, in a new store or after what an old one holds; return their number.

    The table has a column ``label`` and perhaps ``id`` and ``weight``; the others are features. A new store begins with
    the model file. Rows whose ids the store holds already are not learnt again.
    """
    rows = open_table(table)
    warn_of_sheet(rows)
    if "label" not in rows.schema.names:
        raise StoreError(f"{table} has no column 'label'.")
    content = model_content(model, path)
    with (
        Store(path, write=True, accept_loss=accept_loss) as store,
        Engine(store, content) as engine,
    ):
        before = store.last
        for batch in rows.batches():
            if len(batch):
                _learn(engine, batch)
        return store.last - before


def _learn(engine: Engine, batch: Batch) -> None:
    lines = batch.data.to_pylist()
    names = (line.pop("id", None) for line in lines)
    ids = [f"row-{batch.row_number(i)}" if name in (None, "") else str(name) for i, name in enumerate(names)]
    labels = ["?" if (label := line.pop("label")) is None else text_of(label) for line in lines]
    weights = [1.0 if (weight := line.pop("weight", None)) is None else float(weight) for line in lines]
    for line in lines:
        line.pop("seq", None)
        for name in OWN:
            if f"feature {name}" in line:
                line[name] = line.pop(f"feature {name}")
    clean = [{k: None if v != v else v for k, v in line.items()} for line in lines]
    try:
        engine.feedback(clean, ids, labels, weights, actor="import")
    except RowError as error:
        what = "" if error.column is None else f"column {error.column!r}"
        raise batch.error(error.row, error.reason, error.column, what) from None


def export_model(path: Path, output: Path) -> str:
    """Write the model that a store serves, as of its last event, to a model file; return the name of its bits."""
    with Store(path) as store:
        replica = built(store, store.current())
    save(replica.rows.model, output)
    return replica.name


def inspect(path: Path) -> dict[str, Any]:
    """What a store holds: events, versions, snapshots, challengers and sizes."""
    with Store(path) as store:
        versions = [
            {"version": v.version, "reason": v.reason, "began": v.began,
             "snapshots": [s.seq for s in store.snapshots(v.version)]}
            for v in store.versions()
        ]  # fmt: skip
        (challengers,) = store.connection.execute("SELECT count(*) FROM challengers").fetchone()
        return {
            "path": str(path), "events": store.last, "digest": store.head.hex(), "kinds": store.counts(),
            "versions": versions, "challengers": challengers, "bytes": _size(path),
        }  # fmt: skip


def _size(path: Path) -> int:
    """Bytes of a store and of the newest events, which are in a file of their own while a server runs."""
    recent = Path(f"{path}-wal")
    return path.stat().st_size + (recent.stat().st_size if recent.is_file() else 0)
