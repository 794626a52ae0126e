"""Mistakes of label rankers by dual ascent (:class:`rankwise.LabelRanker`), for one pass with unit weights."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from rankwise._masks import unmasked
from rankwise.bounds._mistakes import data_radius
from rankwise.bounds.checks import non_negative, positive
from rankwise.labels import check_weights, encode_rankings


def label_ranking_mistakes(objective: float, C: float, margin: float, curvature: float = 0.5) -> float:
    """Mistakes of a label ranker by dual ascent: ``P / (margin C - curvature C^2)`` for the P of any reference.

    Each mistake adds that much to the dual value, which never exceeds P (Lemma 1 and eq. 3 of the label-ranking paper,
    which takes the curvature as 1/2). Updates II and III add no less than update I does.

    Parameters
    ----------
    objective : float
        P of a reference, see :func:`label_ranking_objective`: its complexity, and C times its hinge losses.
    C, margin : float
        Parameters of the ranker, with ``C < margin / curvature``.
    curvature : float, default 0.5
        Bound of <x, H x> over the rows, see :func:`label_ranking_curvature`.

    Examples
    --------
    >>> label_ranking_mistakes(objective=3.0, C=1.0, margin=1.0)
    6.0
    """
    non_negative(objective=objective, curvature=curvature)
    positive(C=C, margin=margin)
    gain = margin * C - curvature * C * C
    if gain <= 0:
        raise ValueError(
            f"C must be below margin / curvature = {margin / curvature:g}: a mistake may gain nothing. Got {C!r}."
        )
    return objective / gain


def label_ranking_objective(
    X: Any, y: Any, coef: ArrayLike, *, C: float, margin: float,
    complexity: Literal["euclidean", "entropic"] = "euclidean", classes: Any = None, sample_weight: Any = None,
) -> float:  # fmt: skip
    """P of a reference: ``sum_y F(w_y) + C sum_t c_t max(0, margin - (rho_r - rho_s))``, for the worst pair of a row.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    y : labels of n rows
        Relevant labels or preferences, see :func:`rankwise.labels.encode_rankings`.
    coef : array-like of shape (k, d)
        Weights of every label; for ``"entropic"`` each label's are >= 0 and sum to one.
    C, margin, complexity
        Parameters of the ranker. F is ``|w|^2 / 2`` or ``sum_j w_j log(d w_j)``.
    classes : sequence of k labels, optional
        The label of each row of ``coef``; by default 0..k-1.
    sample_weight : array-like of shape (n,), optional
        c_t.

    Examples
    --------
    >>> label_ranking_objective([[1.0], [2.0]], [[0], [1]], [[0.5], [-0.5]], C=1.0, margin=1.0)
    3.25
    """
    positive(C=C, margin=margin)
    w = np.asarray(coef, dtype=np.float64)
    X = X if issparse(X) else np.asarray(unmasked(X), dtype=np.float64)
    if w.ndim != 2 or X.ndim != 2 or X.shape[1] != w.shape[1]:
        raise ValueError(f"X must have shape (n, d) and coef (k, d). Got shapes {X.shape} and {w.shape}.")
    _check_complexity(complexity)
    if complexity == "entropic" and not (np.all(w >= 0) and np.allclose(w.sum(axis=1), 1.0)):
        raise ValueError("coef must be >= 0 and sum to one for every label when the complexity is entropic.")
    labels = encode_rankings(y, range(w.shape[0]) if classes is None else classes, n_rows=X.shape[0])
    scores = np.asarray(X @ w.T)
    loss = np.zeros(len(labels))
    for i in range(len(labels)):
        of_row = slice(labels.indptr[i], labels.indptr[i + 1])
        above = labels.above[of_row]
        if labels.has_preferences:
            leads = scores[i, above] - scores[i, labels.below[of_row]]
        else:
            others = np.delete(scores[i], above)
            leads = (scores[i, above].min() - others.max())[None] if above.size and others.size else np.empty(0)
        loss[i] = max(0.0, margin - leads.min()) if leads.size else 0.0
    weight = check_weights(sample_weight, len(labels))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(w > 0, w * np.log(w.shape[1] * w), 0.0) if complexity == "entropic" else 0.5 * w * w
    return float(terms.sum() + C * np.sum(loss * weight if weight.size else loss))


def label_ranking_curvature(X: Any, complexity: Literal["euclidean", "entropic"] = "euclidean") -> float:
    """Bound of <x, H x> over the rows, H the Hessian of G: ``|x|^2``, or the largest variance of the entries of x.

    The variance is at most a quarter of the square of their range: 1/4 for binary rows.

    >>> X = np.array([[3.0, 4.0, 0.0]])
    >>> label_ranking_curvature(X), label_ranking_curvature(X, "entropic")
    (25.0, 4.0)
    """
    _check_complexity(complexity)
    if complexity == "euclidean":
        return data_radius(X) ** 2
    if issparse(X):
        span = (X.max(axis=1) - X.min(axis=1)).toarray()
    else:
        span = np.ptp(np.asarray(unmasked(X), dtype=np.float64), axis=1)
    return float(np.max(span, initial=0.0)) ** 2 / 4


def _check_complexity(complexity: str) -> None:
    if complexity not in ("euclidean", "entropic"):
        raise ValueError(f"complexity must be 'euclidean' or 'entropic'. Got {complexity!r} instead.")
