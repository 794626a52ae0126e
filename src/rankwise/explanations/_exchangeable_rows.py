"""Raw rows whose columns can be exchanged: arrays, and tables of every kind through pyarrow."""

from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse

from rankwise._masks import unmasked
from rankwise._types import Floats
from rankwise.features.arrow_columns import as_table, is_numeric, is_text, load_pyarrow, numbers


class RawRows:
    """Rows of an array or a table; ``given`` returns them in the form that the model takes."""

    def __init__(self, X: Any, names: list[str] | None = None) -> None:
        if sparse.issparse(X):
            X = X.toarray()
        self.is_table = hasattr(X, "columns") or hasattr(X, "schema")
        self._is_pandas = self.is_table and type(X).__module__.split(".")[0] == "pandas"
        held: Any = as_table(X) if self.is_table else np.asarray(unmasked(X))
        if not self.is_table and held.ndim != 2:
            raise ValueError(f"X must have rows and columns. Got an array of shape {held.shape}.")
        given = held.column_names if self.is_table else names or []
        self.names = list(given) if len(given) == held.shape[1] else [f"x{j}" for j in range(held.shape[1])]
        self._held = held

    def __len__(self) -> int:
        return int(self._held.num_rows if self.is_table else self._held.shape[0])

    def _with(self, held: Any) -> Self:
        other = copy(self)
        other._held = held
        return other

    def given(self, takes_arrow: bool) -> Any:
        return self._held.to_pandas() if self._is_pandas and not takes_arrow else self._held

    def take(self, rows: Any) -> Self:
        rows = np.asarray(rows)
        return self._with(self._held.take(rows) if self.is_table else self._held[rows])

    def column(self, name: str) -> Any:
        """A column of pyarrow or numpy."""
        return self._held.column(name) if self.is_table else self._held[:, self.names.index(name)]

    def replaced(self, name: str, values: Any) -> Self:
        """The same rows with the values of one column replaced."""
        j = self.names.index(name)
        if self.is_table:
            return self._with(self._held.set_column(j, name, values))
        held = self._held.astype(np.result_type(self._held, values))  # whole numbers may get fractions
        held[:, j] = values
        return self._with(held)

    def value(self, row: int, name: str) -> Any:
        """One value, as a Python object."""
        held = self.column(name)[row]
        return held.as_py() if self.is_table else getattr(held, "item", lambda: held)()

    def as_numbers(self, name: str) -> Floats | None:
        """A column of numbers; None if it holds other values."""
        column = self.column(name)
        if self.is_table:
            return numbers(column) if is_numeric(column.type) else None
        try:
            return np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            return None

    def categories(self, name: str) -> list[Any]:
        """Distinct values of a column of texts, booleans or categories; none for dates and the like."""
        column = self.column(name)
        if not self.is_table:
            return [value for value in dict.fromkeys(column.tolist()) if isinstance(value, (str, bool))]
        pa = load_pyarrow()
        kind = column.type
        if not (is_text(kind) or pa.types.is_boolean(kind) or pa.types.is_dictionary(kind)):
            return []
        return [value for value in pa.compute.unique(column).to_pylist() if value is not None]

    def column_of(self, name: str, values: list[Any]) -> Any:
        """Values as a column of the same type as this one."""
        if not self.is_table:
            return np.array(values, dtype=object if self._held.dtype == object else np.float64)
        kind = self._held.schema.field(name).type
        pa = load_pyarrow()
        if pa.types.is_integer(kind):  # a proposed value may be a fraction
            return pa.chunked_array([pa.array(values, pa.float64())])
        return pa.chunked_array([pa.array(values).cast(kind)])

    def shown(self, row: int, name: str, most: int = 24) -> str:
        """One value as a short text."""
        value = self.value(row, name)
        if value is None or value != value:
            return "missing"
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        return text if len(text) <= most else text[: most - 3] + "..."
