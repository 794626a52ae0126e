"""Chains that a perceptron learns, in passes over the sequences or from a stream."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise._types import Floats
from rankwise.base.state import GIVEN_ORDER, UPDATES, State
from rankwise.structured import _chain_perceptron as perceptron
from rankwise.structured._chain_model import ChainModel
from rankwise.structured._sequences import Annotation, Sequences, stream_order


class PerceptronChain(ChainModel):
    """What ``solver="perceptron"`` has: a state that goes on with a stream."""

    solver: str
    n_epochs: int
    margin: float
    shuffle: bool
    average: bool
    random_state: Any
    classes: Any
    _state: State

    def _passes(self, sequences: Sequences, annotation: Annotation, weight: Floats) -> State:
        """The state after ``n_epochs`` passes."""
        state = perceptron.LAYOUT.fresh(self.n_features_in_, annotation.losses.shape[1])
        generator = check_random_state(self.random_state)
        for _ in range(self.n_epochs):
            order = generator.permutation(len(sequences)).astype(np.int64) if self.shuffle else GIVEN_ORDER
            perceptron.learn(
                state, sequences, annotation, weight, margin=self.margin, average=self.average, order=order
            )
        return state

    def partial_fit(self, X: Any, Y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more sequences, in order, or from none if one is invalid; solver "perceptron" only.

        Parameters
        ----------
        X, Y, sample_weight, classes
            As in :meth:`fit`; the first call needs all classes, here or as the parameter.
        """
        self._learn_chunk(X, Y, classes, sample_weight, predict=False)
        return self

    def progressive_predict(self, X: Any, Y: Any, sample_weight: Any = None, classes: Any = None) -> list[NDArray[Any]]:
        """Predict each sequence, then learn from it; return the predictions made before learning.

        Parameters
        ----------
        X, Y, sample_weight, classes
            As in :meth:`partial_fit`.
        """
        return self._learn_chunk(X, Y, classes, sample_weight, predict=True)

    def _learn_chunk(self, X: Any, Y: Any, classes: Any, sample_weight: Any, *, predict: bool) -> list[NDArray[Any]]:
        with self._afresh() as model:
            model._check_params()
            if model.solver != "perceptron":
                raise ValueError(
                    f"only solver='perceptron' learns from a stream. Got solver={self.solver!r}: call fit instead."
                )
            first = not model.__sklearn_is_fitted__()
            if not first and "_state" not in model.__dict__:
                raise ValueError("the model was fitted with solver='bundle': partial_fit cannot continue it.")
            order = stream_order([classes, model.classes], None if first else model._order)
            known = None if first else model.n_features_in_
            sequences, annotation, weight = model._read(X, Y, sample_weight, order, known)
            if first:
                state = perceptron.LAYOUT.fresh(model.n_features_in_, annotation.losses.shape[1])
            else:
                state = {name: array.copy() for name, array in model._state.items()}
            predictions = np.zeros(sequences.starts[-1] if predict else 0, dtype=np.int64)
            perceptron.learn(
                state, sequences, annotation, weight, margin=model.margin, average=model.average,
                predictions=predictions,
            )  # fmt: skip
            model._take_state(state)
        return sequences.split(model._decode(predictions)) if predict else []

    def _take_state(self, state: State) -> None:
        """Set the parameters from the perceptron's state."""
        self._state = state
        self._set_parameters(*perceptron.parameters(state, self.average))
        self.n_updates_ = int(state["counts"][UPDATES])

    def _take_plain_state(self, state: Any, n_features: int, n_decisions: int) -> None:
        """Take a state from a model file, after a check."""
        perceptron.LAYOUT.check(state, n_features, n_decisions)
        if len(state["W"]) != n_features:  # the check allows spare rows, which this learner never has
            raise ValueError(f"array 'W' must have {n_features} rows, not {len(state['W'])}")
        self._take_state(dict(state))
