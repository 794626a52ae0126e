"""Importance-weighted perceptrons as the formulas say them. Classes are codes 0..K-1, labels sets of them."""

import numpy as np


class PlainBinary:
    """One vector, labels -1 and +1, a score of zero counts as -1."""

    def __init__(self, n_features):
        self.w = np.zeros(n_features)

    def predict(self, x):
        return 1 if self.w @ x > 0 else -1

    def learn(self, x, y, c=1.0):
        if self.predict(x) != y:
            self.w = self.w + c * y * x


class _Plain:
    """Rounds, mistakes and classes that join; a scheme adds its vectors ``w``, its scores and its update."""

    def __init__(self, n_features, n_classes):
        self.n_classes = n_classes
        self.w = np.zeros(self.shape(n_features))
        self.sum_w = np.zeros_like(self.w)
        self.rounds, self.mistakes, self.cost = 0, 0, 0.0
        self.past = []  # what every update added, for classes that join

    def predict(self, x):
        return int(np.argmax(self.scores(self.w, x)))

    def predict_averaged(self, x):
        return int(np.argmax(self.scores(self.sum_w / self.rounds, x))) if self.rounds else self.predict(x)

    def learn(self, x, admissible, c=1.0, brought=()):
        """Learn from one example; ``brought`` are the classes that were not known before it."""
        if c == 0 or len(admissible) == self.n_classes:
            return
        yhat, scores = self.predict(x), self.scores(self.w, x)
        if yhat not in admissible:
            y = max(sorted(admissible), key=lambda k: scores[k])
            self.update(self.w, y, yhat, c * x)
            self.past.append((y, yhat, c * x, self.rounds))
            if set(admissible) - set(brought):
                self.mistakes += 1
                self.cost += c
        self.rounds += 1
        self.sum_w += self.w

    def join(self, place):
        """A class that took no part in any update so far: all rounds again, with its vectors among the others."""
        self.n_classes += 1
        n_features = self.w.shape[-1]
        self.w, self.sum_w = np.zeros(self.shape(n_features)), np.zeros(self.shape(n_features))
        self.past = [(y + (y >= place), yhat + (yhat >= place), step, t) for y, yhat, step, t in self.past]
        updates = {t: (y, yhat, step) for y, yhat, step, t in self.past}
        for t in range(self.rounds):
            if t in updates:
                self.update(self.w, *updates[t])
            self.sum_w += self.w


class PlainMultiVector(_Plain):
    """A vector per class."""

    def shape(self, n_features):
        return self.n_classes, n_features

    def scores(self, w, x):
        return w @ x

    def update(self, w, y, yhat, step):
        w[y] += step
        w[yhat] -= step


class PlainAllPairs(_Plain):
    """A vector per pair of classes, ``w[i, j] = -w[j, i]``, with the paper's linear scoring."""

    def shape(self, n_features):
        return self.n_classes, self.n_classes, n_features

    def scores(self, w, x):
        return [sum(w[r, j] @ x for j in range(self.n_classes) if j != r) for r in range(self.n_classes)]

    def update(self, w, y, yhat, step):
        for r in range(self.n_classes):
            if r != y:
                w[y, r] += step
                w[r, y] -= step
        for r in range(self.n_classes):
            if r != yhat:
                w[yhat, r] -= step
                w[r, yhat] += step


class PlainMaxWin(PlainAllPairs):
    """The same with the zero-one scoring of Max-Win: the pairs that a class wins; a tie is won by neither."""

    def scores(self, w, x):
        return [sum(w[r, j] @ x > 0 for j in range(self.n_classes) if j != r) for r in range(self.n_classes)]
