"""Plain chains and trees: all labellings listed, surrogates as the thesis writes them, and the perceptron."""

import itertools

import numpy as np


def features(x, parents, t, n_decisions):
    """Phi(x, t) as (unary (D, d), intercepts (D,), pairwise (D, D))."""
    unary, bias = np.zeros((n_decisions, x.shape[1])), np.zeros(n_decisions)
    pairwise = np.zeros((n_decisions, n_decisions))
    for v, label in enumerate(t):
        unary[label] += x[v]
        bias[label] += 1.0
        if parents[v] >= 0:
            pairwise[t[parents[v]], label] += 1.0
    return np.concatenate([unary.T.ravel(), bias, pairwise.ravel()])


class PlainStructure:
    """One chain or tree with its partial annotation: sets of labels, one for each part, None where it is missing."""

    def __init__(self, x, parents, annotation, loss):
        self.x, self.parents = np.asarray(x, dtype=float), parents
        self.n_classes, self.n_decisions = loss.shape
        self.labellings = list(itertools.product(range(self.n_decisions), repeat=len(self.x)))
        self.phi = np.array([features(self.x, parents, t, self.n_decisions) for t in self.labellings])
        self.partial_loss = np.zeros(len(self.labellings))
        self.agrees = np.ones(len(self.labellings), dtype=bool)
        for i, t in enumerate(self.labellings):
            for v, label in enumerate(t):
                admitted = range(self.n_classes) if annotation[v] is None else annotation[v]
                self.agrees[i] &= label in admitted
                if annotation[v] is not None:
                    self.partial_loss[i] += min(loss[y, label] for y in annotation[v])
        self.annotation = annotation

    def surrogate(self, name, w):
        """Eq. 4.9, 4.11, 4.13 to 4.15, and 4.10 with the cross-entropy of the max-marginals."""
        s, lp, a = self.phi @ w, self.partial_loss, self.agrees
        if name == "ramp":
            return max(lp + s) - max(s)
        if name == "hinge":
            return max(lp + s) - max(s[a])
        outside = max((lp + s)[~a], default=-np.inf)
        if name == "max":
            return max(outside - max(s), 0.0)
        if name == "bridge":
            return max(outside - max(s[a]), 0.0)
        total = 0.0
        for v, admitted in enumerate(self.annotation):
            if admitted is not None:
                scores = [max(s[[t[v] == y for t in self.labellings]]) for y in range(self.n_classes)]
                total += np.log(np.sum(np.exp(scores))) - np.log(sum(np.exp(scores[y]) for y in admitted))
        return total


class PlainChainPerceptron:
    """Averaged loss-augmented perceptron, with every labelling listed; of equals the first one is taken."""

    def __init__(self, size, margin):
        self.w, self.sum_w = np.zeros(size), np.zeros(size)
        self.rounds, self.updates, self.margin = 0, 0, margin

    def learn(self, structure, c=1.0):
        if c == 0.0 or all(admitted is None for admitted in structure.annotation):
            return
        s = structure.phi @ self.w
        found = int(np.argmax(s + self.margin * structure.partial_loss))
        if not structure.agrees[found]:
            target = int(np.argmax(np.where(structure.agrees, s, -np.inf)))
            self.w = self.w + c * (structure.phi[target] - structure.phi[found])
            self.updates += 1
        self.rounds += 1
        self.sum_w = self.sum_w + self.w

    def predict(self, structure, average):
        w = self.sum_w if average and self.rounds else self.w
        return structure.labellings[int(np.argmax(structure.phi @ w))]
