"""The estimators on Dask, under the names that they have on one machine."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from rankwise import batch, label_ranking, online
from rankwise.dask._batch import BatchOnDask
from rankwise.dask._missing import MissingLabelsOnDask
from rankwise.dask._online import OnlineOnDask
from rankwise.dask._trees import TreesOnDask

Estimator = TypeVar("Estimator", bound=type[Any])

_BATCH = """\
Parameters and attributes are those of :class:`rankwise.{name}`. The objective, its bound and the gap are those of one
machine but for rounding, whatever the partitions; ``solver="cutting-plane"`` takes many more rounds of tasks and agrees
to ``tol``.
"""

_ONLINE = """\
Parameters
----------
mode : {{"sequential", "mixing"}}, default "sequential"
    Partitions one after the other, with ``shuffle=False`` to the same bits as on one machine; or side by side from a
    shared model, which is averaged by updates after every epoch.
**parameters
    Those of :class:`rankwise.{name}`, whose attributes this has too.
"""

_EXAMPLE = """
Examples
--------
>>> import dask.array as da
>>> import numpy as np
>>> from rankwise.dask import {name}
>>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
>>> y = np.repeat([1, 2, 3, 4, 5], 10)
>>> model = {name}({options}).fit(X, y)
"""

_CERTIFIED = """\
>>> model.predict(X[:5]).compute()
array([1, 1, 1, 1, 1])
>>> bool(model.gap_ <= 1e-3)
True
"""

_SCORED = """\
>>> bool(model.score(X, y) >= model.score(X, y[::-1]))
True
"""


def _documented(template: str, options: str) -> Callable[[Estimator], Estimator]:
    """Add to the first line of a docstring what holds for all estimators of a family, and an example."""

    def documented(estimator: Estimator) -> Estimator:
        text = template.format(name=estimator.__name__, options=options)
        estimator.__doc__ = f"{estimator.__doc__}\n\n{text}"
        return estimator

    return documented


_batch = partial(_documented, _BATCH + _EXAMPLE + _CERTIFIED)
_online = partial(_documented, _ONLINE + _EXAMPLE + _SCORED)


@_batch("alpha=1e-4")
class SVOR(BatchOnDask, batch.SVOR):
    """Large-margin threshold model of rows that stay on the workers, with a certified optimum."""


@_batch("alpha=1e-4")
class CumulativeLink(BatchOnDask, batch.CumulativeLink):
    """Class probabilities by maximum likelihood, of rows that stay on the workers; no candidate sets with gaps."""

    label_kinds = frozenset({"exact", "interval"})  # EM shares rows among runs: it needs them here


@_batch('loss="squared"')
class VILMA(BatchOnDask, batch.VILMA):
    """Large-margin threshold model for any V-shaped loss, of rows that stay on the workers."""


@_batch("alpha=1e-4")
class MORD(BatchOnDask, batch.MORD):
    """Threshold model as a structured-output support vector machine, of rows that stay on the workers."""


@_batch("cuts=3, alpha=1e-4")
class PiecewiseMORD(BatchOnDask, batch.PiecewiseMORD):
    """Several ordinal models joined at cut labels, of rows that stay on the workers."""


@_batch("alpha=1e-4")
class UnifiedClassifier(BatchOnDask, batch.UnifiedClassifier):
    """Classifier with a score for every class from any mixture of vectors, of rows that stay on the workers."""


@_batch("alpha=1e-4")
class RoundedRegression(BatchOnDask, batch.RoundedRegression):
    """Linear regression on the rank, rounded, with a large-margin loss, of rows that stay on the workers."""


class MissingLabelClassifier(MissingLabelsOnDask):
    """Linear multi-label classifier from whatever entries are annotated, of rows that stay on the workers.

    Parameters and attributes are those of :class:`rankwise.MissingLabelClassifier`. ``n_jobs`` and ``random_state`` are
    for rows in memory: on Dask nothing is random, and ``n_iter_`` counts Newton steps. The objective is proven to be
    within ``tol`` of the optimum, as that of one machine is.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import MissingLabelClassifier
    >>> X = da.from_array(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), chunks=(2, 2))
    >>> Y = np.array([[0, 0], [np.nan, 1], [1, 0], [1, np.nan]])
    >>> MissingLabelClassifier().fit(X, Y).predict(X).compute()
    array([[0, 0],
           [0, 1],
           [1, 0],
           [1, 1]])
    """


class BoostedThresholds(TreesOnDask):
    """Boosted trees and thresholds of rows that stay on the workers, with LightGBM's distributed learning.

    Parameters and attributes are those of :class:`rankwise.BoostedThresholds`. ``n_jobs`` counts the threads of one
    worker, by default those that Dask gave it. Each worker holds out the rows of its own for early stopping. The result
    is the same for the same partitions, seed, number of workers and threads. A worker that is lost during ``fit`` ends
    it with an error.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import BoostedThresholds
    >>> X = da.from_array(np.linspace(-2, 2, 400).reshape(-1, 1), chunks=(100, 1))
    >>> y = np.searchsorted([0.5, 1.0, 2.0], np.linspace(-2, 2, 400) ** 2)
    >>> model = BoostedThresholds(random_state=0, n_jobs=1).fit(X, y)
    >>> model.predict(X[::100]).compute()
    array([3, 2, 0, 1])
    """


@_online("random_state=0")
class PRank(OnlineOnDask, online.PRank):
    """Threshold perceptron for exact labels, over partitions."""


@_online('mode="mixing", random_state=0')
class PRIL(OnlineOnDask, online.PRIL):
    """Threshold perceptron for exact labels and intervals, over partitions."""


@_online("random_state=0")
class OnlineCumulativeLink(OnlineOnDask, online.OnlineCumulativeLink):
    """Class probabilities from a stream, over partitions; side by side their means and covariances are averaged."""


@_online("random_state=0")
class MultiplicativePRIL(OnlineOnDask, online.MultiplicativePRIL):
    """Multiplicative threshold perceptron, over partitions."""


@_online('mode="mixing", random_state=0')
class CuSumRank(OnlineOnDask, online.CuSumRank):
    """Cumulative-sum structured perceptron, over partitions."""


@_online("random_state=0")
class ImportanceWeightedPerceptron(OnlineOnDask, online.ImportanceWeightedPerceptron):
    """Multi-class perceptron for weighted examples, over partitions."""


@_online("random_state=0")
class LabelRanker(OnlineOnDask, label_ranking.LabelRanker):
    """Label ranking by dual ascent, over partitions."""
