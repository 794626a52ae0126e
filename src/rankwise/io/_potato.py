"""Potato's annotations: a JSON object for each user and instance, one on a line.

``label_annotations`` has the schemes: a range slider has ``range_low`` and ``range_high``, as texts; a slider, a
Likert scale or a text box a number; radio buttons and check boxes the options that are on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rankwise.io.answer_controls import Answer, Controls, as_number, candidates, interval, mapping
from rankwise.io.table_errors import TableError

_LOW, _HIGH = "range_low", "range_high"
_OFF = ("", "false", "False")
_ON = ("true", "True", "on")


def read_instances(instances: Any, controls: Controls) -> Iterator[Answer]:
    """Answers in annotated instances."""
    for place, instance in enumerate(instances):
        instance = mapping(instance, f"line {place + 1}")
        if "label_annotations" not in instance:
            raise TableError(f"line {place + 1} has no 'label_annotations': this is no file of potato.")
        schemes = mapping(instance.get("label_annotations") or {}, f"'label_annotations' of line {place + 1}")
        scheme = controls.question if controls.question is not None else next(iter(schemes), "")
        timing = instance.get("behavioral_data")
        seconds = timing.get("time_spent") if isinstance(timing, Mapping) else None
        item = instance.get("instance_id", instance.get("id", place))
        yield Answer(item, instance.get("user_id", instance.get("user")), _label(schemes.get(scheme)), seconds)


def _label(answer: Any) -> Any:
    if not isinstance(answer, Mapping):
        return as_number(answer)
    if _LOW in answer or _HIGH in answer:
        return interval(as_number(answer.get(_LOW)), as_number(answer.get(_HIGH)))
    # By identity: 0 and 1 may be points of a scale.
    options = [(key, value) for key, value in answer.items() if value is not None and value is not False]
    return candidates([key if value is True or value in _ON else value for key, value in options if value not in _OFF])


def write_instances(answers: Sequence[Answer], controls: Controls, shown: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Objects to be written one per line; intervals and numbers as ranges, other labels as options that are on."""
    instances = []
    for answer in answers:
        label = answer.label
        ends = label if isinstance(label, tuple) else (label, label)
        scheme: dict[str, Any]
        if not isinstance(label, frozenset) and all(isinstance(end, (int, float)) for end in ends if end is not None):
            scheme = {name: str(end) for name, end in zip((_LOW, _HIGH), ends, strict=True) if end is not None}
        else:
            scheme = {str(member): True for member in controls.members(label)}
        instance: dict[str, Any] = {
            "user_id": answer.rater,
            "instance_id": answer.item,
            "displayed_text": str(next(iter(dict(shown.get(answer.item, {})).values()), "")),
            "label_annotations": {controls.question or "label": scheme},
            "span_annotations": {},
        }
        if answer.seconds is not None:
            instance["behavioral_data"] = {"time_spent": answer.seconds}
        instances.append(instance)
    return instances
