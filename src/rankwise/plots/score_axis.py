"""The axis of the scores: its limits, the densities of the classes on it, and which interval labels to show."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from rankwise._types import Floats


def density(scores: Floats, weight: Floats, grid: Floats) -> Floats:
    """Gaussian density of weighted scores on an even grid, times their total weight; binned, so O(n)."""
    step = grid[1] - grid[0]
    edges = np.append(grid - step / 2, grid[-1] + step / 2)
    total = weight.sum()
    if total == 0:
        return np.zeros_like(grid)
    heights = np.histogram(scores, edges, weights=weight)[0] / step
    mean = np.average(scores, weights=weight)
    spread = np.sqrt(np.average((scores - mean) ** 2, weights=weight))
    width = 0.9 * spread * (total**2 / np.sum(weight**2)) ** -0.2  # Silverman's rule with the effective number of rows
    return np.asarray(gaussian_filter1d(heights, max(width / step, 1.0), mode="constant"))


def densities(scores: Floats, admissible: NDArray[Any], missing: NDArray[Any], grid: Floats, *, joint: bool) -> Floats:
    """Density of each class, or of all of them together, scaled to a peak of 1.

    A row that admits several classes counts in equal parts for each; a row without a label does not count.
    """
    shares = admissible / admissible.sum(axis=1, keepdims=True)
    shares[missing] = 0.0
    if joint:
        shares = shares.sum(axis=1, keepdims=True)
    heights = np.array([density(scores, share, grid) for share in shares.T])
    heights /= heights.max() or 1.0
    return heights


def score_limits(scores: Floats, thresholds: Floats, margin: float) -> tuple[float, float]:
    """Limits of an axis with all thresholds and nearly all scores, so that outliers do not squeeze the rest."""
    low, high = np.quantile(scores, [0.005, 0.995])
    if thresholds.size:
        low, high = min(low, thresholds[0]), max(high, thresholds[-1])
    space = margin * (high - low) or 1.0
    return float(low - space), float(high + space)


def evenly_spread(rows: NDArray[np.intp], scores: Floats, most: int) -> NDArray[np.intp]:
    """Rows ordered by score: all of them, or ``most``, evenly spaced in this order."""
    rows = rows[np.argsort(scores[rows], kind="stable")]
    if rows.size <= most:
        return rows
    return np.asarray(rows[np.linspace(0, rows.size - 1, most + 2).round().astype(int)[1:-1]])
