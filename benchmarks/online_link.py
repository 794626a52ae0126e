"""Cumulative links from a stream, beside the best of four tuned perceptrons and batch models that are fitted again.

Five streams, with exact labels and with half of the labels as intervals: progressive mean absolute error of
``OnlineCumulativeLink()`` beside the best ``PRIL(step="pa1")`` over four C, and its progressive log-loss beside that of
a ``CumulativeLink()`` fitted again every 1,000 rows, over the rows after the first 1,000.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks._timing import Result, best_of
from rankwise import PRIL, CumulativeLink, OnlineCumulativeLink
from rankwise.annotation import partial_labels
from rankwise.datasets import DatasetNotFoundError, cut_equal_frequency, load, make_ordinal, make_pril_synthetic
from rankwise.features import polynomial_features

BINS = {"california": 10, "abalone": None, "adult_age": None, "parkinsons": 10}  # classes of equal frequency
EVERY = 1000
WEIGHTS = (1.0, 0.1, 0.01, 0.001)
#: A batch model gives no probability to a class that it has not met: its loss there counts as this one's.
LEAST = 1e-6


def streams() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, rows with scaled columns in a random order, and classes as integers; those whose data are found."""
    X, y = make_pril_synthetic(10_000, random_state=0)
    found = {"synthetic": (polynomial_features(X, 2), y)}
    for name, n_bins in BINS.items():
        try:
            data = load(name)
        except DatasetNotFoundError as error:
            print(f"{name} is left out: {error}")
            continue
        X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, dtype=float)
        found[name] = X, np.asarray(cut_equal_frequency(data.y, n_bins) if n_bins else data.y)
    for place, (name, (X, y)) in enumerate(found.items()):
        order = np.random.default_rng([0, place]).permutation(len(y))
        yield name, StandardScaler().fit_transform(X)[order], y[order].astype(int)


def progressive_log_loss(X: np.ndarray, labels: np.ndarray, codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Loss of every row by the probabilities before it is learnt."""
    model, losses = OnlineCumulativeLink(classes=classes), np.full(len(X), np.log(len(classes)))
    for i in range(len(X)):
        if i:
            losses[i] = -np.log(max(LEAST, model.predict_proba(X[i : i + 1])[0, codes[i]]))
        model.partial_fit(X[i : i + 1], labels[i : i + 1])
    return losses


def refitted_log_loss(X: np.ndarray, labels: np.ndarray, codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Loss of every row by the last of the batch models that were fitted to all rows before it."""
    losses = np.full(len(X), np.log(len(classes)))
    for start in range(EVERY, len(X), EVERY):
        here = slice(start, start + EVERY)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # classes that no label has named yet
            model = CumulativeLink(classes=classes, tol=1e-4).fit(X[:start], labels[:start])
        p = model.predict_proba(X[here])
        losses[here] = -np.log(np.maximum(LEAST, p[np.arange(len(p)), codes[here]]))
    return losses


def online_link() -> Iterator[Result]:
    """Accuracy and log-loss of every stream."""
    for name, X, y in streams():
        classes = np.arange(y.min(), y.max() + 1)
        codes = y - classes[0]
        intervals = np.asarray(partial_labels(y, 0.5, kind=2, classes=classes, random_state=0))
        for kind, labels in (("exact", y), ("half intervals", intervals)):
            perceptrons = [PRIL(step="pa1", C=C, classes=classes).progressive_predict(X, labels) for C in WEIGHTS]
            best = min(float(np.abs(found - y).mean()) for found in perceptrons)
            ours = float(np.abs(OnlineCumulativeLink(classes=classes).progressive_predict(X, labels) - y).mean())
            yield _compared(f"{name}, {kind}: MAE vs best PRIL", ours, best, 1.02)
            losses = [f(X, labels, codes, classes)[EVERY:] for f in (progressive_log_loss, refitted_log_loss)]
            means = [float(loss.mean()) for loss in losses]
            yield _compared(f"{name}, {kind}: log-loss vs refitted CumulativeLink", *means, 1.03)


def _compared(what: str, ours: float, theirs: float, limit: float) -> Result:
    ratio = ours / theirs
    return Result(what, f"{ours:.4f}", f"{theirs:.4f}", ratio, f"<= {limit:g} x", ratio <= limit)


def online_link_speed() -> Iterator[Result]:
    """Time of a row beside a perceptron's."""
    X, y = make_ordinal(100_000, 20, 10, noise=0.5, random_state=0)
    ours, theirs = best_of(
        lambda: OnlineCumulativeLink(classes=range(1, 11)).partial_fit(X, y),
        lambda: PRIL(step="pa1", classes=range(1, 11)).partial_fit(X, y),
        repeats=3,
    )
    yield Result.at_most("OnlineCumulativeLink.partial_fit, 100k x 20, K = 10, vs PRIL(step='pa1')", ours, theirs, 30)


ALL = (online_link, online_link_speed)
