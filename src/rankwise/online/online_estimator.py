"""How an online estimator learns: from arrays, streams and single examples, all through one compiled pass.

An algorithm's own file supplies its state (:mod:`rankwise.online._model`), one compiled pass over rows, and how a state
predicts; :class:`OnlineEstimator` turns that into ``fit``, ``partial_fit``, ``progressive_predict``, ``learn_one`` and
``predict_one``, which all run the same pass and so end in the same model, to the bit.

A row without information, whose label is missing or whose weight is zero, does not count as a round: it changes
nothing, not even an average.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise._sklearn import PASSES, StrOptions
from rankwise._types import Codes, Floats
from rankwise.base.row_data import Rows, length, row_entries
from rankwise.base.state import GIVEN_ORDER, NO_MASK, NO_PREDICTIONS, ROUNDS, Savepoint, State
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
from rankwise.labels.label_values import show
from rankwise.labels.whole_columns import has_denominator
from rankwise.online._model import OnlineModel

#: Labels as a pass reads them: lowest and highest admissible codes, and the admissible ones where sets have gaps.
KernelLabels = tuple[Any, ...]


class OnlineEstimator(OnlineModel):
    """Base of the online estimators; see the module's docstring."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PASSES,
        "average": ["boolean", StrOptions({"auto"})],
        "classes": ["array-like", None],
    }

    def __init__(
        self, n_epochs: int = 10, shuffle: bool = True, average: bool | str = "auto", random_state: Any = None,
        classes: Any = None,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    n_epochs: int
    shuffle: bool
    random_state: Any

    # -- what an algorithm supplies --------------------------------------------------------------------------------

    def _compiled(self, state: State, average: Any, plain: bool) -> tuple[Any, ...] | None:
        """The compiled pass (:func:`rankwise.online.learning_loop.make_pass`), its ``model`` and its ``options``.

        ``average`` is the first option; ``plain`` says that there are unit weights, no order and no predictions. None
        for an algorithm whose pass is more than one compiled call: it overrides :meth:`_pass`.
        """
        return None

    def _pass(
        self, state: State, rows: Rows, labels: KernelLabels, weight: Floats, order: NDArray[np.int64],
        predictions: Codes,
    ) -> int:  # fmt: skip
        """Learn from the rows in order, in place; return -1, or the row whose score is not finite.

        ``labels`` are lower codes, upper codes and candidates (``NO_MASK`` where every label is an interval). ``order``
        may name some of the rows only. When ``predictions`` has room for every row it is filled with the codes
        predicted before learning. One row alone changes everything or, if the model would not be tame after it,
        nothing.
        """
        plain = not (weight.size or order.size or predictions.size)
        compiled = self._compiled(state, self._averaging(state, order), plain)
        assert compiled is not None, "an estimator overrides _compiled or _pass"
        learn, model, options = compiled
        bad: int = learn(rows, labels, weight, order, model, state["counts"], options, predictions)
        return bad

    def _rows_to_learn(self, rows: Rows) -> Rows:
        """Rows in the form that a pass learns from."""
        return rows

    #: The parameter ``classes`` that agreed with the order of the classes: it is read once, not with every chunk.
    _classes_read: Any = None

    #: Whether chunks may bring classes that were not there before, unless all were declared.
    _meets_new_classes: ClassVar[bool] = False

    #: Whether a pass changes arrays in place and never replaces one.
    _learns_in_place: ClassVar[bool] = True
    #: Whether a pass looks at all rows before it changes anything and keeps the numbers small by itself.
    _looks_first: ClassVar[bool] = False

    # -- how labels are read; label rankers override this ----------------------------------------------------------

    def _kernel_labels(self, labels: Any) -> KernelLabels:
        return labels.lower, labels.upper, NO_MASK if labels.mask is None else labels.mask

    def _informative(self, labels: Any, weight: Floats) -> Floats:
        """Weights, zero where a candidate set admits all classes: it is as uninformative as a missing label."""
        if labels.mask is None:
            return weight
        return np.where(labels.is_missing, 0.0, weight if weight.size else 1.0)

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

    def _known_order(self, classes: Any, y: Any, first: bool) -> ClassOrder | None:
        """Order of the classes for a chunk, declared now or before; None where its labels determine it."""
        if not first and classes is None and self.classes is self._classes_read:
            return self._order
        declared = [declared_order(c) for c in (classes, self.classes) if c is not None]
        if first and not declared:
            if not names_all_classes(y):
                raise ValueError(
                    f"the first call of {type(self).__name__} on a stream needs all classes, lowest first: "
                    f"partial_fit(X, y, classes=[...]) or {type(self).__name__}(classes=[...])."
                )
            return encode(y, None).order
        known = declared[0] if first else self._order
        for other in declared:
            if other != known:
                raise ValueError(f"classes={show(other.values)} is not the same as before: {show(known.values)}.")
        self._classes_read = self.classes
        return known

    def _chunk_labels(self, y: Any, order: ClassOrder | None, rows: Rows) -> Any:
        """Labels of a chunk, which may bring classes that are not in the order if the estimator accepts new ones."""
        return self._labels(y, order, rows)

    # -- batches ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: ``n_epochs`` passes over the rows, each in a new random order if ``shuffle``.

        Parameters
        ----------
        X, y
            Features, (n, d), dense or CSR; labels that :func:`rankwise.labels.encode` reads and the estimator supports.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0. A zero makes its row a no-op.
        """
        with self._afresh() as model:
            model._learn_epochs(X, y, sample_weight)
        return self

    def _learn_epochs(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._validate_params()
        self.__dict__.pop("_features", None)  # names from a stream, which scikit-learn could not delete
        rows = self._rows_to_learn(self._rows(X, reset=True))
        labels = self._labels(y, self.classes, rows)
        weight = self._weights(sample_weight, rows)
        if weight.size and not weight.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
        if not getattr(self, "bends", False):
            self._warn_of_scales(rows)
        self._begin(self.n_features_in_, labels.order)
        self._classes_read = self.classes
        generator = check_random_state(self.random_state)
        judged: State = {}
        for _ in range(self.n_epochs):
            order = generator.permutation(len(labels)) if self.shuffle else GIVEN_ORDER
            self._learn(rows, labels, weight, order.astype(np.int64), NO_PREDICTIONS)
            if "contest" in self._state:  # predictions for rows of earlier epochs say nothing about new rows
                judged.setdefault("contest", self._state["contest"].copy())
        self._state.update(judged)
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
        with self._gate.lock:
            model = self._twin()
            first = not model.__sklearn_is_fitted__()
            if first:
                model._validate_params()
            rows = model._rows_to_learn(model._rows(X, reset=first))
            order = model._known_order(classes, y, first)
            labels = model._chunk_labels(y, order, rows)
            weight = model._weights(sample_weight, rows)
            if first:
                growing = order is None and not getattr(labels, "names_all", False)
                model._begin(model.n_features_in_, labels.order, growing=growing)
            elif labels.order is not model._order:
                model._grow((), labels.order)
            predictions = model._room_for_predictions(len(labels), top) if predict else NO_PREDICTIONS
            model._learn(rows, labels, weight, GIVEN_ORDER, predictions, into=self)
        return predictions

    def _room_for_predictions(self, n_rows: int, top: int | None) -> Codes:
        return np.empty(n_rows, dtype=np.int32)

    def _learn(
        self, rows: Rows, labels: Any, weight: Floats, order: NDArray[np.int64], predictions: Codes,
        into: OnlineEstimator | None = None,
    ) -> None:  # fmt: skip
        """One pass, after which the estimator ``into`` becomes this twin of it; a bad row undoes all and is named."""
        target = self if into is None else into
        gate, codes, weight = target._gate, self._kernel_labels(labels), self._informative(labels, weight)
        state, in_place = self._state, self._learns_in_place
        if not in_place:
            state = {name: array.copy() for name, array in state.items()}
        before = Savepoint(self._layout, state, rows) if in_place and not self._looks_first else None
        rounds = int(state["counts"][ROUNDS])
        gate.count |= 1  # already odd if a writer was interrupted between two instructions
        try:
            bad = self._pass(state, rows, codes, weight, order, predictions)
            if bad < 0 and (self._looks_first or (before or self._layout).tame(state)):
                self._state = state
                target._become(self)
                return
            if before:
                surely(before.undo)
        except BaseException:  # an interrupt, or an error in the user's kernel function
            if target.__dict__ is not self.__dict__:
                if before:
                    surely(before.undo)
                elif in_place and state["counts"][ROUNDS] != rounds:  # the pass was complete
                    target._become(self)
            raise
        finally:
            gate.count += 1
        self._name_culprit(rows, codes, weight, order, bad)

    def _name_culprit(
        self, rows: Rows, labels: KernelLabels, weight: Floats, order: NDArray[np.int64], bad: int
    ) -> NoReturn:  # fmt: skip
        """Refuse the first row that takes the model beyond finite numbers, found by bisection on copies."""
        if bad >= 0 and not np.isfinite(row_entries(rows, bad)[1]).all():
            self._refuse_row(rows, bad)
        if self._looks_first:
            self._refuse_update(rows, bad, weight)
        order = order if order.size else np.arange(length(rows))
        state, low, high = self._state, 0, order.size
        while high - low > 1:
            middle = (low + high) // 2
            trial = {name: array.copy() for name, array in state.items()}
            bad = self._pass(trial, rows, labels, weight, order[low:middle], NO_PREDICTIONS)
            if bad < 0 and self._layout.tame(trial):
                state, low = trial, middle
            else:
                high = middle
        self._refuse_update(rows, int(order[low]), weight)

    def _refuse_update(self, rows: Rows, i: int, weight: Floats) -> NoReturn:
        advice = f"Scale them, and the weights if these are large (here {weight[i] if weight.size else 1.0:.3g})."
        self._refuse_row(rows, i, "the score, or the model after learning from it, is", advice)

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


def surely(action: Callable[[], None]) -> None:
    """Complete an action that may be done twice, even if it is interrupted."""
    try:
        action()
    except BaseException:
        action()
        raise


#: Exact labels of the first codes, as a pass reads them; those of more classes are made when needed.
_EXACT = [(code, code, NO_MASK) for code in np.arange(256, dtype=np.int32)[:, None]]


def names_all_classes(y: Any) -> bool:
    """Whether labels come with all classes, also those that do not occur."""
    return isinstance(y, Labels) or bool(getattr(getattr(y, "dtype", None), "ordered", False))


def _one_label(y: Any) -> Any:
    """One label: a list holds candidates here, also if it is a pair."""
    try:
        return set(y) if isinstance(y, list) else y
    except TypeError:  # lists inside: the encoder reports them
        return y
