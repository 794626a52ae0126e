"""Load data sets as numeric arrays, and cut their targets as the papers do."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets._check import one_of
from rankwise.datasets._cuts import cut_equal_frequency, cut_equal_width
from rankwise.datasets._find import DatasetDamagedError, Table, key, read
from rankwise.datasets._sources import SOURCES

_PRIL_RINGS = (7, 9, 12)
_SEX_NUMBERS = {"sex=m": 1.0, "sex=f": 2.0, "sex=i": 3.0}
_UPDRS = ("total_UPDRS", "motor_UPDRS")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as numeric arrays.

    Attributes
    ----------
    name : str
        Its name.
    X : ndarray of shape (n_samples, n_features), float64
        Features. A column of strings is one-hot encoded: one 0/1 column named ``column=value`` for each of its values,
        in alphabetical order, all 0 where the cell is missing. A missing number is NaN.
    y : ndarray of shape (n_samples,)
        Target: int64 if all its numbers are whole, else float64; strings for some sets.
    feature_names : tuple of str
        Names of the columns of X, as the source spells them.
    description : str
        What is predicted from which features.
    source : str
        The files or the OpenML set it was read from.
    classes : tuple of str or None
        The order of the classes, lowest first, if y holds strings that have one.
    extra : mapping of str to ndarray of shape (n_samples,)
        Columns that are neither features nor target, such as the subject or the standard split.
    """

    name: str
    X: NDArray[np.float64] = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    description: str
    source: str
    classes: tuple[str, ...] | None = None
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict, repr=False)


def names() -> tuple[str, ...]:
    """Return the names :func:`load` knows.

    Examples
    --------
    >>> from rankwise import datasets
    >>> "abalone" in datasets.names()
    True
    """
    return tuple(SOURCES)


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a real data set with its raw target.

    The set is taken from the first of these places that has it: the directory ``data_dir``; the directory in the
    environment variable ``RANKWISE_DATA``; ``shared/data`` beside the checkout (for developers); OpenML, through
    :func:`sklearn.datasets.fetch_openml`, which caches downloads. The directories hold CSV files with one header row,
    plain or gzipped, such as ``abalone/abalone.csv``; OpenML may spell columns and order rows differently.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_dir : path or None, default=None
        A directory that holds data sets.

    Raises
    ------
    DatasetNotFoundError
        If no place has the set, or a given directory does not exist. It is a :class:`FileNotFoundError`.
    DatasetDamagedError
        If its content is wrong. It is a :class:`ValueError`.
    """
    return _load(one_of("load", "name", name, names()), data_dir)


def load_parkinsons(
    n_classes: int = 10, target: Literal["total_UPDRS", "motor_UPDRS"] = "total_UPDRS", *, standardize: bool = True,
    include_other_score: bool = True, data_dir: str | os.PathLike[str] | None = None,
) -> Dataset:  # fmt: skip
    """Load the Parkinsons telemonitoring set with its UPDRS score cut into ordered grades, as in the PRIL paper.

    The range of the score is divided into bins of equal width; the defaults are the paper's: ten bins of total UPDRS,
    features of mean 0 and standard deviation 1. The paper counts 20 features without naming them. Here they are all
    columns but the target and the subject: age, sex, test time, the other UPDRS score and 16 voice measures. The other
    score is highly informative (motor UPDRS is a part of total UPDRS); without it 19 features remain.

    Parameters
    ----------
    n_classes : int, default=10
        Number of grades; y is 1..n_classes.
    target : {"total_UPDRS", "motor_UPDRS"}, default="total_UPDRS"
        The score to be cut.
    standardize : bool, default=True
        Scale each feature to mean 0 and standard deviation 1.
    include_other_score : bool, default=True
        Keep the score that is not the target among the features.
    data_dir : path or None, default=None
        As in :func:`load`.

    Returns
    -------
    Dataset
        ``extra["subject#"]`` identifies the 42 patients, if the source has it.
    """
    one_of("load_parkinsons", "target", target, _UPDRS)
    raw = _load("parkinsons", data_dir, target)
    keep = [j for j, feature in enumerate(raw.feature_names) if include_other_score or feature not in _UPDRS]
    X, names = raw.X[:, keep], tuple(raw.feature_names[j] for j in keep)
    X, y = _standardized(X) if standardize else X, cut_equal_width(raw.y, n_classes)
    what = f"Parkinsons telemonitoring (UCI): {target} in {n_classes} grades of equal width."
    return replace(raw, X=X, y=y, feature_names=names, description=what)


def load_abalone(
    cuts: Literal["pril"] | Sequence[float] | None = "pril", *, encode_sex: Literal["number", "one-hot"] = "number",
    standardize: bool = False, data_dir: str | os.PathLike[str] | None = None,
) -> Dataset:  # fmt: skip
    """Load the Abalone set with its rings cut into ordered classes.

    Parameters
    ----------
    cuts : "pril", sequence of increasing numbers, or None, default="pril"
        The largest number of rings in each class but the last. "pril" stands for (7, 9, 12), the PRIL paper's four
        classes 1-7, 8-9, 10-12, 13-29. None keeps the rings.
    encode_sex : {"number", "one-hot"}, default="number"
        "number" codes male, female, infant as 1, 2, 3, as LIBSVM's copy does, which gives the paper's 8 features;
        "one-hot" makes three 0/1 columns of it (10 features), as in the partitions of Chu and Ghahramani.
    standardize, data_dir
        As in :func:`load_parkinsons`.

    Returns
    -------
    Dataset
        y is 1..4 with the default cuts.
    """
    one_of("load_abalone", "encode_sex", encode_sex, ("number", "one-hot"))
    if isinstance(cuts, str):
        one_of("load_abalone", "cuts", cuts, ("pril",))
        cuts = _PRIL_RINGS
    if cuts is not None and (np.ndim(cuts) != 1 or len(cuts) == 0 or not np.all(np.diff(cuts) > 0)):
        raise ValueError(f"The 'cuts' parameter of load_abalone must be increasing numbers. Got {cuts!r} instead.")
    raw = _load("abalone", data_dir)
    X, feature_names = raw.X, raw.feature_names
    if encode_sex == "number":
        numbers = np.array([_SEX_NUMBERS.get(feature.lower(), 0.0) for feature in feature_names])
        others = np.flatnonzero(numbers == 0)
        X = np.column_stack([X @ numbers, X[:, others]])
        feature_names = ("sex", *(feature_names[j] for j in others))
    y, description = raw.y, raw.description
    if cuts is not None:
        y = (np.searchsorted(cuts, y, side="left") + 1).astype(np.int64)
        description = f"Abalone (UCI): rings in {len(cuts) + 1} classes, cut after {', '.join(map(str, cuts))}."
    X = _standardized(X) if standardize else X
    return replace(raw, X=X, y=y, feature_names=feature_names, description=description)


def load_diabetes_grades(n_classes: int = 5) -> Dataset:
    """Load scikit-learn's bundled diabetes data with the progression cut into ordered grades.

    It needs neither network nor data directory. The grades are equally frequent up to ties (see
    :func:`cut_equal_frequency`).

    Parameters
    ----------
    n_classes : int, default=5
        Number of grades; y is 1..n_classes.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.datasets import load_diabetes_grades
    >>> diabetes = load_diabetes_grades()
    >>> diabetes.X.shape, np.bincount(diabetes.y)[1:].tolist()
    ((442, 10), [87, 89, 88, 88, 90])
    """
    from sklearn.datasets import load_diabetes  # slow to import, and only needed here

    bunch = load_diabetes()
    y = cut_equal_frequency(bunch.target, n_classes)
    what = f"Diabetes: progression after one year in {n_classes} grades, from ten baseline figures."
    return Dataset("diabetes_grades", bunch.data, y, tuple(bunch.feature_names), what, "scikit-learn")


def _load(name: str, data_dir: str | os.PathLike[str] | None, target: str | None = None) -> Dataset:
    source = SOURCES[name]
    table, origin = read(name, source, data_dir)
    by_key = {key(column): column for column in table}
    aside = [by_key[key(column)] for column in source.aside if key(column) in by_key]
    wanted = (target,) if target else (source.target, source.openml_target)
    targets = [by_key[key(column)] for column in wanted if key(column) in by_key]
    wrong = f"{origin} does not hold the data set {name!r}"
    if not targets:
        raise DatasetDamagedError(f"{wrong}: it has no column {wanted[0]!r}.")
    if source.complete:
        table = _complete_rows(table)
    features = {column: values for column, values in table.items() if column not in (targets[0], *aside)}
    shape = (table[targets[0]].size, len(features) + 1)
    if shape != source.shape:
        sizes = "it has {} rows and {} columns, not {} and {}".format(*shape, *source.shape)
        raise DatasetDamagedError(f"{wrong}: {sizes}.")
    y = _tidy(table[targets[0]])
    if y.dtype == object or np.any(y != y) or (source.classes and not set(y.tolist()) <= set(source.classes)):
        raise DatasetDamagedError(f"{wrong}: its target has missing or odd values.")
    X, feature_names = _encode(features)
    extra = {column: _tidy(table[column]) for column in aside}
    return Dataset(name, X, y, feature_names, source.description, origin, source.classes, extra)


def _encode(features: Table) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """One-hot encode the columns of strings."""
    columns: dict[str, NDArray[Any]] = {}
    for column, values in features.items():
        if values.dtype == object:
            levels = sorted(set(values.tolist()) - {None})
            columns |= {f"{column}={level}": values == level for level in levels}
        else:
            columns[column] = values
    return np.column_stack(list(columns.values())).astype(np.float64), tuple(columns)


def _tidy(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as int64, strings without a gap as str."""
    if values.dtype == object:
        return values if any(value is None for value in values) else values.astype(np.str_)
    return values.astype(np.int64) if np.all(np.mod(values, 1) == 0) else values


def _complete_rows(table: Table) -> Table:
    missing = [[cell is None or cell != cell for cell in values] for values in table.values()]
    keep = ~np.any(missing, axis=0)
    return {column: values[keep] for column, values in table.items()}


def _standardized(X: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = X.std(axis=0)
    scaled: NDArray[np.float64] = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled
