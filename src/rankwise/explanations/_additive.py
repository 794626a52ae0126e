"""Contributions of columns to the score of each row: exact for linear models and trees, sampled for the rest.

*Linear.* ``f(x) = <w, x> + b``: a feature adds ``w_j (x_j - m_j)`` to ``<w, m> + b``, m the mean of the background.
Features of a table model are added up to the raw column they come from.

*Trees.* The Shapley values of the sum of trees (Lundberg et al., 2020), see :mod:`rankwise.trees`.

*The rest.* Shapley values by permutation (Strumbelj and Kononenko, 2010): starting from a background row, columns are
replaced one after the other by those of the row, in a random order and in the reverse one. The change of the score is
credited to the column. All rows use the same background rows, so the contributions add up to the score exactly.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import check_random_state

from rankwise._threads import n_threads
from rankwise._types import Floats
from rankwise.explanations._exchangeable_rows import RawRows
from rankwise.explanations._scored_model import Target
from rankwise.features import TableEncoder
from rankwise.features.contributions import column_contributions, feature_shares

_LARGEST = 2**27  # entries of a dense matrix of contributions


def is_linear(target: Target) -> bool:
    """Whether the score is a weighted sum of features that have a meaning, unlike those of a kernel."""
    if any(isinstance(step, Nystroem) for step in getattr(target.model.before, "named_steps", {}).values()):
        return False
    return target.kind == "score" and np.ndim(target.model.learnt("coef_", 0.0)) == 1


def linear(target: Target, X: Any, background: Any) -> tuple[Floats, list[str]]:
    """Contributions to a linear score, (n, columns), and their names; without a background relative to zero."""
    weights = target.factor * np.asarray(target.model.final.coef_, dtype=np.float64)
    contributions, names = _products(target, X, weights)
    if background is not None:
        others = contributions if background is X else _products(target, background, weights)[0]
        contributions = contributions - others.mean(axis=0)
    return contributions, names


def _products(target: Target, X: Any, weights: Floats) -> tuple[Floats, list[str]]:
    if isinstance(target.model.before, TableEncoder):
        return column_contributions(target.model.before, X, weights), list(target.model.before.feature_names_in_)
    features = target.model.rows(X)
    names = target.model.feature_names(weights.size, X)
    if sparse.issparse(features):
        if features.shape[0] * features.shape[1] > _LARGEST:
            raise ValueError(f"contributions of {features.shape} rows and features are too many: explain fewer rows.")
        return features.multiply(weights).toarray(), names
    return np.asarray(features, dtype=np.float64) * weights, names


def trees(target: Target, X: Any) -> tuple[Floats, list[str]]:
    """Shapley values of boosted trees, (n, columns)."""
    final = target.model.final
    matrix = final._matrix(final._rows(target.model.rows(X), reset=False))
    values = final.trees_.contributions(matrix, n_threads=n_threads(final.n_jobs)) * target.factor
    if isinstance(target.model.before, TableEncoder):
        owners, names = feature_shares(target.model.before), list(target.model.before.feature_names_in_)
        by_column = np.zeros((values.shape[0], len(names)))
        for side in (0, 1):
            np.add.at(by_column.T, owners[:, side], 0.5 * values[:, : owners.shape[0]].T)
        return by_column, names
    return values, target.model.feature_names(values.shape[1], X)


def sampled(target: Target, X: RawRows, background: RawRows, n_samples: int, random_state: Any) -> tuple[Floats, float]:
    """Shapley values of any score by permutations, (n, columns), and the mean score of the background rows used."""
    rng = check_random_state(random_state)
    n, d = len(X), len(X.names)
    chosen = rng.choice(len(background), size=min(n_samples, len(background)), replace=False)
    n_orders = max(1, n_samples // chosen.size)

    def score(rows: RawRows) -> Floats:
        return target.scores(rows.given(target.takes_arrow))

    reached = score(X)
    base = score(background.take(chosen))
    values = np.zeros((n, d))
    for begun, row in zip(base, chosen, strict=True):
        start = background.take(np.full(n, row))
        for order in (rng.permutation(d) for _ in range(n_orders)):
            for walk in (order, order[::-1]):
                mixed, before = start, np.full(n, begun)
                for step, j in enumerate(walk):
                    name = X.names[j]
                    mixed = mixed.replaced(name, X.column(name))
                    after = reached if step == d - 1 else score(mixed)
                    values[:, j] += after - before
                    before = after
    return values / (2 * n_orders * chosen.size), float(base.mean())
