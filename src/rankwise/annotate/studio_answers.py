"""Annotations that an earlier version kept as JSON lines, taken over into a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rankwise.annotate.studio_log import AnnotationLedger, context_of
from rankwise.serve.engine import Engine
from rankwise.serve.messages import features_text
from rankwise.serve.store import Store, StoreError


def adopt_answers(path: Path, store: Store, content: bytes) -> int:
    """Take annotations that a store does not know; return how many. The file stays as it is.

    A model that learns row by row has learnt them already: they are only noted, so that they are not learnt again.
    """
    kept = _read(path)
    ledger = AnnotationLedger(store)
    new = {key: answer for key, answer in kept.items() if key not in ledger.annotations}
    if not new:
        return 0
    with Engine(store, content) as engine:
        rows = engine.replica.rows
        if rows.learns:
            for key in new:
                engine.note(features_text(context_of(annotation=key))).result()
            return len(new)
        named = [{name: data[name] for name in rows.columns if name in data} for data, _ in new.values()]
        contexts: list[str | None] = [
            features_text(context_of(annotation=key, said=label)) for key, (_, label) in new.items()
        ]
        ids = [ledger.new_row(key) for key in new]
        engine.feedback(named, ids, [label for _, label in new.values()], contexts=contexts)
    return len(new)


def _read(path: Path) -> dict[Any, tuple[dict[str, Any], str]]:
    """The last state of each annotation; a last line that a crash cut was never acknowledged."""
    lines = path.read_bytes().splitlines(keepends=True)
    kept = {}
    for number, line in enumerate(lines, 1):
        try:
            answer = json.loads(line)
            kept[answer["annotation"]] = (dict(answer["data"]), str(answer["label"]))
        except (ValueError, KeyError, TypeError):
            if number == len(lines) > 1 and not line.endswith(b"\n"):
                break
            raise StoreError(f"{path}, line {number}: it is not an annotation that was kept.") from None
    return kept
