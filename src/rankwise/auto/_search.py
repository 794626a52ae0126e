"""Successive halving: many candidates on few rows, fewer on more, the best few on all.

Rungs have 2,000 rows, then three times as many, and at last all labelled rows (at most 50,000). On each rung every
candidate is fitted and evaluated in the same interval-aware folds; the better half, and the default, go on. A budget of
seconds or of fits may end the search anywhere, so candidates come cheapest first on the first rung and best first on
the others. An unfinished rung counts if the best candidate of the rung before was evaluated on it.

Source: Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", 2016.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from rankwise._threads import at_most_cores
from rankwise._types import Floats
from rankwise.auto._candidates import CONSTANT, Candidate
from rankwise.base.row_data import rows_at
from rankwise.calibration.inner_fits import fitted_to
from rankwise.labels import Labels, encode
from rankwise.labels.stratified_folds import deal
from rankwise.losses import interval_insensitive, interval_pessimistic
from rankwise.metrics import log_score, ranked_probability_score

_GOLDEN = (5.0**0.5 - 1.0) / 2.0
_FIRST_ROWS, _GROWTH, _MOST_ROWS = 2_000, 3, 50_000
SCORES = {"log": log_score, "ranked": ranked_probability_score}

#: Called with the name of the candidate, how much of the budget is spent, and the budget.
Show = Callable[[str, float, float], None]


@dataclass
class Budget:
    """Seconds, or a number of fits; counted from when it is made."""

    seconds: float = math.inf
    fits: float = math.inf
    fitted: int = 0
    started: float = field(default_factory=lambda: time.perf_counter())

    @property
    def spent(self) -> float:
        """Seconds or fits so far."""
        return self.fitted if self.fits < math.inf else time.perf_counter() - self.started

    @property
    def total(self) -> float:
        """The budget, in the same unit."""
        return self.fits if self.fits < math.inf else self.seconds

    def allows(self, n_fits: int, seconds: float) -> bool:
        """Whether so many fits, of so many seconds in all, are left."""
        return self.spent + (n_fits if self.fits < math.inf else seconds) <= self.total


@dataclass(frozen=True)
class Trial:
    """Result of a candidate on a rung."""

    candidate: Candidate
    n_rows: int
    errors: Floats  # by which candidates are compared, one per fold
    nearest: float
    farthest: float
    seconds: float  # of one fit
    probabilities: Floats | None = None  # of rows that the models had not seen, on the last rung

    @property
    def error(self) -> float:
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        return float(self.errors.std(ddof=1) / math.sqrt(self.errors.size))


@dataclass
class Search:
    """A search among candidates on the rows of one table.

    After :meth:`run`, ``trials`` holds the last trial of every candidate, ``last`` the trials of the last rung that
    counts, best first, and ``failed`` why candidates could not be fitted.
    """

    candidates: Sequence[Candidate]
    default: str
    X: Any
    labels: Labels
    weight: Floats
    metric: str
    n_folds: int
    budget: Budget
    random_state: int = 0
    n_jobs: int | None = None
    show: Show | None = None
    most_rows: int = _MOST_ROWS

    def __post_init__(self) -> None:
        self.trials: dict[str, Trial] = {}
        self.failed: dict[str, str] = {}
        self.last: list[Trial] = []
        self.rows = np.flatnonzero(~self.labels.is_missing)  # of the last rung
        self.out_of_budget = False

    def run(self) -> None:
        """Evaluate candidates until the last rung is done, the budget is spent, or the user interrupts."""
        alive = list(self.candidates)
        if self.budget.fits < 2 * self.n_folds:  # for one candidate only: a model rather than the baseline
            alive.sort(key=lambda candidate: candidate.name == CONSTANT)
        rungs = list(self._rungs())
        for number, rows in enumerate(rungs):
            judged: list[Trial] = []
            interrupted = False
            try:
                for candidate in alive:
                    trial = self._judged(candidate, rows, keeps=number == len(rungs) - 1)
                    judged += [] if trial is None else [trial]
            except KeyboardInterrupt:
                if not self.last and not judged:
                    raise
                interrupted = True
            if judged and (not self.last or judged[0].candidate is self.last[0].candidate):
                self.last, self.rows = sorted(judged, key=lambda trial: trial.error), rows
            n_failed = sum(candidate.name in self.failed for candidate in alive)
            if interrupted or len(judged) < len(alive) - n_failed:
                self.out_of_budget = not interrupted
                break
            kept = self.last[: max(2, math.ceil(len(self.last) / 2))]
            kept += [trial for trial in self.last if trial.candidate.name == self.default and trial not in kept]
            alive = [trial.candidate for trial in kept]
        if not self.last:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.failed.items())
            raise ValueError(f"no candidate could be fitted. {reasons}" if reasons else "the budget allows no fit.")

    def _rungs(self) -> Iterator[NDArray[np.intp]]:
        rng = np.random.RandomState(self.random_state)
        labelled = np.flatnonzero(~self.labels.is_missing)
        # Steps of the golden section through the rows sorted by label: every prefix has the mixture of labels of all
        # rows, and contains the shorter ones.
        by_label = np.lexsort((rng.permutation(labelled.size), self._strata(labelled)))
        order = by_label[np.argsort(np.arange(labelled.size) * _GOLDEN % 1.0)]
        size, most = _FIRST_ROWS, min(self.most_rows, labelled.size)
        while 1.5 * size < most:
            yield np.sort(labelled[order[:size]])
            size *= _GROWTH
        yield labelled if most == labelled.size else np.sort(labelled[order[:most]])

    def _strata(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.asarray(self.labels[rows].distinct()[1])

    def _judged(self, candidate: Candidate, rows: NDArray[np.intp], *, keeps: bool) -> Trial | None:
        """Trial of a candidate; None if the budget does not allow it, or it cannot be fitted."""
        n_folds = min(self.n_folds, rows.size)
        before = self.trials.get(candidate.name)
        expected = 0.0 if before is None else before.seconds * rows.size / before.n_rows * n_folds
        if not self.budget.allows(n_folds, expected):
            return None
        if self.show is not None:
            self.show(candidate.name, self.budget.spent, self.budget.total)
        folds = deal(self._strata(rows), n_folds, np.random.RandomState(self.random_state))
        start = time.perf_counter()

        def judge(fold: int) -> tuple[tuple[float, float, float], Any, NDArray[np.intp]]:
            test = np.flatnonzero(folds == fold)
            model = fitted_to(candidate.model, self.X, self.labels, self.weight, rows[folds != fold])
            errors, answers = self._errors(model, rows[test], keeps)
            return errors, answers, test

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # solvers that stop early show in the errors of the folds
                judged = Parallel(at_most_cores(self.n_jobs), prefer="threads")(
                    delayed(judge)(fold) for fold in range(n_folds)
                )
        except (ValueError, TypeError, ArithmeticError, ImportError, MemoryError) as error:
            if candidate.name == self.default:
                raise
            self.failed[candidate.name] = str(error)
            return None
        self.budget.fitted += n_folds
        errors = np.array([each for each, _, _ in judged])
        probabilities = None
        if keeps and judged[0][1] is not None:
            places = np.argsort(np.concatenate([test for _, _, test in judged]))
            probabilities = np.concatenate([answers for _, answers, _ in judged])[places]
        seconds = (time.perf_counter() - start) / n_folds
        _, nearest, farthest = errors.mean(axis=0).tolist()
        trial = Trial(candidate, rows.size, errors[:, 0], nearest, farthest, seconds, probabilities)
        self.trials[candidate.name] = trial
        return trial

    def _errors(self, model: Any, rows: NDArray[np.intp], keeps: bool) -> tuple[tuple[float, float, float], Any]:
        """Error, and its least and largest value that the labels allow; with probabilities if they are to be kept."""
        X, labels = rows_at(self.X, rows), self.labels[rows]
        weight = self.weight[rows] if self.weight.size else None
        known = hasattr(model, "predict_proba")
        probabilities = model.predict_proba(X) if self.metric in SCORES or (keeps and known) else None
        if self.metric in SCORES:
            return scores(labels, probabilities, self.metric, weight, model.classes_), probabilities
        codes = encode(model.predict(X), labels.order).lower
        return losses(labels, codes, self.metric, weight), probabilities


def scores(
    labels: Labels, probabilities: Any, metric: str, weight: Floats | None, classes: Any
) -> tuple[float, float, float]:
    """Score by which to compare, against the nearest and against the farthest class that labels admit."""
    score, options = SCORES[metric], dict(classes=classes, sample_weight=weight)
    by = [score(labels, probabilities, against=what, **options) for what in ("label", "nearest", "farthest")]
    return by[0], by[1], by[2]


def losses(labels: Labels, codes: Any, metric: str, weight: Floats | None) -> tuple[float, float, float]:
    """Mean loss by which to compare, against the nearest and against the farthest class that labels admit."""
    nearest = float(np.average(interval_insensitive(labels, codes, metric), weights=weight))
    farthest = float(np.average(interval_pessimistic(labels, codes, metric), weights=weight))
    return nearest, nearest, farthest
