"""Write your own structured model: the hour of the day, learnt from "between 22 and 2".

Hours lie on a circle: 23 and 0 are neighbours, and an interval may include midnight. Estimators for ordered classes do
not support that; a structured model that does takes thirty lines. It defines the parameters, the outputs and the joint
features. The fourth part, the solver, is inherited: it tries all hours.

Run: python examples/own_model.py
"""

import numpy as np

from rankwise import CuSumRank, StructuredPerceptron
from rankwise.structured import StructuredModel

HOURS = 24


class Clock(StructuredModel):
    """Hours on a circle; an annotation is an hour, or (first, last) going forwards, possibly through midnight."""

    def __init__(self, n_waves=3):
        angles = 2 * np.pi * np.outer(np.arange(HOURS), np.arange(1, n_waves + 1)) / HOURS
        self.places = np.hstack([np.cos(angles), np.sin(angles)])

    def parameters(self, x):
        """One number for each pair of a wave and an input; the constant 1 is an input too."""
        return np.zeros(self.places.shape[1] * (x.size + 1))

    def outputs(self, x):
        """All hours."""
        return range(HOURS)

    def features(self, x, y):
        """Every input times every wave at that hour."""
        return np.outer(self.places[y], np.append(x, 1.0)).ravel()

    def admits(self, annotation, y):
        """Return whether an hour is in the interval."""
        return self.loss(annotation, y) == 0

    def loss(self, annotation, y):
        """Hours to the nearest one that the annotation admits, the shorter way round."""
        first, last = annotation if isinstance(annotation, tuple) else (annotation, annotation)
        if (y - first) % HOURS <= (last - first) % HOURS:
            return 0.0
        return float(min((first - y) % HOURS, (y - last) % HOURS))


def observed(n, rng):
    """Hours, and what can be seen of them: light, warmth, traffic."""
    hour = rng.integers(0, HOURS, n)
    angle = 2 * np.pi * hour / HOURS
    signals = [-np.cos(angle), -np.cos(angle - 0.7), np.sin(2 * angle), np.sin(angle)]
    return np.column_stack(signals) + 0.25 * rng.standard_normal((n, 4)), hour


def main():
    """Print the mean error in hours, the shorter way round, of the clock and of ranks on a line."""
    rng = np.random.default_rng(0)
    X, hour = observed(300, rng)
    X_test, hour_test = observed(300, rng)
    before, after = rng.integers(0, 4, (2, len(hour)))
    around = [tuple(ends) for ends in (np.column_stack([hour - before, hour + after]) % HOURS).tolist()]
    clock = StructuredPerceptron(Clock(), n_epochs=4, random_state=0).fit(X, around)
    # On a line, an interval through midnight can only be given as a set.
    sets = [{h % HOURS for h in range(a, a + (b - a) % HOURS + 1)} for a, b in around]
    line = CuSumRank(n_epochs=4, random_state=0, classes=range(HOURS)).fit(X, sets)
    for name, predicted in (("hours on a circle", clock.predict(X_test)), ("ranks on a line", line.predict(X_test))):
        apart = (np.asarray(predicted) - hour_test) % HOURS
        print(f"{name}: {np.minimum(apart, HOURS - apart).mean():.2f} hours off")


if __name__ == "__main__":
    main()
