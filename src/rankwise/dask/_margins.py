"""The loss of one yes-or-no label as an oracle for the smoothing solver, with rows in blocks.

With signs y_i = ±1, weights c_i that add up to 1, a score ``f = <w, x>`` and perhaps an intercept b, the risk is
``sum_i c_i phi(m_i)``, ``m_i = y_i (f_i + b)``.

- **Hinge**, ``phi(m) = (1 - m)_+``: smoothed as in :mod:`rankwise.batch._threshold_risk`, which it is for two
  classes.
- **Logistic**, ``phi(m) = log(1 + exp(-m))``: smooth already.

The derivative ``s_i = -phi'(m_i)`` is a dual variable in [0, 1], worth ``h(s) = s`` (hinge) or its entropy (logistic).
An intercept is not regularised, so the two signs must balance: the larger side is scaled down. (h is concave and
h(0) = 0, so that scaling all s by one factor keeps at least that share of their worth, as the solver assumes.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit

from rankwise.dask._batch import Pulled, RemoteDesign, Scores
from rankwise.dask._blocks import Blocks, Sums

Floats = NDArray[np.float64]

_BOTH = np.ones(2)


@dataclass(frozen=True)
class MarginLoss:
    """A loss of margins, with the weights and signs of some rows given to each of its methods."""

    loss: str
    fit_intercept: bool

    def evaluate(self, f: Floats, b: Floats, sign: Floats, c: Floats, mu: float, scale: Floats) -> tuple[Any, ...]:
        """Risk, worth of the dual point, derivative by score (n,), and dual variables of each sign (2,).

        Dual variables of rows with sign +1 are multiplied by ``scale[0]``, the others' by ``scale[1]``.
        """
        margin = sign * (f + b.sum())
        if self.loss == "hinge":
            u = 1.0 - margin
            s = np.clip(u / mu + 0.5, 0.0, 1.0) if mu > 0.0 else (u > 0.0).astype(np.float64)
            risk = float(np.sum(c * (s * u + 0.5 * mu * s * (1.0 - s))))
        else:
            s = expit(-margin)
            risk = float(np.sum(c * np.logaddexp(0.0, -margin)))
        s = s * np.where(sign > 0, scale[0], scale[1])
        worth = s if self.loss == "hinge" else entr(s) + entr(1.0 - s)
        sides = np.array([np.sum((c * s)[sign > 0]), np.sum((c * s)[sign < 0])])
        return risk, float(np.sum(c * worth)), -c * sign * s, sides

    def second(self, f: Floats, b: Floats, sign: Floats, c: Floats, mu: float) -> Floats:
        """Second derivatives by score (n,)."""
        margin = sign * (f + b.sum())
        if self.loss == "hinge":
            return np.asarray(c / mu * (np.abs(1.0 - margin) < 0.5 * mu))
        return np.asarray(c * expit(margin) * expit(-margin))


@dataclass(frozen=True, eq=False)
class LabelBlock:
    """Rows of one partition: features, codes of all labels (n, L) with -1 for none, and weights."""

    design: Any
    codes: NDArray[np.int8]
    weight: Floats

    def __sizeof__(self) -> int:  # by this Dask decides what to spill and what to move
        return int(self.design.nbytes + self.codes.nbytes + self.weight.nbytes)

    def pieces(self) -> list[LabelBlock]:
        """One piece: the arrays of a row are many enough already."""
        return [self]

    def size(self) -> tuple[int, int, float]:
        """Rows, stored entries, and the sum of the weights."""
        return self.design.n_rows, self.design.n_stored, float(self.weight.sum())

    def of(self, label: int) -> tuple[Floats, Floats]:
        """Signs of a label, and weights that are zero where it is not annotated."""
        code = self.codes[:, label]
        return np.where(code == 1, 1.0, -1.0), np.where(code >= 0, self.weight, 0.0)


def evaluate_label(
    block: LabelBlock, label: int, loss: MarginLoss, W: Floats, b: Floats, mu: float, scale: Floats
) -> Sums:
    """Risk, worth, derivative by weights (1, d), dual variables of each sign."""
    risk, worth, r, sides = loss.evaluate(block.design.times(W)[:, 0], b, *block.of(label), mu, scale)
    return risk, worth, block.design.pull(r[:, None]), sides


def second_of_label(block: LabelBlock, label: int, loss: MarginLoss, W: Floats, b: Floats, mu: float) -> Sums:
    """Second derivatives by weights (d, d), by weights and intercept (d,), by intercept."""
    second = loss.second(block.design.times(W)[:, 0], b, *block.of(label), mu)
    return block.design.gram(second), block.design.pull(second[:, None])[0], float(second.sum())


def _all_requests(block: LabelBlock, requests: tuple[tuple[Callable[..., Sums], tuple[Any, ...]], ...]) -> Sums:
    return tuple(function(block, *arguments) for function, arguments in requests)


class SharedRounds:
    """Sums for several solvers that run in threads, one round of tasks for all that wait for one.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    labels : iterable of int
        Who takes part, until it leaves.
    """

    def __init__(self, blocks: Blocks, labels: Any) -> None:
        self.blocks = blocks
        self._busy = set(labels)
        self._requests: dict[int, Any] = {}
        self._results: dict[int, Any] = {}
        self._turn = Condition()

    def sum(self, label: int, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Sum over all rows of ``function(block, label, *arguments)``."""
        with self._turn:
            self._requests[label] = (function, (label, *arguments))
            self._run_if_all_wait()
            self._turn.wait_for(lambda: label in self._results)
            result = self._results.pop(label)
        if isinstance(result, BaseException):
            raise result
        return result  # type: ignore[no-any-return]

    def leave(self, label: int) -> None:
        """Wait for this one no longer."""
        with self._turn:
            self._busy.discard(label)
            self._run_if_all_wait()

    def _run_if_all_wait(self) -> None:
        if not self._requests or len(self._requests) < len(self._busy):
            return
        labels = sorted(self._requests)
        try:
            found: Any = self.blocks.sum(_all_requests, tuple(self._requests[label] for label in labels))
        except BaseException as error:
            found = [error] * len(labels)
        self._requests.clear()
        self._results.update(zip(labels, found, strict=True))
        self._turn.notify_all()


class LabelDesign(RemoteDesign):
    """The rows as the solver of one label sees them; without a part of them to begin with, which might miss a class."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__(blocks, n_features=blocks.n_features)
        self.n_rows = 0


class LabelRisk:
    """Risk of one label; what the solver asks of a :class:`rankwise.solvers.smoothing.SmoothRisk`.

    Parameters
    ----------
    rounds : SharedRounds
        Where sums come from.
    label : int
        Which label.
    weight : float
        Weight of its annotated rows.
    loss : MarginLoss
        Its loss.
    """

    n_scores = 1
    unit = 1.0

    def __init__(self, rounds: SharedRounds, label: int, weight: float, loss: MarginLoss) -> None:
        self.rounds, self.label, self.weight, self.loss = rounds, label, weight, loss
        self.n_offsets = int(loss.fit_intercept)
        self.first_smoothing = 4.0 if loss.loss == "hinge" else 1e-3  # which logistic losses do without

    def start(self) -> Floats:
        """Intercept to start from."""
        return np.zeros(self.n_offsets)

    def tidy(self, b: Floats) -> Floats:
        """Any intercept will do."""
        return b

    def smooth(self, scores: Scores, b: Floats, mu: float) -> tuple[float, Pulled, Floats]:
        """Smoothed risk and its derivatives by scores and intercept."""
        risk, _, pulled, sides = self._evaluate(scores, b, mu, _BOTH)
        return float(risk), Pulled(pulled), (sides[1:] - sides[:1])[: self.n_offsets]

    def exact(self, scores: Scores, b: Floats) -> tuple[float, Floats]:
        """The risk itself."""
        return float(self._evaluate(scores, b, 0.0, _BOTH)[0]), b

    def dual(self, scores: Scores, b: Floats, mu: float, *, balanced: bool) -> tuple[float, Pulled, Floats]:
        """Feasible dual point: its worth, and its pull at scores and intercept, at which it does not pull."""
        scale = _BOTH
        if self.n_offsets:
            sides = self._evaluate(scores, b, mu, _BOTH)[3]
            scale = np.divide(sides.min(), sides, out=np.zeros(2), where=sides > 0.0)
        _, worth, pulled, _ = self._evaluate(scores, b, mu, scale)
        return float(worth), Pulled(pulled), np.zeros(self.n_offsets)

    def hessian(self, design: Any, scores: Scores, b: Floats, mu: float) -> Floats:
        """Second derivatives by weights and intercept."""
        found = self.rounds.sum(self.label, second_of_label, self.loss, scores.weights, b, mu)
        by_weight, by_both, by_intercept = (value / self.weight for value in found)
        if not self.n_offsets:
            return np.asarray(by_weight)
        return np.block([[by_weight, by_both[:, None]], [by_both[None], np.array([[by_intercept]])]])

    def _evaluate(self, scores: Scores, b: Floats, mu: float, scale: Floats) -> Sums:
        found = self.rounds.sum(self.label, evaluate_label, self.loss, scores.weights, b, mu, scale)
        return tuple(value / self.weight for value in found)
