"""What the texts of a column say together: their order, their scale, and which of them are doubtful."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.labels._label_words import language_remedy, plain
from rankwise.labels._scales import ScaleConflictError, TextOrder, number_of, rank_of, text_order
from rankwise.labels.class_order import ClassOrder
from rankwise.labels.grammar import ONE_SCALE, LabelReader
from rankwise.labels.label_values import as_text, one_line
from rankwise.labels.unreadable import (
    UnreadableLabelsError,
    date_cell,
    declare,
    has_name,
    is_date_cell,
    map_distinct,
    mixed_types,
    unreadable,
    values_of,
)

_MAY_BE_APART = re.compile(r"[ \-/]|\.\.|…")
_MOST_BETWEEN = 1000  # whole numbers that an interval may imply beside names with numbers


@dataclass(frozen=True)
class ReadTexts:
    """What the distinct cells of a column of texts mean."""

    labels: list[Any]
    top: float | None  #: the denominator of texts such as "3 out of 5", where no classes are known
    example: str = ""  #: one of these texts


def read_texts(
    cells: list[Any], groups: NDArray[np.intp], order: ClassOrder | None, language: str = "en"
) -> ReadTexts:  # fmt: skip
    """Read the distinct cells of a column; those that are not text stay as they are. Errors name rows by ``groups``."""
    classes = {} if order is None else order.index
    reader = cache(lambda: LabelReader(order, language))  # most columns hold nothing but declared classes

    def parse(cell: Any) -> Any:
        if order is not None and order.ranks and not isinstance(cell, str):
            return order.named(cell)
        return reader().parse(cell) if isinstance(cell, str) and cell not in classes else cell

    labels = map_distinct(cells, groups, parse)
    tops = reader().tops if order is None else {}
    if not tops:
        return ReadTexts(labels, None)
    example, top = next(iter(tops.items()))
    scale = ReadTexts(labels, top, example)
    bad: dict[int, tuple[Any, str]] = {}
    for k, (cell, label) in enumerate(zip(cells, labels, strict=True)):
        other = tops.get(cell.strip(), top) if isinstance(cell, str) else top
        if other != top:
            bad[k] = cell, other_scale(scale, ReadTexts([], other, cell))
        elif any(isinstance(value, (int, float)) and value > top for value in values_of(label)):
            bad[k] = cell, above_scale(cell, example)
    if bad:
        raise unreadable(bad, groups)
    return scale


def has_denominator(label: Any) -> bool:
    """Whether a label is a text such as "3 out of 5"."""
    if not isinstance(label, str) or " " not in plain(label):
        return False
    try:
        return read_texts([label], np.zeros(1, dtype=np.intp), None).top is not None
    except ValueError:
        return False


def other_scale(known: ReadTexts, other: ReadTexts) -> str:
    """Error message for two denominators in one column."""
    examples = f"{one_line(known.example)} and {one_line(other.example)}"
    return f"the labels have different denominators, as in {examples}. {ONE_SCALE}"


def above_scale(value: Any, example: str) -> str:
    """Error message for a number above a denominator."""
    return f"the label {one_line(value)} is above the scale of {one_line(example)}. {ONE_SCALE}"


def order_of_labels(read: ReadTexts, groups: NDArray[np.intp], language: str = "en") -> TextOrder | None:
    """The order that the names and numbers of a column tell together; None if they do not.

    Every label must be one of them, or made of them.
    """
    labels = read.labels
    values = dict.fromkeys(
        value for label in labels for value in values_of(label) if isinstance(value, (str, int, float))
    )
    if not any(isinstance(value, str) for value in values):
        return None
    numbers = [value for value in map(number_of, values) if value is not None] + (
        [] if read.top is None else [read.top]
    )
    for label in labels:  # "3 to 5" implies a 4
        if isinstance(label, tuple) and all(end is None or isinstance(end, int) for end in label):
            lower, upper = (min(numbers), max(numbers)) if None in label else label
            lower, upper = (lower if label[0] is None else label[0]), (upper if label[1] is None else label[1])
            if upper - lower < _MOST_BETWEEN:
                values.update(dict.fromkeys(range(int(lower), int(upper) + 1)))
    if read.top is not None:
        values[read.top] = None
    try:
        told = text_order(values)
    except ScaleConflictError as error:
        wrong = [k for k, label in enumerate(labels) if label in error.labels]
        raise unreadable({k: (labels[k], f"{error}: {declare()}") for k in wrong}, groups) from None
    if told is None:
        return None
    try:
        with naming_conflicts(told):
            read_texts(labels, groups, ClassOrder(told.classes), language)
    except UnreadableLabelsError:
        if told.is_certain:
            raise
        return None
    return told


@contextmanager
def naming_conflicts(told: TextOrder) -> Iterator[None]:
    """Let an error about a text that is none of the numbered names say which name its number has."""
    try:
        yield
    except UnreadableLabelsError as error:
        label = error.found[0][0]
        rank = rank_of(label) if label in told.others else None
        if rank is None:
            raise
        name = next(name for name in told.classes if getattr(rank_of(name), "number", None) == rank.number)
        reason = f"the number {as_text(rank.number)} has two names, {one_line(name)} and {one_line(label)}: {declare()}"
        raise UnreadableLabelsError(reason, error.found) from None


def odd_among(labels: list[Any], rows: NDArray[np.integer[Any]]) -> dict[int, str]:
    """Which labels keep names, numbers and dates from having a common order, with the reason; none if they have one.

    ``rows`` are the numbers of rows with each label. To blame are dates among others, else words of another language,
    else names without a number among names with one, else the rarer of names and numbers.
    """
    known = [label for label in labels if label is not None]
    dates = {k: date_cell(label) for k, label in enumerate(labels) if is_date_cell(label)}
    if 0 < len(dates) < len(known) and not all(isinstance(label, str) for label in known):
        return dates
    is_name = np.array([has_name(label) for label in labels], dtype=bool)
    is_number = np.array([label is not None for label in labels], dtype=bool) & ~is_name
    if not (is_name.any() and is_number.any()):
        return {}
    texts = {k: label for k, label in enumerate(labels) if isinstance(label, str)}
    foreign = {k: remedy for k, text in texts.items() if (remedy := language_remedy(text))}
    if foreign:
        return {k: f"cannot read {one_line(texts[k])} as a label.{remedy}" for k, remedy in foreign.items()}
    ranked = [text for text in texts.values() if rank_of(text) is not None]
    if 1 < len(ranked) < len(texts) < 2 * len(ranked):
        why = f"has no leading number, as most names have, such as {one_line(ranked[0])}. Correct it, or {declare()}"
        return {k: f"the label {one_line(text)} {why}" for k, text in texts.items() if text not in ranked}
    names_are_rarer = rows[is_name].sum() <= rows[is_number].sum()
    most, odd = ("numbers", is_name) if names_are_rarer else ("names", is_number)
    return {k: mixed_types(labels[k], most) for k in np.flatnonzero(odd).tolist()}


def refuse_doubtful(labels: list[Any], groups: NDArray[np.intp]) -> None:
    """Reject labels that only other rows make doubtful: names among numbers, and names that may be ranges of others.

    No label is read differently because of other rows.
    """
    names = {value for label in labels for value in values_of(label) if isinstance(value, str)}
    odd = odd_among(labels, np.bincount(groups, minlength=len(labels)))
    if odd:
        raise unreadable({k: (labels[k], why) for k, why in odd.items()}, groups)
    known = LabelReader(ClassOrder(sorted({name.strip() for name in names}))) if names else None
    bad: dict[int, tuple[Any, str]] = {}
    for k, label in enumerate(labels):
        if known is not None and isinstance(label, str) and _MAY_BE_APART.search(plain(label)):
            what = known.meaning_of_parts(label)
            if what is not None:
                why = f"may be a class of its own or {what} others: {declare()}"
                bad[k] = label, f"{one_line(label)} {why}"
    if bad:
        raise unreadable(bad, groups)
