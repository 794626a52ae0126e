"""Sets that OpenML does not have: multi-label sets, ready-made partitions, handwritten words, answers of raters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets._check import one_of
from rankwise.datasets._find import DatasetDamagedError, locate_offline, read_offline, read_rows

_LABEL = "label:"
#: Rows, features and labels of each set.
_SHAPES = {"emotions": (593, 72, 6), "yeast": (2417, 103, 14), "scene": (2407, 294, 6), "enron": (1702, 1001, 53)}

MULTILABEL_NAMES = tuple(_SHAPES)
"""The sets of :func:`load_multilabel`."""

CHU_NAMES = ("diabetes", "pyrimidines", "triazines", "wisconsin", "machine", "autompg", "boston", "stocks", "abalone")
"""The sets of :func:`load_chu_partitions`, from the smallest to the largest."""

#: File names, columns that hold text, and numbers of answers and of items with a known label.
_RATINGS = {"adult-content": ("adult_content", ("label",), 92721, 333), "emotion": ("emotion", (), 7000, 700)}

RATING_NAMES = tuple(_RATINGS)
"""The sets of :func:`load_ratings`."""

N_PARTITIONS = 20
_N_PIXELS = 128
_LETTERS_AND_WORDS = (52152, 6877)

Partition = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class MultilabelDataset:
    """A multi-label data set as numeric arrays.

    Attributes
    ----------
    name, X, feature_names
        As in :class:`Dataset`.
    Y : ndarray of shape (n_samples, n_labels), int64
        1 where a label applies, else 0.
    label_names : tuple of str
        Names of the columns of Y.
    """

    name: str
    X: NDArray[np.float64] = field(repr=False)
    Y: NDArray[np.int64] = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    label_names: tuple[str, ...] = field(repr=False)


def load_multilabel(name: str, data_dir: str | os.PathLike[str] | None = None) -> MultilabelDataset:
    """Load a multi-label set of the Mulan collection: emotions, yeast, scene or enron.

    Parameters
    ----------
    name : str
        One of ``MULTILABEL_NAMES``.
    data_dir : path or None, default=None
        A directory with ``multilabel/{name}.csv``, plain or gzipped; found as in :func:`load`, but not downloaded. Its
        label columns begin with ``label:``.
    """
    one_of("load_multilabel", "name", name, MULTILABEL_NAMES)
    file = f"multilabel/{name}.csv"
    table = read_offline(name, file, ("split",), data_dir)
    table.pop("split", None)
    labels = [column for column in table if column.startswith(_LABEL)]
    features = [column for column in table if not column.startswith(_LABEL)]
    shape = (next(iter(table.values())).size if table else 0, len(features), len(labels))
    if shape != _SHAPES[name]:
        raise DatasetDamagedError(
            f"{file} does not hold the data set {name!r}: it has {shape[0]} rows, {shape[1]} features and {shape[2]} "
            f"labels, not {', '.join(map(str, _SHAPES[name]))}."
        )
    X, Y = (np.column_stack([table[column] for column in columns]) for columns in (features, labels))
    if not (np.isfinite(X).all() and np.isin(Y, (0, 1)).all()):
        raise DatasetDamagedError(f"{file} is damaged: a feature is missing, or a label is neither 0 nor 1.")
    names = tuple(label.removeprefix(_LABEL) for label in labels)
    return MultilabelDataset(name, X, Y.astype(np.int64), tuple(features), names)


def load_chu_partitions(name: str, bins: int, data_dir: str | os.PathLike[str] | None = None) -> Iterator[Partition]:
    """Load the 20 partitions of a set of Chu and Ghahramani's benchmark of ordinal regression.

    The labels are those of the benchmark, 1..bins; the features are not scaled. Rows are sorted by label: shuffle them
    before learning online.

    Parameters
    ----------
    name : str
        One of ``CHU_NAMES``.
    bins : {5, 10}
        Number of ordered classes.
    data_dir : path or None, default=None
        A directory with ``chu_partitions/{name}_{bins}bins.csv``, plain or gzipped; found as in :func:`load`, but not
        downloaded.

    Returns
    -------
    iterator over 20 tuples (X_train, y_train, X_test, y_test)
        The file is read at the call, not at the first step.
    """
    one_of("load_chu_partitions", "name", name, CHU_NAMES)
    one_of("load_chu_partitions", "bins", bins, (5, 10))
    file = f"chu_partitions/{name}_{bins}bins.csv"
    table = read_offline(f"{name} in {bins} bins", file, ("split",), data_dir)
    if not {"partition", "split", "y"} < table.keys():
        raise DatasetDamagedError(f"{file} is damaged: it lacks a column partition, split, y or any feature.")
    number, split, y = table.pop("partition"), table.pop("split"), table.pop("y")
    X = np.column_stack(list(table.values()))
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise DatasetDamagedError(f"{file} is damaged: a feature or a label is missing.")
    y = y.astype(np.int64)
    rows = [
        (np.flatnonzero((number == p) & (split == "train")), np.flatnonzero((number == p) & (split == "test")))
        for p in range(1, N_PARTITIONS + 1)
    ]
    if len({(train.size, test.size) for train, test in rows}) > 1 or sum(map(len, map(np.concatenate, rows))) != y.size:
        raise DatasetDamagedError(f"{file} is damaged: it does not hold {N_PARTITIONS} partitions of one size.")
    return ((X[train], y[train], X[test], y[test]) for train, test in rows)


@dataclass(frozen=True, eq=False)
class Words:
    """Words as sequences of letters.

    Attributes
    ----------
    X : list of ndarray of shape (T, 128), float64
        Pixels of each letter, 16 rows of 8, 0 or 1.
    y : list of ndarray of shape (T,), str
        The letters, a to z. The first letter of each word, a capital, was left out by those who made the set.
    fold : ndarray of shape (n_words,), int64
        0..9.
    description : str
        What the words are.
    source : str
        The file it was read from.
    """

    X: list[NDArray[np.float64]] = field(repr=False)
    y: list[NDArray[np.str_]] = field(repr=False)
    fold: NDArray[np.int64] = field(repr=False)
    description: str
    source: str


def load_ocr(data_dir: str | os.PathLike[str] | None = None) -> Words:
    """Load the handwritten words of Kassel, as Taskar, Guestrin and Koller prepared them: 6877 words in ten folds.

    Parameters
    ----------
    data_dir : path or None, default=None
        A directory with ``ocr/letter.data``, plain or gzipped; found as in :func:`load`, but not downloaded.
    """
    path = locate_offline("ocr", "ocr/letter.data", data_dir)
    # id, letter, id of the next letter of the word or -1, word, position, fold, pixels
    rows = read_rows(path, lambda stream: [line.split() for line in stream], "ascii")
    try:
        if any(len(row) != 6 + _N_PIXELS for row in rows):
            raise ValueError(f"a row does not have {6 + _N_PIXELS} columns")
        pixels = np.array([row[6:] for row in rows], dtype=np.float64)
        letters = np.array([row[1] for row in rows])
        ends = np.flatnonzero(np.array([row[2] for row in rows]) == "-1") + 1
        fold = np.array([int(rows[end - 1][5]) for end in ends], dtype=np.int64)
    except ValueError as error:
        raise DatasetDamagedError(f"{path} is damaged: {error}.") from error
    if (len(rows), ends.size) != _LETTERS_AND_WORDS or ends[-1] != len(rows):
        raise DatasetDamagedError(
            f"{path} does not hold the data set 'ocr': it has {len(rows)} letters in {ends.size} words, "
            "not {} in {}.".format(*_LETTERS_AND_WORDS)
        )
    what = "Handwritten words (Kassel; Taskar, Guestrin and Koller): letters of 6877 words, 16 x 8 pixels."
    return Words(np.split(pixels, ends[:-1]), np.split(letters, ends[:-1]), fold, what, str(path))


@dataclass(frozen=True, eq=False)
class Ratings:
    """Answers of several raters.

    Attributes
    ----------
    name
        As in :class:`Dataset`.
    item, rater : int64 array of shape (n,)
        Of each answer.
    label : array of shape (n,)
        The answers: letters G, P, R, X, or numbers from -100 to 100.
    true_item, true_label : array
        Items with a known label, and these labels.
    """

    name: str
    item: NDArray[np.int64] = field(repr=False)
    rater: NDArray[np.int64] = field(repr=False)
    label: NDArray[Any] = field(repr=False)
    true_item: NDArray[np.int64] = field(repr=False)
    true_label: NDArray[Any] = field(repr=False)


def load_ratings(name: str, data_dir: str | os.PathLike[str] | None = None) -> Ratings:
    """Load answers of several raters: adult content of web sites, or emotions in headlines.

    Parameters
    ----------
    name : {"adult-content", "emotion"}
        92,721 ratings G < P < R < X of 11,040 web sites by 825 raters, with 333 known labels (Ipeirotis); or 7,000
        numbers from -100 to 100 for 700 questions by 38 raters, with the experts' numbers (Snow et al. 2008).
    data_dir : path or None, default=None
        A directory with ``raters/adult_content.csv`` and ``raters/adult_content_truth.csv``, or the same of
        ``emotion``, plain or gzipped, with the columns item, rater and label; found as in :func:`load`, but not
        downloaded.
    """
    one_of("load_ratings", "name", name, RATING_NAMES)
    file, text, n_answers, n_known = _RATINGS[name]
    answers = read_offline(name, f"raters/{file}.csv", text, data_dir)
    truth = read_offline(name, f"raters/{file}_truth.csv", text, data_dir)
    sizes = tuple(table["item"].size if {"item", "label"} <= set(table) else 0 for table in (answers, truth))
    if sizes != (n_answers, n_known) or "rater" not in answers:
        raise DatasetDamagedError(
            f"raters/{file}.csv does not hold the data set {name!r}: expected the columns item, rater and label, "
            f"{n_answers} answers and {n_known} known labels, found {sizes[0]} and {sizes[1]}."
        )
    numbers = (answers["item"], answers["rater"], truth["item"])
    if not all(np.isfinite(column).all() for column in numbers):
        raise DatasetDamagedError(f"raters/{file}.csv is damaged: an item or a rater is missing.")
    item, rater, true_item = (column.astype(np.int64) for column in numbers)
    return Ratings(name, item, rater, answers["label"], true_item, truth["label"])
