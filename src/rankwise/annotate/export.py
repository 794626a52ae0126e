"""The labels of a project as a table, or as a file of an annotation tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from rankwise.annotate.project import logged_answers, project_of
from rankwise.io import ANNOTATION_FORMATS, write_answers, write_table
from rankwise.serve.replica import latest
from rankwise.serve.store import Store, StoreError

#: Columns of an exported table, in this order.
COLUMNS = ("item", "rater", "label", "seconds", "note", "question", "control", "learnt", "kind", "id", "seq")


def answers_in(store: Store) -> dict[str, list[Any]]:
    """Answers that count, in the order in which they were learnt, as columns.

    ``label`` is the rater's label, ``learnt`` the one that the model learnt from; they differ for candidates with gaps,
    and where a decision (``kind``) takes the place of the answers: from these the model learns nothing.
    """
    kept = [{**answer, "label": answer["said"], "learnt": answer["label"]}
            for answer, undone in logged_answers(store) if not undone]  # fmt: skip
    return {name: [answer[name] for answer in kept] for name in COLUMNS}


def _learnt_from(store: Store) -> dict[str, dict[str, Any]]:
    """Columns of each item with an answer, as the model learns from them."""
    lines = store.connection.execute("SELECT context, features FROM log WHERE kind = 'feedback'")
    return {json.loads(context)["item"]: json.loads(features) for context, features in lines}


def export_answers(
    path: Path, output: Path, format: str | None = None, *, items: Mapping[Any, Mapping[str, Any]] | None = None
) -> int:
    """Write the answers of a project that count, whose store may be served meanwhile; return their number.

    Labels in tables are texts such as ``3-5``, in the order in which they were learnt. Files for annotation tools also
    have the columns of the ``items``; by default those that the model learns from, which the store has.
    """
    with Store(path) as store:
        project = project_of(store)
        if project is None:
            raise StoreError(f"{path} holds no annotations.")
        columns = answers_in(store)
        if items is None and project["features"]:
            items = _learnt_from(store)
        classes = latest(store, store.current()).rows.classes
    if format in ANNOTATION_FORMATS:
        return write_answers(
            {k: columns[k] for k in ("item", "rater", "label", "seconds", "kind")},
            output,
            format,
            classes=classes,
            items=items,
        )
    types = {"seconds": pa.float64(), "control": pa.bool_(), "seq": pa.int64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    batch = pa.RecordBatch.from_pydict(columns, schema=schema)
    return int(write_table(output, [batch], schema=schema, format=format))
