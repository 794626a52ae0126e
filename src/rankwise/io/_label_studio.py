"""Label Studio's JSON: tasks with annotations and predictions.

A Rating gives a class, a pair of Numbers the ends of a range (one of them alone: at least, at most), Choices the
candidate classes. An annotation without a result is a missing label, a cancelled one is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rankwise.io._answer import Answer, Controls, as_whole, candidates, interval, mapping, sequence


def read_tasks(tasks: Any, controls: Controls) -> Iterator[Answer]:
    """Answers in exported tasks; those of models have the name of their version as rater."""
    for place, task in enumerate(sequence(tasks, "a Label Studio export", "tasks")):
        task = mapping(task, f"task {place + 1}")
        item = task.get("id", place)
        for annotation in task.get("annotations") or task.get("completions") or ():
            annotation = mapping(annotation, f"an annotation of task {item!r}")
            if annotation.get("was_cancelled"):
                continue
            rater = annotation.get("completed_by")
            if isinstance(rater, Mapping):
                rater = rater.get("email", rater.get("id"))
            label = label_of(annotation.get("result") or (), controls)
            yield Answer(item, rater, label, annotation.get("lead_time"))
        for prediction in task.get("predictions") or ():
            if isinstance(prediction, Mapping):
                label = label_of(prediction.get("result") or (), controls)
                yield Answer(item, prediction.get("model_version"), label, score=prediction.get("score"), by_model=True)


def label_of(result: Sequence[Any], controls: Controls) -> Any:
    """Label of all regions of one annotation."""
    ends: list[Any] = [None, None]
    exact = None
    for region in result:
        value = region.get("value") if isinstance(region, Mapping) else None
        if not isinstance(value, Mapping):
            continue
        name = region.get("from_name")
        if "number" in value and name in controls.ends:
            ends[controls.ends.index(name)] = as_whole(value["number"])
        elif name == controls.question or controls.question is None:
            for kind in ("rating", "number", "choices"):
                if kind in value:
                    exact = value[kind]
    if ends != [None, None]:
        return interval(*ends)
    return candidates(exact) if isinstance(exact, list) else as_whole(exact)


def result_of(label: Any, controls: Controls, to_name: str) -> list[dict[str, Any]]:
    """Regions that express a label."""

    def region(name: str, kind: str, value: Any) -> dict[str, Any]:
        return {"from_name": name, "to_name": to_name, "type": kind, "value": {kind: value}}

    if label is None:
        return []
    question = controls.question or "label"
    members = label if isinstance(label, (tuple, frozenset)) else (label,)
    numbers = all(isinstance(v, (int, float)) for v in members if v is not None)
    if isinstance(label, tuple) and numbers:
        pairs = zip(controls.ends, label, strict=True)
        return [region(name, "number", end) for name, end in pairs if end is not None]
    if not isinstance(label, (tuple, frozenset)) and numbers:
        return [region(question, "rating", label)]
    return [region(question, "choices", [str(v) for v in controls.members(label)])]


def write_tasks(answers: Sequence[Answer], controls: Controls, shown: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Tasks as Label Studio imports them: one for each item, with its answers."""
    tasks: dict[Any, dict[str, Any]] = {}
    for answer in answers:
        data = dict(shown.get(answer.item, {"item": answer.item}))
        task = tasks.setdefault(answer.item, {"id": answer.item, "data": data, "annotations": [], "predictions": []})
        result = result_of(answer.label, controls, next(iter(data), "item"))
        if answer.by_model:
            task["predictions"].append({"model_version": answer.rater, "score": answer.score, "result": result})
        else:
            rater = answer.rater if isinstance(answer.rater, int) else {"email": answer.rater}
            annotation = {"completed_by": rater, "was_cancelled": False, "result": result}
            task["annotations"].append(annotation | ({} if answer.seconds is None else {"lead_time": answer.seconds}))
    return list(tasks.values())
