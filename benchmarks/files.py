"""Learning from files as they are read: rates beside pyarrow's own scan, and memory that does not grow with the file.

``python -m benchmarks.files 5e9`` measures the memory for files of five gigabytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from benchmarks._timing import Result, best_of
from rankwise import PRIL
from rankwise.annotation import type2_intervals
from rankwise.datasets import make_ordinal
from rankwise.io import LabelColumns, TableWriter, numeric_matrix, open_table

CLASSES = range(1, 11)
FEATURES = [f"x{j}" for j in range(20)]
LABELS = LabelColumns(lower="lower", upper="upper")
ONE_MILLION = 1_000_000


def fit_from(path: Path, batch_rows: int = 65_536) -> PRIL:
    """Learn from a file of any size and format, batch by batch."""
    model = PRIL(classes=CLASSES)
    memory = np.empty((batch_rows, len(FEATURES)))
    for batch in open_table(path, batch_rows=batch_rows).batches():
        y, _ = LABELS.read(batch)
        model.partial_fit(numeric_matrix(batch, FEATURES, out=memory), y)
    return model


def parquet() -> Iterator[Result]:
    rate = 1.5e6
    with tempfile.TemporaryDirectory() as folder:
        path = _written(Path(folder) / "rows.parquet", ONE_MILLION)

        def scan() -> None:
            for _ in pyarrow.dataset.dataset(path).to_batches(use_threads=False):
                pass

        ours, theirs = best_of(lambda: fit_from(path), scan, repeats=7)
    what = f"PRIL from Parquet, 20 columns and intervals, {ONE_MILLION / ours / 1e6:.2f} M rows/s, one thread"
    limit = max(theirs / 0.6, ONE_MILLION / rate)  # 60 % of the scan's rate or 1.5 M rows/s, whichever is lower
    yield Result.at_most(f"{what}, vs pyarrow's scan", ours, theirs, limit / theirs)


def csv() -> Iterator[Result]:
    n = 200_000
    with tempfile.TemporaryDirectory() as folder:
        path = _written(Path(folder) / "rows.csv", n)

        def scan() -> None:
            for _ in pyarrow.csv.open_csv(path, read_options=pyarrow.csv.ReadOptions(use_threads=False)):
                pass

        ours, theirs = best_of(lambda: fit_from(path), scan, repeats=5)
    rate = n / ours / 1e6
    yield Result.at_most(f"PRIL from CSV, {rate:.2f} M rows/s, one thread, vs pyarrow's scan", ours, theirs, 2)


PEAK_MEMORY = """
import sys
from pathlib import Path
from benchmarks.files import fit_from
fit_from(Path(sys.argv[1]))
status = Path("/proc/self/status").read_text()  # ru_maxrss would count the process that started this one
print(int(status.split("VmHWM:")[1].split()[0]) * 1024)
"""


def memory(n_bytes: float = 3e8) -> Iterator[Result]:
    """Peak memory of a process that learns from a file of about so many bytes."""
    limit = 500e6
    for suffix, bytes_per_row in ((".parquet", 164), (".csv", 397)):
        with tempfile.TemporaryDirectory() as folder:
            path = _written(Path(folder) / f"rows{suffix}", max(ONE_MILLION, int(n_bytes / bytes_per_row)))
            size = path.stat().st_size
            done = subprocess.run(
                [sys.executable, "-c", PEAK_MEMORY, str(path)], capture_output=True, text=True, check=True
            )
        peak = int(done.stdout)
        what = f"peak memory of PRIL from a {suffix[1:]} file of {size / 1e9:.2f} GB"
        yield Result(what, f"{peak / 1e6:.0f} MB", "", peak / 1e6, "< 500 MB", peak < limit)


def _written(path: Path, n_rows: int) -> Path:
    """A file of noisy rows with interval labels: up to a million different rows, repeated as often as needed."""
    X, y = make_ordinal(min(n_rows, ONE_MILLION), len(FEATURES), len(CLASSES), noise=0.5, random_state=0)
    ends = type2_intervals(y)
    columns = {name: X[:, j] for j, name in enumerate(FEATURES)}
    rows = pa.table({**columns, "lower": ends[:, 0], "upper": ends[:, 1]})
    copies = -(-n_rows // ONE_MILLION)
    with TableWriter(path) as writer:
        for _ in range(1 if path.suffix == ".csv" else copies):
            writer.write(rows)
    if path.suffix == ".csv":  # the same bytes again, much faster than the same rows
        body = path.read_bytes().partition(b"\n")[2]
        with path.open("ab") as file:
            for _ in range(copies - 1):
                file.write(body)
    return path


ALL = (parquet, csv, memory)


if __name__ == "__main__":
    for result in memory(float(sys.argv[1])):
        print(result.row())
