"""Every accepted form of ``y`` -> :class:`Labels`, and back.

Reading happens in three steps: :mod:`rankwise.labels._read` says what the container holds (values, interval ends,
candidate sets or a mask, and an order if the container carries one), the order of the classes is settled, and the
values become codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.labels import _lookup
from rankwise.labels._order import ClassOrder, comparable, infer_order, show
from rankwise.labels._read import Candidates, Coded, Exact, Intervals, Mask, Ranges, Raw, read

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Labels:
    """Encoded labels: row i admits the class codes ``lower[i] .. upper[i]``, both included.

    Attributes
    ----------
    order : ClassOrder
        The classes, lowest first.
    lower, upper : int32 array of shape (n,)
        Lowest and highest admissible code. Exact: equal. Missing: 0 and K-1.
    mask : bool array of shape (n, K) or None
        Admissible codes, where candidate sets were given; ``None`` when every row is an interval.
    """

    order: ClassOrder
    lower: Codes
    upper: Codes
    mask: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return int(self.lower.size)

    @property
    def classes(self) -> NDArray[Any]:
        """The classes, lowest first."""
        return self.order.values

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Rows whose label is a single class."""
        return np.asarray(self.lower == self.upper)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Rows whose label says nothing."""
        full = (self.lower == 0) & (self.upper == len(self.order) - 1) & (len(self.order) > 1)
        return np.asarray(full if self.mask is None else full & self.mask.all(axis=1))

    def admissible(self) -> NDArray[np.bool_]:
        """Boolean (n, K): which classes each row admits."""
        if self.mask is not None:
            return self.mask
        codes = np.arange(len(self.order))
        return np.asarray((self.lower[:, None] <= codes) & (codes <= self.upper[:, None]))

    def distance(self, codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Ranks between each predicted code and the nearest admissible one: the interval-insensitive MAE of a row."""
        codes = np.asarray(codes, dtype=np.int64)
        if self.mask is None:
            return np.maximum(0, np.maximum(self.lower - codes, codes - self.upper))
        apart = np.abs(np.arange(len(self.order)) - codes[:, None])
        return np.asarray(np.where(self.mask, apart, len(self.order)).min(axis=1))


def encode(y: Any, classes: Any = None, *, n_rows: int | None = None) -> Labels:
    """Turn annotations of any accepted form into :class:`Labels`.

    Parameters
    ----------
    y : array-like
        - 1-D: exact labels; NaN, None: missing;
        - (n, 2) array, two-column frame, list of tuples or list of two-element lists: intervals ``[lower, upper]``, both
          ends included; NaN, None and the infinities: open on that side;
        - pandas ``IntervalArray`` (as an index or column too): the classes inside each interval; NaN: missing;
        - list of sets, or of lists that are not all pairs: candidate sets; boolean (n, K) array: candidate mask, columns
          in class order;
        - list mixing all of these, row by row: a tuple is an interval, a list or set holds candidates.

        Nested lists of pairs are an (n, 2) table here as they are in NumPy. Sets are always candidate sets.
    classes : sequence or ClassOrder, optional
        The classes, lowest first. Without it an ordered ``Categorical`` (or polars ``Enum``) gives the order, numbers
        sort, and strings sort with an :class:`OrderWarning`.
    n_rows : int, optional
        Number of rows that ``y`` must have.

    Examples
    --------
    >>> labels = encode([3, (1, 2), {1, 3}, None], classes=[1, 2, 3])
    >>> labels.lower, labels.upper
    (array([2, 0, 0, 0], dtype=int32), array([2, 1, 2, 2], dtype=int32))
    >>> labels.mask[2]
    array([ True, False,  True])
    """
    raw = read(y)
    if n_rows is not None and len(raw) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {len(raw)} labels."
        )
    return _CODERS[type(raw)](raw, _settle_order(raw, classes))


def decode(codes: NDArray[np.integer[Any]], classes: NDArray[Any]) -> NDArray[Any]:
    """Class label of every code."""
    return np.asarray(classes)[codes]


def declared_order(classes: Any) -> ClassOrder:
    """Order given by the user: a list of labels, lowest first, or a column with ordered categories."""
    declared = read(classes)
    if declared.order is not None:
        return ClassOrder(declared.order)
    if not isinstance(declared, Exact):
        raise ValueError(f"classes must be a list of labels, lowest first. Got {classes!r} instead.")
    return ClassOrder(declared.values)


def _settle_order(raw: Raw, classes: Any) -> ClassOrder:
    if isinstance(classes, ClassOrder):
        return classes
    if classes is not None:
        return declared_order(classes)
    if raw.order is not None:
        return ClassOrder(raw.order)
    return infer_order(raw.values_present())


def _encode_exact(raw: Exact, order: ClassOrder) -> Labels:
    codes = order.codes(raw.values)
    _refuse_unknown(codes, lambda row: raw.values[row], order, "label")
    return _from_codes(codes, order)


def _encode_coded(raw: Coded, order: ClassOrder) -> Labels:
    table = np.append(order.codes(raw.categories), np.int32(_lookup.MISSING))  # so that code -1 finds MISSING
    codes = table[raw.codes]
    _refuse_unknown(codes, lambda row: raw.categories[raw.codes[row]], order, "label")
    return _from_codes(codes, order)


def _from_codes(codes: Codes, order: ClassOrder) -> Labels:
    missing = codes == _lookup.MISSING
    if not missing.any():
        return Labels(order, codes, codes)
    return Labels(order, np.where(missing, 0, codes), np.where(missing, np.int32(len(order) - 1), codes))


def _encode_intervals(raw: Intervals, order: ClassOrder, row: int | None = None) -> Labels:
    """Encode intervals; ``row`` is the number to report when there is only one of them, from a longer list."""
    ends = raw.ends
    n = ends.shape[0]
    if order.is_numeric and ends.dtype.kind in "iufb":
        lower, upper = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        numbers, table = comparable(ends, order)
        if numbers.dtype.kind == "i" and order.is_consecutive:
            good = _lookup.consecutive_intervals(numbers, int(order.values[0]), len(order), lower, upper)
        else:
            good = _lookup.interval_codes(numbers, *table, lower, upper)
        if good:
            return Labels(order, lower, upper)
        # There is a bad row: fall through to the plain code, which says what is wrong with it.
    low, high = _open_below(ends[:, 0], order), _open_above(ends[:, 1], order)
    for end, name in ((0, "lower end"), (1, "upper end")):
        _refuse_unknown((low, high)[end], lambda at, end=end: ends[at, end], order, name, row)
    lower = np.where(low == _lookup.MISSING, np.int32(0), low)
    upper = np.where(high == _lookup.MISSING, np.int32(len(order) - 1), high)
    crossed = lower > upper
    if crossed.any():
        at = int(np.argmax(crossed))
        found = f"[{_plain(ends[at, 0])!r}, {_plain(ends[at, 1])!r}]"
        raise ValueError(
            f"row {at if row is None else row}: the lower end of an interval must not be above its upper end. Got {found} "
            f"with the classes {show(order.values)}."
        )
    return Labels(order, lower, upper)


def _open_below(ends: NDArray[Any], order: ClassOrder) -> Codes:
    """Codes of lower ends, where minus infinity says as little as NaN."""
    return order.codes(np.where(np.isneginf(ends), np.nan, ends) if ends.dtype.kind == "f" else ends)


def _open_above(ends: NDArray[Any], order: ClassOrder) -> Codes:
    """Codes of upper ends, where infinity says as little as NaN."""
    return order.codes(np.where(np.isposinf(ends), np.nan, ends) if ends.dtype.kind == "f" else ends)


def _encode_ranges(raw: Ranges, order: ClassOrder) -> Labels:
    if not order.is_numeric or not np.all(np.diff(order.values.astype(np.float64)) > 0):
        raise ValueError(
            f"an interval column needs ascending numeric classes. Got {show(order.values)}: "
            f"give the ends as two columns [lower, upper] instead."
        )
    values = order.values.astype(np.float64)
    lower = np.searchsorted(values, raw.left, side="left" if raw.closed_left else "right").astype(np.int32)
    upper = (np.searchsorted(values, raw.right, side="right" if raw.closed_right else "left") - 1).astype(np.int32)
    lower = np.where(np.isnan(raw.left), np.int32(0), lower)
    upper = np.where(np.isnan(raw.right), np.int32(len(order) - 1), upper)
    empty = lower > upper
    if empty.any():
        row = int(np.argmax(empty))
        brackets = ("[" if raw.closed_left else "(") + "{}, {}" + ("]" if raw.closed_right else ")")
        found = brackets.format(raw.left[row], raw.right[row])
        raise ValueError(f"row {row}: an interval must hold at least one class. Got {found} of {show(order.values)}.")
    return Labels(order, lower, upper)


def _encode_mask(raw: Mask, order: ClassOrder) -> Labels:
    if raw.mask.shape[1] != len(order):
        raise ValueError(
            f"a candidate mask must have one column per class: {len(order)} for {show(order.values)}. "
            f"Got shape {raw.mask.shape} instead."
        )
    return _from_mask(raw.mask, order)


def _encode_candidates(raw: Candidates, order: ClassOrder) -> Labels:
    mask = np.zeros((len(raw), len(order)), dtype=bool)
    for row, said in enumerate(raw.rows):
        if isinstance(said, tuple):
            one = _encode_intervals(Intervals.from_rows([said], first_row=row), order, row)
            mask[row, one.lower[0] : one.upper[0] + 1] = True
            continue
        codes = order.codes(said)
        _refuse_unknown(codes, lambda at, said=said: said[at], order, "label", row)
        if said.size == 1 and codes[0] == _lookup.MISSING:
            mask[row] = True
        elif (codes == _lookup.MISSING).any():
            raise ValueError(f"row {row}: a candidate set must not hold missing values. Got {said.tolist()} instead.")
        else:
            mask[row, codes] = True
    return _from_mask(mask, order)


def _from_mask(mask: NDArray[np.bool_], order: ClassOrder) -> Labels:
    count = mask.sum(axis=1)
    if not count.all():
        raise ValueError(f"row {int(np.argmin(count))}: a candidate set must not be empty.")
    lower = mask.argmax(axis=1).astype(np.int32)
    upper = (mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)).astype(np.int32)
    has_holes = bool((count <= upper - lower).any())
    return Labels(order, lower, upper, mask if has_holes else None)


def _refuse_unknown(
    codes: Codes, value: Callable[[int], Any], order: ClassOrder, what: str, row: int | None = None
) -> None:
    unknown = codes == _lookup.UNKNOWN
    if unknown.any():
        at = int(np.argmax(unknown))
        raise ValueError(
            f"row {at if row is None else row}: the {what} {_plain(value(at))!r} is not one of the classes "
            f"{show(order.values)}."
        )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


_CODERS: dict[type, Callable[[Any, ClassOrder], Labels]] = {
    Exact: _encode_exact,
    Coded: _encode_coded,
    Intervals: _encode_intervals,
    Ranges: _encode_ranges,
    Candidates: _encode_candidates,
    Mask: _encode_mask,
}
