"""Annotations about the ranking of labels -> codes: relevant labels, or preferences.

The labels have no order. Without a declaration they are sorted if possible, or taken in the order in which they appear
in a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._errors import RowError
from rankwise._kernels.sparse import require_sound
from rankwise._types import Codes
from rankwise._words import the_classes
from rankwise.labels.class_order import ClassOrder, refuse_continuous
from rankwise.labels.encoded_labels import NO_CODES, RankingLabels, sorted_in_rows
from rankwise.labels.encoding import declared_order
from rankwise.labels.label_values import as_object_array, is_missing, one_line, show
from rankwise.labels.raw_labels import Coded, Exact, Texts
from rankwise.labels.reading import only_column, read

Pair = tuple[Any, Any]


class Preferences(Sequence[Any]):
    """For every example, pairs of labels of which the first should be ranked above the second.

    Relevant labels and full rankings are special cases: "each of these above each of the others", "each above all that
    follow it". An example without pairs has no information.

    Parameters
    ----------
    rows : iterable of lists of pairs
        For every example a list of pairs ``(above, below)``; None or an empty list for an example without information.

    Examples
    --------
    >>> from rankwise.labels import Preferences
    >>> y = Preferences([[("news", "spam")], [("work", "spam"), ("work", "news")], None])
    >>> len(y), y[1]
    (3, Preferences([[('work', 'spam'), ('work', 'news')]]))
    >>> Preferences.from_rankings([["work", "news", "spam"]]).rows
    [[('work', 'news'), ('work', 'spam'), ('news', 'spam')]]
    """

    def __init__(self, rows: Any) -> None:
        if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
            raise ValueError(f"preferences must be a list of lists of pairs. Got {one_line(rows)} instead.")
        self.rows: list[list[Pair]] = [_checked_pairs(pairs, row) for row, pairs in enumerate(rows)]

    @classmethod
    def from_rankings(cls, rankings: Iterable[Sequence[Any] | None]) -> Preferences:
        """Preferences of rankings, best first: every label above all that follow it, k (k - 1) / 2 pairs for k labels.

        Labels that are not in a ranking are not compared.
        """
        orders = [[] if ranking is None else list(ranking) for ranking in rankings]
        return cls([(above, below) for p, above in enumerate(order) for below in order[p + 1 :]] for order in orders)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: Any) -> Preferences:
        """Preferences of one example, of a slice, or of an array of places."""
        if isinstance(which, slice):
            return Preferences(self.rows[which])
        places = np.atleast_1d(np.arange(len(self))[which])
        return Preferences([self.rows[place] for place in places])

    def __iter__(self) -> Iterator[Preferences]:
        return (Preferences([row]) for row in self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Preferences) and self.rows == other.rows

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Preferences({one_line(self.rows)})"


def _checked_pairs(pairs: Any, row: int) -> list[Pair]:
    if pairs is None:
        return []
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise RowError(f"preferences must be a list of pairs (above, below). Got {one_line(pairs)} instead.", row)
    checked = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise RowError(f"a preference is a pair (above, below) of labels. Got {one_line(pair)} instead.", row)
        above, below = pair
        if is_missing(above) or is_missing(below):
            raise RowError(f"a preference must not hold missing values. Got {one_line(pair)} instead.", row)
        if above == below:
            raise RowError(f"a label cannot be preferred to itself. Got {one_line(pair)}.", row)
        checked.append((above, below))
    return checked


def encode_rankings(y: Any, classes: Any = None, *, n_rows: int | None = None, growing: bool = False) -> RankingLabels:
    """Turn relevant labels or preferences of any accepted form into :class:`RankingLabels`.

    Parameters
    ----------
    y : array-like
        - indicator matrix (n, k) of 0 and 1: array, sparse matrix, or frame, whose columns are then the labels;
        - list of label lists (or sets, tuples): the relevant labels of each row; empty or None: missing;
        - 1-D: the one relevant label of each row; NaN, None: missing;
        - :class:`Preferences`: pairs of labels, the first to be ranked above the second;
        - :class:`RankingLabels`: returned as they are, or recoded if ``classes`` are others, which must contain theirs.

        Nested lists are always label lists: an indicator matrix must be an array.
    classes : sequence or ClassOrder, optional
        All labels. Without it they are the columns of an indicator matrix, or the labels that occur, sorted if they can
        be.
    n_rows : int, optional
        Number of rows that ``y`` must have.
    growing : bool, default False
        For streams: ``classes`` are the labels so far, and new ones follow them in the order of their appearance.

    Examples
    --------
    >>> labels = encode_rankings([["work", "news"], None, ["spam"]])
    >>> labels.order.values
    array(['news', 'spam', 'work'], dtype='<U4')
    >>> labels.indptr, labels.above
    (array([0, 2, 2, 3]), array([0, 2, 1], dtype=int32))
    """
    rows = read_rankings(y)
    if n_rows is not None and rows.n_rows != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {rows.n_rows}."
        )
    if classes is not None:
        order = declared_order(classes)
        return rows.encoded(_with_new(order, rows.present) if growing else order)
    return rows.encoded(rows.labels_by_appearance() if growing else rows.labels_order())


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows before their labels have codes."""

    n_rows: int
    present: list[Any]  #: labels in the order of their appearance, each at least once
    encoded: Callable[[ClassOrder], RankingLabels]
    declared: Any = None  #: all labels in their order, where the container has one
    are_singles: bool = False  #: whether a row has one label at most, as a column of grades has

    def labels_by_appearance(self) -> ClassOrder:
        """All labels, in the order of their appearance."""
        present = _distinct(self.present)
        if not present:
            raise ValueError(f"no row names a label, so the labels are unknown: declare them with {the_classes()}.")
        return ClassOrder(present)

    def labels_order(self) -> ClassOrder:
        """All labels: in the order of the container, else sorted if possible."""
        if self.declared is not None:
            return self.declared if isinstance(self.declared, ClassOrder) else ClassOrder(self.declared)
        order = ClassOrder(_sorted_if_possible(self.labels_by_appearance().values.tolist()))
        if self.are_singles and order.values.dtype.kind == "f":
            refuse_continuous(order.values, self.n_rows)
        return order


def _named(labels: list[Any], counts: Any, **more: Any) -> _Rows:
    """Rows of relevant labels: those of all rows one after the other, and how many each row has."""
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    def encoded(order: ClassOrder) -> RankingLabels:
        above = sorted_in_rows(_codes(labels, indptr, order), indptr)
        row_of = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
        again = np.flatnonzero((np.diff(above) == 0) & (np.diff(row_of) == 0))
        if again.size:
            label = one_line(order.values[above[again[0]]])
            reason = f"label {label} is listed twice. (An indicator matrix must be an array, not a list.)"
            raise RowError(reason, int(row_of[again[0]]))
        return RankingLabels(order, indptr, above, NO_CODES)

    return _Rows(indptr.size - 1, labels, encoded, **more)


def _preferred(rows: list[list[Pair]]) -> _Rows:
    labels = [label for row in rows for pair in row for label in pair]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])

    def encoded(order: ClassOrder) -> RankingLabels:
        codes = _codes(labels, 2 * indptr, order)
        return RankingLabels(order, indptr, codes[0::2].copy(), codes[1::2].copy())

    return _Rows(len(rows), labels, encoded)


def _singles(raw: Exact | Coded | Texts) -> _Rows:
    """One relevant label a row, or none."""
    values = (raw if isinstance(raw, Exact) else raw.as_exact()).values
    known = np.array([not is_missing(value) for value in values.tolist()], dtype=bool)
    return _named(values[known].tolist(), known, declared=raw.order, are_singles=True)


def _codes(labels: list[Any], ends: NDArray[np.int64], order: ClassOrder) -> Codes:
    """Codes of labels; ``ends`` are the places where the rows begin and end among them."""
    try:
        codes = np.fromiter((order.index.get(label, -1) for label in labels), np.int32, len(labels))
    except TypeError as error:
        raise ValueError(f"a label must be a number, a string or the like: {error}.") from None
    unknown = np.flatnonzero(codes < 0)
    if unknown.size:
        row = int(np.searchsorted(ends, unknown[0], side="right")) - 1
        raise RowError(f"{one_line(labels[unknown[0]])} is not one of the labels {show(order.values)}.", row)
    return codes


def _indicated(matrix: Any, names: list[Any] | None = None) -> _Rows:
    """A matrix of 0 and 1 with a column for every label, or for every label that has a name here."""
    matrix = sparse.csr_matrix(require_sound(matrix, "y"))
    if not (matrix.has_canonical_format and np.all(matrix.data)):
        matrix = matrix.copy()  # the caller's arrays must not change
    matrix.sum_duplicates()
    wrong = np.flatnonzero((matrix.data != 0) & (matrix.data != 1))  # NaN is neither
    if wrong.size:
        row = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
        column, value = int(matrix.indices[wrong[0]]), matrix.data[wrong[0]]
        reason = f"an indicator must be 0 or 1. Got {value} for label {column}."
        raise RowError(reason, row, column, message=f"row {row}: {reason}")
    matrix.eliminate_zeros()

    def encoded(order: ClassOrder) -> RankingLabels:
        indptr, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        if names is not None and names != order.values.tolist():
            unknown = [name for name in names if name not in order.index]
            if unknown:
                raise ValueError(
                    f"column {one_line(unknown[0])} of the indicator matrix is not one of the labels "
                    f"{show(order.values)}."
                )
            columns = sorted_in_rows(order.codes(as_object_array(names))[columns], indptr)
        elif matrix.shape[1] != len(order):
            raise ValueError(
                f"an indicator matrix must have one column per label: {len(order)} for {show(order.values)}. "
                f"Got shape {matrix.shape} instead."
            )
        return RankingLabels(order, indptr, columns, NO_CODES, names_all=True)

    labels = list(range(matrix.shape[1])) if names is None else names
    return _Rows(matrix.shape[0], labels, encoded, declared=labels)


def read_rankings(y: Any) -> _Rows:
    """Return what a container of rankings holds."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    if isinstance(y, RankingLabels):
        return _Rows(len(y), y.order.values.tolist(), y.recoded, declared=y.order)
    if isinstance(y, Preferences):
        return _preferred(y.rows)
    if sparse.issparse(y):
        return _indicated(y)
    if isinstance(y, (list, tuple)):
        return _read_lists(list(y))
    if hasattr(y, "columns"):
        return _read_frame(y)
    kind = str(getattr(y, "dtype", getattr(y, "type", ""))).lower()
    if kind.startswith(("list", "large_list", "array(")):  # columns of lists: polars, pyarrow
        return _read_lists(y.to_pylist() if hasattr(y, "to_pylist") else y.to_list())
    if isinstance(y, np.ndarray) or kind == "object" or not hasattr(y, "__len__"):
        array = np.asarray(y)
        if array.ndim == 2:
            return read_rankings(only_column(array)) if array.shape[1] == 1 else _indicated(_numbers(array))
        if array.ndim != 1:
            _refuse(y)
        if array.dtype.kind == "O":
            return _read_lists(array.tolist())
    if isinstance(y, (str, bytes, set, frozenset, dict)):
        _refuse(y)
    raw = read(y)
    return _singles(raw) if isinstance(raw, (Exact, Coded, Texts)) else _refuse(y)


def _refuse(y: Any) -> NoReturn:
    raise ValueError(f"y must be an indicator matrix, label lists, labels or Preferences. Got {one_line(y)} instead.")


def _read_frame(y: Any) -> _Rows:
    names = [name.item() if isinstance(name, np.generic) else name for name in getattr(y, "column_names", y.columns)]
    is_arrow = hasattr(y, "column_names")
    if len(names) == 1:
        return read_rankings(y.column(0) if is_arrow else y[names[0]])
    matrix = np.column_stack([np.asarray(column) for column in y.columns]) if is_arrow else y.to_numpy()
    return _indicated(_numbers(matrix), None if names == list(range(len(names))) else names)


def _numbers(matrix: NDArray[Any]) -> NDArray[Any]:
    if matrix.dtype.kind in "iufb":
        return matrix
    try:
        return matrix.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"an indicator matrix must hold 0 and 1. Got an array of type {matrix.dtype}.") from None


def _read_lists(rows: list[Any]) -> _Rows:
    if rows and all(isinstance(row, Preferences) for row in rows):
        return _preferred([pairs for row in rows for pairs in row.rows])
    if not any(isinstance(row, (list, tuple, set, frozenset, np.ndarray)) for row in rows):
        raw = read(rows)
        assert isinstance(raw, (Exact, Texts))
        return _singles(raw)
    named = [_one_row(labels, row) for row, labels in enumerate(rows)]
    return _named(list(chain.from_iterable(named)), [len(labels) for labels in named])


def _one_row(given: Any, row: int) -> list[Any]:
    if isinstance(given, (set, frozenset)):
        labels = _sorted_if_possible(list(given))
    elif isinstance(given, np.ndarray):
        labels = given.tolist() if given.ndim else [given.item()]
    elif isinstance(given, (list, tuple)):
        labels = [label.item() if isinstance(label, np.generic) else label for label in given]
    else:
        return [] if is_missing(given) else [given]
    if any(is_missing(label) for label in labels):
        raise RowError(f"a list of labels must not hold missing values. Got {one_line(labels)} instead.", row)
    return labels


def _sorted_if_possible(labels: list[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:  # labels of several types have no order, nor has a set
        return sorted(labels, key=lambda label: (type(label).__name__, repr(label)))


def _distinct(labels: Iterable[Any]) -> list[Any]:
    try:
        return list(dict.fromkeys(labels))
    except TypeError as error:
        raise ValueError(f"a label must be a number, a string or the like: {error}.") from None


def _with_new(known: ClassOrder, labels: Iterable[Any]) -> ClassOrder:
    new = [label for label in _distinct(labels) if label not in known.index]
    return ClassOrder([*known.values.tolist(), *new]) if new else known
