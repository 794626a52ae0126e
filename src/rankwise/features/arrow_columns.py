"""Frames of every kind as one pyarrow table, and columns of it as numbers or texts."""

from __future__ import annotations

import re
import sys
from datetime import date, time, timedelta
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import murmurhash3_32

from rankwise._extras import require
from rankwise._masks import unmasked
from rankwise._types import Floats
from rankwise._words import either
from rankwise.base.row_data import refuse_lazy

NEARLY_ALL = 0.95  # share of numbers in a column of texts from which on the other texts are mistakes
_WHOLE, _CODE, _GROUPED = r"^[+-]?\d+$", r"^[+-]?0\d+$", r"^[+-]?[1-9]\d{0,2}(,\d{3})+$"


def load_pyarrow() -> Any:
    loaded = sys.modules.get("pyarrow")
    if loaded is not None and "pyarrow.compute" in sys.modules:  # importlib is slow, and this is called often
        return loaded
    pyarrow = require("pyarrow", 'tables of raw columns need pyarrow: pip install "rankwise[io]"')
    import_module("pyarrow.compute")
    return pyarrow


def as_table(X: Any) -> Any:
    """Frame of pandas, polars or pyarrow, or a 2-D array, as a pyarrow table; arrays have the columns x0, x1, ..."""
    pa = load_pyarrow()
    if isinstance(X, pa.Table):
        return X
    if isinstance(X, pa.RecordBatch):
        return pa.Table.from_batches([X])
    if _is_from("pandas", X):
        return _from_pandas(X)
    refuse_lazy(X)
    if _is_from("polars", X):
        return X.to_arrow()
    if sparse.issparse(X):
        raise TypeError(
            "a sparse matrix holds no raw columns: give it to the estimator itself, or make it dense with toarray()."
        )
    array = np.asarray(unmasked(X))
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: numbers must be real.")
    if array.ndim != 2:
        hint = " Reshape your data: X must have rows and columns." if array.ndim < 2 else ""
        if array.size and isinstance(array.flat[0], dict):
            hint = " Rows given as dictionaries become a table with pandas.DataFrame(X)."
        raise ValueError(f"X must be a table with rows and columns. Got an array of shape {array.shape}.{hint}")
    columns = {f"x{j}": _plain_column(pa, f"x{j}", array[:, j]) for j in range(array.shape[1])}
    return pa.table(columns)


def _is_from(package: str, X: Any) -> bool:
    # Their objects exist only if the caller has imported them.
    return package in sys.modules and type(X).__module__.split(".")[0] == package and hasattr(X, "columns")


def _from_pandas(frame: Any) -> Any:
    pa = load_pyarrow()
    names = [str(name) for name in frame.columns]
    arrays = []
    for place, name in enumerate(names):
        try:
            arrays.append(pa.Array.from_pandas(frame.iloc[:, place]))
        # Arrow refuses objects of several types: read them one by one, with errors of our own.
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, OverflowError):
            arrays.append(mixed_column(pa, name, frame.iloc[:, place].tolist()))
    return pa.Table.from_arrays(arrays, names=names)


def _plain_column(pa: Any, name: str, values: NDArray[Any]) -> Any:
    if values.dtype.kind in "iufbMm":
        if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):  # Arrow has no more digits than these
            values = values.astype(np.float64)
        return pa.array(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("=")))
    return mixed_column(pa, name, values.tolist())


def mixed_column(pa: Any, name: str, values: list[Any]) -> Any:
    """Column of Python objects: numbers if all are, otherwise texts."""
    known = [None if v is None or v != v else v for v in values]
    plain = [v for v in known if v is not None]
    if all(isinstance(v, (bool, np.bool_)) for v in plain):
        return pa.array([None if v is None else bool(v) for v in known], pa.bool_())
    if all(isinstance(v, (int, float, np.number)) for v in plain):
        # As floats, such long identifiers would become equal.
        if any(isinstance(v, int) and not -(2**63) <= v < 2**64 for v in plain):
            raise unreadable(name, "integers of more than 64 bits")
        return pa.array([None if v is None else float(v) for v in known], pa.float64())
    if all(isinstance(v, (date, timedelta, time, np.datetime64, np.timedelta64)) for v in plain):
        return pa.array(known)
    for v in plain:
        if not isinstance(v, (str, bool, int, float, np.number)):
            raise TypeError(
                f"column {name!r}: a value must be a number, a text or missing; argument must be a string or a number. "
                f"Got a {type(v).__name__}."
            )
    return pa.array([None if v is None else text_of(v) for v in known], pa.string())


def unreadable(name: str, what: Any) -> ValueError:
    """Error for a column whose values have no kind."""
    return ValueError(
        f"column {name!r} holds {what}: a column must hold numbers, booleans, dates, durations, categories or texts. "
        f"Leave it out."
    )


def text_of(value: Any) -> str:
    """Text of a value as a category: whole numbers have no decimal point, whatever their type."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def numbers(column: Any) -> Floats:
    """Numeric or boolean column as float64, missing values as NaN; without a copy where the memory fits."""
    pa = load_pyarrow()
    array = one_chunk(column)
    if not pa.types.is_float64(array.type):
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.uint8())
        array = array.cast(pa.float64(), safe=False)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def written_number(decimal: str) -> str:
    """Pattern of a text that is a number with this decimal mark."""
    mark = re.escape(decimal)
    return rf"^[+-]?(?:(?:\d+(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity|nan))$"


def parsed_numbers(column: Any, decimal: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Numbers written as text, NaN for other texts, and which of these are not blank."""
    compute = load_pyarrow().compute
    texts = trimmed(column)
    is_number = compute.match_substring_regex(texts, written_number(decimal))
    written = compute.if_else(is_number, compute.replace_substring(texts, decimal, "."), None)
    other = compute.and_not(compute.not_equal(texts, ""), is_number).fill_null(False)
    return numbers(written.cast("float64")), np.asarray(other.to_numpy(zero_copy_only=False))


def decimal_mark(name: str, column: Any) -> str | None:
    """Decimal mark of a column of texts that are numbers, nearly all of them; None if they are not.

    Whole numbers such as 00123 are codes. A column of numbers such as 1,234 is an error: they are ambiguous.
    """
    compute = load_pyarrow().compute
    texts = known_texts(column)
    enough = NEARLY_ALL * max(1, len(texts))

    def matching(pattern: str) -> int:
        return int(compute.sum(compute.match_substring_regex(texts, pattern)).as_py() or 0)

    n_codes, n_grouped = matching(_CODE), matching(_GROUPED)
    if matching(written_number(".")) - n_codes >= enough:
        return "."
    if n_grouped and n_grouped >= NEARLY_ALL * matching(",") and n_grouped + matching(_WHOLE) - n_codes >= enough:
        example = texts.filter(compute.match_substring_regex(texts, _GROUPED))[0].as_py()
        raise ValueError(
            f"column {name!r} holds texts such as {example!r}, where the comma may stand before decimals or between "
            f"thousands: write decimals with a point and thousands without a mark, or declare its kind as 'category' "
            f"({either(f'kinds={{{name!r}: ...}}', f'--kind {name}=category')})."
        )
    return "," if matching(written_number(",")) - n_codes >= enough else None


def trimmed(column: Any) -> Any:
    """A column of texts without the blanks around them."""
    pa = load_pyarrow()
    return pa.compute.utf8_trim_whitespace(one_chunk(column).cast(pa.large_string()))


def known_texts(column: Any) -> Any:
    """Texts of a column that are not blank, trimmed."""
    texts = trimmed(column).drop_null()
    return texts.filter(load_pyarrow().compute.not_equal(texts, ""))


def coded_texts(column: Any) -> tuple[list[str], NDArray[np.int32]]:
    """Distinct texts of a column in order of appearance, and the code of every row; -1 where missing."""
    pa = load_pyarrow()
    array = one_chunk(column)
    if not pa.types.is_dictionary(array.type):
        if pa.types.is_null(array.type):
            return [], np.full(len(array), -1, dtype=np.int32)
        if pa.types.is_floating(array.type):  # NaN is a missing value in every column
            array = pa.compute.if_else(pa.compute.is_nan(array), None, array)
        array = array.dictionary_encode()
    known = [None if v is None else text_of(v) for v in array.dictionary.to_pylist()]
    codes = array.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    distinct = list(dict.fromkeys(v for v in known if v is not None))
    if distinct != known:  # a category given twice, or None as one
        place = {text: i for i, text in enumerate(distinct)}
        table = np.array([place.get(v, -1) for v in known] + [-1], dtype=np.int32)  # type: ignore[arg-type]
        codes = table[codes]
    return distinct, np.asarray(codes, dtype=np.int32)


def hashed_place(name: str, text: str, n_hashed: int) -> int:
    """Place of a value among the hashed columns, which all columns share."""
    return int(murmurhash3_32(f"{name}={text}".encode(), seed=0, positive=True)) % n_hashed


def is_numeric(kind: Any) -> bool:
    types = load_pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_text(kind: Any) -> bool:
    types = load_pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def one_chunk(column: Any) -> Any:
    """A column as one array."""
    pa = load_pyarrow()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # nothing in it, or too much text for one chunk
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column
