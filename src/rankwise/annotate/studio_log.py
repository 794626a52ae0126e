"""What the log of a store says about the annotations of Label Studio: which ones it holds, and how new they are.

An annotation is a feedback, an update of it a correction, its deletion a retraction. Each event has a context with the
annotation's number and the time of its update, so that an event that comes late, or again, changes nothing. What is
to be remembered without a label, such as the deletion of an annotation that has not come yet, is a note.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rankwise.serve.store import Store

SOURCE = "label-studio"


@dataclass
class KnownAnnotation:
    """What the log says about an annotation."""

    task: Any = None
    updated: str | None = None
    origin: str | None = None  # its unique id: another one is another server's
    rows: list[str] = field(default_factory=list)  # ids of its feedbacks; all but the last are retracted
    is_deleted: bool = False

    def is_older_than(self, updated: str | None, *, is_update: bool) -> bool:
        """Whether an annotation that comes now says something newer; without times, an update does."""
        before, now = _moment(self.updated), _moment(updated)
        return is_update if before is None or now is None else now > before


class AnnotationLedger:
    """Annotations and deleted tasks that the log of a store knows."""

    def __init__(self, store: Store) -> None:
        self.annotations: dict[Any, KnownAnnotation] = {}
        self.of_task: dict[Any, list[Any]] = {}
        self.deleted_tasks: set[Any] = set()
        lines = store.connection.execute("SELECT id, kind, context FROM log WHERE context IS NOT NULL ORDER BY seq")
        for id, kind, context in lines:
            fact = json.loads(context)
            if isinstance(fact, dict) and fact.get("source") == SOURCE:
                self.add(fact, id if kind == "feedback" else None)

    def add(self, fact: dict[str, Any], row: str | None = None) -> None:
        """Take a fact that is in the log now; ``row`` is the id of its feedback."""
        if "annotation" not in fact:
            self.deleted_tasks.add(fact["task"])
            return
        known = self.annotations.setdefault(fact["annotation"], KnownAnnotation())
        if row is not None:
            known.rows.append(row)
        if fact.get("task") is not None and known.task is None:
            known.task = fact["task"]
            self.of_task.setdefault(known.task, []).append(fact["annotation"])
        known.updated = fact.get("updated", known.updated)
        known.origin = known.origin or fact.get("origin")
        known.is_deleted = known.is_deleted or bool(fact.get("deleted"))

    def new_row(self, annotation: Any) -> str:
        """Id for the next feedback of an annotation."""
        known = self.annotations.get(annotation)
        n = 0 if known is None else len(known.rows)
        return f"{SOURCE}/{annotation}" + (f"/{n + 1}" if n else "")


def context_of(**fact: Any) -> dict[str, Any]:
    """Fact as it is kept with an event, without what is not known."""
    return {"source": SOURCE, **{name: value for name, value in fact.items() if value is not None}}


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
