"""The threshold perceptrons: arrays, sparse rows, single rows, kernels, start-up, and accuracy beside Vowpal Wabbit."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from river import linear_model, multiclass
from sklearn.linear_model import Perceptron
from threadpoolctl import threadpool_limits
from vowpalwabbit import Workspace

from benchmarks._timing import Result, best_of, seconds
from rankwise import (
    PRIL,
    CuSumRank,
    ImportanceWeightedPerceptron,
    KernelCuSumRank,
    KernelPRIL,
    MultiplicativePRIL,
)
from rankwise.annotation import type2_intervals
from rankwise.datasets import make_ordinal, make_sparse_ordinal

CLASSES = range(1, 11)


def dense() -> Iterator[Result]:
    w = np.ones(20)
    for noise, remark in ((0.1, ""), (0.5, ", noisy")):
        X, y = make_ordinal(1_000_000, 20, 10, noise=noise, random_state=0)
        intervals = type2_intervals(y)
        half = (y > 5).astype(int)

        def ours(average: bool | str = "auto", X: object = X, intervals: object = intervals) -> PRIL:
            return PRIL(classes=CLASSES, average=average).partial_fit(X, intervals)

        what = f"PRIL.partial_fit, 1M x 20{remark} ({ours().n_updates_ / len(X):.0%} of rounds update)"
        with threadpool_limits(1, user_api="blas"):  # one thread against one thread
            fit, mean, product = best_of(ours, lambda ours=ours: ours(True), lambda X=X: X @ w, repeats=15)
        yield Result.at_most(f"{what} vs X @ w", fit, product, 2.5)
        yield Result.at_most("  average='auto', the default, vs average=True", fit, mean, 1.25)
        fit, product = best_of(ours, lambda X=X: X @ w, repeats=15)
        yield Result.at_most("  vs X @ w with all BLAS threads", fit, product, 2.5)
        fit, two, ten = best_of(
            ours,
            lambda X=X, half=half: Perceptron().partial_fit(X, half, classes=[0, 1]),
            lambda X=X, y=y: Perceptron().partial_fit(X, y, classes=CLASSES),
            repeats=3,
        )
        yield Result.faster("  vs scikit-learn Perceptron, 2 classes", fit, two, 3)
        yield Result.faster("  vs scikit-learn Perceptron, 10 classes", fit, ten, 20)


def cusum() -> Iterator[Result]:
    X, y = make_ordinal(1_000_000, 20, 10, noise=0.1, random_state=0)
    W = np.random.default_rng(0).standard_normal((20, 10))
    fit, mean, product = best_of(
        lambda: CuSumRank(classes=CLASSES).partial_fit(X, y),
        lambda: CuSumRank(classes=CLASSES, average=True).partial_fit(X, y),
        lambda: (X @ W).argmax(axis=1),
        repeats=9,
    )
    yield Result.at_most("CuSumRank.partial_fit, 1M x 20, vs (X @ W).argmax(axis=1)", fit, product, 1.5)
    yield Result.at_most("  average='auto', the default, vs average=True", fit, mean, 1.25)
    (ten,) = best_of(lambda: Perceptron().partial_fit(X, y, classes=CLASSES), repeats=2)
    yield Result.faster("  vs scikit-learn Perceptron, 10 classes", fit, ten, 3)


def importance() -> Iterator[Result]:
    X, y = make_ordinal(1_000_000, 20, 10, noise=0.1, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))

    def ours() -> ImportanceWeightedPerceptron:
        return ImportanceWeightedPerceptron(classes=CLASSES).partial_fit(X, y, sample_weight=weight)

    what = f"ImportanceWeightedPerceptron, 1M x 20 ({ours().n_updates_ / len(X):.0%} of rounds update)"
    fit, ten = best_of(ours, lambda: Perceptron().partial_fit(X, y, classes=CLASSES, sample_weight=weight), repeats=3)
    yield Result.faster(f"{what} vs scikit-learn Perceptron, 10 classes", fit, ten, 3)
    rows = [{f"x{j}": float(v) for j, v in enumerate(row)} for row in X[:5000]]
    labels = y[:5000].tolist()

    def stream(model: object) -> None:
        learn = model.learn_one  # type: ignore[attr-defined]
        for x, label in zip(rows, labels, strict=True):
            learn(x, label)

    one, rest = (
        t / len(rows)
        for t in best_of(
            lambda: stream(ImportanceWeightedPerceptron(classes=CLASSES)),
            lambda: stream(multiclass.OneVsRestClassifier(linear_model.Perceptron())),
            repeats=5,
        )
    )
    yield Result.faster("ImportanceWeightedPerceptron.learn_one vs river one-vs-rest of 10", one, rest, 5)


def sparse() -> Iterator[Result]:
    X, y = make_sparse_ordinal(200_000, 100_000, 75, 10, random_state=0)
    fit, ten = best_of(
        lambda: PRIL(classes=CLASSES).partial_fit(X, y),
        lambda: Perceptron().partial_fit(X, y, classes=CLASSES),
        repeats=3,
    )
    yield Result.faster("PRIL, CSR 200k x 100k, vs scikit-learn Perceptron, 10 classes", fit, ten, 4)


def single_rows() -> Iterator[Result]:
    X, y = make_ordinal(5_000, 20, 10, noise=0.5, random_state=0)
    rows = [{f"x{j}": float(v) for j, v in enumerate(row)} for row in X]
    labels, halves = y.tolist(), (y > 5).tolist()

    def stream(model: object, targets: list[object]) -> None:
        learn = model.learn_one  # type: ignore[attr-defined]
        for x, target in zip(rows, targets, strict=True):
            learn(x, target)

    ours, one, rest = (
        t / len(rows)
        for t in best_of(
            lambda: stream(PRIL(classes=CLASSES), labels),
            lambda: stream(linear_model.Perceptron(), halves),
            lambda: stream(multiclass.OneVsRestClassifier(linear_model.Perceptron()), labels),
            repeats=5,
        )
    )
    yield Result.at_most("PRIL.learn_one, 20 entries, vs river Perceptron, 2 classes", ours, one, 1)
    yield Result.faster("PRIL.learn_one vs river one-vs-rest of 10", ours, rest, 5)


def kernels() -> Iterator[Result]:
    X, y = make_ordinal(10_000, 20, 10, noise=0.5, random_state=0)
    gamma = 1 / 20
    support = KernelPRIL(gamma=gamma, classes=CLASSES).partial_fit(X, y).support_vectors_

    def gram() -> object:
        products = X @ support.T
        products *= 2 * gamma
        products -= gamma * np.einsum("ij,ij->i", X, X)[:, None]
        products -= gamma * np.einsum("ij,ij->i", support, support)
        return np.exp(products, out=products)

    ours, theirs = best_of(lambda: KernelPRIL(gamma=gamma, classes=CLASSES).partial_fit(X, y), gram, repeats=3)
    yield Result.at_most(f"KernelPRIL, 10k rows, vs the Gram matrix with its {len(support)} SVs", ours, theirs, 2)
    # A round only needs the vectors before it: about half of that matrix.
    yield Result.at_most("  the same against half that matrix, what a stream really needs", ours, theirs / 2, 2)
    # One coefficient per rank instead of one. A budget gives both the same number of support vectors.
    same = dict(gamma=gamma, budget=2000, classes=CLASSES)
    ours, theirs = best_of(
        lambda: KernelCuSumRank(**same).partial_fit(X, y), lambda: KernelPRIL(**same).partial_fit(X, y), repeats=5
    )
    yield Result.at_most("KernelCuSumRank, 10k rows, 10 ranks, 2000 SVs, vs KernelPRIL", ours, theirs, 1.5)
    ours, theirs = best_of(
        lambda: KernelCuSumRank(**same).progressive_predict(X, y),
        lambda: KernelPRIL(**same).progressive_predict(X, y),
        repeats=5,
    )
    yield Result.at_most("  predicting every row before it is learnt, too", ours, theirs, 2)


FIRST_FIT = """
import time
start = time.perf_counter()
import rankwise
imported = time.perf_counter() - start
start = time.perf_counter()
from rankwise import PRIL
loaded = time.perf_counter() - start
import numpy as np
X, y = np.random.default_rng(0).standard_normal((100, 5)), np.arange(100) % 4
start = time.perf_counter()
PRIL().fit(X, y)
print(imported, loaded, time.perf_counter() - start)
"""


def start_up() -> Iterator[Result]:
    best = [np.inf] * 3
    for _ in range(4):  # the first fills the cache
        out = subprocess.run([sys.executable, "-c", FIRST_FIT], capture_output=True, text=True, check=True).stdout
        best = [min(a, float(b)) for a, b in zip(best, out.split(), strict=True)]
    imported, loaded, fitted = best
    yield Result("import rankwise", seconds(imported), "", imported, "< 1 s", imported < 1)
    yield Result("  first use of an estimator (scikit-learn's own import)", seconds(loaded), "", loaded, "", True)
    yield Result("first fit in a fresh process, cache exists", seconds(fitted), "", fitted, "< 0.3 s", fitted < 0.3)


def vowpal_wabbit() -> Iterator[Result]:
    X, y = make_ordinal(20_000, 30, 10, noise=0.5, random_state=0)
    candidates = {
        "PRIL": PRIL(classes=CLASSES),
        "PRIL pa1 C=0.1": PRIL(step="pa1", C=0.1, classes=CLASSES),
        "PRIL pa2 C=0.1": PRIL(step="pa2", C=0.1, classes=CLASSES),
        "MultiplicativePRIL": MultiplicativePRIL(classes=CLASSES),
    }
    scaled = X / np.abs(X).max()
    for name, model in candidates.items():
        rows = scaled if name.startswith("Multi") else X
        error = np.abs(type(model)(**model.get_params()).progressive_predict(rows, y) - y).mean()
        candidates[name] = (float(error), model, rows)
    name, (error, model, rows) = min(candidates.items(), key=lambda item: item[1][0])
    (ours,) = best_of(lambda: type(model)(**model.get_params()).progressive_predict(rows, y))
    their_error, theirs = _csoaa(X, y)
    yield Result(
        f"progressive MAE, 20k x 30, {name} averaged, vs VW csoaa",
        f"{error:.3f}",
        f"{their_error:.3f}",
        error / their_error,
        "< 1 x",
        error < their_error,
    )
    yield Result.faster("  examples per second there (VW reads its own text file)", ours, theirs, 1)


def _csoaa(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Progressive MAE and seconds of Vowpal Wabbit's csoaa with |i - j| costs, run natively over a file."""
    with tempfile.TemporaryDirectory() as folder:
        data, predictions = Path(folder) / "data.txt", Path(folder) / "predictions.txt"
        with data.open("w") as file:
            for x, label in zip(X, y, strict=True):
                costs = " ".join(f"{k}:{abs(k - label)}" for k in CLASSES)
                file.write(f"{costs} | " + " ".join(f"x{j}:{v:.6f}" for j, v in enumerate(x)) + "\n")
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            Workspace(f"--csoaa 10 -d {data} -p {predictions} --quiet").finish()
            best = min(best, time.perf_counter() - start)
        predicted = np.loadtxt(predictions, usecols=0, ndmin=1).astype(int)
    return float(np.abs(predicted - y).mean()), best


ALL = (dense, cusum, importance, sparse, single_rows, kernels, start_up, vowpal_wabbit)
