"""Planes below a convex function, and the master problem, where the largest of them replaces the function.

    minimise  alpha/2 |w|^2 - <g, w> + max_j (gain_j + <a_j, w>)

The dual is a small quadratic programme over the simplex,

    maximise  <beta, gains> - |sum_j beta_j a_j - g|^2 / (2 alpha),      w = -(sum_j beta_j a_j - g) / alpha

whose value at any beta is a lower bound on the minimum, also for the function itself. Clarabel, an interior point
method, solves it. Planes without weight for some rounds are dropped.

Source: Teo, Vishwanathan, Smola and Le, "Bundle methods for regularized risk minimization", 2010.
"""

from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from rankwise._types import Floats


class Planes:
    """The planes so far, ``gains`` (n,) and ``normals`` (n, d).

    ``number`` holds how many planes were added before each plane, ``idle`` for how many rounds it had no weight; after
    more than ``patience`` such rounds it is dropped.
    """

    def __init__(self, alpha: float, *, patience: int = 20) -> None:
        self.alpha, self.patience = alpha, patience
        self.normals, self.gains, self._gram = np.empty((0, 0)), np.empty(0), np.empty((0, 0))
        self.number, self.idle = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        self._added = 0

    def add(self, gain: float, normal: Floats) -> None:
        """Add the plane ``gain + <normal, .>``."""
        if self._added == 0:
            self.normals = np.empty((0, normal.size))
        products = self.normals @ normal
        self._gram = np.block([[self._gram, products[:, None]], [products, normal @ normal]])
        self.normals = np.vstack([self.normals, normal])
        self.gains = np.append(self.gains, gain)
        self.number, self.idle = np.append(self.number, self._added), np.append(self.idle, 0)
        self._added += 1

    def solve(self, linear: Floats | None = None) -> tuple[Floats, float]:
        """Minimiser of the master problem with ``linear`` as g, and its value, a lower bound."""
        return self._solve(self.alpha, np.zeros(self.normals.shape[1]) if linear is None else linear)

    def solve_near(self, centre: Floats, strength: Floats | float) -> tuple[Floats, float]:
        """Minimiser and value of the master problem without g, with ``sum_j strength_j (w_j - centre_j)^2 / 2`` added.

        The value is not less than that of the master problem itself.
        """
        solution, value = self._solve(self.alpha + strength, strength * centre)
        return solution, value + 0.5 * float(np.sum(strength * centre**2))

    def _solve(self, strength: Any, pull: Floats) -> tuple[Floats, float]:
        """Minimiser and minimum of ``sum_j strength_j w_j^2 / 2 - <pull, w> +`` the largest plane."""
        n, d = self.normals.shape
        # Weights add up to 1, so the pull can be subtracted from every plane.
        if n <= d and np.ndim(strength) == 0:
            products = self.normals @ pull
            gram = self._gram - products[:, None] - products + float(pull @ pull)
            beta = simplex_programme(self.gains, gram / strength)
        else:
            scaled = (self.normals - pull) / np.sqrt(strength)
            how: dict[str, Any] = {"factor": scaled.T} if d < n else {"H": scaled @ scaled.T}
            beta = simplex_programme(self.gains, **how)
        solution = (pull - beta @ self.normals) / strength
        value = float(beta @ self.gains) - 0.5 * float(np.sum(strength * solution**2))
        self.idle = np.where(beta > 1e-6, 0, self.idle + 1)
        keep = self.idle <= self.patience
        if not keep.all():
            self.normals, self.gains = self.normals[keep], self.gains[keep]
            self.number, self.idle = self.number[keep], self.idle[keep]
            self._gram = self._gram[np.ix_(keep, keep)]
        return solution, value


def simplex_programme(gain: Floats, H: Floats | None = None, *, factor: Floats | None = None) -> Floats:
    """Maximise ``<beta, gain> - beta' H beta / 2`` over the simplex.

    H is positive semi-definite, or given as ``factor.T @ factor``, which is faster if the factor has few rows. The
    result lies in the simplex whatever the accuracy of the solver.

    Examples
    --------
    >>> simplex_programme(np.zeros(2), np.diag([1.0, 3.0])).round(6)
    array([0.75, 0.25])
    >>> simplex_programme(np.zeros(2), factor=np.array([[1.0, -3.0]])).round(6)
    array([0.75, 0.25])
    """
    n = gain.size
    # With a factor, v = factor @ beta are additional variables, and |v|^2 is the quadratic term.
    link = np.empty((0, n)) if factor is None else factor
    more = len(link)
    diagonal = np.einsum("ij,ij->j", link, link) if H is None else np.diagonal(H)
    scale = max(float(diagonal.max()), float(np.abs(gain).max()), 1e-300)
    if H is None:
        quadratic = sparse.diags(np.repeat([0.0, 1.0], [n, more]), format="csc")
    else:
        quadratic = sparse.csc_matrix(np.triu(H) / scale)
    constraints = np.zeros((1 + more + n, n + more))
    constraints[0, :n] = 1.0
    constraints[1 : 1 + more] = np.hstack([link / np.sqrt(scale), -np.eye(more)])
    constraints[1 + more :, :n] = -np.eye(n)
    limits = np.concatenate([[1.0], np.zeros(more + n)])
    cones = [clarabel.ZeroConeT(1 + more), clarabel.NonnegativeConeT(n)]
    linear = np.concatenate([-gain / scale, np.zeros(more)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(quadratic, linear, sparse.csc_matrix(constraints), limits, cones, settings)
    beta = np.maximum(np.array(solver.solve().x)[:n], 0.0)
    total = beta.sum()
    if not 0.5 < total < 2.0:  # no solution: all weight on the best single plane
        beta = np.zeros(n)
        beta[int(np.argmax(gain - 0.5 * diagonal))] = total = 1.0
    return np.asarray(beta / total)
