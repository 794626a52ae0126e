"""Large-margin estimators whose rows stay on the workers.

The solvers run on the client, and every sum over rows is a round of tasks (:mod:`rankwise.dask._blocks`); the risk is
the plain estimator's, of rows elsewhere.

Why this solver: a gap of 1e-6 needs second order, and second derivatives of d + K - 1 parameters are as small as
gradients when d is some ten or hundred. A joint Newton step on weights and thresholds needs no separate step for the
thresholds, which would need order statistics of scores that are on no single machine. One fit takes some dozens of
rounds whatever the number of rows, and each round moves (d + K)^2 numbers.

The fit begins with the same random part of the rows, drawn by row number, and takes the same steps, so that objective,
bound and gap are those of one machine but for the rounding of sums in another order.
"""

from typing import Any

import numpy as np

from rankwise._types import Floats
from rankwise.batch.batch_estimator import BatchEstimator
from rankwise.dask._blocks import RemoteDesign, RemoteRows
from rankwise.dask._lazy import OnDask
from rankwise.dask._loading import Loaded, PartitionClasses, Partitions, classes_in
from rankwise.dask.parts import is_partitioned
from rankwise.labels import ClassOrder, encode, require_support
from rankwise.risks.coded_rows import CodedRows
from rankwise.solvers.linear_program import affordable
from rankwise.solvers.solution import Solution


def _describe(loaded: Loaded, declared: bool) -> PartitionClasses | None:
    """Classes, if they were not declared."""
    return None if declared else classes_in(loaded.y)


def _encode(loaded: Loaded, name: str, kinds: frozenset[str], order: ClassOrder) -> CodedRows:
    labels = encode(loaded.y, order, n_rows=loaded.design.n_rows)
    require_support(labels, name, kinds)
    return CodedRows(np.where(labels.is_missing, 0.0, loaded.weight), labels.lower, labels.upper)


class BatchOnDask(OnDask, BatchEstimator):
    """Base of the large-margin estimators on Dask; see the module's docstring."""

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if not is_partitioned(X):
            return super()._read(X, y, sample_weight)
        partitions = Partitions(self._as_local(), X, y, sample_weight, _describe, self.classes is not None)
        self._set_features(partitions.features)
        order = partitions.order(self.classes, partitions.described.values())
        blocks = partitions.encoded(_encode, type(self).__name__, self.label_kinds, order)
        if len(order) > 1 and not blocks.weight:
            raise ValueError("every label is missing, or its weight is zero: there is nothing to learn from.")
        self.classes_ = order.values
        rows = RemoteRows(blocks)
        self._look_at(order, rows)
        return RemoteDesign(blocks, n_features=self.n_features_in_), order, rows

    def _solve(self, design: Any, risk: Any, n_weights: int, n_offsets: int, start: Floats | None) -> Solution:
        if isinstance(design, RemoteDesign) and affordable(risk, design) and self.regularize == "none":
            # A linear programme small enough for HiGHS is small enough for the client.
            whole = design.blocks.whole
            design, risk = whole.design, risk.over(whole.rows.normalised())
        return super()._solve(design, risk, n_weights, n_offsets, start)
