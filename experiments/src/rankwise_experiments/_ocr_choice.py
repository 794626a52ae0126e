"""Regularisation for ``rankwise reproduce ocr``, chosen without the test words: ``python -m`` this module.

Cross-validation on the words of fold 0 only, with letters hidden by a draw that the table does not use. A word is left
out with all its letters; errors are counted on its letters that the draw has left, for the others are unknown to
whoever must choose. The best stand in :data:`rankwise_experiments.ocr.SETTINGS` and ``MARGIN``.

For the reverse split the strengths are divided by 1, 3 and 10, learnt from folds 2 to 9 and judged on fold 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from rankwise import ChainClassifier, datasets
from rankwise_experiments._ocr_report import SCHEMES, SPLITS
from rankwise_experiments.ocr import PASSES, Setting, chain, hide, setting_of, streaming

_ADDITIVE = (0.0025, 0.005, 0.01)

#: What is tried, by scheme and learner; other schemes have the setting of the nearest.
GRID = {
    ("0%", "additive"): [Setting(alpha, 1.5) for alpha in _ADDITIVE],
    ("0%", "hinge"): [Setting(alpha, 1.5) for alpha in (0.01, 0.03, 0.1)],
    ("75%", "hinge"): [Setting(alpha, 1.5) for alpha in (0.1, 0.3)],
    ("90%", "additive"): [Setting(alpha, pairs) for alpha in _ADDITIVE for pairs in (1.0, 1.5)],
    ("90%", "hinge"): [Setting(alpha, 1.5) for alpha in (0.1, 0.3)],
}
MARGINS = (50.0, 150.0, 500.0)
SEED = 1_000_003
FOLDS = 3


Rows = NDArray[np.intp]


def left_out_error(
    X: Sequence[Any], Y: Sequence[list[Any]], model: ChainClassifier, parts: Iterable[tuple[Rows, Rows]]
) -> float:
    """Error in percent on the known letters of the words that each part leaves out: (learnt from, left out)."""
    wrong = known = 0
    for train, test in parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = clone(model).fit([X[i] for i in train], [Y[i] for i in train])
        truth = [letter for i in test for letter in Y[i]]
        pairs = list(zip(truth, np.concatenate(fitted.predict([X[i] for i in test])), strict=True))
        wrong += sum(letter is not None and letter != found for letter, found in pairs)
        known += sum(letter is not None for letter, _ in pairs)
    return 100 * wrong / known


def candidates() -> Iterator[tuple[str, str, ChainClassifier]]:
    """Schemes with the models that are tried inside fold 0."""
    for margin in MARGINS:
        yield "0%", f"perceptron, margin {margin:g}", streaming(margin, PASSES[SPLITS[0]], seed=0)
    for (scheme, learner), settings in GRID.items():
        for setting in settings:
            yield scheme, f"{learner}, {setting}", chain(learner, setting, seed=0)


def weaker() -> Iterator[tuple[str, str, ChainClassifier]]:
    """Schemes with the models that are tried on ten times as many words."""
    for scheme in ("0%", "50%", "90%"):
        for learner in ("additive", "hinge"):
            setting = setting_of(SPLITS[0], scheme, learner)
            for divisor in (1, 3, 10):
                weak = setting._replace(alpha=setting.alpha / divisor)
                yield scheme, f"{learner}, alpha {setting.alpha:g} / {divisor}", chain(learner, weak, seed=0)


def main() -> None:
    """Print the error of every candidate."""
    words = datasets.load_ocr()
    few, many = np.flatnonzero(words.fold == 0), np.flatnonzero(words.fold != 0)
    one = words.fold[many] == 1
    tried = (
        (few, KFold(FOLDS, shuffle=True, random_state=0).split(few), candidates()),
        (many, [(np.flatnonzero(~one), np.flatnonzero(one))], weaker()),
    )
    for split, (rows, parts, models) in zip(SPLITS, tried, strict=True):
        X, parts = [words.X[i] for i in rows], list(parts)
        for scheme, name, model in models:
            generator = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(SCHEMES.index(scheme),)))
            Y = hide([words.y[i] for i in rows], scheme, generator)
            print(f"{split}, {scheme}, {name}: {left_out_error(X, Y, model, parts):.2f}", flush=True)


if __name__ == "__main__":
    main()
