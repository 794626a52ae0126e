"""CumulativeLink beside skordinal, statsmodels and our SVOR; its growth; its probabilities beside numpy's own."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np
from scipy.special import expit
from skordinal.classifiers import POM

from benchmarks._timing import Result, best_of, seconds
from rankwise import SVOR, CumulativeLink
from rankwise.datasets import cut_equal_frequency, make_ordinal, make_sparse_ordinal

GAP = 1e-6  # every CumulativeLink here is certified to it, unless its SVOR has another


def _timed(action: object) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _likelihood(X: np.ndarray, codes: np.ndarray, w: np.ndarray, t: np.ndarray) -> float:
    """Mean of -log P of exact labels, as the formula has it."""
    t = np.concatenate([[-np.inf], t, [np.inf]])
    f = X @ w
    return -float(np.mean(np.log(expit(t[codes + 1] - f) - expit(t[codes] - f))))


def cumulative_link() -> Iterator[Result]:
    n, n_classes = 50_000, 10
    X, y = make_ordinal(n, 20, n_classes, noise=1.0, random_state=0)
    ours, svor = best_of(lambda: CumulativeLink(tol=GAP).fit(X, y), lambda: SVOR().fit(X, y), repeats=5)
    free = CumulativeLink(alpha=0)
    (unpenalised,) = best_of(lambda: free.fit(X, y), repeats=5)
    what = f"CumulativeLink, 50k x 20, K = 10, gap {GAP:g}"
    yield Result.at_most(f"{what}, vs SVOR, gap 1e-3", ours, svor, 2)
    peer = POM()
    yield Result.faster("  vs skordinal POM", ours, min(_timed(lambda: peer.fit(X, y)) for _ in range(2)), 3)
    try:
        from statsmodels.miscmodels.ordinal_model import OrderedModel
    except ModuleNotFoundError:
        return
    model, found = OrderedModel(y, X, distr="logit"), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = _timed(lambda: found.append(model.fit(method="bfgs", maxiter=1000, disp=False)))
    yield Result.faster("  maximum likelihood, vs statsmodels OrderedModel", unpenalised, theirs, 300)
    apart = -found[0].llf / n - _likelihood(X, y - 1, free.coef_, free.thresholds_)
    yield Result("  its likelihood less ours", f"{apart:.1e}", "", apart, "<= 1e-6", abs(apart) <= 1e-6)
    errors, peers = free.inference(X, y)["std_err"].to_numpy()[:20], np.asarray(found[0].bse)[:20]
    worst = float(np.abs(errors / peers - 1).max())
    yield Result("  its standard errors beside ours, worst", f"{worst:.1e}", "", worst, "<= 1e-4", worst <= 1e-4)


def cumulative_link_sparse() -> Iterator[Result]:
    n, n_features, n_classes, alpha, gap = 20_000, 100_000, 60, 1e-2, 1e-3
    X, _ = make_sparse_ordinal(n, n_features, 200, n_classes, random_state=0)
    X.data[:] = 1.0
    rng = np.random.default_rng(0)
    score = X @ (rng.standard_normal(n_features) / np.sqrt(200)) + 0.5 * rng.standard_normal(n)
    y = cut_equal_frequency(score, n_classes)
    ours, svor = best_of(
        lambda: CumulativeLink(alpha=alpha, tol=gap).fit(X, y), lambda: SVOR(alpha=alpha, tol=gap).fit(X, y), repeats=2
    )
    what = "CumulativeLink, binary CSR 20k x 100k, 200 entries, K = 60, gap 1e-3"
    yield Result.at_most(f"{what}, vs SVOR", ours, svor, 2)


def cumulative_link_growth() -> Iterator[Result]:
    """Seconds a row: of a million rows with intervals beside SVOR's, and from K = 5 to 100."""
    X, y = make_ordinal(1_000_000, 20, 10, noise=1.0, random_state=0)
    intervals = np.column_stack([y, y])
    intervals[::2] = np.where(y[::2, None] <= 5, [1, 5], [6, 10])  # every second label is a half of the scale
    options = {"tol": 1e-3, "classes": range(1, 11)}
    ours, svor = best_of(
        lambda: CumulativeLink(**options).fit(X, intervals), lambda: SVOR(**options).fit(X, intervals), repeats=2
    )
    yield Result.at_most("CumulativeLink, 1M x 20 with intervals, gap 1e-3, vs SVOR", ours, svor, 1)
    sizes = (5, 10, 30, 100)
    data = [make_ordinal(100_000, 20, n_classes, noise=1.0, random_state=0) for n_classes in sizes]
    times = best_of(*(lambda X=X, y=y: CumulativeLink().fit(X, y) for X, y in data), repeats=5)
    base = times[0]
    for n_classes, taken in zip(sizes, times, strict=True):
        what = f"CumulativeLink, 100k x 20, K = {n_classes}: time a row, vs that of K = 5"
        yield Result(what, seconds(taken / 1e5), seconds(base / 1e5), taken / base, "<= 2 x", taken <= 2 * base)


def cumulative_link_probabilities() -> Iterator[Result]:
    X, y = make_ordinal(1_000_000, 20, 10, noise=1.0, random_state=0)
    model = CumulativeLink().fit(X[:20_000], y[:20_000])
    scores, t = X @ model.coef_, model.thresholds_
    ours, theirs = best_of(lambda: model.predict_proba(X), lambda: 1.0 / (1.0 + np.exp(scores[:, None] - t)), repeats=5)
    yield Result.at_most("predict_proba, 1M x 20, K = 10, vs 9 logistic functions in numpy", ours, theirs, 3)


ALL = (cumulative_link, cumulative_link_sparse, cumulative_link_growth, cumulative_link_probabilities)
