"""Simulated annotation: raters, strategies and kinds of question, error against minutes.

A simulated rater is unsure about a share of the items. For these it knows a range of ``width + 1`` neighbouring
classes that includes the true one, each such range equally likely. It answers a range question with this range, and an
exact question correctly or, if it guesses, with any of these classes. For the other items it knows the class. A bias
moves all answers by some ranks: its fraction is the probability of the last rank.

The seconds of an answer depend on its kind. The model is fitted to all answers so far after every batch of questions.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise._types import Floats
from rankwise.annotation import Question, QuestionChooser
from rankwise.annotation.interval_types import intervals_around
from rankwise.annotation.questions import SECONDS
from rankwise.base.row_data import rows_at
from rankwise.calibration.inner_fits import rows_and_labels
from rankwise.evaluation._tradeoff import with_classes
from rankwise.labels import Labels, encode


@dataclass(frozen=True)
class SimulatedRater:
    """A simulated rater.

    Attributes
    ----------
    width : int
        ``upper - lower`` of its ranges.
    bias : float
        Ranks by which its answers are too high.
    unsure : float
        Share of items for which it only knows a range.
    guesses : bool
        Whether an exact answer about these is any class of the range; otherwise it is right.
    seconds : mapping
        Seconds of an answer by the kind of question.
    """

    width: int = 1
    bias: float = 0.0
    unsure: float = 0.75
    guesses: bool = False
    seconds: Mapping[str, float] = field(default_factory=lambda: SECONDS)

    def __post_init__(self) -> None:
        if self.width < 0 or not 0.0 <= self.unsure <= 1.0:
            raise ValueError(f"width must be >= 0 and unsure in [0, 1]. Got {self.width!r} and {self.unsure!r}.")
        missing = [kind for kind in SECONDS if not self.seconds.get(kind, 0.0) > 0.0]
        if missing:
            raise ValueError(f"seconds must have a time > 0 for {missing[0]!r}. Got {dict(self.seconds)!r}.")


@dataclass(frozen=True, eq=False)
class AnnotationCurve:
    """Error against cost of one simulated annotation.

    Attributes
    ----------
    minutes, n_labels, error : ndarray
        For every fit: minutes of annotation so far, items with an answer, and mean absolute error on the test rows.
    """

    minutes: Floats
    n_labels: NDArray[np.int64]
    error: Floats

    def error_at(self, minutes: Any) -> Floats:
        """Error after some minutes, linear between two fits."""
        return np.asarray(np.interp(minutes, self.minutes, self.error))


def mean_curve(curves: Sequence[AnnotationCurve]) -> AnnotationCurve:
    """Mean of several curves, at the minutes that all of them reach."""
    start, end = max(c.minutes[0] for c in curves), min(c.minutes[-1] for c in curves)
    at = np.unique(np.clip(np.concatenate([c.minutes for c in curves]), start, max(start, end)))
    labels = np.mean([np.interp(at, c.minutes, c.n_labels) for c in curves], axis=0)
    return AnnotationCurve(at, np.rint(labels).astype(np.int64), np.mean([c.error_at(at) for c in curves], axis=0))


def simulate_annotation(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    rater: SimulatedRater | None = None,
    strategy: str = "random",
    kinds: Any = ("exact",),
    minutes: float = 60.0,
    start: int = 20,
    batch: int = 20,
    control: float = 0.1,
    classes: Any = None,
    random_state: Any = 0,
) -> AnnotationCurve:
    """Simulate the annotation of rows whose labels are known, and return how the error falls with the minutes.

    Parameters
    ----------
    estimator : estimator
        Has ``predict_proba`` and learns from intervals; clones of it are fitted.
    X, y : array-like
        Rows and exact labels of the items.
    X_test, y_test : array-like
        Rows and exact labels to judge by.
    rater : SimulatedRater, optional
        The rater; by default one with the default parameters.
    strategy, kinds, control
        As in :class:`rankwise.annotation.QuestionChooser`. If the rater is sure, a "range" question gets an exact
        answer, which takes the seconds of one.
    minutes : float, default 60
        Time to spend.
    start, batch : int, default 20
        Random items asked before the first fit, and questions between two fits.
    classes : sequence, optional
        The classes, lowest first; by default those of ``y``.
    random_state : int, RandomState or None, default 0
        Seed of items, draws and answers. With the same seed an item gets the same answer with every strategy.

    Examples
    --------
    >>> from rankwise import CumulativeLink
    >>> from rankwise.datasets import make_ordinal
    >>> from rankwise.evaluation import SimulatedRater, simulate_annotation
    >>> X, y = make_ordinal(600, 3, 5, noise=0.3, random_state=0)
    >>> rows = (X[:300], y[:300], X[300:], y[300:])
    >>> exact, wide = (
    ...     simulate_annotation(CumulativeLink(), *rows, rater=SimulatedRater(unsure=0.8), kinds=(kind,), minutes=20)
    ...     for kind in ("exact", "range")
    ... )
    >>> int(exact.n_labels[-1]) < int(wide.n_labels[-1])  # more answers in the same time
    True
    """
    rater = SimulatedRater() if rater is None else rater
    generator = check_random_state(random_state)
    X, truth = rows_and_labels(X, y, classes)
    if not truth.is_exact.all():
        raise ValueError("a simulation needs exact labels.")
    judge = encode(y_test, truth.order)
    answers = _SimulatedAnswers(rater, truth, generator)
    chooser = QuestionChooser(
        strategy, kinds, rater.seconds, control, width=rater.width, random_state=generator.randint(2**31 - 1)
    )
    for item in generator.permutation(len(truth))[:start]:
        answers.ask(Question(int(item), kinds[0] if kinds[0] != "at_least" else "exact"))
    points = []
    while True:
        model = _fitted(estimator, X, answers)
        error = float(judge.distance(truth.order.codes(model.predict(X_test))).mean())
        points.append((answers.seconds / 60.0, int(answers.asked.sum()), error))
        if answers.seconds >= 60.0 * minutes:
            break
        questions = chooser.choose(model.predict_proba(X), answers.known & ~answers.done[:, None], batch)
        if not questions:
            break
        for question in questions:
            answers.ask(question)
    spent, labels, errors = (np.array(column) for column in zip(*points, strict=True))
    return AnnotationCurve(spent, labels, errors)


def _fitted(estimator: Any, X: Any, answers: _SimulatedAnswers) -> Any:
    """The estimator, fitted to the answers so far."""
    rows = np.flatnonzero(answers.asked)
    labels = Labels.from_mask(answers.known[rows], answers.truth.order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few answers do not separate all classes
        return with_classes(estimator, answers.truth.classes).fit(rows_at(X, rows), labels)


class _SimulatedAnswers:
    """What the rater knows, and its answers so far."""

    def __init__(self, rater: SimulatedRater, truth: Labels, generator: Any) -> None:
        n, n_classes = len(truth), len(truth.order)
        self.rater, self.truth = rater, truth
        width = min(rater.width, n_classes - 1)
        first, last = intervals_around(truth, width, generator)
        self.unsure = generator.random_sample(n) < rater.unsure
        moved = np.floor(rater.bias + generator.random_sample(n)).astype(int)
        guess = first + generator.randint(width + 1, size=n)
        answer = np.where(self.unsure & rater.guesses, guess, truth.lower)
        self.exact = np.clip(answer + moved, 0, n_classes - 1)
        self.lower, self.upper = (np.clip(end + moved, 0, n_classes - 1) for end in (first, last))
        self.known = np.ones((n, n_classes), dtype=bool)
        self.asked, self.done = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self.seconds = 0.0

    def ask(self, question: Question) -> None:
        """Take the answer to a question; one that contradicts earlier answers replaces them."""
        i, codes = question.item, np.arange(self.known.shape[1])
        kind = "exact" if question.kind == "range" and not self.unsure[i] else question.kind
        if kind == "at_least":
            answer = (codes >= question.code) == (self.exact[i] >= question.code)
        elif kind == "range":
            answer = (self.lower[i] <= codes) & (codes <= self.upper[i])
            self.done[i] = True  # the rater knows no more
        else:
            answer = codes == self.exact[i]
            self.done[i] = True
        both = self.known[i] & answer
        self.known[i] = both if both.any() else answer
        self.asked[i] = True
        self.seconds += self.rater.seconds[kind]
