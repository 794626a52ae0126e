"""How an online estimator learns from arrays: batches in epochs and chunks of a stream, all through one compiled pass.

An algorithm's own file supplies its state (:mod:`rankwise.online._model`), one compiled pass over rows, and how a state
predicts; :class:`ArrayLearner` turns that into ``fit``, ``partial_fit`` and ``progressive_predict``, and
:class:`rankwise.online.online_estimator.OnlineEstimator` into ``learn_one`` and ``predict_one``. All run the same pass
and so end in the same model, to the bit.

A row without information, whose label is missing or whose weight is zero, does not count as a round: it changes
nothing, not even an average.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise._sklearn import PASSES, StrOptions
from rankwise._types import Codes, Floats
from rankwise.base.row_data import Rows, length, row_entries
from rankwise.base.state import GIVEN_ORDER, NO_MASK, NO_PREDICTIONS, ROUNDS, Savepoint, State
from rankwise.labels import (
    ClassOrder,
    Labels,
    declared_order,
    decode,
    encode,
)
from rankwise.labels.label_values import show
from rankwise.online._model import OnlineModel

#: Labels as a pass reads them: lowest and highest admissible codes, and the admissible ones where sets have gaps.
KernelLabels = tuple[Any, ...]


class ArrayLearner(OnlineModel):
    """What online estimators share that learn from arrays; see the module's docstring."""

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
        into: ArrayLearner | None = None,
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


def surely(action: Callable[[], None]) -> None:
    """Complete an action that may be done twice, even if it is interrupted."""
    try:
        action()
    except BaseException:
        action()
        raise


def names_all_classes(y: Any) -> bool:
    """Whether labels come with all classes, also those that do not occur."""
    return isinstance(y, Labels) or bool(getattr(getattr(y, "dtype", None), "ordered", False))
