"""What Label Studio asks and tells, on a service and its store.

An annotation is learnt once, however often it comes; an update takes the place of what was learnt before, and a
deletion takes it back. An online estimator learns each annotation as it comes, any other all of them when training
starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from rankwise.annotate.studio_controls import ControlsError, LabellingConfiguration
from rankwise.annotate.studio_log import AnnotationLedger, KnownAnnotation, context_of
from rankwise.io.answer_controls import Controls
from rankwise.io.label_studio_files import label_of
from rankwise.labels import Labels, encode, format_labels
from rankwise.persistence import to_bytes
from rankwise.serve.messages import FeedbackRow, features_text
from rankwise.serve.problems import Problem
from rankwise.serve.refit import propose, train_anew
from rankwise.serve.service import Service
from rankwise.serve.store import Store

_LEVEL = 0.8  # probability of a predicted range
_CREATED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED")
_UPDATED = ("ANNOTATION_UPDATED", "ANNOTATIONS_UPDATED")
_DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")


@dataclass(frozen=True)
class StudioAnnotation:
    """An annotation, read: what it says about the features of its task, for the log and for the model."""

    number: Any
    label: str | None  # what the model learns; None if it says nothing
    features: dict[str, Any]
    fact: dict[str, Any]


class LabelStudioBackend:
    """What Label Studio asks and tells, on a service with its store.

    Parameters
    ----------
    service : Service
        The model and the log of what it has learnt.
    question : str, optional
        Name of the control with the class, where a labelling configuration has several that could be it.
    ends : pair of str, default ("lower", "upper")
        Names of the Number controls for the ends of a range.
    """

    def __init__(
        self, service: Service, *, question: str | None = None, ends: tuple[str, str] = ("lower", "upper")
    ) -> None:
        self.service, self.question, self.ends = service, question, ends
        self.ledger = AnnotationLedger(service.reader)
        self._configurations: dict[str, LabellingConfiguration] = {}
        self._one = asyncio.Lock()  # events are taken one after the other

    @property
    def version(self) -> str:
        """Name of the model: its predictions are the same as long as this is."""
        replica = self.service.engine.replica
        version = replica.name if replica.rows.learns else replica.version.version
        return f"{replica.rows.estimator_name}-{version}"

    def configuration(self, project: Any, text: Any) -> LabellingConfiguration:
        """The labelling configuration of a project: the one that came, or the one of its last setup."""
        key = str(project).partition(".")[0]  # followed by the time at which the project was made
        if isinstance(text, str) and text.strip():
            try:
                known = LabellingConfiguration(text, self._order, self.ends, self.question)
            except ControlsError as error:
                raise Problem(422, str(error)) from None
            self._configurations[key] = known
        if key not in self._configurations:
            return LabellingConfiguration("", self._order, self.ends, self.question)
        return self._configurations[key]

    @property
    def _order(self) -> Any:
        return self.service.engine.replica.rows.order

    # -- predictions -------------------------------------------------------------------------------------------------

    async def predict(self, tasks: Any, configuration: LabellingConfiguration) -> list[dict[str, Any]]:
        """A prediction for each task."""
        if not isinstance(tasks, list):
            raise Problem(422, "'tasks' must be a list.")
        rows = [self._features(_data(task)) for task in tasks]
        version = self.version
        answers = await self.service.predict(rows, None, _LEVEL, False)
        order = self._order
        predictions = []
        for answer in answers:
            p, ends = answer.get("probabilities"), answer.get("interval")
            if p is not None:
                below = np.cumsum(p)
                low, high = (int((below < q).sum()) for q in (0.5 * (1 - _LEVEL), 0.5 * (1 + _LEVEL)))
                ends = [order.values[low].item(), order.values[min(high, len(order) - 1)].item()]
            result = configuration.predicted(answer["class"], None if ends is None else tuple(ends))
            prediction: dict[str, Any] = {"result": result, "model_version": version}
            if p is not None:
                prediction["score"] = p[int(order.codes(np.array([answer["class"]]))[0])]
            predictions.append(prediction)
        return predictions

    def _features(self, data: dict[str, Any]) -> dict[str, Any]:
        columns = self.service.engine.replica.rows.columns
        return {name: data[name] for name in columns if name in data}

    # -- events ------------------------------------------------------------------------------------------------------

    async def take(self, event: Any, body: dict[str, Any]) -> dict[str, Any]:
        """Handle an event of the webhook; return what was done."""
        async with self._one:
            if event in _CREATED or event in _UPDATED:
                annotations, tasks = listed(body.get("annotation")), listed(body.get("task"))
                if len(annotations) != len(tasks) or not annotations:
                    raise Problem(
                        422, "the event has no 'annotation' with its 'task': let the webhook send its payload."
                    )
                given = body.get("project")
                project: dict[str, Any] = given if isinstance(given, dict) else {}
                read = self._read(zip(annotations, tasks, strict=True), project.get("id"), project.get("label_config"))
                done = [await self._annotate(one, is_update=event in _UPDATED) for one in read]
            elif event in _DELETED:
                one = body.get("annotations", body.get("annotation"))
                done = [await self._delete(number) for number in _numbers(one, "annotations")]
            elif event == "TASKS_DELETED":
                done = [change for number in _numbers(body.get("tasks"), "tasks")
                        for change in await self._delete_task(number)]  # fmt: skip
            elif event == "START_TRAINING":
                return await self._train()
            else:
                return {"status": "ignored", "event": str(event)[:100]}
        return self._done(done)

    async def train(self, tasks: Any, project: Any, configuration: Any) -> dict[str, Any]:
        """Take the annotations of tasks, if any come, and train."""
        async with self._one:
            given = [task for task in listed(tasks) if isinstance(task, dict)]
            exported = [(annotation, task) for task in given for annotation in listed(task.get("annotations"))]
            for one in self._read(exported, project, configuration):
                await self._annotate(one, is_update=True)
            return await self._train()

    def _done(self, changes: list[str]) -> dict[str, Any]:
        counts = {change: changes.count(change) for change in dict.fromkeys(changes)}
        return {"status": "ok", **counts, "model_version": self.version}

    def _read(self, pairs: Iterable[tuple[Any, Any]], project: Any, text: Any) -> list[StudioAnnotation]:
        """Annotations with their tasks, all checked before the first is taken."""
        configuration = self.configuration(project, text)
        question = configuration.question
        controls = Controls(None if question is None else question.name, self.ends)
        read = [self._read_one(annotation, task, controls) for annotation, task in pairs]
        if read:  # refuses features that the model does not take
            self.service.engine.replica.rows.encode([one.features for one in read])
        return read

    def _read_one(self, annotation: Any, task: Any, controls: Controls) -> StudioAnnotation:
        if not isinstance(annotation, dict) or not _is_number(annotation.get("id")):
            raise Problem(422, "an annotation must be a JSON object with its number as 'id'.")
        data = _data(task)
        said = label = None
        if not annotation.get("was_cancelled"):
            try:
                labels = self._labels(label_of(annotation.get("result") or (), controls))
            except ValueError as error:
                raise Problem(422, str(error)) from None
            if labels is not None:
                said, label = (str(format_labels(form, self._order)[0]) for form in labels)
        fact = context_of(
            annotation=annotation["id"], task=task.get("id"), project=annotation.get("project"),
            updated=annotation.get("updated_at"), origin=annotation.get("unique_id"), said=said,
            rater=annotation.get("completed_by"), seconds=annotation.get("lead_time"),
        )  # fmt: skip
        plain = {name: value for name, value in fact.items() if not isinstance(value, (dict, list))}
        return StudioAnnotation(annotation["id"], label, self._features(data), plain)

    def _labels(self, given: Any) -> tuple[Labels, Labels] | None:
        """What an annotation says and what the model learns from it; None if it says nothing.

        They differ for candidates with gaps: most estimators learn from the range around them.
        """
        rows = self.service.engine.replica.rows
        texts = {str(value): value for value in rows.classes}

        def as_class(value: Any) -> Any:
            return texts.get(str(value), value)

        if isinstance(given, (tuple, frozenset)):
            given = type(given)(as_class(value) if value is not None else None for value in given)
        said = encode([as_class(given) if given is not None and not isinstance(given, (tuple, frozenset)) else given],
                      self._order)  # fmt: skip
        if said.is_missing[0]:
            return None
        takes_gaps = "candidates" in rows.opened.label_kinds
        learnt = said if takes_gaps else Labels(said.order, said.lower, said.upper)
        rows.labels([str(format_labels(learnt, self._order)[0])])  # refuses what the model cannot learn from
        return said, learnt

    async def _annotate(self, given: StudioAnnotation, *, is_update: bool) -> str:
        """Learn an annotation, unless the log knows it, or something newer."""
        known = self.ledger.annotations.get(given.number)
        if known is None and given.fact.get("task") in self.ledger.deleted_tasks:
            return "deleted"
        if known is not None:
            self._require_same_server(given, known)
            if known.is_deleted:
                return "deleted"
            if not known.is_older_than(given.fact.get("updated"), is_update=is_update):
                return "known"
        row = known.rows[-1] if known is not None and known.rows else None
        if row is not None and given.label is not None:
            logged = self.service.reader.find([row])[row][4]
            if msgspec.json.decode(logged) != given.features:  # the task was edited: what was learnt is taken back
                await self._change(row, None, context_of(annotation=given.number))
                row = None
        if row is not None:
            await self._change(row, given.label, given.fact)
            return "corrected" if given.label is not None else "retracted"
        if given.label is None:
            await self._note(given.fact)
            return "empty"
        row = self.ledger.new_row(given.number)
        await self.service.learn(
            [FeedbackRow(label=given.label, id=row, features=given.features, context=given.fact)], None
        )
        self.ledger.add(given.fact, row)
        return "learnt"

    @staticmethod
    def _require_same_server(given: StudioAnnotation, known: KnownAnnotation) -> None:
        origin = given.fact.get("origin")
        if None not in (origin, known.origin) and origin != known.origin:
            raise Problem(
                409,
                f"the store has an annotation {given.number} of another Label Studio: each one needs its own store.",
            )

    async def _delete(self, number: Any) -> str:
        known = self.ledger.annotations.get(number)
        if known is not None and known.is_deleted:
            return "deleted"
        fact = context_of(annotation=number, deleted=True)
        if known is None or not known.rows:
            await self._note(fact)
            return "unknown" if known is None else "deleted"
        await self._change(known.rows[-1], None, fact)
        return "retracted"

    async def _delete_task(self, number: Any) -> list[str]:
        done = [await self._delete(annotation) for annotation in self.ledger.of_task.get(number, ())]
        if number not in self.ledger.deleted_tasks:
            await self._note(context_of(task=number, deleted=True))
        return done

    async def _change(self, row: str, label: str | None, fact: dict[str, Any]) -> None:
        context = features_text(fact)
        await self.service.engine.change(row, label, None, self.service.future(), context)
        self.ledger.add(fact)

    async def _note(self, fact: dict[str, Any]) -> None:
        await self.service.engine.note(features_text(fact), self.service.future())
        self.ledger.add(fact)

    # -- training ----------------------------------------------------------------------------------------------------

    async def _train(self) -> dict[str, Any]:
        """Learn from all annotations that count; an online estimator has learnt them already."""
        service = self.service
        if service.engine.replica.rows.learns:
            return {"status": "ok", "trained": 0, "model_version": self.version}
        number, n = await service.in_thread(self._fitted)
        if n:
            await service.engine.promote(number, service.future())
        return {"status": "ok", "trained": n, "model_version": self.version}

    def _fitted(self) -> tuple[int, int]:
        """Number of a challenger that has learnt all annotations, and how many they are."""
        path = self.service.engine.store.path
        with Store(path) as reader:
            last = reader.newest()
            rows = [row for chunk in reader.rows([(0, None)], as_of=last) for row in chunk]
        if not rows:
            return 0, 0
        try:
            model = train_anew(self.service.engine.replica.rows, rows)
        except ValueError as error:
            raise Problem(409, f"the model cannot learn from these {len(rows)} annotations: {error}") from None
        report = {"learns": False, "trained_to": last, "rows": len(rows)}
        return propose(path, to_bytes(model), last, report, "trained"), len(rows)


def _data(task: Any) -> dict[str, Any]:
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise Problem(422, "a task must be a JSON object with 'data', a JSON object.")
    return data


def listed(value: Any) -> list[Any]:
    """A value as a list: itself, nothing, or alone."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _numbers(value: Any, name: str) -> Iterator[Any]:
    numbers = [one.get("id") if isinstance(one, dict) else None for one in listed(value)]
    if not numbers or not all(map(_is_number, numbers)):
        raise Problem(422, f"{name!r} must be a list of JSON objects, each with its number as 'id'.")
    return iter(numbers)
