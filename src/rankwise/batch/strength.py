"""``alpha="auto"``: the strength of the regulariser by a short path in interval-aware folds.

For each of a few strengths, from strong to weak, a model is fitted to the rows outside a fold, started from the last
one, and judged on the fold by the distance of its predictions to the labels. Strengths are multiples of the mean
variance of the columns, so that other units of X give the same model. Solvers stop early here: whether a strength is
too weak or too strong shows long before the optimum is certified.

Of more than 20,000 rows a random sample is used. The best strength is scaled, since it falls as one over the number of
rows: a prior of given width weighs against the sum of the losses, and the objective has their mean.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise._types import Floats
from rankwise.labels import ClassOrder, Labels
from rankwise.labels.stratified_folds import deal
from rankwise.solvers.design import Design

_N_STRENGTHS = 9
_FOLDS = 5
_MOST_ROWS = 20_000
LOOSE = 3e-2  # gap at which a solver stops


def strengths(design: Design, n: int) -> Floats:
    """Strengths to choose from, descending: from 10 to 1e-5 times the mean variance of the columns."""
    matrix = design.matrix() if design.is_sparse else design.rows
    count = max(design.n_rows, 1)
    total = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
    each = matrix.multiply(matrix) if design.is_sparse else np.square(matrix, dtype=np.float64)
    squares = np.asarray(each.sum(axis=0), dtype=np.float64).ravel()
    variance = np.maximum(squares / count - (total / count) ** 2, 0.0)
    return np.logspace(1, -5, n) * (float(variance[variance > 0].mean()) if (variance > 0).any() else 1.0)


def choose_strength(estimator: Any, design: Any, order: ClassOrder, rows: Any) -> float:
    """Strength with the predictions nearest to held-out labels; of equally good ones the strongest.

    ``rows`` are ``CodedRows``, or ``RunRows``, of which several may belong to one row of the data.
    """
    if not isinstance(design, Design):
        raise ValueError(
            "alpha='auto' needs all rows in one place. Choose alpha on a part of the rows, with rankwise.PathCV, and "
            "give it as a number."
        )
    rng = np.random.RandomState(0)
    owner = getattr(rows, "owner", np.arange(len(rows)))
    _, first, owner = np.unique(owner, return_index=True, return_inverse=True)
    labelled = np.flatnonzero(np.bincount(owner, rows.weight) > 0.0)
    sample = labelled
    if labelled.size > _MOST_ROWS:
        sample = np.sort(rng.choice(labelled, _MOST_ROWS, replace=False))
    n_folds = min(_FOLDS, sample.size)
    alphas = strengths(design, _N_STRENGTHS)
    if n_folds < 2:
        return float(alphas[alphas.size // 4])
    place = first[sample]
    strata = np.unique(rows.lower[place].astype(np.int64) * len(order) + rows.upper[place], return_inverse=True)[1]
    fold_of = np.full(first.size, -1)
    fold_of[sample] = deal(strata.ravel(), n_folds, rng)
    fold_of = fold_of[owner]
    losses = np.zeros(alphas.size)
    for fold in range(n_folds):
        losses += _losses(estimator, design, order, rows, fold_of, fold, alphas)
    beside = np.pad(losses, 1, mode="edge")  # smoothed, because the losses of few rows are noisy
    smooth = 0.25 * beside[:-2] + 0.5 * losses + 0.25 * beside[2:]
    return float(alphas[np.argmin(smooth)]) * sample.size / labelled.size


def _losses(
    estimator: Any, design: Design, order: ClassOrder, rows: Any, fold_of: NDArray[Any], fold: int, alphas: Floats
) -> Floats:
    """Weighted sum of the losses on a fold, for every strength."""
    seen, unseen = np.flatnonzero((fold_of >= 0) & (fold_of != fold)), np.flatnonzero(fold_of == fold)
    train, test = design.take(seen), design.take(unseen)
    learnt, held = rows.take(seen), rows.at(unseen)
    if hasattr(learnt, "owner"):  # counted from 0, without gaps
        learnt = replace(learnt, owner=np.unique(learnt.owner, return_inverse=True)[1])
    labels = Labels(order, held.lower, held.upper)
    _, owner = np.unique(getattr(held, "owner", unseen), return_inverse=True)
    weight = np.bincount(owner, held.weight)
    probe = clone(estimator).set_params(tol=max(estimator.tol, LOOSE))
    probe.classes_, probe.n_features_in_, probe._is_probe = order.values, design.n_features, True
    losses = []
    for model in probe._along(alphas, (train, order, learnt)):
        least = np.full(weight.size, np.inf)
        np.minimum.at(least, owner, model._losses_on(test.rows, labels))
        losses.append(weight @ least)
    return np.array(losses)
