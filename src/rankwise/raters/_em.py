"""EM for the model of raters; no step decreases the log-posterior.

The latent variables of EM (Dempster, Laird and Rubin 1977) are the true classes, which answers are slips, and which
class a slip or a candidate set meant. Given their probabilities, every group of parameters is improved in turn: shares
by counting, raters and the scale by Newton steps with the curvature of :mod:`rankwise.raters._likelihood`, halved until
the expected log-likelihood grows. So the log-posterior grows too; if rounding prevents that, the fit ends with the
previous parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.raters import _likelihood
from rankwise.raters._answers import Answers
from rankwise.raters._likelihood import N_OF_RATER

#: Prior standard deviations of a rater's shift, log precision and log spread.
RATER_SD = np.array([1.0, 0.5, 0.5])
SCALE_SD = 0.5  # of the entries of the scale
SLIP_ANSWERS = 10.0  # weight of the expected share of slips, in answers
GAP = 3.0  # between neighbouring positions, in units of a rater's noise, before the fit
_FIRST_VOTE = 0.1  # of every class, beside the answers, in the first posterior
_HALVINGS = 30
_NEWTON_STEPS = 2  # of the raters, between two posteriors


@dataclass(frozen=True, eq=False)
class RaterEvidence:
    """Answers in the form of :mod:`rankwise.raters._likelihood`: pairs of rater and label, and their runs."""

    first_answer: NDArray[np.int64]
    pair: NDArray[np.int64]
    rater: NDArray[np.int64]
    admits: NDArray[np.bool_]
    first_run: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    owner: NDArray[np.int64]

    @classmethod
    def of(cls, answers: Answers) -> RaterEvidence:
        """Evidence in answers; missing ones are left out."""
        answers = answers.informative()
        distinct, group = answers.labels.distinct()
        n_distinct = max(len(distinct), 1)
        by_item = np.argsort(answers.item, kind="stable")
        key = answers.rater[by_item].astype(np.int64) * n_distinct + group[by_item]
        pairs, pair = np.unique(key, return_inverse=True)
        admits = distinct.take(pairs % n_distinct).admissible()
        owner, low, high = _runs(admits)
        return cls(
            first_answer=np.searchsorted(answers.item[by_item], np.arange(answers.items.size + 1)).astype(np.int64),
            pair=pair.ravel().astype(np.int64),
            rater=pairs // n_distinct,
            admits=admits,
            first_run=np.searchsorted(owner, np.arange(pairs.size + 1)).astype(np.int64),
            low=low,
            high=high,
            owner=owner,
        )

    def votes(self) -> Floats:
        """First posterior, (n_items, K): every answer shares one vote among the classes that it admits."""
        share = self.admits / self.admits.sum(axis=1, keepdims=True)
        sums = np.concatenate([np.zeros((1, share.shape[1])), np.cumsum(share[self.pair], axis=0)])
        votes = np.diff(sums[self.first_answer], axis=0) + _FIRST_VOTE
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _runs(admits: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Row, first and last class of every run of admitted classes."""
    edges = np.diff(np.pad(admits, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    owner, low = np.nonzero(edges == 1)
    return owner.astype(np.int64), low.astype(np.int64), (np.nonzero(edges == -1)[1] - 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Parameters:
    """All parameters of the model of raters but the weights of features."""

    theta: Floats  # (R, 3): shift, log precision and log spread of each rater
    slips: Floats  # (R,): probability of a slip
    scale: Floats  # (2K - 1,): first threshold, logarithms of the K-2 gaps behind it, first position, its K-1 gaps
    prior: Floats  # (K,): shares of the true classes
    slip_classes: Floats  # (K,): shares of the classes in slips

    @classmethod
    def start(cls, n_raters: int, n_classes: int, slips: float) -> Parameters:
        """Parameters with the largest prior density."""
        even = np.full(n_classes, 1.0 / n_classes)
        return cls(np.zeros((n_raters, N_OF_RATER)), np.full(n_raters, slips), first_scale(n_classes), even, even)

    def thresholds(self) -> Floats:
        """Thresholds with infinite ends, (K+1,)."""
        n_classes = self.prior.size
        inner = self.scale[0] + np.concatenate([[0.0], np.cumsum(np.exp(self.scale[1 : n_classes - 1]))])
        return np.concatenate([[-np.inf], inner, [np.inf]])

    def positions(self) -> Floats:
        """Positions of the classes, (K,)."""
        behind = self.scale[self.prior.size - 1 :]
        return np.asarray(behind[0] + np.concatenate([[0.0], np.cumsum(np.exp(behind[1:]))]))

    def jacobian(self) -> Floats:
        """Derivatives of thresholds and positions, in rows, in the entries of ``scale``."""
        K = self.prior.size
        jacobian = np.zeros((2 * K - 1, 2 * K - 1))
        for start, size in ((0, K - 1), (K - 1, K)):
            gaps = np.concatenate([[1.0], np.exp(self.scale[start + 1 : start + size])])
            jacobian[start : start + size, start : start + size] = np.tril(np.tile(gaps, (size, 1)))
        return jacobian


def first_scale(n_classes: int) -> Floats:
    """Scale with equal gaps, thresholds half-way between positions."""
    log_gap = np.log(GAP)
    return np.concatenate([[0.5 * GAP], np.full(n_classes - 2, log_gap), [0.0], np.full(n_classes - 1, log_gap)])


def _log_scale(scale: Floats) -> float:
    return -0.5 * float(((scale - first_scale((scale.size + 1) // 2)) ** 2).sum()) / SCALE_SD**2


@dataclass(frozen=True)
class Fitted:
    """Result of EM: parameters, posteriors of the items, and the log-posterior after every step."""

    parameters: Parameters
    posterior: Floats
    path: Floats
    converged: bool


class RaterEM:
    """One fit: the evidence, the strength of the priors, and the steps.

    ``slips`` is the expected share of slips, ``strength`` the factor of the precision of the priors on raters.
    ``log_prior(posterior, parameters)`` gives the logarithms of the prior of each item's class, (n, K), and the penalty
    of what it is made of. It may learn from the posterior, but must not make the expected log-likelihood fall.
    """

    def __init__(
        self, evidence: RaterEvidence, n_raters: int, slips: float, strength: float,
        log_prior: Callable[[Floats, Parameters], tuple[Floats, float]],
    ) -> None:  # fmt: skip
        self.evidence = evidence
        self.n_raters = n_raters
        self.slips = slips
        self.precision = strength / RATER_SD**2
        self.log_prior = log_prior
        self.n_classes = evidence.admits.shape[1]
        self.of_run = evidence.rater[evidence.owner]

    def run(self, tol: float, max_iter: int) -> Fitted:
        """Climb until a step adds less than ``tol`` for each answer."""
        posterior = self.evidence.votes()
        parameters = Parameters.start(self.n_raters, self.n_classes, self.slips)
        parameters = replace(parameters, prior=_shares(posterior.sum(axis=0)))
        log_prior, penalty = self.log_prior(posterior, parameters)
        now = expectation(self.evidence, parameters, log_prior)
        path = [now.log_likelihood + self._log_density(parameters) - penalty]
        least = tol * max(self.evidence.pair.size, 1)
        converged = False
        while not converged and len(path) <= max_iter:
            better = self._maximisation(parameters, now)
            log_prior, penalty = self.log_prior(now.posterior, better)
            after = expectation(self.evidence, better, log_prior)
            value = after.log_likelihood + self._log_density(better) - penalty
            converged = not value - path[-1] > least
            if value >= path[-1]:  # otherwise rounding prevents further improvement
                parameters, now = better, after
                path.append(value)
        return Fitted(parameters, now.posterior, np.array(path), converged)

    def _log_density(self, p: Parameters) -> float:
        """Logarithm of the prior of the parameters, but for a constant."""
        raters = -0.5 * float((p.theta**2 @ self.precision).sum())
        scale = _log_scale(p.scale)
        expected = SLIP_ANSWERS * self.slips
        slips = expected * np.log(p.slips) + (SLIP_ANSWERS - expected) * np.log1p(-p.slips)
        return raters + scale + float(slips.sum() + np.log(p.prior).sum() + np.log(p.slip_classes).sum())

    def _maximisation(self, p: Parameters, now: _Expected) -> Parameters:
        evidence, slip_mass = self.evidence, (now.counts * now.slipped).sum(axis=1)
        answers, slipped = (np.bincount(evidence.rater, w, self.n_raters) for w in (now.counts.sum(axis=1), slip_mass))
        inside = evidence.admits * p.slip_classes
        p = replace(
            p,
            prior=_shares(now.posterior.sum(axis=0)),
            slips=(slipped + SLIP_ANSWERS * self.slips) / (answers + SLIP_ANSWERS),
            slip_classes=_shares(slip_mass @ (inside / inside.sum(axis=1, keepdims=True))),
        )
        weight = now.counts[evidence.owner] * now.inside
        p = self._better_scale(p, weight)
        for _ in range(_NEWTON_STEPS):
            p = self._better_raters(p, weight)
        return p

    def _values(self, p: Parameters, weight: Floats) -> Floats:
        """Expected log-likelihood of each rater's answers and log-density of the rater."""
        value = -0.5 * (p.theta**2 @ self.precision)
        _likelihood.rater_values(weight, *self._kernel_arguments(p), value)
        return np.asarray(value)

    def _kernel_arguments(self, p: Parameters) -> tuple[Any, ...]:
        return self.evidence.low, self.evidence.high, self.of_run, p.theta, p.thresholds(), p.positions()

    def _better_raters(self, p: Parameters, weight: Floats) -> Parameters:
        slope = -p.theta * self.precision
        curvature = np.tile(np.diag(self.precision), (self.n_raters, 1, 1))
        _likelihood.rater_slopes(weight, *self._kernel_arguments(p), slope, curvature)
        step = _bounded(np.linalg.solve(curvature, slope[:, :, None])[:, :, 0])
        before, theta = self._values(p, weight), p.theta.copy()
        pending = np.ones(self.n_raters, dtype=bool)
        for _ in range(_HALVINGS):
            tried = replace(p, theta=np.where(pending[:, None], p.theta + step, theta))
            grown = pending & (self._values(tried, weight) >= before)
            theta[grown] = tried.theta[grown]
            pending &= ~grown
            if not pending.any():
                break
            step *= 0.5
        return replace(p, theta=theta)

    def _better_scale(self, p: Parameters, weight: Floats) -> Parameters:
        size, jacobian = p.scale.size, p.jacobian()
        slope, curvature = np.zeros(size), np.zeros((size, size))
        _likelihood.scale_slopes(weight, *self._kernel_arguments(p), slope, curvature)
        slope = jacobian.T @ slope - (p.scale - first_scale(self.n_classes)) / SCALE_SD**2
        step = _bounded(np.linalg.solve(jacobian.T @ curvature @ jacobian + np.eye(size) / SCALE_SD**2, slope))

        def value(scale: Floats) -> float:
            return float(self._values(replace(p, scale=scale), weight).sum()) + _log_scale(scale)

        before = value(p.scale)
        for _ in range(_HALVINGS):
            if value(p.scale + step) >= before:
                return replace(p, scale=p.scale + step)
            step *= 0.5
        return p


@dataclass(frozen=True, eq=False)
class _Expected:
    """Result of the E-step: posteriors of items, and shares of slips and runs in each pair."""

    posterior: Floats
    counts: Floats
    inside: Floats
    slipped: Floats
    log_likelihood: float


def expectation(evidence: RaterEvidence, p: Parameters, log_prior: Floats) -> _Expected:
    """Posteriors given the parameters and the logarithms of the items' priors, (n, K)."""
    n_pairs, n_classes = evidence.admits.shape
    log_p, slipped, counts = (np.empty((n_pairs, n_classes)) for _ in range(3))
    inside, posterior = np.empty((evidence.low.size, n_classes)), np.empty((evidence.first_answer.size - 1, n_classes))
    _likelihood.likelihoods(
        evidence.low, evidence.high, evidence.first_run, evidence.rater, p.theta, p.slips,
        evidence.admits @ p.slip_classes, p.thresholds(), p.positions(), log_p, inside, slipped,
    )  # fmt: skip
    total = _likelihood.posteriors(evidence.first_answer, evidence.pair, log_p, log_prior, posterior, counts)
    return _Expected(posterior, counts, inside, slipped, float(total))


def _bounded(step: NDArray[Any]) -> Floats:
    """Newton step, shortened if an entry would move by more than two: logarithms would overflow."""
    longest = np.abs(step).max(axis=-1, keepdims=True)
    return np.asarray(step / np.maximum(0.5 * longest, 1.0))


def _shares(counts: Floats) -> Floats:
    """Most probable shares given counts, with one pseudo-count each."""
    return np.asarray((counts + 1.0) / (counts + 1.0).sum())
