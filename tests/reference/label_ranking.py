"""Label ranking by dual ascent as the formulas say it: all labels, all pairs, every round. Labels are codes 0..k-1."""

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp, softmax

CONJUGATE = {
    "euclidean": lambda theta: 0.5 * (theta @ theta),
    "entropic": lambda theta: logsumexp(theta) - np.log(theta.size),
}
GRADIENT = {"euclidean": lambda theta: theta, "entropic": softmax}


class PlainLabelRanker:
    """Updates I, II and III for both complexity functions; feedback is the set of pairs (r, s), r above s."""

    def __init__(self, n_features, n_labels, update="fixed", complexity="euclidean", C=1.0, margin=1.0):
        self.theta = np.zeros((n_labels, n_features))
        self.update, self.C, self.margin = update, C, margin
        self.G, self.g = CONJUGATE[complexity], GRADIENT[complexity]
        self.gained, self.mistakes = 0.0, 0

    @property
    def dual(self):
        return self.margin * self.gained - sum(self.G(theta) for theta in self.theta)

    @property
    def omega(self):
        return np.array([self.g(theta) for theta in self.theta])

    def scores(self, x):
        return self.omega @ x

    def pairs_of(self, relevant):
        rest = [s for s in range(len(self.theta)) if s not in relevant]
        return [(r, s) for r in sorted(relevant) for s in rest]

    def worst(self, x, pairs):
        rho = self.scores(x)
        return min(sorted(pairs), key=lambda pair: rho[pair[0]] - rho[pair[1]])

    def learn(self, x, pairs, c=1.0):
        """One round; ``pairs`` as relevant x irrelevant labels for update III."""
        if not pairs or c == 0:
            return
        rho, (r, s) = self.scores(x), self.worst(x, pairs)
        mistake = rho[r] <= rho[s]
        self.mistakes += mistake
        steps = np.zeros(len(self.theta))
        if self.update == "fixed":
            tau = self.C * c if mistake else 0.0
        else:
            tau = self.best_step(x, r, s, self.C * c)
        steps[r], steps[s] = tau, -tau
        if self.update == "joint":
            steps = self.best_steps(x, {r for r, _ in pairs}, self.C * c, steps)
        self.theta += np.outer(steps, x)
        self.gained += steps[steps > 0].sum()

    def best_step(self, x, r, s, cap):
        """Where the derivative of the dual along one pair is zero, in [0, cap]."""

        def slope(tau):
            return self.margin - (self.g(self.theta[r] + tau * x) - self.g(self.theta[s] - tau * x)) @ x

        if slope(0.0) <= 0:
            return 0.0
        return cap if slope(cap) >= 0 else brentq(slope, 0.0, cap, xtol=1e-15, rtol=1e-14)

    def increase(self, x, steps):
        """What the dual gains when label y moves by steps[y] x."""
        moved = sum(self.G(theta + a * x) - self.G(theta) for theta, a in zip(self.theta, steps, strict=True))
        return self.margin * steps[steps > 0].sum() - moved

    def best_steps(self, x, relevant, cap, start):
        """Maximise the dual over all steps of the example, by a general solver."""
        inside = np.array([y in relevant for y in range(len(self.theta))])
        found = minimize(
            lambda a: -(self.margin * a[inside].sum() - sum(self.G(t + b * x) for t, b in zip(self.theta, a))),  # noqa: B905
            start,
            jac=lambda a: [self.g(t + b * x) @ x - self.margin * i for t, b, i in zip(self.theta, a, inside)],  # noqa: B905
            bounds=[(0, cap) if i else (-cap, 0) for i in inside],
            constraints=[
                {"type": "eq", "fun": lambda a: a.sum(), "jac": lambda a: np.ones(a.size)},
                {"type": "ineq", "fun": lambda a: cap - a[inside].sum(), "jac": lambda a: -inside.astype(float)},
            ],
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        ).x
        found = np.where(inside, np.clip(found, 0, cap), np.clip(found, -cap, 0))
        mass = min(found[inside].sum(), -found[~inside].sum(), cap)
        for side in (inside, ~inside):
            if mass > 0:
                found[side] *= mass / abs(found[side].sum())
        return found if self.increase(x, found) > self.increase(x, start) else start
