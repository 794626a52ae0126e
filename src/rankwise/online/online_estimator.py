"""How an online estimator learns and predicts single examples, dicts of features: as arrays, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from rankwise._types import Floats
from rankwise.base.row_data import Rows
from rankwise.base.state import GIVEN_ORDER, NO_MASK, NO_PREDICTIONS, ROUNDS, State
from rankwise.labels import (
    UNIT_WEIGHTS,
    ClassOrder,
    encode,
    is_missing,
    require_support,
)
from rankwise.labels.whole_columns import has_denominator
from rankwise.online.array_learner import ArrayLearner, KernelLabels


class OnlineEstimator(ArrayLearner):
    """Base of the online estimators: an :class:`ArrayLearner` that also takes single examples."""

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
        gate = self._gate
        with gate.lock:
            known = self.__dict__
            if "_state" not in known:
                self._learn_first(x, y, w)
                return
            if not 0.0 <= w < np.inf:
                raise ValueError(f"a weight must be a finite number >= 0. Got {w!r} instead.")
            if known["classes"] is not self._classes_read:
                self._known_order(None, y, first=False)  # refuses other classes than those of before
            labels, order = self._read_example(y)
            row, new_names = known["_features"].row(x, learning=True)
            weight = UNIT_WEIGHTS if w == 1.0 else np.array([w], dtype=np.float64)
            if new_names or order is not known["_order"]:
                self._learn_grown(new_names, order, row, labels, weight)
                return
            if not self._learns_in_place:
                bad = self._learn_row(known["_state"], row, labels, weight)
            else:
                prepared = (gate.prepared or self._prepare()) if weight is UNIT_WEIGHTS else None
                gate.count |= 1
                try:
                    bad = prepared(row, labels) if prepared else self._learn_row(known["_state"], row, labels, weight)
                finally:
                    gate.count += 1
            if bad >= 0:
                self._refuse_update(row, 0, weight)

    def _prepare(self) -> Callable[[Rows, KernelLabels], int] | None:
        """Compiled pass over a row of weight 1, with all arguments that stay the same until an attribute is set.

        It is a function because river measures a model's memory by everything it refers to except functions.
        """
        state = self._state
        compiled = self._compiled(state, self._averaging(state, GIVEN_ORDER), True)
        if compiled is None:
            return None
        learn, model, options = compiled
        counts = state["counts"]

        def learn_row(row: Rows, labels: KernelLabels) -> int:
            bad: int = learn(row, labels, UNIT_WEIGHTS, GIVEN_ORDER, model, counts, options, NO_PREDICTIONS)
            return bad

        self._gate.prepared = learn_row
        return learn_row

    def predict_one(self, x: Mapping[Hashable, Any]) -> Any:
        """Class of one example, a dict of features; None while no class is known."""
        gate = self._gate
        count = gate.count
        if not count & 1:  # the first attempt of ``_undisturbed``, with fewer calls
            try:
                predicted = self._view()._predicted(x)
                if gate.count == count:
                    return predicted
            except Exception:
                if gate.count == count:
                    raise
        return self._undisturbed(OnlineEstimator._predicted, x)

    def _predicted(self, x: Mapping[Hashable, Any]) -> Any:
        known = self.__dict__
        if "_state" not in known:
            return None
        return known["_plain_classes"][self._code(known["_features"].row(x, learning=False)[0])]

    def _code(self, row: Rows) -> int:
        """Predicted code of one row."""
        return int(self._codes(row)[0])

    def _learn_first(self, x: Mapping[Hashable, Any], y: Any, w: float) -> None:
        model = self._twin()
        model._validate_params()
        order = model._first_order(y)
        if order is not None:
            model._begin(0, order, growing=model.classes is None)
            model.learn_one(x, y, w)
            self._become(model)

    def _learn_grown(
        self, new_names: tuple[Hashable, ...], order: ClassOrder, row: Rows, labels: KernelLabels, weight: Floats
    ) -> None:
        """Learn from a row with new names or classes: either all of it is learnt or nothing."""
        before, grown = self.__dict__, self._twin()
        grown._grow(new_names, order)
        state = grown._state
        rounds, gate = int(state["counts"][ROUNDS]), self._gate
        gate.count |= 1
        try:
            self.__dict__ = grown.__dict__
            bad = self._learn_row(state, row, labels, weight)
            if bad >= 0:  # inside the try block, so that an interrupt of this is undone too
                self.__dict__ = before
        except BaseException:
            if self.__dict__ is grown.__dict__ and state["counts"][ROUNDS] == rounds:  # the row has not been learnt
                self.__dict__ = before
            raise
        finally:
            gate.count = (gate.count | 1) + 1
        if bad >= 0:
            grown._refuse_update(row, 0, weight)

    def _learn_row(self, state: State, row: Rows, labels: KernelLabels, weight: Floats) -> int:
        """Learn all of one row and return -1, or nothing of it and return 0."""
        return self._pass(state, row, labels, weight, GIVEN_ORDER, NO_PREDICTIONS)

    # -- how labels are read; label rankers override this ----------------------------------------------------------

    def _read_example(self, y: Any) -> tuple[KernelLabels, ClassOrder]:
        """The label of one example, and the order of the classes, with its new ones if it may bring any."""
        index, order = self._order.index, self._order
        try:  # the two common cases: a class, and an interval of classes
            if type(y) is not tuple:
                return _EXACT[index[y]], order
            lower, upper = index[y[0]], index[y[1]]
            if len(y) == 2 and lower <= upper and "interval" in self.label_kinds:
                return (_EXACT[lower][0], _EXACT[upper][0], NO_MASK), order
        except (KeyError, TypeError, IndexError):
            pass
        if self._growing and not is_missing(y):
            named = encode([_one_label(y)], ordered=self.ordered).order.values.tolist()
            keeps_scale = not has_denominator(y) or named[-1] == order.values[-1]  # "3 out of 5" names the highest
            for value in named if keeps_scale else ():
                if value not in order.index:
                    order = order.inserted(value, warn=self.ordered)
        labels = encode([_one_label(y)], order)
        require_support(labels, type(self).__name__, self.label_kinds)
        return self._kernel_labels(labels), order

    def _first_order(self, y: Any) -> ClassOrder | None:
        """Order of the classes at the first example; None if its label is missing and no classes are declared."""
        if self.classes is None and is_missing(y):
            return None
        return encode([_one_label(y)], self.classes, ordered=self.ordered).order


#: Exact labels of the first codes, as a pass reads them; those of more classes are made when needed.
_EXACT = [(code, code, NO_MASK) for code in np.arange(256, dtype=np.int32)[:, None]]


def _one_label(y: Any) -> Any:
    """One label: a list holds candidates here, also if it is a pair."""
    try:
        return set(y) if isinstance(y, list) else y
    except TypeError:  # lists inside: the encoder reports them
        return y
