"""Label Studio's files: tasks with annotations and predictions, and the exports with one line for each annotation.

A Rating gives a class, a pair of Numbers the ends of a range (one of them alone: at least, at most), Choices the
candidate classes. An annotation without a result is a missing label, a cancelled one is left out.

Label Studio takes only its own users as authors of annotations, and numbers tasks itself. So the files that are written
hold the rater in a TextArea, and the item in the data of the task; both are read from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rankwise._words import either
from rankwise.io.answer_controls import Answer, Controls, as_whole, candidates, interval, mapping, sequence
from rankwise.io.table_errors import TableError

ITEM, RATER = "item", "rater"  # entry of the data, and control, that name what Label Studio has no place for
_KINDS = ("rating", "number", "choices")
_MOST_STARS = 10


def read_tasks(content: Any, controls: Controls) -> Iterator[Answer]:
    """Answers in an export; those of models have the name of their version as rater."""
    tasks = [mapping(task, f"task {place + 1}") for place, task in enumerate(
        sequence(content, "a Label Studio export", "tasks"))]  # fmt: skip
    if tasks and "annotation_id" in tasks[0] and "annotations" not in tasks[0]:  # JSON_MIN or CSV
        yield from read_lines(tasks, controls)
        return
    items = _items((task.get("id", place), _data(task, place)) for place, task in enumerate(tasks))
    answers = [(items[place], *answer) for place, task in enumerate(tasks) for answer in _answers_of(task)]
    controls = _resolved(controls, (_names(answer.get("result") or (), controls) for _, answer, _ in answers))
    for item, answer, by_model in answers:
        result = answer.get("result") or ()
        try:
            label = label_of(result, controls)
        except TableError as error:
            raise TableError(f"the answers for item {item!r}: {error}") from None
        if by_model:
            yield Answer(item, answer.get("model_version"), label, score=answer.get("score"), by_model=True)
            continue
        author = answer.get("completed_by")
        if isinstance(author, Mapping):
            author = author.get("email", author.get("id"))
        yield Answer(item, _named_rater(result) or author, label, answer.get("lead_time"))


def _data(task: Mapping[str, Any], place: int) -> Mapping[str, Any]:
    if not {"data", "annotations", "completions", "predictions"} & task.keys():
        raise TableError(f"task {place + 1} has no 'data' and no 'annotations': this is no export of Label Studio.")
    return mapping(task.get("data") or {}, f"'data' of task {place + 1}")


def _answers_of(task: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Annotations that count and predictions of a task, and whether each is a prediction."""
    for annotation in task.get("annotations") or task.get("completions") or ():
        annotation = mapping(annotation, f"an annotation of task {task.get('id')!r}")
        if not annotation.get("was_cancelled"):
            yield annotation, False
    for prediction in task.get("predictions") or ():
        if isinstance(prediction, Mapping):  # else its number
            yield prediction, True


def _items(tasks: Iterable[tuple[Any, Mapping[str, Any]]]) -> list[Any]:
    """Name of the item of each task: its number, or the entry ``item`` of the data if every task has one of its own."""
    known = [(number, data.get(ITEM)) for number, data in tasks]
    names = {name for _, name in known if isinstance(name, (str, int))}
    if len(names) == len({number for number, _ in known}) == len(set(known)):
        return [name for _, name in known]
    return [number for number, _ in known]


def _resolved(controls: Controls, found: Iterable[Iterable[str]]) -> Controls:
    """Controls with the name of the one that holds the class; ``found`` are those of each answer, but for the ends."""
    names = sorted({name for names in found for name in names})
    if controls.question is None and len(names) > 1:
        raise TableError(f"which control holds the class: {', '.join(names)}? {_name_it()}.")
    if controls.question is not None and names and controls.question not in names:
        raise TableError(f"no answer has a control {controls.question!r}; there are {', '.join(names)}.")
    return replace(controls, question=names[0]) if controls.question is None and names else controls


def _name_it() -> str:
    return f"Name it {either('as the question', 'with --question')}"


def _names(result: Sequence[Any], controls: Controls) -> Iterator[str]:
    """Names of the controls with a class."""
    for region in result:
        value = region.get("value") if isinstance(region, Mapping) else None
        if isinstance(value, Mapping) and any(kind in value for kind in _KINDS):
            name = str(region.get("from_name"))
            if not ("number" in value and name in controls.ends):
                yield name


def _named_rater(result: Sequence[Any]) -> str | None:
    """Rater in the TextArea for it."""
    for region in result:
        value = region.get("value") if isinstance(region, Mapping) else None
        if isinstance(value, Mapping) and region.get("from_name") == RATER and "text" in value:
            return _text(value["text"])
    return None


def _text(value: Any) -> str | None:
    """Text of a TextArea, which may be a list of lines."""
    lines = [line for line in (value if isinstance(value, list) else [value]) if line]
    return "\n".join(map(str, lines)) or None


def label_of(result: Sequence[Any], controls: Controls) -> Any:
    """Label of all regions of one annotation."""
    ends: list[Any] = [None, None]
    exact: list[Any] = []
    names = set()
    for region in result:
        value = region.get("value") if isinstance(region, Mapping) else None
        if not isinstance(value, Mapping):
            continue
        name = region.get("from_name")
        if "number" in value and name in controls.ends:
            ends[controls.ends.index(name)] = as_whole(value["number"])
        elif controls.question in (None, name):
            given = [value[kind] for kind in _KINDS if kind in value]
            exact += given
            names |= {str(name)} if given else set()
    if len(names) > 1:
        raise TableError(f"which control holds the class: {', '.join(sorted(names))}? {_name_it()}.")
    return _one_label(exact, ends, next(iter(names), ""))


def _one_label(exact: Sequence[Any], ends: Sequence[Any], name: str) -> Any:
    """Label of the values that a control has, and of the ends of a range."""
    if any(value != exact[0] for value in exact):
        given = ", ".join(map(repr, exact[:3]))
        raise TableError(f"one annotation has several values of {name!r}: {given}. It can have one label.")
    if list(ends) != [None, None]:
        return interval(*ends)
    value = exact[0] if exact else None
    return candidates(value) if isinstance(value, list) else as_whole(value)


# -- JSON_MIN and CSV --------------------------------------------------------------------------------------------------

_FACTS = frozenset(
    {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history", ITEM, RATER}
)


def read_lines(lines: Sequence[Mapping[str, Any]], controls: Controls) -> Iterator[Answer]:
    """Answers in an export with one object for each annotation, where controls stand beside the data."""
    numbers = {line.get("id"): line for line in lines}
    items = dict(zip(numbers, _items(numbers.items()), strict=True))
    answered = [line for line in lines if line.get("annotation_id") is not None]  # the others are tasks without one
    controls = _resolved_in(answered, controls)
    for line in answered:
        given = line.get(controls.question) if controls.question is not None else None
        exact = _values(given) or ([[given]] if isinstance(given, str) else [])
        ends = [as_whole(next(iter(_values(line.get(name))), None)) for name in controls.ends]
        label = _one_label(exact, ends, str(controls.question))
        yield Answer(
            items[line.get("id")], _text(line.get(RATER)) or line.get("annotator"), label, line.get("lead_time")
        )


def _resolved_in(lines: Sequence[Mapping[str, Any]], controls: Controls) -> Controls:
    """Controls with the name of the one that holds the class; a single choice is a text, which may also be data."""
    names = [{name for name, value in line.items() if _values(value)} for line in lines]
    others = [found - set(controls.ends) for found in names]
    texts: list[set[str]] = [
        {name for name, value in line.items() if isinstance(value, str)} - _FACTS for line in lines
    ]
    if any(controls.question in found for found in texts):
        return controls
    if any(others):
        return _resolved(controls, others)
    ranges = [found for found, ends in zip(texts, names, strict=True) if ends]
    beside = [found - ranges[0].intersection(*ranges) if ranges else found
              for found, ends in zip(texts, names, strict=True) if not ends]  # fmt: skip
    if any(beside):
        known = ", ".join(sorted(set().union(*beside)))
        if controls.question is None:
            raise TableError(f"which entry holds the class: {known}? {_name_it()}: a choice looks like data.")
        raise TableError(f"no answer has a control {controls.question!r}; there are {known}.")
    return controls


def _values(control: Any) -> list[Any]:
    """Values of the regions of a control: stars, numbers and lists of choices; none if it is something else."""
    found = []
    for region in control if isinstance(control, list) else [control]:
        kind = next((kind for kind in _KINDS if isinstance(region, Mapping) and kind in region), None)
        if kind is None:
            return []
        found.append(region[kind])
    return found


# -- writing -----------------------------------------------------------------------------------------------------------


def write_tasks(answers: Sequence[Answer], controls: Controls, shown: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Tasks as Label Studio imports them: one for each item, with its answers.

    They fit a labelling configuration whose object is named "item"; a control has one kind in the whole file.
    """
    kind = _kind([answer.label for answer in answers])
    tasks: dict[Any, dict[str, Any]] = {}
    for answer in answers:
        data = {**shown.get(answer.item, {}), ITEM: answer.item}
        task = tasks.setdefault(answer.item, {"data": data, "annotations": [], "predictions": []})
        result = result_of(answer.label, controls, kind)
        if answer.by_model:
            task["predictions"].append({"model_version": answer.rater, "score": answer.score, "result": result})
            continue
        if answer.rater is not None:
            result.append(_region(RATER, "textarea", "text", [str(answer.rater)]))
        annotation = {"was_cancelled": False, "ground_truth": answer.is_decision, "result": result}
        task["annotations"].append(annotation | ({} if answer.seconds is None else {"lead_time": answer.seconds}))
    return list(tasks.values())


def _kind(labels: Sequence[Any]) -> str:
    """Control that can hold all classes: stars only count from 1, and candidates with gaps are several choices."""
    members = [v for label in labels for v in (label if isinstance(label, (tuple, frozenset)) else (label,))]
    if any(isinstance(label, frozenset) for label in labels) or not all(
        isinstance(v, (int, float)) for v in members if v is not None
    ):
        return "choices"
    stars = all(isinstance(v, int) and 1 <= v <= _MOST_STARS for v in members if v is not None)
    return "rating" if stars else "number"


def result_of(label: Any, controls: Controls, kind: str) -> list[dict[str, Any]]:
    """Regions that express a label."""
    if label is None:
        return []
    members = label if isinstance(label, (tuple, frozenset)) else (label,)
    if isinstance(label, tuple) and all(isinstance(v, (int, float)) for v in members if v is not None):
        pairs = zip(controls.ends, label, strict=True)
        return [_region(name, "number", "number", end) for name, end in pairs if end is not None]
    value = [str(v) for v in controls.members(label)] if kind == "choices" else label
    return [_region(controls.question or "label", kind, kind, value)]


def _region(name: str, type: str, key: str, value: Any) -> dict[str, Any]:
    return {"from_name": name, "to_name": ITEM, "type": type, "value": {key: value}}
