"""Multi-label classification with missing entries, whose rows stay on the workers.

The labels' problems are those of :mod:`rankwise.multilabel.missing_labels`; one machine solves them by dual coordinate
ascent, which goes from row to row and so cannot go to all workers at once. Here each is solved by Newton steps on
sums over rows, with the same kind of certificate: both objectives are proven to be within ``tol`` of the same optimum.
The solvers of all labels, or of as many as have small enough second derivatives, wait for each other and share their
rounds of tasks.

The risk of one label: with signs y_i = ±1, weights c_i that add up to 1, a score ``f = <w, x>`` and perhaps an
intercept b, it is ``sum_i c_i phi(m_i)``, ``m_i = y_i (f_i + b)``.

- **Hinge**, ``phi(m) = (1 - m)_+``: smoothed as in :mod:`rankwise.risks.threshold_risk`, which it is for two
  classes.
- **Logistic**, ``phi(m) = log(1 + exp(-m))``: smooth already.

The derivative ``s_i = -phi'(m_i)`` is a dual variable in [0, 1], worth ``h(s) = s`` (hinge) or its entropy (logistic).
An intercept is not regularised, so the two signs must balance: the larger side is scaled down. (h is concave and
h(0) = 0, so that scaling all s by one factor keeps at least that share of their worth, as the solver assumes.)
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from threading import Condition
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit
from sklearn.utils.metaestimators import available_if

from rankwise._types import Floats
from rankwise.dask._blocks import Blocks, RemoteDesign, RemoteRows, RowBlock
from rankwise.dask._lazy import OnDask, lazily
from rankwise.dask._loading import Loaded, Partitions
from rankwise.dask.parts import is_partitioned
from rankwise.labels import MultiLabels, encode_multilabel, is_missing
from rankwise.labels.multilabel_labels import read_multilabel
from rankwise.multilabel import MissingLabelClassifier as Plain
from rankwise.multilabel.binary_ascent import BinarySolution
from rankwise.multilabel.missing_labels import has_probabilities
from rankwise.solvers.design import Design
from rankwise.solvers.row_sums import RowRisk, RowsHere, RowSums, Sums
from rankwise.solvers.smoothing import minimise_by_smoothing

_BOTH = np.ones(2)
_NUMBERS_A_ROUND = 60_000  # that the client receives at most: half a megabyte
_MOST_THREADS = 256  # that wait for rounds at the same time, one a label


@dataclass(frozen=True)
class Hinge:
    """``(1 - m)_+``, smoothed by mu."""

    mu: float = 0.0

    def at(self, margin: Floats) -> tuple[Floats, Floats]:
        """Losses and dual variables."""
        u = 1.0 - margin
        s = np.clip(u / self.mu + 0.5, 0.0, 1.0) if self.mu > 0.0 else (u > 0.0).astype(np.float64)
        return s * u + 0.5 * self.mu * s * (1.0 - s), s

    def worth(self, s: Floats) -> Floats:
        """What dual variables add to the lower bound."""
        return s

    def second(self, margin: Floats) -> Floats:
        """Second derivatives."""
        return np.asarray((np.abs(1.0 - margin) < 0.5 * self.mu) / self.mu)


@dataclass(frozen=True)
class Logistic:
    """``log(1 + exp(-m))``; methods as those of :class:`Hinge`."""

    def at(self, margin: Floats) -> tuple[Floats, Floats]:
        """Losses and dual variables."""
        return np.logaddexp(0.0, -margin), expit(-margin)

    def worth(self, s: Floats) -> Floats:
        """What dual variables add to the lower bound."""
        return np.asarray(entr(s) + entr(1.0 - s))

    def second(self, margin: Floats) -> Floats:
        """Second derivatives."""
        return np.asarray(expit(margin) * expit(-margin))


@dataclass(frozen=True, eq=False)
class SignedRows(RowsHere):
    """Rows with the sign of one label; weight zero where it is not annotated."""

    sign: Floats


def _evaluate(
    rows: SignedRows, scores: Floats, b: Floats, loss: Hinge | Logistic, scale: Floats
) -> tuple[Floats, float, float, Floats]:
    """Derivatives by score; risk, worth of the dual point, and dual variables of each sign (2,).

    Dual variables of rows with sign +1 are multiplied by ``scale[0]``, the others' by ``scale[1]``.
    """
    c, positive = rows.weight, rows.sign > 0
    losses, s = loss.at(rows.sign * (scores[:, 0] + b.sum()))
    s = s * np.where(positive, scale[0], scale[1])
    sides = np.array([np.sum((c * s)[positive]), np.sum((c * s)[~positive])])
    return (-c * rows.sign * s)[:, None], float(np.sum(c * losses)), float(np.sum(c * loss.worth(s))), sides


def _curvature(rows: SignedRows, design: Design, scores: Floats, b: Floats, loss: Hinge | Logistic) -> Sums:
    """Second derivatives by weights (d, d), by weights and intercept (d,), by intercept."""
    second = rows.weight * loss.second(rows.sign * (scores[:, 0] + b.sum()))
    return design.gram(second), design.pull(second[:, None])[0], float(second.sum())


class MarginRisk(RowRisk):
    """Mean loss of margins; a :class:`rankwise.solvers.risk.Risk`, smooth with the logistic loss."""

    n_scores = 1
    unit = 1.0

    def __init__(self, rows: RowSums, loss: Hinge | Logistic, *, fit_intercept: bool) -> None:
        self.rows, self.loss, self.n_offsets = rows, loss, int(fit_intercept)

    def start(self) -> Floats:
        """Intercept to start from."""
        return np.zeros(self.n_offsets)

    def tidy(self, b: Floats) -> Floats:
        """Any intercept will do."""
        return b

    def derivatives(self, scores: Any, b: Floats) -> tuple[float, Any, Floats]:
        """Risk and its derivatives by scores and intercept."""
        r, risk, _, sides = self.rows.slopes(_evaluate, scores, b, self.loss, _BOTH)
        return float(risk), r, (sides[1:] - sides[:1])[: self.n_offsets]

    def exact(self, scores: Any, b: Floats) -> tuple[float, Floats]:
        """The risk itself."""
        return float(self.rows.slopes(_evaluate, scores, b, type(self.loss)(), _BOTH)[1]), b

    def dual(self, scores: Any, b: Floats, *, balanced: bool) -> tuple[float, Any, Floats]:
        """Feasible dual point: its worth, and its pull at scores and intercept, at which it does not pull."""
        scale = _BOTH
        if self.n_offsets:
            sides = self.rows.slopes(_evaluate, scores, b, self.loss, _BOTH)[3]
            scale = np.divide(sides.min(), sides, out=np.zeros(2), where=sides > 0.0)
        r, _, worth, _ = self.rows.slopes(_evaluate, scores, b, self.loss, scale)
        return float(worth), r, np.zeros(self.n_offsets)

    def hessian(self, design: Any, scores: Any, b: Floats) -> Floats:
        """Second derivatives by weights and intercept."""
        by_weight, by_both, by_intercept = self.rows.mean(_curvature, design, scores, b, self.loss)
        if not self.n_offsets:
            return np.asarray(by_weight)
        return np.block([[by_weight, by_both[:, None]], [by_both[None], np.array([[by_intercept]])]])


class HingeRisk(MarginRisk):
    """Mean hinge loss, whose kinks are smoothed."""

    first_smoothing = 4.0

    def smoothed(self, mu: float) -> Self:
        """The risk smoothed by mu."""
        other = copy(self)
        other.loss = Hinge(mu)
        return other


@dataclass(frozen=True, eq=False)
class LabelRows(RowsHere):
    """Rows with the codes of all labels (n, L), -1 for none."""

    codes: NDArray[np.int8]

    def of(self, label: int) -> SignedRows:
        """The rows as one label sees them."""
        code = self.codes[:, label]
        return SignedRows(np.where(code >= 0, self.weight, 0.0), np.where(code == 1, 1.0, -1.0))


def _all_requests(block: RowBlock, requests: tuple[tuple[int, Callable[..., Sums], tuple[Any, ...]], ...]) -> Sums:
    rows: Any = block.rows
    seen = {label: RowBlock(block.design, rows.of(label)) for label, _, _ in requests}
    return tuple(function(seen[label], *arguments) for label, function, arguments in requests)


class SharedRounds:
    """Sums for several solvers that run in threads, one for each label: a round of tasks for all that wait for one."""

    def __init__(self, blocks: Blocks, labels: Iterable[int]) -> None:
        self.blocks = blocks
        self._busy = set(labels)
        self._requests: dict[int, Any] = {}
        self._results: dict[int, Any] = {}
        self._turn = Condition()

    def sum(self, label: int, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Sum over all rows of ``function(block, *arguments)`` with the rows as the label sees them."""
        with self._turn:
            self._requests[label] = (label, function, arguments)
            self._run_if_all_wait()
            self._turn.wait_for(lambda: label in self._results)
            result: Sums | BaseException = self._results.pop(label)
        if isinstance(result, BaseException):
            raise result
        return result

    def leave(self, label: int) -> None:
        """Stop waiting for this label."""
        with self._turn:
            self._busy.discard(label)
            self._run_if_all_wait()

    def _run_if_all_wait(self) -> None:
        if not self._requests or len(self._requests) < len(self._busy):
            return
        labels = sorted(self._requests)
        try:
            results: Any = self.blocks.sum(_all_requests, tuple(self._requests[label] for label in labels))
        except BaseException as error:
            results = [error] * len(labels)
        self._requests.clear()
        self._results.update(zip(labels, results, strict=True))
        self._turn.notify_all()


@dataclass(frozen=True)
class OneLabel:
    """Sums over the annotated rows of one label; there is no ``part`` of them, which might miss a class."""

    rounds: SharedRounds
    label: int
    weight: float  # of its annotated rows

    def sum(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Sum over the annotated rows."""
        return self.rounds.sum(self.label, function, *arguments)


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
        values = sorted({value for *_, present in partitions.described.values() for value in present}, key=repr)
        classes = encode_multilabel(np.array([values]), None).classes
        blocks = partitions.encoded(_encode, classes)
        labels = MultiLabels(np.empty((0, n_labels), dtype=np.int8), classes, names)
        n_annotated, weight, n_positive = RemoteRows(blocks).count(_count)
        self._set_features(partitions.features)
        constant = self._constant_labels(labels, n_annotated, n_positive, weighted=True)
        solved = self._solve_all(blocks, weight, constant)
        solutions = [
            self._constant(1.0 if n_positive[j] else -1.0) if constant[j] else solved[j]
            for j in range(n_annotated.size)
        ]
        self._accept(solutions, labels, n_annotated, constant)

    def _solve_all(self, blocks: Blocks, weight: Any, constant: NDArray[np.bool_]) -> dict[int, BinarySolution]:
        wanted = np.flatnonzero(~constant).tolist()
        size = min(_MOST_THREADS, max(1, _NUMBERS_A_ROUND // (blocks.n_features + 1) ** 2))
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
            rows = RemoteRows(OneLabel(rounds, label, weight))
            kind, loss = (HingeRisk, Hinge()) if self.loss == "hinge" else (MarginRisk, Logistic())
            risk = kind(rows, loss, fit_intercept=bool(self.fit_intercept))
            penalty = np.concatenate([np.ones(design.n_features), np.zeros(risk.n_offsets)])
            solution = minimise_by_smoothing(
                design, risk, float(self.alpha), penalty, tol=self.tol, max_iter=self.max_iter
            )
        finally:
            rounds.leave(label)
        weights, offsets = np.split(solution.theta, [design.n_features])
        bounds = solution.objective, solution.lower_bound
        return BinarySolution(weights, float(offsets.sum()), *bounds, solution.n_iter)

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probability of the positive class of every label, (n, L); only with the logistic loss."""
        return lazily(Plain, "predict_proba")(self, X)
