"""From partitions to blocks of encoded rows: checked where they are, described to the client, encoded, kept.

No task sees all labels: each partition tells which classes it holds, and the client merges them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.delayed import delayed
from dask.sizeof import sizeof
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise._types import Floats
from rankwise.dask._blocks import Blocks, RowBlock
from rankwise.dask.parts import TaskEngine, aligned_blocks, naming_partition
from rankwise.labels import ClassOrder, check_weights, declared_order, infer_order
from rankwise.labels.class_order import refuse_continuous
from rankwise.labels.label_values import as_object_array, show, tidy
from rankwise.labels.reading import read
from rankwise.solvers.design import Design
from rankwise.solvers.row_sums import RowsHere, near_one


@dataclass(frozen=True, eq=False)
class Loaded:
    """A partition with checked features and weights, labels as they came, and the estimator that read the features."""

    design: Design
    names: NDArray[Any] | None
    y: Any
    weight: Floats
    reader: Any

    def __sizeof__(self) -> int:  # Dask decides by it what to spill and what to move
        return int(self.design.nbytes + sizeof(self.y) + self.weight.nbytes)


class Partitions:
    """The partitions with rows, kept by the workers; some may be empty, as filters leave them.

    The plain ``model`` checks the features; ``describe(loaded, *arguments)`` is what the client must know of a
    partition. ``features`` has number and names of the features by partition, ``described`` the descriptions. Blocks
    divide weights by the power of two of ``largest_weight``, so that their sum cannot overflow.
    """

    def __init__(
        self, model: Any, X: Any, y: Any, sample_weight: Any, describe: Callable[..., Any], *arguments: Any
    ) -> None:
        self.engine = TaskEngine()
        load, tell = delayed(_load, pure=False), delayed(_describe, pure=False)
        partitions = enumerate(aligned_blocks(X, y, sample_weight))
        loaded = self.engine.kept([load(model, p, *blocks) for p, blocks in partitions])
        facts = self.engine.computed([tell(p, partition, describe, arguments) for p, partition in enumerate(loaded)])
        full = [p for p, of_partition in enumerate(facts) if of_partition is not None]
        if not full:
            raise ValueError("every partition is empty: there is nothing to learn from.")
        self.loaded = {p: loaded[p] for p in full}
        self.features = {p: facts[p][0] for p in full}
        self.described = {p: facts[p][1] for p in full}
        self.largest_weight = max(facts[p][2] for p in full)

    def order(self, classes: Any, present: Iterable[Any]) -> ClassOrder:
        """Order of the classes, as declared or as they are present in the partitions, if any row has a weight."""
        if not self.largest_weight:
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
        return declared_order(classes) if classes is not None else merged_order(list(present), warn=True)

    def encoded(self, encode: Callable[..., RowsHere], *arguments: Any) -> Blocks:
        """Blocks with the rows that ``encode(loaded, *arguments)`` makes of labels and weights."""
        task, top = delayed(_encode, pure=False), self.largest_weight
        blocks = self.engine.kept([task(p, loaded, top, encode, arguments) for p, loaded in self.loaded.items()])
        return Blocks(blocks, next(iter(self.features.values()))[0], self.engine)


def _load(model: Any, number: int, X: Any, y: Any, sample_weight: Any) -> Loaded | None:
    if X.shape[0] == 0:
        return None
    with naming_partition(number):
        model = clone(model)
        rows = model._rows(X, reset=True)
        design = Design(rows, model.n_features_in_)
        weight = check_weights(sample_weight, design.n_rows)
        weight = weight if weight.size else np.ones(design.n_rows)
        return Loaded(design, getattr(model, "feature_names_in_", None), y, weight, model)


def _describe(
    number: int, loaded: Loaded | None, describe: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[Any, Any, float] | None:
    if loaded is None:
        return None
    with naming_partition(number):
        features = loaded.design.n_features, loaded.names
        return features, describe(loaded, *arguments), float(loaded.weight.max())


def _encode(
    number: int, loaded: Loaded, largest: float, encode: Callable[..., RowsHere], arguments: tuple[Any, ...]
) -> RowBlock:
    with naming_partition(number):
        loaded = replace(loaded, weight=near_one(loaded.weight, largest))
        return RowBlock(loaded.design, encode(loaded, *arguments))


@dataclass(frozen=True)
class PartitionClasses:
    """Classes of one partition: the order that its container declares, or the values that occur; and how many rows."""

    declared: NDArray[Any] | None
    present: NDArray[Any]
    n_rows: int


def classes_in(y: Any) -> PartitionClasses:
    """Classes of one partition, from its labels."""
    raw = read(y)
    if raw.order is not None:
        return PartitionClasses(ClassOrder(raw.order).values, np.empty(0), len(raw))
    values = raw.values_present()
    if values.dtype.kind == "f":
        values = values[np.isfinite(values)]
    distinct = np.unique(values) if values.dtype.kind in "iufb" else _distinct(values)
    return PartitionClasses(None, distinct, len(raw))


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    try:
        return as_object_array(dict.fromkeys(values.tolist()))
    except TypeError:  # something unhashable, which is refused when the order is put together
        return values


def merged_order(partitions: list[PartitionClasses], *, warn: bool) -> ClassOrder:
    """The order of all classes, as :func:`rankwise.labels.encode` would find it if it saw the rows of all partitions.

    ``warn``: whether classes without an order, such as strings, sort with a warning.
    """
    declared = [partition.declared for partition in partitions if partition.declared is not None]
    if declared:
        for number, partition in enumerate(partitions):
            if partition.declared is None or partition.declared.tolist() != declared[0].tolist():
                other = "no order" if partition.declared is None else show(partition.declared)
                raise ValueError(
                    f"partition {number}: all partitions must have classes in the same order, {show(declared[0])}. "
                    f"Got {other} instead."
                )
        return ClassOrder(declared[0])
    arrays = [partition.present for partition in partitions if partition.present.size] or [np.empty(0)]
    in_numbers = all(array.dtype.kind in "iufb" for array in arrays)
    values = np.unique(np.concatenate(arrays)) if in_numbers else tidy(as_object_array(np.concatenate(arrays).tolist()))
    if values.dtype.kind == "f":
        refuse_continuous(values, sum(partition.n_rows for partition in partitions))
        values = np.repeat(values, 2)  # checked for all rows above: distinct values alone would look continuous
    return infer_order(values, warn=warn)
