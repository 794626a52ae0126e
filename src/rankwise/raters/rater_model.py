"""True classes, and how each rater answers, from imprecise answers alone.

Item i has an unknown class z with probability ``pi_z``, or ``P(z | x_i)`` of a cumulative link if features are given.
The classes lie at positions ``m_1 < ... < m_K`` of one axis, cut by thresholds ``t_1 < ... < t_{K-1}``. Rater r moves
the thresholds by a shift ``b_r``, stretches them by a spread ``c_r``, and answers with a precision ``p_r``:

    ``P(answer <= k | z) = F(p_r (c_r t_k + b_r - m_z))``,     F the logistic function.

With probability ``e_r`` the answer is a slip, which is class k with probability ``q_k`` for every z. An answer that
admits several classes has the sum of their probabilities, so "3 to 5" is evidence and "can't tell" is not.

The priors of shift, log precision and log spread are normal (standard deviations 1, 1/2 and 1/2), the share of slips
has the weight of ten answers, shares of classes that of one each, and the prior scale has equal gaps, whose logarithms
have a standard deviation of 1/2. These priors shrink raters with few answers towards the others. EM finds the most
probable parameters (:mod:`rankwise.raters._em`).

Sources: Dawid and Skene, "Maximum likelihood estimation of observer error-rates using the EM algorithm", 1979, whose
K x K table for each rater this model replaces by four numbers; McCullagh, "Regression models for ordinal data", 1980.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rankwise import decisions
from rankwise._sklearn import Interval, StrOptions
from rankwise._types import Floats
from rankwise._warn import warn_user
from rankwise.base.estimator import SavedEstimator
from rankwise.base.probabilities import DECISIONS, require_level
from rankwise.base.row_data import indexable, row_count
from rankwise.base.state import require_array
from rankwise.base.transaction import reader
from rankwise.batch import CumulativeLink
from rankwise.labels import ClassOrder, Labels, decode
from rankwise.raters._answers import Answers, read_answers
from rankwise.raters._em import Parameters, RaterEM, RaterEvidence, expectation
from rankwise.raters._item_prior import FeaturePrior, log_shares
from rankwise.raters._likelihood import N_OF_RATER


class Weighted(NamedTuple):
    """Items, repeated for each probable class: ``X[rows]``, ``y`` and ``sample_weight`` for any estimator."""

    rows: NDArray[np.intp]
    y: NDArray[Any]
    weight: Floats


class RaterModel(SavedEstimator):
    """True class of every item, and bias, precision and slips of every rater, from the raters' answers.

    Parameters
    ----------
    classes : array-like, optional
        The classes, lowest first; by default those of the labels.
    decision : {"median", "mode", "mean"} or array-like of shape (K, K), default "median"
        Decision rule of ``predict``, as in :class:`rankwise.CumulativeLink`.
    slips : float, default 0.05
        Expected share of answers that are slips.
    strength : float, default 1.0
        How strongly raters are shrunk towards each other: 4 halves the standard deviations of the priors.
    alpha : float, default 1e-3
        Strength of the ridge on the weights of features, see :class:`rankwise.CumulativeLink`.
    tol : float, default 1e-6
        Growth of the log-posterior for each answer at which to stop.
    max_iter : int, default 500
        Most steps of EM.

    Attributes
    ----------
    items_, raters_ : ndarray
        Names, in the order in which they first occur.
    posterior_ : ndarray of shape (n_items, K)
        Probability of every true class.
    shift_, spread_, precision_, slips_ : ndarray of shape (n_raters,)
        Of each rater: the shift of the thresholds (if positive, answers are low), their spread, the precision of the
        answers, and the probability of a slip. A typical rater has shift 0, spread 1 and precision 1.
    thresholds_, positions_ : ndarray of shape (K-1,) and (K,)
        Thresholds of a typical rater, and positions of the classes.
    class_prior_, slip_classes_ : ndarray of shape (K,)
        Shares of the true classes, and of the classes in slips.
    link_ : CumulativeLink or None
        Classes from features, if there were any.
    objective_, objective_path_ : float, ndarray
        Log-posterior at the end, and after every step: it never falls.
    n_iter_ : int
        Steps of EM.
    classes_ : ndarray of shape (K,)
        The classes, lowest first.

    Examples
    --------
    >>> from rankwise.raters import RaterModel
    >>> answers = {
    ...     "item": ["a", "a", "a", "b", "b", "b", "c", "c"],
    ...     "rater": ["Ann", "Bo", "Cy", "Ann", "Bo", "Cy", "Ann", "Cy"],
    ...     "label": ["4", "4-5", "3", "1-2", "2", "1", ">=4", "4"],
    ... }
    >>> model = RaterModel(classes=range(1, 6)).fit(answers)
    >>> dict(zip(model.items_.tolist(), model.predict().tolist()))
    {'a': 4, 'b': 2, 'c': 5}

    Cy said 3 where the others said 4 and 4 to 5, so a 4 from Cy, with Ann's "at least 4", is rather a 5. Labels for
    estimators:

    >>> model.intervals(level=0.8).tolist()
    [4, (1, 2), (4, 5)]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "classes": ["array-like", None],
        "decision": [StrOptions(set(DECISIONS)), "array-like"],
        "slips": [Interval(Real, 0, 1, closed="neither")],
        "strength": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    _parameters: Parameters

    def __init__(
        self, classes: Any = None, decision: Any = "median", slips: float = 0.05, strength: float = 1.0,
        alpha: float = 1e-3, tol: float = 1e-6, max_iter: int = 500,
    ) -> None:  # fmt: skip
        self.classes = classes
        self.decision = decision
        self.slips = slips
        self.strength = strength
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(self, table: Any, X: Any = None, *, item: str = "item", rater: str = "rater", label: Any = "label") -> Self:
        """Learn from all answers.

        Parameters
        ----------
        table : pandas, polars or pyarrow table, or dict of columns
            Long: a row for each answer, with the columns ``item``, ``rater`` and ``label``. Wide: a row for each item
            and a column for each rater, empty cells where there is no answer; items are named by the column ``item``,
            the index of a pandas table, or the row number. Labels in every form of :func:`rankwise.labels.encode`.
        X : array-like of shape (n_items, d), optional
            Features of the items: a pandas table whose index names them, or rows in the order of ``items_``, that is,
            in the order in which the items first occur.
        item, rater, label : str
            Names of the columns; ``label`` may be a pair of columns, the ends of intervals.
        """
        with self._afresh() as model:
            model._validate_params()
            answers = read_answers(table, model.classes, item, rater, label, needed_by="RaterModel")
            model._learn(answers, X)
        return self

    def _learn(self, answers: Answers, X: Any) -> None:
        n_classes = len(answers.order)
        if n_classes < 2:
            raise ValueError(f"raters need at least two classes to choose among. Got {answers.order.values.tolist()}.")
        if not isinstance(self.decision, str):
            decisions.check_cost(self.decision, n_classes)
        evidence = RaterEvidence.of(answers)
        if not evidence.pair.size:
            raise ValueError("no answer says anything: all labels are missing or admit every class.")
        prior = None if X is None else FeaturePrior(_rows_of(X, answers.items), answers.order, self.alpha)
        em = RaterEM(evidence, answers.raters.size, self.slips, self.strength, log_shares if prior is None else prior)
        fitted = em.run(self.tol, self.max_iter)
        if not fitted.converged:
            warn_user(
                f"RaterModel stopped while the log-posterior still grew by {np.diff(fitted.path)[-1]:.2g} a step, "
                f"after {self.max_iter} steps: raise max_iter or tol.",
                ConvergenceWarning,
            )
        self.items_, self.raters_, self.classes_ = answers.items, answers.raters, answers.order.values
        self.posterior_, self._parameters = fitted.posterior, fitted.parameters
        self.link_ = None if prior is None else prior.link
        self.objective_path_ = fitted.path
        self._show()

    def _show(self) -> None:
        """Set the attributes that follow from the parameters."""
        p = self._parameters
        self.shift_, self.slips_ = p.theta[:, 0].copy(), p.slips
        self.precision_, self.spread_ = np.exp(p.theta[:, 1]), np.exp(p.theta[:, 2])
        self.thresholds_, self.positions_ = p.thresholds()[1:-1], p.positions()
        self.class_prior_, self.slip_classes_ = p.prior, p.slip_classes
        self.objective_, self.n_iter_ = float(self.objective_path_[-1]), self.objective_path_.size - 1

    # -- predictions -------------------------------------------------------------------------------------------------

    @reader
    def predict_proba(
        self, table: Any = None, X: Any = None, *, item: str = "item", rater: str = "rater", label: Any = "label"
    ) -> Floats:
        """Probability of every true class, (n_items, K).

        Parameters
        ----------
        table : table, optional
            Answers about other items, as in :meth:`fit`; rows of the result are its items in the order in which they
            first occur. Unknown raters count as typical ones. By default, the items of the fit.
        X : array-like of shape (n_items, d), optional
            Features of these items; alone, of items without answers. The model must have been fitted with features.
        item, rater, label : str
            Names of the columns.
        """
        link: Any = self.link_
        if X is not None and link is None:
            raise ValueError("this RaterModel was fitted without features: fit it with X= to use them.")
        if table is None:
            return self.posterior_.copy() if X is None else np.asarray(link.predict_proba(X))
        answers = read_answers(table, self.classes_, item, rater, label)
        if X is None:
            log_prior, _ = log_shares(np.empty((answers.items.size, 0)), self._parameters)
        else:
            log_prior = FeaturePrior.logarithms(link, _rows_of(X, answers.items))
        return expectation(RaterEvidence.of(answers), self._for(answers.raters), log_prior).posterior

    def _for(self, raters: NDArray[Any]) -> Parameters:
        """Parameters for other raters; unknown ones are typical."""
        known = {name: place for place, name in enumerate(self.raters_.tolist())}
        places = np.array([known.get(name, -1) for name in raters.tolist()], dtype=np.intp)
        p = self._parameters
        theta = np.where(places[:, None] < 0, 0.0, p.theta[places])
        slips = np.where(places < 0, self.slips, p.slips[places])
        return Parameters(theta, slips, p.scale, p.prior, p.slip_classes)

    @reader
    def predict(
        self, table: Any = None, X: Any = None, *, item: str = "item", rater: str = "rater", label: Any = "label"
    ) -> NDArray[Any]:
        """Class of every item; arguments as in :meth:`predict_proba`."""
        P = self.predict_proba(table, X, item=item, rater=rater, label=label)
        return decode(decided(P, self.decision), self.classes_)

    @reader
    def intervals(self, level: float = 0.9) -> Any:
        """Labels of the items: intervals that hold the true class with a probability of at least ``level``.

        Returns
        -------
        Labels
            For every estimator that learns from intervals: ``PRIL().fit(X, model.intervals())``.
        """
        require_level("level", level)
        return central_intervals(self.posterior_, level, ClassOrder(self.classes_))

    @reader
    def weighted(self, least: float = 1e-3) -> Weighted:
        """Every item once for each class that has at least the probability ``least``, with that as its weight.

        Returns
        -------
        rows, y, weight
            ``estimator.fit(X[rows], y, sample_weight=weight)`` learns from the posteriors.
        """
        if not 0.0 <= least < 1.0 / self.classes_.size:
            raise ValueError(f"least must lie in [0, 1 / n_classes). Got {least!r} instead.")
        rows, codes = np.nonzero(self.posterior_ >= max(least, np.finfo(np.float64).tiny))
        kept = self.posterior_[rows, codes]
        return Weighted(rows, decode(codes, self.classes_), kept / np.bincount(rows, kept)[rows])

    # -- files -------------------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "posterior_" in vars(self)

    def to_plain(self) -> dict[str, Any]:
        """All learnt values, for a model file."""
        p = self._parameters
        return {
            "classes": self.classes_,
            "items": self.items_,
            "raters": self.raters_,
            "posterior": self.posterior_,
            "theta": p.theta,
            "slips": p.slips,
            "scale": p.scale,
            "prior": p.prior,
            "slip_classes": p.slip_classes,
            "path": self.objective_path_,
            "link": self.link_,
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Restore the values of :meth:`to_plain`, after checking them."""
        self._validate_params()
        n_classes = len(self._take_classes(plain["classes"]))
        if not isinstance(self.decision, str):
            decisions.check_cost(self.decision, n_classes)
        items, raters, path, link = (plain[name] for name in ("items", "raters", "path", "link"))
        if n_classes < 2 or not all(isinstance(names, np.ndarray) and names.ndim == 1 for names in (items, raters)):
            raise ValueError("items and raters must be lists of names, and classes at least two")
        shapes = {
            "posterior": (items.size, n_classes),
            "theta": (raters.size, N_OF_RATER),
            "slips": (raters.size,),
            "scale": (2 * n_classes - 1,),
            "prior": (n_classes,),
            "slip_classes": (n_classes,),
        }
        for name, shape in shapes.items():
            require_array(name, plain[name], np.float64, shape)
        for name in ("posterior", "slips", "prior", "slip_classes"):
            if (plain[name] < 0.0).any() or (plain[name] > 1.0).any():
                raise ValueError(f"array {name!r} holds values that are not probabilities")
        for name in ("posterior", "prior", "slip_classes"):
            if (np.abs(plain[name].sum(axis=-1) - 1.0) > 1e-6).any():
                raise ValueError(f"probabilities in {name!r} do not add up to one")
        if any(len(set(names.tolist())) != names.size for names in (items, raters)):
            raise ValueError("an item or a rater occurs twice")
        if np.abs(plain["theta"]).max(initial=0.0) > _LARGEST or np.abs(plain["scale"][1:]).max() > _LARGEST:
            raise ValueError("the parameters of the raters or the scale are too large")
        require_array("path", path, np.float64, (np.size(path),))
        if not path.size or (link is not None and not _belongs(link, self.classes_)):
            raise ValueError("the link does not go with the classes, or there was no step")
        self.items_, self.raters_, self.posterior_ = items, raters, plain["posterior"]
        self._parameters = Parameters(*(plain[name] for name in ("theta", "slips", "scale", "prior", "slip_classes")))
        self.objective_path_, self.link_ = path, link
        self._show()


_LARGEST = 1e6


def _belongs(link: Any, classes: NDArray[Any]) -> bool:
    return isinstance(link, CumulativeLink) and link.classes_.tolist() == classes.tolist()


def _rows_of(X: Any, items: NDArray[Any]) -> Any:
    """Features of the items, in their order."""
    X = indexable(X)
    if hasattr(X, "reindex") and hasattr(X, "index"):  # pandas: the index names the items
        missing = [name for name in items.tolist() if name not in X.index]
        if missing or not X.index.is_unique:
            problem = f"no row for item {missing[0]!r}" if missing else "an item that occurs twice"
            raise ValueError(f"the index of X must name every item once. Got {problem}.")
        return X.loc[items.tolist()]
    if row_count(X) != items.size:
        raise ValueError(f"X must have a row for each of {items.size} items. Got {row_count(X)} rows.")
    return X


def decided(P: Floats, decision: Any) -> NDArray[Any]:
    """Codes that a decision rule chooses from probabilities, (n, K)."""
    if not isinstance(decision, str):
        return decisions.least_cost(P, decision)
    if decision == "median":
        return decisions.median(np.cumsum(P, axis=1)[:, :-1])
    return decisions.mode(P) if decision == "mode" else decisions.rounded_mean(P)


def central_intervals(probabilities: Floats, level: float, order: ClassOrder) -> Labels:
    """Central intervals of at least a probability, as labels."""
    cumulative = np.cumsum(probabilities, axis=1)[:, :-1]
    lower, upper = (decisions.quantiles(cumulative, q).astype(np.int32) for q in (0.5 * (1 - level), 0.5 * (1 + level)))
    return Labels(order, lower, upper)
