"""A learnt model of chains and trees: decisions, max-marginals, its score, and what a file holds of it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from rankwise._types import Floats, Ints
from rankwise.base.estimator import SavedEstimator
from rankwise.base.state import UPDATES, State, require_arrays, require_number
from rankwise.base.transaction import reader
from rankwise.structured import _chain_perceptron as perceptron
from rankwise.structured._sequences import (
    Sequences,
    annotate,
    decision_losses,
    read_positions,
    read_sequences,
    sequence_weights,
)
from rankwise.structured.max_sum import best_labellings, max_marginals

#: What the bundle solver says of its solution.
CERTIFICATE = ("objective_", "objectives_", "convex_lower_bound_", "convex_gap_")
PARAMETERS = ("unary_coef_", "intercept_", "pairwise_coef_")


class ChainModel(SavedEstimator):
    """What :class:`rankwise.structured.ChainClassifier` does once it has learnt, by whatever solver."""

    solver: str
    surrogate: str
    loss: Any
    reject_cost: float | None
    average: bool
    convex_lower_bound_: float
    convex_gap_: float
    _learnt = "unary_coef_"

    @reader
    def predict(self, X: Any) -> list[NDArray[Any]]:
        """Label of every position of every sequence; None where the decision is "don't know"."""
        sequences, unary = self._scores(X)
        return sequences.split(self._decode(self._decide(sequences, unary)))

    @reader
    def decision_function(self, X: Any) -> list[Floats]:
        """Max-marginals, a (T, K) array for each sequence: the best score of a labelling with that label there.

        With a reject cost the last of K + 1 columns is for "don't know" (not with "additive").
        """
        sequences, unary = self._scores(X)
        return sequences.split(max_marginals(unary, self.pairwise_coef_, sequences.starts, sequences.parents))

    @reader
    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Negative mean loss of the annotated positions, those of a sequence weighted alike. Higher is better."""
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

    @property
    def lower_bound_(self) -> float:
        """``convex_lower_bound_``, by the name that it has where the whole problem is convex."""
        return self.convex_lower_bound_

    @property
    def gap_(self) -> float:
        """``convex_gap_``, by the name that it has where the whole problem is convex."""
        return self.convex_gap_

    # -- files -----------------------------------------------------------------------------------------------------

    @reader
    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""
        streaming = "_state" in self.__dict__
        arrays = self._state if streaming else self._parameters()
        return {
            "state": {name: array.copy() for name, array in arrays.items()},
            "classes": self.classes_,
            "features": self._plain_features(),
            "n_iter": getattr(self, "n_iter_", None),
            "certificate": None if streaming else [getattr(self, name) for name in CERTIFICATE],
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        self._check_params()
        self._take_features(plain["features"])
        self._order = self._take_classes(plain["classes"])
        n_features = self.n_features_in_
        n_decisions = len(self._order) + (self.reject_cost is not None and self.surrogate != "additive")
        streaming = plain["certificate"] is None
        shapes = (n_decisions, n_features), (n_decisions,), (n_decisions, n_decisions)
        declared = {name: (np.float64, shape) for name, shape in zip(PARAMETERS, shapes, strict=True)}
        require_arrays(plain["state"], perceptron.layout(n_features, n_decisions) if streaming else declared)
        self._decision_losses(rejecting=True)  # says what is wrong with the loss
        if plain["n_iter"] is not None:
            self.n_iter_ = require_number("n_iter", plain["n_iter"])
        if streaming:
            self._take_state(dict(plain["state"]))
            return
        for name, array in plain["state"].items():
            setattr(self, name, array)
        objective, objectives, *bounds = plain["certificate"]
        for value in (objective, *list(objectives), *bounds):
            require_number("a value of the certificate", value, float)
        for name, value in zip(CERTIFICATE, plain["certificate"], strict=True):
            setattr(self, name, value)

    def _parameters(self) -> dict[str, Floats]:
        return {name: getattr(self, name) for name in PARAMETERS}

    # -- state -----------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.no_validation = True  # X and Y are lists of sequences, which scikit-learn's checks do not make
        tags.target_tags.required = True
        return tags

    @property
    def _ordered(self) -> bool:
        return isinstance(self.loss, str) and self.loss == "mae"

    def _decision_losses(self, *, rejecting: bool) -> Floats:
        return decision_losses(self.loss, len(self.classes_), self.reject_cost if rejecting else None)

    def _take_state(self, state: State) -> None:
        """Become what the perceptron's state says."""
        self._state = state
        self._set_parameters(*perceptron.averaged(state, self.average))
        self.n_updates_ = int(state["counts"][UPDATES])

    def _set_parameters(self, W: Floats, b: Floats, P: Floats) -> None:
        self.unary_coef_, self.intercept_, self.pairwise_coef_ = np.ascontiguousarray(W.T), b, np.ascontiguousarray(P)

    def _check_params(self) -> None:
        self._validate_params()
        if self.solver == "perceptron" and self.surrogate not in ("hinge", "bridge"):
            raise ValueError(
                f"solver='perceptron' of ChainClassifier takes subgradient steps of surrogate='hinge' (or 'bridge'). "
                f"Got surrogate={self.surrogate!r} instead."
            )
        if self.reject_cost is not None and self.surrogate in ("hinge", "bridge"):
            raise ValueError(
                f"surrogate={self.surrogate!r} of ChainClassifier rewards labels only and never learns to say \"don't "
                f"know\": a reject_cost needs 'ramp', 'max' or 'additive'. Got reject_cost={self.reject_cost!r}."
            )
