"""BoostedThresholds beside LightGBM's own L2 regression with the same trees: time by threads and classes, memory.

One thread is measured by the processor's time, which a busy machine changes little; two by the clock.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import lightgbm
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._timing import Result
from rankwise import BoostedThresholds, CumulativeLink, save
from rankwise.datasets import DatasetNotFoundError, cut_equal_frequency, load

N_ROWS, N_COLUMNS, N_ROUNDS, N_LEAVES = 200_000, 20, 100, 31
#: Small real sets with ordered classes, and numbers that are cut into five of them (0: as they are).
SMALL = (
    ("ESL", 0), ("ERA", 0), ("eucalyptus", 0), ("car", 0), ("winequality_red", 0), ("winequality_white", 0),
    ("boston", 5), ("stock", 5), ("autompg", 5), ("machine_cpu", 5), ("pyrim", 5), ("triazines", 5), ("wisconsin", 5),
)  # fmt: skip
MOST_ROWS = 1000


def _data(n_rows: int = N_ROWS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.normal(size=n_rows)


def _cut(score: np.ndarray, n_classes: int) -> np.ndarray:
    return np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def ours(X: np.ndarray, y: np.ndarray, threads: int) -> None:
    """Our fit, of the same trees."""
    BoostedThresholds(
        max_iter=N_ROUNDS, max_leaf_nodes=N_LEAVES, min_samples_leaf=20, l2_regularization=0.0, early_stopping=False,
        n_jobs=threads,
    ).fit(X, y)  # fmt: skip


def theirs(X: np.ndarray, y: np.ndarray, threads: int) -> None:
    """LightGBM's fit."""
    lightgbm.LGBMRegressor(n_estimators=N_ROUNDS, num_leaves=N_LEAVES, n_jobs=threads, verbosity=-1).fit(X, y)


def _best(clock: Callable[[], float], *actions: Callable[[], None], repeats: int = 3) -> list[float]:
    """Best time of each action by a clock; they take turns."""
    best = [float("inf")] * len(actions)
    for _ in range(repeats):
        for k, action in enumerate(actions):
            start = clock()
            action()
            best[k] = min(best[k], clock() - start)
    return best


def trees() -> Iterator[Result]:
    X, score = _data()
    few, many = _cut(score, 10), _cut(score, 100)
    ours(X[:2000], few[:2000], 1)  # compile
    fits = (lambda: theirs(X, few, 1)), (lambda: ours(X, few, 1)), (lambda: ours(X, many, 1))
    peer, ten, hundred = _best(time.process_time, *fits)
    what = "BoostedThresholds, 200k x 20, 100 rounds, 31 leaves"
    yield Result.at_most(f"{what}, K = 10, one thread, vs LightGBM L2", ten, peer, 1.3)
    yield Result.at_most("  K = 100 vs K = 10", hundred, ten, 1.1)
    peer, ten = _best(time.perf_counter, lambda: theirs(X, few, 2), lambda: ours(X, few, 2))
    yield Result.at_most("  K = 10, two threads, vs LightGBM L2", ten, peer, 1.3)


def trees_predict() -> Iterator[Result]:
    """Scores of rows with missing values and categories, and their contributions, beside LightGBM's own."""
    X, score = _data(3000)
    X[:, 3] = np.random.default_rng(2).integers(0, 60, len(X))
    X[np.random.default_rng(3).random(X.shape) < 0.05] = np.nan
    options = dict(max_iter=300, max_leaf_nodes=31, early_stopping=False, n_jobs=1, categorical_features=[3])
    model = BoostedThresholds(**options).fit(X, _cut(score, 5))
    rows, booster = model._matrix(model._rows(X, reset=False)), model.booster_
    for what, asked, goal, name in (
        ("scores of 3,000 x 20 rows by 300 trees of 31 leaves", "raw_score", 1.0, "scores"),
        ("  contributions of 300 rows", "pred_contrib", 1.3, "contributions"),
    ):
        some = rows if name == "scores" else rows[:300]
        mine = partial(getattr(model.trees_, name), some)
        theirs = partial(booster.predict, some, num_threads=1, **{asked: True})
        mine()  # compile
        ours, peer = _best(time.process_time, mine, theirs, repeats=9)
        yield Result.at_most(f"BoostedThresholds, {what}, one thread, vs LightGBM", ours, peer, goal)
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model")
        size, text = (Path(folder) / "model").stat().st_size, len(booster.model_to_string())
        what = "  size of the file vs LightGBM's text"
        yield Result(what, f"{size:,} B", f"{text:,} B", size / text, "<= 0.5 x", size <= 0.5 * text)


def trees_memory() -> Iterator[Result]:
    if not Path("/proc/self/clear_refs").exists():
        raise RuntimeError("memory is measured by /proc of Linux")
    mine, peer = (_peak(name) for name in ("ours", "theirs"))
    what = "BoostedThresholds, 200k x 20, K = 10: peak of memory beyond the data and the packages, vs LightGBM L2"
    yield Result(what, f"{mine:.0f} MB", f"{peer:.0f} MB", mine / peer, "<= 1.3 x", mine <= 1.3 * peer)


def _peak(name: str) -> float:
    """Megabytes that a fit needs at most in a fresh process, in which both packages and the data are loaded."""
    code = (
        f"import re, pathlib; from benchmarks import trees as b; X, s = b._data(); y = b._cut(s, 10);"
        f"b.ours(X[:2000], y[:2000], 1); b.theirs(X[:2000], y[:2000], 1);"
        f"status = pathlib.Path('/proc/self/status');"
        f"read = lambda name: int(re.search(name + r':\\s+(\\d+)', status.read_text())[1]) / 1024;"
        f"pathlib.Path('/proc/self/clear_refs').write_text('5'); before = read('VmRSS');"  # the peak begins anew
        f"b.{name}(X, y, 1); print(read('VmHWM') - before)"
    )
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def trees_sample() -> Iterator[Result]:
    """What learning from a sample of the rows costs, where all of them do not fit: test MAE on two real sets."""
    for name in ("california", "house_16H"):
        data = load(name)
        y = cut_equal_frequency(data.y, 10)
        order = np.random.default_rng(0).permutation(len(y))
        test, train = order[:4000], order[4000:]
        errors = {}
        for share in (1.0, 0.3, 0.1):
            rows = train[: int(share * train.size)]
            model = BoostedThresholds(max_iter=N_ROUNDS, early_stopping=False, n_jobs=1).fit(data.X[rows], y[rows])
            errors[share] = -model.score(data.X[test], y[test])
        for share in (0.3, 0.1):
            what = f"test MAE, {name}, 10 classes: {share:.0%} of {train.size} rows, vs all"
            ratio = errors[share] / errors[1.0]
            yield Result(what, f"{errors[share]:.3f}", f"{errors[1.0]:.3f}", ratio, "<= 1.5 x", ratio <= 1.5)


def trees_small() -> Iterator[Result]:
    """Default settings on small sets, beside those of CumulativeLink: absolute errors of five folds, row by row."""
    worse, known = 0, 0
    for name, bins in SMALL:
        try:
            data = load(name)
        except DatasetNotFoundError:
            continue
        y = cut_equal_frequency(data.y, bins) if bins else data.y
        places = {value: k for k, value in enumerate(data.classes or np.unique(y).tolist())}
        codes = np.array([places[value] for value in y.tolist()])
        rows = np.random.default_rng(0).permutation(len(codes))[:MOST_ROWS]
        X, codes = np.asarray(data.X, dtype=np.float64)[rows], codes[rows]
        k = np.arange(codes.max() + 1)
        linear = make_pipeline(SimpleImputer(), StandardScaler(), CumulativeLink(classes=k))
        errors = np.empty((2, len(codes)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for train, test in KFold(5, shuffle=True, random_state=0).split(X):
                for i, model in enumerate((BoostedThresholds(random_state=0, n_jobs=1, classes=k), linear)):
                    errors[i, test] = np.abs(model.fit(X[train], codes[train]).predict(X[test]) - codes[test])
        ours, theirs = errors.mean(axis=1)
        spread = (errors[0] - errors[1]).std(ddof=1) / len(codes) ** 0.5
        is_worse = bool(ours - theirs > spread)
        worse, known = worse + is_worse, known + 1
        what = f"defaults, {name}{f', {bins} classes' if bins else ''}, {len(codes)} rows: MAE, CumulativeLink's"
        goal = f"{(ours - theirs) / spread:+.1f} standard errors"
        yield Result(what, f"{ours:.3f}", f"{theirs:.3f}", ours / theirs, goal, not is_worse)
    if known:
        what = "small sets on which the defaults are worse by more than a standard error"
        yield Result(what, f"{worse}", f"{known}", worse / known, "<= 1/4", worse <= known / 4)


ALL = (trees, trees_predict, trees_memory, trees_sample, trees_small)
