"""Multi-label classification with missing entries, whose rows stay on the workers.

The labels' problems are those of :mod:`rankwise.multilabel.missing_labels`; one machine solves them by dual coordinate
ascent, which goes from row to row and so cannot go to all workers at once. Here each is solved by Newton steps on
sums over rows (:mod:`rankwise.dask._margins`), with the same kind of certificate: both objectives are proven to be
within ``tol`` of the same optimum. The solvers of all labels, or of as many as have small enough second derivatives,
wait for each other and share their rounds of tasks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from rankwise.dask._blocks import Blocks, Sums
from rankwise.dask._lazy import OnDask, lazily
from rankwise.dask._margins import LabelBlock, LabelDesign, LabelRisk, MarginLoss, SharedRounds
from rankwise.dask._parts import Engine, in_parts, is_partitioned, naming_partition
from rankwise.labels import MultiLabels, encode_multilabel, is_missing
from rankwise.labels._multilabel import _read
from rankwise.multilabel import MissingLabelClassifier as Plain
from rankwise.multilabel.binary_ascent import BinarySolution
from rankwise.multilabel.missing_labels import _has_probabilities
from rankwise.solvers.design import Design
from rankwise.solvers.smoothing import minimise_by_smoothing

_NUMBERS_A_ROUND = 60_000  # that the client receives at most: half a megabyte


def _load(model: Plain, number: int, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...] | None:
    if X.shape[0] == 0:
        return None
    with naming_partition(number):
        model = clone(model)
        rows = model._rows(X, reset=True)
        design = Design(rows, model.n_features_in_)
        weight = model._weights(sample_weight, rows)
        weight = weight if weight.size else np.ones(design.n_rows)
        return design, getattr(model, "feature_names_in_", None), y, weight


def _describe(number: int, loaded: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Features, their names, number of labels, their names, and the values that occur."""
    if loaded is None:
        return None
    design, names, y, _ = loaded
    with naming_partition(number):
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        table, label_names = _read(y)
        if table.ndim != 2:
            encode_multilabel(y)  # says what is wrong
        values = set(table.ravel().tolist()) if table.dtype.kind == "O" else set(np.unique(table).tolist())
        return design.n_features, names, table.shape[1], label_names, [v for v in values if not is_missing(v)]


def _encode(number: int, loaded: tuple[Any, ...], classes: NDArray[Any]) -> LabelBlock:
    design, _, y, weight = loaded
    with naming_partition(number):
        codes = encode_multilabel(y, classes=classes, n_rows=design.n_rows).codes
        return LabelBlock(design, np.where(weight[:, None] > 0, codes, np.int8(-1)), weight)


def _count(block: LabelBlock) -> Sums:
    """Of every label: annotated rows, their weight, and how many of them are positive."""
    annotated = block.codes >= 0
    return annotated.sum(axis=0), block.weight @ annotated, (block.codes == 1).sum(axis=0)


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
            model._learn_parts(in_parts(X, y, sample_weight))
        return self

    def _learn_parts(self, parts: list[tuple[Any, ...]]) -> None:
        load, describe, encode = (delayed(function, pure=False) for function in (_load, _describe, _encode))
        model = self._as_local()
        engine = Engine()
        loaded = engine.kept([load(model, p, *part) for p, part in enumerate(parts)])
        described = engine.computed([describe(p, part) for p, part in enumerate(loaded)])
        full = {p: part for p, part in enumerate(described) if part is not None}
        if not full:
            raise ValueError("every partition is empty: there is nothing to learn from.")
        first = next(iter(full))
        for p, part in full.items():
            if part[2:4] != full[first][2:4]:
                raise ValueError(
                    f"partition {p} has {part[2]} labels {part[3] or ''}, partition {first} has {full[first][2]} "
                    f"{full[first][3] or ''}: all must have the same."
                )
        values = sorted({value for part in full.values() for value in part[4]}, key=repr)
        classes = encode_multilabel(np.array([values]), None).classes
        n_features = full[first][0]
        blocks = Blocks(engine.kept([encode(p, loaded[p], classes) for p in full]), n_features, engine)
        labels = MultiLabels(np.empty((0, full[first][2]), dtype=np.int8), classes, full[first][3])
        n_annotated, weight, n_positive = blocks.sum(_count)
        self._set_features(list(full), [part[:2] for part in full.values()])
        constant = self._constant_labels(labels, n_annotated, n_positive, weighted=True)
        solved = self._solve_all(blocks, weight, constant)
        found = [
            self._constant(1.0 if n_positive[j] else -1.0) if constant[j] else solved[j]
            for j in range(n_annotated.size)
        ]
        self._accept(found, labels, n_annotated, constant)

    def _solve_all(self, blocks: Blocks, weight: Any, constant: NDArray[np.bool_]) -> dict[int, BinarySolution]:
        loss = MarginLoss(self.loss, bool(self.fit_intercept))
        wanted = np.flatnonzero(~constant).tolist()
        size = max(1, _NUMBERS_A_ROUND // (blocks.n_features + 1) ** 2)
        solved: dict[int, BinarySolution] = {}
        for first in range(0, len(wanted), size):
            some = wanted[first : first + size]
            rounds = SharedRounds(blocks, some)
            with ThreadPoolExecutor(len(some)) as threads:
                jobs = [threads.submit(self._solve_one, rounds, j, float(weight[j]), loss) for j in some]
                solved.update((j, job.result()) for j, job in zip(some, jobs, strict=True))
        return solved

    def _solve_one(self, rounds: SharedRounds, label: int, weight: float, loss: MarginLoss) -> BinarySolution:
        try:
            design: Any = LabelDesign(rounds.blocks)
            risk: Any = LabelRisk(rounds, label, weight, loss)
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
