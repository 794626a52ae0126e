"""Average marginal effects of the cumulative link inside a model, for each of its features."""

from typing import Any

import numpy as np
from scipy import sparse

from rankwise.base.model import Model
from rankwise.base.probabilities import require_level
from rankwise.batch import CumulativeLink
from rankwise.batch.average_effects import effects_table, feature_effects
from rankwise.batch.link_inference import covariance
from rankwise.labels import check_weights


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
        their unit is a standard deviation. :meth:`rankwise.TableModel.marginal_effects` has those of raw columns, with
        the levels of categories.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(300, 2, 3, random_state=0)
    >>> table = rw.explanations.marginal_effects(rw.CumulativeLink(alpha=0.01).fit(X, y), X, y)
    >>> table.shape, bool(abs(table.loc["x0", "effect"].sum()) < 1e-9)
    ((6, 6), True)
    """
    require_level("level", level)
    inside = Model.of(model)
    final = inside.final
    if not isinstance(final, CumulativeLink):
        raise TypeError(f"marginal_effects needs a CumulativeLink. Got a {inside.name}.")
    rows = inside.rows(X)
    known = covariance(final, rows, y, sample_weight)
    matrix = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    weight = np.ones(len(matrix)) if sample_weight is None else check_weights(sample_weight, len(matrix))
    effects = feature_effects(final, matrix, weight / weight.sum())
    return effects_table(inside.feature_names(), final, effects, known, level)
