"""Density of weighted numbers on a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

Floats = NDArray[np.float64]


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
