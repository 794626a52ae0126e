"""From partitions to blocks of encoded rows: checked where they are, described to the client, encoded, kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.delayed import delayed
from dask.sizeof import sizeof
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise.dask._blocks import Blocks, RowBlock
from rankwise.dask._parts import Engine, in_parts, naming_partition
from rankwise.labels import check_weights
from rankwise.solvers.design import Design
from rankwise.solvers.row_sums import RowsHere, exponent_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Loaded:
    """A partition with checked features and weights, and labels as they came."""

    design: Design
    names: NDArray[Any] | None
    y: Any
    weight: Floats

    def __sizeof__(self) -> int:  # by this Dask decides what to spill and what to move
        return int(self.design.nbytes + sizeof(self.y) + self.weight.nbytes)


class Partitions:
    """The partitions with rows, kept by the workers; some may be empty, as filters leave them.

    Parameters
    ----------
    model : estimator
        Plain estimator that checks the features.
    X, y, sample_weight : partitioned data
        As in ``fit``.
    describe : callable
        ``describe(loaded, *arguments)`` is what the client must know of a partition.

    Attributes
    ----------
    features : dict
        Number of features and their names, by the number of the partition.
    described : dict
        What ``describe`` returned.
    largest_weight : float
        Of any row; blocks count weights in its power of two, so that their sum cannot overflow.
    """

    def __init__(
        self, model: Any, X: Any, y: Any, sample_weight: Any, describe: Callable[..., Any], *arguments: Any
    ) -> None:
        self.engine = Engine()
        load, tell = delayed(_load, pure=False), delayed(_describe, pure=False)
        loaded = self.engine.kept([load(model, p, *part) for p, part in enumerate(in_parts(X, y, sample_weight))])
        told = self.engine.computed([tell(p, part, describe, arguments) for p, part in enumerate(loaded)])
        full = [p for p, part in enumerate(told) if part is not None]
        if not full:
            raise ValueError("every partition is empty: there is nothing to learn from.")
        self._loaded = {p: loaded[p] for p in full}
        self.features = {p: told[p][0] for p in full}
        self.described = {p: told[p][1] for p in full}
        self.largest_weight = max(told[p][2] for p in full)

    def encoded(self, encode: Callable[..., RowsHere], *arguments: Any) -> Blocks:
        """Blocks with the rows that ``encode(loaded, *arguments)`` makes of labels and weights."""
        task, exponent = delayed(_encode, pure=False), exponent_of([self.largest_weight])
        blocks = self.engine.kept([task(p, part, exponent, encode, arguments) for p, part in self._loaded.items()])
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
        return Loaded(design, getattr(model, "feature_names_in_", None), y, weight)


def _describe(
    number: int, loaded: Loaded | None, describe: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[Any, Any, float] | None:
    if loaded is None:
        return None
    with naming_partition(number):
        features = loaded.design.n_features, loaded.names
        return features, describe(loaded, *arguments), float(loaded.weight.max())


def _encode(
    number: int, loaded: Loaded, exponent: int, encode: Callable[..., RowsHere], arguments: tuple[Any, ...]
) -> RowBlock:
    with naming_partition(number):
        loaded = replace(loaded, weight=np.ldexp(loaded.weight, -exponent))
        return RowBlock(loaded.design, encode(loaded, *arguments))
