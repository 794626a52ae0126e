"""Containers of annotations: what ``y`` holds, before any class has a code.

pandas, polars and pyarrow are recognised without an import: their objects exist only if the caller has imported them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from rankwise._errors import RowError
from rankwise._warn import warn_user
from rankwise.labels.encoded_labels import Labels
from rankwise.labels.label_values import EXACT_IN_FLOAT, as_object_array, is_missing, one_line
from rankwise.labels.raw_labels import Coded, Encoded, Exact, Intervals, Mask, Ranges, Raw, Texts, read_cells


def read(y: Any) -> Raw:
    """Return what a container of annotations holds; what is read already is returned unchanged."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    if isinstance(y, Raw):
        return y
    if isinstance(y, Labels):
        return Encoded(y.classes, y)
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if polars is not None and isinstance(y, (polars.Series, polars.DataFrame)):
        return _read_polars(y, polars)
    if pyarrow is not None and isinstance(y, (pyarrow.Array, pyarrow.ChunkedArray, pyarrow.Table, pyarrow.RecordBatch)):
        return _read_pyarrow(y, pyarrow)
    if pandas is not None:
        if isinstance(y, pandas.DataFrame):
            return _read_columns([_read_pandas(y.iloc[:, j], pandas) for j in range(y.shape[1])])
        if isinstance(y, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)):
            return _read_pandas(y, pandas)
    if isinstance(y, np.ma.MaskedArray):
        return _read_array(_as_objects(y) if np.ma.is_masked(y) else y.data)
    if isinstance(y, np.ndarray):
        return _read_array(y)
    if hasattr(y, "__array__"):
        return _read_array(np.asarray(y))
    if isinstance(y, (str, bytes, set, frozenset, Mapping)) or not hasattr(y, "__iter__"):
        raise ValueError(f"y should be a 1d array: a list or array of labels. Got {one_line(y)} instead.")
    return _read_list(list(y))


def _read_array(y: NDArray[Any]) -> Raw:
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be numbers, strings or the like.")
    if y.dtype.kind in "UmM":
        y = _as_objects(y)
    if y.ndim == 1:
        if y.dtype.kind in "OV":
            return _read_list(y.tolist())
        return Exact(None, y)
    if y.ndim == 2 and y.dtype.kind == "b" and y.shape[1] != 1:
        return Mask(None, y)
    if y.ndim == 2 and y.shape[1] == 2:
        return Intervals.from_flat(None, y.ravel()) if y.dtype.kind == "O" else Intervals(None, y)
    if y.ndim == 2 and y.shape[1] == 1:
        return _read_array(only_column(y))
    raise ValueError(
        f"y should be a 1d array of labels, an (n, 2) array of intervals or a boolean (n, K) candidate mask; "
        f"bad input shape {y.shape} of type {y.dtype}."
    )


def only_column(y: NDArray[Any]) -> NDArray[Any]:
    """The column of a table with a single column, with scikit-learn's warning."""
    warn_user(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
        "(n_samples, ), for example using ravel().",
        DataConversionWarning,
    )
    return y.ravel()


def _as_objects(y: NDArray[Any]) -> NDArray[Any]:
    """Array of Python objects, None where masked; dates stay NumPy's, since not all of them have another form."""
    plain = np.ma.getdata(y)
    objects = as_object_array(plain.ravel()).reshape(y.shape) if y.dtype.kind in "mM" else plain.astype(object)
    objects[np.ma.getmaskarray(y)] = None
    return objects


def _read_list(items: list[Any]) -> Raw:
    return Texts.make(items) if any(issubclass(kind, str) for kind in set(map(type, items))) else read_cells(items)


def candidate_sets(rows: list[Any]) -> list[Any]:
    """Rows of a column of lists, which hold candidates, as in files."""
    sets: list[Any] = []
    for row, members in enumerate(rows):
        try:
            sets.append(None if is_missing(members) else set(members))
        except TypeError:
            reason = f"candidates must be numbers, strings or the like. Got {one_line(members)} instead."
            raise RowError(reason, row) from None
    return sets


def _read_pandas(y: Any, pandas: Any) -> Raw:
    dtype = y.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        codes = y.cat.codes if isinstance(y, pandas.Series) else y.codes
        return Coded.make(dtype.categories, codes, ordered=dtype.ordered)
    if isinstance(dtype, pandas.IntervalDtype):
        if dtype.subtype.kind not in "iuf":
            raise ValueError(f"an interval column must hold numbers. Got {dtype} instead.")
        array = y.array if hasattr(y, "array") else y
        left = np.asarray(array.left, dtype=np.float64)
        right = np.asarray(array.right, dtype=np.float64)
        return Ranges(None, left, right, array.closed in ("left", "both"), array.closed in ("right", "both"))
    if dtype.kind in "iufb" and isinstance(dtype, np.dtype):
        return Exact(None, np.asarray(y))
    if str(dtype).startswith(("list<", "large_list<")):  # pyarrow's
        return read_cells(candidate_sets(np.asarray(y, dtype=object).tolist()))
    return _read_list(np.asarray(y, dtype=object).tolist())


def _read_columns(columns: list[Raw]) -> Raw:
    if len(columns) == 1:
        return columns[0]
    columns = [column.as_exact() if isinstance(column, (Coded, Texts)) else column for column in columns]
    exact = [column for column in columns if isinstance(column, Exact)]
    if len(exact) == len(columns) > 0 and all(column.values.dtype.kind == "b" for column in exact):
        return Mask(None, np.column_stack([column.values for column in exact]))
    if not len(exact) == len(columns) == 2:
        raise ValueError(
            f"a frame of labels has one column (labels), two ([lower, upper], one label in each) or a boolean one for "
            f"every class. Got {len(columns)} columns."
        )
    lower, upper = exact
    if lower.order is not None and upper.order is not None and list(lower.order) != list(upper.order):
        raise ValueError(
            f"the columns [lower, upper] must have the same categories. "
            f"Got {list(lower.order)} and {list(upper.order)}."
        )
    order = lower.order if lower.order is not None else upper.order
    if lower.values.dtype.kind in "iufb" and upper.values.dtype.kind in "iufb":
        stacked = np.column_stack([lower.values, upper.values])
        rounds = stacked.dtype.kind == "f" and lower.values.dtype != upper.values.dtype
        if not rounds or not np.any(np.abs(stacked[np.isfinite(stacked)]) >= EXACT_IN_FLOAT):
            return Intervals(order, stacked)
    ends = np.empty((lower.values.size, 2), dtype=object)
    ends[:, 0], ends[:, 1] = lower.values.tolist(), upper.values.tolist()
    return Intervals.from_flat(order, ends.ravel())


def _read_polars(y: Any, polars: Any) -> Raw:
    if isinstance(y, polars.DataFrame):
        return _read_columns([_read_polars(column, polars) for column in y.get_columns()])
    if isinstance(y.dtype, polars.Enum):
        return Coded.make(y.dtype.categories, y.to_physical().cast(polars.Int64).fill_null(-1).to_numpy(), ordered=True)
    if y.dtype == polars.List:
        return read_cells(candidate_sets(y.to_list()))
    if y.dtype == polars.Array:
        return _read_array(y.to_numpy())
    if y.dtype.is_numeric() and y.null_count() == 0 and not str(y.dtype).endswith("128"):  # NumPy has none
        return Exact(None, y.to_numpy())
    return _read_list(y.to_list())


def _read_pyarrow(y: Any, pyarrow: Any) -> Raw:
    if isinstance(y, (pyarrow.Table, pyarrow.RecordBatch)):
        return _read_columns([_read_pyarrow(column, pyarrow) for column in y.columns])
    if isinstance(y, pyarrow.ChunkedArray):
        y = y.unify_dictionaries().combine_chunks()
        if isinstance(y, pyarrow.ChunkedArray):  # no chunks at all
            y = pyarrow.array([], type=y.type)
    if isinstance(y, pyarrow.DictionaryArray):
        codes = y.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return Coded.make(y.dictionary.to_pylist(), codes, ordered=y.type.ordered)
    if (pyarrow.types.is_integer(y.type) or pyarrow.types.is_floating(y.type)) and y.null_count == 0:
        return Exact(None, y.to_numpy(zero_copy_only=False))
    if pyarrow.types.is_list(y.type) or pyarrow.types.is_large_list(y.type):
        return read_cells(candidate_sets(y.to_pylist()))
    if pyarrow.types.is_fixed_size_list(y.type) and y.null_count == 0:
        return _read_array(np.array(y.to_pylist()))
    return _read_list(y.to_pylist())
