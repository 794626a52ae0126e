"""Importance of columns by permutation: how much worse the predictions get when a column is shuffled.

The error of a row is the distance in ranks to the nearest class that its label admits, so labels of every kind can be
used.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rankwise import metrics
from rankwise._types import Floats
from rankwise.explanations import _explanation_plots
from rankwise.explanations._exchangeable_rows import RawRows
from rankwise.explanations._scored_model import Target
from rankwise.labels import encode


@dataclass(frozen=True, eq=False)
class Importances:
    """By how many ranks the mean absolute error grows when each column is shuffled."""

    columns: list[str]
    values: Floats  #: of every column and repetition, (d, n_repeats)
    error: float  #: of the rows as they are

    @property
    def mean(self) -> Floats:
        """Mean over the repetitions, (d,)."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def std_err(self) -> Floats:
        """Standard error of the mean, (d,)."""
        return np.asarray(self.values.std(axis=1, ddof=1) / np.sqrt(self.values.shape[1]))

    def plot(self, *, top: int = 15, ax: Any = None) -> Any:
        """Draw the largest means, with their standard errors.

        Parameters
        ----------
        top : int, default 15
            Maximum number of columns.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        what = f"growth of the mean absolute error ({self.error:.3f} ranks)"
        return _explanation_plots.draw_bars(self.columns, self.mean, top, ax, what, self.std_err)


def permutation_importances(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, n_repeats: int = 5, random_state: Any = 0
) -> Importances:
    """Measure how much a model relies on each raw column.

    Parameters
    ----------
    model : fitted estimator, pipeline or TableModel
        The model.
    X, y, sample_weight
        Rows, labels of any kind and weights; better not those of the fit.
    n_repeats : int, default 5
        How often each column is shuffled, at least 2.
    random_state : int, RandomState or None, default 0
        Seed of the shuffles.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(500, 3, 4, random_state=0)
    >>> model, intervals = rw.PRIL(random_state=0).fit(X, y), [(max(k - 1, 1), k) for k in y]
    >>> importances = rw.explanations.permutation_importances(model, X, intervals)
    >>> importances.values.shape
    (3, 5)
    """
    if n_repeats < 2:
        raise ValueError(f"n_repeats must be at least 2. Got {n_repeats} instead.")
    target = Target.of(model)
    known = target.model.columns or []
    rows = RawRows(X, known)
    labels = encode(y, target.classes, n_rows=len(rows))
    rng = check_random_state(random_state)

    def error(some: RawRows) -> float:
        predicted = model.predict(some.given(target.takes_arrow))
        return float(metrics.mean_absolute_error(labels, predicted, sample_weight=sample_weight))

    before = error(rows)
    used = [name for name in rows.names if not rows.is_table or not known or name in known]  # tables may hold others
    growth = np.empty((len(used), n_repeats))
    for j, name in enumerate(used):
        for repeat in range(n_repeats):
            shuffled = rows.take(rng.permutation(len(rows))).column(name)
            growth[j, repeat] = error(rows.replaced(name, shuffled)) - before
    return Importances(used, growth, before)
