"""Average marginal effects of a cumulative link: how much a probability changes with a feature, averaged over rows.

With ``P(y <= k) = F(t_k - <w, x>)`` the effect of feature j on class k is the mean over the rows of

    dP(y = k) / dx_j = w_j (F'(t_(k-1) - <w, x>) - F'(t_k - <w, x>)).

Its standard error follows from the covariance C of weights and thresholds by the delta method: with g the gradient of
the mean with respect to them, the variance is ``g' C g``. The effects of one feature on all classes add up to zero.
"""

from typing import Any

import numpy as np
from scipy import sparse, stats

from rankwise._extras import require
from rankwise._types import Floats
from rankwise.base.model import Model
from rankwise.base.probabilities import require_level
from rankwise.batch import CumulativeLink
from rankwise.batch._link_inference import covariance
from rankwise.labels import check_weights
from rankwise.losses._links import densities


def marginal_effects(model: Any, X: Any, y: Any, sample_weight: Any = None, *, level: float = 0.95) -> Any:
    """Average marginal effects on every class, with standard errors and confidence intervals, as a pandas table.

    Parameters
    ----------
    model : CumulativeLink, or a pipeline or TableModel that ends with one
        The fitted model.
    X, y, sample_weight, level
        As in :meth:`rankwise.CumulativeLink.inference`.

    Returns
    -------
    pandas.DataFrame
        One row for each feature and class, with ``effect`` (change of the probability for one unit of the feature),
        ``std_err``, ``z``, ``p``, ``lower`` and ``upper``. The features are those of the estimator: behind a scaler
        their unit is a standard deviation.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(300, 2, 3, random_state=0)
    >>> table = rw.explanations.marginal_effects(rw.CumulativeLink(alpha=0.01).fit(X, y), X, y)
    >>> table.shape, bool(abs(table.loc["x0", "effect"].sum()) < 1e-9)
    ((6, 6), True)
    """
    pandas = require("pandas", "marginal_effects returns a pandas table: pip install 'rankwise[io]'.")
    require_level("level", level)
    inside = Model.of(model)
    final = inside.final
    if not isinstance(final, CumulativeLink):
        raise TypeError(f"marginal_effects needs a CumulativeLink. Got a {inside.name}.")
    rows = inside.rows(X)
    cov = covariance(final, rows, y, sample_weight)
    matrix = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    weight = np.ones(len(matrix)) if sample_weight is None else check_weights(sample_weight, len(matrix))
    effects, gradients = _effects(final, matrix, weight / weight.sum())
    std_err = np.sqrt(np.maximum(np.einsum("jka,ab,jkb->jk", gradients, cov, gradients), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = effects / std_err
    reach = stats.norm.isf(0.5 * (1.0 - level)) * std_err
    index = pandas.MultiIndex.from_product(
        [inside.feature_names(), final.classes_.tolist()], names=["feature", "class"]
    )
    columns = {
        "effect": effects,
        "std_err": std_err,
        "z": z,
        "p": 2.0 * stats.norm.sf(np.abs(z)),
        "lower": effects - reach,
        "upper": effects + reach,
    }
    return pandas.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)


def _effects(model: CumulativeLink, matrix: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Effects (d, K), and their gradients by weights and thresholds (d, K, d + K - 1)."""
    w, t = np.asarray(model.coef_), np.asarray(model.thresholds_)
    d, K = w.size, t.size + 1
    slope, bend = densities(model.link, t - (matrix @ w)[:, None])
    mean_slope = np.pad(weight @ slope, 1)  # zero at t_(-1) = -inf and t_(K-1) = inf
    effects = np.outer(w, mean_slope[:-1] - mean_slope[1:])
    by_score = np.pad(-(weight[:, None] * bend).T @ matrix, ((1, 1), (0, 0)))  # derivatives by the weights
    by_threshold = np.zeros((K + 1, K - 1))
    by_threshold[1:-1] = np.diag(weight @ bend)
    gradients = np.zeros((d, K, d + K - 1))
    gradients[:, :, :d] = w[:, None, None] * (by_score[:-1] - by_score[1:])
    gradients[np.arange(d), :, np.arange(d)] += mean_slope[:-1] - mean_slope[1:]
    gradients[:, :, d:] = w[:, None, None] * (by_threshold[:-1] - by_threshold[1:])
    return effects, gradients
