"""Multi-label sets of the Mulan collection."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets._check import one_of
from rankwise.datasets._find import DatasetDamagedError, read_offline

_LABEL = "label:"
#: Rows, features and labels of each set.
_SHAPES = {"emotions": (593, 72, 6), "yeast": (2417, 103, 14), "scene": (2407, 294, 6), "enron": (1702, 1001, 53)}

MULTILABEL_NAMES = tuple(_SHAPES)
"""The sets of :func:`load_multilabel`."""


@dataclass(frozen=True, eq=False)
class MultilabelDataset:
    """A multi-label data set as numeric arrays.

    Attributes
    ----------
    name : str
        Its name.
    X : ndarray of shape (n_samples, n_features), float64
        Features.
    Y : ndarray of shape (n_samples, n_labels), int64
        1 where a label applies, else 0.
    feature_names, label_names : tuple of str
        Names of the columns.
    """

    name: str
    X: NDArray[np.float64] = field(repr=False)
    Y: NDArray[np.int64] = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    label_names: tuple[str, ...] = field(repr=False)


def load_multilabel(name: str, data_dir: str | os.PathLike[str] | None = None) -> MultilabelDataset:
    """Load a multi-label set of the Mulan collection: emotions, yeast, scene or enron.

    The data directory is found as in :func:`load`; OpenML is not asked.

    Parameters
    ----------
    name : str
        One of ``MULTILABEL_NAMES``.
    data_dir : path or None, default=None
        A directory that holds ``multilabel/{name}.csv``, plain or gzipped, whose label columns begin with ``label:``.

    Returns
    -------
    MultilabelDataset
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
