"""Which batch estimator is the default where a user names none: test errors of the candidates on real sets.

``python -m benchmarks.default_estimator``: mean absolute error in ranks over five folds, columns standardised, default
parameters, at most 3,000 rows of a set. Labels are exact, or intervals for half of the training rows.
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import SVOR, CumulativeLink
from rankwise.annotation import partial_labels
from rankwise.datasets import DatasetNotFoundError, cut_equal_frequency, load
from rankwise.evaluation import format_table

#: Classes of equal frequency; None: the classes as they are.
SETS = {
    "abalone": None, "autompg": 5, "boston": 5, "california": 10, "car": None, "cpu_act": 10,
    "machine_cpu": 5, "parkinsons": 10, "stock": 5, "winequality_red": None, "winequality_white": None,
}  # fmt: skip
CANDIDATES = {"SVOR": SVOR(), "CumulativeLink": CumulativeLink()}
MOST_ROWS = 3000


def main() -> None:
    """Print the table and the mean over the sets."""
    lines = []
    for name, n_bins in SETS.items():
        try:
            data = load(name)
            y = np.asarray(cut_equal_frequency(data.y, n_bins)) if n_bins else np.unique(data.y, return_inverse=True)[1]
        except (DatasetNotFoundError, ValueError) as error:
            print(f"{name} is left out: {error}")
            continue
        X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, dtype=float)
        chosen = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        lines.append({"set": name, "rows": len(chosen), **errors(X[chosen], y[chosen])})
        print(lines[-1], flush=True)
    means = {key: float(np.mean([line[key] for line in lines])) for key in lines[0] if key not in ("set", "rows")}
    print(format_table([*lines, {"set": "mean", "rows": "", **means}]))


def errors(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Test error of every candidate, from exact and from half imprecise labels."""
    classes = np.unique(y)
    imprecise = np.asarray(partial_labels(y, 0.5, kind=2, classes=classes, random_state=0))
    found: dict[str, float] = {}
    for kind, labels in (("", y), (", half intervals", imprecise)):
        for name, estimator in CANDIDATES.items():
            wrong = np.zeros(len(y))
            for train, test in KFold(5, shuffle=True, random_state=0).split(X):
                model = make_pipeline(StandardScaler(), estimator.set_params(classes=classes))
                wrong[test] = np.abs(model.fit(X[train], labels[train]).predict(X[test]) - y[test])
            found[f"{name}{kind}"] = float(wrong.mean())
    return found


if __name__ == "__main__":
    main()
