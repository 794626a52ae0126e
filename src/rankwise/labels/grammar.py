"""The one grammar of labels written as text, for Python and for the command.

A text means one of four things: None (missing), a class, a tuple ``(lower, upper)`` with None for an open end, or a
frozenset of candidates. It is a range, a bound in words or a list of alternatives only if its pieces are numbers or
declared classes, so ``ex-smoker`` is a name. What one row means never depends on another row.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._words import either
from rankwise.labels._label_words import LANGUAGES, folded, language_remedy, patterns, plain
from rankwise.labels._scales import is_date, rank_of
from rankwise.labels.class_order import ClassOrder
from rankwise.labels.label_values import as_text, one_line, show
from rankwise.labels.unreadable import date_cell, declare, is_date_cell

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
_DIGIT = re.compile(r"\d")
_COMMAS = re.compile(rf"{_NUMBER}(?:\s*,\s*{_NUMBER})+")
_BRACKETS = re.compile(rf"[\[({{]\s*{_NUMBER}\s*[,;]\s*{_NUMBER}(?:\s*[,;]\s*{_NUMBER})*\s*[\])}}]")
_BOUNDS = (">=", "<=", ">", "<")
#: The remedy for mixed denominators.
ONE_SCALE = "Bring all labels to one scale."


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
        ranks = {} if order is None else order.ranks
        self._number = ranks or {float(value): code for code, value in enumerate(exact)}
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
        rank = rank_of(text)
        if rank is not None and rank.words in self._missing and rank.words:  # 99 - no answer
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
        if code is None and self.order.ranks:
            code = self._ranked(text)
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

    def _ranked(self, text: str) -> int | None:
        """The class with the number and the words of a text, whatever is between them."""
        assert self.order is not None
        rank = rank_of(text)
        code = None if rank is None else self.order.ranks.get(rank.number)
        if rank is None or code is None:
            return None
        own = rank_of(self.texts[code])
        return code if own is None or own.words in (rank.words, "") else None

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
                raise ValueError(f"{one_line(text)} needs to know the next class: {declare()}")
            return end + step
        values = self.order.values
        numbers = np.array(list(self._number))
        if self.value(name) is None and _ONE.fullmatch(name) and numbers.size and np.all(np.diff(numbers) > 0):
            beyond = np.flatnonzero(numbers > float(name) if step > 0 else numbers < float(name))
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
                f"{as_text(max(self._number))}. {ONE_SCALE}"
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
        if is_date(written) or (self.order is not None and is_date_cell(written)):
            raise ValueError(date_cell(text))
        if _BRACKETS.fullmatch(written):
            raise ValueError(f"cannot read {one_line(text)} as a label: write 3-5 for an interval, 3|5 for candidates.")
        if self.order is not None:
            hint = language_remedy(text, lambda end: self.value(end) is not None)
            if not hint and re.search(r"[\d<>|]", text):
                hint = f" In text, {FORMS}."
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
