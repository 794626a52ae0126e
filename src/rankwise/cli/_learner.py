"""Learning from files of any size in constant memory, with checkpoints that lose nothing.

Rows are learnt in the order of the files, epoch after epoch. A model does not depend on how rows are cut into batches.
A checkpoint holds the model, the place reached and the sums of the running loss: a run that was killed and started
again ends in the same model, to the bit.
"""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import typer

from rankwise.cli._exit import TERMINATING
from rankwise.cli._labelled_files import LabelledFiles, Rows
from rankwise.cli._learnt_rows import LearntRows
from rankwise.cli._print import stream_bar
from rankwise.evaluation.quality_sums import RunningLoss
from rankwise.features import RowError, TableEncoder
from rankwise.io import Batch
from rankwise.io.label_columns import BatchLabels
from rankwise.io.row_batch import forget
from rankwise.persistence import load, read_notes, save
from rankwise.table_model import TableModel

HEAD_ROWS = 50_000  # rows from which scales and categories are learnt


class Stopped(Exception):  # noqa: N818 - not an error
    """A signal of this number, such as Ctrl-C, ended the run, after the checkpoint was saved if there is one."""


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often to save an unfinished model."""

    path: Path
    every: int  # rows between two checkpoints
    run: Mapping[str, Any]  # all that the result depends on: a checkpoint of another run is refused

    def save(self, model: TableModel, state: Mapping[str, Any]) -> None:
        save(model, self.path, notes={"run": dict(self.run), "state": dict(state)})

    def restore(self) -> tuple[TableModel, dict[str, Any]] | None:
        """Model and state of the run so far, or None if it has not begun."""
        if not self.path.exists():
            return None
        notes = read_notes(self.path)
        model = load(self.path) if "state" in notes else None
        if not isinstance(model, TableModel):
            raise typer.BadParameter(f"--checkpoint {self.path} is a model, but no checkpoint. Give another file.")
        for what, here in self.run.items():
            there = notes["run"].get(what)
            if there == here:
                continue
            if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):  # name one file only
                there, here = next((a, b) for a, b in zip(there, here, strict=True) if a != b)
            raise typer.BadParameter(
                f"--checkpoint {self.path} belongs to another run: {what} was {there!r} there and is {here!r} here. "
                f"Give the same data and options, or remove it."
            )
        return model, notes["state"]


def digest_of(path: Path) -> str:
    """Digest of a file: name and size do not show whether data were changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


FirstPass = Iterator[tuple[Batch, Rows]]


def begin(source: LabelledFiles, template: Any, encoder: TableEncoder | str | None) -> tuple[TableModel, FirstPass]:
    """Model for a stream, with an encoder fitted to the first rows, and the pass that begins with these."""
    model = TableModel(template.set_params(classes=source.order.values.tolist()), encoder)
    if source.is_svmlight:
        return model.fit_encoder(None), source.batches()
    first: list[BatchLabels] = []
    rows: list[Rows] = []
    labels = source.labels_read()
    for each in labels:
        first.append(each)
        rows.append(source.unlabelled(each))
        if sum(map(len, rows)) >= HEAD_ROWS:
            break
    head = source.joined(rows)
    head = head.take(np.arange(min(len(head), HEAD_ROWS)))
    with head.named():
        if source.skips and isinstance(encoder, TableEncoder):
            head = head.without(encoder.problems(head.X), forget)
        model.fit_encoder(head.X)
    return model, map(source.good_rows, chain(first, labels))


@dataclass
class Learner:
    """A model that learns from files, row by row."""

    model: TableModel  # its encoder is fitted
    source: LabelledFiles
    epochs: int = 1
    checkpoint: Checkpoint | None = None
    first: FirstPass | None = None  # the first pass, if it has begun
    learnt: LearntRows | None = None  # digests of the rows, if they are wanted

    def __post_init__(self) -> None:
        self.epoch = 0
        self.row = 0  # rows of the files that are done in this epoch
        self.n_learnt = 0  # good rows, over all epochs
        self.loss = RunningLoss(self.source.order)  # of the predictions made before learning

    def restore(self, state: Mapping[str, Any]) -> None:
        self.epoch, self.row, self.n_learnt = state["epoch"], state["row"], state["learnt"]
        self.loss.restore(state["loss"])
        if self.learnt is not None:
            self.learnt.restore(state["digests"])
        self.source.quarantine.open(state["skipped"])

    def run(self) -> None:
        """Learn until the last row of the last epoch, or until a signal."""
        saved, n_bytes = self.n_learnt, self.source.n_bytes
        with stream_bar("learning", n_bytes * self.epochs) as show, _interrupts() as interrupted:
            while self.epoch < self.epochs:
                batches, self.first = self.first, None
                if batches is None:  # bad rows count in the first epoch only
                    batches = self.source.batches(self.row, counts=self.epoch == 0)
                for batch, rows in batches:
                    self._learn(batch, rows)
                    show(self.epoch * n_bytes + batch.bytes_read, self.n_learnt, self.loss.mae)
                    if interrupted:
                        if self.checkpoint is not None:
                            self._save(self.checkpoint)
                        raise Stopped(interrupted[0])
                    if self.checkpoint is not None and self.n_learnt - saved >= self.checkpoint.every:
                        self._save(self.checkpoint)
                        saved = self.n_learnt
                self.epoch, self.row = self.epoch + 1, 0
        self.source.require_rows(self.n_learnt)

    def _learn(self, batch: Batch, rows: Rows) -> None:
        with rows.named():
            try:
                self._learn_rows(rows)
            except RowError:
                if not self.source.skips or self.model.encoder_ is None:
                    raise
                problems = self.model.encoder_.problems(rows.X)
                rows = rows.without(problems, self.source.quarantine if self.epoch == 0 else forget)
                with rows.named():
                    self._learn_rows(rows)
        self.row = batch.end
        if len(batch):
            self.source.quarantine.passed(batch.file, batch.row_number(len(batch) - 1))

    def _learn_rows(self, rows: Rows) -> None:
        if not len(rows):
            return
        if self.epoch == 0:  # new rows give an honest test
            predicted = self.model.progressive_predict(rows.X, rows.y, rows.weight)
            self.loss.add(rows.y, predicted, rows.weight)
            if self.learnt is not None:
                self.learnt.add(rows.X)
        else:
            self.model.partial_fit(rows.X, rows.y, sample_weight=rows.weight)
        self.n_learnt += len(rows)

    def _save(self, checkpoint: Checkpoint) -> None:
        sums: dict[str, Any] = {"skipped": self.source.quarantine.state(), "loss": self.loss.state()}
        if self.learnt is not None:
            sums["digests"] = self.learnt.state()
        checkpoint.save(self.model, {"epoch": self.epoch, "row": self.row, "learnt": self.n_learnt, **sums})


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """List that gets the number of the first Ctrl-C or SIGTERM; the second one interrupts as usual.

    An interrupt in the middle of a batch would leave the model inconsistent with its place in the files.
    """
    seen: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, *TERMINATING):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, note)
    except ValueError:  # not the main thread, which alone gets signals
        pass
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
