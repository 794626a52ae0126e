"""`rankwise fit` from a file, all of it: encoding, labels, progressive loss, learning, the model file."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset

from benchmarks._timing import Result, best_of
from benchmarks.files import ONE_MILLION, _written
from rankwise.cli.commands.fit import fit


def fit_command() -> Iterator[Result]:
    rate = 1.5e6
    with tempfile.TemporaryDirectory() as folder:
        path = _written(Path(folder) / "rows.parquet", ONE_MILLION)
        model = Path(folder) / "model.rankwise"

        def ours() -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                fit([path], model, lower="lower", upper="upper", classes="1..10", estimator="PRIL")

        def scan() -> None:
            for _ in pyarrow.dataset.dataset(path).to_batches(use_threads=False):
                pass

        our_seconds, their_seconds = best_of(ours, scan, repeats=7)
    what = f"rankwise fit from Parquet, {ONE_MILLION / our_seconds / 1e6:.2f} M rows/s, one thread"
    limit = max(their_seconds / 0.6, ONE_MILLION / rate)  # 60 % of the scan's rate or 1.5 M rows/s, whichever is lower
    yield Result.at_most(f"{what}, vs pyarrow's scan", our_seconds, their_seconds, limit / their_seconds)


ALL = (fit_command,)
