"""Large-margin estimators whose rows stay on the workers.

The solvers of :mod:`rankwise.solvers` see rows only through sums over them: the risk, its derivatives by weights and
offsets, its second derivatives, and what a dual point adds up to. So they run on the client as they are, and every sum
becomes one round of tasks (:mod:`rankwise.dask._blocks`). Scores never leave the workers: the client knows them by the
weights that make them, and a task computes them again, which costs less than to keep and read them.

Why this solver: a gap of 1e-6 needs second order, and second derivatives of d + K - 1 parameters are as small as
gradients when d is some ten or hundred. A Newton step on (weights, thresholds) jointly needs no step of its own for
the thresholds, which would need order statistics of scores that are nowhere together. One fit takes some dozens of
rounds whatever the number of rows, and each round moves (d + K)^2 numbers.

The same random part of the rows begins, drawn by row number, and the same steps follow, so that objective, bound and
gap are those of one machine but for the rounding of sums in another order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from dask.delayed import delayed
from dask.sizeof import sizeof
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise.batch._estimator import BatchEstimator
from rankwise.batch._maxima_risk import MaximaRisk
from rankwise.batch._threshold_risk import ThresholdRisk
from rankwise.dask._blocks import Block, Blocks, Sums
from rankwise.dask._labels import Found, found_in, merged_order
from rankwise.dask._lazy import OnDask
from rankwise.dask._parts import Engine, in_parts, is_partitioned, naming_partition
from rankwise.labels import ClassOrder, Labels, check_weights, declared_order, encode, require_support
from rankwise.solvers.design import Design
from rankwise.solvers.linear_program import affordable
from rankwise.solvers.solution import Solution

Floats = NDArray[np.float64]


# -- rows that the solvers do not see ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores X W' of rows elsewhere, known by the weights W (Z, d); linear in them."""

    __array_ufunc__: ClassVar[None] = None  # a NumPy number times this is left to this

    weights: Floats

    def __add__(self, other: Scores) -> Scores:
        return Scores(self.weights + other.weights)

    def __sub__(self, other: Scores) -> Scores:
        return Scores(self.weights - other.weights)

    def __rmul__(self, factor: float) -> Scores:
        return Scores(factor * self.weights)


@dataclass(frozen=True, eq=False)
class Pulled:
    """Derivatives R by the scores of rows elsewhere, known by R' X (Z, d)."""

    by_weight: Floats


class RemoteDesign:
    """What the solvers ask of :class:`rankwise.solvers.design.Design`, for rows in blocks."""

    def __init__(self, blocks: Blocks, *, n_features: int) -> None:
        self.blocks, self.n_features = blocks, n_features
        self.n_rows, self.per_row = blocks.n_rows, blocks.n_stored / max(blocks.n_rows, 1)

    def times(self, W: Floats) -> Scores:
        """Scores of the weight vectors W (Z, d)."""
        return Scores(W)

    def pull(self, R: Pulled) -> Floats:
        """Return the transposed product (Z, d)."""
        return R.by_weight if self.n_features else R.by_weight[:, :0]

    def inner(self, R: Pulled, S: Scores) -> float:
        """<R, X W'> = <R' X, W>; zero where there are no features."""
        return float(np.sum(self.pull(R) * S.weights)) if S.weights.size else 0.0

    def part(self, step: int) -> int:
        """A part is known by its step."""
        return step

    def take(self, step: int) -> RemoteDesign:
        """The rows of a part."""
        return RemoteDesign(self.blocks.part(step), n_features=self.n_features)

    def without_columns(self) -> RemoteDesign:
        """The same rows with no features."""
        return RemoteDesign(self.blocks, n_features=0)


def _evaluate(block: Block, risk: Any, W: Floats, arguments: tuple[Any, ...]) -> Sums:
    """Sums that ``risk._evaluate`` makes, with derivatives by weights in place of those by scores."""
    *sums, r, last = _of(block, risk)._evaluate(block.design.times(W), *arguments)
    return (*sums, block.design.pull(r), last)


def _exactly(block: Block, risk: Any, W: Floats, offsets: Floats) -> Sums:
    """The risk without its derivatives."""
    return (_of(block, risk)._exactly(block.design.times(W), offsets),)


def _sides(block: Block, risk: Any, W: Floats, t: Floats, mu: float) -> Sums:
    """Sums of the dual variables on both sides of every threshold."""
    return tuple(_of(block, risk)._sides(block.design.times(W), t, mu))


def _second(block: Block, risk: Any, W: Floats, with_columns: bool, offsets: Floats, mu: float) -> Sums:
    """Second derivatives by weights and offsets."""
    scores = block.design.times(W)
    design = block.design if with_columns else block.design.without_columns()
    return tuple(_of(block, risk)._curvature(design, scores, offsets, mu))


def _weight_of_codes(block: Block, risk: Any) -> Sums:
    return tuple(_of(block, risk)._weight_of_codes())


def _n_pieces(block: Block, risk: Any) -> Sums:
    return (_of(block, risk).n_pieces(),)


def _of(block: Block, risk: Any) -> Any:
    return risk.of_rows(block.lower, block.upper, block.weight)


class _RemoteRisk:
    """What both risks do when their rows are in blocks; ``rule`` is the risk without rows, which the tasks fill."""

    rule: Any
    blocks: Blocks

    def take(self, step: int) -> Any:
        return type(self)(self.rule, self.blocks.part(step))  # type: ignore[call-arg]

    def n_pieces(self) -> int:
        return int(self.blocks.sum(_n_pieces, self.rule)[0])

    def _evaluate(self, scores: Scores, *arguments: Any) -> tuple[Any, ...]:
        *sums, pulled, last = self.blocks.mean(_evaluate, self.rule, scores.weights, arguments)
        return (*sums, Pulled(pulled), last)

    def _exactly(self, scores: Scores, offsets: Floats) -> float:
        return float(self.blocks.mean(_exactly, self.rule, scores.weights, offsets)[0])

    def _curvature(self, design: RemoteDesign, scores: Scores, offsets: Floats, mu: float) -> Sums:
        with_columns = design.n_features > 0
        return self.blocks.mean(_second, self.rule, scores.weights, with_columns, offsets, mu)


class RemoteThresholdRisk(_RemoteRisk, ThresholdRisk):  # type: ignore[misc] # scores of another kind
    """SVOR's risk of rows in blocks."""

    def __init__(self, rule: ThresholdRisk, blocks: Blocks) -> None:
        super().__init__(rule.lower, rule.upper, rule.weight, rule.n_offsets + 1, explicit=rule.explicit)
        self.rule, self.blocks = rule, blocks

    def best_offsets(self, scores: Any) -> None:
        """Order statistics would need the scores in one place: the smoothed inner loop certifies its result."""

    def _weight_of_codes(self) -> tuple[Floats, Floats]:
        by_lower, by_upper = self.blocks.mean(_weight_of_codes, self.rule)
        return by_lower, by_upper

    def _sides(self, scores: Any, t: Floats, mu: float) -> tuple[Floats, Floats]:
        low, high = self.blocks.mean(_sides, self.rule, scores.weights, t, mu)
        return low, high


class RemoteMaximaRisk(_RemoteRisk, MaximaRisk):  # type: ignore[misc] # scores of another kind
    """The risk of VILMA, MORD and PW-MORD of rows in blocks."""

    def __init__(self, rule: MaximaRisk, blocks: Blocks) -> None:
        super().__init__(rule.lower, rule.upper, rule.weight, rule.beta, rule.loss, joint=rule.joint)
        self.rule, self.blocks = rule, blocks


# -- from partitions to blocks -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Loaded:
    """A partition with checked features and weights, and labels as they came."""

    design: Design
    names: NDArray[Any] | None
    y: Any
    weight: Floats

    def __sizeof__(self) -> int:  # by this Dask decides what to spill and what to move
        return int(self.design.nbytes + sizeof(self.y) + self.weight.nbytes)


@dataclass(frozen=True)
class _Description:
    """What the client must know about a partition; classes only if they were not declared."""

    n_features: int
    names: NDArray[Any] | None
    classes: Found | None
    has_weight: bool


def _load(model: BatchEstimator, number: int, X: Any, y: Any, sample_weight: Any) -> _Loaded | None:
    """Check one partition; None if it is empty, as filters leave some."""
    if X.shape[0] == 0:
        return None
    with naming_partition(number):
        model = clone(model)
        design = model._design(model._rows(X, reset=True))
        weight = check_weights(sample_weight, design.n_rows)
        weight = weight if weight.size else np.ones(design.n_rows)
        return _Loaded(design, getattr(model, "feature_names_in_", None), y, weight)


def _encode(model: BatchEstimator, number: int, loaded: _Loaded, order: ClassOrder) -> Block:
    with naming_partition(number):
        labels = encode(loaded.y, order, n_rows=loaded.design.n_rows)
        require_support(labels, type(model).__name__, model.label_kinds)
        weight = np.where(labels.is_missing, 0.0, loaded.weight)
        return Block(loaded.design, labels.lower, labels.upper, weight)


def _describe(number: int, loaded: _Loaded | None, declared: bool) -> _Description | None:
    if loaded is None:
        return None
    with naming_partition(number):
        classes = None if declared else found_in(loaded.y)
        return _Description(loaded.design.n_features, loaded.names, classes, bool(loaded.weight.any()))


@dataclass(frozen=True)
class RemoteLabels:
    """Labels of rows in blocks: their order is all that the client knows."""

    order: ClassOrder


class BatchOnDask(OnDask):
    """Base of the large-margin estimators on Dask; see the module's docstring."""

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if not is_partitioned(X):
            return super()._read(X, y, sample_weight)  # type: ignore[misc]
        model: Any = self._as_local()
        engine = Engine()
        load, describe, encode_part = (delayed(f, pure=False) for f in (_load, _describe, _encode))
        loaded = engine.kept([load(model, p, *part) for p, part in enumerate(in_parts(X, y, sample_weight))])
        declared = model.classes is not None
        described = engine.computed([describe(p, part, declared) for p, part in enumerate(loaded)])
        full = {p: part for p, part in enumerate(described) if part is not None}
        if not full:
            raise ValueError("every partition is empty: there is nothing to learn from.")
        self._set_features(list(full), [(part.n_features, part.names) for part in full.values()])
        if not any(part.has_weight for part in full.values()):
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
        if declared:
            order = declared_order(model.classes)
        else:
            order = merged_order([part.classes for part in full.values()], warn=True)
        encoded = engine.kept([encode_part(model, p, loaded[p], order) for p in full])
        blocks = Blocks(encoded, self.n_features_in_, engine)
        if len(order) > 1 and not blocks.weight:
            raise ValueError("every label is missing, or its weight is zero: there is nothing to learn from.")
        self.classes_ = order.values
        return RemoteDesign(blocks, n_features=self.n_features_in_), RemoteLabels(order), blocks

    def _risk(self, labels: Any, weight: Any) -> Any:
        if not isinstance(labels, RemoteLabels):
            return super()._risk(labels, weight)  # type: ignore[misc]
        none = np.empty(0, dtype=np.int32)
        rule = super()._risk(Labels(labels.order, none, none), np.empty(0))  # type: ignore[misc]
        remote = RemoteThresholdRisk if isinstance(rule, ThresholdRisk) else RemoteMaximaRisk
        return remote(rule, weight)

    def _solve(self, design: Any, risk: Any, n_weights: int, n_offsets: int, start: Floats | None) -> Solution:
        if isinstance(design, RemoteDesign) and self.regularize == "none" and affordable(risk, design):  # type: ignore
            # A linear programme small enough for HiGHS is small enough for the client.
            whole = design.blocks.whole
            design = whole.design
            risk = risk.rule.of_rows(whole.lower, whole.upper, whole.weight / whole.weight.sum())
        return super()._solve(design, risk, n_weights, n_offsets, start)  # type: ignore[misc, no-any-return]
