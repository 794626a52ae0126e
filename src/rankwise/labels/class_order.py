"""The order of the classes: where it comes from, and the code of every class in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from datetime import date
from itertools import repeat
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._warn import warn_user
from rankwise._words import either, the_classes
from rankwise.labels import _lookup
from rankwise.labels._label_words import folded, language_remedy
from rankwise.labels._scales import ScaleConflictError, TextOrder, number_of, ranks, same_place, strays, text_order
from rankwise.labels.label_values import (
    EXACT_IN_FLOAT,
    as_object_array,
    as_python,
    as_text,
    is_hashable,
    is_infinite,
    is_missing,
    one_line,
    refuse_unhashable,
    show,
    tidy,
)

_LOWEST_FIRST, _AS_OPTION = "classes=[lowest, ..., highest]", "--classes LOWEST,...,HIGHEST"
_DECLARE, _GIVE = f"declare it: {_LOWEST_FIRST}, or make y an ordered Categorical", f"give {_AS_OPTION}"
_MANY_CLASSES = 50
_NO_CLASS = object()
_CODES = frozenset(sign * code for code in (77, 88, 97, 98, 99, 777, 888, 997, 998, 999) for sign in (1, -1)) | {-8, -9}
_HIGHEST_GRADE = 10


class OrderWarning(UserWarning):
    """Strings were sorted alphabetically because no order was given."""


class OrderNote(UserWarning):
    """Words were put in the order of a known scale, such as "never" to "always", because no order was given."""


class UnknownOrderError(ValueError):
    """The order of the classes matters, and neither the labels nor a parameter tell it."""

    __module__ = "rankwise.labels"  # the public name, in tracebacks and pickles


class ClassOrder:
    """The classes in their order, lowest first, and the code 0..K-1 of each.

    Parameters
    ----------
    classes : sequence
        Distinct labels, lowest first. Numbers need not be evenly spaced nor ascending: their order here counts.

    Examples
    --------
    >>> ClassOrder(["low", "medium", "high"]).code("medium")
    1
    """

    def __init__(self, classes: Sequence[Any] | NDArray[Any]) -> None:
        values = classes if isinstance(classes, np.ndarray) else tidy(as_object_array(classes))
        if values.ndim != 1 or values.size == 0:
            raise ValueError(
                f"classes must be a non-empty list of labels, lowest first. Got {one_line(classes)} instead."
            )
        if any(is_missing(v) for v in values.tolist()):
            raise ValueError(f"classes must not hold missing values. Got {show(values)} instead.")
        if any(is_infinite(v) for v in values.tolist()):
            raise ValueError(f"classes must be finite. Got {show(values)} instead.")
        self.values = values
        try:
            self.index: dict[Hashable, int] = {v: code for code, v in enumerate(values.tolist())}
        except TypeError:
            refuse_unhashable(values)
        if len(self.index) != values.size:
            repeated = Counter(values.tolist()).most_common(1)[0][0]
            raise ValueError(f"classes must be distinct. Got {one_line(repeated)} more than once.")
        #: Code of every leading number, where the names have them: 1 is the class "1 - poor".
        self.ranks = (ranks(values.tolist()) if values.dtype.kind == "U" else None) or {}
        self._code_of: dict[Any, int] = {**self.ranks, **self.index, None: _lookup.MISSING}
        self.is_numeric = values.dtype.kind in "iufb"
        as_floats = values.astype(np.float64) if self.is_numeric else np.empty(0)
        self.is_exact_in_float = self.is_numeric and bool(np.all(np.abs(as_floats) < EXACT_IN_FLOAT))
        self.is_consecutive = self.is_exact_in_float and bool(np.all(np.diff(as_floats) == 1.0))

    def __len__(self) -> int:
        return int(self.values.size)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, ClassOrder) and self.values.tolist() == other.values.tolist()

    __hash__ = None  # type: ignore[assignment]

    def code(self, value: Any) -> int:
        """Code of one label, a class or its leading number; any other raises ``KeyError``."""
        return self.index[value] if value in self.index else self.ranks[value]

    def named(self, label: Any) -> Any:
        """A label in which numbers are replaced by the classes that have them as leading numbers."""
        if isinstance(label, (tuple, set, frozenset)):
            return type(label)(map(self.named, label))
        is_number = isinstance(label, Real) and not isinstance(label, bool)
        return self.values[self.ranks[label]].item() if is_number and label in self.ranks else label

    def numeric_table(self, dtype: type) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Ascending class values as ``dtype`` and the code of each, for the compiled look-up."""
        ascending = np.argsort(self.values, kind="stable")
        return self.values[ascending].astype(dtype), ascending.astype(np.int32)

    def codes(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """Code of every element of a 1-D array; MISSING (-1) for a missing one, UNKNOWN (-2) if it is not a class."""
        out = np.empty(values.size, dtype=np.int32)
        same_type = comparable(values, self)
        if same_type is not None:
            numbers, table = same_type
            _lookup.exact_codes(numbers, *table, out)
            return out
        items = values.tolist()
        if self.ranks:  # True is 1 for a dictionary
            items = [_NO_CLASS if isinstance(v, (bool, np.bool_)) else v for v in items]
        try:
            codes = map(self._code_of.get, items, repeat(_lookup.UNKNOWN))
            out[:] = np.fromiter(codes, dtype=np.int32, count=len(items))
        except TypeError:  # an item is not hashable: check each
            out[:] = [self._code_of.get(v, _lookup.UNKNOWN) if is_hashable(v) else _lookup.UNKNOWN for v in items]
        for i in np.flatnonzero(out == _lookup.UNKNOWN):
            if is_missing(items[i]):
                out[i] = _lookup.MISSING
        return out

    def inserted(self, value: Any, *, warn: bool = False) -> ClassOrder:
        """The order with one more class at its place: numbers and names sort, unless the names tell their order.

        With ``warn``, names that are sorted are warned of, and so is a known scale when its second class comes.
        """
        values = self.values.tolist()
        try:
            told = text_order([*values, value])
            if told is None:
                if text_order(values) is not None:
                    raise TypeError
                place = sum(v < value for v in values)
                names = [*values[:place], value, *values[place:]]
                if warn and isinstance(value, str):
                    _warn_of_sorting(as_object_array(names))
                return ClassOrder(names)
            if len(told.classes) == len(values):  # another spelling of a class, or its number
                return self
            if [name for name in told.classes if name in self.index] != values:
                raise TypeError
            if warn and told.scale is not None and len(values) == 1:
                _note_scale(told)
            return ClassOrder(told.classes)
        except (TypeError, ScaleConflictError):
            raise ValueError(
                f"label {value!r} cannot be ordered among the classes {show(self.values)}: "
                f"declare the order with {the_classes()}."
            ) from None


def comparable(
    values: NDArray[Any], order: ClassOrder
) -> tuple[NDArray[Any], tuple[NDArray[Any], NDArray[np.int32]]] | None:
    """Values and class table in one type, int64 or float64, so that two compiled versions serve all numbers.

    None when they are not all numbers, or when neither type can hold the classes and distinguish all values from them.
    """
    if not order.is_numeric or values.dtype.kind not in "iufb":
        return None
    whole_classes = order.values.dtype.kind in "iub" or bool(np.all(order.values == np.floor(order.values)))
    fits_int64 = order.is_exact_in_float or order.values.dtype.kind == "i"
    if values.dtype.kind in "iub" and values.dtype != np.uint64 and whole_classes and fits_int64:
        return np.ascontiguousarray(values, dtype=np.int64), order.numeric_table(np.int64)
    if order.is_exact_in_float:
        return np.ascontiguousarray(values, dtype=np.float64), order.numeric_table(np.float64)
    return None


def infer_order(
    values: NDArray[Any], *, warn: bool = True, needed_by: str | None = None, counts_ranks: bool = False
) -> ClassOrder:
    """Order of the labels that occur: numbers sort, strings sort with a warning that tells how to declare the order.

    ``needed_by`` is the name of a function whose result would be wrong in another order: strings are refused. If it
    ``counts_ranks``, so are names that tell their order, since a class that does not occur would have no rank.
    """
    if values.dtype.kind == "f":
        present = np.unique(values[np.isfinite(values)])
    elif values.dtype.kind in "iub":
        present = np.unique(values)
    else:
        present = _distinct_objects(values)
    if present.size == 0:
        raise ValueError(f"every label is missing, so the classes are unknown: declare them with {the_classes()}.")
    if present.dtype.kind == "f":
        refuse_continuous(present, values.size)
    dates = [v for v in present.tolist() if isinstance(v, (date, np.datetime64))]
    if dates:
        raise ValueError(
            f"dates are no labels, and spreadsheets turn 1-2 into such a date. Got {as_text(dates[0])}: enter them as "
            f"text, or declare the classes with {the_classes()}."
        )
    refuse_missing_codes(present)
    told = None if present.dtype.kind in "iufb" else text_order(present.tolist())
    if told is not None and told.others and told.is_certain:
        raise ValueError(
            f"numbers have more than one name, such as {show(as_object_array(told.others))} beside "
            f"{show(as_object_array(told.classes))}: declare the classes with {the_classes()}."
        )
    if told is not None and not told.others:
        if needed_by is not None and counts_ranks:
            raise UnknownOrderError(
                f"{needed_by} counts ranks, and names do not tell which classes lie between them. Got "
                f"{show(as_object_array(told.classes))}: declare all classes, {either(_LOWEST_FIRST, _AS_OPTION)}, or "
                "make y an ordered Categorical."
            )
        if told.scale is not None and (warn or needed_by is not None):
            _note_scale(told)
        return ClassOrder(told.classes)
    if any(isinstance(v, str) for v in present.tolist()):
        present = _sorted_objects(present)
        if warn or needed_by is not None:
            _refuse_strays(present)
    is_known = all(isinstance(v, Real) for v in present.tolist())
    if needed_by is not None and not is_known:
        raise UnknownOrderError(
            f"{needed_by} needs the order of the classes, which their names do not tell. Got {show(present)}: declare "
            f"it, {either(_LOWEST_FIRST, _AS_OPTION)}, or make y an ordered Categorical."
        )
    if warn and not is_known and present.size > 1:  # a single one has no order
        _warn_of_sorting(present)
    return ClassOrder(present)


def _warn_of_sorting(present: NDArray[Any]) -> None:
    warn_user(
        f"no order given for the classes, so they are sorted: {show(present)}. If that is not their order, "
        f"{either(_DECLARE, _GIVE)}.",
        OrderWarning,
    )


def _note_scale(told: TextOrder) -> None:
    warn_user(
        f"the labels are answers of a known scale, {told.scale}, in the order {show(as_object_array(told.classes))}. "
        f"If that is not their order, {either(_DECLARE, _GIVE)}.",
        OrderNote,
    )


def refuse_missing_codes(present: NDArray[Any]) -> None:
    """Reject numbers that stand apart from the few grades of a questionnaire, as its codes for no answer do."""
    numbers = [number_of(value) for value in present.tolist()]
    odd = [number for number in numbers if number in _CODES]
    grades = [number for number in numbers if number is not None and number not in _CODES]
    if odd and 1 < len(grades) == len(numbers) - len(odd) and 0 <= min(grades) <= max(grades) <= _HIGHEST_GRADE:
        raise ValueError(
            f"the label {as_text(odd[0])} stands apart from the others, {as_text(min(grades))} to "
            f"{as_text(max(grades))}, as a code for a missing answer does. Leave these cells empty, or declare the "
            f"classes with {the_classes()}."
        )


def _refuse_strays(present: NDArray[Any]) -> None:
    """Reject names that keep the others from telling their order, and names that differ in capitals or spaces."""
    names = present.tolist()
    odd = strays(names)
    if odd is not None:
        raise UnknownOrderError(
            f"the order of the classes is unknown: most labels {odd[1]}, but not {show(as_object_array(odd[0]))}. "
            f"Correct {'it' if len(odd[0]) == 1 else 'them'}, or declare the order with {the_classes()}."
            f"{next(filter(None, map(language_remedy, odd[0])), '')}"
        )
    pair = same_place(names)
    if pair is not None:
        raise UnknownOrderError(
            f"the order of the classes is unknown: {one_line(pair[0])} and {one_line(pair[1])} have the same place in "
            f"a known scale, {pair[2]}. Write them alike, or declare the order with {the_classes()}."
        )
    alike: dict[str, str] = {}
    for name in names:
        first = alike.setdefault(folded(name), name)
        if first != name:
            raise ValueError(
                f"the labels {one_line(first)} and {one_line(name)} differ only in capitals, dashes or spaces. Write "
                f"them alike, or declare the classes with {the_classes()}."
            )


def _distinct_objects(values: NDArray[Any]) -> NDArray[Any]:
    """The values that occur; sorted unless there are texts, which may tell their order."""
    try:
        present = [as_python(v) for v in set(values.tolist()) if not (is_missing(v) or is_infinite(v))]
    except TypeError:
        refuse_unhashable(values)
    objects = as_object_array(present)
    return objects if any(isinstance(v, str) for v in present) else _sorted_objects(objects)


def _sorted_objects(present: NDArray[Any]) -> NDArray[Any]:
    kinds = sorted({type(v).__name__ for v in present.tolist()})
    try:
        if any(isinstance(v, (complex, np.complexfloating)) for v in present.tolist()):
            raise TypeError
        return tidy(as_object_array(sorted(present.tolist())))
    except (TypeError, OverflowError):
        raise ValueError(
            f"Unknown label type: labels of types {kinds} have no common order: declare it with {the_classes()}."
        ) from None


def warn_of_classes(order: ClassOrder, n_labels: int) -> None:
    """Warn about undeclared classes that are unlikely to be meant: a single one, a measurement, or identifiers."""
    k, classes = len(order), show(order.values)
    if k == 1:
        warn_user(
            f"y holds one class only, {classes}, which is all that the model will predict. Check the column of "
            f"labels; if other classes may come, declare them: {either(_LOWEST_FIRST, _AS_OPTION)}."
        )
    grades = order.is_consecutive and n_labels >= 10 * k
    if k > _MANY_CLASSES and order.values.dtype.kind in "iuf" and not grades:
        how = either(" (numpy.digitize, pandas.qcut)", "")
        warn_user(
            f"the labels name {k} classes, {as_text(order.values[0])} to {as_text(order.values[-1])}, as a measurement "
            f"would. If it is one, cut it into grades{how}; if these are the classes, declare them with "
            f"{the_classes()}."
        )
    elif k > _MANY_CLASSES and order.values.dtype.kind not in "iuf" and 2 * k > n_labels:
        warn_user(
            f"the labels name {k} classes in {n_labels} rows, as identifiers would. Check the column of labels; if "
            f"these are the classes, declare them with {the_classes()}."
        )


def refuse_continuous(present: NDArray[Any], n: int) -> None:
    """Reject measurements, which are not grades: non-integer numbers that hardly ever repeat."""
    if np.any(present != np.floor(present)) and 2 * present.size > n:
        what, how = either("y", "The column"), either(" (for example with numpy.digitize)", "")
        raise ValueError(
            f"Unknown label type: continuous. {what} holds {present.size} different non-integer numbers in {n} labels: "
            f"cut it into grades first{how}, or declare them with {the_classes()}."
        )
