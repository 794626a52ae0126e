"""Automatic model selection: a search among candidates, and the best one fitted to all rows."""

import math
import sys
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from rankwise import decisions
from rankwise._sklearn import HasMethods, Interval, StrOptions
from rankwise._warn import warn_user
from rankwise._words import either
from rankwise.auto._candidates import DECISIONS, candidates
from rankwise.auto._chosen import ChoosingEstimator
from rankwise.auto._search import SCORES, Budget, Search, Show, Trial, losses, scores
from rankwise.auto.blended import BlendedOrdinal, of_labels, stacking_weights
from rankwise.base.default_parts import DefaultParts
from rankwise.base.transaction import reader
from rankwise.calibration.inner_fits import declared_classes, fitted_to, rows_and_labels
from rankwise.evaluation import format_table
from rankwise.features import LeakageWarning, TableEncoder
from rankwise.features.leakage import warn_of_leakage
from rankwise.labels import Labels, check_weights, warn_of_classes

_BLENDED = "blend"
_COLUMNS = ("model", "what", "error", "error_se", "nearest", "farthest", "rows", "fit_seconds", "remark")


class AutoOrdinal(DefaultParts, ChoosingEstimator):  # type: ignore[override]
    """Choose a model for a table of raw columns and labels of any form, within a budget, and fit it.

    Candidates range from the frequencies of the classes and linear models to boosted trees and kernels, each with
    suitable preprocessing. They are compared in the same interval-aware folds by successive halving. The default model,
    ``TableModel()``, is always compared to the end, so that apart from noise the result is never worse.

    Parameters
    ----------
    time_budget : float, default 60
        Seconds for the search. The chosen model is fitted to all rows after that.
    metric : {"mae", "zero_one", "squared", "log", "ranked"}, default "mae"
        Error to minimise: a loss of the predicted classes against the nearest class that a label admits, or the log or
        ranked probability score of the probabilities.
    estimators : {"auto", "quick"}, list of str or dict, default "auto"
        All candidates; the few that ``rankwise fit`` tries; some of them, by name; or your own estimators by name.
    n_fits : int, optional
        Number of fits, in place of seconds: the result is then the same for the same ``random_state``.
    cv : int, default 5
        Folds.
    blend : int, default 0
        Number of best candidates whose probabilities are blended (:class:`rankwise.BlendedOrdinal`), if the mixture is
        better than the best one alone.
    encoder : TableEncoder, "none" or None, default None
        How columns become features, as in :class:`rankwise.TableModel`.
    most_rows : int, default 50000
        Maximum number of rows on which candidates are compared.
    n_jobs : int, optional
        Folds that are fitted at the same time, in threads; at most one a core.
    verbose : bool, optional
        Show progress on stderr; by default if it is a terminal.
    random_state : int, default 0
        Seed of everything random.
    classes : array-like, optional
        The classes, lowest first; by default those that an estimator declares, or else those of the labels.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen model, fitted to all rows.
    best_name_ : str
        Its name in the leaderboard.
    leaderboard_ : list of dict
        One entry per candidate, best first: ``model``, ``what`` it is, ``error`` with ``error_se`` over folds,
        ``nearest`` and ``farthest`` (the range of the error that the labels allow), ``rows`` it was evaluated on,
        ``fit_seconds``, and ``remark``. Candidates of the last rung come first.
    classes_ : ndarray
        The classes, lowest first.

    Notes
    -----
    Ctrl-C ends the search, not the call: the best candidate so far is fitted.

    Examples
    --------
    >>> from rankwise import AutoOrdinal
    >>> from rankwise.datasets import load_diabetes_grades
    >>> data = load_diabetes_grades()
    >>> model = AutoOrdinal(n_fits=20, estimators=["constant", "SVOR", "CumulativeLink"]).fit(data.X, data.y)
    >>> model.best_name_ in ("SVOR", "CumulativeLink")
    True
    >>> [entry["model"] for entry in model.leaderboard_][-1]
    'constant'
    """

    label_kinds: ClassVar[frozenset[str]] = frozenset({"exact", "interval"})

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "time_budget": [Interval(Real, 0, None, closed="neither")],
        "metric": [StrOptions(set(DECISIONS))],
        "estimators": [StrOptions({"auto", "quick"}), list, tuple, dict],
        "n_fits": [Interval(Integral, 1, None, closed="left"), None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "blend": [Interval(Integral, 0, None, closed="left")],
        "encoder": [StrOptions({"none"}), HasMethods(["fit", "transform"]), None],
        "most_rows": [Interval(Integral, 10, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["boolean", None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
        "classes": ["array-like", None],
    }

    def __init__(
        self, time_budget: float = 60.0, metric: str = "mae", estimators: Any = "auto", *, n_fits: int | None = None,
        cv: int = 5, blend: int = 0, encoder: Any = None, most_rows: int = 50_000, n_jobs: int | None = None,
        verbose: bool | None = None, random_state: int = 0, classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compare candidates until the budget is spent, and fit the best one to all rows.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, 2-D array, or CSR matrix
            Raw columns, without the labels.
        y : array-like
            Labels of any form that :func:`rankwise.labels.encode` reads.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0.
        """
        with self._afresh() as model:
            model._validate_params()
            classes = declared_classes(model)
            X, labels = rows_and_labels(X, y, classes)
            if classes is None and not isinstance(y, Labels):
                warn_of_classes(labels.order, len(labels))
            weight = check_weights(sample_weight, len(labels))
            if labels.is_missing.all():
                raise ValueError("every label is missing: there is nothing to learn from.")
            warn_of_leakage(X, labels)
            with warnings.catch_warnings():  # of every candidate again
                warnings.simplefilter("ignore", LeakageWarning)
                model._search(X, labels, weight)
        return self

    def _search(self, X: Any, labels: Labels, weight: Any) -> None:
        n_labelled = int((~labels.is_missing).sum())
        tried, default = candidates(self.estimators, X, self.metric, self.encoder, n_labelled, int(self.random_state))
        for candidate in tried:
            if candidate.name == default and getattr(candidate.model, "encoder", "none") != "none":
                with warnings.catch_warnings():  # of columns left out, which the last fit repeats
                    warnings.simplefilter("ignore")
                    candidate.model._new_encoder().fit(X).transform(X)  # an error names the row of the whole table
        budget = Budget(fits=float(self.n_fits)) if self.n_fits is not None else Budget(float(self.time_budget))
        show = self._display()
        search = Search(
            tried, default, X, labels, weight, self.metric, self.cv, budget, int(self.random_state), self.n_jobs, show,
            self.most_rows,
        )  # fmt: skip
        search.run()
        if search.out_of_budget and len(search.trials) == 1 < len(tried):
            more = either("n_fits or time_budget", "--fits or --time-budget")
            warn_user(
                f"the budget allowed one of {len(tried)} candidates, {search.last[0].candidate.name}, which is chosen "
                f"without comparison. Raise {more}: each candidate takes {search.n_folds} fits, one a fold."
            )
        entries = _leaderboard(search)
        rows = np.arange(len(labels))
        blend = self._blended(search) if self.blend > 1 else None
        if blend is not None:
            mixture, weights, entry = blend
            entries = [entry, *entries]
            members = [fitted_to(trial.candidate.model, X, labels, weight, rows) for trial in mixture]
            best = BlendedOrdinal([clone(trial.candidate.model) for trial in mixture], decision=DECISIONS[self.metric])
            best._become_mixture(members, weights, labels.classes)
            self.best_estimator_, self.best_name_ = best, _BLENDED
        else:
            chosen = search.last[0].candidate
            self.best_estimator_ = fitted_to(chosen.model, X, labels, weight, rows)
            self.best_name_ = chosen.name
        self.leaderboard_ = entries
        if show is not None:
            show("", budget.total, budget.total)

    def _blended(self, search: Search) -> tuple[list[Trial], Any, dict[str, Any]] | None:
        """The best candidates with probabilities, their weights and the entry; None if the best one alone is better."""
        able = [trial for trial in search.last if trial.probabilities is not None][: self.blend]
        if len(able) < 2:
            return None
        labels = search.labels[search.rows]
        weight = search.weight[search.rows] if search.weight.size else np.ones(len(labels))
        together = np.stack([np.asarray(trial.probabilities) for trial in able])
        weights = stacking_weights(np.column_stack([of_labels(labels, one) for one in together]), weight)
        mixed = np.einsum("m,mnk->nk", weights, together)
        if self.metric in SCORES:
            error, nearest, farthest = scores(labels, mixed, self.metric, weight, labels.classes)
        else:
            answer = {"median": lambda p: decisions.median(np.cumsum(p, axis=1)[:, :-1]), "mode": decisions.mode,
                      "mean": decisions.rounded_mean}[DECISIONS[self.metric]]  # fmt: skip
            error, nearest, farthest = losses(labels, answer(mixed), self.metric, weight)
        if error >= search.last[0].error:
            return None
        members = zip(weights, able, strict=True)
        remark = " + ".join(f"{v:.2f} {trial.candidate.name}" for v, trial in members if v >= 0.005)
        errors = error, search.last[0].standard_error, nearest, farthest
        seconds = sum(trial.seconds for trial in able)
        return able, weights, _entry(_BLENDED, "a mixture of the best", *errors, len(labels), seconds, remark)

    def _display(self) -> Show | None:
        given: Show | None = vars(self).get("_show")  # a display in place of the plain one
        if given is not None:
            return given
        verbose = sys.stderr.isatty() if self.verbose is None else self.verbose
        return _print_progress if verbose else None

    def _defaults(self) -> dict[str, Callable[[], Any]]:
        return {"encoder": TableEncoder}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags

    def __str__(self) -> str:
        if not self.__sklearn_is_fitted__():
            return repr(self)
        return format_table([{name: entry[name] for name in _COLUMNS if name != "what"} for entry in self.leaderboard_])

    @reader
    def to_plain(self) -> dict[str, Any]:
        """The chosen model and the leaderboard: what a model file holds."""
        return {"best": self.best_estimator_, "name": self.best_name_, "leaderboard": self.leaderboard_}

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        board, name = plain["leaderboard"], plain["name"]
        if not isinstance(name, str) or not isinstance(board, list):
            raise ValueError("the leaderboard is not a list, or the chosen model has no name")
        if not all(isinstance(entry, dict) and set(_COLUMNS) <= set(entry) for entry in board):
            raise ValueError(f"an entry of the leaderboard lacks one of {', '.join(_COLUMNS)}")
        self.best_name_, self.leaderboard_ = name, [{name: entry[name] for name in _COLUMNS} for entry in board]
        self._take_chosen(plain["best"])


def _leaderboard(search: Search) -> list[dict[str, Any]]:
    """One entry per candidate: those of the last rung first, then those of earlier rungs, then those that failed."""
    others = [trial for trial in search.trials.values() if trial not in search.last]
    others.sort(key=lambda trial: (-trial.n_rows, trial.error))
    entries = []
    for trial in [*search.last, *others]:
        remark = "" if trial in search.last else "judged on fewer rows"
        errors = trial.error, trial.standard_error, trial.nearest, trial.farthest
        name, why = trial.candidate.name, trial.candidate.why
        entries.append(_entry(name, why, *errors, trial.n_rows, trial.seconds, remark))
    for candidate in search.candidates:
        if candidate.name not in search.trials:
            remark = search.failed.get(candidate.name, "no budget left")
            entries.append(_entry(candidate.name, candidate.why, *[math.nan] * 4, 0, math.nan, remark))
    return entries


def _entry(*values: Any) -> dict[str, Any]:
    return dict(zip(_COLUMNS, values, strict=True))


def _print_progress(what: str, spent: float, total: float) -> None:
    """One line on stderr that is written over and over."""
    share = min(1.0, spent / total) if total > 0 else 1.0
    end = "\n" if not what else ""
    print(f"\r{share:4.0%} of the budget  {what:<30}", end=end, file=sys.stderr, flush=True)
