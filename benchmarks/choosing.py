"""PathCV beside single fits and GridSearchCV; the time of ``rankwise fit`` on a table of mixed columns."""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks._timing import Result, seconds
from rankwise import MORD, SVOR, VILMA, CumulativeLink, PathCV, PiecewiseMORD
from rankwise.datasets import cut_equal_frequency, make_ordinal
from rankwise.labels import as_labels

ALPHAS, FOLDS = np.logspace(1, -5, 10), 5


def path_cv() -> Iterator[Result]:
    """Processor's time, one thread, of 10 strengths in 5 folds and a last fit."""
    X, y = make_ordinal(5000, 20, 5, noise=0.5, random_state=0)
    labels = as_labels(y)
    for estimator in (SVOR(), VILMA(), CumulativeLink(), MORD(), PiecewiseMORD()):
        name = type(estimator).__name__
        path = PathCV(estimator, ALPHAS, cv=FOLDS)
        grid = GridSearchCV(estimator, {"alpha": ALPHAS.tolist()}, cv=FOLDS)
        times = []
        for model, said in ((path, y), (estimator, y), (grid, labels)) * 4:
            start = time.process_time()
            model.fit(X, said)
            times.append(time.process_time() - start)
        ours, single, theirs = (min(times[k + 3 :: 3]) for k in range(3))  # the first round warms up
        fits = FOLDS * len(ALPHAS) + 1
        yield Result.at_most(f"PathCV({name}), 5k x 20, vs {fits} single fits", ours, fits * single, 2)
        yield Result.faster("  vs GridSearchCV over the same grid", ours, theirs, 5)


def fit_by_choice() -> Iterator[Result]:
    """10,000 rows with 20 columns, numbers, categories and missing values; with the start of Python."""
    rng = np.random.default_rng(0)
    n = 10_000
    numbers = rng.normal(size=(n, 14))
    groups = rng.integers(0, 6, size=(n, 6))
    score = numbers[:, 0] + np.sin(2 * numbers[:, 1]) + 0.3 * groups[:, 0] + 0.5 * rng.normal(size=n)
    stars = cut_equal_frequency(score, 5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([*(f"x{j}" for j in range(14)), *(f"g{j}" for j in range(6)), "stars"])
            for row, kinds, star in zip(numbers, groups, stars, strict=True):
                cells = ["" if rng.random() < 0.02 else f"{value:.4f}" for value in row]
                writer.writerow([*cells, *(f"kind {k}" for k in kinds), star if rng.random() < 0.7 else f"{star}-5"])
        command = [sys.executable, "-m", "rankwise", "fit", str(path), "--label", "stars", "-o", str(path) + ".rw"]
        subprocess.run(command, check=True, capture_output=True)
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        taken = time.perf_counter() - start
    yield Result("rankwise fit, 10k rows x 20 mixed columns", seconds(taken), "30 s", taken / 30, "<= 1 x", taken <= 30)


ALL = (path_cv, fit_by_choice)
