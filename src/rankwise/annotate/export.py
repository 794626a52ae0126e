"""The labels of a project as a table, or as a file of an annotation tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from rankwise.annotate.project import logged_answers, project_of
from rankwise.io import ANNOTATION_FORMATS, write_answers, write_table
from rankwise.serve.replica import latest
from rankwise.serve.store import Store, StoreError

#: Columns of an exported table, in this order.
COLUMNS = ("item", "rater", "label", "seconds", "note", "question", "control", "learnt", "id", "seq")


def answers_in(store: Store) -> dict[str, list[Any]]:
    """Answers that count, in the order in which they were learnt, as columns.

    ``label`` is the rater's label, ``learnt`` the one that the model learnt from; they differ for candidates with gaps.
    """
    kept = [{**answer, "label": answer["said"], "learnt": answer["label"]}
            for answer, undone in logged_answers(store) if not undone]  # fmt: skip
    return {name: [answer[name] for answer in kept] for name in COLUMNS}


def export_answers(path: Path, output: Path, format: str | None = None) -> int:
    """Write the answers of a project that count, whose store may be served meanwhile; return their number.

    Labels in tables are texts such as ``3-5``, in the order in which they were learnt.
    """
    with Store(path) as store:
        if project_of(store) is None:
            raise StoreError(f"{path} holds no annotations.")
        columns = answers_in(store)
        classes = latest(store, store.current()).rows.classes
    if format in ANNOTATION_FORMATS:
        return write_answers(
            {k: columns[k] for k in ("item", "rater", "label", "seconds")}, output, format, classes=classes
        )
    types = {"seconds": pa.float64(), "control": pa.bool_(), "seq": pa.int64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    batch = pa.RecordBatch.from_pydict(columns, schema=schema)
    return int(write_table(output, [batch], schema=schema, format=format))
