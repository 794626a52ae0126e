"""A fitted chain in use, whichever solver learnt it: reading sequences, predictions, scores; but not learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from rankwise._types import Floats, Ints
from rankwise.base.estimator import SavedEstimator
from rankwise.base.transaction import reader
from rankwise.labels import ClassOrder
from rankwise.structured._sequences import (
    Annotation,
    Sequences,
    annotate,
    decision_losses,
    read_positions,
    read_sequences,
    sequence_weights,
)
from rankwise.structured.max_sum import best_labellings, max_marginals


class ChainModel(SavedEstimator):
    """Base of :class:`rankwise.ChainClassifier`."""

    surrogate: str
    loss: Any
    reject_cost: float | None
    unary_coef_: Floats
    intercept_: Floats
    pairwise_coef_: Floats
    _learnt = "unary_coef_"
    _order: ClassOrder

    @reader
    def predict(self, X: Any) -> list[NDArray[Any]]:
        """Label of every position of every sequence; None where the decision is "don't know"."""
        sequences, unary = self._scores(X)
        return sequences.split(self._decode(self._decide(sequences, unary)))

    @reader
    def decision_function(self, X: Any) -> list[Floats]:
        """Max-marginals, a (T, K) array for each sequence: the best score of a labelling with a given label there.

        With a reject cost the last of K + 1 columns is for "don't know" (not with "additive").
        """
        sequences, unary = self._scores(X)
        return sequences.split(max_marginals(unary, self.pairwise_coef_, sequences.starts, sequences.parents))

    @reader
    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Negative mean loss of the annotated positions, with the weight of their sequence. Higher is better."""
        sequences, unary = self._scores(X)
        labels = read_positions(Y, sequences, self._order, ordered=self._ordered)
        annotation = annotate(labels, self._decision_losses(rejecting=True), sequences.starts)
        weight = np.repeat(sequence_weights(sample_weight, sequences), np.diff(sequences.starts))
        counted = np.where(annotation.known, weight, 0.0)
        if not counted.any():
            raise ValueError("no position has a label and a positive weight: there is nothing to score.")
        decisions = self._decide(sequences, unary)
        return -float(np.average(annotation.losses[np.arange(decisions.size), decisions], weights=counted))

    def _decide(self, sequences: Sequences, unary: Floats) -> Ints:
        graph = self.pairwise_coef_, sequences.starts, sequences.parents
        if self.surrogate != "additive":
            return best_labellings(unary, *graph)[0]
        expected = softmax(max_marginals(unary, *graph), axis=1) @ self._decision_losses(rejecting=True)
        return np.asarray(expected.argmin(axis=1))

    def _scores(self, X: Any) -> tuple[Sequences, Floats]:
        sequences = read_sequences(X, self.n_features_in_)
        return sequences, np.ascontiguousarray(sequences.X @ self.unary_coef_.T + self.intercept_)

    def _decode(self, decisions: Ints) -> NDArray[Any]:
        if self.reject_cost is None:
            return np.asarray(self.classes_[decisions])
        return np.array([*self.classes_.tolist(), None], dtype=object)[decisions]

    def _read(
        self, X: Any, Y: Any, sample_weight: Any, order: ClassOrder | None, n_features: int | None
    ) -> tuple[Sequences, Annotation, Floats]:
        """Check everything; set the classes and the number of features."""
        sequences = read_sequences(X, n_features)
        labels = read_positions(Y, sequences, order, ordered=self._ordered)
        weight = sequence_weights(sample_weight, sequences)
        self._order, self.classes_ = labels.order, labels.classes
        self.n_features_in_ = sequences.X.shape[1]
        losses = self._decision_losses(rejecting=self.surrogate != "additive")
        return sequences, annotate(labels, losses, sequences.starts), weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.no_validation = True  # scikit-learn's checks do not make lists of sequences
        tags.target_tags.required = True
        return tags

    @property
    def _ordered(self) -> bool:
        return isinstance(self.loss, str) and self.loss == "mae"

    def _decision_losses(self, *, rejecting: bool) -> Floats:
        return decision_losses(self.loss, len(self.classes_), self.reject_cost if rejecting else None)

    def _set_parameters(self, W: Floats, b: Floats, P: Floats) -> None:
        self.unary_coef_, self.intercept_, self.pairwise_coef_ = np.ascontiguousarray(W.T), b, np.ascontiguousarray(P)
