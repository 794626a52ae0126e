"""The one grammar of labels written as text, for Python and for the command.

A text means one of four things: None (missing), a class, a tuple ``(lower, upper)`` with None for an open end, or a
frozenset of candidates. It is a range, a bound in words or a list of alternatives only if its pieces are numbers or
declared classes, so ``ex-smoker`` is a name. What one row means never depends on another row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise._words import either, the_classes
from rankwise.labels._label_words import LANGUAGES, folded, patterns, plain
from rankwise.labels._order import ClassOrder, as_text, one_line, show

#: For error messages.
FORMS = "a label is written 3, 3-5, >=4, <=2, >4, <2, 2|3|7 or ? (also with the names of declared classes)"

# Labels may come from anybody: each pattern takes time in proportion to the text.
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_LONGEST_END = 100  # characters of a number in an interval
_LONGEST_INTERVAL = 1000
_ONE = re.compile(_NUMBER)
_BOUND = re.compile(r"(>=|<=|>|<)\s*(.*)", re.DOTALL)
_PLUS = re.compile(rf"({_NUMBER})\s*\+(.*)")
_DOTS = re.compile(r"\.{2,3}|…")
_BEGINS_NUMBER = frozenset("+-.0123456789")
_MAY_BE_APART = re.compile(r"[ \-/]|\.\.|…")
_DIGIT = re.compile(r"\d")
_COMMAS = re.compile(rf"{_NUMBER}(?:\s*,\s*{_NUMBER})+")
_BRACKETS = re.compile(rf"[\[({{]\s*{_NUMBER}\s*[,;]\s*{_NUMBER}(?:\s*[,;]\s*{_NUMBER})*\s*[\])}}]")
_BOUNDS = (">=", "<=", ">", "<")
_ONE_SCALE = "Bring all labels to one scale."


class LabelReader:
    """Reads labels written as text.

    Names of declared classes may replace numbers, and a text that is such a name means that class.
    """

    def __init__(self, order: ClassOrder | None = None, language: str = "en") -> None:
        if language not in LANGUAGES:
            raise ValueError(f"language must be one of {', '.join(LANGUAGES)}. Got {language!r} instead.")
        self.order = order
        self._values = [] if order is None else order.values.tolist()
        self.texts = [as_text(value) for value in self._values]
        self._code = {text.strip(): code for code, text in enumerate(self.texts)}
        if order is not None and len(self._code) < len(order):
            raise ValueError(f"classes must differ when they are written as text. Got {show(order.values)} instead.")
        for text, code in list(self._code.items()):
            self._code.setdefault(plain(text), code)
        alike = Counter(folded(text) for text in self.texts)
        self._folded = {folded(text): code for code, text in enumerate(self.texts) if alike[folded(text)] == 1}
        exact = self._values if order is not None and order.is_exact_in_float else []
        self._number = {float(value): code for code, value in enumerate(exact)}
        self._longest = min(_LONGEST_INTERVAL, 4 + 2 * max(_LONGEST_END, *map(len, self.texts), 0))
        self._missing, self._phrases, self._or, self._unit = patterns(language)
        self.tops: dict[str, float] = {}  #: denominators of the texts such as "3 out of 5" that were read

    def parse(self, text: str) -> Any:
        """The label that a text means."""
        text = text.strip()
        if text in self._code:
            return self._values[self._code[text]]
        if folded(text) in self._missing:
            return None
        written = plain(text)
        whole = self.value(written)
        if whole is not None:
            return whole
        bound = _BOUND.fullmatch(written)
        if bound:
            return self._bound(bound[1], bound[2], text)
        plus = _PLUS.fullmatch(written)
        if plus and self.value(plus[1]) is not None and self._unit.sub("", "0" + plus[2].strip()) == "0":
            return self.value(plus[1]), None
        if self.order is not None or _DIGIT.search(written):
            label = self.taken_apart(written, text)
            if label is not None:
                return label
        if "|" in written:
            return frozenset(self._end(name, text) for name in written.split("|"))
        return self._name(written, text)

    def taken_apart(self, written: str, text: str) -> Any:
        """The label that a text means by its parts, in words or with a sign between them; None if it is not so."""
        for read in (self._in_words, self._between, self._listed):
            label = read(written, text)
            if label is not None:
                return label
        return None

    def end(self, text: str) -> Any:
        """One end of an interval, written as text: a class or number, None where it is open."""
        text = text.strip()
        if text not in self._code and folded(text) in self._missing:
            return None
        value = self.value(plain(text))
        return _name(text, text) if value is None else value

    def value(self, text: str) -> Any:
        """The class that a text names, or its number where no classes are declared; None if it is neither."""
        text = text.strip()
        if text in self._code:
            return self._values[self._code[text]]
        number = self._unit.sub("", text) if text[:1] in _BEGINS_NUMBER else ""
        is_number = _ONE.fullmatch(number)
        if self.order is None:
            return _number(number) if is_number else None
        code = self._number.get(float(number)) if is_number else None
        if code is None:
            code = self._folded.get(folded(text))
        return None if code is None else self._values[code]

    def meaning_of_parts(self, name: str) -> str | None:
        """What a name of one class could also be, said of others: a range, a bound or a list; None if nothing."""
        try:
            label = self.taken_apart(plain(name), name)
        except ValueError:  # a range that is empty, or in several ways
            return "the range between two"
        if label is None:
            return None
        if isinstance(label, frozenset):
            return "a list of"
        return "the range between two" if isinstance(label, tuple) and None not in label else "a bound on"

    def codes(self, label: Any) -> NDArray[np.intp]:
        """Codes of the declared classes that a label admits."""
        assert self.order is not None
        code, k = self.order.code, len(self.order)
        if isinstance(label, frozenset):
            return np.unique([code(value) for value in label])
        lower, upper = label if isinstance(label, tuple) else (label, label)
        return np.arange(0 if lower is None else code(lower), k if upper is None else code(upper) + 1)

    def _end(self, name: str, text: str) -> Any:
        """A piece of a text that must be a class, or without declared classes a number."""
        value = self.value(name)
        if value is not None:
            return value
        if self.order is None:
            _name(name.strip(), text)
            why = f"{one_line(name.strip())} is neither a number nor a declared class"
            raise ValueError(f"cannot read {one_line(text)} as a label: {why}.")
        values = show(self.order.values)
        raise ValueError(f"{one_line(name.strip())} in {one_line(text)} is not one of the classes {values}.")

    def _bound(self, sign: str, name: str, text: str) -> tuple[Any, Any]:
        end = self._end(name, text) if "=" in sign else self._next(name.strip(), 1 if sign == ">" else -1, text)
        return (end, None) if sign.startswith(">") else (None, end)

    def _next(self, name: str, step: int, text: str) -> Any:
        """The class above or below what a text names; a number need not be a class for that."""
        if self.order is None:
            end = self.value(_name(name, text))
            if not isinstance(end, int):
                raise ValueError(f"{one_line(text)} needs to know the next class: {_declare()}")
            return end + step
        values = self.order.values
        if self.value(name) is None and self._number and _ONE.fullmatch(name) and np.all(values[1:] > values[:-1]):
            beyond = np.flatnonzero(values > float(name) if step > 0 else values < float(name))
            code = -1 if not beyond.size else int(beyond[0 if step > 0 else -1])
        else:
            code = self.order.code(self._end(name, text)) + step
        if not 0 <= code < len(values):
            raise ValueError(
                f"there is no class {'>' if step > 0 else '<'} {name[:40]}. "
                f"Got {one_line(text)} with the classes {show(values)}."
            )
        return self._values[code]

    def _in_words(self, written: str, text: str) -> Any:
        """Read "at least 4", "3 to 5", "3 out of 5"; None if it is not so."""
        for sign, phrase in self._phrases if " " in written else ():
            match = phrase.fullmatch(written)
            if match is None:
                continue
            if sign == "of":
                self._check_scale(match[1], self._unit.sub("", match[2].strip()), text)
            value = self.value(match[1])
            if value is None:
                continue
            if sign == "of" and text in self.tops:
                return value
            if sign in _BOUNDS:
                return self._bound(sign, match[1], text)
            if sign == "-" and self.value(match[2]) is not None:
                return self._interval(value, self.value(match[2]), text)
        return None

    def _check_scale(self, number: str, top: str, text: str) -> None:
        """Note the denominator of "3 out of 5"; where the classes are known, it must be the highest."""
        if not (_ONE.fullmatch(number) and _ONE.fullmatch(top)):
            return
        if float(number) > float(top):
            raise ValueError(f"cannot read {one_line(text)} as a label: {number[:40]} is above {top[:40]}.")
        if self._number and float(top) != max(self._number):
            raise ValueError(
                f"cannot read {one_line(text)} as a label: it is out of {top[:40]}, and the highest class is "
                f"{as_text(max(self._number))}. {_ONE_SCALE}"
            )
        self.tops[text] = float(top)

    def _between(self, written: str, text: str) -> Any:
        """Read ``lower-upper``; None if it is not so. Names and negative numbers may hold a ``-`` themselves."""
        if len(written) > self._longest:
            return None
        cuts = [(i, i + 1) for i, sign in enumerate(written) if sign == "-"]
        cuts += [match.span() for match in _DOTS.finditer(written)]
        ends = [(self.value(written[:i]), self.value(written[j:])) for i, j in cuts]
        ways = [pair for pair in ends if None not in pair]
        if len(ways) > 1:
            raise ValueError(f"{text!r} can be read as an interval in {len(ways)} ways: list the candidates with |.")
        return self._interval(*ways[0], text) if ways else None

    def _interval(self, lower: Any, upper: Any, text: str) -> tuple[Any, Any]:
        place = (lambda value: value) if self.order is None else self.order.code
        if place(lower) > place(upper):
            classes = "" if self.order is None else f" with the classes {show(self.order.values)}"
            raise ValueError(f"the lower end of an interval must not be above its upper end. Got {text!r}{classes}.")
        return lower, upper

    def _listed(self, written: str, text: str) -> frozenset[Any] | None:
        """Read "4 or 5" and "4/5"; None if it is not so."""
        for split in (self._or.split(written), written.split("/")):
            names = [name.strip() for name in split]
            values = [self.value(name) for name in names] if len(names) > 1 else [None]
            if None in values:
                continue
            if "/" in written and not self._neighbours(values):
                raise ValueError(
                    f"cannot read {one_line(text)} as a label: it may be a score out of {names[-1][:20]} or list "
                    f"candidates. Write {names[0][:20]}, or {'|'.join(names)[:100]}."
                )
            return frozenset(values)
        return None

    def _neighbours(self, values: list[Any]) -> bool:
        places = values if self.order is None else [self.order.code(value) for value in values]
        return all(after - before == 1 for before, after in pairwise(places))

    def _name(self, written: str, text: str) -> Any:
        if _COMMAS.fullmatch(written):
            declared = either("", " (or declare it: --decimal ,)")
            raise ValueError(
                f"cannot read {one_line(text)} as a label: write 3.5 for a decimal{declared}, 3|5 for candidates."
            )
        if _BRACKETS.fullmatch(written):
            raise ValueError(f"cannot read {one_line(text)} as a label: write 3-5 for an interval, 3|5 for candidates.")
        if self.order is not None:
            hint = f" In text, {FORMS}." if re.search(r"[\d<>|]", text) else ""
            raise ValueError(f"the label {one_line(text)} is not one of the classes {show(self.order.values)}.{hint}")
        return _name(text, text)


def _name(text: str, whole: str) -> str:
    """A name, which must not be blank or begin with a sign of the notation."""
    if not text or text == "?" or text[0] in "<>=":
        raise ValueError(f"cannot read {one_line(whole)} as a label: {FORMS}.")
    return text


def _number(text: str) -> int | float:
    value = float(text)
    if not np.isfinite(value):
        raise ValueError(f"{one_line(text)} is too large for a label.")
    # Python reads no more than 4300 digits as a whole number.
    return int(text) if len(text) < 1000 and re.fullmatch(r"[+-]?\d+", text) and abs(value) < 2**63 else value


class UnreadableLabelsError(RowError):
    """Labels that cannot be read: each distinct one with its count and the first row.

    Attributes
    ----------
    found : list of (label, count, first row)
        The distinct labels, the first row first.
    """

    __module__ = "rankwise.labels"  # the public name, in tracebacks and pickles
    _MOST_NAMED = 10

    def __init__(self, reason: str, found: list[tuple[Any, int, int]]) -> None:
        self.found, self.first_reason = found, reason
        super().__init__(self.told(lambda row: f"row {row}"), found[0][2])

    def told(self, place: Callable[[int], str]) -> str:
        """The reason, with the other labels and the first row of each; ``place`` names a row."""
        (_, count, _), *others = self.found
        message = self.first_reason + (f" {count} rows hold this label." if count > 1 else "")
        if not others:
            return message
        named = [
            f"{one_line(label)} ({place(row)}{f' and {count - 1} more' if count > 1 else ''})"
            for label, count, row in others[: self._MOST_NAMED]
        ]
        more = f" and {len(others) - self._MOST_NAMED} others" if len(others) > self._MOST_NAMED else ""
        return f"{message} Nor can these be read: {', '.join(named)}{more}."


def map_distinct(distinct: Iterable[Any], groups: NDArray[np.intp], function: Callable[[Any], Any]) -> list[Any]:
    """Apply a function to each distinct label; ``groups`` tells which rows to name where it raises ``ValueError``."""
    results: list[Any] = []
    bad: dict[int, tuple[Any, str]] = {}
    for group, label in enumerate(distinct):
        try:
            results.append(function(label))
        except ValueError as error:
            bad[group] = (label, str(error))
    if bad:
        raise unreadable(bad, groups)
    return results


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
        elif any(isinstance(value, (int, float)) and value > top for value in _values(label)):
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
    return f"the labels have different denominators, as in {examples}. {_ONE_SCALE}"


def above_scale(value: Any, example: str) -> str:
    """Error message for a number above a denominator."""
    return f"the label {one_line(value)} is above the scale of {one_line(example)}. {_ONE_SCALE}"


def unreadable(bad: dict[int, tuple[Any, str]], groups: NDArray[np.intp]) -> UnreadableLabelsError:
    """Error about the distinct labels of these numbers, each with its reason; ``groups`` gives every row's number."""
    occurring, first, counts = np.unique(groups, return_index=True, return_counts=True)
    places = {int(group): (int(row), int(n)) for group, row, n in zip(occurring, first, counts, strict=True)}
    rows = sorted((*places[group], *why) for group, why in bad.items())
    return UnreadableLabelsError(rows[0][3], [(label, count, row) for row, count, label, _ in rows])


def refuse_doubtful(labels: list[Any], groups: NDArray[np.intp]) -> None:
    """Reject labels that only other rows make doubtful: names among numbers, and names that may be ranges of others.

    No label is read differently because of other rows.
    """
    names = {value for label in labels for value in _values(label) if isinstance(value, str)}
    is_name = np.array([has_name(label) for label in labels], dtype=bool)
    is_number = np.array([label is not None for label in labels], dtype=bool) & ~is_name
    if is_name.any() and is_number.any():
        rows = np.bincount(groups, minlength=len(labels))
        names_are_rarer = rows[is_name].sum() <= rows[is_number].sum()
        most, odd = ("numbers", is_name) if names_are_rarer else ("names", is_number)
        raise unreadable({k: (labels[k], mixed_types(labels[k], most)) for k in np.flatnonzero(odd).tolist()}, groups)
    known = LabelReader(ClassOrder(sorted({name.strip() for name in names}))) if names else None
    bad: dict[int, tuple[Any, str]] = {}
    for k, label in enumerate(labels):
        if known is not None and isinstance(label, str) and _MAY_BE_APART.search(plain(label)):
            what = known.meaning_of_parts(label)
            if what is not None:
                why = f"may be a class of its own or {what} others: {_declare()}"
                bad[k] = label, f"{one_line(label)} {why}"
    if bad:
        raise unreadable(bad, groups)


def _values(label: Any) -> Iterable[Any]:
    return label if isinstance(label, (tuple, set, frozenset)) else (label,)


def has_name(label: Any) -> bool:
    """Whether a label has a name in it, and not only numbers."""
    return any(isinstance(value, str) for value in _values(label))


def mixed_types(label: Any, most: str) -> str:
    """Error message for a number among names, or the reverse; ``most`` is what the other labels are."""
    why = f"where most are {most}, and these have no common order. Correct it, or {_declare()}"
    return f"a label is {one_line(label)} {why}"


def _declare() -> str:
    return f"declare the classes with {the_classes()}."
