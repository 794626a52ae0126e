"""The master problem of cutting-plane methods: the largest of some planes, regularised.

    minimise  alpha/2 |w|^2 - <g, w> + max_j (offset_j + <slope_j, w>)

Its dual is a small quadratic programme over the simplex,

    maximise  <beta, offsets> - |sum_j beta_j slope_j - g|^2 / (2 alpha),      w = -(sum_j beta_j slope_j - g) / alpha

whose value at any beta is a lower bound on the minimum, and so on that of every function above the planes. It is left
to Clarabel, an interior point method. Planes without weight for some rounds are dropped.
"""

from __future__ import annotations

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]


class Master:
    """Planes below a convex function, and the problem with the largest of them in its place.

    Parameters
    ----------
    alpha : float
        Strength of the regulariser, > 0.
    patience : int
        Rounds without weight after which a plane is dropped.

    Examples
    --------
    Two planes that meet at 1, of which the higher one is lowest there:

    >>> master = Master(alpha=0.1, patience=10)
    >>> master.add(0.0, np.array([1.0]), np.array([2.0]))
    >>> master.add(2.0, np.array([-1.0]), np.array([0.0]))
    >>> solution, bound = master.solve()
    >>> solution.round(3), round(bound, 3)
    (array([1.]), 1.05)
    """

    def __init__(self, alpha: float, patience: int) -> None:
        self.alpha, self.patience = alpha, patience
        self.slopes = np.empty((0, 0))
        self.offsets = np.empty(0)
        self.gram = np.empty((0, 0))
        self.idle = np.empty(0, dtype=np.int64)
        self.points: list[Floats] = []

    def add(self, offset: float, slope: Floats, point: Floats) -> None:
        """Add the plane ``offset + <slope, .>``, found at a point."""
        if self.offsets.size == 0:
            self.slopes = np.empty((0, slope.size))
        products = self.slopes @ slope
        self.gram = np.block([[self.gram, products[:, None]], [products, slope @ slope]])
        self.slopes = np.vstack([self.slopes, slope])
        self.offsets = np.append(self.offsets, offset)
        self.idle = np.append(self.idle, 0)
        self.points.append(point)

    def solve(self, linear: Floats | None = None) -> tuple[Floats, float]:
        """Minimiser with ``linear`` as g, zero without it, and the dual value; idle planes are dropped."""
        g = np.zeros(self.slopes.shape[1]) if linear is None else linear
        products = self.slopes @ g
        beta = simplex_programme((self.gram - products[:, None] - products + float(g @ g)) / self.alpha, self.offsets)
        solution = (g - beta @ self.slopes) / self.alpha
        bound = float(beta @ self.offsets) - 0.5 * self.alpha * float(solution @ solution)
        self.idle = np.where(beta > 1e-7, 0, self.idle + 1)
        keep = self.idle < self.patience
        if not keep.all():
            self.slopes, self.offsets, self.idle = self.slopes[keep], self.offsets[keep], self.idle[keep]
            self.gram = self.gram[np.ix_(keep, keep)]
            self.points = [point for point, kept in zip(self.points, keep, strict=True) if kept]
        return solution, bound


def simplex_programme(H: Floats, gain: Floats) -> Floats:
    """Maximise ``<beta, gain> - beta' H beta / 2`` over the simplex, H positive semi-definite.

    The result lies in the simplex whatever the accuracy of the solver.

    Examples
    --------
    >>> simplex_programme(np.diag([1.0, 3.0]), np.zeros(2)).round(6)
    array([0.75, 0.25])
    """
    n = gain.size
    scale = max(float(np.abs(H).max()), float(np.abs(gain).max()), 1e-300)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    constraints = sparse.vstack([sparse.csc_matrix(np.ones((1, n))), -sparse.identity(n)]).tocsc()
    limits = np.concatenate([[1.0], np.zeros(n)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]
    quadratic = sparse.triu(sparse.csc_matrix(H / scale)).tocsc()
    solver = clarabel.DefaultSolver(quadratic, -gain / scale, constraints, limits, cones, settings)
    beta = np.maximum(np.array(solver.solve().x), 0.0)
    total = beta.sum()
    if not 0.5 < total < 2.0:  # no answer: all weight on the plane that is best alone
        beta = np.zeros(n)
        beta[int(np.argmax(gain - 0.5 * np.diagonal(H)))] = total = 1.0
    return np.asarray(beta / total)
