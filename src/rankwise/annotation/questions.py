"""What to ask next: which item, and which question about it.

The uncertainty of an item is the expected ranked probability score of its class probabilities,

    ``u(P) = sum_k P(y <= k) (1 - P(y <= k))``,

0 when the class is known. The gain of a question is the expected decrease of u: all of it for an exact answer,
``u(P) - P(y >= k) u(P | y >= k) - P(y < k) u(P | y < k)`` for "at least k?", and u minus what is left within the range
for a range of some width.

Items are drawn with probabilities proportional to u, or to the gain per second, and not simply the largest first: the
most uncertain items are often those that nobody can tell, and a model that learns only from them gets worse than from
random ones (``rankwise reproduce annotation`` shows it). A share of the questions, the *control*, is drawn evenly and
asks for exact answers, so that its errors are unbiased: they are those of random items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rankwise._masks import unmasked
from rankwise._types import Floats, Places

STRATEGIES = ("random", "uncertainty", "information")
KINDS_OF_QUESTION = ("exact", "range", "at_least")
#: Seconds that an answer takes by default: a range 0.6 times an exact one.
SECONDS: Mapping[str, float] = {"exact": 10.0, "range": 6.0, "at_least": 4.0}
_FLOOR = 1e-9  # of a chance to be drawn: certain items may be asked when nothing else is left
_TINY = np.finfo(np.float64).tiny  # replaces a probability of zero


@dataclass(frozen=True)
class Question:
    """A question about an item.

    Attributes
    ----------
    item : int
        Index of the item.
    kind : {"exact", "range", "at_least"}
        Which class, between which classes, or whether at least class ``code``.
    code : int
        For "at_least": code of the class asked for; otherwise -1.
    control : bool
        Whether the item was drawn evenly, to measure the error.
    """

    item: int
    kind: str = "exact"
    code: int = -1
    control: bool = False


def expected_rps(probabilities: Any) -> Floats:
    """Ranked probability score that probabilities (n, K) expect for themselves, (n,).

    Examples
    --------
    >>> from rankwise.annotation import expected_rps
    >>> expected_rps([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]]).tolist()
    [0.0, 0.5]
    """
    cumulative = np.cumsum(np.asarray(unmasked(probabilities), dtype=np.float64), axis=-1)[..., :-1]
    return np.asarray((cumulative * (1.0 - cumulative)).sum(axis=-1))


class QuestionChooser:
    """Chooses the next questions by the class probabilities of the items.

    Parameters
    ----------
    strategy : {"random", "uncertainty", "information"}, default "uncertainty"
        Items evenly; in proportion to their expected ranked probability score; or items and questions in proportion to
        the gain per second of their best question.
    kinds : sequence of {"exact", "range", "at_least"}, default ("exact",)
        Questions that may be asked; "random" and "uncertainty" ask the first.
    seconds : mapping, optional
        Seconds that an answer of each kind takes; by default 10, 6 and 4.
    control : float, default 0.1
        Share of questions about items drawn evenly, with exact answers; in [0, 1].
    width : int, default 1
        ``upper - lower`` of a typical range.
    random_state : int, RandomState or None, default None
        Seed of the draws.

    Examples
    --------
    >>> from rankwise.annotation import QuestionChooser
    >>> P = [[0.9, 0.1, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0]]
    >>> chooser = QuestionChooser("information", kinds=("exact", "at_least"), control=0.0, random_state=0)
    >>> chooser.choose(P, n=1)
    [Question(item=1, kind='at_least', code=2, control=False)]
    """

    def __init__(
        self,
        strategy: str = "uncertainty",
        kinds: Any = ("exact",),
        seconds: Mapping[str, float] | None = None,
        control: float = 0.1,
        width: int = 1,
        random_state: Any = None,
    ) -> None:
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}. Got {strategy!r} instead.")
        unknown = [kind for kind in kinds if kind not in KINDS_OF_QUESTION]
        if unknown or not kinds:
            raise ValueError(f"kinds must be among {', '.join(map(repr, KINDS_OF_QUESTION))}. Got {kinds!r} instead.")
        if not 0.0 <= control <= 1.0:
            raise ValueError(f"control must lie in [0, 1]. Got {control!r} instead.")
        self.seconds = {**SECONDS, **(seconds or {})}
        if set(self.seconds) != set(SECONDS) or not all(time > 0.0 for time in self.seconds.values()):
            raise ValueError(f"seconds must map kinds of question to times > 0. Got {seconds!r} instead.")
        if not width >= 0:
            raise ValueError(f"width must be a number of classes >= 0. Got {width!r} instead.")
        self.strategy = strategy
        self.kinds = tuple(kinds)
        self.control = control
        self.width = width
        self._generator = check_random_state(random_state)

    def choose(self, probabilities: Any, known: Any = None, n: int = 1) -> list[Question]:
        """The next questions, about different items.

        Parameters
        ----------
        probabilities : array-like of shape (n_items, K)
            Class probabilities of all items, as from ``predict_proba``.
        known : bool array of shape (n_items, K), optional
            Classes that the answers so far admit; items with one class left, or none, are not asked for
            again. By default nothing is known.
        n : int, default 1
            How many questions; fewer if fewer items are left.
        """
        P = np.asarray(unmasked(probabilities), dtype=np.float64)
        admitted = np.ones(P.shape, dtype=bool) if known is None else np.asarray(known, dtype=bool)
        if P.ndim != 2 or admitted.shape != P.shape:
            raise ValueError(f"probabilities and known must have the same shape (n_items, K). Got {P.shape} and "
                             f"{admitted.shape}.")  # fmt: skip
        P = np.where(admitted, np.maximum(P, _TINY), 0.0)
        P /= np.maximum(P.sum(axis=1, keepdims=True), _TINY)
        left = np.flatnonzero(admitted.sum(axis=1) > 1)
        n = min(n, left.size)
        is_control = self._generator.random_sample(n) < self.control
        even = self._generator.permutation(left)[: int(is_control.sum())]
        rest = np.setdiff1d(left, even)
        kind, code, chance = self._best(P[rest])
        drawn = self._generator.choice(rest.size, n - even.size, replace=False, p=chance) if rest.size else []
        # Controls need items about which nothing is known yet; others would not be random items.
        questions = [Question(int(item), "exact", -1, bool(admitted[item].all())) for item in even]
        return questions + [Question(int(rest[at]), self.kinds[kind[at]], int(code[at])) for at in drawn]

    def _best(self, P: Floats) -> tuple[Places, Places, Floats]:
        """For each item the kind and code of its question, and the chance to be drawn."""
        none = np.full(len(P), -1, dtype=np.intp)
        if self.strategy != "information":
            weight = np.ones(len(P)) if self.strategy == "random" else expected_rps(P) + _FLOOR
            code = _best_split(P)[0] if self.kinds[0] == "at_least" else none
            return np.zeros(len(P), dtype=np.intp), code, weight / max(weight.sum(), _FLOOR)
        rates, codes = [], []
        for kind in self.kinds:
            code, gain = none, expected_rps(P)
            if kind == "at_least":
                code, gain = _best_split(P)
            elif kind == "range":
                gain = gain - _left_by_range(P, self.width)
            rates.append(np.maximum(gain, 0.0) / self.seconds[kind])
            codes.append(code)
        best = np.argmax(rates, axis=0)
        weight = np.max(rates, axis=0) + _FLOOR
        return best, np.choose(best, codes), weight / max(weight.sum(), _FLOOR)


def _best_split(P: Floats) -> tuple[Places, Floats]:
    """Code k of the question "at least k?" with the largest gain, and this gain."""
    gains = np.full(P.shape, -np.inf)
    for k in range(1, P.shape[1]):
        gains[:, k] = expected_rps(P) - _left_within(P[:, :k]) - _left_within(P[:, k:])
    return gains.argmax(axis=1), gains.max(axis=1)


def _left_by_range(P: Floats, width: int) -> Floats:
    """Expected score after a range of ``width + 1`` classes that holds the true one, each such range equally likely."""
    n_classes = P.shape[1]
    width = min(width, n_classes - 1)
    codes = np.arange(n_classes)
    places = np.minimum(codes, n_classes - 1 - width) - np.maximum(codes - width, 0) + 1
    left = np.zeros(len(P))
    for start in range(n_classes - width):
        answer = slice(start, start + width + 1)
        left += _left_within(P[:, answer] / places[answer])
    return left


def _left_within(columns: Floats) -> Floats:
    """Probability that the class lies in these columns of P, times the expected score given that."""
    mass = columns.sum(axis=1)
    return np.asarray(mass * expected_rps(columns / np.maximum(mass, _TINY)[:, None]))
