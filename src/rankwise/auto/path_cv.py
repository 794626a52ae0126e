"""Regularisation strength by cross-validation along a path.

Within a fold the models of all strengths are fitted from strong to weak, each starting from the previous solution
(:meth:`rankwise.SVOR.path`), to the gap set by the estimator's ``tol``; the model of the chosen strength is then fitted
to all rows. Folds have the same mixture of labels, and the scorer compares with the nearest class that a label admits,
so intervals and missing labels are supported.

Source of the one-standard-error rule: Breiman, Friedman, Olshen and Stone, "Classification and regression trees", 1984.
"""

import warnings
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags

from rankwise._drawing import OKABE_ITO, QUIET, SMALL, axes, curve_frame
from rankwise._sklearn import HasMethods, Interval, StrOptions
from rankwise._threads import at_most_cores
from rankwise._types import Floats, Places
from rankwise.auto._chosen import ChoosingEstimator
from rankwise.base.row_data import rows_at
from rankwise.base.state import require_array, require_number
from rankwise.base.transaction import reader
from rankwise.batch.strength import strengths
from rankwise.calibration.inner_fits import rows_and_labels
from rankwise.evaluation.cross_validation import splits_of
from rankwise.labels import Labels, check_weights
from rankwise.solvers.design import Design

_N_ALPHAS = 13


class PathCV(ChoosingEstimator):
    """An estimator whose regularisation strength is chosen by cross-validation.

    Parameters
    ----------
    estimator : estimator with ``path``
        :class:`rankwise.SVOR`, ``VILMA``, ``MORD``, ``PiecewiseMORD``, ``CumulativeLink`` ...; its ``alpha`` is
        ignored.
    alphas : array-like, optional
        Strengths to choose from. By default 13 of them from 10 to 1e-5 times the mean variance of the columns.
    cv : int, splitter or iterable of (train, test), default 5
        Number of folds of :class:`rankwise.evaluation.StratifiedIntervalKFold`, or other ones.
    scoring : str or callable, optional
        Score to maximise. By default an :class:`rankwise.evaluation.IntervalScorer` of the estimator's ``loss``, or of
        the absolute error if it has none.
    rule : {"best", "one-se"}, default "best"
        The strength with the best mean score; or the strongest whose score is within one standard error of it.
    n_jobs : int, optional
        Folds that are fitted at the same time, in threads; at most one a core.

    Attributes
    ----------
    alpha_ : float
        The strength that was chosen.
    best_estimator_ : estimator
        Fitted to all rows with this strength; ``predict`` and the other methods use it.
    cv_results_ : dict of arrays
        ``alpha`` (descending), ``mean_test_score``, ``std_test_score``, ``standard_error``, ``rank_test_score`` and
        ``split0_test_score`` ...

    Examples
    --------
    >>> from rankwise import PathCV, SVOR
    >>> from rankwise.datasets import load_diabetes_grades
    >>> data = load_diabetes_grades()
    >>> model = PathCV(SVOR(), rule="one-se").fit(data.X[:300], data.y[:300])
    >>> bool(model.score(data.X[300:], data.y[300:]) > -1.0)
    True
    >>> len(model.cv_results_["alpha"])
    13
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["path", "fit"])],
        "alphas": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), Iterable],
        "scoring": [str, callable, None],
        "rule": [StrOptions({"best", "one-se"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self, estimator: Any, alphas: Any = None, cv: Any = 5, scoring: Any = None, rule: str = "best",
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the strength, and fit the estimator with it to all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Features.
        y : array-like
            Labels of any form that :func:`rankwise.labels.encode` reads.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0, in fitting and in scoring.
        """
        with self._afresh() as model:
            model._validate_params()
            X, labels = rows_and_labels(X, y, model.estimator.classes)
            weight = check_weights(sample_weight, len(labels))
            alphas = model._alphas(X)
            scorer = None if model.scoring is None else check_scoring(model.estimator, scoring=model.scoring)
            template = clone(model.estimator)

            def weights(rows: Any) -> dict[str, Floats]:
                return {"sample_weight": weight[rows]} if weight.size else {}

            def scores(train: Places, test: Places) -> list[float]:
                path = template.path(rows_at(X, train), labels[train], alphas, **weights(train))
                rows, truth = rows_at(X, test), labels[test]
                if scorer is None:
                    return _minus_losses(path, rows, truth, **weights(test))
                return [scorer(one, rows, truth, **weights(test)) for one in path]

            splits = splits_of(model.cv, X, labels)
            with warnings.catch_warnings():  # of solvers that stop early in a fold, and of classes missing there
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", UserWarning)
                by_split = Parallel(at_most_cores(model.n_jobs), prefer="threads")(
                    delayed(scores)(*split) for split in splits
                )
            model._choose(alphas, np.array(by_split))
            best = clone(model.estimator).set_params(alpha=model.alpha_)
            model.best_estimator_ = best.fit(X, labels, **weights(slice(None)))
        return self

    def _alphas(self, X: Any) -> Floats:
        """Strengths to choose from, descending."""
        if self.alphas is None:
            probe = clone(self.estimator)
            rows = probe._rows(X, reset=True)
            return strengths(Design(rows, probe.n_features_in_), _N_ALPHAS)
        alphas = np.unique(np.asarray(self.alphas, dtype=np.float64))[::-1]
        if alphas.size == 0 or not (alphas > 0).all() or not np.isfinite(alphas).all():
            raise ValueError(f"alphas must be numbers above zero, at least one. Got {self.alphas!r} instead.")
        return alphas

    def _choose(self, alphas: Floats, by_split: Floats) -> None:
        mean, spread = by_split.mean(axis=0), by_split.std(axis=0, ddof=1 if len(by_split) > 1 else 0)
        error = spread / np.sqrt(len(by_split))
        best = int(np.argmax(mean))  # the strongest of equal ones
        enough = mean[best] - (error[best] if self.rule == "one-se" else 0.0)
        self.alpha_ = float(alphas[np.argmax(mean >= enough)])
        self.cv_results_ = {
            "alpha": alphas,
            "mean_test_score": mean,
            "std_test_score": by_split.std(axis=0),
            "standard_error": error,
            "rank_test_score": 1 + (mean[:, None] < mean).sum(axis=1),
            **{f"split{number}_test_score": scores for number, scores in enumerate(by_split)},
        }

    @reader
    def plot(self, ax: Any = None) -> Any:
        """Draw the mean score against the strength, with its standard errors and the choice; return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        results = self.cv_results_
        _, ax = axes(ax, (6.0, 3.6))
        mean, error = results["mean_test_score"], results["standard_error"]
        ax.fill_between(results["alpha"], mean - error, mean + error, color=OKABE_ITO[0], alpha=0.15, lw=0)
        ax.plot(results["alpha"], mean, color=OKABE_ITO[0], marker="o", ms=3.5)
        ax.axvline(self.alpha_, color=OKABE_ITO[1], lw=1.2)
        ax.set_xscale("log")
        curve_frame(ax, x="alpha, strength of the regulariser", y="mean score in folds")
        ax.annotate(
            f"{self.alpha_:.2g}, {self.rule}", (self.alpha_, 1.01), xycoords=("data", "axes fraction"), ha="center",
            va="bottom", fontsize=SMALL, color=QUIET,
        )  # fmt: skip
        return ax

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        return tags

    @reader
    def to_plain(self) -> dict[str, Any]:
        """The chosen model and how it was chosen: what a model file holds."""
        return {"best": self.best_estimator_, "alpha": self.alpha_, "cv_results": self.cv_results_}

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        if type(plain["best"]) is not type(self.estimator):
            raise ValueError("the chosen model is not of the type that the parameters name")
        results = plain["cv_results"]
        for name, values in results.items():
            require_array(name, values, finite=False)
        if "alpha" not in results or any(values.shape != results["alpha"].shape for values in results.values()):
            raise ValueError("the results of the folds do not belong together")
        self.alpha_ = require_number("alpha", plain["alpha"], float)
        self.cv_results_ = results
        self._take_chosen(plain["best"])


def _minus_losses(path: list[Any], X: Any, labels: Labels, sample_weight: Floats | None = None) -> list[float]:
    """Scores of an ``IntervalScorer`` with the estimators' loss, with the rows read once."""
    counted = np.where(labels.is_missing, 0.0, 1.0 if sample_weight is None else sample_weight)
    if not counted.any():
        raise ValueError("a fold has no labelled row: take fewer folds, or leave out rows without a label.")
    rows = path[0]._rows(X, reset=False)
    return [-float(np.average(one._losses_on(rows, labels), weights=counted)) for one in path]
