"""Streams of examples for the tests: noisy, separable, with intervals, weights and missing labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise import metrics


@dataclass(frozen=True)
class Stream:
    """Rows with interval labels in codes 0..K-1, and the model that made them."""

    X: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    weight: np.ndarray
    n_classes: int
    coef: np.ndarray
    thresholds: np.ndarray

    @property
    def y(self) -> np.ndarray:
        return np.column_stack([self.lower, self.upper])

    @property
    def classes(self) -> range:
        return range(self.n_classes)

    def __len__(self) -> int:
        return len(self.lower)


def make_stream(
    seed: int,
    n: int = 200,
    d: int = 5,
    n_classes: int = 4,
    *,
    noise: float = 0.3,
    zeros: float = 0.3,
    exact: float = 0.4,
) -> Stream:
    """Linear scores with noise; ``exact`` is the fraction of exact labels, the others get random intervals."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random(X.shape) < zeros] = 0.0
    coef = rng.standard_normal(d)
    coef /= np.linalg.norm(coef)
    score = X @ coef + noise * rng.standard_normal(n)
    thresholds = np.quantile(score, np.arange(1, n_classes) / n_classes)
    y = np.searchsorted(thresholds, score, side="right")
    spread = rng.integers(0, n_classes, (n, 2)) * (rng.random((n, 1)) >= exact)
    lower = np.maximum(y - spread[:, 0], 0)
    upper = np.minimum(y + spread[:, 1], n_classes - 1)
    weight = rng.choice([0.0, 0.25, 1.0, 2.5], n)
    return Stream(X, lower, upper, weight, n_classes, coef, thresholds)


def make_separable(seed: int, n: int, d: int, n_classes: int, *, gap: float, bound: float = 1.0) -> Stream:
    """No row's score is within ``gap`` of a threshold; entries of X lie in [-bound, bound]."""
    rng = np.random.default_rng(seed)
    coef = rng.standard_normal(d)
    coef /= np.linalg.norm(coef)
    X = rng.uniform(-bound, bound, (20 * n, d))
    score = X @ coef
    thresholds = np.quantile(score, np.arange(1, n_classes) / n_classes)
    clear = np.abs(score[:, None] - thresholds).min(axis=1) >= gap
    X = X[clear][:n]
    y = np.searchsorted(thresholds, X @ coef, side="right")
    spread = rng.integers(0, 2, (len(y), 2))
    lower, upper = np.maximum(y - spread[:, 0], 0), np.minimum(y + spread[:, 1], n_classes - 1)
    return Stream(X, lower, upper, np.ones(len(y)), n_classes, coef, thresholds)


def best_constant_score(y: np.ndarray, classes: range, *, ordered: bool = True) -> float:
    """Score of always predicting the class that does best: what a model must beat to have learnt anything."""
    loss = metrics.mean_absolute_error if ordered else metrics.zero_one_loss
    losses = [loss(y, np.full(len(y), k), classes=classes) for k in classes]
    return -min(losses) if ordered else 1.0 - min(losses)
