"""Three numbers for the README: what a model gains from the order of the classes and from imprecise labels.

Run: python examples/why_ordered.py
"""

import numpy as np
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge

from rankwise import PRIL, PRank
from rankwise.annotation import partial_labels
from rankwise.datasets import make_ordinal

TRAIN, TEST = slice(10_000), slice(10_000, None)


def ranks_off(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.abs(y - predicted).mean())


def main() -> None:
    X, y = make_ordinal(20_000, 20, 10, noise=0.3, random_state=0)
    ours = PRank(random_state=0).fit(X[TRAIN], y[TRAIN])
    theirs = Perceptron(random_state=0).fit(X[TRAIN], y[TRAIN])
    print(f"order: PRank is {ranks_off(y[TEST], ours.predict(X[TEST])):.2f} ranks off, ", end="")
    print(f"scikit-learn's Perceptron {ranks_off(y[TEST], theirs.predict(X[TEST])):.2f}")

    # Grades of unequal width, as product ratings are: one star 10 %, then 4, 7 and 20 %, five stars 59 %.
    noisy = X[:, :5].sum(axis=1) + 0.3 * np.random.default_rng(0).standard_normal(len(X))
    uneven = np.digitize(noisy, np.quantile(noisy, [0.10, 0.14, 0.21, 0.41])) + 1
    ours = PRank(random_state=0).fit(X[TRAIN], uneven[TRAIN])
    line = Ridge().fit(X[TRAIN], uneven[TRAIN])
    rounded = np.clip(np.rint(line.predict(X[TEST])), 1, 5)
    print(f"unequal grades: PRank is {ranks_off(uneven[TEST], ours.predict(X[TEST])):.2f} ranks off, ", end="")
    print(f"rounded ridge regression {ranks_off(uneven[TEST], rounded):.2f}")

    # One row in a hundred has an exact grade, the others an interval of up to three grades.
    intervals = partial_labels(y[TRAIN], 0.99, kind=2, random_state=0)
    exact = intervals[:, 0] == intervals[:, 1]
    ours = PRIL(random_state=0).fit(X[TRAIN], intervals)
    alone = LogisticRegression().fit(X[TRAIN][exact], y[TRAIN][exact])
    print(f"imprecise labels: PRIL with {exact.sum()} exact grades and {(~exact).sum()} intervals is ", end="")
    print(f"{ranks_off(y[TEST], ours.predict(X[TEST])):.2f} ranks off, ", end="")
    print(f"logistic regression on the exact ones {ranks_off(y[TEST], alone.predict(X[TEST])):.2f}")


if __name__ == "__main__":
    main()
