"""Multi-label classification with missing entries, whose rows stay on the workers.

The labels' problems are those of :mod:`rankwise.multilabel.missing_labels`; one machine solves them by dual coordinate
ascent, which goes from row to row and so cannot go to all workers at once. Here each is solved by Newton steps on
sums over rows (:mod:`rankwise.dask._margins`), with the same kind of certificate: both objectives are proven to be
within ``tol`` of the same optimum. The solvers of all labels, or of as many as have small enough second derivatives,
wait for each other and share their rounds of tasks.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from rankwise.dask._blocks import Blocks, RemoteDesign, RemoteRows
from rankwise.dask._lazy import OnDask, lazily
from rankwise.dask._loading import Loaded, Partitions
from rankwise.dask._margins import LabelRows, SharedRounds, label_risk
from rankwise.dask._parts import is_partitioned
from rankwise.labels import MultiLabels, encode_multilabel, is_missing
from rankwise.labels._multilabel import read_multilabel
from rankwise.multilabel import MissingLabelClassifier as Plain
from rankwise.multilabel.binary_ascent import BinarySolution
from rankwise.multilabel.missing_labels import _has_probabilities
from rankwise.solvers.row_sums import Sums
from rankwise.solvers.smoothing import minimise_by_smoothing

_NUMBERS_A_ROUND = 60_000  # that the client receives at most: half a megabyte


def _describe(loaded: Loaded) -> tuple[int, Any, list[Any]]:
    """Number of labels, their names, and the values that occur."""
    if loaded.y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    table, names = read_multilabel(loaded.y)
    if table.ndim != 2:
        encode_multilabel(loaded.y)  # says what is wrong
    values = set(table.ravel().tolist()) if table.dtype.kind == "O" else set(np.unique(table).tolist())
    return table.shape[1], names, [value for value in values if not is_missing(value)]


def _encode(loaded: Loaded, classes: NDArray[Any]) -> LabelRows:
    codes = encode_multilabel(loaded.y, classes=classes, n_rows=loaded.design.n_rows).codes
    return LabelRows(loaded.weight, np.where(loaded.weight[:, None] > 0, codes, np.int8(-1)))


def _count(rows: LabelRows) -> Sums:
    """Of every label: annotated rows, their weight, and how many of them are positive."""
    annotated = rows.codes >= 0
    return annotated.sum(axis=0), rows.weight @ annotated, (rows.codes == 1).sum(axis=0)


class MissingLabelsOnDask(OnDask, Plain):
    """Base of the classifier on Dask; see the module's docstring."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the annotated entries.

        Parameters
        ----------
        X : Dask array, Dask dataframe, list of delayed blocks, or what the plain estimator takes
            Features.
        y, sample_weight : the same, or arrays where X is a Dask array
            Annotations (n, L) and weights, in the same partitions.
        """
        if not is_partitioned(X):
            return super().fit(X, y, sample_weight)
        with self._afresh() as model:
            model._validate_params()
            model._learn_parts(Partitions(model._as_local(), X, y, sample_weight, _describe))
        return self

    def _learn_parts(self, partitions: Partitions) -> None:
        first, (n_labels, names, _) = next(iter(partitions.described.items()))
        for p, (n, others, _) in partitions.described.items():
            if (n, others) != (n_labels, names):
                raise ValueError(
                    f"partition {p} has {n} labels {others or ''}, partition {first} has {n_labels} {names or ''}: "
                    f"all must have the same."
                )
        values = sorted({value for *_, found in partitions.described.values() for value in found}, key=repr)
        classes = encode_multilabel(np.array([values]), None).classes
        blocks = partitions.encoded(_encode, classes)
        labels = MultiLabels(np.empty((0, n_labels), dtype=np.int8), classes, names)
        n_annotated, weight, n_positive = RemoteRows(blocks).count(_count)
        self._set_features(partitions.features)
        constant = self._constant_labels(labels, n_annotated, n_positive, weighted=True)
        solved = self._solve_all(blocks, weight, constant)
        found = [
            self._constant(1.0 if n_positive[j] else -1.0) if constant[j] else solved[j]
            for j in range(n_annotated.size)
        ]
        self._accept(found, labels, n_annotated, constant)

    def _solve_all(self, blocks: Blocks, weight: Any, constant: NDArray[np.bool_]) -> dict[int, BinarySolution]:
        wanted = np.flatnonzero(~constant).tolist()
        size = max(1, _NUMBERS_A_ROUND // (blocks.n_features + 1) ** 2)
        solved: dict[int, BinarySolution] = {}
        for first in range(0, len(wanted), size):
            some = wanted[first : first + size]
            rounds = SharedRounds(blocks, some)
            with ThreadPoolExecutor(len(some)) as threads:
                jobs = [threads.submit(self._solve_one, rounds, j, float(weight[j])) for j in some]
                solved.update((j, job.result()) for j, job in zip(some, jobs, strict=True))
        return solved

    def _solve_one(self, rounds: SharedRounds, label: int, weight: float) -> BinarySolution:
        try:
            design = RemoteDesign(rounds.blocks, n_features=rounds.blocks.n_features)
            design.n_rows = 0  # so that the solver does not begin with a part of them
            risk = label_risk(rounds, label, weight, self.loss, fit_intercept=bool(self.fit_intercept))
            penalty = np.concatenate([np.ones(design.n_features), np.zeros(risk.n_offsets)])
            found = minimise_by_smoothing(
                design, risk, float(self.alpha), penalty, tol=self.tol, max_iter=self.max_iter
            )
        finally:
            rounds.leave(label)
        d = design.n_features
        bounds = found.objective, found.lower_bound
        return BinarySolution(found.theta[:d], float(found.theta[d:].sum()), *bounds, found.n_iter)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probability of the positive class of every label, (n, L); only with the logistic loss."""
        return lazily(Plain, "predict_proba")(self, X)
