"""Argilla's records: responses and suggestions by question.

A rating or label question gives a class, two questions the ends of a range, a multi-label question the candidate
classes. Both forms are read: version 2 has ``{question: [{value, user_id}]}``, version 1 a list of
``{user_id, values: {question: {value}}}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rankwise.io.answer_controls import Answer, Controls, as_whole, candidates, interval, mapping, sequence
from rankwise.io.table_errors import TableError


def read_records(records: Any, controls: Controls) -> Iterator[Answer]:
    """Answers in records; suggestions have their agent as rater."""
    for place, record in enumerate(sequence(records, "Argilla's records", "records")):
        record = mapping(record, f"record {place + 1}")
        if not {"fields", "responses", "suggestions"} & record.keys():
            raise TableError(f"record {place + 1} has no 'fields' and no 'responses': these are no records of Argilla.")
        names = (record.get("id"), record.get("external_id"), place)
        item = next(name for name in names if name not in (None, ""))
        for user, values in _by_user(record.get("responses") or {}).items():
            yield Answer(item, user, _label(values, controls))
        agents: dict[Any, dict[str, Any]] = {}
        scores: dict[Any, Any] = {}
        for question, suggestion in _suggested(record.get("suggestions") or {}):
            agents.setdefault(suggestion.get("agent"), {})[question] = suggestion.get("value")
            if question == controls.question or suggestion.get("agent") not in scores:
                scores[suggestion.get("agent")] = suggestion.get("score")
        for agent, values in agents.items():
            yield Answer(item, agent, _label(values, controls), score=scores[agent], by_model=True)


def _by_user(responses: Any) -> dict[Any, dict[str, Any]]:
    users: dict[Any, dict[str, Any]] = {}
    if isinstance(responses, Mapping):
        for question, given in responses.items():
            for response in given:
                users.setdefault(response.get("user_id"), {})[question] = response.get("value")
        return users
    for response in responses:
        if response.get("status", "submitted") == "submitted":
            values = {question: value.get("value") for question, value in (response.get("values") or {}).items()}
            users.setdefault(response.get("user_id"), {}).update(values)
    return users


def _suggested(suggestions: Any) -> list[tuple[str, Mapping[str, Any]]]:
    if isinstance(suggestions, Mapping):
        return [(question, suggestion) for question, suggestion in suggestions.items() if suggestion]
    return [(suggestion.get("question_name"), suggestion) for suggestion in suggestions]


def _label(values: Mapping[str, Any], controls: Controls) -> Any:
    ends = [as_whole(values.get(name)) for name in controls.ends]
    if ends != [None, None]:
        return interval(*ends)
    if controls.question is None:
        exact = next((value for value in values.values() if value is not None), None)
    else:
        exact = values.get(controls.question)
    if isinstance(exact, list):
        return candidates(exact)
    return as_whole(exact)


def write_records(answers: Sequence[Answer], controls: Controls, shown: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Records in the form of version 2, one for each item."""
    records: dict[Any, dict[str, Any]] = {}
    for answer in answers:
        record = records.setdefault(
            answer.item,
            {
                "id": answer.item,
                "fields": _fields(shown.get(answer.item, {"item": answer.item})),
                "metadata": {},
                "suggestions": {},
                "responses": {},
                "vectors": {},
            },
        )
        for question, value in _values(answer.label, controls).items():
            if answer.by_model:
                record["suggestions"][question] = {"value": value, "score": answer.score, "agent": answer.rater}
            else:
                record["responses"].setdefault(question, []).append({"value": value, "user_id": answer.rater})
    return list(records.values())


def _fields(shown: Mapping[str, Any]) -> dict[str, str]:
    """Fields, which hold texts only."""
    return {name: "" if value is None else str(value) for name, value in shown.items()}


def _values(label: Any, controls: Controls) -> dict[str, Any]:
    if isinstance(label, tuple):
        return {name: end for name, end in zip(controls.ends, label, strict=True) if end is not None}
    question = controls.question or "label"
    return {question: controls.members(label) if isinstance(label, frozenset) else label}
