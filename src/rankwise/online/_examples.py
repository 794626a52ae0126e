"""Learning from one example at a time: dicts of named features, as river has them.

Names of features, and classes where none were declared, may be new in any example. An example is looked at whole before
anything changes; the common case, known names and a known label, is kept short because it runs once per example.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.base.estimator import OrdinalEstimator
from rankwise.base.rows import FeatureIndex, Rows
from rankwise.base.state import GIVEN_ORDER, NO_MASK, NO_PREDICTIONS, State
from rankwise.labels import ClassOrder, encode, is_missing, require_support

Codes = NDArray[np.int32]


class DictStream(OrdinalEstimator):
    """``learn_one`` and ``predict_one`` on top of an estimator's compiled pass."""

    if TYPE_CHECKING:  # what the estimator supplies
        _features: FeatureIndex
        _growing: bool
        _one_label: tuple[Codes, Codes, NDArray[np.bool_]]
        _one_weight: NDArray[np.float64]
        _order: ClassOrder
        _plain_classes: list[Any]
        _state: State

        def _begin(self, n_features: int, order: ClassOrder, *, growing: bool = False) -> None: ...
        def _insert_class(self, state: State, place: int) -> State: ...
        def _pass(self, *args: Any) -> int: ...
        def _set_order(self, order: ClassOrder) -> None: ...
        def _with_features(self, state: State, n_features: int) -> State: ...

    def learn_one(self, x: Mapping[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one example, a dict of features; names and, if none were declared, classes may be new.

        Parameters
        ----------
        x : dict
            Feature name -> number. Names that are absent count as zero.
        y : label, tuple, list or set
            An exact label, an interval ``(lower, upper)``, candidates, or None.
        w : float, default 1.0
            Importance of the example, >= 0.
        """
        if "_state" in self.__dict__:
            self._learn_example(x, y, w)
        elif self.classes is not None or not is_missing(y):
            with self._all_or_nothing():
                self._validate_params()
                order = encode([_as_said(y)], self.classes, ordered=self.ordered).order
                self._begin(0, order, growing=self.classes is None)
                self._learn_example(x, y, w)

    def predict_one(self, x: Mapping[Hashable, Any]) -> Any:
        """Class of one example, a dict of features; None while no class is known."""
        if not self.__sklearn_is_fitted__():
            return None
        return self._plain_classes[self._codes(self._features.row(x, learn_names=False))[0]]

    def _learn_example(self, x: Mapping[Hashable, Any], y: Any, w: float) -> None:
        if not 0.0 <= w < np.inf:
            raise ValueError(f"a weight must be a finite number >= 0. Got {w!r} instead.")
        lower, upper, mask = self._one_label
        index, order = self._order.index, self._order
        try:  # the two common cases: a class, and an interval of classes
            if type(y) is tuple:
                lower[0], upper[0] = index[y[0]], index[y[1]]
                plain = len(y) == 2 and "interval" in self.label_kinds and lower[0] <= upper[0]
            else:
                lower[0] = upper[0] = index[y]
                plain = True
        except (KeyError, TypeError, IndexError):
            plain = False
        if not plain:
            order = self._order_with(y)
            labels = encode([_as_said(y)], order)
            require_support(labels, type(self).__name__, self.label_kinds)
            lower, upper, mask = labels.lower, labels.upper, NO_MASK if labels.mask is None else labels.mask
        row = self._features.row(x, learn_names=True)
        if order is not self._order or len(self._features.column) > self.n_features_in_:
            self._welcome(row, order)
        self._one_weight[0] = w
        if self._pass(self._state, row, (lower, upper, mask), self._one_weight, GIVEN_ORDER, NO_PREDICTIONS) >= 0:
            self._refuse_row(row, 0)

    def _order_with(self, y: Any) -> ClassOrder:
        """The order of the classes, with those that a label brings if they may be new."""
        order = self._order
        if self._growing and not is_missing(y):
            for value in encode([_as_said(y)], ordered=self.ordered).order.values.tolist():
                if value not in order.index:
                    order = order.inserted(value)[0]
        return order

    def _welcome(self, row: Rows, order: ClassOrder) -> None:
        """Make room for new names and classes, unless the row that brought them is bad."""
        if not np.isfinite(row[0]).all():
            try:
                self._refuse_row(row, 0)
            finally:
                self._features.forget_after(self.n_features_in_)
        self._state = self._with_features(self._state, len(self._features))
        for place, value in enumerate(order.values.tolist()):
            if value not in self._order.index:
                self._state = self._insert_class(self._state, place)
        self._set_order(order)


def _as_said(y: Any) -> Any:
    """One label: a list holds candidates here, also if it is a pair."""
    return set(y) if isinstance(y, list) else y
