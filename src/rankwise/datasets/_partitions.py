"""The ready-made partitions of Chu and Ghahramani's benchmark of ordinal regression."""

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets._check import one_of
from rankwise.datasets._find import DatasetDamagedError, read_offline

CHU_NAMES = ("diabetes", "pyrimidines", "triazines", "wisconsin", "machine", "autompg", "boston", "stocks", "abalone")
"""The sets of :func:`load_chu_partitions`, from the smallest to the largest."""

N_PARTITIONS = 20

Partition = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]


def load_chu_partitions(name: str, bins: int, data_dir: str | os.PathLike[str] | None = None) -> Iterator[Partition]:
    """Load the 20 partitions of a set of Chu and Ghahramani's benchmark.

    The labels are those of the benchmark, 1..bins; the features are not scaled. Rows are sorted by label: shuffle them
    before learning online. The partitions are not on OpenML; the data directory is found as in :func:`load`.

    Parameters
    ----------
    name : str
        One of ``CHU_NAMES``.
    bins : {5, 10}
        Number of ordered classes.
    data_dir : path or None, default=None
        A directory that holds ``chu_partitions/{name}_{bins}bins.csv``, plain or gzipped.

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
    number, split, y = table.pop("partition"), table.pop("split"), table.pop("y").astype(np.int64)
    X = np.column_stack(list(table.values()))
    rows = [
        (np.flatnonzero((number == p) & (split == "train")), np.flatnonzero((number == p) & (split == "test")))
        for p in range(1, N_PARTITIONS + 1)
    ]
    if len({(train.size, test.size) for train, test in rows}) > 1 or sum(map(len, map(np.concatenate, rows))) != y.size:
        raise DatasetDamagedError(f"{file} is damaged: it does not hold {N_PARTITIONS} partitions of one size.")
    return ((X[train], y[train], X[test], y[test]) for train, test in rows)
