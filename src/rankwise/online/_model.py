"""Online models: a declared state, growing classes and features, averages, files.

An algorithm declares the arrays of its state (:class:`rankwise.base.state.StateArray`); room for new features and
classes, averages, undoing, checks and files follow from that.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise.base.estimator import OrdinalEstimator
from rankwise.base.state import (
    ROUNDS,
    UPDATES,
    VIOLATIONS,
    State,
    StateArray,
    StateLayout,
    require_classes,
    require_features,
    require_number,
)
from rankwise.base.transaction import reader, require_fitted
from rankwise.labels import ClassOrder
from rankwise.online._contest import CONTEST, JUDGED, LAST, MEAN, last_leads
from rankwise.online._names import FeatureIndex


class OnlineModel(OrdinalEstimator):
    """Base of the online estimators as models; see the module's docstring."""

    #: Declaration of the arrays of the state.
    arrays: ClassVar[Mapping[str, StateArray]]

    _learnt = "_state"

    average: bool | str
    _state: State
    _order: ClassOrder
    _features: FeatureIndex
    _growing: bool  # whether a stream may bring new classes, as none were declared

    # -- what an algorithm may supply ------------------------------------------------------------------------------

    @property
    def _layout(self) -> StateLayout:
        """The arrays of the state; an algorithm overrides this if they depend on more than its class."""
        layout = type(self).__dict__.get("_layout_of_class")
        if layout is None:
            has_averages = any(array.lag for array in self.arrays.values())
            layout = StateLayout({**self.arrays, "contest": CONTEST} if has_averages else self.arrays)
            type(self)._layout_of_class = layout
        return layout

    def _settle(self, state: State, known: int, n_features: int) -> None:
        """Set what follows from other arrays for ``n_features``, of which all but the first ``known`` are new."""

    def _to_mix(self, state: State) -> State:
        """Arrays that move, in the coordinates that updates are added to."""
        return {name: state[name] for name, array in self._layout.declared.items() if array.mixes == "moves"}

    def _from_mix(self, state: State, moved: State) -> None:
        """Put arrays that were mixed in these coordinates into a state, with all that follows from them."""
        state.update(moved)

    # -- learnt so far ---------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self._gate.prepared = None  # it follows from the attributes

    def __getattr__(self, name: str) -> Any:
        # Names learnt from a stream become an array only on access.
        if name == "feature_names_in_" and "_features" in self.__dict__:
            names = self.__dict__["_features"].names()
            if len(names) and not isinstance(names, range) and all(isinstance(n, str) for n in names):
                return np.array(names, dtype=object)
        return object.__getattribute__(self, name)  # raises the original error, which may be more specific

    def _number(self, name: str, place: int) -> Any:
        """One number of the state."""
        require_fitted(self)
        return self._state[name][place]

    @property
    def n_updates_(self) -> int:
        """Number of rounds in which the model changed."""
        return int(self._number("counts", UPDATES))

    @property
    def n_violations_(self) -> int:
        """Number of violated constraints over all rounds: what the papers' bounds count."""
        return int(self._number("counts", VIOLATIONS))

    @property
    def _averaging_rate(self) -> float:
        """``w - rate * lag`` is the average of w over the rounds; a rate of zero takes the last w."""
        rounds = int(self._state["counts"][ROUNDS])
        return 1.0 / rounds if rounds and self._averages else 0.0

    @property
    def _averages(self) -> bool:
        """Whether averaged weights predict."""
        if self.average != "auto":
            return bool(self.average)
        return not last_leads(*self._state["contest"].tolist())

    def _averaging(self, state: State, order: NDArray[np.int64]) -> Any:
        """First option of a pass: whether predictions are averaged. Rows in a random order are not judged."""
        if "contest" not in state:
            return False
        if self.average == "auto":
            return MEAN if order.size else JUDGED, state["contest"]
        return MEAN if self.average else LAST, state["contest"]

    def _averaged(self, name: str) -> NDArray[np.float64]:
        """Array of the state, averaged over the rounds if ``average``."""
        require_fitted(self)
        return self._undisturbed(lambda model: model._layout.average(model._state, name, model._averaging_rate))

    # -- beginning and growing -------------------------------------------------------------------------------------

    def _begin(self, n_features: int, order: ClassOrder, *, growing: bool = False) -> None:
        self._growing = growing
        self.n_features_in_ = n_features
        self._features = FeatureIndex(self.__dict__.get("feature_names_in_", n_features))
        self._set_order(order)
        self.__dict__.pop("_state", None)  # the layout is that of a new model
        self._state = self._layout.fresh(n_features, len(order))
        self._settle(self._state, 0, n_features)

    def _set_order(self, order: ClassOrder) -> None:
        self._order = order
        self._plain_classes = order.values.tolist()
        self.classes_ = order.values

    def _with_features(self, state: State, n_features: int) -> State:
        """State with room for more features, whose weights start at zero."""
        state = self._layout.with_room(state, "feature", n_features)
        self._settle(state, self.n_features_in_, n_features)
        return state

    def _with_classes(self, state: State, order: ClassOrder) -> State:
        """State with the classes of a longer order, which predicts as before until they are learnt."""
        n_classes = len(self._order)
        for place, value in enumerate(order.values.tolist()):
            if value not in self._order.index:
                state = self._layout.with_class(state, place, n_classes)
                n_classes += 1
        return state

    def _grow(self, new_names: Any, order: ClassOrder) -> None:
        """Make room for new names and classes: a new state and a new index replace the old ones."""
        state, n_features = self._state, self.n_features_in_ + len(new_names)
        if new_names:
            state = self._with_features(state, n_features)
        if order is not self._order:
            state = self._with_classes(state, order)
        if new_names:
            self._features = self._features.joined(new_names)
            self.__dict__.pop("feature_names_in_", None)  # see __getattr__
        self._state, self.n_features_in_ = state, n_features
        self._set_order(order)

    def _feature_name(self, column: int) -> Any:
        names: Any = self._features.names() if "_features" in self.__dict__ else ()
        return names[column] if column < len(names) else None

    # -- files -----------------------------------------------------------------------------------------------------

    @reader
    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""
        names = () if self._features.numbered else self._features.names()
        return {
            "state": self._layout.trimmed(self._state, self.n_features_in_, len(self._order)),
            "classes": self.classes_,
            "features": [n.item() if isinstance(n, np.generic) else n for n in names] or self.n_features_in_,
            "growing": self._growing,
            "n_iter": getattr(self, "n_iter_", None),
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        self._validate_params()
        n_features, order = require_features(plain["features"], 0), require_classes(plain["classes"])
        if "contest" in self._layout.arrays and isinstance(plain["state"], dict):  # not in files of earlier versions
            plain["state"].setdefault("contest", np.zeros(tuple(map(int, CONTEST.axes))))
        self._check_state(plain["state"], n_features, len(order))
        self._features, self.n_features_in_ = FeatureIndex(plain["features"]), n_features
        self._growing = plain["growing"] is True
        self._set_order(order)
        self._state = dict(plain["state"])
        if plain["n_iter"] is not None:
            self.n_iter_ = require_number("n_iter", plain["n_iter"])

    def _check_state(self, state: Mapping[str, NDArray[Any]], n_features: int, n_classes: int) -> None:
        """Refuse a state that is not as declared: kernels trust its shapes."""
        self._layout.check(state, n_features, n_classes)
