"""The two complexity functions behind one face: what a model of each keeps, learns with, scores by and costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.base.row_data import Rows
from rankwise.base.state import ROUNDS, StateArray, StateLayout, averaged
from rankwise.label_ranking.entropic import learn_pairs, scores_entropic
from rankwise.label_ranking.entropic_joint import learn_joint
from rankwise.label_ranking.euclidean import learn_euclidean, scores_euclidean
from rankwise.label_ranking.rounds import JOINT
from rankwise.label_ranking.softmax import LOWEST, WIDEST, join_features

Arrays = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]


_NO_LAG = np.empty((0, 0))

_COUNTERS = {
    "counts": StateArray((6,), np.int64, mixes=("adds", "adds", "adds", "adds", "adds", "largest")),
    "sums": StateArray((2,), mixes=("moves", "largest")),
}


class Euclidean:
    """Squared norm: the weights are theta."""

    layout = StateLayout({"theta": averaged("feature", "label", lag="lag"), **_COUNTERS})
    layout_of_last = StateLayout({"theta": StateArray(("feature", "label")), **_COUNTERS})

    @staticmethod
    def learner(update: int) -> Any:
        return learn_euclidean

    @staticmethod
    def parameters(state: Arrays, n_features: int) -> tuple[Any, ...]:
        """Arrays that a pass learns."""
        return state["theta"], state.get("lag", _NO_LAG)

    @classmethod
    def scores(cls, state: Arrays, rows: Rows, out: Floats) -> int:
        """Fill ``out`` with the score of every label; returns the first row with one that is not finite, or -1."""
        return int(scores_euclidean(rows, cls.parameters(state, 0), state["counts"][ROUNDS], out))

    @staticmethod
    def weights(state: Mapping[str, NDArray[Any]]) -> Floats:
        """Weights (features, labels)."""
        rounds = int(state["counts"][ROUNDS])
        return state["theta"] - state["lag"] / rounds if "lag" in state and rounds else state["theta"]

    @staticmethod
    def conjugates(state: Mapping[str, NDArray[Any]], n_features: int) -> float:
        """Sum over the labels of G(theta)."""
        theta = state["theta"][:n_features]
        return 0.5 * float(np.einsum("jy,jy->", theta, theta))

    @staticmethod
    def widened(layout: StateLayout, state: Arrays, n_features: int, n_labels: int) -> Arrays:
        """State with room for more labels."""
        return layout.with_room(state, "label", n_labels)

    @staticmethod
    def join(state: Arrays, first: int, last: int) -> None:
        """Let the features first .. last - 1 join."""

    @staticmethod
    def to_mix(state: Arrays) -> Arrays:
        """Arrays that updates are added to."""
        return {"theta": state["theta"]}

    @staticmethod
    def from_mix(state: Arrays, moved: Arrays) -> None:
        """Take what was mixed."""
        state.update(moved)


class Entropic:
    """Relative entropy: a label's weights are positive and sum to one, see :mod:`rankwise.label_ranking.softmax`."""

    layout = StateLayout(
        {
            "weights": StateArray(("feature", "label"), start=1.0, joins=1.0, mixes="follows", local=False),
            "shift": StateArray(("label",), mixes="follows"),
            "normaliser": StateArray((3, "label"), mixes="follows"),
            **_COUNTERS,
        }
    )

    @staticmethod
    def learner(update: int) -> Any:
        return learn_joint if update == JOINT else learn_pairs

    @staticmethod
    def parameters(state: Arrays, n_features: int) -> tuple[Any, ...]:
        return state["weights"], state["shift"], state["normaliser"], n_features

    @classmethod
    def scores(cls, state: Arrays, rows: Rows, out: Floats) -> int:
        return int(scores_entropic(rows, cls.parameters(state, 0), out))

    @staticmethod
    def weights(state: Mapping[str, NDArray[Any]]) -> Floats:
        return np.asarray(np.maximum(state["weights"], 0.0) / state["normaliser"][:2].sum(axis=0))

    @staticmethod
    def conjugates(state: Mapping[str, NDArray[Any]], n_features: int) -> float:
        if n_features == 0:
            return 0.0
        return float(np.sum(np.log(state["normaliser"][:2].sum(axis=0) / n_features) + state["shift"]))

    @staticmethod
    def widened(layout: StateLayout, state: Arrays, n_features: int, n_labels: int) -> Arrays:
        known = state["shift"].size
        wide = layout.with_room(state, "label", n_labels)
        wide["normaliser"][0, known:] = wide["normaliser"][2, known:] = n_features
        return wide

    @staticmethod
    def join(state: Arrays, first: int, last: int) -> None:
        """Let the features first .. last - 1 join: theta = 0, so the normalisers grow by exp(0) for each."""
        for name in ("normaliser", "shift"):
            state[name] = state[name].copy()
        if (state["shift"] < -WIDEST).any():  # all weights of such a label change
            state["weights"] = state["weights"].copy()
        if first == 0:
            state["normaliser"][0] = state["normaliser"][2] = last
        else:
            join_features(state["weights"], state["shift"], state["normaliser"], first, last)

    @staticmethod
    def to_mix(state: Arrays) -> Arrays:
        kept = state["weights"]  # a weight, or its logarithm if that is very small
        return {"weights": np.log(kept, out=kept.copy(), where=kept > 0.0) + state["shift"]}

    @staticmethod
    def from_mix(state: Arrays, moved: Arrays) -> None:
        """Weights from their exponents, the largest of each label as its shift."""
        shift = moved["weights"].max(axis=0)
        weights = moved["weights"] - shift
        np.exp(weights, out=weights, where=weights > LOWEST)
        total = np.maximum(weights, 0.0).sum(axis=0)
        state["weights"], state["shift"] = weights, shift
        state["normaliser"] = np.stack([total, np.zeros_like(total), total])


COMPLEXITIES: dict[str, type[Euclidean] | type[Entropic]] = {"euclidean": Euclidean, "entropic": Entropic}
