"""Coverage and width of conformal sets on real data, from exact and imprecise labels, beside MAPIE's.

``python -m benchmarks.conformal`` draws 200 splits of three sets in half for calibration and half for testing, with one
model that has seen neither. ``python -m benchmarks.conformal 20`` draws fewer.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from rankwise import ConformalOrdinal, CumulativeLink
from rankwise.annotation import partial_labels
from rankwise.datasets import cut_equal_frequency, load
from rankwise.evaluation import format_table

SETS = {"abalone": 5, "california": 10, "winequality_white": None}  # classes of equal frequency
LEVEL, SHARES = 0.9, (0.0, 0.5, 0.9)


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows with scaled columns, and codes 0..K-1."""
    found = load(name)
    n_classes = SETS[name]
    y = np.asarray(found.y, dtype=float)
    ranks = np.unique(y, return_inverse=True)[1] if n_classes is None else np.asarray(cut_equal_frequency(y, n_classes))
    return StandardScaler().fit_transform(np.asarray(found.X, dtype=float)), ranks - ranks.min()


def main(n_splits: int = 200) -> None:
    """Print one table of our sets and one beside MAPIE's."""
    ours, theirs = [], []
    for name in SETS:
        try:
            X, y = data(name)
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}")
            continue
        first, rest = train_test_split(np.arange(len(y)), train_size=min(3000, len(y) // 2), random_state=0)
        model = CumulativeLink(classes=np.arange(y.max() + 1)).fit(X[first], y[first])
        ours += [
            {"set": name, "imprecise": share, "sets": score, **over_splits(model, X, y, rest, n_splits, share, score)}
            for share in SHARES
            for score in ("shortest", "median", "distance")
        ]
        multinomial = LogisticRegression(max_iter=1000).fit(X[first], y[first])
        for one in (model, multinomial):
            theirs += beside_mapie(name, one, X, y, rest, min(n_splits, 20))
    if not ours:
        sys.exit("none of the sets is there: see the lines above.")
    print(f"Level {LEVEL:g}, {n_splits} splits, guaranteed: mean coverage and its standard error, classes in a set\n")
    print(format_table(ours))
    if theirs:
        print("\nExact labels, the same probabilities: share of sets with gaps\n")
        print(format_table(theirs))


def over_splits(
    model: CumulativeLink, X: np.ndarray, y: np.ndarray, rest: np.ndarray, n_splits: int, share: float, score: str
) -> dict[str, float]:
    """Coverage and width of the sets, over halves of the rest."""
    coverage, width = [], []
    for seed in range(n_splits):
        calibrate, test = train_test_split(rest, train_size=min(1000, len(rest) // 2), random_state=seed)
        labels = partial_labels(y[calibrate], share, kind=2, classes=model.classes_, random_state=seed)
        sets = ConformalOrdinal(model, LEVEL, score, cv="prefit").fit(X[calibrate], labels).predict_set(X[test[:2000]])
        coverage.append(sets[np.arange(len(sets)), y[test[:2000]]].mean())
        width.append(sets.sum(axis=1).mean())
    error = float(np.std(coverage) / np.sqrt(n_splits))
    kept = np.mean(coverage) >= LEVEL - 2 * error
    return {"coverage": float(np.mean(coverage)), "error": error, "width": float(np.mean(width)), "kept": bool(kept)}


def beside_mapie(
    name: str, model: Any, X: np.ndarray, y: np.ndarray, rest: np.ndarray, n_splits: int
) -> list[dict[str, object]]:
    """Sets of MAPIE from the same probabilities, and ours."""
    try:
        from mapie.classification import SplitConformalClassifier
    except ImportError:
        print("MAPIE is not installed: pip install 'rankwise[bench]'")
        return []
    found: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(n_splits):
        calibrate, test = train_test_split(rest, train_size=min(1000, len(rest) // 2), random_state=seed)
        test = test[:2000]
        conformal = ConformalOrdinal(model, LEVEL, cv="prefit").fit(X[calibrate], y[calibrate])
        sets = {"ours, shortest": conformal.predict_set(X[test])}
        for score in ("lac", "aps"):
            peer = SplitConformalClassifier(model, confidence_level=LEVEL, conformity_score=score, prefit=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of a class that the calibration rows lack
                sets[f"MAPIE {score}"] = peer.conformalize(X[calibrate], y[calibrate]).predict_set(X[test])[1][:, :, 0]
        for label, mask in sets.items():
            gaps = (np.diff(mask.astype(int), axis=1, prepend=0, append=0) == 1).sum(axis=1) > 1
            hit = mask[np.arange(len(test)), y[test]].mean()
            found.setdefault(label, []).append((hit, mask.sum(axis=1).mean(), gaps.mean()))
    means = {label: np.mean(rows, axis=0) for label, rows in found.items()}
    columns = "coverage", "width", "with gaps"
    return [
        {"set": name, "probabilities": type(model).__name__, "sets": label, **dict(zip(columns, each, strict=True))}
        for label, each in means.items()
    ]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
