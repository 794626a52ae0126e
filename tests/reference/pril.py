"""PRIL and its relatives as the formulas say them: all thresholds, all constraints, every round."""

import numpy as np

from tests.reference.budget import hand_over, weakest


def sides(lo, hi, n_thresholds):
    """z_i of an interval label in codes: +1 below it, -1 above it, 0 (no constraint) inside."""
    k = np.arange(n_thresholds)
    return np.where(k < lo, 1.0, np.where(k >= hi, -1.0, 0.0))


def predict(f, t):
    """Smallest i with f < t_i, the last class if there is none."""
    above = np.flatnonzero(f < t)
    return int(above[0]) if above.size else t.size


class PlainPRIL:
    """Algorithm 1, with weights (thresholds sorted after the update) and the average over all rounds."""

    def __init__(self, n_features, n_classes):
        self.w = np.zeros(n_features)
        self.t = np.zeros(n_classes - 1)
        self.sum_w = np.zeros(n_features)
        self.sum_t = np.zeros(n_classes - 1)
        self.rounds = 0
        self.violations = []

    def tau(self, f, lo, hi):
        z = sides(lo, hi, self.t.size)
        return np.where((z != 0) & (z * (f - self.t) <= 0), z, 0.0)

    def learn(self, x, lo, hi, c=1.0):
        if c == 0 or (lo == 0 and hi == self.t.size):
            return
        tau = self.tau(self.w @ x, lo, hi)
        self.violations.append(int(np.abs(tau).sum()))
        self.w = self.w + c * tau.sum() * x
        self.t = np.sort(self.t - c * tau)
        self.rounds += 1
        self.sum_w += self.w
        self.sum_t += self.t

    def predict(self, x):
        return predict(self.w @ x, self.t)

    def predict_averaged(self, x):
        if self.rounds == 0:
            return self.predict(x)
        return predict(self.sum_w @ x / self.rounds, self.sum_t / self.rounds)


class PlainMultiplicativePRIL:
    """Algorithm 3, put right: weights on the simplex, multiplied and normalised in every round. Fixed eta."""

    def __init__(self, n_features, n_classes, eta, signed):
        self.d, self.eta, self.signed = n_features, eta, signed
        n = n_features + n_classes - 1
        self.u = np.full((2, n) if signed else (1, n), 1.0 / (2 * n if signed else n))
        self.closest = np.inf  # smallest distance of a score to a threshold, ties apart: rounding decides below 1e-12

    @property
    def v(self):
        return self.u[0] - self.u[1] if self.signed else self.u[0]

    def learn(self, x, lo, hi):
        w, t = self.v[: self.d], self.v[self.d :]
        z = sides(lo, hi, t.size)
        tau = np.where((z != 0) & (z * (w @ x - t) <= 0), z, 0.0)
        self.closest = min(self.closest, *(abs(gap) for gap in w @ x - t[z != 0] if gap != 0), np.inf)
        gradient = np.concatenate([x * tau.sum(), -tau])
        self.u[0] *= np.exp(self.eta * gradient)
        if self.signed:
            self.u[1] *= np.exp(-self.eta * gradient)
        self.u /= self.u.sum()
        return int(np.abs(tau).sum())

    def predict(self, x):
        return predict(self.v[: self.d] @ x, self.v[self.d :])


class PlainKernelPRIL:
    """Algorithm 2 with a budget: a list of support vectors, the least influential (then oldest) making room."""

    def __init__(self, kernel, n_classes, budget=None, n_neighbors=32):
        self.kernel, self.budget, self.n_neighbors = kernel, budget, n_neighbors
        self.t, self.sum_t = np.zeros(n_classes - 1), np.zeros(n_classes - 1)
        self.support = []  # [vector, coefficient, sum of the coefficient over the rounds]
        self.rounds = 0

    def score(self, x, averaged=False):
        return sum((total / self.rounds if averaged else a) * self.kernel(v, x) for v, a, total in self.support)

    def learn(self, x, lo, hi):
        z = sides(lo, hi, self.t.size)
        tau = np.where((z != 0) & (z * (self.score(x) - self.t) <= 0), z, 0.0)
        self.t = self.t - tau
        if tau.sum() != 0:
            new = [x, tau.sum(), 0.0]
            if self.budget is not None and len(self.support) == self.budget:
                gone = self.support.pop(weakest(self.support, self.kernel, self.rounds))
                hand_over(gone, [*self.support, new], self.kernel, self.n_neighbors)
            self.support.append(new)
        if lo > 0 or hi < self.t.size:
            self.rounds += 1
            self.sum_t = self.sum_t + self.t
            for example in self.support:
                example[2] += example[1]

    def predict(self, x):
        return predict(self.score(x), self.t)

    def predict_averaged(self, x):
        if self.rounds == 0:
            return self.predict(x)
        return predict(self.score(x, averaged=True), self.sum_t / self.rounds)


class PlainWidrowHoff:
    """Least mean squares on the ranks 1..K; codes in and out are 0..K-1."""

    def __init__(self, n_features, n_classes, rate, normalized, intercept=True):
        self.intercept = intercept
        self.w, self.b, self.rate, self.normalized, self.top = (
            np.zeros(n_features),
            0.0,
            rate,
            normalized,
            n_classes - 1,
        )

    def learn(self, x, lo, hi, c=1.0):
        if lo == 0 and hi == self.top:
            return  # the label says nothing
        f = self.w @ x + self.b
        error = np.clip(f, lo + 1, hi + 1) - f
        square = x @ x + self.intercept
        step = min(1.0, c * self.rate) / max(square, 1e-300) if self.normalized else c * self.rate
        self.w = self.w + step * error * x
        self.b += step * error * self.intercept

    def predict(self, x):
        return int(np.clip(np.floor(self.w @ x + self.b + 0.5), 1, self.top + 1)) - 1
