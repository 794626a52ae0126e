"""Answers of several raters, with the truth for some items."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets._check import one_of
from rankwise.datasets._find import DatasetDamagedError, read_offline

#: File names, columns that hold text, and numbers of answers and of items with a known label.
_SETS = {"adult-content": ("adult_content", ("label",), 92721, 333), "emotion": ("emotion", (), 7000, 700)}

RATING_NAMES = tuple(_SETS)
"""The sets of :func:`load_ratings`."""


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
        What was answered: letters G, P, R, X, or numbers from -100 to 100.
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

    The data directory is found as in :func:`load`; OpenML is not asked.

    Parameters
    ----------
    name : {"adult-content", "emotion"}
        92,721 ratings G < P < R < X of 11,040 web sites by 825 raters, with 333 known labels (Ipeirotis); or 7,000
        numbers from -100 to 100 for 700 questions by 38 raters, with the experts' numbers (Snow et al. 2008).
    data_dir : path or None, default=None
        A directory that holds ``raters/adult_content.csv`` and ``raters/adult_content_truth.csv``, or the same of
        ``emotion``, plain or gzipped, with the columns item, rater and label.
    """
    one_of("load_ratings", "name", name, RATING_NAMES)
    file, text, n_answers, n_known = _SETS[name]
    answers = read_offline(name, f"raters/{file}.csv", text, data_dir)
    truth = read_offline(name, f"raters/{file}_truth.csv", text, data_dir)
    found = tuple(table["item"].size if {"item", "label"} <= set(table) else 0 for table in (answers, truth))
    if found != (n_answers, n_known) or "rater" not in answers:
        raise DatasetDamagedError(
            f"raters/{file}.csv does not hold the data set {name!r}: expected the columns item, rater and label, "
            f"{n_answers} answers and {n_known} known labels, found {found[0]} and {found[1]}."
        )
    numbers = (answers["item"], answers["rater"], truth["item"])
    item, rater, true_item = (column.astype(np.int64) for column in numbers)
    return Ratings(name, item, rater, answers["label"], true_item, truth["label"])
