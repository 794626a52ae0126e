"""Decisions about items whose raters differ.

A decision is a feedback of its own kind in the log. As long as it holds, the model learns its label, and "?" from the
answers of the raters, which are corrected to that; undoing it retracts it and gives the answers their labels back. Both
take several events. A server that dies between them finishes them when it starts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rankwise.annotate.project import learnt_from
from rankwise.serve.problems import Problem

if TYPE_CHECKING:
    from rankwise.annotate.desk import LoggedAnswer
    from rankwise.labels import ClassOrder

NOTHING = "?"  # learnt from the answers about an item that is decided


class Decisions:
    """The decisions of a project, by item, the last one at the end."""

    def __init__(self, order: ClassOrder, takes_gaps: bool) -> None:
        self.order, self.takes_gaps = order, takes_gaps
        self.of_item: dict[int, list[LoggedAnswer]] = {}

    def add(self, decision: LoggedAnswer) -> None:
        """Take a decision of the log."""
        self.of_item.setdefault(decision.item, []).append(decision)

    def holds(self, item: int) -> bool:
        """Whether an item is decided."""
        return any(not decision.undone for decision in self.of_item.get(item, ()))

    def items(self) -> list[int]:
        """Items that are decided."""
        return [item for item in self.of_item if self.holds(item)]

    def standing(self) -> list[LoggedAnswer]:
        """Decisions that hold."""
        return [decision for decisions in self.of_item.values() for decision in decisions if not decision.undone]

    def new_id(self, item: int, name: str) -> str:
        """Id of the next decision about an item."""
        return f"decision|{name}|{len(self.of_item.get(item, ())) + 1}"

    def find(self, id: str) -> LoggedAnswer:
        """A decision by its id."""
        for decisions in self.of_item.values():
            for decision in decisions:
                if decision.id == id:
                    return decision
        raise Problem(404, "there is no such decision.")

    def label(self, item: int, said: str) -> str:
        """What the model learns from an answer about an item."""
        return NOTHING if self.holds(item) else learnt_from(said, self.order, self.takes_gaps)

    def outdated(self, answers: Iterable[LoggedAnswer]) -> Iterator[tuple[Any, str]]:
        """Answers from which something else is to be learnt than is, with what."""
        for answer in answers:
            if not answer.undone and answer.label != (label := self.label(answer.item, answer.said)):
                yield answer, label
