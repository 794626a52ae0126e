"""The two complexity functions behind one face: what a model of each keeps, learns with, scores by and costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise.base.rows import Rows
from rankwise.label_ranking._counters import JOINT, ROUNDS, UPDATES_BY_NAME
from rankwise.label_ranking.entropic import learn_pairs, scores_entropic
from rankwise.label_ranking.entropic_joint import learn_joint
from rankwise.label_ranking.euclidean import learn_euclidean, scores_euclidean
from rankwise.label_ranking.softmax import join_features

Arrays = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]


_NO_LAG = np.empty((0, 0))


def _widened(array: NDArray[Any], n_labels: int, fill: float) -> NDArray[Any]:
    """The array with room for more labels along its last axis."""
    wide = np.full((*array.shape[:-1], n_labels), fill)
    wide[..., : array.shape[-1]] = array
    return wide


class Euclidean:
    """Squared norm: the weights are theta."""

    label_arrays: ClassVar[tuple[str, ...]] = ("theta", "lag")

    @staticmethod
    def start(n_features: int, n_labels: int, average: bool) -> Arrays:
        """Arrays of a model that has learnt nothing."""
        names = ("theta", "lag") if average else ("theta",)
        return {name: np.zeros((n_features, n_labels)) for name in names}

    @staticmethod
    def learn(state: Arrays, n_features: int, update: str, options: tuple[float, float], *arguments: Any) -> int:
        """One pass; returns the row that cannot be used, before anything has changed, or -1."""
        rows, said, weight, order, rankings = arguments
        code = UPDATES_BY_NAME[update]
        theta, lag = state["theta"], state.get("lag", _NO_LAG)
        counts, sums = state["counts"], state["sums"]
        return int(learn_euclidean(rows, *said, weight, order, theta, lag, counts, sums, (code, *options), rankings))

    @staticmethod
    def scores(state: Arrays, rows: Rows, out: Floats) -> int:
        """Fill ``out`` with the score of every label; returns the first row with one that is not finite, or -1."""
        return int(scores_euclidean(rows, state["theta"], state.get("lag", _NO_LAG), state["counts"][ROUNDS], out))

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
    def widen(state: Arrays, n_features: int, n_labels: int) -> Arrays:
        """Room for more labels."""
        return {n: _widened(a, n_labels, 0.0) if n in Euclidean.label_arrays else a for n, a in state.items()}

    @staticmethod
    def join(state: Arrays, first: int, last: int) -> None:
        """Let the features first .. last - 1 join; zeros are there already."""


class Entropic:
    """Relative entropy: a label's weights are positive and sum to one, see :mod:`rankwise.label_ranking.softmax`."""

    label_arrays: ClassVar[tuple[str, ...]] = ("weights", "shift", "normaliser")

    @staticmethod
    def start(n_features: int, n_labels: int, average: bool) -> Arrays:
        """Arrays of a model that has learnt nothing."""
        normaliser = np.zeros((3, n_labels))
        normaliser[0] = normaliser[2] = n_features
        return {"weights": np.ones((n_features, n_labels)), "shift": np.zeros(n_labels), "normaliser": normaliser}

    @staticmethod
    def learn(state: Arrays, n_features: int, update: str, options: tuple[float, float], *arguments: Any) -> int:
        """One pass; returns the row that cannot be used, before anything has changed, or -1."""
        rows, said, weight, order, rankings = arguments
        code = UPDATES_BY_NAME[update]
        learn = learn_joint if code == JOINT else learn_pairs
        model = state["weights"], state["shift"], state["normaliser"], n_features
        counts, sums = state["counts"], state["sums"]
        return int(learn(rows, *said, weight, order, model, counts, sums, (code, *options), rankings))

    @staticmethod
    def scores(state: Arrays, rows: Rows, out: Floats) -> int:
        """Fill ``out`` with the score of every label; returns the first row with one that is not finite, or -1."""
        return int(scores_entropic(rows, state["weights"], state["normaliser"], out))

    @staticmethod
    def weights(state: Mapping[str, NDArray[Any]]) -> Floats:
        """Weights (features, labels)."""
        return np.asarray(np.maximum(state["weights"], 0.0) / state["normaliser"][:2].sum(axis=0))

    @staticmethod
    def conjugates(state: Mapping[str, NDArray[Any]], n_features: int) -> float:
        """Sum over the labels of G(theta)."""
        if n_features == 0:
            return 0.0
        return float(np.sum(np.log(state["normaliser"][:2].sum(axis=0) / n_features) + state["shift"]))

    @staticmethod
    def widen(state: Arrays, n_features: int, n_labels: int) -> Arrays:
        """Room for more labels."""
        fresh = Entropic.start(n_features, n_labels, False)
        known = state["shift"].size
        weights = _widened(state["weights"], n_labels, 1.0)
        fresh["shift"][:known], fresh["normaliser"][:, :known] = state["shift"], state["normaliser"]
        return {**state, **fresh, "weights": weights}

    @staticmethod
    def join(state: Arrays, first: int, last: int) -> None:
        """Let the features first .. last - 1 join, in place: theta = 0, so the normalisers grow by exp(0) for each."""
        join_features(state["weights"], state["shift"], state["normaliser"], first, last)


COMPLEXITIES: dict[str, type[Euclidean] | type[Entropic]] = {"euclidean": Euclidean, "entropic": Entropic}
