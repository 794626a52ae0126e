"""How an online estimator learns: from arrays, streams and single examples, all through one compiled pass.

An algorithm's own file supplies its state (:mod:`rankwise.online._model`), one compiled pass over rows, and how a state
predicts; :class:`OnlineEstimator` turns that into ``fit``, ``partial_fit``, ``progressive_predict``, ``learn_one`` and
``predict_one``, which all run the same pass and so end in the same model, to the bit.

A row without information, one whose label is missing or whose weight is zero, is no round: it changes nothing, not
even an average.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise._sklearn import PASSES
from rankwise.base.row_data import Rows
from rankwise.base.state import GIVEN_ORDER, NO_MASK, NO_PREDICTIONS, State
from rankwise.labels import (
    UNIT_WEIGHTS,
    ClassOrder,
    Labels,
    declared_order,
    decode,
    encode,
    is_missing,
    require_support,
)
from rankwise.online._model import OnlineModel

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
#: Labels as a pass reads them: lowest and highest admissible codes, and the admissible ones where sets have gaps.
KernelLabels = tuple[Any, ...]


class OnlineEstimator(OnlineModel):
    """Base of the online estimators; see the module's docstring."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PASSES,
        "classes": ["array-like", None],
    }

    def __init__(
        self, n_epochs: int = 10, shuffle: bool = True, average: bool = True, random_state: Any = None,
        classes: Any = None,
    ) -> None:  # fmt: skip
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.random_state = random_state
        self.classes = classes

    # -- what an algorithm supplies --------------------------------------------------------------------------------

    @abstractmethod
    def _pass(
        self,
        state: State,
        rows: Rows,
        labels: KernelLabels,
        weight: Floats,
        order: NDArray[np.int64],
        predictions: Codes,
    ) -> int:
        """Learn from the rows in order, in place; return -1, or the row whose score is not finite.

        ``labels`` are lower codes, upper codes and candidates (``NO_MASK`` where every label is an interval). When
        ``predictions`` has room for every row it is filled with the codes predicted before learning.
        """

    def _rows_to_learn(self, rows: Rows) -> Rows:
        """Rows in the form that a pass learns from."""
        return rows

    #: Whether chunks may bring classes that were not there before, unless all were declared.
    _meets_new_classes: ClassVar[bool] = False

    #: Whether a pass changes arrays where they are, and never exchanges one for another.
    _learns_in_place: ClassVar[bool] = True

    def _writable(self, state: State, *, whole: bool) -> State:
        """State that a pass may change while others read the model: the same one, if arrays stay where they are.

        ``whole``: a pass over many rows, which may have to be undone.
        """
        return state

    def _savepoint(self, state: State, rows: Rows) -> Callable[[], None]:
        """What undoes a pass over these rows."""
        return self._layout.savepoint(state, rows)

    # -- how labels are read; a ranker of labels has its own ways --------------------------------------------------

    def _kernel_labels(self, labels: Any) -> KernelLabels:
        return labels.lower, labels.upper, NO_MASK if labels.mask is None else labels.mask

    def _informative(self, labels: Any, weight: Floats) -> Floats:
        """Weights that are zero where a candidate set admits all classes: it says nothing, as a missing label does."""
        if labels.mask is None:
            return weight
        return np.where(labels.is_missing, 0.0, weight if weight.size else 1.0)

    def _read_example(self, y: Any) -> tuple[KernelLabels, ClassOrder]:
        """The label of one example, and the order of the classes with those that it brings if they may be new."""
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
            for value in encode([_one_label(y)], ordered=self.ordered).order.values.tolist():
                if value not in order.index:
                    order = order.inserted(value)[0]
        labels = encode([_one_label(y)], order)
        require_support(labels, type(self).__name__, self.label_kinds)
        return self._kernel_labels(labels), order

    def _first_order(self, y: Any) -> ClassOrder | None:
        """Order of the classes before the first example; None if nothing tells it."""
        if self.classes is None and is_missing(y):
            return None
        return encode([_one_label(y)], self.classes, ordered=self.ordered).order

    def _known_order(self, classes: Any, y: Any, first: bool) -> ClassOrder | None:
        """Order of the classes for a chunk, declared now or before; None where its labels tell."""
        declared = [declared_order(c) for c in (classes, self.classes) if c is not None]
        if first and not declared:
            tells = isinstance(y, Labels) or getattr(getattr(y, "dtype", None), "ordered", False)
            order = encode(y, None).order if tells else None
            if order is None:
                raise ValueError(
                    f"the first call of {type(self).__name__} on a stream needs all classes, lowest first: "
                    f"partial_fit(X, y, classes=[...]) or {type(self).__name__}(classes=[...])."
                )
            return order
        known = declared[0] if first else self._order
        for other in declared:
            if other != known:
                raise ValueError(f"classes={other.values.tolist()} is not the same as before: {known.values.tolist()}.")
        return known

    def _chunk_labels(self, y: Any, order: ClassOrder | None, rows: Rows) -> Any:
        """Labels of a chunk, which may bring classes that are not in the order if the estimator can take them."""
        return self._labels(y, order, rows)

    # -- batches ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: ``n_epochs`` passes over the rows, each in a new random order if ``shuffle``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Features.
        y : array-like
            Labels of any form that :func:`rankwise.labels.encode` reads and this estimator supports.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0. A zero makes its row a no-op.
        """
        with self._afresh() as model:
            model._learn_epochs(X, y, sample_weight)
        return self

    def _learn_epochs(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._validate_params()
        rows = self._rows_to_learn(self._rows(X, reset=True))
        labels = self._labels(y, self.classes, rows)
        weight = self._weights(sample_weight, rows)
        if weight.size and not weight.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
        self._begin(self.n_features_in_, labels.order)
        generator = check_random_state(self.random_state)
        for _ in range(self.n_epochs):
            order = generator.permutation(len(labels)) if self.shuffle else GIVEN_ORDER
            self._learn(rows, labels, weight, order.astype(np.int64), NO_PREDICTIONS)
        declared = self.classes is not None or getattr(labels, "names_all", False) or isinstance(y, Labels)
        self._growing = self._meets_new_classes and not declared
        self.n_iter_ = self.n_epochs

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, one pass in the order given. A chunk with a bad row leaves the model as it was.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, optional
            All classes, lowest first. The first call needs them, here or as the parameter ``classes``.
        """
        self._learn_chunk(X, y, classes, sample_weight, predict=False)
        return self

    def progressive_predict(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> NDArray[Any]:
        """Predict each row, then learn from it, in one pass; return the predictions made before learning.

        Parameters
        ----------
        X, y, sample_weight, classes
            As in :meth:`partial_fit`.
        """
        codes = self._learn_chunk(X, y, classes, sample_weight, predict=True)
        return decode(codes, self.classes_)

    def _learn_chunk(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, predict: bool, top: int | None = None
    ) -> Codes:
        with self._all_or_nothing():
            first = not self.__sklearn_is_fitted__()
            if first:
                self._validate_params()
            rows = self._rows_to_learn(self._rows(X, reset=first))
            order = self._known_order(classes, y, first)
            labels = self._chunk_labels(y, order, rows)
            weight = self._weights(sample_weight, rows)
            if first:
                growing = order is None and not getattr(labels, "names_all", False)
                self._begin(self.n_features_in_, labels.order, growing=growing)
            elif labels.order is not self._order:
                self._grow((), labels.order)
            predictions = self._room_for_predictions(len(labels), top) if predict else NO_PREDICTIONS
            self._learn(rows, labels, weight, GIVEN_ORDER, predictions)
        return predictions

    def _room_for_predictions(self, n_rows: int, top: int | None) -> Codes:
        return np.empty(n_rows, dtype=np.int32)

    def _learn(
        self, rows: Rows, labels: Any, weight: Floats, order: NDArray[np.int64], predictions: Codes
    ) -> None:  # fmt: skip
        """One pass; if a row turns out bad, put the state back as it was and say which row and why."""
        state = self._writable(self._state, whole=True)
        undo = self._savepoint(state, rows) if state is self._state else None
        weight = self._informative(labels, weight)
        try:
            bad = self._pass(state, rows, self._kernel_labels(labels), weight, order, predictions)
            if bad >= 0:
                self._refuse_row(rows, bad)
        except BaseException:  # a bad row, an interrupt, or a kernel function of the user's that fails half-way
            if undo is not None:
                undo()
            raise
        self._state = state

    # -- single examples -------------------------------------------------------------------------------------------

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
            gate = self.__dict__.get("_gate") or self._writing
            with gate.lock:  # what ``with gate`` does, without its two calls for every example
                gate.count += 1
                gate.depth += 1
                try:
                    self._learn_example(x, y, w)
                finally:
                    gate.depth -= 1
                    gate.count += 1
            return
        with self._all_or_nothing():
            self._validate_params()
            order = self._first_order(y)
            if order is not None:
                self._begin(0, order, growing=self.classes is None)
                self._learn_example(x, y, w)

    def predict_one(self, x: Mapping[Hashable, Any]) -> Any:
        """Class of one example, a dict of features; None while no class is known."""
        return self._undisturbed(self._predicted, x)

    def _predicted(self, x: Mapping[Hashable, Any]) -> Any:
        if "_state" not in self.__dict__:
            return None
        return self._plain_classes[self._codes(self._features.row(x, learning=False)[0])[0]]

    def _learn_example(self, x: Mapping[Hashable, Any], y: Any, w: float) -> None:
        if not 0.0 <= w < np.inf:
            raise ValueError(f"a weight must be a finite number >= 0. Got {w!r} instead.")
        labels, order = self._read_example(y)
        row, new_names = self._features.row(x, learning=True)
        weight = UNIT_WEIGHTS if w == 1.0 else np.array([w], dtype=np.float64)
        if not new_names and order is self._order:
            self._learn_row(row, labels, weight)
            return
        features = self._features
        try:
            with self._all_or_nothing():
                self._grow(new_names, order)
                self._learn_row(row, labels, weight)
        except BaseException:
            features.forget(new_names)
            raise

    def _learn_row(self, row: Rows, labels: KernelLabels, weight: Floats) -> None:
        state = self._state if self._learns_in_place else self._writable(self._state, whole=False)
        if self._pass(state, row, labels, weight, GIVEN_ORDER, NO_PREDICTIONS) >= 0:
            self._refuse_row(row, 0)
        self._state = state


#: Exact labels of the first codes, as a pass reads them; those of more classes are made when they come.
_EXACT = [(code, code, NO_MASK) for code in np.arange(256, dtype=np.int32)[:, None]]


def _one_label(y: Any) -> Any:
    """One label: a list holds candidates here, also if it is a pair."""
    return set(y) if isinstance(y, list) else y
