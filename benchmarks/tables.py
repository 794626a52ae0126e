"""Bent numbers of tables against numbers as they are, and the time that explanations take."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks._timing import Result, seconds
from rankwise import SVOR, TableEncoder, TableModel, explain
from rankwise.datasets import cut_equal_frequency, load

SETS = {"abalone": 5, "california": 8, "winequality_white": None, "boston": 8}
SIZES = (150, 600, 2400)  # rows to learn from


def bending() -> Iterator[Result]:
    """``numbers="auto"`` is at most 2 % worse than linear ones; mean absolute errors over three draws of rows."""
    for name, n_classes in SETS.items():
        found = load(name)
        y = np.asarray(found.y, dtype=float)
        y = np.unique(y, return_inverse=True)[1] if n_classes is None else np.asarray(cut_equal_frequency(y, n_classes))
        X = np.asarray(found.X, dtype=float)
        for n in (size for size in SIZES if 1.3 * size < len(y)):
            errors = {numbers: float(np.mean([_error(numbers, X, y, n, seed) for seed in range(3)])) for numbers in
                      ("linear", "auto")}  # fmt: skip
            ratio = errors["auto"] / errors["linear"]
            texts = f"{errors['auto']:.3f}", f"{errors['linear']:.3f}"
            yield Result(f"MAE, {name}, {n} rows, numbers='auto'", *texts, ratio, "<= 1.02 x", ratio <= 1.02)


def _error(numbers: str, X: np.ndarray, y: np.ndarray, n: int, seed: int) -> float:
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n], order[n : n + 3000]
    model = TableModel(SVOR(), TableEncoder(numbers=numbers)).fit(X[train], y[train])
    return float(np.abs(model.predict(X[test]) - y[test]).mean())


def explaining() -> Iterator[Result]:
    """Contributions of 10,000 rows of a table with 20 columns: under a second of CPU, exact to 1e-9."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 20))
    model = TableModel(SVOR(), TableEncoder(numbers="spline")).fit(X, np.digitize(X[:, 0] ** 2 + X[:, 1], [0.5, 1.5]))
    took = []
    for _ in range(3):
        start = time.process_time()
        found = explain(model, X)
        took.append(time.process_time() - start)
    error = float(np.abs(found.base + found.values.sum(axis=1) - model.project(X)).max())
    yield Result("explain, 10,000 x 20", seconds(min(took)), "1 s", min(took), "<= 1 x", min(took) <= 1.0)
    yield Result("explain, error of the sum", f"{error:.1e}", "1e-9", error / 1e-9, "<= 1 x", error <= 1e-9)


ALL = (bending, explaining)
