"""Labels written as text and as interval ends: the inverse of :mod:`rankwise.labels.grammar`.

Every distinct label is written once, however many rows repeat it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._words import the_classes
from rankwise.labels.class_order import ClassOrder
from rankwise.labels.encoded_labels import Labels
from rankwise.labels.encoding import declared_order, encode
from rankwise.labels.grammar import LabelReader
from rankwise.labels.label_values import as_object_array, as_text, is_infinite, is_missing, numbered, one_line
from rankwise.labels.raw_labels import Candidates, Coded, Exact, Intervals, Raw, Texts, read_cells
from rankwise.labels.reading import read
from rankwise.labels.unreadable import map_distinct

_MOST_BETWEEN = 10_000  # whole numbers that an interval may be spelled out into


def format_labels(y: Any, classes: Any = None, *, style: str = "shortest") -> NDArray[Any]:
    """Write labels as text, so that :func:`parse_labels` with the same classes reads them back.

    Parameters
    ----------
    y : array-like
        Labels of any form that :func:`encode` reads.
    classes : sequence or ClassOrder, optional
        The classes, lowest first. Without them labels are written as given, and names must not hold signs of the
        notation.
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
    return _map_labels(y, order, lambda label: _written(label, reader, style))


def labels_as_given(y: Any, labels: Labels, *, classes_are_declared: bool) -> list[Any]:
    """The ``labels`` that ``y`` was encoded to; one that admits every class keeps its ends or candidates.

    Such a label tells a model as much as a missing one, but an answer of a rater is more than none.
    """
    items = labels.tolist()
    widest = np.flatnonzero(labels.is_missing).tolist()
    raw = read(y)
    if isinstance(raw, Texts):
        distinct = raw.read_labels(labels.order if classes_are_declared else None)
        raw = read_cells(as_object_array(distinct)[raw.groups].tolist())
    if widest and isinstance(raw, (Intervals, Candidates)):
        given = _as_given(raw)
        for row in widest:
            items[row] = _of_the_classes(given[row], labels.order)
    return items


def _of_the_classes(label: Any, order: ClassOrder) -> Any:
    """The label with the classes as the order has them: 3 where an array of ends holds 3.0."""
    if isinstance(label, (tuple, frozenset)):
        return type(label)(None if v is None else order.values[order.code(v)].item() for v in label)
    return None


def written_as_given(items: list[Any], order: ClassOrder) -> list[str]:
    """Texts of what :func:`labels_as_given` returns."""
    groups, distinct = numbered(items)
    reader = LabelReader(order)
    texts = map_distinct(distinct, groups, lambda label: _written(label, reader, "shortest"))
    return [texts[group] for group in groups.tolist()]


def interval_ends(y: Any, classes: Any = None) -> NDArray[Any]:
    """Lower and upper ends of labels, an object array (n, 2); None is open. Candidates must not have gaps."""
    order = _order_of(y, classes)
    ends = _map_labels(y, order, lambda label: _ends(label, order))
    return np.array([*ends.tolist()], dtype=object).reshape(-1, 2)


def candidates(y: Any, classes: Any = None) -> NDArray[Any]:
    """Candidates of labels, an object array of tuples; None for a missing label.

    Without classes, intervals must be closed and of whole numbers.
    """
    order = _order_of(y, classes)
    return _map_labels(y, order, lambda label: None if label is None else tuple(_members(label, order)))


def as_order(classes: Any) -> ClassOrder | None:
    """Declared classes as an order, if there are any."""
    return None if classes is None else declared_order(classes)


def _order_of(y: Any, classes: Any) -> ClassOrder | None:
    return y.order if classes is None and isinstance(y, Labels) else as_order(classes)


def _map_labels(y: Any, order: ClassOrder | None, write: Any) -> NDArray[Any]:
    """Apply ``write`` to the label of every row, called once for each distinct one; errors name the row."""
    groups, distinct = distinct_labels(y if order is None else encode(y, order))
    return as_object_array(map_distinct(distinct, groups, write))[groups]


def distinct_labels(y: Any) -> tuple[NDArray[np.intp], list[Any]]:
    """Index of each row's label among the distinct ones, and these, as they were given."""
    if isinstance(y, Labels):
        labels, groups = y.distinct()
        return groups, labels.tolist()
    raw = read(y)
    if isinstance(raw, Texts):
        raw = raw.rows()
    if isinstance(raw, Coded):
        raw = raw.as_exact()
    return numbered(_as_given(raw))


def _as_given(raw: Raw) -> list[Any]:
    """The label of every row, as it was given."""
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
    return items


def _interval(lower: Any, upper: Any) -> Any:
    lower = None if is_missing(lower) or (is_infinite(lower) and lower < 0) else lower
    upper = None if is_missing(upper) or (is_infinite(upper) and upper > 0) else upper
    return lower if lower == upper else (lower, upper)


def _written(label: Any, reader: LabelReader, style: str) -> str:
    """The first way of writing a label that reads back as the same."""
    order = reader.order
    if label is None:
        forms = ["?"]
    elif isinstance(label, tuple) and style == "shortest":
        lower, upper = (None if end is None else as_text(end) for end in label)
        forms = [f"<={upper}" if lower is None else f">={lower}" if upper is None else f"{lower}-{upper}"]
        if order is not None:  # a name may hold a "-" that makes this ambiguous
            first, last = reader.texts[0], reader.texts[-1]
            forms += [f"<={upper}"] if lower == first else [f">={lower}"] if upper == last else []
            forms += ["|".join(map(as_text, _members(label, order)))]
            if order.ranks and None not in (lower, upper):  # "1 - poor to 3 - good" has one dash too many as a range
                forms = [f"{lower} to {upper}", *forms]
    else:
        forms = ["|".join(map(as_text, _members(label, order)))]
    for text in forms:
        if _reads_as(text, label, reader, style):
            return text
    raise ValueError(
        f"{one_line(_shown(label))} cannot be written as text that reads back: names hold signs that mean something "
        f"there (- | < > ?)."
    )


def _reads_as(text: str, label: Any, reader: LabelReader, style: str) -> bool:
    try:
        parsed = reader.parse(text)
    except ValueError:
        return False
    order = reader.order
    if order is not None:
        everything = list(range(len(order)))
        meant = everything if label is None else [order.code(value) for value in _members(label, order)]
        return sorted(meant) == (everything if parsed is None else reader.codes(parsed).tolist())
    if style == "candidates" and isinstance(label, tuple):
        label = frozenset(_members(label, None))
    return bool(parsed == label)


def _members(label: Any, order: ClassOrder | None) -> list[Any]:
    """All classes that a label admits, lowest first."""
    if isinstance(label, frozenset):
        return sorted(label, key=order.code if order is not None else _plain_key)
    if not isinstance(label, tuple):
        return [label]
    lower, upper = label
    if order is not None:
        first = 0 if lower is None else order.code(lower)
        last = len(order) - 1 if upper is None else order.code(upper)
        return list(order.values[first : last + 1].tolist())
    if not all(map(_is_whole, label)) or upper - lower >= _MOST_BETWEEN:
        raise ValueError(
            f"the classes between the ends of {one_line(label)} are not known: declare the classes with "
            f"{the_classes()}."
        )
    return list(range(int(lower), int(upper) + 1))


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, float)) and float(value).is_integer()


def _plain_key(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _ends(label: Any, order: ClassOrder | None) -> tuple[Any, Any]:
    if isinstance(label, tuple):
        return label
    if isinstance(label, frozenset):
        members = _members(label, order)
        if order is None and all(map(_is_whole, members)) and members[-1] - members[0] == len(members) - 1:
            return members[0], members[-1]
        raise ValueError(f"the candidates {one_line(_shown(label))} have gaps: they are not an interval.")
    return label, label


def _shown(label: Any) -> Any:
    return sorted(label, key=_plain_key) if isinstance(label, frozenset) else label
