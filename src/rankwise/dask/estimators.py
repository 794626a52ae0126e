"""The estimators on Dask, under the names that they have on one machine."""

from __future__ import annotations

from typing import ClassVar

from rankwise import batch, label_ranking, multilabel, online
from rankwise.dask._batch import BatchOnDask
from rankwise.dask._missing import MissingLabelsOnDask
from rankwise.dask._online import OnlineOnDask


class SVOR(BatchOnDask, batch.SVOR, abstract=True):
    """Large-margin threshold model of rows that stay on the workers, with a certified optimum.

    Parameters and attributes are those of :class:`rankwise.SVOR`. The objective, its bound and the gap are those of
    one machine but for rounding, whatever the partitions; ``solver="cutting-plane"`` takes many more rounds of tasks
    and agrees to ``tol``.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import SVOR
    >>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = SVOR(alpha=1e-4).fit(X, y)
    >>> model.predict(X[:5]).compute()
    array([1, 1, 1, 1, 1])
    >>> bool(model.gap_ <= 1e-3)
    True
    """

    plain: ClassVar = batch.SVOR


class VILMA(BatchOnDask, batch.VILMA, abstract=True):
    """Large-margin threshold model for any V-shaped loss, of rows that stay on the workers.

    Parameters and attributes are those of :class:`rankwise.VILMA`. The objective, its bound and the gap are those of
    one machine but for rounding, whatever the partitions; ``solver="cutting-plane"`` takes many more rounds of tasks
    and agrees to ``tol``.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import VILMA
    >>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = VILMA(loss="squared").fit(X, y)
    >>> model.predict(X[:5]).compute()
    array([1, 1, 1, 1, 1])
    """

    plain: ClassVar = batch.VILMA


class MORD(BatchOnDask, batch.MORD, abstract=True):
    """Threshold model as a structured-output support vector machine, of rows that stay on the workers.

    Parameters and attributes are those of :class:`rankwise.MORD`. The objective, its bound and the gap are those of
    one machine but for rounding, whatever the partitions; ``solver="cutting-plane"`` takes many more rounds of tasks
    and agrees to ``tol``.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import MORD
    >>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = MORD(alpha=1e-4).fit(X, y)
    >>> model.predict(X[:5]).compute()
    array([1, 1, 1, 1, 1])
    """

    plain: ClassVar = batch.MORD


class PiecewiseMORD(BatchOnDask, batch.PiecewiseMORD, abstract=True):
    """Several ordinal models joined at cut labels, of rows that stay on the workers.

    Parameters and attributes are those of :class:`rankwise.PiecewiseMORD`. Objective, bound and gap are those of
    one machine but for rounding, whatever the partitions; ``solver="cutting-plane"`` takes many more rounds of tasks
    and agrees to ``tol``.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import PiecewiseMORD
    >>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = PiecewiseMORD(cuts=3, alpha=1e-4).fit(X, y)
    >>> model.predict(X[:5]).compute()
    array([1, 1, 1, 1, 1])
    """

    plain: ClassVar = batch.PiecewiseMORD


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

    plain: ClassVar = multilabel.MissingLabelClassifier


class PRank(OnlineOnDask, online.PRank, abstract=True):
    """Threshold perceptron for exact labels, over partitions.

    Parameters
    ----------
    mode : {"sequential", "mixing"}, default "sequential"
        Partitions one after the other, with ``shuffle=False`` to the same bits as on one machine; or side by side from
        a shared model, which is averaged by updates after every epoch.
    **parameters
        Those of :class:`rankwise.PRank`, whose attributes this has too.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import PRank
    >>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = PRank(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) >= model.score(X, y[::-1]))
    True
    """

    plain: ClassVar = online.PRank


class PRIL(OnlineOnDask, online.PRIL, abstract=True):
    """Threshold perceptron for exact labels and intervals, over partitions.

    Parameters
    ----------
    mode : {"sequential", "mixing"}, default "sequential"
        Partitions one after the other, with ``shuffle=False`` to the same bits as on one machine; or side by side from
        a shared model, which is averaged by updates after every epoch.
    **parameters
        Those of :class:`rankwise.PRIL`, whose attributes this has too.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import PRIL
    >>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = PRIL(mode="mixing", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) >= model.score(X, y[::-1]))
    True
    """

    plain: ClassVar = online.PRIL


class MultiplicativePRIL(OnlineOnDask, online.MultiplicativePRIL, abstract=True):
    """Multiplicative threshold perceptron, over partitions.

    Parameters
    ----------
    mode : {"sequential", "mixing"}, default "sequential"
        Partitions one after the other, with ``shuffle=False`` to the same bits as on one machine; or side by side from
        a shared model, which is averaged by updates after every epoch.
    **parameters
        Those of :class:`rankwise.MultiplicativePRIL`, whose attributes this has too.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import MultiplicativePRIL
    >>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = MultiplicativePRIL(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) >= model.score(X, y[::-1]))
    True
    """

    plain: ClassVar = online.MultiplicativePRIL


class CuSumRank(OnlineOnDask, online.CuSumRank, abstract=True):
    """Cumulative-sum structured perceptron, over partitions.

    Parameters
    ----------
    mode : {"sequential", "mixing"}, default "sequential"
        Partitions one after the other, with ``shuffle=False`` to the same bits as on one machine; or side by side from
        a shared model, which is averaged by updates after every epoch.
    **parameters
        Those of :class:`rankwise.CuSumRank`, whose attributes this has too.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import CuSumRank
    >>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = CuSumRank(mode="mixing", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) >= model.score(X, y[::-1]))
    True
    """

    plain: ClassVar = online.CuSumRank


class ImportanceWeightedPerceptron(OnlineOnDask, online.ImportanceWeightedPerceptron, abstract=True):
    """Multi-class perceptron for weighted examples, over partitions.

    Parameters
    ----------
    mode : {"sequential", "mixing"}, default "sequential"
        Partitions one after the other, with ``shuffle=False`` to the same bits as on one machine; or side by side from
        a shared model, which is averaged by updates after every epoch.
    **parameters
        Those of :class:`rankwise.ImportanceWeightedPerceptron`, whose attributes this has too.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import ImportanceWeightedPerceptron
    >>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = ImportanceWeightedPerceptron(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) >= model.score(X, y[::-1]))
    True
    """

    plain: ClassVar = online.ImportanceWeightedPerceptron


class LabelRanker(OnlineOnDask, label_ranking.LabelRanker, abstract=True):
    """Label ranking by dual ascent, over partitions.

    Parameters
    ----------
    mode : {"sequential", "mixing"}, default "sequential"
        Partitions one after the other, with ``shuffle=False`` to the same bits as on one machine; or side by side from
        a shared model, which is averaged by updates after every epoch.
    **parameters
        Those of :class:`rankwise.LabelRanker`, whose attributes this has too.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import LabelRanker
    >>> X = da.from_array(np.linspace(-1, 1, 50).reshape(-1, 1), chunks=(20, 1))
    >>> y = np.repeat([1, 2, 3, 4, 5], 10)
    >>> model = LabelRanker(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) >= model.score(X, y[::-1]))
    True
    """

    plain: ClassVar = label_ranking.LabelRanker
