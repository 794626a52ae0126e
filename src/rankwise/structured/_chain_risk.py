"""Surrogates of the partial loss for chains and trees, as differences of convex functions of the parameters.

With l(t) the partial loss of labelling t, s(t) its score, and t in a for "t agrees with the annotation everywhere"
(Antoniuk, thesis, eq. 4.9 to 4.15):

    ramp    max (l + s)                 - max s
    hinge   max (l + s)                 - max over a of s
    max     (max outside a of (l + s)   - max s)_+
    bridge  (max outside a of (l + s)   - max over a of s)_+
    additive  sum over annotated parts of psi_v

The first term is the penalty, the second the reward. With (p - r)_+ = max(p, r) - r, all are a convex function minus
another, since s(t) is linear in the parameters and a maximum of linear functions is convex. A surrogate is therefore
two functions, each with value and subgradient: ``convex`` and ``reward``.

**Two, not four.** If the labellings in a cost nothing (Hamming, MAE, any matrix with a zero diagonal), max (l + s) is
the larger of p' = max outside a of (l + s) and r = max over a of s. So hinge = max(p', r) - r = bridge. And ramp =
max: either max s = r and the same holds, or max s is outside a, and then p' >= max s >= r, so both are p' - max s.
They differ only for losses that charge for right answers.

**Additive.** psi_v is the cross-entropy of softmax(m_v), where m_v(t) is the max-marginal of decision t at part v (the
best score of a labelling with t at v): log sum_t exp m_v(t) - log sum over t in a_v of exp m_v(t). The cross-entropy
is convex in m_v and calibrated, so Theorem 12 holds: adding a constant to m_v does not change it, and up to such
constants max-marginals can be any vectors (with pairwise scores of zero), so the infimum is that over free vectors.
Decisions have the least expected part loss under softmax(m_v), for the Hamming loss the most probable label; "don't
know" is Chow's rule and needs no scores of its own. For single parts this is multinomial logistic regression;
max-marginals bring in the neighbours.
"""

from dataclasses import dataclass

import numpy as np

from rankwise._types import Floats, Ints
from rankwise.structured._sequences import Annotation, Sequences
from rankwise.structured.max_sum import best_disagreeing, best_labellings, max_marginal_gradient, max_marginals

#: Whether the penalty is only over the labellings outside a, and whether the reward is only over those in a.
SPACES = {"ramp": (False, False), "hinge": (False, True), "max": (True, False), "bridge": (True, True)}


@dataclass(frozen=True, eq=False)
class ChainRisk:
    """Weighted mean of a surrogate over structures, as a function of the parameters in one vector.

    ``weight`` has one entry for each structure. The vector holds W, b / intercept_scaling and P / pairwise_scaling, as
    if the scalings were the values of constant features: the larger a scaling, the weaker the regularisation.
    """

    sequences: Sequences
    annotation: Annotation
    weight: Floats
    surrogate: str
    intercept_scaling: float = 1.0
    pairwise_scaling: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.sequences.X.shape[1], self.annotation.losses.shape[1]

    def convex(self, theta: Floats) -> tuple[float, Floats]:
        """Convex part and a subgradient of it."""
        unary, pairwise = self._scores(theta)
        if self.surrogate == "additive":
            return self._cross_entropies(unary, pairwise, (1.0, 0.0))
        outside, inside = SPACES[self.surrogate]
        graph = self.sequences.starts, self.sequences.parents
        augmented = unary + self.annotation.losses
        if not outside:
            labels, values = best_labellings(augmented, pairwise, *graph)
            return self._collected(labels, values)
        labels, values = best_disagreeing(augmented, pairwise, *graph, self.annotation.allowed)
        others, rewards = self._best(unary, pairwise, inside)
        wins = values > rewards
        chosen = np.where(np.repeat(wins, np.diff(graph[0])), labels, others)
        return self._collected(chosen, np.where(wins, values, rewards))

    def reward(self, theta: Floats) -> tuple[float, Floats]:
        """Subtrahend of the convex part, and a subgradient of it."""
        unary, pairwise = self._scores(theta)
        if self.surrogate == "additive":
            return self._cross_entropies(unary, pairwise, (0.0, 1.0))
        return self._collected(*self._best(unary, pairwise, SPACES[self.surrogate][1]))

    def additive(self, theta: Floats) -> tuple[float, Floats]:
        """The additive surrogate and its gradient: ``convex`` less ``reward``, from one set of max-marginals."""
        return self._cross_entropies(*self._scores(theta), (1.0, -1.0))

    def unpack(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Unary vectors (d, D), intercepts (D,) and pairwise scores (D, D)."""
        d, n_decisions = self.shape
        W, b, P = np.split(theta, [d * n_decisions, (d + 1) * n_decisions])
        scores = P.reshape(n_decisions, n_decisions) * self.pairwise_scaling
        return W.reshape(d, n_decisions), b * self.intercept_scaling, scores

    def pack(self, W: Floats, b: Floats, P: Floats) -> Floats:
        return np.concatenate([W.ravel(), b / self.intercept_scaling, P.ravel() / self.pairwise_scaling])

    def _scores(self, theta: Floats) -> tuple[Floats, Floats]:
        W, b, P = self.unpack(theta)
        return np.ascontiguousarray(self.sequences.X @ W + b), P

    def _best(self, unary: Floats, pairwise: Floats, inside: bool) -> tuple[Ints, Floats]:
        scores = np.where(self.annotation.allowed, unary, -np.inf) if inside else unary
        return best_labellings(scores, pairwise, self.sequences.starts, self.sequences.parents)

    def _collected(self, labels: Ints, values: Floats) -> tuple[float, Floats]:
        """Mean of the labellings' values, and of their features."""
        counts = self._of_parts()
        of_unary = np.zeros((labels.size, self.shape[1]))
        of_unary[np.arange(labels.size), labels] = counts
        of_pairwise = np.zeros((self.shape[1], self.shape[1]))
        below = np.flatnonzero(self.sequences.parents >= 0)
        np.add.at(of_pairwise, (labels[self.sequences.parents[below]], labels[below]), counts[below])
        return float(self.weight @ values), self._gradient(of_unary, of_pairwise)

    def _cross_entropies(self, unary: Floats, pairwise: Floats, signs: tuple[float, float]) -> tuple[float, Floats]:
        """Mean of ``log sum exp`` of the max-marginals of annotated parts, and its gradient.

        ``signs`` belong to the sum over all decisions and to the sum over the admitted ones.
        """
        graph = self.sequences.starts, self.sequences.parents
        marginals = max_marginals(unary, pairwise, *graph)
        counts = np.where(self.annotation.known, self._of_parts(), 0.0)
        value, weights = 0.0, np.zeros_like(unary)
        for sign, sums in zip(signs, (marginals, np.where(self.annotation.allowed, marginals, -np.inf)), strict=True):
            if sign:
                top = sums.max(axis=1)
                shares = np.exp(sums - top[:, None])
                totals = shares.sum(axis=1)
                value += sign * float(counts @ (top + np.log(totals)))
                weights += shares * (sign * counts / totals)[:, None]
        of_scores = max_marginal_gradient(unary, pairwise, *graph, marginals, weights)
        return value, self._gradient(*of_scores)

    def _of_parts(self) -> Floats:
        return np.repeat(self.weight, np.diff(self.sequences.starts))

    def _gradient(self, of_unary: Floats, of_pairwise: Floats) -> Floats:
        of_features = np.asarray(self.sequences.X.T @ of_unary)
        of_intercepts = of_unary.sum(axis=0) * self.intercept_scaling
        return np.concatenate([of_features.ravel(), of_intercepts, of_pairwise.ravel() * self.pairwise_scaling])
