"""Iterative parameter mixing: what a pass over one partition adds to a shared model.

In every epoch each partition learns from the same model; the models that result are averaged, weighted by how often
each of them was updated, and the average begins the next epoch (McDonald, Hall and Mann, "Distributed training
strategies for the structured perceptron", 2010, whose bound holds for weights like these).

Models are averaged in the coordinates that updates are added to: weights and thresholds; exponents for M-PRIL and for
the entropic label ranker, which is a geometric mean of weights. Ordered thresholds stay ordered. An averaged model
(``average=True``) is the mean over all rounds of all partitions, each with the weights that were its own then.

With a share s_p of the updates, dual variables of partition p count s_p times, which keeps them in their bounds: the
label ranker's dual value remains a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.base.state import ROUNDS, UPDATES, VIOLATIONS, State
from rankwise.dask._blocks import Sums, added
from rankwise.label_ranking._counters import GAINED, MOST_ITERATIONS, REACH
from rankwise.label_ranking.softmax import LOWEST
from rankwise.online.multiplicative import ETA, _adapted_rate, _refresh_all

#: Arrays that updates are added to, and their lags.
_LAGS = {"w": "w_lag", "t": "t_lag", "W": "W_lag", "b": "b_lag", "S": "S_lag", "T": "T_lag", "theta": "lag"}

#: Sums and maxima over partitions.
Contribution = tuple[Sums, Sums]


def _added_to(state: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    """Arrays of a state in the coordinates in which it is a sum of updates."""
    if "weights" in state:
        kept = state["weights"]  # a weight, or its logarithm if that is very small
        return {"weights": np.log(kept, out=kept.copy(), where=kept > 0.0) + state["shift"]}
    names = ("S", "T") if "S" in state else [name for name in ("w", "t", "W", "b", "theta") if name in state]
    return {name: state[name] for name in names}


def _sum_over_rounds(state: Mapping[str, NDArray[Any]], name: str) -> Any:
    """Sum of an array over the rounds: its lag tells how much later than at the first round it changed."""
    return state["counts"][ROUNDS] * state[name] - state[_LAGS[name]]


def contribution(before: State, after: State) -> Contribution:
    """What a pass that began with one state and ended with another says about the average."""
    counted = after["counts"] - before["counts"]
    updates = float(counted[UPDATES])
    moved = [updates * array for array in _added_to(after).values()]
    lagged = [name for name, lag in _LAGS.items() if lag in after]
    over_rounds = [_sum_over_rounds(after, name) - _sum_over_rounds(before, name) for name in lagged]
    gained = [updates * (after["sums"][GAINED] - before["sums"][GAINED])] if "sums" in after else []
    cost = [after["cost"] - before["cost"]] if "cost" in after else []
    tops = [after[name] for name in ("known", "sums") if name in after]
    if "sums" in after:
        tops.append(after["counts"][MOST_ITERATIONS])
    return (counted, *moved, *over_rounds, *gained, *cost), tuple(tops)


def together(*contributions: Contribution | None) -> Contribution | None:
    """Contributions of several partitions; one without rows has none."""
    some = [one for one in contributions if one is not None]
    if not some:
        return None
    tops = tuple(np.maximum.reduce(values) for values in zip(*(one[1] for one in some), strict=True))
    return added(*(one[0] for one in some)), tops


def mixed(model: Any, found: Contribution) -> State:
    """The state of the model that all partitions began with, moved by what they contributed."""
    before: State = model._state
    state: State = deepcopy(before)
    sums, tops = list(found[0]), list(found[1])
    counted = sums.pop(0)
    state["counts"] += counted
    updates = float(counted[UPDATES])
    moved = {name: sums.pop(0) / updates if updates else old for name, old in _added_to(before).items()}
    for name in [name for name, lag in _LAGS.items() if lag in before]:
        total = _sum_over_rounds(before, name) + sums.pop(0)
        if model.average:
            state[_LAGS[name]] = state["counts"][ROUNDS] * moved[name] - total
    if "sums" in state:
        gained = sums.pop(0) / updates if updates else 0.0
        state["sums"][GAINED] = before["sums"][GAINED] + gained
        state["sums"][REACH] = tops[-2][REACH]
        state["counts"][MOST_ITERATIONS] = tops[-1]
    if "cost" in state:
        state["cost"] = state["cost"] + sums.pop(0)
        state["known"] = tops[0]
    if "weights" in state:
        _set_exponents(state, moved["weights"])
    else:
        state.update(moved)
    if "S" in state:
        if model.eta == "auto":
            state["scale"][ETA] = _adapted_rate(state["counts"][VIOLATIONS], max(1, state["T"].size))
        _refresh_all(state["S"], state["T"], state["w"], state["t"], state["scale"], model.signed)
    return state


def _set_exponents(state: State, theta: NDArray[np.float64]) -> None:
    """Weights of the entropic label ranker from their exponents, the largest of each label as its shift."""
    shift = theta.max(axis=0)
    weights = theta - shift
    np.exp(weights, out=weights, where=weights > LOWEST)
    total = np.maximum(weights, 0.0).sum(axis=0)
    state["weights"], state["shift"] = weights, shift
    state["normaliser"] = np.stack([total, np.zeros_like(total), total])
