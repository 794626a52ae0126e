"""Raw columns of a table to a matrix of features.

Numbers are scaled, or bent by splines; dates become their parts, categories ones and zeros, texts weights of their
words; and missing values are filled in, indicated or refused. What it learns (means, spreads, knots, categories, words)
comes from the rows given to ``fit`` and from nothing else; transforming a row does not depend on the rows around it, so
a stream may be cut anywhere.
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
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankwise._errors import RowError
from rankwise._sklearn import COUNT, Interval, StrOptions
from rankwise._warn import warn_user
from rankwise._words import either
from rankwise.features._bending import Products, bent_numbers
from rankwise.features._encoding import Encoding, kept_names, problems, refuse_problems
from rankwise.features.arrow_columns import as_table
from rankwise.features.column_kinds import NO_VALUE, ColumnWarning, kind_of
from rankwise.features.encoded_columns import KINDS, Column, distinct_indicators, fit_column, from_plain
from rankwise.features.encoding_rules import Rules


class NoColumnsError(ValueError):
    """A table of which no column is left to learn from."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode numbers, dates, categories, booleans and texts of a table as a matrix of features.

    The kind of a column follows from its type: numbers, booleans, dates and durations keep theirs. A column of strings
    holds numbers if at least 95 % of its values are numbers, with a decimal point or comma; dates if as many are dates
    such as 2024-05-31, 31.05.2024 or 05/31/2024, with or without a time; text if its values have more than three words
    on average; and categories otherwise. Uninformative columns are left out with a :class:`ColumnWarning` and a note
    (``notes_``): columns without any value and, from 50 rows on, constant columns and identifiers. These are strings of
    which 95 % are different; whole numbers that are all different in a column called id, key or index; and whole
    numbers in a column called id with fewer than five rows for each. With more rows for each they are categories.
    ``kinds`` overrides all this for single columns.

    Parameters
    ----------
    numbers : {"auto", "linear", "spline", "spline+products"}, default="auto"
        Features of numbers, durations and parts of dates. "linear": the number itself. "spline": seven cubic B-splines
        between five knots at the quantiles of the column, so that a linear model can follow a curve; a column with
        too few different values stays as it is. "spline+products": the products of all pairs of number columns too.
        "auto" takes splines if there are at least 300 rows, and eight for each feature there would be; and products
        too if there are 20 for each, and at most 200 features in all; for streams it is "linear". The knots come from
        the rows of ``fit``, of a stream the first ones.
    scaling : {"standard", "minmax", "robust", "none"}, default="standard"
        Numbers to mean 0 and standard deviation 1; to the range 0..1; to median 0 and interquartile range 1; or as they
        are. Booleans are 0 and 1. Splines, which lie between 0 and 1, are standardized with "standard" and "robust".
    missing : {"mean", "median", "refuse", "keep"}, default="mean"
        A missing number (null or NaN) counts as the mean or median of its column, in the rows of ``fit``; a missing
        category or text gives zeros. "refuse" makes any missing value an error that names row and column. "keep"
        leaves missing numbers as NaN, for trees.
    indicate_missing : bool, default=False
        Add a column of ones and zeros for each column that had missing values in ``fit``.
    slips : {"refuse", "missing"}, default="refuse"
        How to treat a text among numbers, such as "about 100", or among dates: as an error that names row, column and
        remedy; or as a missing value, with a warning.
    dates : {"numbers", "cyclic"}, default="numbers"
        A date gives the days since the first one and, where they differ, year, month, weekday (Monday is 0) and hour.
        "cyclic" gives sine and cosine of the last three, so that December is next to January.
    categories : {"onehot", "hash", "codes"}, default="onehot"
        A column of its own for each category met in ``fit``, or a place among ``n_hashed`` columns, which knows new
        categories too. "codes": one column with the place of the category, NaN if it is missing or new, for estimators
        that take categories by themselves; ``categorical_`` names these columns.
    ordered : {"cumulative", "scores", "indicators"}, default="cumulative"
        Features of ordered categories: those of an ordered Categorical of pandas, an Enum of polars or an ordered
        dictionary of Arrow. "cumulative": for each level but the lowest, whether the row has at least this level, so
        that a weight is the step from the level below, and a penalty keeps neighbours alike. "scores": one number, 0
        for the lowest level, 1 for the next ..., scaled as numbers are. "indicators": the same as for other categories,
        also with ``categories="hash"``. A level that is missing or new counts as the mean or median of these features,
        see ``missing``. With ``categories="codes"`` the place among the levels is a number.
    unknown : {"ignore", "column", "refuse"}, default="ignore"
        A category that was not met in ``fit`` gives zeros, a one in an additional column, or an error. Where there is a
        column of rare categories it is one of these.
    max_categories : int, default=100
        Maximum number of categories of a column with a column of their own, the most frequent ones; others share one.
    min_category_rows : int, default=1
        Minimum number of rows of a category with a column of its own; the others share one.
    texts : {"auto", "tfidf", "counts", "binary", "hash"}, default="auto"
        Weight of each word, as a column of its own: its tf-idf, its count, or a one. "hash": a one at the hashed place
        of each word, for streams, whose vocabulary is not known. "auto" is "hash" for streams and "tfidf" otherwise.
    ngrams : int, default=1
        Longest run of words that counts as a word.
    max_words : int, default=5000
        Maximum number of words of a column, the most frequent ones. A word that only one row has is left out.
    drop_first : bool or "auto", default="auto"
        Leave out a feature wherever all features of a column add up to one, so that they are not collinear with the
        thresholds of a model: of a category its most frequent one, the reference level with which the others are
        compared, and of a number its first spline. Missing categories then have a column of their own if there are
        some in ``fit``, and otherwise count as the reference, as new ones do with ``unknown="ignore"``; columns whose
        missing values lie in the same rows share one. "auto": False, but :class:`TableModel` chooses True if its
        estimator has no penalty, such as ``CumulativeLink(alpha=0)``.
    n_hashed : int, default=16384
        Number of columns for hashed categories and words, shared by all of them. A few will collide.
    kinds : dict, optional
        Column name -> "number", "category", "boolean", "date", "date-dmy", "date-mdy" (dates such as 03/04/2024 with
        the day or the month first), "duration", "ordered", "text" or "ignore".
    stream : bool, default=False
        The rows of ``fit`` are the first of many: hash texts, and keep columns that are constant so far.
        :meth:`TableModel.partial_fit` and ``rankwise fit`` on large files set this.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the matrix.

    Attributes
    ----------
    kinds_ : dict
        Kind of every column of the table it was fitted to.
    notes_ : dict
        Column name -> why it is left out, or how it is read where that may surprise.
    numbers_ : str
        How numbers are encoded: "linear", "spline" or "spline+products".
    feature_names_in_ : ndarray
        Columns that it uses; others in a table are ignored, and their order does not matter.
    sparse_ : bool
        Whether the matrix is CSR: where something is hashed, or there are more than 256 columns of ones and words.

    Notes
    -----
    Fit the encoder to the first rows of a stream, as ``rankwise fit`` does with the first 50,000, and then transform
    chunk after chunk. Scales that moved while a model learns would change the meaning of its weights.

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
        "numbers": [StrOptions({"auto", "linear", "spline", "spline+products"})],
        "scaling": [StrOptions({"standard", "minmax", "robust", "none"})],
        "missing": [StrOptions({"mean", "median", "refuse", "keep"})],
        "indicate_missing": ["boolean"],
        "slips": [StrOptions({"refuse", "missing"})],
        "dates": [StrOptions({"numbers", "cyclic"})],
        "categories": [StrOptions({"onehot", "hash", "codes"})],
        "ordered": [StrOptions({"cumulative", "scores", "indicators"})],
        "unknown": [StrOptions({"ignore", "column", "refuse"})],
        "max_categories": [COUNT],
        "min_category_rows": [COUNT],
        "texts": [StrOptions({"auto", "tfidf", "counts", "binary", "hash"})],
        "ngrams": [Interval(Integral, 1, 10, closed="both")],
        "max_words": [COUNT],
        "drop_first": ["boolean", StrOptions({"auto"})],
        "n_hashed": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "kinds": [dict, None],
        "stream": ["boolean"],
        "dtype": [StrOptions({"float64", "float32"})],
    }

    def __init__(
        self, *, numbers: str = "auto", scaling: str = "standard", missing: str = "mean",
        indicate_missing: bool = False, slips: str = "refuse", dates: str = "numbers", categories: str = "onehot",
        ordered: str = "cumulative", unknown: str = "ignore", max_categories: int = 100, min_category_rows: int = 1,
        texts: str = "auto", ngrams: int = 1, max_words: int = 5000, drop_first: bool | str = "auto",
        n_hashed: int = 16384, kinds: Mapping[str, str] | None = None, stream: bool = False, dtype: str = "float64",
    ) -> None:  # fmt: skip
        self.numbers = numbers
        self.scaling = scaling
        self.missing = missing
        self.indicate_missing = indicate_missing
        self.slips = slips
        self.dates = dates
        self.categories = categories
        self.ordered = ordered
        self.unknown = unknown
        self.max_categories = max_categories
        self.min_category_rows = min_category_rows
        self.texts = texts
        self.ngrams = ngrams
        self.max_words = max_words
        self.drop_first = drop_first
        self.n_hashed = n_hashed
        self.kinds = kinds
        self.stream = stream
        self.dtype = dtype

    @classmethod
    def for_trees(cls, **parameters: Any) -> Self:
        """An encoder that leaves numbers, missing values and categories as trees need them."""
        return cls(**{"numbers": "linear", "scaling": "none", "missing": "keep", "categories": "codes", **parameters})

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn kinds, scales, knots, fillings, categories and words from the rows of a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or 2-D array
            Raw columns.
        y : None
            Ignored.
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
        kinds, notes = self._decide_kinds(table)
        columns = self._fit_columns(table, kinds)
        if not columns:
            reasons = "; ".join(f"{name!r}: {note}" for name, note in list(notes.items())[:5])
            raise NoColumnsError(f"no column is left to learn from: all are ignored or left out ({reasons}).")
        rules = self._rules
        refuse_problems(table, columns, rules)
        columns, products = bent_numbers(self.numbers, table, columns, rules)
        if rules.has_reference:
            columns = distinct_indicators(columns, table)
        kinds = {name: kind.partition("-")[0] for name, kind in kinds.items()}  # the columns know the order of dates
        encoding = Encoding(columns, products, kept_names(table, columns, rules), int(self.n_hashed))
        if encoding.n_features == 0:
            names = ", ".join(dict.fromkeys(repr(c.name) for c in columns))
            raise NoColumnsError(f"no feature is left to learn from: {names} always have their reference level.")
        self._accept(kinds, notes, encoding)
        self._warn_of_columns_left_out()
        if self.slips == "missing":
            encoding.warn_of_slips(table)
        return self

    def transform(self, X: Any) -> Any:
        """Matrix of features, dense or CSR (see ``sparse_``); a row that cannot be encoded raises an error."""
        check_is_fitted(self)
        return self._encoding.matrix(self._table(X), self._rules, self.dtype)

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
            return problems(self._table(X), self._encoding.columns, self._rules)
        self._validate_params()
        table = as_table(X)
        return problems(table, self._fit_columns(table, self._decide_kinds(table)[0]), self._rules)

    @property
    def categorical_(self) -> list[int]:
        """Columns of the matrix that hold codes of categories, see ``categories="codes"``."""
        check_is_fitted(self)
        return self._encoding.categorical()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of the matrix; ``input_features`` may only repeat the columns of ``fit``.

        A hashed place has the name of its most frequent word or category in ``fit``.
        """
        check_is_fitted(self)
        if input_features is not None and list(input_features) != self.feature_names_in_.tolist():
            raise ValueError(f"input_features must be the columns fitted. Got {list(input_features)!r}.")
        return np.array(self._encoding.names(), dtype=object)

    @property
    def n_features_out_(self) -> int:
        """Number of columns of the matrix."""
        check_is_fitted(self)
        return self._encoding.n_features

    # -- the model ---------------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_encoding" in self.__dict__

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
        return {
            "kinds": list(self.kinds_.items()),
            "notes": list(self.notes_.items()),
            "columns": [asdict(column) for column in self._encoding.columns],
            "products": asdict(self._encoding.products),
            "hashed": list(self._encoding.kept.items()),
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the encoder that :meth:`to_plain` described, after checking that it can be one."""
        self._validate_params()
        columns = [from_plain(column) for column in plain["columns"]]
        kinds, notes = dict(plain["kinds"]), dict(plain.get("notes", []))
        used = {name: kind for name, kind in kinds.items() if kind != "ignore"}
        if not columns or list(dict.fromkeys((c.name, c.kind) for c in columns)) != list(used.items()):
            raise ValueError("the columns are not those whose kinds are given")
        if not all(isinstance(note, str) for note in notes.values()) or not notes.keys() <= kinds.keys():
            raise ValueError("notes are texts about columns")
        products = Products.from_plain(plain.get("products"), columns)
        kept = dict(plain.get("hashed", []))
        if not all(type(k) is int and 0 <= k < self.n_hashed and isinstance(v, str) for k, v in kept.items()):
            raise ValueError("names of hashed places are texts")
        kinds = {name: kind.partition("-")[0] for name, kind in kinds.items()}  # the columns know the order of dates
        encoding = Encoding(columns, products, kept, int(self.n_hashed))
        self._accept(kinds, notes, encoding)

    @property
    def _rules(self) -> Rules:
        return Rules(**{field.name: getattr(self, field.name) for field in fields(Rules)})

    @property
    def _numbers(self) -> list[Any]:
        return self._encoding.numbers

    def _accept(self, kinds: dict[str, str], notes: dict[str, str], encoding: Encoding) -> None:
        self.kinds_, self.notes_, self._encoding = kinds, notes, encoding
        self.numbers_, self.sparse_ = encoding.how_numbers, encoding.is_sparse
        self.feature_names_in_ = np.array(list(dict.fromkeys(c.name for c in encoding.columns)), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)

    def _decide_kinds(self, table: Any) -> tuple[dict[str, str], dict[str, str]]:
        given, present = dict(self.kinds or {}), list(table.column_names)
        for name in given.keys() - set(present):
            raise ValueError(f"kinds names the column {name!r}{_which_is_not(name, present)}.")
        for name, kind in given.items():
            if kind not in KINDS:
                raise ValueError(f"the kind of column {name!r} must be one of {', '.join(KINDS)}. Got {kind!r}.")
        kinds: dict[str, str] = {}
        notes: dict[str, str] = {}
        for name in present:
            column = table.column(name)
            kinds[name], note = (given[name], "") if name in given else kind_of(name, column, stream=self.stream)
            if kinds[name] == "ordered" and (self.ordered == "indicators" or self.categories == "hash"):
                kinds[name] = "category"
            if note:
                notes[name] = note
        return kinds, notes

    def _warn_of_columns_left_out(self) -> None:
        """Warn once of columns that are left out although nobody asked for it."""
        given = dict(self.kinds or {})
        names = [name for name, kind in self.kinds_.items() if kind == "ignore" and name not in given]
        if not names:
            return
        # Reasons without numbers: the same table in other folds gives the same words, which Python shows once.
        reasons = [f"{name!r} ({self.notes_[name].partition(':')[0]})" for name in names[:12]]
        some = ", ".join(reasons) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
        remedies = []
        full = next((name for name in names if self.notes_[name] != NO_VALUE), None)
        if full is not None:
            remedies += [
                f"{either(f'kinds={{{full!r}: ...}}', f'--kind {full}=category')} keeps one, as a category, say"
            ]
        drop = either(f"kinds={{{names[0]!r}: 'ignore'}}", f"--ignore {names[0]}")
        remedies += [f"{drop} leaves it out without this warning"]
        warn_user(f"columns are left out: {some}. {'; '.join(remedies)}.", ColumnWarning)

    def _fit_columns(self, table: Any, kinds: Mapping[str, str]) -> list[Column]:
        rules, used = self._rules, {name: kind for name, kind in kinds.items() if kind != "ignore"}
        return [c for name, kind in used.items() for c in fit_column(name, kind, table.column(name), rules)]

    # -- rows --------------------------------------------------------------------------------------------------------

    def _table(self, X: Any) -> Any:
        table = as_table(X)
        present = set(table.column_names)
        absent = [name for name in self.feature_names_in_ if name not in present]
        is_array = not hasattr(X, "schema") and not hasattr(X, "columns")  # without names of its own
        if is_array and (absent or table.num_columns != len(self.kinds_)):
            raise ValueError(
                f"X has {table.num_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                f"features as input."
            )
        if absent:
            raise ValueError(f"the table has no column {absent[0]!r}{_which_is_not(absent[0], table.column_names)}.")
        return table


def _which_is_not(name: str, names: list[str]) -> str:
    close = get_close_matches(str(name), names, n=1)
    some = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return f"; did you mean {close[0]!r}?" if close else f"; there are {some}"
