"""State of an online model: named arrays with declared axes, averages and ways of mixing.

A pass over rows changes the arrays in place. Everything else follows from their declarations: a fresh state, room for
more features and classes, averages, undoing a pass, checking a state that comes from a file, and mixing the states of
several machines (:mod:`rankwise.dask`).

Averages are lazy: with ``lag`` the sum of (round number x change) over the updates, ``w - lag / rounds`` is the mean of
w over all rounds, so a round without an update costs nothing.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.compile import kernel
from rankwise._kernels.rows import padded
from rankwise.base.row_data import Rows
from rankwise.labels import ClassOrder

State = dict[str, NDArray[Any]]

#: Places in ``state["counts"]``: rounds with information, rounds with an update, violated constraints.
ROUNDS, UPDATES, VIOLATIONS = 0, 1, 2

GIVEN_ORDER: NDArray[np.int64] = np.empty(0, dtype=np.int64)  # rows as they come
NO_PREDICTIONS: NDArray[np.int32] = np.empty(0, dtype=np.int32)  # not requested
NO_MASK: NDArray[np.bool_] = np.empty((0, 0), dtype=bool)  # every label is an interval

#: Axes along which arrays may have spare capacity behind the entries in use; growing doubles it.
_WITH_ROOM = frozenset({"feature", "label", "slot"})
FIRST_SLOTS = 8
#: Numbers of a model stay below this: with rows of ordinary size, no sum or product of them overflows.
LARGEST = 1e150
_SPARSE_ENOUGH = 4  # undo by columns if a chunk touches at most one column in four


@dataclass(frozen=True)
class StateArray:
    """Declaration of one array of a state."""

    #: What each axis runs over: "feature"; "class" (K), "threshold" (K - 1), "padded class" (K, and spare columns to
    #: fill registers), "label" (those known so far, with spare capacity); "slot" (support vectors, with spare
    #: capacity); or a fixed length.
    axes: tuple[str | int, ...]
    dtype: Any = np.float64
    start: float = 0.0  #: entry of a fresh model
    joins: float = 0.0  #: entry of features, classes and slots that join later
    lag: str = ""  #: name of the array, of the same shape, that makes the average; none if empty
    #: What becomes of the states of several machines that began with the same one: "moves" (the mean, weighted by their
    #: updates), "adds" (the changes add up), "largest", or "follows" (computed from the others by the estimator). A
    #: tuple has one word for each entry.
    mixes: str | tuple[str, ...] = "moves"
    local: bool = True  #: whether a row changes only the entries of its own features along the axis "feature"


def averaged(*axes: str | int, lag: str, **options: Any) -> StateArray:
    """Array that updates are added to, with the array that makes its average over the rounds."""
    return StateArray(axes, lag=lag, **options)


COUNTS = StateArray((3,), np.int64, mixes="adds")
#: One weight for each feature and one threshold between neighbouring classes, with additive updates.
LINEAR_THRESHOLDS = {"w": averaged("feature", lag="w_lag"), "t": averaged("threshold", lag="t_lag"), "counts": COUNTS}


class StateLayout:
    """The arrays of a state, declared by their names, to which lags are added, and what follows from that."""

    def __init__(self, arrays: Mapping[str, StateArray]) -> None:
        self.declared = dict(arrays)
        self.arrays = dict(arrays)
        for array in arrays.values():
            if array.lag:
                self.arrays[array.lag] = StateArray(array.axes, array.dtype, mixes="follows", local=array.local)

    def fresh(self, n_features: int, n_classes: int) -> State:
        """State of a model that has learnt nothing."""
        sizes = _sizes(n_features, n_classes)
        return {
            name: np.full([_length(axis, sizes) for axis in array.axes], array.start, dtype=array.dtype)
            for name, array in self.arrays.items()
        }

    def with_room(self, state: State, axis: str, length: int) -> State:
        """State with room for ``length`` entries along an axis."""
        grown_arrays = dict(state)
        for name, array in self.arrays.items():
            for place, runs_over in enumerate(array.axes):
                if runs_over == axis and name in state:
                    grown_arrays[name] = grown(grown_arrays[name], length, place, array.joins)
        return grown_arrays

    def with_class(self, state: State, place: int, n_classes: int) -> State:
        """State with one class more than ``n_classes`` at ``place``.

        Its threshold repeats the one beside it, so its interval is empty and no prediction changes.
        """
        wider = dict(state)
        for name, array in self.arrays.items():
            for axis, runs_over in enumerate(array.axes):
                if runs_over == "class":
                    wider[name] = np.insert(wider[name], place, array.joins, axis=axis)
                elif runs_over == "padded class":
                    known = np.take(wider[name], range(n_classes), axis=axis)
                    shape = list(known.shape)
                    shape[axis] = padded(n_classes + 1)
                    wider[name] = _embedded(np.insert(known, place, 0, axis=axis), shape)
                elif runs_over == "threshold":
                    wider[name] = with_repeated_neighbour(wider[name], place)
        return wider

    def average(self, state: State, name: str, rate: float) -> NDArray[np.float64]:
        """Array averaged over the rounds, ``rate`` one over their number; the last one if it is zero or has no lag."""
        lag = self.declared[name].lag
        return np.asarray(state[name] - state[lag] * rate) if lag else state[name].copy()

    def trimmed(self, state: State, n_features: int, n_labels: int = 0) -> State:
        """Copies of the arrays without spare capacity for features and labels."""
        ends = {"feature": n_features, "label": n_labels}
        copies = {}
        for name, array in state.items():
            axes = self.arrays[name].axes if name in self.arrays else ()
            copies[name] = array[tuple(slice(ends.get(str(axis))) for axis in axes)].copy()
        return copies

    def check(self, state: Mapping[str, NDArray[Any]], n_features: int, n_classes: int) -> None:
        """Refuse arrays that are not as declared, as kernels trust them; spare capacity must be equal for all."""
        if not isinstance(state, dict) or set(state) != set(self.arrays):
            raise ValueError(f"expected the arrays {sorted(self.arrays)}, found {reprlib.repr(state)}")
        sizes = _sizes(n_features, n_classes)
        for name, array in state.items():
            require_array(name, array)
        least = {axis: sizes[axis] for axis in _WITH_ROOM}
        for name, declared in self.arrays.items():
            array = state[name]
            for axis, length in zip(declared.axes, array.shape, strict=False):
                if axis in _WITH_ROOM and length >= least[str(axis)]:
                    sizes[str(axis)] = max(sizes[str(axis)], length)
        for name, declared in self.arrays.items():
            require_array(name, state[name], declared.dtype, tuple(_length(axis, sizes) for axis in declared.axes))

    def tame(self, state: State) -> bool:
        """Whether every number is small enough to go on learning with, see :data:`LARGEST`."""
        return all(_tame(state[name].reshape(-1)) for name, array in self.arrays.items() if array.dtype is np.float64)


class Savepoint:
    """What a pass over some rows may change, as it was before.

    Of arrays with one entry for each feature only the entries of the rows' own columns are kept, if these are few: the
    cost depends on what the rows touch.
    """

    def __init__(self, layout: StateLayout, state: State, rows: Rows) -> None:
        columns = _touched_columns(rows, max((len(a) for a in state.values()), default=0))
        self._kept: list[tuple[NDArray[Any], Any, NDArray[Any]]] = []
        for name, array in state.items():
            declared = layout.arrays.get(name)
            by_column = declared is not None and declared.axes[0] == "feature" and declared.local
            where: Any = columns if by_column and columns is not None else slice(None)
            self._kept.append((array, where, array[where].copy() if where is not columns else array[where]))

    def undo(self) -> None:
        """Put everything back, in place."""
        for array, where, values in self._kept:
            array[where] = values

    def tame(self, state: State) -> bool:
        """Whether every number that may have changed is small enough to go on learning with."""
        changed = (array[where] for array, where, _ in self._kept if array.dtype == np.float64)
        return all(_tame(array.reshape(-1)) for array in changed)


@kernel
def _tame(numbers):
    tame = True
    for number in numbers:
        tame &= abs(number) <= LARGEST  # false for NaN
    return tame


def _length(axis: str | int, sizes: Mapping[str, int]) -> int:
    return sizes[axis] if isinstance(axis, str) else axis


def _sizes(n_features: int, n_classes: int) -> dict[str, int]:
    return {
        "feature": n_features,
        "class": n_classes,
        "padded class": padded(n_classes),
        "threshold": n_classes - 1,
        "label": n_classes,
        "slot": FIRST_SLOTS,
    }


def _touched_columns(rows: Rows, n_columns: int) -> NDArray[Any] | None:
    """Columns with a stored entry, if they are few among all."""
    if not isinstance(rows, tuple) or rows[1].size * _SPARSE_ENOUGH > n_columns:
        return None
    return np.unique(rows[1])


def _embedded(array: NDArray[Any], shape: list[int], fill: Any = 0) -> NDArray[Any]:
    """Larger array that begins with this one along every axis."""
    larger = np.full(shape, fill, dtype=array.dtype)
    larger[tuple(slice(n) for n in array.shape)] = array
    return larger


def grown(array: NDArray[Any], length: int, axis: int = -1, fill: Any = 0) -> NDArray[Any]:
    """The array with room for ``length`` along an axis; capacity doubles so that growing is cheap."""
    if array.shape[axis] >= length:
        return array
    shape = list(array.shape)
    shape[axis] = max(FIRST_SLOTS, 2 * length)
    return _embedded(array, shape, fill)


def with_repeated_neighbour(values: NDArray[Any], place: int) -> NDArray[Any]:
    """Thresholds for a class more at ``place``: it repeats the one beside it, so the new class's interval is empty."""
    beside = values[min(place, values.size - 1)] if values.size else 0.0
    return np.insert(values, min(place, values.size), beside)


# -- checks of model files ---------------------------------------------------------------------------------------------


def require_array(
    name: str, array: Any, dtype: Any = None, shape: tuple[Any, ...] | None = None, *, finite: bool = True
) -> None:
    """Refuse anything but the array that kernels expect, and NaN or, unless allowed, infinity in it."""
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name!r} must be an array, not {reprlib.repr(array)}")
    if shape is not None and (array.dtype != dtype or array.shape != shape):
        raise ValueError(f"array {name!r} must be {np.dtype(dtype)} of shape {shape}, not {array.dtype} {array.shape}")
    if not (np.isfinite(array) if finite else ~np.isnan(array)).all():
        raise ValueError(f"array {name!r} holds a number that is not finite" if finite else f"array {name!r} holds NaN")


def require_arrays(arrays: Any, like: Mapping[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Refuse arrays unless they have the names, types and shapes that are declared."""
    if not isinstance(arrays, dict) or set(arrays) != set(like):
        raise ValueError(f"expected the arrays {sorted(like)}, found {reprlib.repr(arrays)}")
    for name, (dtype, shape) in like.items():
        require_array(name, arrays[name], dtype, shape)


def require_features(features: Any, least: int) -> int:
    """Number of features, from their names or their number."""
    count = len(features) if isinstance(features, list) else features
    if type(count) is not int or not least <= count <= np.iinfo(np.int64).max:
        raise ValueError(f"features={reprlib.repr(features)}: names, or how many there are, at least {least}")
    if isinstance(features, list) and len(set(features)) != count:
        raise ValueError("the names of the features are not distinct")
    return count


def require_classes(classes: Any) -> ClassOrder:
    """Order of the classes, from the array in a file."""
    if not isinstance(classes, np.ndarray):
        raise ValueError(f"classes must be an array, not {reprlib.repr(classes)}")
    return ClassOrder(classes)


def require_number(name: str, value: Any, kind: type = int) -> Any:
    """Refuse a value unless it is a whole number >= 0 or, if ``kind`` is float, any number."""
    if type(value) not in (int, kind) or (kind is int and value < 0) or value != value:
        raise ValueError(f"{name} must be a {'number' if kind is float else 'count'}, not {reprlib.repr(value)}")
    return kind(value)
