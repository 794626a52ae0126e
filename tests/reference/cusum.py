"""CuSum Rank as the formulas say it: all scores, all ranks, every round. Ranks are codes 0..K-1."""

import numpy as np


class PlainCuSum:
    """Figures 1 and 2, with margins, weights, and sets of admissible codes as labels."""

    def __init__(self, n_features, n_classes, step="perceptron", margin="none", delta=1.0, C=1.0):
        self.w = np.zeros((n_classes, n_features))
        self.step, self.margin, self.delta, self.C = step, margin, delta, C
        self.loss = 0

    def scores(self, x):
        return np.cumsum(self.w @ x)

    def predict(self, x):
        return int(np.argmax(self.scores(x)))

    def learn(self, x, admissible, c=1.0):
        if c == 0 or len(admissible) == len(self.w):
            return
        s = self.scores(x)
        away = np.array([min(abs(k - a) for a in admissible) for k in range(len(s))])
        asked = {"none": 0.0 * away, "constant": self.delta * (away > 0), "loss": self.delta * away}[self.margin]
        yhat = int(np.argmax(s + asked if self.step == "perceptron" else s))
        if yhat in admissible:
            return
        y = max(sorted(admissible), key=lambda k: s[k])
        sign, m = np.sign(y - yhat), abs(y - yhat)
        between = range(min(y, yhat) + 1, max(y, yhat) + 1)
        tau = c
        if self.step != "perceptron":
            wanted = {"none": 0.0, "constant": self.delta, "loss": self.delta * m}[self.margin]
            wbar = self.w[list(between)].sum(axis=0)
            loss = wanted - sign * (wbar @ x)
            softness = 1 / (2 * self.C * c) if self.step == "pa2" else 0.0
            tau = loss / (m * (x @ x) + softness)
            if self.step == "pa1":
                tau = min(self.C * c, tau)
        for k in between:
            self.w[k] = self.w[k] + sign * tau * x
        self.loss += m
