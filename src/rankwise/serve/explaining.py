"""Explanations of the model that is served, from :func:`rankwise.explain`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from msgspec.json import decode

from rankwise.explanations import explain as contributions
from rankwise.serve.problems import Problem
from rankwise.serve.service import Service

_NEWEST = 200  # rows of feedback that say what matters to the model


def explain(service: Service, rows: Sequence[Any] | None) -> dict[str, Any]:
    """What moves the score of each row and how far; without rows, what matters most on the newest feedback."""
    replica = service.engine.replica
    is_global = rows is None
    if rows is None:
        newest = islice(service.reader.rows([(max(0, replica.seq - _NEWEST), replica.seq)]), 1)
        rows = [decode(row.features) for row in next(newest, [])]
        if not rows:
            raise Problem(409, "no feedback came yet: POST rows to explain.")
    found = contributions(replica.rows.model, replica.rows.table(rows))
    values, columns = np.asarray(found.values), [str(name) for name in found.columns]
    if is_global:
        shares = np.abs(values).mean(axis=0)
        order = np.argsort(-shares)
        importance = [{"column": columns[j], "importance": float(shares[j])} for j in order]
        return {"version": replica.name, "rows": len(rows), "importance": importance}
    base = np.broadcast_to(np.asarray(found.base, dtype=float), len(rows)).tolist()
    each = [dict(zip(columns, line, strict=True)) for line in values.tolist()]
    return {"version": replica.name,
            "rows": [{"base": b, "contributions": c} for b, c in zip(base, each, strict=True)]}  # fmt: skip
