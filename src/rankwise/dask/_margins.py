"""The loss of one yes-or-no label as a risk, with rows in blocks that several labels share.

With signs y_i = ±1, weights c_i that add up to 1, a score ``f = <w, x>`` and perhaps an intercept b, the risk is
``sum_i c_i phi(m_i)``, ``m_i = y_i (f_i + b)``.

- **Hinge**, ``phi(m) = (1 - m)_+``: smoothed as in :mod:`rankwise.batch._threshold_risk`, which it is for two
  classes.
- **Logistic**, ``phi(m) = log(1 + exp(-m))``: smooth already.

The derivative ``s_i = -phi'(m_i)`` is a dual variable in [0, 1], worth ``h(s) = s`` (hinge) or its entropy (logistic).
An intercept is not regularised, so the two signs must balance: the larger side is scaled down. (h is concave and
h(0) = 0, so that scaling all s by one factor keeps at least that share of their worth, as the solver assumes.)
"""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from threading import Condition
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit

from rankwise._types import Floats
from rankwise.dask._blocks import Blocks, RemoteRows, RowBlock
from rankwise.solvers.design import Design
from rankwise.solvers.row_sums import RowRisk, RowsHere, RowSums, Sums

_BOTH = np.ones(2)


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


@dataclass(frozen=True)
class OneLabel:
    """Sums over the annotated rows of one label; there is no ``part`` of them, which might miss a class."""

    rounds: SharedRounds
    label: int
    weight: float  # of its annotated rows

    def sum(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Sum over the annotated rows."""
        return self.rounds.sum(self.label, function, *arguments)


def label_risk(rounds: SharedRounds, label: int, weight: float, loss: str, *, fit_intercept: bool) -> MarginRisk:
    """Risk of one label, whose annotated rows have this weight."""
    rows = RemoteRows(OneLabel(rounds, label, weight))
    if loss == "hinge":
        return HingeRisk(rows, Hinge(), fit_intercept=fit_intercept)
    return MarginRisk(rows, Logistic(), fit_intercept=fit_intercept)
