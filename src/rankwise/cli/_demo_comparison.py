"""What interval labels cost: a comparison on data that need no download, as tables and one picture.

Two data sets: the PRIL paper's synthetic one, in the feature space of its kernel ``(x.z + 1)^2``, and scikit-learn's
diabetes data with the progression in five grades, standardised. PRank, Widrow-Hoff and the multi-class perceptron learn
from exact labels, PRIL from intervals; all are tested on the exact labels of other rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import StandardScaler

from rankwise import datasets
from rankwise._drawing import load_matplotlib
from rankwise.annotation import partial_labels
from rankwise.cli._outputs import save_picture
from rankwise.evaluation import format_table, progressive
from rankwise.features import polynomial_features
from rankwise.online import PRIL, MulticlassPerceptron, PRank, WidrowHoff
from rankwise.plots import ProgressiveDisplay, ThresholdDisplay

CLASSES = np.arange(1, 6)
SHARE = 0.75  # share of interval labels in the paper's section 5.1


class Contestant(NamedTuple):
    """A model, and its training labels: intervals of a kind for a share of the rows, exact ones for the rest."""

    name: str
    estimator: type[Any]
    kind: Literal[1, 2] = 1
    share: float = 0.0

    @property
    def labels(self) -> str:
        rest = f", {1 - self.share:.0%} exact" if self.share < 1 else ""
        return f"{self.share:.0%} type {self.kind}{rest}" if self.share else "exact"

    def shown(self, y: NDArray[Any], seed: int) -> NDArray[Any]:
        """Its training labels where the exact ones are ``y``."""
        return partial_labels(y, self.share, self.kind, CLASSES, seed) if self.share else y

    def model(self) -> Any:
        return self.estimator(classes=CLASSES, random_state=0)


CONTESTANTS = (
    Contestant("PRank", PRank),
    *(Contestant("PRIL", PRIL, kind, share) for share in (SHARE, 1.0) for kind in (1, 2)),
    Contestant("Widrow-Hoff", WidrowHoff),
    Contestant("multi-class perceptron", MulticlassPerceptron),
)


@dataclass(frozen=True)
class Demo:
    """Tables by data set, and the picture's path."""

    tables: Mapping[str, list[dict[str, Any]]]
    picture: Path

    def __str__(self) -> str:
        tables = [f"{title}\n\n{format_table(rows)}" for title, rows in self.tables.items()]
        legend = "type 1: two neighbouring ranks, one of them right; type 2: the rank and both its neighbours"
        return "\n\n".join([*tables, legend])


def run(output: Path) -> Demo:
    """Compare the models on both data sets, and write the picture to ``output``."""
    load_matplotlib()  # before the work, as what cannot be drawn or written is an error
    output.parent.mkdir(parents=True, exist_ok=True)
    X, y = datasets.make_pril_synthetic(10_000, random_state=0)
    features, halves = polynomial_features(X, 2), ShuffleSplit(1, test_size=0.5, random_state=0)
    diabetes, splits = datasets.load_diabetes_grades(len(CLASSES)), ShuffleSplit(20, test_size=0.3, random_state=0)
    synthetic = "Synthetic: 5 classes, trained on 5,000 rows, tested on 5,000"
    grades = "Diabetes: 5 grades, trained on 70 % of 442 rows, tested on the rest, mean of 20 splits"
    tables = {
        synthetic: _compare(features, y, halves, scale=False),
        grades: _compare(diabetes.X, diabetes.y, splits, scale=True),
    }
    save_picture(_picture(features, y), output)
    return Demo(tables, output)


def _compare(X: NDArray[Any], y: NDArray[Any], splits: ShuffleSplit, *, scale: bool) -> list[dict[str, Any]]:
    """Test each contestant; one row of the table for each."""
    scores = np.zeros((len(CONTESTANTS), 3))
    for number, (train, test) in enumerate(splits.split(X)):
        seen, unseen = X[train], X[test]
        if scale:
            scaler = StandardScaler().fit(seen)
            seen, unseen = scaler.transform(seen), scaler.transform(unseen)
        for place, contestant in enumerate(CONTESTANTS):
            model = contestant.model().fit(seen, contestant.shown(y[train], seed=number))
            distance = np.abs(model.predict(unseen) - y[test])
            scores[place] += distance.mean(), np.mean(distance == 0), np.mean(distance <= 1)
    rows = []
    for contestant, (mae, hits, near) in zip(CONTESTANTS, scores / splits.get_n_splits(), strict=True):
        results = {"MAE": f"{mae:.3f}", "exactly right": f"{hits:.1%}", "within one rank": f"{near:.1%}"}
        rows.append({"model": contestant.name, "labels it saw": contestant.labels, **results})
    return rows


def _picture(X: NDArray[Any], y: NDArray[Any]) -> Any:
    """Left: thresholds of a PRIL model on the score axis. Right: average error of the models while they learn."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.5, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    shown = next(c for c in CONTESTANTS if c.share == SHARE and c.kind == 2)
    half = len(y) // 2
    model = shown.model().fit(X[:half], shown.shown(y[:half], seed=0))
    ThresholdDisplay.from_estimator(model, X[half:], shown.shown(y[half:], seed=1), truth=y[half:], ax=left)
    left.set_title(f"PRIL learnt from {SHARE:.0%} interval labels: classes and thresholds on its score", fontsize=11)

    curves = {}
    for c in CONTESTANTS:
        name = f"{c.name}, {c.share:.0%} type {c.kind}" if c.share else c.name
        if c.share < 1:
            curves[name] = progressive(c.model(), X, c.shown(y, seed=0), truth=y, classes=CLASSES)
    ProgressiveDisplay.from_results(curves, loss_name="average absolute error so far, ranks", ax=right)
    right.set_title("Predict, then learn: error against the exact labels", fontsize=11)
    return figure
