"""The order that answers of surveys tell by themselves: a leading number, or words of a scale that everybody knows.

``1 - strongly disagree`` is the class of that name, at the place that its number tells. What orders the labels are
all of a column together; a name without a number among such names leaves the order unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from rankwise.labels._label_words import folded, plain
from rankwise.labels._scale_words import MONTHS, SCALES

_NUMBER = r"[+-]?\d{1,9}+(?:\.\d{1,9}+)?+"
# 3: x, 3 = x, 3. x, 3) x, 3 - x, and (3) x or [3] x; after a dash a digit would make it a range.
_RANKED = re.compile(
    rf"(?:({_NUMBER})\s*(?:[:=](?!\d)|[.)]+(?!\d)|-+(?=\s*[^\d\s]))|[(\[]\s*({_NUMBER})\s*[)\]][-.:=]?)\s*(.*)",
    re.DOTALL,
)
_TIGHT = re.compile(rf"{_NUMBER}-\w")
_LONGEST = 1000  # characters of a name
_LETTER = re.compile(r"[^\W\d_]")
# Inside a name: another numbered name, or a number after a word such as "to".
_SECOND = re.compile(
    rf"[\s|]\s*[(\[]?{_NUMBER}\s*[-:=.)\]]+\s*[^\W\d_]|\s(?:to|or|bis|oder|à|ou|a|o|u)\s+{_NUMBER}$|\|"
)
_DATE = re.compile(
    rf"\d{{1,2}}(?:-|/|\.\s?)(?:{MONTHS})\.?(?:[-/.]\d{{2,4}})?|(?:{MONTHS})\.?[-/.]\d{{1,4}}"
    rf"|\d{{4}}-\d\d-\d\d(?: \d\d:\d\d:\d\d)?"  # a cell of a workbook
)


@dataclass(frozen=True)
class Rank:
    """A name with a leading number."""

    number: float
    words: str  #: folded
    is_tight: bool  #: a dash without spaces, as in 7-Eleven


@dataclass(frozen=True)
class TextOrder:
    """Names in the order that they tell."""

    classes: list[Any]  #: lowest first
    scale: str | None = None  #: the known scale; None where numbers lead the names
    others: tuple[str, ...] = ()  #: texts that are none of these names: ranges of them, perhaps
    is_certain: bool = (
        True  #: whether all others must be made of these names, or it is no order at all, as in 10-K, 10-Q
    )


class ScaleConflictError(ValueError):
    """Leading numbers contradict each other; ``labels`` are the texts."""

    def __init__(self, reason: str, labels: list[str]) -> None:
        super().__init__(reason)
        self.labels = labels


def is_date(text: str) -> bool:
    """Whether a text is what spreadsheets make of ``1-2``.

    >>> is_date("02-Jan"), is_date("1 - january")
    (True, False)
    """
    return _DATE.fullmatch(folded(text)) is not None


def rank_of(text: Any) -> Rank | None:
    """The leading number of a name and its words; None where it has none.

    >>> rank_of("3 - Neutral")
    Rank(number=3.0, words='neutral', is_tight=False)
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        return None
    written = plain(text)
    match = _RANKED.fullmatch(written)
    if match is None or is_date(written):
        return None
    words = folded(match[3])
    if words and not _LETTER.search(words):
        return None
    if not words and not written.endswith((")", "]")):
        return None
    return Rank(float(match[1] or match[2]), words, _TIGHT.match(written) is not None)


def ranks(classes: list[Any]) -> dict[float, int] | None:
    """Code of every leading number, if all these names have one, each another."""
    found: dict[float, int] = {}
    for code, name in enumerate(classes):
        number = number_of(name)
        if number is None or number in found:
            return None
        found[number] = code
    return found if any(rank_of(name) for name in classes) else None


def text_order(values: Iterable[Any]) -> TextOrder | None:
    """The order of distinct labels, names and numbers, if they tell it themselves; None if they do not."""
    values = list(values)
    texts = [value for value in values if isinstance(value, str)]
    if not texts:
        return None
    return _ranked_order(values) or (_known_order(texts) if len(texts) == len(values) else None)


def number_of(value: Any) -> float | None:
    """The number that a label is or begins with; None where it has none."""
    rank = rank_of(value)
    return _as_number(value) if rank is None else rank.number


def _as_number(value: Any) -> float | None:
    if isinstance(value, str):
        return float(plain(value)) if re.fullmatch(_NUMBER, plain(value)) else None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15
    return float(value) if is_number else None


def _ranked_order(values: list[Any]) -> TextOrder | None:
    names: dict[float, dict[str, list[str]]] = {}  # of each number: by their words
    any_tight = any_ranked = False
    for value in values:
        rank = rank_of(value)
        number = _as_number(value) if rank is None else rank.number
        if number is None:
            return None
        of_number = names.setdefault(number, {})
        if rank is not None:
            any_ranked, any_tight = True, any_tight or rank.is_tight
            of_number.setdefault(rank.words, []).append(value)
    if not any_ranked:
        return None
    classes: list[str] = []
    others: list[str] = []
    number_of: dict[str, float] = {}
    for number in sorted(names):
        by_words = names[number]
        # The shortest is the name: "1 - poor", and not "1 - poor to 3 - good".
        words = min(by_words, key=lambda words: (len(words), words), default="")
        name = min(by_words[words], key=_oddity) if by_words else _written(number)
        if words in number_of and words:
            if any_tight:
                return None
            both = f"{_written(number_of[words])} and {_written(number)}"
            raise ScaleConflictError(
                f"{name!r} has the words of another number: {words!r} has the numbers {both}", [name]
            )
        number_of[words] = number
        classes.append(name)
        others += [text for other, texts in by_words.items() if other != words for text in texts]
        if _SECOND.search(words):
            raise ScaleConflictError(f"{name!r} may be a class of its own or made of others", [name])
    return TextOrder(classes, others=tuple(others), is_certain=not any_tight)


def _oddity(text: str) -> tuple[bool, str]:
    """Of several spellings of a name the one without special spaces and dashes is taken, wherever it occurs."""
    return text != plain(text), text


def _written(number: float) -> str:
    return str(int(number)) if number.is_integer() else str(number)


@cache
def _known_scales() -> list[tuple[str, dict[str, int]]]:
    """Kind and place of every answer of each known scale."""
    return [
        (kind, {folded(words): place for place, answer in enumerate(scale.split(" < ")) for words in answer.split("|")})
        for kind, scales in SCALES.items()
        for scale in scales
    ]


def _known_order(texts: list[str]) -> TextOrder | None:
    """Names in the order of the known scale that has all of them; None if there is none, or if two disagree."""
    by_fold: dict[str, list[str]] = {}
    for text in texts:
        by_fold.setdefault(folded(text), []).append(text)
    orders: dict[tuple[str, ...], str] = {}
    for kind, places in _known_scales() if len(by_fold) > 1 else ():
        if by_fold.keys() <= places.keys():
            if len({places[fold] for fold in by_fold}) < len(by_fold):
                return None  # two wordings of one answer
            orders.setdefault(tuple(sorted(by_fold, key=lambda fold: places[fold])), kind)
    if len(orders) != 1:
        return None
    order, kind = next(iter(orders.items()))
    return TextOrder([min(by_fold[fold], key=_oddity) for fold in order], kind)


def strays(texts: list[str]) -> tuple[list[str], str] | None:
    """The few names that keep the others from telling their order, and what these are; None if there are none."""
    ranked = [text for text in texts if rank_of(text) is not None]
    if 1 < len(ranked) < len(texts) < 2 * len(ranked):
        return [text for text in texts if text not in ranked], f"have leading numbers, such as {ranked[0]!r}"
    for kind, places in _known_scales():
        known = [text for text in texts if folded(text) in places]
        if 1 < len(known) < len(texts) < 2 * len(known):
            return [text for text in texts if text not in known], f"are answers of a known scale, {kind}"
    return None


def same_place(texts: list[str]) -> tuple[str, str, str] | None:
    """Two of these names that are one answer of the known scale that has all of them, and the scale; None if none."""
    for kind, places in _known_scales():
        if not all(folded(text) in places for text in texts):
            continue
        first: dict[int, str] = {}
        for text in texts:
            other = first.setdefault(places[folded(text)], text)
            if folded(other) != folded(text):
                return other, text, kind
    return None
