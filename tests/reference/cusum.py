"""CuSum Rank as the formulas say it: all scores, all ranks, every round. Ranks are codes 0..K-1."""

import numpy as np

from tests.reference.budget import hand_over, weakest


class PlainCuSum:
    """Figures 1 and 2, with margins, weights, and sets of admissible codes as labels."""

    def __init__(self, n_features, n_classes, step="perceptron", margin="none", delta=1.0, C=1.0):
        self.n_classes = n_classes
        self.w = np.zeros((n_classes, n_features))
        self.step, self.margin, self.delta, self.C = step, margin, delta, C
        self.loss = 0

    def answers(self, x):
        return self.w @ x

    def square(self, x):
        return x @ x

    def move(self, x, y, yhat, tau):
        for k in range(min(y, yhat) + 1, max(y, yhat) + 1):
            self.w[k] = self.w[k] + np.sign(y - yhat) * tau * x

    def scores(self, x):
        return np.cumsum(self.answers(x))

    def predict(self, x):
        return int(np.argmax(self.scores(x)))

    def learn(self, x, admissible, c=1.0):
        if c == 0 or len(admissible) == self.n_classes:
            return
        s = self.scores(x)
        away = np.array([min(abs(k - a) for a in admissible) for k in range(len(s))])
        asked = {"none": 0.0 * away, "constant": self.delta * (away > 0), "loss": self.delta * away}[self.margin]
        yhat = int(np.argmax(s + asked if self.step == "perceptron" else s))
        if yhat in admissible:
            return
        y = max(sorted(admissible), key=lambda k: s[k])
        sign, m = np.sign(y - yhat), abs(y - yhat)
        tau = c
        if self.step != "perceptron":
            wanted = {"none": 0.0, "constant": self.delta, "loss": self.delta * m}[self.margin]
            loss = wanted - sign * self.answers(x)[min(y, yhat) + 1 : max(y, yhat) + 1].sum()
            softness = 1 / (2 * self.C * c) if self.step == "pa2" else 0.0
            tau = loss / (m * self.square(x) + softness)
            if self.step == "pa1":
                tau = min(self.C * c, tau)
        self.move(x, y, yhat, tau)
        self.loss += m


class PlainKernelCuSum(PlainCuSum):
    """Figure 5: for every support vector a signed count of each atom, where a rank's atoms are the ranks up to it.

    With an average over the rounds, and a budget: the least influential (then oldest) support vector makes room.
    """

    def __init__(self, kernel, n_classes, budget=None, intercept=True, n_neighbors=32, **how):
        super().__init__(0, n_classes, **how)
        self.kernel, self.budget, self.intercept, self.n_neighbors = kernel, budget, intercept, n_neighbors
        self.support = []  # [vector, counts, sum of the counts over the rounds]
        self.b, self.sum_b = np.zeros(n_classes), np.zeros(n_classes)
        self.rounds = 0

    def answers(self, x):
        return sum((counts * self.kernel(v, x) for v, counts, _ in self.support), self.b)

    def square(self, x):
        return self.kernel(x, x) + self.intercept

    def move(self, x, y, yhat, tau):
        atoms = np.arange(self.n_classes)
        counts = tau * ((atoms <= y).astype(float) - (atoms <= yhat))
        self.b = self.b + self.intercept * counts
        if tau != 0:
            new = [x, counts, np.zeros(self.n_classes)]
            if self.budget is not None and len(self.support) == self.budget:
                gone = self.support.pop(weakest(self.support, self.kernel, self.rounds))
                hand_over(gone, [*self.support, new], self.kernel, self.n_neighbors)
            self.support.append(new)

    def learn(self, x, admissible, c=1.0):
        super().learn(x, admissible, c)
        if c > 0 and len(admissible) < self.n_classes:
            self.rounds += 1
            self.sum_b = self.sum_b + self.b
            for example in self.support:
                example[2] = example[2] + example[1]

    def predict_averaged(self, x):
        if self.rounds == 0:
            return self.predict(x)
        answers = sum((total * self.kernel(v, x) for v, _, total in self.support), self.sum_b)
        return int(np.argmax(np.cumsum(answers)))
