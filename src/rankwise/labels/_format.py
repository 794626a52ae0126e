"""Labels written as text and as interval ends: the way back from :mod:`rankwise.labels._grammar`.

Every distinct label is written once, however many rows repeat it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._words import the_classes
from rankwise.labels._encode import declared_order, encode
from rankwise.labels._encoded import Labels
from rankwise.labels._grammar import LabelReader, each
from rankwise.labels._order import ClassOrder, as_object_array, as_text, is_infinite, is_missing, numbered, one_line
from rankwise.labels._raw import Candidates, Coded, Exact, Intervals, Texts
from rankwise.labels._read import read

_MOST_BETWEEN = 10_000  # whole numbers that an interval may be spelled out into


def format_labels(y: Any, classes: Any = None, *, style: str = "shortest") -> NDArray[Any]:
    """Write labels as text, so that :func:`parse_labels` with the same classes reads them back.

    Parameters
    ----------
    y : array-like
        Labels of any form that :func:`encode` reads.
    classes : sequence or ClassOrder, optional
        The classes, lowest first. Without them labels are written as they were said, and names must not hold signs
        of the notation.
    style : {"shortest", "candidates"}
        ``3-5`` where a label is an interval, or ``3|4|5`` for every label that is not exact.

    Returns
    -------
    texts : object array of shape (n,)

    Examples
    --------
    >>> from rankwise.labels import format_labels
    >>> format_labels([3, (1, 2), {1, 3}, (2, None), None]).tolist()
    ['3', '1-2', '1|3', '>=2', '?']
    >>> format_labels([(2, None), None], classes=[1, 2, 3], style="candidates").tolist()
    ['2|3', '?']
    """
    if style not in ("shortest", "candidates"):
        raise ValueError(f"style must be 'shortest' or 'candidates'. Got {style!r} instead.")
    order = _order_of(y, classes)
    reader = LabelReader(order)
    return _each(y, order, lambda said: _written(said, reader, style))


def interval_ends(y: Any, classes: Any = None) -> NDArray[Any]:
    """Lower and upper ends of labels, an object array (n, 2); None is open. Candidates must not have gaps."""
    order = _order_of(y, classes)
    ends = _each(y, order, lambda said: _ends(said, order))
    return np.array([*ends.tolist()], dtype=object).reshape(-1, 2)


def candidates(y: Any, classes: Any = None) -> NDArray[Any]:
    """Candidates of labels, an object array of tuples; None for a label that says nothing.

    Without classes, intervals must be closed and of whole numbers.
    """
    order = _order_of(y, classes)
    return _each(y, order, lambda said: None if said is None else tuple(_members(said, order)))


def as_order(classes: Any) -> ClassOrder | None:
    """Declared classes as an order, if there are any."""
    return None if classes is None else declared_order(classes)


def _order_of(y: Any, classes: Any) -> ClassOrder | None:
    return y.order if classes is None and isinstance(y, Labels) else as_order(classes)


def _each(y: Any, order: ClassOrder | None, write: Any) -> NDArray[Any]:
    """What ``write`` makes of the label of every row, called once for each distinct one; errors name the row."""
    groups, distinct = said_by_row(y if order is None else encode(y, order))
    return as_object_array(each(distinct, groups, write))[groups]


def said_by_row(y: Any) -> tuple[NDArray[np.intp], list[Any]]:
    """Distinct labels as they were said, and which of them every row has."""
    if isinstance(y, Labels):
        labels, groups = y.distinct()
        return groups, labels.tolist()
    raw = read(y)
    if isinstance(raw, Texts):
        raw = raw.rows(raw.said(None))
    if isinstance(raw, Coded):
        raw = raw.as_exact()
    if isinstance(raw, Exact):
        items = [None if is_missing(value) else value for value in raw.values.tolist()]
    elif isinstance(raw, Intervals):
        items = [_interval(lower, upper) for lower, upper in raw.ends.tolist()]
    elif isinstance(raw, Candidates):
        sets: list[Any] = [set() for _ in range(len(raw))]
        for row, member in zip(raw.member_rows.tolist(), raw.members.tolist(), strict=True):
            sets[row].add(None if is_missing(member) else member)
        items = [next(iter(members)) if len(members) == 1 else frozenset(members) for members in sets]
        for row, (lower, upper) in zip(raw.interval_rows.tolist(), raw.intervals.ends.tolist(), strict=True):
            items[row] = _interval(lower, upper)
    else:
        raise ValueError(
            f"a candidate mask and an interval column need their classes: declare them with {the_classes()}."
        )
    return numbered(items)


def _interval(lower: Any, upper: Any) -> Any:
    lower = None if is_missing(lower) or (is_infinite(lower) and lower < 0) else lower
    upper = None if is_missing(upper) or (is_infinite(upper) and upper > 0) else upper
    return lower if lower == upper else (lower, upper)


def _written(said: Any, reader: LabelReader, style: str) -> str:
    """The first way of writing a label that reads back as the same."""
    order = reader.order
    if said is None:
        forms = ["?"]
    elif isinstance(said, tuple) and style == "shortest":
        lower, upper = (None if end is None else as_text(end) for end in said)
        forms = [f"<={upper}" if lower is None else f">={lower}" if upper is None else f"{lower}-{upper}"]
        if order is not None:  # a name may hold a "-" that makes this ambiguous
            first, last = reader.texts[0], reader.texts[-1]
            forms += [f"<={upper}"] if lower == first else [f">={lower}"] if upper == last else []
            forms += ["|".join(map(as_text, _members(said, order)))]
    else:
        forms = ["|".join(map(as_text, _members(said, order)))]
    for text in forms:
        if _reads_as(text, said, reader, style):
            return text
    raise ValueError(
        f"{one_line(_shown(said))} cannot be written as text that reads back: names hold signs that mean something "
        f"there (- | < > ?)."
    )


def _reads_as(text: str, said: Any, reader: LabelReader, style: str) -> bool:
    try:
        parsed = reader.parse(text)
    except ValueError:
        return False
    order = reader.order
    if order is not None:
        everything = list(range(len(order)))
        meant = everything if said is None else [order.code(value) for value in _members(said, order)]
        return sorted(meant) == (everything if parsed is None else reader.codes(parsed).tolist())
    if style == "candidates" and isinstance(said, tuple):
        said = frozenset(_members(said, None))
    return bool(parsed == said)


def _members(said: Any, order: ClassOrder | None) -> list[Any]:
    """All classes that a label admits, lowest first."""
    if isinstance(said, tuple):
        return _between(said, order)
    if isinstance(said, frozenset):
        return sorted(said, key=order.code if order is not None else _plain_key)
    return [said]


def _between(ends: tuple[Any, Any], order: ClassOrder | None) -> list[Any]:
    lower, upper = ends
    if order is not None:
        return list(order.values[order.code(lower) : order.code(upper) + 1].tolist())
    if not all(map(_is_whole, ends)) or upper - lower >= _MOST_BETWEEN:
        raise ValueError(
            f"the classes between the ends of {one_line(ends)} are not known: declare the classes with {the_classes()}."
        )
    return list(range(int(lower), int(upper) + 1))


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, float)) and float(value).is_integer()


def _plain_key(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _ends(said: Any, order: ClassOrder | None) -> tuple[Any, Any]:
    if isinstance(said, tuple):
        return said
    if isinstance(said, frozenset):
        members = _members(said, order)
        if order is None and all(map(_is_whole, members)) and members[-1] - members[0] == len(members) - 1:
            return members[0], members[-1]
        raise ValueError(f"the candidates {one_line(_shown(said))} have gaps: they are not an interval.")
    return said, said


def _shown(said: Any) -> Any:
    return sorted(said, key=_plain_key) if isinstance(said, frozenset) else said
