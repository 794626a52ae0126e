"""Several yes-or-no labels a row, some of them missing: a table of annotations, turned into codes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._errors import RowError
from rankwise._kernels.sparse import require_sound
from rankwise.labels.encoded_labels import EncodedRows
from rankwise.labels.label_values import is_missing, one_line, refuse_unhashable, show

_MISSING = -1


@dataclass(frozen=True, eq=False, repr=False)
class MultiLabels(EncodedRows):
    """A table of binary annotations.

    :func:`encode_multilabel` and its callers take it in place of ``Y``; ``labels[rows]`` are the labels of some rows.

    Attributes
    ----------
    codes : ndarray of shape (n, L), int8, columns contiguous
        0 and 1 for the two classes, -1 where the entry is missing.
    classes : ndarray of shape (2,)
        The negative and the positive class.
    names : tuple of str or None
        Names of the labels, if the table has any.
    """

    codes: NDArray[np.int8]
    classes: NDArray[Any]
    names: tuple[str, ...] | None

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and labels."""
        return self.codes.shape[0], self.codes.shape[1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MultiLabels):
            return NotImplemented
        same = self.classes.tolist() == other.classes.tolist() and self.names == other.names
        return same and np.array_equal(self.codes, other.codes)

    def __repr__(self) -> str:
        n, labels = self.shape
        missing = np.count_nonzero(self.codes == _MISSING)
        return f"MultiLabels({n} rows, {labels} labels, {missing} missing entries; classes {show(self.classes)})"

    def take(self, rows: Any) -> MultiLabels:
        """The labels of some rows: a slice, an array of row numbers, or a boolean for every row."""
        return MultiLabels(np.asfortranarray(self.codes[rows]), self.classes, self.names)

    def recoded(self, classes: Any) -> MultiLabels:
        """The same entries for the same two classes, perhaps in another order."""
        pair = np.asarray(classes)
        if pair.tolist() == self.classes.tolist():
            return self
        if pair.tolist() != self.classes[::-1].tolist():
            raise ValueError(
                f"the labels are encoded with the classes {show(self.classes)}, which must be the classes "
                f"{pair.tolist()}."
            )
        return MultiLabels(np.where(self.codes == _MISSING, self.codes, np.int8(1) - self.codes), pair, self.names)

    def label(self, column: int) -> str:
        """A label for messages: its number, and its name if it has one."""
        return f"label {column}" + (f" ({self.names[column]!r})" if self.names else "")


def encode_multilabel(Y: Any, classes: Any = None, n_rows: int | None = None) -> MultiLabels:
    """Read a table with one column for each label.

    Parameters
    ----------
    Y : array-like of shape (n, L)
        0 and 1, booleans, or two values of your own (the smaller one is the negative class), and NaN, None or NA where
        an entry is missing: an array, nested lists, a masked array, a pandas, polars or pyarrow table. A SciPy sparse
        matrix has no missing entries: what is not stored is 0. :class:`MultiLabels` are returned unchanged.
    classes : array-like of two values, optional
        The classes, if they are known; by default 0 and 1, or the two values that occur.
    n_rows : int, optional
        Number of rows that ``Y`` must have.

    Examples
    --------
    >>> from rankwise.labels import encode_multilabel
    >>> encode_multilabel([["no", None], ["yes", "no"]]).codes.tolist()
    [[0, -1], [1, 0]]
    """
    if Y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    if isinstance(Y, MultiLabels):
        _require_rows(len(Y), n_rows)
        return Y if classes is None else Y.recoded(classes)
    table, names = read_multilabel(Y)
    if table.ndim != 2:
        raise ValueError(
            f"y should be a 2d array of shape (n_samples, n_labels), one column for each label. Got an array of shape "
            f"{table.shape} instead. Reshape your data using y.reshape(-1, 1) if there is a single label."
        )
    _require_rows(table.shape[0], n_rows)
    if table.shape[1] == 0:
        raise ValueError(f"y has no label: its shape is {table.shape}.")
    if table.dtype.kind == "O":
        known = ~np.fromiter(map(is_missing, table.ravel().tolist()), dtype=bool, count=table.size)
        known = known.reshape(table.shape)
    else:
        known = table == table
    present = table[known]  # pandas' NA compares with nothing
    pair = _classes(present) if classes is None else np.asarray(classes)
    if pair.shape != (2,):
        raise ValueError(
            f"classes must be two values, the negative and the positive one. Got {one_line(classes)} instead."
        )
    present_codes = np.full(present.size, _MISSING, dtype=np.int8)
    for code, label in enumerate(pair.tolist()):
        present_codes[present == label] = code
    codes = np.full(table.shape, _MISSING, dtype=np.int8, order="F")
    codes[known] = present_codes
    odd = known & (codes == _MISSING)
    if odd.any():
        row, column = np.argwhere(odd)[0].tolist()
        raise RowError(
            f"an entry must be {one_line(pair.tolist()[0])}, {one_line(pair.tolist()[1])} or missing (NaN). "
            f"Got {one_line(table[row, column])} instead.",
            row,
            column,
            axis="label",
        )
    return MultiLabels(codes, pair, names)


def _require_rows(n: int, n_rows: int | None) -> None:
    if n_rows is not None and n != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {n}.")


def read_multilabel(Y: Any) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Two-dimensional array of numbers, booleans or objects, and the names of its columns."""
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if sparse.issparse(Y):
        return np.asarray(require_sound(Y, "Y").toarray()), None
    if pandas is not None and isinstance(Y, pandas.DataFrame):
        if all(dtype.kind in "iufb" for dtype in Y.dtypes):
            return Y.to_numpy(dtype=np.float64, na_value=np.nan), tuple(map(str, Y.columns))
        return Y.to_numpy(dtype=object), tuple(map(str, Y.columns))
    if polars is not None and isinstance(Y, polars.DataFrame):
        return _from_columns([column.to_list() for column in Y.get_columns()]), tuple(Y.columns)
    if pyarrow is not None and isinstance(Y, (pyarrow.Table, pyarrow.RecordBatch)):
        return _from_columns([column.to_pylist() for column in Y.columns]), tuple(Y.schema.names)
    if isinstance(Y, np.ma.MaskedArray):
        objects = np.ma.getdata(Y).astype(object)
        objects[np.ma.getmaskarray(Y)] = None
        return objects, None
    try:
        table = np.asarray(Y)
    except ValueError:
        raise ValueError("y must be a table: its rows have different lengths.") from None
    if table.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be numbers, strings or booleans.")
    return (table if table.dtype.kind in "biuf" else table.astype(object)), None


def _from_columns(columns: list[list[Any]]) -> NDArray[Any]:
    table = np.empty((len(columns[0]) if columns else 0, len(columns)), dtype=object)
    for j, column in enumerate(columns):
        table[:, j] = column
    return table


def _classes(present: NDArray[Any]) -> NDArray[Any]:
    """0 and 1, or the two values that occur."""
    if present.size == 0:
        raise ValueError("y has no annotated entry: all of them are missing.")
    try:
        values = set(present.tolist())
    except TypeError:
        refuse_unhashable(present)
    if values <= {0, 1}:
        return np.array([0, 1])
    try:
        ordered = sorted(values)
    except TypeError:
        raise ValueError(f"y mixes values that have no order: {one_line(sorted(values, key=repr))}.") from None
    if len(ordered) != 2:
        what = "the only value" if len(ordered) == 1 else f"the {len(ordered)} values"
        raise ValueError(
            f"y must hold 0 and 1, or two values of your own, and NaN where an entry is missing. "
            f"Unknown label type: it holds {what} {one_line(ordered[:10])}."
        )
    return np.array(ordered) if present.dtype.kind == "O" else np.array(ordered, dtype=present.dtype)
