"""The label ranker on messages of words: every update beside the product that its scores need, and many labels."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.stats import kendalltau
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._timing import Result, best_of
from rankwise import LabelRanker, datasets
from rankwise.labels import Preferences

UPDATES = ("fixed", "optimal", "joint")
PLAIN = dict(C=1.0, average=False, fit_intercept=False)  # the paper's pass
MARGINS = {"euclidean": 1.0, "entropic": 0.1}


def messages(
    n: int = 5_000, n_words: int = 50_000, n_labels: int = 100, length: int = 100, seed: int = 0
) -> tuple[sparse.csr_matrix, list[list[int]]]:
    """Binary rows with ``length`` different words, a third of them from the topics of their one or two labels."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, n_words, (n_labels, 300))
    labels = [sorted(set(rng.integers(0, n_labels, rng.integers(1, 3)).tolist())) for _ in range(n)]
    rows = []
    for relevant in labels:
        own = rng.choice(topics[relevant].ravel(), length // 3)
        common = (n_words * rng.random(3 * length) ** 3).astype(np.int64)
        words = np.concatenate([own, common])
        rows.append(np.sort(words[np.sort(np.unique(words, return_index=True)[1])][:length]))
    indptr = np.arange(0, n * length + 1, length)
    X = sparse.csr_matrix((np.ones(n * length), np.concatenate(rows), indptr), shape=(n, n_words))
    return X, labels


def label_ranking() -> Iterator[Result]:
    X, y = messages()
    W = np.random.default_rng(0).standard_normal((X.shape[1], 100))  # laid out so that scipy need not copy it

    def learn(update: str, complexity: str) -> LabelRanker:
        model = LabelRanker(update, complexity, margin=MARGINS[complexity], classes=range(100), **PLAIN)
        return model.partial_fit(X, y)

    pairs = [(update, complexity) for complexity in MARGINS for update in UPDATES]
    product, *times = best_of(lambda: X @ W, *(lambda pair=pair: learn(*pair) for pair in pairs), repeats=7)
    time = dict(zip(pairs, times, strict=True))
    size = "5k messages of 100 words, 100 labels"
    yield Result.at_most(f"LabelRanker fixed euclidean, {size}, vs X @ W", time["fixed", "euclidean"], product, 2)
    for update in UPDATES:
        ours, theirs = time[update, "entropic"], time[update, "euclidean"]
        yield Result.at_most(f"  {update}: entropic vs euclidean", ours, theirs, 3)
    for complexity in MARGINS:
        ours, theirs = time["joint", complexity], time["fixed", complexity]
        yield Result.at_most(f"  {complexity}: joint vs fixed", ours, theirs, 6)
    X.data[::100] = 0.999  # rows with two values: no direct solution, so the interior point is needed
    most = learn("joint", "entropic").max_solver_iter_
    yield Result("  most iterations of the interior point there", str(most), "", float(most), "<= 15", most <= 15)


def many_labels() -> Iterator[Result]:
    few, many = messages(n=2_000), messages(n=2_000, n_labels=1_000)

    def learn(update: str, data: tuple[sparse.csr_matrix, list[list[int]]], n_labels: int) -> LabelRanker:
        return LabelRanker(update, classes=range(n_labels), **PLAIN).partial_fit(*data)

    for update in ("fixed", "joint"):
        ours, theirs = best_of(
            lambda update=update: learn(update, many, 1_000), lambda update=update: learn(update, few, 100), repeats=3
        )
        yield Result.at_most(f"LabelRanker {update}, 1,000 labels vs 100: time", ours, theirs, 12)
    peaks = []
    for data, n_labels in ((many, 1_000), (few, 100)):
        tracemalloc.start()
        learn("joint", data, n_labels)
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    ratio = peaks[0] / peaks[1]
    yield Result("  memory", f"{peaks[0]:.0f} MB", f"{peaks[1]:.0f} MB", ratio, "<= 10 x", ratio <= 10)


def by_distance(y: np.ndarray, n_labels: int) -> np.ndarray:
    """Rankings of ordered labels, the nearest to each grade first, of two as near the lower one."""
    return np.argsort(np.abs(np.arange(n_labels) - y[:, None]), axis=1, kind="stable")


def intercepts() -> Iterator[Result]:
    """What intercepts are worth on held-out rows (5 folds, standardised features, the defaults otherwise).

    Multi-label sets: share of the pairs of labels in the right order. Graded sets, whose grades are ranked by their
    distance to the right one: Kendall's tau.
    """
    found = []
    for name in datasets.MULTILABEL_NAMES:
        data = datasets.load_multilabel(name)
        found.append((name, data.X, data.Y, None))
    for name in ("ERA", "ESL", "car", "wisconsin", "pyrim", "machine_cpu", "boston", "stock", "abalone"):
        rows = datasets.load(name)
        y = rows.y if len(np.unique(rows.y)) < 20 else datasets.cut_equal_frequency(rows.y, 5)
        ranking = by_distance(np.unique(y, return_inverse=True)[1], len(np.unique(y)))
        pairs = Preferences([[(r[k], r[k + 1]) for k in range(len(r) - 1)] for r in ranking.tolist()])
        found.append((name, rows.X, pairs, ranking))
    for name, X, y, ranking in found:
        scores: dict[bool, list[float]] = {True: [], False: []}
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            for fit_intercept, folds in scores.items():
                model = make_pipeline(StandardScaler(), LabelRanker(random_state=0, fit_intercept=fit_intercept))
                model.fit(X[train], y[train])
                if ranking is None:
                    folds.append(model.score(X[test], y[test]))
                else:
                    predicted = np.argsort(model[-1].predict_ranking(model[:-1].transform(X[test])), axis=1)
                    taus = zip(predicted, np.argsort(ranking[test], axis=1), strict=True)
                    folds.append(float(np.mean([kendalltau(a, b).statistic for a, b in taus])))
        ours, theirs = float(np.mean(scores[True])), float(np.mean(scores[False]))
        what = f"LabelRanker with intercepts vs without, {name}: {'score' if ranking is None else 'tau'}"
        yield Result(what, f"{ours:.3f}", f"{theirs:.3f}", ours / theirs, ">= 0.98 x", ours >= 0.98 * theirs)


ALL = (label_ranking, many_labels, intercepts)
