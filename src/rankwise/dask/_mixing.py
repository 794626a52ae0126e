"""Iterative parameter mixing: what a pass over one partition adds to a shared model.

In every epoch each partition learns from the same model; the models that result are averaged, weighted by how often
each of them was updated, and the average begins the next epoch (McDonald, Hall and Mann, "Distributed training
strategies for the structured perceptron", 2010, whose bound holds for weights like these).

Models are averaged in the coordinates that updates are added to: weights and thresholds; exponents for M-PRIL and for
the entropic label ranker, which is a geometric mean of weights. Ordered thresholds stay ordered. An averaged model
(``average=True``) is the mean over all rounds of all partitions, each with the weights that were its own then.

With a share s_p of the updates, dual variables of partition p count s_p times, which keeps them in their bounds: the
label ranker's dual value remains a lower bound.

How each array mixes is declared by the model (:class:`rankwise.base.state.StateArray`).
"""

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.base.state import ROUNDS, UPDATES, State

#: Of one pass, by array: how much it moves the mean, what it adds, what the largest may be, and sums over the rounds.
Contribution = dict[str, State]


def contribution(model: Any, before: State, after: State) -> Contribution:
    """What a pass that began with one state and ended with another says about the average."""
    updates = float(after["counts"][UPDATES] - before["counts"][UPDATES])
    layout = model._layout
    return {
        "moves": {name: updates * array for name, array in model._to_mix(after).items()},
        "means": {name: updates * after[name] for name in _entries(model, "moves")},
        "adds": {name: after[name] - before[name] for name in _entries(model, "adds")},
        "largest": {name: after[name].copy() for name in _entries(model, "largest")},
        "over rounds": {
            name: _sum_over_rounds(after, name, array.lag) - _sum_over_rounds(before, name, array.lag)
            for name, array in layout.declared.items()
            if array.lag
        },
    }


def together(*contributions: Contribution | None) -> Contribution | None:
    """Contributions of several partitions; one without rows has none."""
    some = [one for one in contributions if one is not None]
    if not some:
        return None
    combined: Contribution = {}
    for kind, arrays in some[0].items():
        combine = np.maximum if kind == "largest" else np.add
        combined[kind] = {name: reduce(combine, [one[kind][name] for one in some]) for name in arrays}
    return combined


def mixed(model: Any, total: Contribution) -> State:
    """The state of the model that all partitions began with, moved by what they contributed."""
    before: State = model._state
    state: State = {name: array.copy() for name, array in before.items()}
    for name, added in total["adds"].items():
        _put(model, state, name, "adds", before[name] + added)
    for name, largest in total["largest"].items():
        _put(model, state, name, "largest", largest)
    updates = float(total["adds"]["counts"][UPDATES])
    if updates:
        for name, mean in total["means"].items():
            _put(model, state, name, "moves", mean / updates)
    moved = {
        name: total["moves"][name] / updates if updates else array for name, array in model._to_mix(before).items()
    }
    for name, array in model._layout.declared.items():
        if array.lag and model.average:
            over_rounds = _sum_over_rounds(before, name, array.lag) + total["over rounds"][name]
            state[array.lag] = state["counts"][ROUNDS] * moved[name] - over_rounds
    model._from_mix(state, moved)
    return state


def _entries(model: Any, kind: str) -> list[str]:
    """Arrays that have entries that mix in one way; those that move as a whole are in ``_to_mix``."""
    arrays = model._layout.declared.items()
    return [name for name, a in arrays if kind in a.mixes and (isinstance(a.mixes, tuple) or kind != "moves")]


def _put(model: Any, state: State, name: str, kind: str, values: NDArray[Any]) -> None:
    """Set the entries of an array that mix in one way."""
    mixes = model._layout.declared[name].mixes
    chosen = [k for k, word in enumerate(mixes) if word == kind] if isinstance(mixes, tuple) else slice(None)
    state[name][chosen] = values[chosen]


def _sum_over_rounds(state: State, name: str, lag: str) -> Any:
    """Sum of an array over the rounds: its lag tells how much later than at the first round it changed."""
    return state["counts"][ROUNDS] * state[name] - state[lag]
