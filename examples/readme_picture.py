"""Draw the README's picture: ordered thresholds on the score axis, with interval labels as bars.

Run: python examples/readme_picture.py
"""

from pathlib import Path

from matplotlib.figure import Figure

from rankwise import PRIL
from rankwise.annotation import partial_labels
from rankwise.datasets import make_ordinal
from rankwise.plots import ThresholdDisplay

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "thresholds.png"


def main(path: Path = PICTURE) -> Path:
    X, y = make_ordinal(4000, 8, 5, noise=0.35, random_state=3)
    labels = partial_labels(y, 0.75, kind=1, random_state=0)
    model = PRIL(random_state=0).fit(X[:2000], labels[:2000])
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    display = ThresholdDisplay.from_estimator(model, X[2000:], labels[2000:], truth=y[2000:], ax=figure.add_subplot())
    display.ax_.set_title(
        "Five grades learnt from intervals: each bar is a label, its dot the model's score", fontsize=11
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path


if __name__ == "__main__":
    print(main())
