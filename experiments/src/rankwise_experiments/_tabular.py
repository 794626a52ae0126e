"""Surrogates of the partial loss on output spaces small enough to list, minimised exactly.

An object has V parts with K labels each; a score function gives each of the K^V labellings t its own score s_t, free of
any model. The four surrogates of the thesis's (4.9), with l the partial Hamming loss, "t in a" for the labellings that
agree with the annotation a, and (.)_+ the positive part, are

    ramp     max_t (l(a, t) + s_t) - max_t s_t            hinge    max_t (l(a, t) + s_t) - max_{t in a} s_t
    max      (max_{t not in a} (l(a, t) + s_t) - max_t s_t)_+
    bridge   (max_{t not in a} (l(a, t) + s_t) - max_{t in a} s_t)_+

Where l is zero on the labellings that agree with a, as here, max is the same function as ramp, and bridge as hinge: the
penalised labellings that agree add nothing to a maximum from which theirs is subtracted.

None is convex in s once labels are missing, and yet their risks can be minimised exactly. Say for every annotation
which labelling attains the maximum that is subtracted: what remains is a linear program whose constraints are all of
the form "variable minus variable >= whole number". Its matrix is totally unimodular, so that some optimum is whole; and
a score more than V, the largest loss, below the best one changes nothing but, at most, a subtracted maximum for the
worse. So the best of the whole scores from -V to 0 is the best of all, and they can be tried one by one.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MISSING = -1
SURROGATES = ("ramp", "max", "hinge", "bridge")


class Outputs:
    """All labellings, annotations and whole scores of V parts with K labels.

    Parameters
    ----------
    n_parts, n_labels : int
        V and K; (V + 1) to the power K^V score functions are listed.

    Attributes
    ----------
    labellings : ndarray of shape (N, V)
        Every labelling.
    annotations : ndarray of shape (A, V)
        Every annotation; -1 stands for a missing label.
    loss : ndarray of shape (A, N)
        Partial Hamming loss of every labelling under every annotation.
    agrees : ndarray of shape (A, N), bool
        Which labellings agree with which annotations.
    scores : ndarray of shape (S, N), int8
        Every score function with values -V..0 whose largest value is 0.

    Examples
    --------
    >>> from rankwise_experiments._tabular import Outputs
    >>> pairs = Outputs(n_parts=2, n_labels=2)
    >>> len(pairs.labellings), len(pairs.annotations), len(pairs.scores)
    (4, 9, 65)
    """

    def __init__(self, n_parts: int, n_labels: int) -> None:
        self.n_parts, self.n_labels = n_parts, n_labels
        self.labellings = np.array(list(product(range(n_labels), repeat=n_parts)))
        self.annotations = np.array(list(product(range(MISSING, n_labels), repeat=n_parts)))
        said = self.annotations[:, None, :]
        self.loss = ((said != MISSING) & (said != self.labellings)).sum(axis=2).astype(np.float64)
        self.agrees = self.loss == 0
        grid = np.indices((n_parts + 1,) * len(self.labellings), dtype=np.int8).reshape(len(self.labellings), -1).T
        self.scores = np.ascontiguousarray(grid[(grid == n_parts).any(axis=1)] - np.int8(n_parts))
        self._best = self.scores == 0

    def annotation_probabilities(self, p_labelling: Floats, p_pattern: Floats) -> Floats:
        """Equation (4.4): probability of every annotation.

        Parameters
        ----------
        p_labelling : array of shape (N,)
            p(y | x).
        p_pattern : array of shape (2,) * V
            p(z | x); index 1 stands for an annotated part.
        """
        found = np.zeros(len(self.annotations))
        for i, annotation in enumerate(self.annotations):
            pattern = p_pattern[tuple((annotation != MISSING).astype(int))]
            found[i] = pattern * p_labelling[self.agrees[i]].sum()
        return found

    def surrogate(self, name: str, scores: Floats | None = None) -> Floats:
        """Surrogate loss of score functions under every annotation, shape (S, A).

        Parameters
        ----------
        name : {"ramp", "hinge", "max", "bridge"}
            Which.
        scores : array of shape (S, N), optional
            Score functions; all whole ones by default.
        """
        s = self.scores.astype(np.float64) if scores is None else np.asarray(scores, dtype=np.float64)
        found = np.empty((len(s), len(self.annotations)))
        for i, (loss, agrees) in enumerate(zip(self.loss, self.agrees, strict=True)):
            penalised = np.ones_like(agrees) if name in ("ramp", "hinge") else ~agrees
            rewarded = np.ones_like(agrees) if name in ("ramp", "max") else agrees
            penalty = (loss + s)[:, penalised].max(axis=1, initial=-np.inf)
            found[:, i] = np.maximum(penalty - s[:, rewarded].max(axis=1), 0.0)
        return found

    def decision_risk(self, p_labelling: Floats) -> Floats:
        """Hamming risk of the best-scored labelling under every whole score function; ties are broken at random."""
        risk = self.labelling_risk(p_labelling)
        return np.asarray(self._best @ risk / self._best.sum(axis=1))

    def labelling_risk(self, p_labelling: Floats) -> Floats:
        """Expected Hamming loss of every labelling."""
        wrong = (self.labellings[:, None, :] != self.labellings).sum(axis=2)
        return np.asarray(wrong @ p_labelling)

    def may_err(self, p_labelling: Floats) -> NDArray[np.bool_]:
        """Which score functions have a best-scored labelling, tied or not, that is not a Bayes decision."""
        risk = self.labelling_risk(p_labelling)
        return np.asarray((self._best & (risk > risk.min() + 1e-12)).any(axis=1))
