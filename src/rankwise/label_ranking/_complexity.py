"""The two complexity functions with one interface: the state of a model, how it learns and scores, its weights."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.base.row_data import Rows
from rankwise.base.state import ROUNDS, State, StateArray, StateLayout, averaged
from rankwise.label_ranking.entropic import learn_pairs, scores_entropic
from rankwise.label_ranking.entropic_joint import learn_joint
from rankwise.label_ranking.euclidean import learn_euclidean, scores_euclidean
from rankwise.label_ranking.rounds import JOINT
from rankwise.label_ranking.softmax import LOWEST, WIDEST, join_features

_NONE, _NO_LAG = np.empty(0), np.empty((0, 0))

#: Axes and lags of the weights, and of the weights of the constant feature.
_ADDITIVE = ((("feature", "label"), "lag"), (("label",), "b_lag"))
_COUNTERS = {
    "counts": StateArray((6,), np.int64, mixes=("adds", "adds", "adds", "adds", "adds", "largest")),
    "sums": StateArray((2,), mixes=("moves", "largest")),
}


class Euclidean:
    """Squared norm: the weights are theta."""

    @staticmethod
    @cache
    def layout(average: bool, intercept: bool) -> StateLayout:
        """Arrays of a state."""
        theta, b = (averaged(*axes, lag=lag if average else "") for axes, lag in _ADDITIVE)
        return StateLayout({"theta": theta, **({"b": b} if intercept else {}), **_COUNTERS})

    @staticmethod
    def learner(update: int) -> Any:
        return learn_euclidean

    @staticmethod
    def parameters(state: State, n_features: int) -> tuple[Any, ...]:
        """Arrays that a pass learns."""
        return state["theta"], state.get("lag", _NO_LAG), state.get("b", _NONE), state.get("b_lag", _NONE)

    @classmethod
    def scores(cls, state: State, rows: Rows, out: Floats) -> int:
        """Fill ``out`` with the score of every label; return the first row where one is not finite, or -1."""
        return int(scores_euclidean(rows, cls.parameters(state, 0), state["counts"][ROUNDS], out))

    @staticmethod
    def weights(state: Mapping[str, NDArray[Any]]) -> Floats:
        """Weights (features, labels), those of the constant last if there are intercepts."""
        rounds = int(state["counts"][ROUNDS])
        theta, lag = _with_constant(state, "theta", "b"), _with_constant(state, "lag", "b_lag")
        return theta - lag / rounds if lag.size and rounds else theta

    @staticmethod
    def conjugates(state: Mapping[str, NDArray[Any]], n_features: int) -> float:
        """Sum over the labels of G(theta)."""
        theta, b = state["theta"][:n_features], state.get("b", _NONE)
        return 0.5 * float(np.einsum("jy,jy->", theta, theta) + b @ b)

    @staticmethod
    def widened(layout: StateLayout, state: State, n_features: int, n_labels: int) -> State:
        """State with room for more labels."""
        return layout.with_room(state, "label", n_labels)

    @staticmethod
    def join(state: State, first: int, last: int) -> None:
        """Add the features first .. last - 1."""

    @staticmethod
    def to_mix(state: State) -> State:
        """Arrays that updates are added to."""
        return {name: state[name] for name in ("theta", "b") if name in state}

    @staticmethod
    def from_mix(state: State, moved: State) -> None:
        """Replace the mixed arrays, and those that follow from them."""
        state.update(moved)


class Entropic:
    """Relative entropy: a label's weights are positive and sum to one, see :mod:`rankwise.label_ranking.softmax`."""

    @staticmethod
    @cache
    def layout(average: bool, intercept: bool) -> StateLayout:
        ones: dict[str, Any] = {"start": 1.0, "joins": 1.0, "mixes": "follows", "local": False}
        return StateLayout(
            {
                "weights": StateArray(("feature", "label"), **ones),
                **({"b": StateArray(("label",), **ones)} if intercept else {}),
                "shift": StateArray(("label",), mixes="follows"),
                "normaliser": StateArray((3, "label"), mixes="follows"),
                **_COUNTERS,
            }
        )

    @staticmethod
    def learner(update: int) -> Any:
        return learn_joint if update == JOINT else learn_pairs

    @staticmethod
    def parameters(state: State, n_features: int) -> tuple[Any, ...]:
        return state["weights"], state.get("b", _NONE), state["shift"], state["normaliser"], n_features

    @classmethod
    def scores(cls, state: State, rows: Rows, out: Floats) -> int:
        return int(scores_entropic(rows, cls.parameters(state, 0), out))

    @staticmethod
    def weights(state: Mapping[str, NDArray[Any]]) -> Floats:
        weights = _with_constant(state, "weights", "b")
        return np.asarray(np.maximum(weights, 0.0) / state["normaliser"][:2].sum(axis=0))

    @staticmethod
    def conjugates(state: Mapping[str, NDArray[Any]], n_features: int) -> float:
        n = n_features + ("b" in state)
        return float(np.sum(np.log(state["normaliser"][:2].sum(axis=0) / n) + state["shift"])) if n else 0.0

    @staticmethod
    def widened(layout: StateLayout, state: State, n_features: int, n_labels: int) -> State:
        known = state["shift"].size
        wide = layout.with_room(state, "label", n_labels)
        wide["normaliser"][0, known:] = wide["normaliser"][2, known:] = n_features + ("b" in state)
        return wide

    @staticmethod
    def join(state: State, first: int, last: int) -> None:
        """Add the features first .. last - 1 with theta = 0: the normalisers grow by exp(0) for each."""
        all_change = (state["shift"] < -WIDEST).any()  # all weights of such a label
        for name in ("normaliser", "shift", *(("weights", "b") if all_change else ())):
            if name in state:
                state[name] = state[name].copy()
        if state["normaliser"].any():
            join_features(*Entropic.parameters(state, first), last)
        else:  # there was no feature yet
            state["shift"][:] = 0.0
            state["normaliser"][0] = state["normaliser"][2] = last + ("b" in state)

    @staticmethod
    def to_mix(state: State) -> State:
        kept = {name: state[name] for name in ("weights", "b") if name in state}
        return {name: np.log(w, out=w.copy(), where=w > 0.0) + state["shift"] for name, w in kept.items()}

    @staticmethod
    def from_mix(state: State, moved: State) -> None:
        """Weights from their exponents; the largest exponent of a label is its shift."""
        exponents = _with_constant(moved, "weights", "b")
        state["shift"] = exponents.max(axis=0)
        weights = exponents - state["shift"]
        np.exp(weights, out=weights, where=weights > LOWEST)
        total = np.maximum(weights, 0.0).sum(axis=0)
        state["weights"] = np.ascontiguousarray(weights[: len(moved["weights"])])
        if "b" in moved:
            state["b"] = weights[-1].copy()
        state["normaliser"] = np.stack([total, np.zeros_like(total), total])


def _with_constant(arrays: Mapping[str, NDArray[Any]], name: str, of_constant: str) -> Floats:
    """An array (features, labels) with the row of the constant feature below it, if any; empty if there is no array."""
    if of_constant in arrays:
        return np.vstack([arrays[name], arrays[of_constant]])
    return arrays.get(name, _NO_LAG)


Complexity = type[Euclidean] | type[Entropic]
COMPLEXITIES: dict[str, Complexity] = {"euclidean": Euclidean, "entropic": Entropic}
