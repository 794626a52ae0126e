"""Raw columns of a table to a matrix of features.

Numbers are scaled, categories become ones and zeros, texts the set of their hashed words, and missing values are filled
in, indicated or refused. What it learns (means, spreads, categories) comes from the rows given to ``fit`` and from
nothing else; transforming a row does not depend on the rows around it, so a stream may be cut anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields
from difflib import get_close_matches
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankwise._errors import RowError
from rankwise._kernels.scaling import FINITE, INFINITE, MISSING, put_column
from rankwise._sklearn import Interval, StrOptions
from rankwise.features._arrow import as_table
from rankwise.features._columns import (
    KINDS,
    CategoryColumn,
    Column,
    NumberColumn,
    Rules,
    TextColumn,
    fit_column,
    from_plain,
    kind_of,
    missing_rows,
)

_WIDEST_DENSE = 256  # columns of ones and zeros that a dense matrix may have
_BLOCK = 4096  # rows copied at a time: their part of the matrix stays in the cache while the columns are written


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers, categories, booleans and texts of a table as a matrix of features.

    A column's kind follows from its type: numbers and booleans are themselves; a column of strings is numbers if at
    least 95 % of its values are, with a decimal point or comma, and any other value is an error then; text if its
    values have more than three words in the mean; and a category otherwise. A column without any value is left out;
    dates and nested values are refused. ``kinds`` overrides this for single columns.

    Parameters
    ----------
    scaling : {"standard", "minmax", "robust", "none"}, default="standard"
        Numbers to mean 0 and standard deviation 1; to the range 0..1; to median 0 and interquartile range 1; or as they
        are. Booleans are 0 and 1.
    missing : {"mean", "median", "refuse"}, default="mean"
        A missing number (null or NaN) counts as the mean or median of its column, in the rows of ``fit``; a missing
        category or text gives zeros. "refuse" makes any missing value an error that names row and column.
    indicate_missing : bool, default=False
        Add a column of ones and zeros for each column that had missing values in ``fit``.
    categories : {"onehot", "hash"}, default="onehot"
        A column of its own for each category met in ``fit``, or a place among ``n_hashed`` columns, which knows new
        categories too. Columns with more than ``max_categories`` are hashed in any case.
    unknown : {"ignore", "column", "refuse"}, default="ignore"
        A category that was not met in ``fit`` gives zeros, a one in an additional column, or an error.
    max_categories : int, default=100
        Most categories of a column that get columns of their own.
    n_hashed : int, default=16384
        Number of columns for hashed categories and words, shared by all of them. A few will fall together.
    kinds : dict, optional
        Column name -> "number", "category", "boolean", "text" or "ignore".
    dtype : {"float64", "float32"}, default="float64"
        Precision of the matrix.

    Attributes
    ----------
    kinds_ : dict
        Kind of every column of the table it was fitted to.
    feature_names_in_ : ndarray
        Columns that it uses; others in a table are passed over, and their order does not matter.
    sparse_ : bool
        Whether the matrix is CSR: where something is hashed, or there are more than 256 columns of ones and zeros.

    Notes
    -----
    A stream is encoded by what its first rows said, as ``rankwise fit`` does with the first 50,000: fit once, and then
    transform chunk after chunk. Scales that moved while a model learns would change the meaning of its weights.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise import TableEncoder
    >>> wines = pd.DataFrame({"alcohol": [12.0, 14.0, None], "colour": ["red", "white", "red"]})
    >>> encoder = TableEncoder(indicate_missing=True).fit(wines)
    >>> encoder.transform(wines)
    array([[-1.,  1.,  0.,  0.],
           [ 1.,  0.,  1.,  0.],
           [ 0.,  1.,  0.,  1.]])
    >>> list(encoder.get_feature_names_out())
    ['alcohol', 'colour=red', 'colour=white', 'alcohol is missing']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scaling": [StrOptions({"standard", "minmax", "robust", "none"})],
        "missing": [StrOptions({"mean", "median", "refuse"})],
        "indicate_missing": ["boolean"],
        "categories": [StrOptions({"onehot", "hash"})],
        "unknown": [StrOptions({"ignore", "column", "refuse"})],
        "max_categories": [Interval(Integral, 1, None, closed="left")],
        "n_hashed": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "kinds": [dict, None],
        "dtype": [StrOptions({"float64", "float32"})],
    }

    def __init__(
        self,
        *,
        scaling: str = "standard",
        missing: str = "mean",
        indicate_missing: bool = False,
        categories: str = "onehot",
        unknown: str = "ignore",
        max_categories: int = 100,
        n_hashed: int = 16384,
        kinds: Mapping[str, str] | None = None,
        dtype: str = "float64",
    ) -> None:
        self.scaling = scaling
        self.missing = missing
        self.indicate_missing = indicate_missing
        self.categories = categories
        self.unknown = unknown
        self.max_categories = max_categories
        self.n_hashed = n_hashed
        self.kinds = kinds
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn kinds, scales, fillings and categories from the rows of a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or 2-D array
            Raw columns.
        y : None
            Not looked at.
        """
        self._validate_params()
        table = as_table(X)
        if table.num_columns == 0:
            raise ValueError(f"0 feature(s) (shape=({table.num_rows}, 0)) while a minimum of 1 is required.")
        if table.num_rows == 0:
            raise ValueError("Found array with 0 sample(s): a minimum of 1 is required.")
        name, times = Counter(table.column_names).most_common(1)[0]
        if times > 1:
            raise ValueError(f"column {name!r} occurs twice: columns are known by their names.")
        kinds = self._decide_kinds(table)
        columns = self._fit_columns(table, kinds)
        if not columns:
            raise ValueError("no column is left to learn from: all are empty or ignored.")
        self._refuse_problems(table, columns)
        self._accept(kinds, columns)
        return self

    def transform(self, X: Any) -> Any:
        """Matrix of features, dense or CSR (see ``sparse_``); a row that cannot be encoded raises an error."""
        check_is_fitted(self)
        return self._matrix(self._table(X))

    def problems(self, X: Any) -> list[RowError]:
        """Rows that cannot be encoded, with the reason, in order; a row may have several.

        Before it is fitted: rows that :meth:`fit` would refuse.

        Parameters
        ----------
        X : table
            As in :meth:`fit`.

        Examples
        --------
        >>> TableEncoder(missing="refuse").problems([[1.0], [None], [2.0]])[0].row
        1
        """
        if self.__sklearn_is_fitted__():
            return self._problems(self._table(X), self._columns)
        self._validate_params()
        table = as_table(X)
        return self._problems(table, self._fit_columns(table, self._decide_kinds(table)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of the matrix. ``input_features`` is there for scikit-learn and must be its own."""
        check_is_fitted(self)
        if input_features is not None and list(input_features) != self.feature_names_in_.tolist():
            raise ValueError(f"input_features must be the columns fitted. Got {list(input_features)!r}.")
        names = [c.name for c in self._numbers]
        names += [name for c in self._columns if isinstance(c, CategoryColumn) for name in c.names()]
        names += [f"{c.name} is missing" for c in self._columns if c.indicated]
        names += [f"hashed {place}" for place in range(self._n_hashed_used)]
        return np.array(names, dtype=object)

    @property
    def n_features_out_(self) -> int:
        """Number of columns of the matrix."""
        check_is_fitted(self)
        return len(self._numbers) + self._n_own + self._n_indicated + self._n_hashed_used

    # -- the model ---------------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_columns" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "refuse"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def to_plain(self) -> dict[str, Any]:
        """Everything it has learnt as plain values: what a model file holds."""
        check_is_fitted(self)
        # Pairs, not a dict: a model file does not keep the order of one.
        return {"kinds": list(self.kinds_.items()), "columns": [asdict(column) for column in self._columns]}

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the encoder that :meth:`to_plain` described, after checking that it can be one."""
        self._validate_params()
        columns = [from_plain(column) for column in plain["columns"]]
        kinds = dict(plain["kinds"])
        used = {name: kind for name, kind in kinds.items() if kind != "ignore"}
        if not columns or [(c.name, c.kind) for c in columns] != list(used.items()):
            raise ValueError("the columns are not those whose kinds are given")
        self._accept(kinds, columns)

    @property
    def _rules(self) -> Rules:
        return Rules(**{field.name: getattr(self, field.name) for field in fields(Rules)})

    def _accept(self, kinds: dict[str, str], columns: list[Column]) -> None:
        self.kinds_ = kinds
        self._columns = columns
        self._numbers = [c for c in columns if isinstance(c, NumberColumn)]
        self._n_own = sum(c.width for c in columns if isinstance(c, CategoryColumn))
        self._n_indicated = sum(c.indicated for c in columns)
        is_hashed = any(isinstance(c, TextColumn) or (isinstance(c, CategoryColumn) and c.hashed) for c in columns)
        self._n_hashed_used = int(self.n_hashed) if is_hashed else 0
        self.sparse_ = is_hashed or self._n_own + self._n_indicated > _WIDEST_DENSE
        self.feature_names_in_ = np.array([c.name for c in columns], dtype=object)
        self.n_features_in_ = len(columns)

    def _decide_kinds(self, table: Any) -> dict[str, str]:
        given, present = dict(self.kinds or {}), list(table.column_names)
        for name in given.keys() - set(present):
            raise ValueError(f"kinds names the column {name!r}{_which_is_not(name, present)}.")
        for name, kind in given.items():
            if kind not in KINDS:
                raise ValueError(f"the kind of column {name!r} must be one of {', '.join(KINDS)}. Got {kind!r}.")
        return {name: given.get(name) or kind_of(name, table.column(name)) for name in present}

    def _fit_columns(self, table: Any, kinds: Mapping[str, str]) -> list[Column]:
        rules = self._rules
        return [fit_column(name, kind, table.column(name), rules) for name, kind in kinds.items() if kind != "ignore"]

    # -- rows --------------------------------------------------------------------------------------------------------

    def _table(self, X: Any) -> Any:
        table = as_table(X)
        present = set(table.column_names)
        absent = [name for name in self.feature_names_in_ if name not in present]
        is_array = not hasattr(X, "schema") and not hasattr(X, "columns")  # whose columns have no names of theirs
        if is_array and (absent or table.num_columns != len(self.kinds_)):
            raise ValueError(
                f"X has {table.num_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                f"features as input."
            )
        if absent:
            raise ValueError(f"the table has no column {absent[0]!r}{_which_is_not(absent[0], table.column_names)}.")
        return table

    def _problems(self, table: Any, columns: list[Column]) -> list[RowError]:
        rules = self._rules
        problems = [error for c in columns for error in c.problems(table.column(c.name), rules)]
        return sorted(problems, key=lambda error: error.row)

    def _refuse_problems(self, table: Any, columns: list[Column]) -> None:
        problems = self._problems(table, columns)
        if problems:
            raise problems[0]

    def _matrix(self, table: Any) -> Any:
        n, m = table.num_rows, len(self._numbers)
        width = m + self._n_own + self._n_indicated
        rows, places, suspect = self._ones(table)
        values = np.empty((n, m if self.sparse_ else width), dtype=self.dtype)
        suspect = self._put_numbers(table, values) or suspect
        if suspect:
            self._refuse_problems(table, self._columns)
        if self.sparse_:
            shape = (n, self._n_own + self._n_indicated + self._n_hashed_used)
            ones = sparse.csr_matrix((np.ones(rows.size, dtype=self.dtype), (rows, places)), shape=shape)
            ones.sum_duplicates()
            ones.data[:] = 1  # a word that is repeated counts once
            return sparse.hstack([sparse.csr_matrix(values), ones], format="csr") if m else ones
        values[:, m:] = 0
        values[rows, m + places] = 1
        return values

    def _put_numbers(self, table: Any, out: NDArray[Any]) -> bool:
        """Write scaled and filled numbers into the first columns; return whether there may be something to refuse."""
        worst = FINITE
        read = [c.read(table.column(c.name)) for c in self._numbers]
        columns = [_read_only(values) for values, _ in read]
        for start in range(0, out.shape[0], _BLOCK):
            stop = min(start + _BLOCK, out.shape[0])
            for j, c in enumerate(self._numbers):
                worst = max(worst, put_column(columns[j], c.shift, c.factor, c.fill, out, j, start, stop))
        is_text = any(other is not None and other.any() for _, other in read)
        return is_text or worst == INFINITE or (worst == MISSING and self.missing == "refuse")

    def _ones(self, table: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
        """Rows and places of all ones, and whether there may be something to refuse."""
        ones: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        start, hashed_start = 0, self._n_own + self._n_indicated
        indicator = self._n_own
        suspect = False
        for c in self._columns:
            column = table.column(c.name)
            if not isinstance(c, NumberColumn):
                rows, places = c.places(column, self._rules)
                is_hashed = isinstance(c, TextColumn) or c.hashed
                ones.append((rows, places + (hashed_start if is_hashed else start)))
                start += 0 if isinstance(c, TextColumn) else c.width
                suspect = suspect or self.missing == "refuse" or self.unknown == "refuse"
            if c.indicated:
                rows = np.flatnonzero(missing_rows(column, c))
                ones.append((rows, np.full(rows.size, indicator)))
                indicator += 1
        if not ones:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), suspect
        return np.concatenate([r for r, _ in ones]), np.concatenate([p for _, p in ones]), suspect


def _read_only(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same numbers marked read-only, as arrow's memory is, so that one version of the kernel serves all."""
    view = values.view()
    view.flags.writeable = False
    return view


def _which_is_not(name: str, names: list[str]) -> str:
    close = get_close_matches(str(name), names, n=1)
    some = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return f"; did you mean {close[0]!r}?" if close else f"; there are {some}"
