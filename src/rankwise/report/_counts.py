"""Counts over a stream of rows, in tables whose size depends only on the number of classes.

The result does not depend on how the rows are cut into batches, except for the last digits of fractional sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import refuse_many_classes
from rankwise._types import Floats
from rankwise.base.model import Predictions
from rankwise.evaluation.confusion import Counting, confusion_of
from rankwise.evaluation.quality_sums import ProbabilitySums, SetSums
from rankwise.labels import Labels

Codes = NDArray[np.integer[Any]]

KINDS = ("exact", "interval", "candidates", "missing")
_MOST_CLASSES = 2_000  # nine numbers are kept for every pair of them
COUNTINGS: tuple[Counting, ...] = ("nearest", "shared", "farthest")


class Cells:
    """Sums of rows by cell: their number, weights and squared weights."""

    def __init__(self, n_cells: int) -> None:
        self.rows = np.zeros(n_cells, dtype=np.int64)
        self.weight = np.zeros(n_cells)
        self.squares = np.zeros(n_cells)

    def add(self, cells: Codes, weight: Floats) -> None:
        n = self.rows.size
        self.rows += np.bincount(cells, minlength=n)
        self.weight += np.bincount(cells, weight, n)
        self.squares += np.bincount(cells, weight * weight, n)


class Curve:
    """Mean loss along the rows, in blocks of equal size; when there are too many blocks, neighbours are merged."""

    def __init__(self, n_blocks: int = 400) -> None:
        self.size = 1  # rows in a block
        self.n_rows = 0
        self.lost = np.zeros(2 * n_blocks)
        self.weight = np.zeros(2 * n_blocks)

    def add(self, losses: Floats, weight: Floats) -> None:
        while self.n_rows + losses.size > self.size * self.lost.size:
            self._merge_neighbours()
        blocks = (self.n_rows + np.arange(losses.size)) // self.size
        self.lost += np.bincount(blocks, losses * weight, self.lost.size)
        self.weight += np.bincount(blocks, weight, self.lost.size)
        self.n_rows += losses.size

    def _merge_neighbours(self) -> None:
        half = self.lost.size // 2
        for sums in (self.lost, self.weight):
            sums[:half] = sums[::2] + sums[1::2]
            sums[half:] = 0.0
        self.size *= 2

    @property
    def _n_blocks(self) -> int:
        return -(-self.n_rows // self.size)

    def rows_in_stretch(self, most: int) -> int:
        """Rows in each of at most so many equal stretches; the last one may be shorter."""
        return self.size * -(-self._n_blocks // most)

    def points(self, most: int) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Rows seen at the end of each of at most so many stretches, the stretch's mean loss, and the mean so far."""
        used, step = self._n_blocks, self.rows_in_stretch(most) // self.size
        starts = np.arange(0, used, step)
        lost, weight = (np.add.reduceat(sums[:used], starts) for sums in (self.lost, self.weight))
        ends = np.minimum((starts + step) * self.size, self.n_rows)
        return ends, lost / weight, np.cumsum(lost) / np.cumsum(weight)


class Sample:
    """A random sample, without replacement, of a stream of unknown length: the rows with the smallest random keys."""

    def __init__(self, size: int, random_state: int) -> None:
        self.size = size
        self._generator = np.random.default_rng(random_state)
        self._columns: dict[str, NDArray[Any]] = {}

    def add(self, n: int, columns: Callable[[NDArray[np.intp]], dict[str, NDArray[Any]]]) -> None:
        """Offer n rows; ``columns`` returns the named columns of the candidates among them."""
        keys = self._generator.random(n)
        chosen = np.arange(n)
        if len(self) == self.size:  # excludes most rows of a long stream
            chosen = np.flatnonzero(keys < self._columns["key"].max())
        offered = {"key": keys[chosen], **columns(chosen)}
        if self._columns:
            offered = {name: np.concatenate([self._columns[name], column]) for name, column in offered.items()}
        if len(offered["key"]) > self.size:
            kept = np.sort(np.argpartition(offered["key"], self.size)[: self.size])  # rows stay in order
            offered = {name: column[kept] for name, column in offered.items()}
        self._columns = offered

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __len__(self) -> int:
        return len(self._columns["key"]) if self._columns else 0


@dataclass(frozen=True)
class JudgedRows:
    """Labels, predicted codes, weights (None: ones) and all that the model said."""

    labels: Labels
    codes: Codes
    weight: Floats | None
    said: Predictions


class RowCounts:
    """Counts over all rows.

    Rows of weight zero count in ``n_rows`` only. ``kinds`` counts all labels; everything else leaves out rows without
    a label, as :mod:`rankwise.metrics` does.
    """

    def __init__(self, n_classes: int, sample_size: int, random_state: int) -> None:
        refuse_many_classes("a report", n_classes, _MOST_CLASSES)
        self.n_classes = k = n_classes
        self.n_rows = self.n_weightless = 0
        self.weighted = False
        self.kinds = dict.fromkeys(KINDS, 0)
        self.widths = np.zeros(k, dtype=np.int64)  # of labelled rows
        self.width_weight = np.zeros(k)
        self.losses = Cells(k * k)  # distance to the nearest admissible class, to the farthest one
        self.exact = Cells(k * k)  # true class, predicted class
        self.predicted = Cells(k)
        self.admissible = Cells(k)  # rows predicted as this class that admit it
        self.admits = np.zeros(k, dtype=np.int64)
        self.confusion = {counting: np.zeros((k, k)) for counting in COUNTINGS}
        self.curve = Curve()
        self.sample = Sample(sample_size, random_state)
        self.probabilities = ProbabilitySums()
        self.sets = SetSums()

    def add(self, batch: JudgedRows, *, ordered: bool) -> None:
        labels, codes = batch.labels, batch.codes.astype(np.int64)
        self.n_rows += len(labels)
        if batch.said.probabilities is not None and ordered:
            self.probabilities.add(labels, batch.said.probabilities, batch.weight)
        self.sets.add(labels, batch.said.sets, batch.weight)
        weight = np.ones(len(labels)) if batch.weight is None else batch.weight
        scores = np.zeros(len(labels)) if batch.said.scores is None else batch.said.scores
        self.weighted |= batch.weight is not None
        counted = weight > 0
        if not counted.all():
            self.n_weightless += int((~counted).sum())
            labels, codes, weight, scores = labels.take(counted), codes[counted], weight[counted], scores[counted]
        for kind, count in zip(KINDS, labels.counts(), strict=True):
            self.kinds[kind] += count
        labelled = labels.is_exact | ~labels.is_missing  # a single class is the full interval, and yet known

        def columns(rows: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
            return {"scores": scores[rows], "admissible": labels.take(rows).admissible(), "missing": ~labelled[rows]}

        self.sample.add(len(labels), columns)
        if not labelled.all():
            labels, codes, weight = labels.take(labelled), codes[labelled], weight[labelled]
        self._judge(labels, codes, weight, ordered)

    def _judge(self, labels: Labels, codes: NDArray[np.int64], weight: Floats, ordered: bool) -> None:
        k = self.n_classes
        width = labels.upper - labels.lower
        self.widths += np.bincount(width, minlength=k)
        self.width_weight += np.bincount(width, weight, k)
        near, far = labels.nearest(codes), labels.farthest(codes)
        least, most = np.abs(near - codes), np.abs(far - codes)
        self.losses.add(least * k + most, weight)
        self.predicted.add(codes, weight)
        fits = least == 0
        self.admissible.add(codes[fits], weight[fits])
        exact = labels.is_exact
        self.exact.add(near[exact] * k + codes[exact], weight[exact])
        self.admits += np.bincount(labels.lower[exact], minlength=k)
        partial = labels.take(~exact)
        if len(partial):
            self.admits += partial.admissible().sum(axis=0)
        plain = confusion_of(labels.take(exact), codes[exact], weight[exact], "nearest")
        for counting in COUNTINGS:
            self.confusion[counting] += plain
            if len(partial):
                self.confusion[counting] += confusion_of(partial, codes[~exact], weight[~exact], counting)
        self.curve.add(np.asarray(least if ordered else ~fits, dtype=np.float64), weight)

    @property
    def n_judged(self) -> int:
        """Rows with a label and a weight."""
        return int(self.losses.rows.sum())

    @property
    def has_partial(self) -> bool:
        """Whether some label admits several classes, and not all."""
        return self.kinds["interval"] + self.kinds["candidates"] > 0
