"""Every accepted form of ``y`` -> :class:`Labels`, and back.

Reading takes three steps: :mod:`rankwise.labels.reading` extracts what the container holds (values, interval ends,
candidate sets or a mask, and an order if the container carries one), the order of the classes is settled, and the
values become codes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise._types import Codes
from rankwise.labels import _lookup
from rankwise.labels.class_order import ClassOrder, comparable, infer_order
from rankwise.labels.encoded_labels import Labels
from rankwise.labels.label_values import is_infinite, is_missing, numbers_if_possible, one_line, show, tidy
from rankwise.labels.raw_labels import (
    Candidates,
    Coded,
    Encoded,
    Exact,
    Intervals,
    Mask,
    Ranges,
    Raw,
    Texts,
    read_cells,
)
from rankwise.labels.reading import read
from rankwise.labels.unreadable import date_cell, is_date_cell


def encode(y: Any, classes: Any = None, *, n_rows: int | None = None, ordered: bool = True) -> Labels:
    """Turn annotations of any accepted form into :class:`Labels`.

    Parameters
    ----------
    y : array-like
        - 1-D: exact labels; NaN, None: missing;
        - (n, 2) array, two-column frame or list of tuples: intervals ``[lower, upper]``, both ends included; NaN, None
          and the infinities: open on that side;
        - pandas ``IntervalArray`` (as an index or column too): the classes inside each interval; NaN: missing;
        - list of sets, or polars or pyarrow column of lists: candidate sets; boolean (n, K) array or frame: candidate
          mask, columns in class order;
        - texts: read as :func:`parse_labels` reads them, ``3-5`` as an interval, unless ``classes`` has that name;
        - list mixing all of these, row by row: a tuple is an interval, a set holds candidates;
        - :class:`Labels`: returned as they are, or recoded if ``classes`` are others, which must contain theirs.

        What a row means never depends on the other rows. Lists inside a list are ambiguous and rejected.
    classes : sequence or ClassOrder, optional
        The classes, lowest first. Without it an ordered ``Categorical`` (or polars ``Enum``) gives the order, numbers
        sort (an interval with whole ends implies the whole numbers between them: "3 to 5" implies a 4), and strings
        sort with an :class:`OrderWarning`.
    n_rows : int, optional
        Number of rows that ``y`` must have.
    ordered : bool, default True
        Whether the order of the classes matters. If not, strings without an order sort silently, unless ``y`` holds
        intervals, which need an order.

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
    return _in_order(raw, settle_order(raw, classes, ordered), is_declared=classes is not None)


def encode_ordered(y: Any, classes: Any, needed_by: str, *, counts_ranks: bool = False) -> Labels:
    """Labels whose order is known: other names are refused, as ``needed_by`` would be wrong in another order.

    With ``counts_ranks`` it would be wrong, too, if some classes did not occur: then all names must be declared.
    """
    raw = read(y)
    order = settle_order(raw, classes, needed_by=needed_by, counts_ranks=counts_ranks)
    return _in_order(raw, order, is_declared=classes is not None)


def _in_order(raw: Raw, order: ClassOrder, *, is_declared: bool) -> Labels:
    if isinstance(raw, Texts):
        labels = raw.read_labels(order if is_declared else None)
        with raw.blaming(range(len(labels))):  # each distinct label is encoded once, however many rows repeat it
            distinct = read_cells(labels)
            return _CODERS[type(distinct)](distinct, order).take(raw.groups)
    return _CODERS[type(raw)](raw, order)


def decode(codes: NDArray[np.integer[Any]], classes: NDArray[Any]) -> NDArray[Any]:
    """Class label of every code."""
    return np.asarray(np.asarray(classes)[codes])


def declared_order(classes: Any) -> ClassOrder:
    """Order given by the user: a list of labels, lowest first, a column with ordered categories, or an order."""
    if isinstance(classes, ClassOrder):
        return classes
    try:
        declared = read(classes)
    except ValueError:
        declared = None
    if declared is not None and declared.order is not None:
        return ClassOrder(declared.order)
    if isinstance(declared, (Coded, Texts)):
        declared = declared.as_exact()
    if not isinstance(declared, Exact):
        raise ValueError(f"classes must be a list of labels, lowest first. Got {one_line(classes)} instead.")
    return ClassOrder(tidy(declared.values))


def settle_order(
    raw: Raw, classes: Any = None, ordered: bool = True, needed_by: str | None = None, *, counts_ranks: bool = False
) -> ClassOrder:
    """Order of the classes: as declared, else as the container carries it, else inferred from the labels.

    ``needed_by`` is the name of a function that refuses names without an order, and all names if it ``counts_ranks``.
    """
    if classes is not None:
        return declared_order(classes)
    if isinstance(raw, Encoded):
        return raw.labels.order
    if raw.order is not None:
        return ClassOrder(raw.order)
    _refuse_dates(raw)
    warn = ordered or has_intervals(raw)
    return infer_order(raw.values_present(), warn=warn, needed_by=needed_by, counts_ranks=counts_ranks)


def has_intervals(raw: Raw) -> bool:
    """Whether some labels are intervals, which need an order of the classes."""
    if isinstance(raw, Texts):
        raw = raw.parsed
    return len(raw if isinstance(raw, Intervals) else raw.intervals if isinstance(raw, Candidates) else ()) > 0


def _refuse_dates(raw: Raw) -> None:
    """Reject dates among labels that are none: of a column with texts :mod:`rankwise.labels.whole_columns` does so."""
    if isinstance(raw, Exact):
        values, rows, n_others = raw.values, np.arange(len(raw)), 0
    elif isinstance(raw, Candidates):
        values, rows, n_others = raw.members, raw.member_rows, len(raw.intervals)
    else:
        return
    if values.dtype.kind == "O":
        items = values.tolist()
        dates = [k for k, value in enumerate(items) if is_date_cell(value)]
        if dates and n_others + sum(not is_missing(value) for value in items) > len(dates):
            raise RowError(date_cell(items[dates[0]]), int(rows[dates[0]]))


def _encode_exact(raw: Exact, order: ClassOrder) -> Labels:
    codes = order.codes(raw.values)
    _refuse_unknown(codes, raw.values, order, "label")
    return _from_codes(codes, order)


def _encode_coded(raw: Coded, order: ClassOrder) -> Labels:
    table = np.append(order.codes(raw.categories), np.int32(_lookup.MISSING))  # so that code -1 finds MISSING
    codes = table[raw.codes]
    if (codes == _lookup.UNKNOWN).any():
        _refuse_unknown(codes, raw.categories[raw.codes], order, "label")
    return _from_codes(codes, order)


def _from_codes(codes: Codes, order: ClassOrder) -> Labels:
    missing = codes == _lookup.MISSING
    if not missing.any():
        return Labels(order, codes, codes)
    return Labels(order, np.where(missing, 0, codes), np.where(missing, np.int32(len(order) - 1), codes))


def _encode_intervals(raw: Intervals, order: ClassOrder, rows: NDArray[np.intp] | None = None) -> Labels:
    """Encode intervals; ``rows`` are the rows to report when they are not all rows of ``y``."""
    ends = raw.ends
    n = ends.shape[0]
    same_type = comparable(ends, order)
    if same_type is not None:
        lower, upper = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        numbers, table = same_type
        if numbers.dtype.kind == "i" and order.is_consecutive:
            first, last = int(order.values[0]), int(order.values[-1])
            good = _lookup.consecutive_intervals(numbers, first, last, lower, upper)
        else:
            good = _lookup.interval_codes(numbers, *table, lower, upper)
        if good:
            return Labels(order, lower, upper)
        # There is a bad row: fall through to the plain code, which reports it.
    low, high = _end_codes(ends[:, 0], order, -np.inf), _end_codes(ends[:, 1], order, np.inf)
    _refuse_unknown(low, ends[:, 0], order, "lower end", rows)
    _refuse_unknown(high, ends[:, 1], order, "upper end", rows)
    lower = np.where(low == _lookup.MISSING, np.int32(0), low)
    upper = np.where(high == _lookup.MISSING, np.int32(len(order) - 1), high)
    crossed = lower > upper
    if crossed.any():
        at = int(np.argmax(crossed))
        raise RowError(
            f"the lower end of an interval must not be above its upper end. "
            f"Got [{one_line(ends[at, 0])}, {one_line(ends[at, 1])}] with the classes {show(order.values)}.",
            int(at if rows is None else rows[at]),
        )
    return Labels(order, lower, upper)


def _end_codes(ends: NDArray[Any], order: ClassOrder, open_at: float) -> Codes:
    """Codes of interval ends; the infinity on their side is open, like NaN."""
    codes = order.codes(ends)
    unknown = np.flatnonzero(codes == _lookup.UNKNOWN)
    is_open = [is_infinite(end) and end == open_at for end in ends[unknown].tolist()]
    codes[unknown[np.array(is_open, dtype=bool)]] = _lookup.MISSING
    return codes


def _encode_ranges(raw: Ranges, order: ClassOrder) -> Labels:
    if not order.is_numeric or not np.all(order.values[1:] > order.values[:-1]):
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
        interval = brackets.format(raw.left[row], raw.right[row])
        raise RowError(f"an interval must hold at least one class. Got {interval} of {show(order.values)}.", row)
    return Labels(order, lower, upper)


def _encode_mask(raw: Mask, order: ClassOrder) -> Labels:
    if raw.mask.shape[1] != len(order):
        raise ValueError(
            f"a candidate mask must have one column per class: {len(order)} for {show(order.values)}. "
            f"Got shape {raw.mask.shape} instead."
        )
    return Labels.from_mask(raw.mask.copy(), order)  # the caller may write into theirs


def _encode_candidates(raw: Candidates, order: ClassOrder) -> Labels:
    n, rows = len(raw), raw.member_rows
    mask = np.zeros((n, len(order)), dtype=bool)
    mask[raw.interval_rows] = _encode_intervals(raw.intervals, order, raw.interval_rows).admissible()
    in_company = np.bincount(rows, minlength=n)[rows] > 1
    in_sets = numbers_if_possible(raw.members[in_company])
    if in_sets.size and in_sets.dtype.kind == "b" and order.values.dtype.kind != "b":
        raise RowError(
            f"booleans are no candidates for the classes {show(order.values)}. "
            f"A candidate mask is one boolean array of shape (n, {len(order)}).",
            int(rows[np.argmax(in_company)]),
        )
    codes = order.codes(raw.members)
    _refuse_unknown(codes, raw.members, order, "label", rows)
    missing = codes == _lookup.MISSING
    if (missing & in_company).any():
        row = int(rows[np.argmax(missing & in_company)])
        members = show(raw.members[rows == row])
        raise RowError(f"a candidate set must not hold missing values. Got {members} instead.", row)
    mask[rows[missing]] = True
    mask[rows[~missing], codes[~missing]] = True
    return Labels.from_mask(mask, order)


def _refuse_unknown(
    codes: Codes, values: NDArray[Any], order: ClassOrder, what: str, rows: NDArray[np.intp] | None = None
) -> None:
    unknown = codes == _lookup.UNKNOWN
    if unknown.any():
        at = int(np.argmax(unknown))
        reason = f"the {what} {one_line(values[at])} is not one of the classes {show(order.values)}."
        if is_date_cell(values[at]) and not any(map(is_date_cell, order.values.tolist())):
            reason = date_cell(values[at])
        raise RowError(reason, int(at if rows is None else rows[at]))


_CODERS: dict[type, Callable[[Any, ClassOrder], Labels]] = {
    Exact: _encode_exact,
    Coded: _encode_coded,
    Intervals: _encode_intervals,
    Ranges: _encode_ranges,
    Candidates: _encode_candidates,
    Mask: _encode_mask,
    Encoded: lambda raw, order: raw.labels.recoded(order),
}
