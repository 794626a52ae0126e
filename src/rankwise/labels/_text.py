"""Labels written as text: ``3``, ``3-5``, ``>=4``, ``<=2``, ``>4``, ``<2``, ``2|3|7``, ``?``.

Every distinct text is parsed once, however many rows repeat it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise.labels._encode import declared_order
from rankwise.labels._order import ClassOrder, as_object_array, as_text, is_missing, one_line, show

#: For error messages.
FORMS = "a label is written 3, 3-5, >=4, <=2, >4, <2, 2|3|7 or ? (also with the names of declared classes)"

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_ONE = re.compile(_NUMBER)
_RANGE = re.compile(rf"({_NUMBER})\s*-\s*({_NUMBER})")
_BOUND = re.compile(r"(>=|<=|>|<)\s*(.*)", re.DOTALL)
_NOTHING = ("", "?", "nan")


def parse_labels(texts: Any, classes: Any = None) -> Any:
    """Read labels written as text.

    ``3`` is exact, ``3-5`` an interval with both ends included, ``>=4``, ``<=2``, ``>4`` and ``<2`` are open on one
    side, ``2|3|7`` lists candidates, ``?``, blanks and None say nothing.

    Parameters
    ----------
    texts : sequence of str or None
        A list, a NumPy array, a column of pandas or polars, or a (dictionary) array of pyarrow.
    classes : sequence or ClassOrder, optional
        The classes, lowest first. With them, names of classes may stand in place of numbers, and may hold ``-`` and
        ``|`` themselves; ``>4`` begins at the next class, and every text must mean at least one class. Without them,
        numbers and names are taken as they come, and ``>`` and ``<`` need whole numbers.

    Returns
    -------
    y
        Labels in a form that :func:`encode` and every ``fit`` reads: a 1-D array of exact labels, an (n, 2) array of
        interval ends, a boolean (n, K) mask of the declared classes, or a list of labels, tuples and sets.

    Examples
    --------
    >>> from rankwise.labels import parse_labels
    >>> parse_labels(["3", "1-2", ">=2", "?"])
    array([[ 3.,  3.],
           [ 1.,  2.],
           [ 2., nan],
           [nan, nan]])
    >>> parse_labels(["low-high", "low|high", ">low"], classes=["low", "medium", "high"])
    array([[ True,  True,  True],
           [ True, False,  True],
           [False,  True,  True]])
    """
    codes, distinct = _distinct(texts)
    order = None if classes is None else declared_order(classes)
    parse = parse_plain if order is None else LabelReader(order).parse
    parsed = each(distinct, codes, lambda text: None if text is None else parse(_checked(text)))
    return _collected(parsed, codes) if order is None else _rows_of(parsed, codes, order)


def parse_ends(texts: Any, classes: ClassOrder | None) -> NDArray[Any]:
    """Interval ends written as text, one a row: numbers or names of classes, None where a text says nothing."""
    codes, distinct = _distinct(texts)
    reader = None if classes is None else LabelReader(classes)
    ends = each(distinct, codes, lambda text: None if text is None else _parsed_end(_checked(text).strip(), reader))
    return as_object_array(ends)[codes]


def each(distinct: Iterable[Any], groups: NDArray[np.intp], function: Callable[[Any], Any]) -> list[Any]:
    """What a function makes of each distinct label; ``groups`` tells the row to blame if it raises ``ValueError``."""
    made = []
    for group, label in enumerate(distinct):
        try:
            made.append(function(label))
        except ValueError as error:
            raise RowError(str(error), int(np.argmax(groups == group))) from None
    return made


def _parsed_end(text: str, reader: LabelReader | None) -> Any:
    code = None if reader is None else reader.code(text)
    if reader is not None and code is not None:
        return reader.order.values[code : code + 1].tolist()[0]
    if text.lower() in _NOTHING:
        return None
    return _value(text, text)


class LabelReader:
    """Reads texts with declared classes: a text becomes the codes it admits."""

    def __init__(self, order: ClassOrder) -> None:
        self.order = order
        self.texts = [as_text(value) for value in order.values.tolist()]
        self._code = {text.strip(): code for code, text in enumerate(self.texts)}
        if len(self._code) < len(order):
            raise ValueError(f"classes must differ when they are written as text. Got {show(order.values)} instead.")
        exact = order.values.tolist() if order.is_exact_in_float else []
        self._number = {float(value): code for code, value in enumerate(exact)}

    def code(self, text: str) -> int | None:
        """Code of the class that a text names."""
        text = text.strip()
        if text in self._code:
            return self._code[text]
        return self._number.get(float(text)) if self._number and _ONE.fullmatch(text) else None

    def parse(self, text: str) -> NDArray[np.intp] | None:
        """Codes that a text admits; None if it says nothing."""
        text = text.strip()
        whole = self.code(text)
        if whole is not None:
            return np.array([whole])
        if text.lower() in _NOTHING:
            return None
        bound = _BOUND.fullmatch(text)
        if bound:
            return self._beyond(bound[1], bound[2], text)
        between = self._between(text)
        if between is not None:
            return between
        parts = text.split("|")
        if len(parts) == 1:
            values = show(self.order.values)
            raise ValueError(f"{one_line(text)} is no label of the classes {values}: {FORMS}.")
        return np.unique([self._known(part, text) for part in parts])

    def _beyond(self, sign: str, end: str, text: str) -> NDArray[np.intp]:
        code, k = self._known(end, text), len(self.order)
        first, last = {">=": (code, k), ">": (code + 1, k), "<=": (0, code + 1), "<": (0, code)}[sign]
        if first >= last:
            raise ValueError(
                f"there is no class {sign} {end}. Got {text!r} with the classes {show(self.order.values)}."
            )
        return np.arange(first, last)

    def _between(self, text: str) -> NDArray[np.intp] | None:
        """Read ``lower-upper``, where names and negative numbers may hold a ``-`` themselves; None if it is not so."""
        cuts = [i for i, c in enumerate(text) if c == "-"]
        ends = [(self.code(text[:i]), self.code(text[i + 1 :])) for i in cuts]
        found = [(lower, upper) for lower, upper in ends if lower is not None and upper is not None]
        if len(found) > 1:
            raise ValueError(f"{text!r} can be read as an interval in {len(found)} ways: list the candidates with |.")
        if not found:
            return None
        lower, upper = found[0]
        if lower > upper:
            raise ValueError(
                f"the lower end of an interval must not be above its upper end. Got {text!r} with the classes "
                f"{show(self.order.values)}."
            )
        return np.arange(lower, upper + 1)

    def _known(self, name: str, text: str) -> int:
        code = self.code(name)
        if code is None:
            values = show(self.order.values)
            raise ValueError(f"{one_line(name.strip())} in {one_line(text)} is not one of the classes {values}.")
        return code


def parse_plain(text: str) -> Any:
    """A label without declared classes: a value, a tuple, a set, or None."""
    text = text.strip()
    if text.lower() in _NOTHING:
        return None
    bound = _BOUND.fullmatch(text)
    if bound:
        return _open_interval(bound[1], _value(bound[2].strip(), text), text)
    parts = text.split("|")
    if len(parts) > 1:
        return {_value(part.strip(), text) for part in parts}
    between = _RANGE.fullmatch(text)
    if between:
        lower, upper = _value(between[1], text), _value(between[2], text)
        if lower > upper:
            raise ValueError(f"the lower end of an interval must not be above its upper end. Got {text!r}.")
        return lower, upper
    value = _value(text, text)
    if isinstance(value, str) and text.count("-") == 1:
        lower, upper = (_value(part.strip(), text) for part in text.split("-"))
        return lower, upper
    if isinstance(value, str) and "-" in text:
        raise ValueError(f"{one_line(text)} holds more than one '-': declare the classes with classes=[...].")
    return value


def _open_interval(sign: str, end: Any, text: str) -> tuple[Any, Any]:
    if sign in (">", "<"):
        if not isinstance(end, int):
            raise ValueError(f"{one_line(text)} needs to know the next class: declare the classes with classes=[...].")
        end += 1 if sign == ">" else -1
    return (end, None) if sign.startswith(">") else (None, end)


def _value(text: str, whole: str) -> Any:
    """A number if it looks like one, otherwise a name, which must not be blank or hold signs of the notation."""
    if _ONE.fullmatch(text):
        return _number(text)
    if not text or text == "?" or text[0] in "<>=":
        raise ValueError(f"{one_line(whole)} is no label: {FORMS}.")
    return text


def _number(text: str) -> int | float:
    value = float(text)
    if not np.isfinite(value):
        raise ValueError(f"{one_line(text)} is too large for a label.")
    return int(text) if re.fullmatch(r"[+-]?\d+", text) and abs(value) < 2**63 else value


def _checked(text: Any) -> str:
    if not isinstance(text, str):
        raise ValueError(f"a label in a text column must be text. Got {one_line(text)} instead.")
    return text


def _distinct(texts: Any) -> tuple[NDArray[np.intp], list[Any]]:
    """Number of each row's text among the distinct ones, and these; missing ones are None."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(texts, pyarrow.ChunkedArray):
        texts = texts.unify_dictionaries().combine_chunks()
    if pyarrow is not None and isinstance(texts, pyarrow.Array):
        coded = texts if isinstance(texts, pyarrow.DictionaryArray) else texts.dictionary_encode()
        known = [*coded.dictionary.to_pylist(), None]
        codes = coded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False).astype(np.intp)
        used = np.bincount(codes, minlength=len(known)) > 0  # a dictionary may hold more than occurs
        return (np.cumsum(used) - 1)[codes], [text for text, occurs in zip(known, used, strict=True) if occurs]
    if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
        raise ValueError(f"labels in text must be a sequence of texts. Got {one_line(texts)} instead.")
    items = texts.tolist() if isinstance(texts, np.ndarray) else list(texts)
    place: dict[Any, int] = {}
    try:
        codes = [place.setdefault(None if is_missing(item) else item, len(place)) for item in items]
    except TypeError:
        row = next(row for row, item in enumerate(items) if not isinstance(item, str) and not is_missing(item))
        raise RowError(f"a label in a text column must be text. Got {one_line(items[row])}.", row) from None
    return np.array(codes, dtype=np.intp), list(place)


def _collected(parsed: list[Any], codes: NDArray[np.intp]) -> Any:
    """One container for labels without declared classes: as simple as they allow."""
    if all(map(is_number_or_none, parsed)):
        return _numbers(parsed)[codes]
    if not any(isinstance(label, set) for label in parsed):
        ends = [end for label in parsed for end in (label if isinstance(label, tuple) else (label, label))]
        if all(map(is_number_or_none, ends)):
            return _numbers(ends).reshape(-1, 2)[codes]
    return as_object_array(parsed)[codes].tolist()


def is_number_or_none(value: Any) -> bool:
    return value is None or isinstance(value, (int, float))


def _numbers(values: list[Any]) -> NDArray[Any]:
    """Whole numbers if all are, otherwise float64 with NaN for none."""
    if values and all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _rows_of(parsed: list[NDArray[np.intp] | None], codes: NDArray[np.intp], order: ClassOrder) -> Any:
    """Exact labels as classes, anything else as a mask of the declared classes."""
    if all(admitted is not None and len(admitted) == 1 for admitted in parsed):
        return order.values[np.array([admitted[0] for admitted in parsed if admitted is not None], dtype=np.intp)][
            codes
        ]
    mask = np.zeros((len(parsed), len(order)), dtype=bool)
    for k, admitted in enumerate(parsed):
        mask[k, slice(None) if admitted is None else admitted] = True
    return mask[codes]
