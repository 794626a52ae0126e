"""Cumulative links: class probabilities by (penalised) maximum likelihood, from imprecise labels.

    minimise  alpha/2 |w|^2 + weighted mean of -log P(lo <= y <= hi | x),      P(y <= k | x) = F(t_k - <w, x>)

with F the distribution of the link: McCullagh's proportional odds model for the logit, with the likelihood of an
interval for interval labels. Labels that admit every class are left out. The problem is convex for all four links
(:mod:`rankwise.risks.links`), so the optimum comes with a certificate (:mod:`rankwise.risks.link_risk`). The
likelihood of a candidate set with gaps is a sum over its runs, which is not convex: EM (Dempster, Laird and Rubin 1977)
divides the weight of each such row among its runs by their probabilities and fits again, until a local optimum.

Sources: McCullagh, "Regression models for ordinal data", 1980; Pratt, "Concavity of the log likelihood", 1981; for
undetermined thresholds, Turnbull, "The empirical distribution function with arbitrarily grouped ... data", 1976.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise._sklearn import COUNT, NOT_NEGATIVE, POSITIVE, StrOptions
from rankwise._types import Floats
from rankwise._warn import warn_user
from rankwise.base.probabilities import DECISIONS, require_level
from rankwise.base.threshold_model import LinkModel
from rankwise.base.transaction import reader
from rankwise.batch._separation import separating_columns
from rankwise.batch.batch_estimator import ThresholdBatchEstimator
from rankwise.batch.identification import REMEDY, columns_named, dependences, described, smallest
from rankwise.batch.link_inference import (
    LikelihoodRatio,
    effective_sample_size,
    inference_table,
    likelihood_ratio,
    log_likelihood,
)
from rankwise.labels import ClassOrder, Labels
from rankwise.risks.coded_rows import CodedRows, RunRows, runs_of
from rankwise.risks.innermost_intervals import InnermostIntervals
from rankwise.risks.link_risk import LinkRisk, ProfiledRisk
from rankwise.risks.links import LINKS, probabilities
from rankwise.solvers.design import Design
from rankwise.solvers.row_sums import RowSums
from rankwise.solvers.smoothing import affords_newton, minimise_by_smoothing
from rankwise.solvers.solution import SMALLEST, Solution

_EM_ACCURACY = 1e-2  # of the rise of the likelihood in one round, relative to tol
_LEAST_SHARE = 1e-18
_LEAST_WEIGHT = 1e-20  # share of all weight below which a row is left out: it is lost in sums of doubles


class CumulativeLink(LinkModel, ThresholdBatchEstimator):
    """Class probabilities on an ordered scale, by maximum likelihood with an optional ridge.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog", "loglog"}, default "logit"
        Distribution F in ``P(y <= k) = F(t_k - <w, x>)``: logistic (proportional odds), normal, or the two extreme
        value distributions (``1 - exp(-exp(z))``, proportional hazards, and ``exp(-exp(-z))``).
    alpha : float or "auto", default 1e-3
        Strength of the ridge on the weights; "auto" chooses it in interval-aware folds, and 0 is maximum likelihood,
        which has no optimum if the labels are separable.
    decision : {"median", "mode", "mean"} or array-like of shape (K, K), default "median"
        What ``predict`` returns: the class of least expected absolute error, 0/1 loss, squared error, or cost
        ``[true, answer]``.
    tol : float, default 1e-6
        Certified relative gap at which to stop.
    max_iter, classes
        As in :class:`rankwise.SVOR`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights. For the logit, ``exp(coef_)`` are the odds ratios of a higher class.
    thresholds_ : ndarray of shape (K-1,)
        Thresholds between neighbouring classes, ascending. Those that the labels do not determine are placed so that
        the classes share their probability equally at the mean score. Equal or infinite thresholds enclose classes
        that no label needs.
    objective_, lower_bound_, gap_ : float
        The objective at the solution, a proven lower bound on it, and their relative difference. The last two are NaN
        with ``alpha=0`` and with candidate sets that have gaps, where nothing is proven.
    alpha_, n_iter_, classes_
        As in :class:`rankwise.SVOR`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import CumulativeLink
    >>> X, y = np.linspace(-1, 1, 60).reshape(-1, 1), np.tile([1, 1, 2, 2, 1, 2, 3, 2, 3, 3], 6)
    >>> y = np.sort(y)[np.argsort(X[:, 0] + np.tile([0.4, -0.4], 30)).argsort()]
    >>> model = CumulativeLink().fit(X, y)
    >>> model.predict_proba([[-0.8], [0.0], [0.8]]).round(2)
    array([[0.78, 0.21, 0.01],
           [0.17, 0.66, 0.17],
           [0.01, 0.21, 0.78]])
    >>> model.predict_interval([[-0.8], [0.0]], level=0.8)
    array([[1, 2],
           [1, 3]])
    >>> bool(model.gap_ <= 1e-6)
    True

    Intervals, and labels open on one side:

    >>> intervals = np.column_stack([y, np.minimum(y + 1, 3)]).astype(float)
    >>> intervals[::2, 1] = y[::2]
    >>> CumulativeLink(decision="mode").fit(X, intervals).predict([[-0.8], [0.8]])
    array([2., 3.])
    """

    label_kinds: ClassVar[frozenset[str]] = frozenset({"exact", "interval", "candidates"})

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "link": [StrOptions(set(LINKS))],
        "alpha": [NOT_NEGATIVE, StrOptions({"auto"})],
        "decision": [StrOptions(set(DECISIONS)), "array-like"],
        "tol": [POSITIVE],
        "max_iter": [COUNT],
        "classes": ["array-like", None],
    }
    _finite_arrays: ClassVar[tuple[str, ...]] = ("weights",)

    def __init__(
        self, link: str = "logit", alpha: float | str = 1e-3, decision: Any = "median", tol: float = 1e-6,
        max_iter: int = 1000, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    # -- learning --------------------------------------------------------------------------------------------------

    def _coded(self, design: Design, labels: Labels, weight: Floats) -> tuple[Design, RowSums]:
        weight = np.where(weight < _LEAST_WEIGHT, 0.0, weight)
        if not (labels.has_gaps & (weight > 0.0)).any():
            return super()._coded(design, labels, weight)
        owner, runs = runs_of(labels, weight)
        return design.take(owner), RunRows(*runs, owner)

    def _warn_of_scales(self, rows: Any) -> None:
        if self.alpha != 0.0:  # maximum likelihood does not depend on scales
            super()._warn_of_scales(rows)

    def _look_at(self, order: ClassOrder, rows: RowSums) -> None:
        self._check_decision(len(order))  # the risk bounds the classes that labels tell apart
        undetermined = self._risk(order, rows).innermost.describe(order.values) if len(order) > 1 else ""
        if undetermined:
            warn_user(f"{type(self).__name__}: {undetermined}")

    def _risk(self, order: ClassOrder, rows: RowSums) -> LinkRisk:
        return LinkRisk(rows, len(order), self.link)

    def _solve(self, design: Any, risk: Any, n_weights: int, n_offsets: int, start: Floats | None) -> Solution:
        by_em = isinstance(risk.rows, RunRows)
        solution = (self._by_em if by_em else self._minimised)(design, risk, start)
        if not solution.converged and not self._is_probe:
            self._warn_not_converged(solution)
        weights, free = solution.theta[:n_weights], solution.theta[n_weights:]
        if self.alpha_ == 0.0 and risk.n_offsets:
            weights, free = self._diagnosed(design, risk, weights, free)
        (mean,) = risk.rows.mean(_mean_score, design.times(weights[None]))
        thresholds = risk.innermost.all_thresholds(free, self.link, float(mean))
        return replace(solution, theta=np.concatenate([weights, thresholds]))

    def _diagnosed(self, design: Any, risk: LinkRisk, weights: Floats, free: Floats) -> tuple[Floats, Floats]:
        """Parameters of maximum likelihood, the smallest of many; warnings if there are many, or none."""
        place = getattr(design, "columns", None)  # of the columns with entries among all

        def name(j: int) -> str | int:
            return self._column_name(j if place is None else int(place[j]))

        found = dependences(design, risk)
        weights, free = smallest(weights, free, found)
        if self._is_probe:
            return weights, free
        if not all(dependence.is_zero for dependence in found):
            warn_user(
                f"{type(self).__name__}(alpha=0): {described(found, name)} Many weights have the same likelihood, and "
                f"the smallest are taken: single ones have no meaning. {REMEDY}"
            )
        separating = separating_columns(design, risk, weights, free, found)
        if separating is not None:
            warn_user(
                f"{type(self).__name__}(alpha=0): maximum likelihood has no optimum, because the labels are "
                f"separable by {columns_named(separating, name)}: the likelihood grows with these weights for ever. "
                f"Set alpha > 0, or drop the columns.",
                ConvergenceWarning,
            )
        return weights, free

    def _minimised(self, design: Any, risk: LinkRisk, start: Floats | None) -> Solution:
        """Solution with the thresholds that the labels determine, started from weights and all thresholds."""
        d = design.n_features
        if risk.n_offsets == 0:  # some classes are in all labels: the likelihood is 1
            return Solution(np.zeros(d), 0.0, 0.0, 0, True)
        if start is not None:
            start = np.concatenate([start[:d], risk.innermost.determined_of(start[d:])])
        if self.alpha_ > 0.0:
            risk = risk.confined(design, self.alpha_)
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        if affords_newton(design, risk, d + risk.n_offsets):
            penalty = np.repeat([1.0, 0.0], [d, risk.n_offsets])
            solution = minimise_by_smoothing(design, risk, self.alpha_, penalty, start=start, **options)
        else:
            profiled = ProfiledRisk(risk, risk.start() if start is None else start[d:])
            weights = None if start is None else start[:d]
            # Without a penalty the maximum does not depend on centre and scale of columns, but quasi-Newton steps do.
            is_free = self.alpha_ == 0.0 and isinstance(design, Design)
            solved, centre, scale = design, np.zeros(d), np.ones(d)
            if is_free:
                solved, centre, scale = design.standardised(risk.rows.weight)
            if is_free and weights is not None:
                weights, profiled.thresholds = weights * scale, profiled.thresholds - float(weights @ centre)
            solution = minimise_by_smoothing(solved, profiled, self.alpha_, np.ones(d), start=weights, **options)
            thresholds = risk.best_thresholds(solved.times(solution.theta[None]), profiled.thresholds)
            if is_free:
                solution = replace(solution, theta=solution.theta / scale)
                thresholds = thresholds + float(solution.theta @ centre)
            solution = replace(solution, theta=np.concatenate([solution.theta, thresholds]))
        if self.alpha_ == 0.0:  # without a bound, the solver stops when the gradient vanishes
            return replace(solution, lower_bound=np.nan, converged=solution.n_iter < self.max_iter)
        return solution

    def _by_em(self, design: Design, risk: LinkRisk, start: Floats | None) -> Solution:
        """Alternate between dividing rows among the runs of their candidate sets and fitting, until convergence."""
        rows: RunRows = risk.rows
        n_classes, d, n_iter, objective = risk.innermost.n_classes, design.n_features, 0, np.inf
        weight = np.asarray(np.bincount(rows.owner, rows.weight), dtype=np.float64)
        while True:
            solution = self._minimised(design, risk, start)  # need not converge: the next round goes on
            n_iter += max(solution.n_iter, 1)
            w, free = solution.theta[:d], solution.theta[d:]
            start = np.concatenate([w, risk.innermost.all_thresholds(free, self.link, 0.0)])
            runs = _run_probabilities(rows, self.link, design.times(w[None])[:, 0], risk.innermost, free)
            sets = np.bincount(rows.owner, runs)
            before, objective = objective, 0.5 * self.alpha_ * float(w @ w) - float(weight @ np.log(sets))
            converged = before - objective <= _EM_ACCURACY * self.tol * max(abs(objective), SMALLEST)
            if converged or n_iter >= self.max_iter:
                return Solution(solution.theta, objective, np.nan, n_iter, converged)
            # Keep runs whose share vanishes: without them, the labels might tell fewer classes apart.
            share = np.maximum(runs / sets[rows.owner], _LEAST_SHARE)
            risk = LinkRisk(replace(rows, weight=weight[rows.owner] * share), n_classes, self.link)

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        super().from_plain(plain)
        if (self.thresholds_[1:] < self.thresholds_[:-1]).any():
            raise ValueError("the thresholds must not descend")
        self._check_decision(len(self.classes_))

    # -- inference -------------------------------------------------------------------------------------------------

    @reader
    def inference(self, X: Any, y: Any, sample_weight: Any = None, *, level: float = 0.95) -> Any:
        """Standard errors, tests and confidence intervals of weights and thresholds, as a pandas table.

        Parameters
        ----------
        X, y, sample_weight
            The rows of the fit, others are refused; exact and interval labels.
        level : float, default 0.95
            Level of the confidence intervals.

        Returns
        -------
        pandas.DataFrame
            Rows: features, then thresholds (``"1|2"``). Columns: ``coef``; ``std_err`` from the observed information;
            ``robust_std_err`` from the sandwich; ``z`` and ``p`` of the test that the parameter is zero; ``lower`` and
            ``upper``; ``odds_ratio``, for the logit. With ``alpha > 0`` the errors are those of the penalised estimate,
            which is biased towards zero. NaN for thresholds that the labels do not determine.
        """
        require_level("level", level)
        return inference_table(self, X, y, sample_weight, level)

    @reader
    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Weighted sum of ``log P`` of the labels; rows without a label add nothing."""
        return log_likelihood(self, X, y, sample_weight)

    @reader
    def likelihood_ratio_test(self, X: Any, y: Any, without: Any = None, sample_weight: Any = None) -> LikelihoodRatio:
        """Test whether some columns matter: twice the log-likelihood that they add, against chi-squared.

        Parameters
        ----------
        X, y, sample_weight
            The rows of the fit.
        without : list of column names or numbers, optional
            Columns left out of the smaller model; all by default.

        Returns
        -------
        LikelihoodRatio
            ``statistic``, ``df`` (number of columns) and ``p``.
        """
        if self.alpha_ != 0.0:
            raise ValueError(f"a likelihood-ratio test needs a fit with alpha=0. It has alpha={self.alpha_:g}.")
        return likelihood_ratio(self, X, y, without, sample_weight)

    @reader
    def effective_sample_size(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Number of exact rows with as much information about the weights as these rows.

        An exact row counts 1, one without a label 0. Imprecise rows count by their share of the information that exact
        labels would have (traces of the information about the weights, at this model).

        Parameters
        ----------
        X, y, sample_weight
            Rows with exact and interval labels.
        """
        return effective_sample_size(self, X, y, sample_weight)


def _mean_score(rows: CodedRows, scores: Floats) -> tuple[float]:
    return (float(rows.weight @ scores[:, 0]),)


def _run_probabilities(rows: RunRows, link: str, scores: Floats, innermost: InnermostIntervals, free: Floats) -> Floats:
    """Probability of every row's run."""
    by_interval = probabilities(link, scores, free)
    before = np.pad(by_interval.cumsum(axis=1), ((0, 0), (1, 0)))
    i = np.arange(len(rows))
    return np.asarray(before[i, innermost.high_ends()[rows.upper]] - before[i, innermost.low_ends()[rows.lower]])
