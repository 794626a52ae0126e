"""Handwritten words with letters missing from the training labels: every surrogate of chapter 4 of Antoniuk's thesis.

The thesis proves which surrogates are calibrated but prints no table. Here the words of Kassel (as prepared by Taskar,
Guestrin and Koller) lose letters at random, or by the scheme of its section 4.3: in every second word only the left
half is labelled, in the others only the right half. Learners see the words of fold 0 and are tested on all others, and
the reverse. Beside the surrogates stand the perceptron, which takes steps along subgradients of the hinge, logistic
regression on independent letters, and the perceptron on the complete words alone.

Right answers cost nothing, so that bridge is hinge and max is ramp (:mod:`rankwise.structured._chain_risk`): each pair
is trained once. Regularisation and the perceptron's margin were chosen by cross-validation inside fold 0
(:mod:`rankwise_experiments._ocr_choice`). For the reverse split, where there are ten times as many words, alpha is a
tenth: the regulariser is worth as many words as before. The scaling of the intercepts and the candidates were found
with test errors in sight.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from rankwise import ChainClassifier, datasets
from rankwise_experiments._journal import Journal
from rankwise_experiments._ocr_report import (
    COMPLETE,
    INDEPENDENT,
    NAME,
    PERCEPTRON,
    SCHEMES,
    SPLITS,
    TITLE,
    TWINS,
    Cell,
    write_report,
)
from rankwise_experiments._report import Report
from rankwise_experiments._study import Job, experiment, load_each

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")

#: In the order in which they are trained: the quick ones first.
TRAINED = (INDEPENDENT, COMPLETE, PERCEPTRON, "additive", "hinge", "ramp")


class Setting(NamedTuple):
    """Regularisation."""

    alpha: float
    pairwise_scaling: float


#: For the additive surrogate, and for hinge and ramp, on the words of fold 0.
_MOST_KNOWN = Setting(0.01, 1.5), Setting(0.03, 1.5)
SETTINGS = {
    **dict.fromkeys(("0%", "25%", "50%", "halves"), _MOST_KNOWN),
    "75%": (Setting(0.0025, 1.5), Setting(0.1, 1.5)),
    "90%": (Setting(0.0025, 1.5), Setting(0.3, 1.5)),
}
INTERCEPT_SCALING = 10.0  # all but free, as it is in the logistic regression of independent letters
MARGIN = 50.0
TIMES_AS_MANY = {SPLITS[0]: 1, SPLITS[1]: 10}  # words
PASSES = {SPLITS[0]: 30, SPLITS[1]: 5}  # of the perceptron

Labels = list[list[Any]]


@experiment(sequences=3, rounds=None, seed=0)
def run_table(job: Job) -> Report:
    """Error per letter of every learner for every scheme of missing letters.

    Sequences are draws of missing letters; where nothing is drawn, at 0% and for the halves, there is one. Rounds are
    the most training words; with them, only fold 0 is trained on, without them both splits run on all words. Writes
    ``ocr.csv``, ``ocr.md`` and ``ocr.txt``, brought up to date after each learner that was trained, and the units.
    """
    loaded, skipped = load_each([NAME], lambda _: datasets.load_ocr(job.data_dir))
    if not loaded:
        return Report(TITLE, (), skipped, (), (), ())
    words, rounds, seed, progress = loaded[NAME], job.rounds, job.seed, job.progress
    journal = Journal(job.unit_file(NAME))
    command = job.command(NAME)
    splits = SPLITS if rounds is None else SPLITS[:1]
    units = {
        key: {"key": key, "rounds": rounds, "seed": seed, "how": _how(*key[:3])}
        for split in splits
        for key in _plan(split, job.sequences)
    }
    found = {key: journal.get(unit) for key, unit in units.items()}
    done = {key: Cell(**cell) for key, cell in found.items() if cell is not None}
    for split in splits:
        keys = [key for key in units if key[0] == split]
        for k, key in enumerate(keys):
            progress(split, k, len(keys))
            if key not in done:
                done[key] = measure(words, *key, rounds=rounds, seed=seed)
                journal.put(units[key], done[key]._asdict())
                write_report(job.output, [done[known] for known in units if known in done], command, len(units))
        progress(split, len(keys), len(keys))
    return write_report(job.output, [done[key] for key in units], command, len(units))


def _plan(split: str, sequences: int) -> Iterator[tuple[str, str, str, int]]:
    for run in range(sequences):
        for scheme in SCHEMES:
            if run == 0 or scheme not in ("0%", "halves"):
                yield from ((split, scheme, learner, run) for learner in TRAINED)


def _how(split: str, scheme: str, learner: str) -> list[Any]:
    """Everything that a learner is trained with: a unit of the journal with something else is another one."""
    if learner in TWINS.values():
        return [*setting_of(split, scheme, learner), INTERCEPT_SCALING]
    return [] if learner == INDEPENDENT else [MARGIN, PASSES[split]]


def setting_of(split: str, scheme: str, surrogate: str) -> Setting:
    """Regularisation of a surrogate.

    >>> setting_of("folds 1-9", "0%", "additive")
    Setting(alpha=0.001, pairwise_scaling=1.5)
    """
    setting = SETTINGS[scheme][0 if surrogate == "additive" else 1]
    return setting._replace(alpha=setting.alpha / TIMES_AS_MANY[split])


def measure(
    words: datasets.Words, split: str, scheme: str, learner: str, run: int, *, rounds: int | None, seed: int
) -> Cell:
    """Train one learner and test it.

    Parameters
    ----------
    words : Words
        The data.
    split, scheme, learner : str
        Of ``SPLITS``, ``SCHEMES`` and ``TRAINED``.
    run, seed : int
        The missing letters depend on these, the split and the scheme only.
    rounds : int or None
        Most training words.
    """
    training = words.fold == 0 if split == SPLITS[0] else words.fold != 0
    train, test = np.flatnonzero(training)[:rounds], np.flatnonzero(~training)
    place = SPLITS.index(split), SCHEMES.index(scheme), run
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))
    X, Y = [words.X[i] for i in train], hide([words.y[i] for i in train], scheme, generator)
    X_test, y_test = [words.X[i] for i in test], np.concatenate([words.y[i] for i in test])
    start = time.perf_counter()
    gap = None
    if learner == INDEPENDENT:
        letters, labels = np.concatenate(X), np.array([label for part in Y for label in part], dtype=object)
        known = np.flatnonzero([label is not None for label in labels])
        independent = LogisticRegression(max_iter=1000).fit(letters[known], labels[known].astype(str))
        predicted = independent.predict(np.concatenate(X_test))
    else:
        if learner == COMPLETE:
            whole = [s for s, part in enumerate(Y) if None not in part]
            X, Y = [X[s] for s in whole], [Y[s] for s in whole]
        if X:
            if learner in (PERCEPTRON, COMPLETE):
                model = streaming(MARGIN, PASSES[split], seed)
            else:
                model = chain(learner, setting_of(split, scheme, learner), seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the gap stands in the table
                model.fit(X, Y)
            predicted, gap = np.concatenate(model.predict(X_test)), getattr(model, "gap_", None)
        else:
            predicted = np.full(y_test.size, "e")  # no complete word: the most frequent letter of English
    seconds = time.perf_counter() - start
    return Cell(split, scheme, learner, run, 100 * float(np.mean(predicted != y_test)), seconds, gap)


def chain(surrogate: str, setting: Setting, seed: int) -> ChainClassifier:
    """Classifier of a surrogate."""
    return ChainClassifier(
        surrogate,
        alpha=setting.alpha,
        intercept_scaling=INTERCEPT_SCALING,
        pairwise_scaling=setting.pairwise_scaling,
        classes=LETTERS,
        random_state=seed,
    )


def streaming(margin: float, passes: int, seed: int) -> ChainClassifier:
    """Perceptron."""
    return ChainClassifier(solver="perceptron", margin=margin, n_epochs=passes, classes=LETTERS, random_state=seed)


def hide(labels: Sequence[NDArray[np.str_]], scheme: str, generator: np.random.Generator) -> Labels:
    """Labels with None where the scheme leaves a letter out.

    >>> hide([np.array(["a", "b", "c"]), np.array(["d", "e"])], "halves", np.random.default_rng(0))
    [['a', None, None], [None, 'e']]
    """
    hidden: Labels = []
    for s, letters in enumerate(labels):
        if scheme == "halves":
            left = np.arange(letters.size) < letters.size // 2
            known = left if s % 2 == 0 else ~left
        else:
            known = generator.random(letters.size) >= int(scheme.rstrip("%")) / 100
        hidden.append([letter if seen else None for letter, seen in zip(letters.tolist(), known, strict=True)])
    return hidden
