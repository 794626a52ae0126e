"""Regularisation for ``rankwise reproduce ocr``, chosen without the test words: ``python -m`` this module.

Cross-validation on the words of fold 0 only, with letters hidden by a draw that the table does not use. A word is left
out with all its letters; errors are counted on its letters that the draw has left, for the others are unknown to
whoever must choose. The best stand in :data:`rankwise.experiments.ocr.SETTINGS` and ``MARGIN``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from rankwise import datasets
from rankwise.experiments._ocr_report import SCHEMES, SPLITS
from rankwise.experiments.ocr import PASSES, Setting, chain, hide, streaming
from rankwise.structured import ChainClassifier

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


def cross_validated(X: Sequence[Any], Y: Sequence[list[Any]], model: ChainClassifier) -> float:
    """Error in percent on the known letters of left-out words."""
    wrong = known = 0
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(Y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = clone(model).fit([X[i] for i in train], [Y[i] for i in train])
        truth = [letter for i in test for letter in Y[i]]
        pairs = list(zip(truth, np.concatenate(fitted.predict([X[i] for i in test])), strict=True))
        wrong += sum(letter is not None and letter != found for letter, found in pairs)
        known += sum(letter is not None for letter, _ in pairs)
    return 100 * wrong / known


def candidates() -> Iterator[tuple[str, str, ChainClassifier]]:
    """Schemes with the models that are tried there."""
    for margin in MARGINS:
        yield "0%", f"perceptron, margin {margin:g}", streaming(margin, PASSES[SPLITS[0]], seed=0)
    for (scheme, learner), settings in GRID.items():
        for setting in settings:
            yield scheme, f"{learner}, {setting}", chain(learner, setting, seed=0)


def main() -> None:
    """Print the error of every candidate."""
    words = datasets.load_ocr()
    fold = np.flatnonzero(words.fold == 0)
    X = [words.X[i] for i in fold]
    for scheme, name, model in candidates():
        generator = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(SCHEMES.index(scheme),)))
        Y = hide([words.y[i] for i in fold], scheme, generator)
        print(f"{scheme}, {name}: {cross_validated(X, Y, model):.2f}", flush=True)


if __name__ == "__main__":
    main()
