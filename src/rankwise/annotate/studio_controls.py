"""Controls of Label Studio's labelling configuration: which one holds the class, and predictions in its form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

from rankwise.io.answer_controls import as_number
from rankwise.labels import ClassOrder

_KINDS = ("rating", "choices", "number")


class ControlsError(ValueError):
    """A labelling configuration that does not say where the class is; the message names its controls."""


@dataclass(frozen=True)
class Control:
    """A Rating, Choices or Number control."""

    name: str
    kind: str
    to_name: str
    options: tuple[str, ...] = ()  # of Choices, as they are in annotations

    def region(self, value: Any) -> dict[str, Any]:
        """What an annotation or a prediction holds for a value."""
        given = [value] if self.kind == "choices" else value
        return {"from_name": self.name, "to_name": self.to_name, "type": self.kind, "value": {self.kind: given}}

    def value_of(self, label: Any) -> Any:
        """The value of this control that means a class; None if it has none."""
        if self.kind == "choices":
            return next((option for option in self.options if option == str(label) or as_number(option) == label), None)
        return label if isinstance(label, (int, float)) else None


class _Parser(HTMLParser):
    """Tags and attributes of a configuration; nothing is expanded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.controls: list[Control] = []
        self._options: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, to_name = given.get("name"), given.get("toname")
        if tag in _KINDS and name and to_name:
            self.controls.append(Control(name, tag, to_name))
        elif tag == "choice" and self.controls and self.controls[-1].kind == "choices":
            last = self.controls[-1]
            option = given.get("alias") or given.get("value") or ""
            self.controls[-1] = Control(last.name, last.kind, last.to_name, (*last.options, option))


class LabellingConfiguration:
    """What a labelling configuration says about ordered labels.

    ``ends`` are the Numbers for the two ends of a range, if both are there; ``question`` is the control with the class:
    the one that is named, the only one, or the only one that can hold every class.
    """

    def __init__(self, text: str, order: ClassOrder, ends: tuple[str, str], question: str | None = None) -> None:
        controls = _Parser(text).controls
        by_name = {control.name: control for control in controls}
        pair = [by_name[name] for name in ends if name in by_name and by_name[name].kind == "number"]
        self.ends: Sequence[Control] = pair if len(pair) == 2 else ()
        others = [control for control in controls if control.name not in ends]
        self.question = _chosen(others, order, question, by_name)
        if controls and self.question is None and not pair:
            raise ControlsError(
                f"the labelling configuration has no Rating, Choices or Number for the class beside "
                f"{', '.join(by_name)}."
            )

    def predicted(self, label: Any, ends: tuple[Any, Any] | None) -> list[dict[str, Any]]:
        """Regions of a prediction: the class, and the range that probably holds it."""
        regions = []
        value = None if self.question is None else self.question.value_of(label)
        if self.question is not None and value is not None:
            regions.append(self.question.region(value))
        if ends is not None:
            values = [control.value_of(end) for control, end in zip(self.ends, ends, strict=False)]
            if None not in values:
                regions += [control.region(value) for control, value in zip(self.ends, values, strict=True)]
        return regions


def _chosen(
    controls: Sequence[Control], order: ClassOrder, question: str | None, known: dict[str, Control]
) -> Control | None:
    if question is not None:
        if known and question not in known:
            raise ControlsError(
                f"the labelling configuration has no control {question!r}; it has {', '.join(known)}. "
                f"Name one of them when the backend is started."
            )
        return known.get(question)
    classes = order.values.tolist()
    fit = [control for control in controls if all(control.value_of(label) is not None for label in classes)]
    candidates = fit or list(controls)
    if len(candidates) > 1:
        names = ", ".join(control.name for control in candidates)
        raise ControlsError(f"which control holds the class: {names}? Name it when the backend is started.")
    return candidates[0] if candidates else None
