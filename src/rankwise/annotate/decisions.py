"""Decisions about items whose raters differ.

A decision is a feedback of its own kind in the log. As long as it holds, the model learns its label, and "?" from the
answers of the raters, which are corrected to that; undoing it retracts it and gives the answers their labels back. Both
take several events. A server that dies between them finishes them when it starts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankwise.annotate.agreement import Given, agreement_facts
from rankwise.annotate.project import LoggedAnswer, learnt_from
from rankwise.serve.messages import FeedbackRow
from rankwise.serve.problems import Problem
from rankwise.serve.writer import ConflictError

if TYPE_CHECKING:
    from rankwise.annotate.desk import Desk

NOTHING = "?"  # learnt from the answers about an item that is decided


class Decisions:
    """The decisions of a project, by item, the last one at the end."""

    def __init__(self, desk: Desk, takes_gaps: bool) -> None:
        self.desk, self.takes_gaps = desk, takes_gaps
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
        return NOTHING if self.holds(item) else learnt_from(said, self.desk.order, self.takes_gaps)

    def outdated(self, answers: Iterable[LoggedAnswer]) -> Iterator[tuple[LoggedAnswer, str]]:
        """Answers from which something else is to be learnt, because of a decision or its end, and what."""
        for answer in answers:
            label = self.label(answer.item, answer.said)
            if not answer.undone and label != answer.label and NOTHING in (label, answer.label):
                yield answer, label

    def agreement(self) -> dict[str, Any]:
        """Agreement of the raters, and items on which they differ."""
        facts = agreement_facts(self._given(self.desk.counted()), self._given(self.standing()), self.desk.order)
        for line in facts["differences"]:
            line["number"] = self.desk.numbers[line["item"]]
        return facts

    def _given(self, answers: Sequence[LoggedAnswer]) -> list[Given]:
        return [Given(a.id, self.desk.items.names[a.item], a.rater, a.said, a.note) for a in answers]

    def to_decide(self, item: int) -> dict[str, Any]:
        """An item as the page shows it to one who decides, with the answers of the raters."""
        given = [{"rater": answer.rater, "label": answer.said, "note": answer.note} for answer in self.desk.about(item)]
        id = self.new_id(item, self.desk.items.names[item])
        return {**self.desk.items.describe(item), "kind": "decision", "code": -1, "id": id, "answers": given}

    async def decide(
        self, rater: str, id: str, name: str, admitted: Sequence[int], seconds: float, note: str
    ) -> dict[str, Any]:
        """Log a decision about an item, which the model learns instead of the answers."""
        item, said = self.desk.checked(name, admitted)
        known = next((one for one in self.of_item.get(item, ()) if one.id == id), None)
        if known is not None and (known.rater, known.said) == (rater, said):
            await self.bring_up_to_date(item, rater)
            return {"saved": id}
        if self.holds(item) or id != self.new_id(item, name):
            raise Problem(409, "this item was decided before. Undo that decision to change it.")
        if not self.desk.about(item):
            raise Problem(409, "nobody has answered this item: there is nothing to decide.")
        context: dict[str, Any] = {
            "item": name, "rater": rater, "said": said, "seconds": round(seconds, 3), "note": note, "kind": "decision",
            "question": "decision", "control": False, "predicted": self.desk.guess(item)["code"],
        }  # fmt: skip
        label = learnt_from(said, self.desk.order, self.takes_gaps)
        row = FeedbackRow(label=label, id=id, features=self.desk.items.rows[item], context=context)
        try:
            await self.desk.service.learn([row], None, rater)
        except ConflictError:
            raise Problem(409, "this item was decided before, with another label.") from None
        if known is None and all(one.id != id for one in self.of_item.get(item, ())):
            self.add(LoggedAnswer(id=id, label=label, **{**context, "item": item}))
        await self.bring_up_to_date(item, rater)
        return {"saved": id}

    async def undo(self, rater: str, id: str) -> dict[str, Any]:
        """Retract a decision: the model learns from the answers of the raters again."""
        decision = self.find(id)
        async with self.desk.changing:
            if not decision.undone:
                await self.desk.service.engine.change(id, None, None, self.desk.service.future(), actor=rater)
                decision.undone = True
                self.desk.n_changes += 1
        await self.bring_up_to_date(decision.item, rater)
        return {"undone": id}

    async def bring_up_to_date(self, item: int, rater: str) -> None:
        """Let the model learn from the answers about an item what is to be learnt now."""
        async with self.desk.changing:
            for answer, label in list(self.outdated(self.desk.about(item))):
                await self.desk.service.engine.change(answer.id, label, None, self.desk.service.future(), actor=rater)
                answer.label = label
        self.desk.hub.changed()
