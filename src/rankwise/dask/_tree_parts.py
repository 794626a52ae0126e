"""Partitions as trees take them: categories numbered alike everywhere, rows shared out to workers, a sample for bins.

Each partition is read where it is, and tells the kind of every column and its categories. The client merges these, as
one machine would find them if it saw all rows, and every partition renumbers its categories accordingly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._types import Floats
from rankwise.dask._loading import Loaded, PartitionClasses, classes_in
from rankwise.dask.parts import naming_partition
from rankwise.features.date_texts import ORDER_NOTES
from rankwise.labels import ClassOrder, Labels
from rankwise.trees.label_reading import of_classes
from rankwise.trees.tree_columns import RawColumn, RawColumns


@dataclass(frozen=True, eq=False)
class PartitionColumns:
    """What a partition tells: its classes, columns of a table or categories by place, and which columns have values."""

    classes: PartitionClasses | None
    raw: RawColumns | None
    values: dict[str, Floats]
    has_values: NDArray[np.bool_]


def describe(loaded: Loaded, declared: bool) -> PartitionColumns:
    """What the client must know; classes, if they were not declared."""
    raw, values = loaded.reader._raw, loaded.reader._values
    has_values = np.empty(0, dtype=bool) if raw is None else ~np.isnan(loaded.design.rows).all(axis=0)
    return PartitionColumns(None if declared else classes_in(loaded.y), raw, values, has_values)


def merged_columns(partitions: Mapping[int, PartitionColumns]) -> tuple[RawColumns | None, dict[str, Floats]]:
    """Columns of all partitions: of the same kinds, with the categories of all."""
    first, one = next(iter(partitions.items()))
    for p, other in partitions.items():
        if (other.raw is None) != (one.raw is None):
            with_table, without = (first, p) if other.raw is None else (p, first)
            raise ValueError(
                f"partition {with_table} has columns that are no numbers, partition {without} has numbers alone: all "
                f"must have columns of the same types."
            )
    if one.raw is not None:
        columns = [_merged_column(j, partitions) for j in range(len(one.raw.columns))]
        return RawColumns(columns), {}
    joined = {key: np.concatenate([other.values[key] for other in partitions.values()]) for key in one.values}
    return None, {key: np.unique(values) for key, values in joined.items()}


def _merged_column(j: int, partitions: Mapping[int, PartitionColumns]) -> RawColumn:
    columns = {p: other.raw.columns[j] for p, other in partitions.items() if other.raw is not None}
    # A column without values is of any kind.
    telling = [p for p in columns if partitions[p].has_values[j]] or list(columns)
    first, column = telling[0], columns[telling[0]]
    for p in telling:
        if columns[p].form != column.form:
            raise ValueError(
                f"column {column.name!r}: partition {p} holds {_named(columns[p])}, partition {first} holds "
                f"{_named(column)}. All partitions must hold the same: give the column a type, or name it in "
                f"categorical_features if it holds categories."
            )
    if column.kind == "ordered":
        for p in telling:
            if columns[p].values != column.values:
                raise ValueError(
                    f"column {column.name!r}: the levels are {', '.join(columns[p].values)} in partition {p} and "
                    f"{', '.join(column.values)} in partition {first}. All partitions must have the same, in one order."
                )
        return column
    known = (other.values for other in columns.values() if other.kind == column.kind)
    return replace(column, values=sorted(set().union(*known)))


def _named(column: RawColumn) -> str:
    words = {"number": "numbers", "date": "dates", "duration": "durations", "category": "categories",
             "ordered": "ordered categories"}[column.kind]  # fmt: skip
    how = " with a decimal comma" if column.decimal == "," else f" {ORDER_NOTES.get(column.order, '')}".rstrip()
    return words + how


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Rows that have a label and a weight: features as LightGBM takes them."""

    matrix: Any
    labels: Labels
    weight: Floats

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def nbytes(self) -> int:
        """Memory of the rows."""
        matrix = self.matrix.data if sparse.issparse(self.matrix) else self.matrix
        return int(matrix.nbytes + self.labels.lower.nbytes * 2 + self.weight.nbytes)

    def __sizeof__(self) -> int:  # Dask decides by it what to spill and what to move
        return self.nbytes

    def size(self) -> tuple[int, int]:
        """Rows and bytes."""
        return len(self), self.nbytes

    def drawn(self, count: int, seed: tuple[int, int]) -> Any:
        """Features of some rows, drawn without replacement."""
        if count == len(self):
            return self.matrix
        return self.matrix[np.sort(np.random.default_rng(seed).choice(len(self), count, replace=False))]

    @classmethod
    def joined(cls, blocks: Sequence[TreeRows]) -> TreeRows:
        """Rows of several blocks."""
        if len(blocks) == 1:
            return blocks[0]
        labels = Labels.concatenate([rows.labels for rows in blocks])
        return cls(stacked([rows.matrix for rows in blocks]), labels, np.concatenate([rows.weight for rows in blocks]))


def stacked(matrices: Sequence[Any]) -> Any:
    """Rows of several matrices; sparse, if one of them is."""
    if any(map(sparse.issparse, matrices)):
        return sparse.vstack(list(map(sparse.csr_matrix, matrices)), format="csr")
    return np.concatenate(matrices)


def encoded(number: int, loaded: Loaded, model: Any, order: ClassOrder) -> TreeRows:
    """Rows of a partition in the numbers of the model, which knows the columns of all partitions."""
    with naming_partition(number):
        rows = loaded.design.rows
        labels = model._labels(loaded.y, order, rows)
    renumbered = {j: lookup for j, lookup in _lookups(loaded.reader, model) if not isinstance(rows, tuple)}
    if renumbered:
        rows = rows.copy()
        for j, lookup in renumbered.items():
            known = ~np.isnan(rows[:, j])
            rows[known, j] = lookup[rows[known, j].astype(np.intp)]
    keep = (loaded.weight > 0.0) & ~labels.is_missing
    if isinstance(model.class_weight, Mapping):
        keep &= labels.admissible() @ of_classes(model.class_weight, np.empty(0), labels.classes) > 0.0
    matrix = model._matrix(rows)
    return TreeRows(matrix if keep.all() else matrix[keep], labels.take(keep), loaded.weight[keep])


def _lookups(here: Any, model: Any) -> list[tuple[int, Floats]]:
    """Of every column of categories, the model's number of each category here; NaN if the model does not know it."""
    if model._raw is None:
        pairs = [(int(key), here._values[key].tolist(), known.tolist()) for key, known in model._values.items()]
    else:
        pairs = [(j, here._raw.columns[j].values, model._raw.columns[j].values) for j in model._raw.categorical]
    lookups = []
    for j, values, known in pairs:
        place = {value: float(i) for i, value in enumerate(known)}
        lookups.append((j, np.array([place.get(value, np.nan) for value in values])))
    return lookups


def groups_of(lengths: Sequence[int], most: int, least: int) -> list[list[int]]:
    """Consecutive blocks in at most ``most`` groups of about equal length, none with fewer than ``least`` rows.

    >>> groups_of([10, 500, 500, 10, 900], 2, 100)
    [[0, 1, 2], [3, 4]]
    >>> groups_of([10, 500], 2, 100)
    [[0, 1]]
    """
    groups: list[list[int]] = [[]]
    done = here = 0
    for number, length in enumerate(lengths):
        if here >= least and len(groups) < most and done + length / 2 >= len(groups) * sum(lengths) / most:
            groups.append([])
            here = 0
        groups[-1].append(number)
        done, here = done + length, here + length
    if here < least and len(groups) > 1:
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups
