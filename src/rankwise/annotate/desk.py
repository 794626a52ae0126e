"""The desk: which question each rater gets next, and all answers.

Everything that must last is in the log of the store: an answer is a feedback whose context holds item, rater, seconds
and note; undoing it is a retraction. Which rater sees which item is only in memory. Losing that when the server stops
does no harm: a page that still shows an item may answer it.

The id of an answer follows from item, rater and how often this rater has answered this item before. An answer that is
sent twice, by a page that missed the reply or from two browsers, is logged once.

Most estimators learn from intervals, not from candidates with gaps between them. They learn from the range around the
candidates; the log keeps the rater's label beside it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from rankwise.annotate.control import ControlAnswer, error_facts
from rankwise.annotate.decisions import Decisions
from rankwise.annotate.items import Items
from rankwise.annotate.project import LoggedAnswer, Scale, label_of, logged_answers
from rankwise.annotate.sharing import SharedItems
from rankwise.annotation import Question, QuestionChooser
from rankwise.annotation.questions import KINDS_OF_QUESTION, SECONDS
from rankwise.labels import encode
from rankwise.serve.events import EventHub
from rankwise.serve.messages import FeedbackRow
from rankwise.serve.problems import Problem
from rankwise.serve.row_model import take
from rankwise.serve.service import Service
from rankwise.serve.writer import ConflictError

_POOL = 2000  # items among which a question is chosen
_LEASE = 900.0  # seconds after which an unanswered item may go to another rater
_SPARE, _MANY = 5, 60  # items that a page has in advance, and the least number left for that
_ENOUGH = 5  # answers to a kind of question before its measured time is used


@dataclass(frozen=True, kw_only=True)
class DeskPlan:
    """How questions are chosen; strategy and control as in :class:`rankwise.annotation.QuestionChooser`."""

    raters: int = 1  # people who answer an item that is shared
    shared: float = 0.1  # share of the items that several raters answer; the others are answered once
    strategy: str = "uncertainty"
    control: float = 0.1
    show_guess: bool = False  # show a rater the model's guess after the answer
    stop_at: float = 0.01  # ranks that ten more minutes must be worth
    seed: int = 0


@dataclass
class Ask:
    """A question that a rater sees, and the answer that was undone if there was one."""

    question: Question
    before: LoggedAnswer | None = None
    since: float = field(default_factory=time.monotonic)


class Desk:
    """Assignments and answers of a project."""

    def __init__(self, service: Service, items: Items, scale: Scale, plan: DeskPlan) -> None:
        self.service, self.items, self.scale, self.plan = service, items, scale, plan
        self.order = scale.order
        model = service.engine.replica.rows
        self._encoded = model.encode(items.rows)
        self.can_learn = bool(items.features)
        self.decisions = Decisions(self, "candidates" in model.opened.label_kinds)
        self._has_probabilities = model.opened.can("predict_proba")
        if plan.strategy != "random" and not self._has_probabilities:
            raise ValueError(
                f"{model.estimator_name} has no class probabilities, which the strategy {plan.strategy!r} needs: take "
                f"the strategy 'random', or OnlineCumulativeLink."
            )
        kinds = KINDS_OF_QUESTION if plan.strategy == "information" else ("exact",)
        seed = np.random.RandomState([plan.seed, service.engine.store.last])
        self._chooser = QuestionChooser(plan.strategy, kinds, control=plan.control, random_state=seed)
        self._answers: dict[str, LoggedAnswer] = {}
        self._of_rater: dict[str, list[LoggedAnswer]] = {}
        self._asks: dict[str, list[Ask]] = {}  # the last one is current
        self._spares: dict[str, list[int]] = {}  # items that pages have in advance
        self.project = service.engine.store.name
        self._shared = SharedItems(items.names, plan.raters, plan.shared, plan.seed)
        self._counts = np.zeros(len(items), dtype=np.int64)
        self.numbers = {name: i for i, name in enumerate(items.names)}
        self._seconds = 0.0
        self._facts: tuple[int, dict[str, Any]] | None = None
        self.n_changes = 0
        self.changing = asyncio.Lock()  # one undoing or decision after the other
        self.hub = service.hub = EventHub(self.state)
        self._recall()

    def _recall(self) -> None:
        """Read the answers of the log."""
        for facts, undone in logged_answers(self.service.reader):
            del facts["seq"]
            self._add(LoggedAnswer(**{**facts, "item": self.numbers[facts["item"]]}, undone=undone))
        for answer, label in self.decisions.outdated(self._answers.values()):  # the server died on the way
            self.service.engine.change(answer.id, label, None)
            answer.label = label

    def _add(self, answer: LoggedAnswer) -> None:
        if answer.kind == "decision":
            self.decisions.add(answer)
            self.n_changes += 1
            return
        if answer.id in self._answers:  # it was sent twice, and the first one came back meanwhile
            return
        self._answers[answer.id] = answer
        self._of_rater.setdefault(answer.rater, []).append(answer)
        self._seconds += answer.seconds
        self._counts[answer.item] += not answer.undone
        answer.minutes, answer.labels = self._seconds / 60.0, len(self._answers)
        self.n_changes += 1

    # -- what to ask -------------------------------------------------------------------------------------------------

    def next(self, rater: str, holding: Sequence[str] = ()) -> dict[str, Any]:
        """The question that a rater sees, a new one if there is none, and the progress.

        The page of the rater may hold answers that are still on their way: their items are not asked about again.
        """
        held = {self.numbers[name] for name in holding if name in self.numbers}
        asks = self._asks.setdefault(rater, [])
        ask = next((ask for ask in reversed(asks) if ask.question.item not in held), None)
        if ask is None:
            chosen = self._choose(rater, held)
            if chosen is not None:
                ask = Ask(chosen)
                asks.append(ask)
        if ask is not None:
            ask.since = time.monotonic()
        waits = ask is None and self._open(rater, held, leases=False).size > 0  # others see what is left
        return {"question": None if ask is None else self._shown(rater, ask), "waits": waits,
                "spare": self._spare(rater, held), **self.progress(rater)}  # fmt: skip

    def _spare(self, rater: str, held: set[int]) -> list[dict[str, Any]]:
        """Questions for the time when the page does not reach the server; none once few items are left."""
        left = self._open(rater, held, leases=True)
        left = left[~self._shared.is_shared[left]]
        if left.size < _MANY:
            self._spares.pop(rater, None)
            return []
        mine = {ask.question.item for ask in self._asks[rater]}
        kept = [item for item in self._spares.get(rater, ()) if item in left and item not in mine]
        others = {item for other, items in self._spares.items() if other != rater for item in items}
        drawn = (int(item) for item in self._chooser._generator.permutation(left))
        free = (item for item in drawn if item not in others and item not in mine and item not in kept)
        self._spares[rater] = [*kept, *islice(free, _SPARE - len(kept))]
        return [self._shown(rater, Ask(Question(item))) for item in self._spares[rater]]

    def _open(self, rater: str, held: set[int], *, leases: bool) -> Any:
        """Items that a rater may be asked about; with ``leases``, without those that others see."""
        taken = self._taken(rater) if leases else self._counts
        is_open = taken < self._shared.needed
        is_open[[*held, *self.decisions.items(), *(answer.item for answer in self._answers_of(rater))]] = False
        return np.flatnonzero(is_open)

    def _taken(self, rater: str) -> Any:
        """Answers of each item, with those that other raters are about to give."""
        taken, now = self._counts.copy(), time.monotonic()
        for other, asks in self._asks.items():
            for ask in asks:
                if other != rater and now - ask.since < _LEASE:
                    taken[ask.question.item] += 1
        return taken

    def _choose(self, rater: str, held: set[int]) -> Question | None:
        left = self._open(rater, held, leases=True)
        if not left.size:
            return None
        free = np.setdiff1d(left, [item for items in self._spares.values() for item in items])
        left = free if free.size else left  # what pages have in advance comes last
        shared = self._shared.first(left, self._taken(rater))
        if shared is not None:  # exact answers are compared best
            return Question(shared)
        left = left[~self._shared.is_shared[left]]
        pool = np.sort(self._chooser._generator.permutation(left)[:_POOL])
        self._chooser.seconds.update(self._times())
        question = self._chooser.choose(self._probabilities(pool))[0]
        item = int(pool[question.item])
        # An error is honest only if the model has learnt nothing about the item.
        return replace(question, item=item, control=bool(question.control and self._counts[item] == 0))

    def _probabilities(self, items: Any) -> Any:
        if not self._has_probabilities:
            return np.full((len(items), len(self.order)), 1.0 / len(self.order))
        replica = self.service.engine.replica
        with replica.lock:
            return replica.rows.estimator.predict_proba(take(self._encoded, items))

    def _times(self) -> dict[str, float]:
        """Seconds that an answer to each kind of question takes, as measured."""
        medians: dict[str, float] = {}
        for kind in SECONDS:
            seconds = [answer.seconds for answer in self._answers.values() if answer.question == kind]
            if len(seconds) >= _ENOUGH:
                medians[kind] = max(float(np.median(seconds)), 0.1)
        return medians

    def _shown(self, rater: str, ask: Ask) -> dict[str, Any]:
        question, before = ask.question, ask.before
        shown = {**self.items.describe(question.item), "kind": question.kind, "code": question.code,
                 "id": self._answer_id(rater, question.item)}  # fmt: skip
        if before is not None:
            admitted = encode([before.said], self.order).admissible()[0]
            codes = [] if admitted.all() else np.flatnonzero(admitted).tolist()
            shown["before"] = {"admitted": codes, "note": before.note}
        return shown

    def _answer_id(self, rater: str, item: int) -> str:
        times = sum(answer.item == item for answer in self._of_rater.get(rater, ()))
        return f"{len(rater)}|{rater}|{self.items.names[item]}|{times + 1}"  # the length keeps names apart

    def _answers_of(self, rater: str) -> list[LoggedAnswer]:
        """Answers of a rater that count, in order."""
        return [answer for answer in self._of_rater.get(rater, ()) if not answer.undone]

    # -- answers -----------------------------------------------------------------------------------------------------

    async def answer(
        self, rater: str, id: str, name: str, admitted: Sequence[int], seconds: float, note: str
    ) -> dict[str, Any]:
        """Log and learn an answer; return the model's guess, if that is shown."""
        item, said = self.checked(name, admitted)
        known = self._answers.get(id)
        if known is not None:
            if (known.rater, known.item, known.said) != (rater, item, said):
                raise Problem(409, "this item was answered before, with another label. Undo that answer to change it.")
            return {"saved": id}
        if any(answer.item == item for answer in self._answers_of(rater)) or id != self._answer_id(rater, item):
            raise Problem(409, "this item was answered before. Undo that answer to change it.")
        ask = next((ask for ask in self._asks.get(rater, ()) if ask.question.item == item), None)
        question = Question(item) if ask is None else ask.question
        label = self.decisions.label(item, said)
        guess = self.guess(item)
        # The model may still know an answer that was undone: what it predicted before that one counts.
        predicted = guess["code"] if ask is None or ask.before is None else ask.before.predicted
        context: dict[str, Any] = {
            "item": name, "rater": rater, "said": said, "seconds": round(seconds, 3), "note": note,
            "question": question.kind, "control": question.control, "predicted": predicted,
        }  # fmt: skip
        row = FeedbackRow(label=label, id=id, features=self.items.rows[item], context=context)
        try:
            await self.service.learn([row], None, rater)
        except ConflictError:
            raise Problem(409, "this item was answered before, with another label.") from None
        self._add(LoggedAnswer(id=id, label=label, **{**context, "item": item}))
        self._asks[rater] = [ask for ask in self._asks.get(rater, []) if ask.question.item != item]
        if self.decisions.holds(item):  # it was decided meanwhile
            await self.decisions.bring_up_to_date(item, rater)
        self.hub.changed()
        return {"saved": id, "guess": guess if self.plan.show_guess else None}

    def checked(self, name: str, admitted: Sequence[int]) -> tuple[int, str]:
        """Item and label of an answer that comes over the network."""
        if any(not 0 <= code < len(self.order) for code in admitted):
            raise Problem(422, f"admitted holds codes of classes, 0 to {len(self.order) - 1}.")
        if name not in self.numbers:
            raise Problem(404, f"there is no item {name[:200]!r}.")
        return self.numbers[name], label_of(admitted, self.order)

    def about(self, item: int) -> list[LoggedAnswer]:
        """Answers about an item that count."""
        return [answer for answer in self._answers.values() if answer.item == item and not answer.undone]

    def counted(self) -> list[LoggedAnswer]:
        """All answers that count."""
        return [answer for answer in self._answers.values() if not answer.undone]

    def guess(self, item: int) -> dict[str, Any]:
        """What the model predicts for an item."""
        replica = self.service.engine.replica
        with replica.lock:
            predicted = replica.rows.answers(take(self._encoded, [item]))
        guess: dict[str, Any] = {"code": int(self.order.codes(predicted.classes)[0])}
        if predicted.intervals is not None:
            guess["interval"] = self.order.codes(predicted.intervals[0]).tolist()
        return guess

    async def undo(self, rater: str, id: str) -> dict[str, Any]:
        """Retract an answer of a rater, who then sees its item again."""
        answer = self._answers.get(id)
        if answer is None or answer.rater != rater:
            raise Problem(404, "there is no such answer of this rater.")
        async with self.changing:
            if answer.undone:
                return {"undone": id}
            await self.service.engine.change(id, None, None, self.service.future(), actor=rater)
            answer.undone = True
            self._counts[answer.item] -= 1
            self.n_changes += 1
            again = Ask(Question(answer.item, control=answer.control), answer)
            self._asks.setdefault(rater, []).append(again)
            self.hub.changed()
        return {"undone": id}

    # -- progress ----------------------------------------------------------------------------------------------------

    def progress(self, rater: str) -> dict[str, Any]:
        """Progress of a rater and of all."""
        answers = self._answers_of(rater)
        return {
            "last": answers[-1].id if answers else None,
            "mine": {"answers": len(answers), "minutes": sum(answer.seconds for answer in answers) / 60.0},
            "all": self._totals(),
        }

    def _totals(self) -> dict[str, Any]:
        needed = self._shared.needed.copy()
        decided = self.decisions.items()
        needed[decided] = np.minimum(needed[decided], self._counts[decided])  # no more answers are asked for
        return {"answers": int(self._counts.sum()), "needed": int(needed.sum()), "minutes": self._seconds / 60.0,
                "done": int(np.minimum(self._counts, needed).sum())}  # fmt: skip

    def state(self) -> dict[str, Any]:
        """What all pages show: progress, and the error with its curve."""
        if self._facts is None or self._facts[0] != self.n_changes:
            self._facts = self.n_changes, error_facts(self._controls(), self.plan.stop_at)
        replica = self.service.engine.replica
        return {"all": self._totals(), "error": self._facts[1], "raters": len(self._of_rater),
                "model": replica.name, "correcting": replica.stale,
                "trouble": self.service.engine.broken}  # fmt: skip

    def _controls(self) -> list[ControlAnswer]:
        controls = [a for a in self._answers.values() if a.control and not a.undone and a.said != "?"]
        if not controls:
            return []
        labels, codes = encode([a.said for a in controls], self.order), np.array([a.predicted for a in controls])
        ends = zip(controls, labels.distance(codes), labels.largest_distance(codes), strict=True)
        return [ControlAnswer(a.minutes, a.labels, float(near), float(far)) for a, near, far in ends]
