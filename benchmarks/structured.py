"""Chains: the best labelling beside one max-plus product per position in numpy, and learning of handwritten words."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._timing import Result, best_of, seconds
from rankwise import ChainClassifier, datasets
from rankwise.structured.max_sum import best_labellings, chain_parents


def viterbi() -> Iterator[Result]:
    m, n, n_labels = 10_000, 50, 26
    rng = np.random.default_rng(0)
    unary, pairwise = rng.standard_normal((m, n, n_labels)), rng.standard_normal((n_labels, n_labels))
    starts = np.arange(m + 1) * n
    parents, flat = chain_parents(starts), unary.reshape(-1, n_labels)

    def by_position() -> None:
        best = unary[:, -1]
        for v in range(n - 2, -1, -1):
            best = unary[:, v] + (best[:, None, :] + pairwise).max(axis=2)

    ours, theirs = best_of(lambda: best_labellings(flat, pairwise, starts, parents), by_position, repeats=3)
    yield Result.at_most("Viterbi, 10,000 chains of 50, 26 labels, vs numpy's max-plus products", ours, theirs, 2)


def words() -> Iterator[Result]:
    data = datasets.load_ocr()
    train = np.flatnonzero(data.fold == 0)
    X, Y = [data.X[i] for i in train], [data.y[i] for i in train]
    ChainClassifier(random_state=0).fit(X[:20], Y[:20])  # compile
    with threadpool_limits(1, user_api="blas"):
        start = time.perf_counter()
        model = ChainClassifier(random_state=0).fit(X, Y)
        taken = time.perf_counter() - start
    what = f"ChainClassifier.fit, {len(X)} handwritten words, to a gap of {model.gap_:.2g}, vs one minute"
    yield Result(what, seconds(taken), seconds(60.0), taken / 60.0, "<= 1 x", taken <= 60.0 and model.gap_ <= 1e-2)


ALL = (viterbi, words)
