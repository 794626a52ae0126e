"""SVOR beside LIBLINEAR on the reduction to binary examples, mord and skordinal; its two solvers; its growth."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np
from mord import LogisticAT as MordLogisticAT
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from skordinal.classifiers import POM
from skordinal.classifiers import LogisticAT as SkordinalLogisticAT

from benchmarks._timing import Result, best_of, seconds
from rankwise import SVOR
from rankwise.datasets import cut_equal_frequency, make_ordinal, make_sparse_ordinal

ALPHAS = (1e-2, 1e-3, 1e-4)
GAP = 1e-3  # every SVOR here is certified to it


def _reduction(X: object, y: np.ndarray, n_classes: int) -> tuple[object, np.ndarray]:
    """Binary examples of SVOR-IMC with regularised thresholds: (x_i, -e_k), signed by whether y_i > k."""
    n = X.shape[0]
    row, k = np.repeat(np.arange(n), n_classes - 1), np.tile(np.arange(n_classes - 1), n)
    ones = sparse.csr_matrix((-np.ones(row.size), (np.arange(row.size), k)), shape=(row.size, n_classes - 1))
    examples = (
        sparse.hstack([X[row], ones], format="csr") if sparse.issparse(X) else np.hstack([X[row], ones.toarray()])
    )
    return examples, np.where(y[row] - 1 > k, 1, -1)


def _liblinear(examples: object, signs: np.ndarray, alpha: float, n: int, tol: float, max_iter: int) -> tuple:
    """Objective and seconds of one fit."""
    model = LinearSVC(
        loss="hinge", C=1.0 / (alpha * n), fit_intercept=False, tol=tol, max_iter=max_iter, random_state=0
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(examples, signs)
    taken = time.perf_counter() - start
    w = model.coef_.ravel()
    return alpha / 2 * w @ w + np.maximum(0.0, 1.0 - signs * (examples @ w)).sum() / n, taken


def _loosest(examples: object, signs: np.ndarray, alpha: float, n: int, goal: float) -> float:
    """Seconds of LIBLINEAR with the loosest of its tolerances that comes within the gap of the optimum."""
    for tol in (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4):
        objective, taken = _liblinear(examples, signs, alpha, n, tol, 20_000)
        if objective <= goal:
            return min(taken, _liblinear(examples, signs, alpha, n, tol, 20_000)[1])
    raise RuntimeError(f"LIBLINEAR did not come to {goal}")


def svor() -> Iterator[Result]:
    n, n_classes = 50_000, 10
    X, y = make_ordinal(n, 20, n_classes, random_state=0)
    examples, signs = _reduction(X, y, n_classes)
    for alpha in ALPHAS:
        same = SVOR(alpha=alpha, regularize="all", tol=1e-6).fit(X, y)
        theirs = _loosest(examples, signs, alpha, n, same.lower_bound_ / (1.0 - GAP))
        ours, all_, planes = best_of(
            lambda alpha=alpha: SVOR(alpha=alpha, tol=GAP).fit(X, y),
            lambda alpha=alpha: SVOR(alpha=alpha, tol=GAP, regularize="all").fit(X, y),
            lambda alpha=alpha: SVOR(alpha=alpha, tol=GAP, solver="cutting-plane").fit(X, y),
            repeats=3,
        )
        what = f"SVOR, 50k x 20, K = 10, alpha = {alpha:g}"
        yield Result.faster(f"{what}, vs LIBLINEAR on the reduction", ours, theirs, 8)
        yield Result.faster("  the same objective as LIBLINEAR's, thresholds regularised", all_, theirs, 8)
        yield Result.at_most("  solver='cutting-plane' vs 'auto'", planes, ours, 5)
        start = time.perf_counter()
        MordLogisticAT(alpha=alpha * n).fit(X, y)
        yield Result.faster("  vs mord LogisticAT", ours, time.perf_counter() - start, 20)
        for name, peer in (("LogisticAT", SkordinalLogisticAT()), ("POM", POM())):
            start = time.perf_counter()
            peer.fit(X, y)
            yield Result.faster(f"  vs skordinal {name}", ours, time.perf_counter() - start, 1)


def svor_sparse() -> Iterator[Result]:
    n, n_features, n_classes, alpha = 20_000, 100_000, 60, 1e-2
    X, _ = make_sparse_ordinal(n, n_features, 200, n_classes, random_state=0)
    X.data[:] = 1.0
    rng = np.random.default_rng(0)
    score = X @ (rng.standard_normal(n_features) / np.sqrt(200)) + 0.5 * rng.standard_normal(n)
    y = cut_equal_frequency(score, n_classes)
    model = SVOR(alpha=alpha, tol=GAP, regularize="all").fit(X, y)
    (ours,) = best_of(lambda: SVOR(alpha=alpha, tol=GAP, regularize="all").fit(X, y), repeats=2)
    examples, signs = _reduction(X, y, n_classes)
    theirs, max_iter, objective = 0.0, 5, np.inf
    # LIBLINEAR cannot be asked for a time: its iterations are doubled until it is there or the ten minutes are over.
    while objective > model.objective_ * (1.0 + GAP) and theirs < 300.0:
        objective, theirs = _liblinear(examples, signs, alpha, n, 1e-9, max_iter)
        max_iter *= 2
    there = objective <= model.objective_ * (1.0 + GAP)
    remark = "" if there else f" (stopped {objective / model.lower_bound_ - 1:.1%} above the optimum)"
    what = f"SVOR, binary CSR 20k x 100k, 200 entries, K = 60, vs LIBLINEAR on the reduction{remark}"
    yield Result.faster(what, ours, theirs, 10)


def svor_growth() -> Iterator[Result]:
    """Seconds a million rows: flat in n is linear, flat in K is what sorted thresholds give."""
    base = None
    for n in (10_000, 100_000, 1_000_000):
        for n_classes in (5, 10, 30, 100):
            X, y = make_ordinal(n, 20, n_classes, random_state=0)
            (taken,) = best_of(lambda X=X, y=y: SVOR(tol=GAP).fit(X, y), repeats=2)
            base = base or taken / n
            what = f"SVOR, {n:,} x 20, K = {n_classes}: time a row, vs that of 10,000 rows, K = 5"
            yield Result(what, seconds(taken / n), seconds(base), taken / n / base, "", True)


ALL = (svor, svor_sparse, svor_growth)
